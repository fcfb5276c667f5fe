// nvcc: -lcurand
// library: libcurand.so.10
// timeout: 120
// Distributions of cuRAND, on the device and on the host: moments, how often Poisson numbers occur, a table of Poisson's in the program's own kernel; numbers
// between kernels in streams and threads; and what cuRAND answers when an argument is wrong.
#include <curand_kernel.h>

#include <algorithm>
#include <thread>

#include "rand.h"

using namespace rnd;

struct Moments {
  double mean = 0, variance = 0, skewness = 0;
};
template <class T>
Moments momentsOf(const std::vector<T>& numbers) {
  Moments found;
  for (const T each : numbers) found.mean += double(each) / double(numbers.size());
  double third = 0;
  for (const T each : numbers) {
    const double off = double(each) - found.mean;
    found.variance += off * off / double(numbers.size());
    third += off * off * off / double(numbers.size());
  }
  found.skewness = third / std::pow(found.variance, 1.5);
  return found;
}
template <class T>
void moments(const char* what, const std::vector<T>& numbers, double mean, double variance, double skewness) {
  const Moments found = momentsOf(numbers);
  const double root = std::sqrt(double(numbers.size()));
  check::near(what, 0, found.mean, mean, 0, 5 * std::sqrt(variance) / root);
  check::near(what, 1, found.variance, variance, 0.03);
  check::near(what, 2, found.skewness, skewness, 0.2, 0.05);
}

void continuous(curandRngType_t type, bool onHost) {
  const size_t count = 200000;
  const curandGenerator_t from = generator(type, onHost);
  moments("uniform floats", numbers<float>(from, count, onHost), 0.5, 1.0 / 12, 0);
  moments("uniform doubles", numbers<double>(from, count, onHost), 0.5, 1.0 / 12, 0);
  moments("normal floats", made<float>(count, onHost, [&](float* to) { return curandGenerateNormal(from, to, count, -2, 3); }), -2, 9, 0);
  moments("normal doubles", made<double>(count, onHost, [&](double* to) { return curandGenerateNormalDouble(from, to, count, 5, 0.5); }), 5, 0.25, 0);
  // exp(m + v / 2); (exp(v) - 1) exp(2 m + v)
  const double spread = std::exp(0.0625), mean = std::exp(0.5 + 0.03125), skew = (spread + 2) * std::sqrt(spread - 1);
  moments("log-normal floats", made<float>(count, onHost, [&](float* to) { return curandGenerateLogNormal(from, to, count, 0.5f, 0.25f); }), mean,
          (spread - 1) * mean * mean, skew);
  moments("log-normal doubles", made<double>(count, onHost, [&](double* to) { return curandGenerateLogNormalDouble(from, to, count, 0.5, 0.25); }), mean,
          (spread - 1) * mean * mean, skew);
  RAND(curandDestroyGenerator(from));
}

// How often each number occurs: chi-square.
void occurrences(const char* what, const std::vector<unsigned>& numbers, double lambda) {
  double square = 0, probability = std::exp(-lambda);
  int degrees = 0;
  for (unsigned k = 0; k < 200; probability *= lambda / ++k) {
    const double expected = probability * double(numbers.size());
    if (expected < 20) continue;
    const double off = double(std::count(numbers.begin(), numbers.end(), k)) - expected;
    square += off * off / expected;
    ++degrees;
  }
  if (square < degrees + 5 * std::sqrt(2.0 * degrees) + 10) return;
  std::printf("%s: chi-square %g of %d\n", what, square, degrees);
  ++check::failures;
}

__global__ void drawn(unsigned* results, int count, curandDiscreteDistribution_t distribution) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  curandStatePhilox4_32_10_t state;
  curand_init(7, i, 0, &state);
  for (int at = i; at < count; at += threads) results[at] = curand_discrete(&state, distribution);
}

void poisson() {
  const size_t count = 100000;
  for (const auto type : {CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A, CURAND_RNG_PSEUDO_PHILOX4_32_10}) {
    for (const bool onHost : {false, true}) {
      const curandGenerator_t from = generator(type, onHost);
      for (const double lambda : {0.3, 5.0, 50.0, 2500.0, 100000.0}) {
        const auto found = made<unsigned>(count, onHost, [&](unsigned* to) { return curandGeneratePoisson(from, to, count, lambda); });
        moments("Poisson", found, lambda, lambda, 1 / std::sqrt(lambda));
        if (lambda < 100) occurrences("Poisson", found, lambda);
      }
      RAND(curandDestroyGenerator(from));
    }
  }
  for (const double lambda : {0.3, 12.5, 1500.0}) {
    curandDiscreteDistribution_t distribution = nullptr;
    RAND(curandCreatePoissonDistribution(lambda, &distribution));
    auto* const memory = check::deviceArray<unsigned>(count);
    drawn<<<64, 64>>>(memory, int(count), distribution);
    CHECK(cudaGetLastError());
    const std::vector<unsigned> found = check::toHost(memory, count);
    moments("a table of Poisson's", found, lambda, lambda, 1 / std::sqrt(lambda));
    if (lambda < 100) occurrences("a table of Poisson's", found, lambda);
    RAND(curandDestroyDistribution(distribution));
    CHECK(cudaFree(memory));
  }
}

// Points of the unit square in the quarter of a circle.
__global__ void within(const float* x, const float* y, int count, unsigned* hits) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count && x[i] * x[i] + y[i] * y[i] <= 1) atomicAdd(hits, 1u);
}

// Each stream with a generator of its own; kernels wait for the numbers before them, and numbers for the kernels.
void pi() {
  const int count = 1 << 16, rounds = 8;
  cudaStream_t streams[2];
  curandGenerator_t generators[2];
  float* points[2];
  unsigned* hits = check::deviceArray<unsigned>(2);
  CHECK(cudaMemset(hits, 0, 2 * sizeof(unsigned)));
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaStreamCreate(&streams[i]));
    generators[i] = generator(i == 0 ? CURAND_RNG_PSEUDO_MRG32K3A : CURAND_RNG_QUASI_SCRAMBLED_SOBOL32);
    RAND(curandSetStream(generators[i], streams[i]));
    points[i] = check::deviceArray<float>(2 * count);
  }
  RAND(curandSetPseudoRandomGeneratorSeed(generators[0], 31));
  RAND(curandSetQuasiRandomGeneratorDimensions(generators[1], 2));
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 2; ++i) {
      RAND(curandGenerateUniform(generators[i], points[i], 2 * count));
      within<<<count / 256, 256, 0, streams[i]>>>(points[i], points[i] + count, count, hits + i);
      CHECK(cudaGetLastError());
    }
  }
  CHECK(cudaDeviceSynchronize());
  const std::vector<unsigned> found = check::toHost(hits, 2);
  check::near("pi", 0, 4.0 * found[0] / (double(rounds) * count), 3.14159265358979, 0, 0.01);
  check::near("pi by points", 1, 4.0 * found[1] / (double(rounds) * count), 3.14159265358979, 0, 0.0005);
  for (int i = 0; i < 2; ++i) {
    RAND(curandDestroyGenerator(generators[i]));
    CHECK(cudaFree(points[i]));
    CHECK(cudaStreamDestroy(streams[i]));
  }
  CHECK(cudaFree(hits));
}

void threads() {
  std::vector<std::vector<float>> got(4);
  std::vector<std::thread> all;
  for (size_t i = 0; i < got.size(); ++i)
    all.emplace_back([&, i] {
      const curandGenerator_t from = generator(CURAND_RNG_PSEUDO_XORWOW);
      RAND(curandSetPseudoRandomGeneratorSeed(from, 1000 + i));
      for (int part = 0; part < 5; ++part)
        for (const float each : numbers<float>(from, 3000)) got[i].push_back(each);
      RAND(curandDestroyGenerator(from));
    });
  for (std::thread& each : all) each.join();
  for (size_t i = 0; i < got.size(); ++i) {
    const curandGenerator_t host = generator(CURAND_RNG_PSEUDO_XORWOW, true);
    RAND(curandSetPseudoRandomGeneratorSeed(host, 1000 + i));
    check::equal("threads", got[i], numbers<float>(host, 15000, true));
    RAND(curandDestroyGenerator(host));
  }
}

void answers() {
  int version = 0, major = 0;
  RAND(curandGetVersion(&version));
  RAND(curandGetProperty(MAJOR_VERSION, &major));
  EXPECT(version / 1000 == major);
  curandGenerator_t from = nullptr;
  EXPECT_STATUS(CURAND_STATUS_TYPE_ERROR, curandCreateGenerator(&from, curandRngType_t(1)));
  EXPECT_STATUS(CURAND_STATUS_NOT_INITIALIZED, curandGenerate(nullptr, nullptr, 4));
  EXPECT_STATUS(CURAND_STATUS_NOT_INITIALIZED, curandDestroyGenerator(nullptr));
  EXPECT_STATUS(CURAND_STATUS_NOT_INITIALIZED, curandSetStream(nullptr, nullptr));
  EXPECT_STATUS(CURAND_STATUS_NOT_INITIALIZED, curandDestroyDistribution(nullptr));
  auto* const memory = check::deviceArray<double>(64);
  auto* const floats = reinterpret_cast<float*>(memory);
  auto* const words = reinterpret_cast<unsigned*>(memory);
  auto* const wides = reinterpret_cast<unsigned long long*>(memory);
  from = generator(CURAND_RNG_PSEUDO_DEFAULT);
  EXPECT_STATUS(CURAND_STATUS_TYPE_ERROR, curandGenerateLongLong(from, wides, 4));
  EXPECT_STATUS(CURAND_STATUS_TYPE_ERROR, curandSetQuasiRandomGeneratorDimensions(from, 2));
  EXPECT_STATUS(CURAND_STATUS_LENGTH_NOT_MULTIPLE, curandGenerateNormal(from, floats, 3, 0, 1));
  EXPECT_STATUS(CURAND_STATUS_LENGTH_NOT_MULTIPLE, curandGenerateNormalDouble(from, memory, 3, 0, 1));
  EXPECT_STATUS(CURAND_STATUS_LENGTH_NOT_MULTIPLE, curandGenerateLogNormal(from, floats, 3, 0, 1));
  EXPECT_STATUS(CURAND_STATUS_LENGTH_NOT_MULTIPLE, curandGenerateLogNormalDouble(from, memory, 3, 0, 1));
  EXPECT_STATUS(CURAND_STATUS_OUT_OF_RANGE, curandGeneratePoisson(from, words, 4, 0));
  EXPECT_STATUS(CURAND_STATUS_OUT_OF_RANGE, curandSetGeneratorOrdering(from, CURAND_ORDERING_QUASI_DEFAULT));
  EXPECT_STATUS(CURAND_STATUS_SUCCESS, curandGenerate(from, words, 0));
  RAND(curandDestroyGenerator(from));
  from = generator(CURAND_RNG_QUASI_SOBOL64);
  EXPECT_STATUS(CURAND_STATUS_TYPE_ERROR, curandGenerate(from, words, 4));
  EXPECT_STATUS(CURAND_STATUS_TYPE_ERROR, curandSetPseudoRandomGeneratorSeed(from, 4));
  EXPECT_STATUS(CURAND_STATUS_OUT_OF_RANGE, curandSetGeneratorOrdering(from, CURAND_ORDERING_PSEUDO_BEST));
  EXPECT_STATUS(CURAND_STATUS_OUT_OF_RANGE, curandSetQuasiRandomGeneratorDimensions(from, 0));
  EXPECT_STATUS(CURAND_STATUS_OUT_OF_RANGE, curandSetQuasiRandomGeneratorDimensions(from, 20001));
  RAND(curandSetQuasiRandomGeneratorDimensions(from, 3));
  EXPECT_STATUS(CURAND_STATUS_LENGTH_NOT_MULTIPLE, curandGenerateLongLong(from, wides, 4));
  EXPECT_STATUS(CURAND_STATUS_SUCCESS, curandGenerateLongLong(from, wides, 6));
  RAND(curandDestroyGenerator(from));
  CHECK(cudaDeviceSynchronize());
  if (check::throughRouse()) {
    // What Rouse does not serve says so.
    from = generator(CURAND_RNG_PSEUDO_PHILOX4_32_10);
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamCreate(&stream));
    RAND(curandSetStream(from, stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    EXPECT_STATUS(CURAND_STATUS_ARCH_MISMATCH, curandGenerateUniform(from, floats, 4));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    RAND(curandDestroyGenerator(from));
  }
  CHECK(cudaFree(memory));
}

int main() {
  for (const auto type : {CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A, CURAND_RNG_PSEUDO_MTGP32, CURAND_RNG_PSEUDO_MT19937, CURAND_RNG_PSEUDO_PHILOX4_32_10, CURAND_RNG_QUASI_SOBOL32,
                          CURAND_RNG_QUASI_SCRAMBLED_SOBOL32, CURAND_RNG_QUASI_SOBOL64, CURAND_RNG_QUASI_SCRAMBLED_SOBOL64})
    for (const bool onHost : {false, true}) continuous(type, onHost);
  poisson();
  pi();
  threads();
  answers();
  return check::done();
}
