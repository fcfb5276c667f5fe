// nvcc: -lcurand
// library: libcurand.so.10
// timeout: 120
// Generators of cuRAND against its device functions, which the program's own kernels call: bits, uniform numbers and Sobol' points are the same; and what
// seeds, offsets, orderings, dimensions and calls one after the other do.
#include <curand_kernel.h>
#include <curand_mtgp32_host.h>

#include "rand.h"

using namespace rnd;

constexpr unsigned long long kSeed = 0x123456789abcdefULL;

// What a state gives first, by type of result.
template <class T, class State>
__device__ T first(State& state) {
  if constexpr (sizeof(T) == 8 && T(0.5) != T(0)) return curand_uniform_double(&state);
  else if constexpr (T(0.5) != T(0)) return curand_uniform(&state);
  else return curand(&state);
}

// Results `from`, and on by `step`, of so many lanes side by side; `draws`: of a lane's state for each.
template <class State, class T>
__global__ void lanes(T* results, int count, unsigned long long from, unsigned long long step, unsigned width, unsigned draws) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const unsigned long long n = from + i * step;
  State state;
  curand_init(kSeed, n % width, n / width * draws, &state);
  results[i] = first<T>(state);
}

// Philox makes four results of each counter.
__global__ void counters(unsigned* results, int count, unsigned long long from, unsigned long long step) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const unsigned long long n = from + i * step, quad = n / 4;
  curandStatePhilox4_32_10_t state;
  curand_init(kSeed, quad % 65536, quad / 65536 * 4, &state);
  const uint4 four = curand4(&state);
  results[i] = n % 4 == 0 ? four.x : n % 4 == 1 ? four.y : n % 4 == 2 ? four.z : four.w;
}

template <class T, class Kernel>
void against(const char* what, curandGenerator_t generator, unsigned long long offset, size_t count, Kernel&& kernel) {
  const int some = 300;
  const unsigned long long step = (count - 1) / some;
  RAND(curandSetGeneratorOffset(generator, offset));
  const std::vector<T> all = numbers<T>(generator, count);
  T* const memory = check::deviceArray<T>(some);
  kernel(memory, some, offset, step);
  CHECK(cudaGetLastError());
  const std::vector<T> wanted = check::toHost(memory, some);
  std::vector<T> got;
  for (int i = 0; i < some; ++i) got.push_back(all[size_t(i) * step]);
  check::equal(what, got, wanted);
  CHECK(cudaFree(memory));
}

template <class State, class T>
void lanesAgainst(const char* what, curandGenerator_t from, unsigned long long offset, unsigned width, unsigned draws) {
  against<T>(what, from, offset, 100000, [&](T* to, int count, unsigned long long first, unsigned long long step) {
    lanes<State, T><<<(count + 63) / 64, 64>>>(to, count, first, step, width, draws);
  });
}

// From the beginning each double takes so many draws.
template <class State>
void pseudo(curandRngType_t type, curandOrdering_t ordering, unsigned width, unsigned drawsOfDouble) {
  const curandGenerator_t from = generator(type);
  RAND(curandSetGeneratorOrdering(from, ordering));
  RAND(curandSetPseudoRandomGeneratorSeed(from, kSeed));
  for (const unsigned long long offset : {0ULL, 12345ULL}) {
    lanesAgainst<State, unsigned>("bits", from, offset, width, 1);
    lanesAgainst<State, float>("uniform", from, offset, width, 1);
  }
  lanesAgainst<State, double>("doubles", from, 0, width, drawsOfDouble);
  RAND(curandDestroyGenerator(from));
}

// The device functions' blocks of 256 threads, one behind the other.
__global__ void blocks(curandStateMtgp32_t* states, unsigned* results, int rows) {
  for (int row = 0; row < rows; ++row) results[(row * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x] = curand(&states[blockIdx.x]);
}

void mtgp() {
  const int count = 64, rows = 5;
  curandStateMtgp32_t* const states = reinterpret_cast<curandStateMtgp32_t*>(check::deviceArray<unsigned long long>(count * sizeof(curandStateMtgp32_t) / 8));
  mtgp32_kernel_params_t* const parameters = reinterpret_cast<mtgp32_kernel_params_t*>(check::deviceArray<unsigned long long>(sizeof(mtgp32_kernel_params_t) / 8 + 1));
  RAND(curandMakeMTGP32Constants(mtgp32dc_params_fast_11213, parameters));
  RAND(curandMakeMTGP32KernelState(states, mtgp32dc_params_fast_11213, parameters, count, kSeed));
  unsigned* const results = check::deviceArray<unsigned>(count * 256 * rows);
  blocks<<<count, 256>>>(states, results, rows);
  CHECK(cudaGetLastError());
  const curandGenerator_t from = generator(CURAND_RNG_PSEUDO_MTGP32);
  RAND(curandSetGeneratorOrdering(from, CURAND_ORDERING_PSEUDO_LEGACY));
  RAND(curandSetPseudoRandomGeneratorSeed(from, kSeed));
  check::equal("MTGP32", numbers<unsigned>(from, count * 256 * rows), check::toHost(results, count * 256 * rows));
  RAND(curandDestroyGenerator(from));
  for (void* memory : {(void*)states, (void*)parameters, (void*)results}) CHECK(cudaFree(memory));
}

void pseudos() {
  pseudo<curandStateXORWOW_t>(CURAND_RNG_PSEUDO_XORWOW, CURAND_ORDERING_PSEUDO_LEGACY, 4096, 2);
  pseudo<curandStateMRG32k3a_t>(CURAND_RNG_PSEUDO_MRG32K3A, CURAND_ORDERING_PSEUDO_LEGACY, 4096, 1);
  // How many there are in the default ordering, NVIDIA's documents do not say.
  if (check::throughRouse()) pseudo<curandStateMRG32k3a_t>(CURAND_RNG_PSEUDO_MRG32K3A, CURAND_ORDERING_PSEUDO_DEFAULT, 81920, 1);
  const curandGenerator_t from = generator(CURAND_RNG_PSEUDO_PHILOX4_32_10);
  RAND(curandSetGeneratorOrdering(from, CURAND_ORDERING_PSEUDO_LEGACY));
  RAND(curandSetPseudoRandomGeneratorSeed(from, kSeed));
  for (const unsigned long long offset : {0ULL, 4ULL * 65536 * 3 - 1000})
    against<unsigned>("Philox", from, offset, 300000, [&](unsigned* to, int count, unsigned long long first, unsigned long long step) {
      counters<<<(count + 63) / 64, 64>>>(to, count, first, step);
    });
  RAND(curandDestroyGenerator(from));
}

template <class State, class Vectors, class Bits>
__global__ void points(Bits* results, Vectors* directions, const Bits* constants, int dimensions, int count, unsigned long long from) {
  const int dimension = blockIdx.x, i = threadIdx.x;
  State state;
  if constexpr (sizeof(State) == sizeof(curandStateSobol32_t) && sizeof(Bits) == 4) {
    if (constants != nullptr) {
      curandStateScrambledSobol32_t scrambled;
      curand_init(directions[dimension], constants[dimension], unsigned(from) + i, &scrambled);
      results[dimension * count + i] = curand(&scrambled);
      return;
    }
    curand_init(directions[dimension], unsigned(from) + i, &state);
  } else {
    if (constants != nullptr) {
      curandStateScrambledSobol64_t scrambled;
      curand_init(directions[dimension], constants[dimension], from + i, &scrambled);
      results[dimension * count + i] = curand(&scrambled);
      return;
    }
    curand_init(directions[dimension], from + i, &state);
  }
  results[dimension * count + i] = curand(&state);
}

template <class State, class Bits, class Vectors>
void quasi(curandRngType_t type, Vectors* vectors, const Bits* constants) {
  const int dimensions = 50, count = 100;
  const unsigned long long from = 4321;
  Vectors* const directions = reinterpret_cast<Vectors*>(check::deviceArray<Bits>(size_t(dimensions) * sizeof(Vectors) / sizeof(Bits)));
  CHECK(cudaMemcpy(directions, vectors, dimensions * sizeof(Vectors), cudaMemcpyHostToDevice));
  Bits* const shifts = constants != nullptr ? check::toDevice(std::vector<Bits>(constants, constants + dimensions)) : nullptr;
  Bits* const results = check::deviceArray<Bits>(dimensions * count);
  points<State, Vectors, Bits><<<dimensions, count>>>(results, directions, shifts, dimensions, count, from);
  CHECK(cudaGetLastError());
  const std::vector<Bits> wanted = check::toHost(results, dimensions * count);
  for (const bool onHost : {false, true}) {
    // On a GPU NVIDIA's library scrambles, through Rouse with another table than the program's.
    if (constants != nullptr && !onHost && check::throughRouse() && !check::onCpuDevice()) continue;
    const curandGenerator_t generator = rnd::generator(type, onHost);
    RAND(curandSetQuasiRandomGeneratorDimensions(generator, dimensions));
    RAND(curandSetGeneratorOffset(generator, from));
    check::equal(onHost ? "points on the host" : "points", numbers<Bits>(generator, dimensions * count, onHost), wanted);
    RAND(curandDestroyGenerator(generator));
  }
  for (void* memory : {(void*)directions, (void*)shifts, (void*)results}) CHECK(cudaFree(memory));
}

void quasis() {
  curandDirectionVectors32_t *plain32 = nullptr, *scrambled32 = nullptr;
  curandDirectionVectors64_t *plain64 = nullptr, *scrambled64 = nullptr;
  unsigned* shifts32 = nullptr;
  unsigned long long* shifts64 = nullptr;
  RAND(curandGetDirectionVectors32(&plain32, CURAND_DIRECTION_VECTORS_32_JOEKUO6));
  RAND(curandGetDirectionVectors32(&scrambled32, CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6));
  RAND(curandGetDirectionVectors64(&plain64, CURAND_DIRECTION_VECTORS_64_JOEKUO6));
  RAND(curandGetDirectionVectors64(&scrambled64, CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6));
  RAND(curandGetScrambleConstants32(&shifts32));
  RAND(curandGetScrambleConstants64(&shifts64));
  quasi<curandStateSobol32_t, unsigned>(CURAND_RNG_QUASI_SOBOL32, plain32, nullptr);
  quasi<curandStateSobol32_t, unsigned>(CURAND_RNG_QUASI_SCRAMBLED_SOBOL32, scrambled32, shifts32);
  quasi<curandStateSobol64_t, unsigned long long>(CURAND_RNG_QUASI_SOBOL64, plain64, nullptr);
  quasi<curandStateSobol64_t, unsigned long long>(CURAND_RNG_QUASI_SCRAMBLED_SOBOL64, scrambled64, shifts64);
}

// On the host and on the device, in one call and in many.
template <class T>
void sequences(curandRngType_t type, curandOrdering_t ordering) {
  const size_t count = 120000, parts[] = {2, 4098, 65536, 10, 50354};
  const curandGenerator_t host = generator(type, true), one = generator(type), several = generator(type);
  for (const curandGenerator_t each : {host, one, several}) {
    if (type < CURAND_RNG_QUASI_DEFAULT) RAND(curandSetPseudoRandomGeneratorSeed(each, 99));
    RAND(curandSetGeneratorOrdering(each, ordering));
    RAND(curandGenerateSeeds(each));
  }
  const std::vector<T> wanted = numbers<T>(host, count, true);
  check::equal("device and host", numbers<T>(one, count), wanted);
  std::vector<T> pieces;
  for (const size_t part : parts)
    for (const T each : numbers<T>(several, part)) pieces.push_back(each);
  check::equal("several calls", pieces, wanted);
  // Where another begins.
  if (type == CURAND_RNG_PSEUDO_MTGP32 || type == CURAND_RNG_PSEUDO_MT19937) {
    EXPECT_STATUS(CURAND_STATUS_TYPE_ERROR, curandSetGeneratorOffset(one, 100000));
  } else {
    RAND(curandSetGeneratorOffset(one, 100000));
    const std::vector<T> tail = numbers<T>(one, 20000);
    if (sizeof(T) == 4 || type != CURAND_RNG_PSEUDO_XORWOW) check::equal("an offset", tail.data(), wanted.data() + 100000, 20000);
  }
  for (const curandGenerator_t each : {host, one, several}) RAND(curandDestroyGenerator(each));
}

void mixed(curandRngType_t type) {
  const curandGenerator_t host = generator(type, true), device = generator(type);
  for (int round = 0; round < 6; ++round) {
    check::equal("bits among others", numbers<unsigned>(device, 4100), numbers<unsigned>(host, 4100, true));
    check::equal("doubles among others", numbers<double>(device, 5001), numbers<double>(host, 5001, true));
    const auto normals = [&](curandGenerator_t from, bool onHost) {
      return made<float>(3000, onHost, [&](float* to) { return curandGenerateNormal(from, to, 3000, 1, 2); });
    };
    check::near("normals among others", normals(device, false), normals(host, true), 1e-4, 1e-4);
  }
  RAND(curandDestroyGenerator(host));
  RAND(curandDestroyGenerator(device));
}

int main() {
  pseudos();
  mtgp();
  quasis();
  for (const auto type : {CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A, CURAND_RNG_PSEUDO_MTGP32, CURAND_RNG_PSEUDO_PHILOX4_32_10}) {
    for (const auto ordering : {CURAND_ORDERING_PSEUDO_DEFAULT, CURAND_ORDERING_PSEUDO_LEGACY}) {
      sequences<unsigned>(type, ordering);
      sequences<float>(type, ordering);
      sequences<double>(type, ordering);
    }
    mixed(type);
  }
  sequences<unsigned>(CURAND_RNG_PSEUDO_MT19937, CURAND_ORDERING_PSEUDO_DEFAULT);
  sequences<unsigned>(CURAND_RNG_PSEUDO_XORWOW, CURAND_ORDERING_PSEUDO_SEEDED);
  sequences<float>(CURAND_RNG_QUASI_SOBOL32, CURAND_ORDERING_QUASI_DEFAULT);
  if (!check::throughRouse() || check::onCpuDevice()) sequences<double>(CURAND_RNG_QUASI_SCRAMBLED_SOBOL64, CURAND_ORDERING_QUASI_DEFAULT);
  return check::done();
}
