// cuRAND as programs call it, before a daemon and executors of the test: what travels, what waits, what is made in the process, what is counted, and what a call
// with wrong arguments answers.
#include <cuda_runtime.h>
#include <curand.h>
#include <curand_discrete.h>
#include <dlfcn.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "schemas/rand/check.h"
#include "test/libraries/library_calls.h"

namespace rouse::test {
namespace {

using wire::Opcode;

struct Asked {
  rand::Generation generation;
  std::vector<rand::Stretch> stretches;
};

struct Numbers : LibraryCalls {
  // The last that has come.
  Asked travelled() {
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    Asked asked;
    asked.stretches.resize(rand::kMostStretches);
    REQUIRE(rand::takeApart(server().executor(0).lastLibraryCall(), asked.generation, asked.stretches));
    asked.stretches.resize(asked.generation.stretches);
    return asked;
  }
  float* floats() { return reinterpret_cast<float*>(memory); }
  double* doubles() { return reinterpret_cast<double*>(memory); }
  unsigned* words() { return reinterpret_cast<unsigned*>(memory); }
  unsigned long long* wides() { return reinterpret_cast<unsigned long long*>(memory); }

  curandGenerator_t generator = nullptr;
};

constexpr curandRngType_t kTypes[] = {CURAND_RNG_PSEUDO_XORWOW,   CURAND_RNG_PSEUDO_MRG32K3A, CURAND_RNG_PSEUDO_MTGP32, CURAND_RNG_PSEUDO_MT19937,           CURAND_RNG_PSEUDO_PHILOX4_32_10, CURAND_RNG_QUASI_SOBOL32,
                                      CURAND_RNG_QUASI_SCRAMBLED_SOBOL32, CURAND_RNG_QUASI_SOBOL64, CURAND_RNG_QUASI_SCRAMBLED_SOBOL64};

}  // namespace

TEST_CASE_METHOD(Numbers, "a call is one command with all of its generator, and waits for nothing", "[rand]") {
  REQUIRE(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT) == CURAND_STATUS_SUCCESS);
  REQUIRE(curandSetPseudoRandomGeneratorSeed(generator, 77) == CURAND_STATUS_SUCCESS);
  REQUIRE(curandGenerateSeeds(generator) == CURAND_STATUS_SUCCESS);
  const auto calls = count(Opcode::LibraryCall), signals = count(Opcode::SlotSignal);
  for (int i = 0; i < 100; ++i) REQUIRE(curandGenerateUniform(generator, floats(), 100) == CURAND_STATUS_SUCCESS);
  REQUIRE(curandGenerateLogNormalDouble(generator, doubles() + 1, 10, 2.5, 0.5) == CURAND_STATUS_SUCCESS);
  CHECK(count(Opcode::SlotSignal) == signals);
  const Asked asked = travelled();
  CHECK(count(Opcode::LibraryCall) == calls + 101);
  const rand::Generation& generation = asked.generation;
  CHECK(generation.output == reinterpret_cast<std::uint64_t>(doubles() + 1));
  CHECK((generation.count == 10 && generation.seed == 77 && generation.step == 10000 && generation.first == 2.5 && generation.second == 0.5));
  CHECK((generation.type == rand::Type::xorwow && generation.ordering == rand::Ordering::pseudoDefault && generation.kind == rand::Kind::logNormalDouble));
  CHECK(generation.dimensions == 0);
  // Lanes before the next one are one draw ahead.
  REQUIRE(asked.stretches.size() == 2);
  CHECK((asked.stretches[0].lane == 0 && asked.stretches[0].draws == 3));
  CHECK((asked.stretches[1].lane == 10000 % 4096 && asked.stretches[1].draws == 2));
  CHECK(curandDestroyGenerator(generator) == CURAND_STATUS_SUCCESS);
  CHECK(curandDestroyGenerator(generator) == CURAND_STATUS_NOT_INITIALIZED);
}

TEST_CASE_METHOD(Numbers, "settings travel: offsets, orderings, dimensions, streams", "[rand]") {
  REQUIRE(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_MRG32K3A) == CURAND_STATUS_SUCCESS);
  CHECK(curandSetGeneratorOffset(generator, 5000) == CURAND_STATUS_SUCCESS);
  CHECK(curandSetGeneratorOrdering(generator, CURAND_ORDERING_PSEUDO_LEGACY) == CURAND_STATUS_SUCCESS);
  REQUIRE(curandGenerateNormal(generator, floats(), 8, 1, 2) == CURAND_STATUS_SUCCESS);
  Asked asked = travelled();
  CHECK((asked.generation.step == 5000 && asked.generation.ordering == rand::Ordering::legacy && asked.generation.kind == rand::Kind::normal));
  CHECK((asked.generation.first == 1 && asked.generation.second == 2));
  // Another seed: the position stays, as if each result had been one draw.
  CHECK(curandSetPseudoRandomGeneratorSeed(generator, 3) == CURAND_STATUS_SUCCESS);
  REQUIRE(curandGenerate(generator, words(), 1) == CURAND_STATUS_SUCCESS);
  asked = travelled();
  CHECK((asked.generation.step == 5004 && asked.generation.seed == 3 && asked.stretches.size() == 2));
  CHECK(asked.stretches[0].draws == 2);
  CHECK(curandDestroyGenerator(generator) == CURAND_STATUS_SUCCESS);

  REQUIRE(curandCreateGenerator(&generator, CURAND_RNG_QUASI_SCRAMBLED_SOBOL64) == CURAND_STATUS_SUCCESS);
  CHECK(curandSetQuasiRandomGeneratorDimensions(generator, 20000) == CURAND_STATUS_SUCCESS);
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  CHECK(curandSetStream(generator, stream) == CURAND_STATUS_SUCCESS);
  REQUIRE(curandGenerateLongLong(generator, wides(), 20000) == CURAND_STATUS_SUCCESS);
  REQUIRE(curandGenerateLongLong(generator, wides(), 20000) == CURAND_STATUS_SUCCESS);
  asked = travelled();
  CHECK((asked.generation.step == 1 && asked.generation.dimensions == 20000 && asked.generation.type == rand::Type::scrambledSobol64));
  CHECK((asked.stretches.empty() && asked.generation.ordering == rand::Ordering::quasiDefault && asked.generation.kind == rand::Kind::bits64));
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(curandGenerateLongLong(generator, wides(), 20000) == CURAND_STATUS_LAUNCH_FAILURE);
  CHECK(curandDestroyGenerator(generator) == CURAND_STATUS_SUCCESS);
}

TEST_CASE_METHOD(Numbers, "wrong arguments are answered as by NVIDIA's library, and change nothing", "[rand]") {
  CHECK(curandCreateGenerator(nullptr, CURAND_RNG_PSEUDO_DEFAULT) == CURAND_STATUS_NOT_INITIALIZED);
  for (const int type : {0, 1, 99, 102, 120, 205, 300}) CHECK(curandCreateGenerator(&generator, static_cast<curandRngType_t>(type)) == CURAND_STATUS_TYPE_ERROR);
  const auto calls = count(Opcode::LibraryCall);
  const auto none = reinterpret_cast<curandGenerator_t>(std::uintptr_t{8});
  for (const curandGenerator_t wrong : {static_cast<curandGenerator_t>(nullptr), none}) {
    CHECK(curandDestroyGenerator(wrong) == CURAND_STATUS_NOT_INITIALIZED);
    CHECK(curandSetStream(wrong, nullptr) == CURAND_STATUS_NOT_INITIALIZED);
    CHECK(curandSetGeneratorOffset(wrong, 1) == CURAND_STATUS_NOT_INITIALIZED);
    CHECK(curandSetGeneratorOrdering(wrong, CURAND_ORDERING_PSEUDO_BEST) == CURAND_STATUS_NOT_INITIALIZED);
    CHECK(curandSetPseudoRandomGeneratorSeed(wrong, 1) == CURAND_STATUS_NOT_INITIALIZED);
    CHECK(curandSetQuasiRandomGeneratorDimensions(wrong, 1) == CURAND_STATUS_NOT_INITIALIZED);
    CHECK(curandGenerateSeeds(wrong) == CURAND_STATUS_NOT_INITIALIZED);
    CHECK(curandGenerate(wrong, words(), 4) == CURAND_STATUS_NOT_INITIALIZED);
    CHECK(curandGenerateNormal(wrong, floats(), 3, 0, 1) == CURAND_STATUS_NOT_INITIALIZED);
    CHECK(curandGeneratePoisson(wrong, words(), 4, 0) == CURAND_STATUS_NOT_INITIALIZED);
  }
  for (const curandRngType_t type : kTypes) {
    CAPTURE(static_cast<int>(type));
    const bool quasi = type >= CURAND_RNG_QUASI_SOBOL32, wide = type >= CURAND_RNG_QUASI_SOBOL64, pairs = type < CURAND_RNG_PSEUDO_MTGP32;
    REQUIRE(curandCreateGenerator(&generator, type) == CURAND_STATUS_SUCCESS);
    CHECK(curandSetGeneratorOffset(generator, 0) == (type == CURAND_RNG_PSEUDO_MTGP32 || type == CURAND_RNG_PSEUDO_MT19937 ? CURAND_STATUS_TYPE_ERROR : CURAND_STATUS_SUCCESS));
    CHECK(curandSetPseudoRandomGeneratorSeed(generator, 1) == (quasi ? CURAND_STATUS_TYPE_ERROR : CURAND_STATUS_SUCCESS));
    CHECK(curandSetQuasiRandomGeneratorDimensions(generator, 0) == (quasi ? CURAND_STATUS_OUT_OF_RANGE : CURAND_STATUS_TYPE_ERROR));
    CHECK(curandSetQuasiRandomGeneratorDimensions(generator, 20001) == (quasi ? CURAND_STATUS_OUT_OF_RANGE : CURAND_STATUS_TYPE_ERROR));
    for (const auto ordering : {CURAND_ORDERING_PSEUDO_BEST, CURAND_ORDERING_PSEUDO_DEFAULT, CURAND_ORDERING_PSEUDO_LEGACY, CURAND_ORDERING_PSEUDO_DYNAMIC})
      CHECK(curandSetGeneratorOrdering(generator, ordering) == (quasi ? CURAND_STATUS_OUT_OF_RANGE : CURAND_STATUS_SUCCESS));
    CHECK(curandSetGeneratorOrdering(generator, CURAND_ORDERING_PSEUDO_SEEDED) ==
          (type == CURAND_RNG_PSEUDO_XORWOW ? CURAND_STATUS_SUCCESS : CURAND_STATUS_OUT_OF_RANGE));
    CHECK(curandSetGeneratorOrdering(generator, CURAND_ORDERING_QUASI_DEFAULT) == (quasi ? CURAND_STATUS_SUCCESS : CURAND_STATUS_OUT_OF_RANGE));
    CHECK(curandSetGeneratorOrdering(generator, static_cast<curandOrdering_t>(105)) == CURAND_STATUS_OUT_OF_RANGE);
    CHECK((wide ? curandGenerate(generator, words(), 4) : curandGenerateLongLong(generator, wides(), 4)) == CURAND_STATUS_TYPE_ERROR);
    for (const double lambda : {0.0, -1.0, 400001.0}) CHECK(curandGeneratePoisson(generator, words(), 4, lambda) == CURAND_STATUS_OUT_OF_RANGE);
    if (pairs) {
      CHECK(curandGenerateNormal(generator, floats(), 3, 0, 1) == CURAND_STATUS_LENGTH_NOT_MULTIPLE);
      CHECK(curandGenerateNormalDouble(generator, doubles(), 3, 0, 1) == CURAND_STATUS_LENGTH_NOT_MULTIPLE);
      CHECK(curandGenerateLogNormal(generator, floats(), 3, 0, 1) == CURAND_STATUS_LENGTH_NOT_MULTIPLE);
      CHECK(curandGenerateLogNormalDouble(generator, doubles(), 3, 0, 1) == CURAND_STATUS_LENGTH_NOT_MULTIPLE);
    }
    if (quasi) {
      CHECK(curandSetQuasiRandomGeneratorDimensions(generator, 3) == CURAND_STATUS_SUCCESS);
      CHECK(curandGenerateUniform(generator, floats(), 100) == CURAND_STATUS_LENGTH_NOT_MULTIPLE);
    }
    CHECK(curandGenerateUniform(generator, nullptr, 3) == CURAND_STATUS_OUT_OF_RANGE);
    CHECK(curandGenerateUniform(generator, reinterpret_cast<float*>(memory + 1), 3) == CURAND_STATUS_OUT_OF_RANGE);
    // Nothing is nothing to do.
    CHECK(curandGenerateUniform(generator, nullptr, 0) == CURAND_STATUS_SUCCESS);
    CHECK(curandDestroyGenerator(generator) == CURAND_STATUS_SUCCESS);
  }
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(count(Opcode::LibraryCall) == calls);
  REQUIRE(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_XORWOW) == CURAND_STATUS_SUCCESS);
  CHECK(curandGenerateNormal(generator, floats(), 3, 0, 1) == CURAND_STATUS_LENGTH_NOT_MULTIPLE);
  REQUIRE(curandGenerate(generator, words(), 1) == CURAND_STATUS_SUCCESS);
  CHECK(travelled().generation.step == 0);
  CHECK(curandDestroyGenerator(generator) == CURAND_STATUS_SUCCESS);
}

TEST_CASE_METHOD(Numbers, "generators on the host make their numbers at once, and send nothing", "[rand]") {
  const auto calls = count(Opcode::LibraryCall);
  std::vector<unsigned> words(100000);
  REQUIRE(curandCreateGeneratorHost(&generator, CURAND_RNG_PSEUDO_XORWOW) == CURAND_STATUS_SUCCESS);
  REQUIRE(curandGenerate(generator, words.data(), words.size()) == CURAND_STATUS_SUCCESS);
  CHECK((words[0] == 3179217846 && words[1] == 3955638199 && words[2] == 167591721 && words[3] == 4161663997));
  CHECK(curandSetGeneratorOrdering(generator, CURAND_ORDERING_PSEUDO_DYNAMIC) == CURAND_STATUS_OUT_OF_RANGE);
  CHECK(curandSetGeneratorOffset(generator, 50000) == CURAND_STATUS_SUCCESS);
  std::vector<unsigned> rest(50000);
  REQUIRE(curandGenerate(generator, rest.data(), rest.size()) == CURAND_STATUS_SUCCESS);
  CHECK(std::equal(rest.begin(), rest.end(), words.begin() + 50000));
  CHECK(curandDestroyGenerator(generator) == CURAND_STATUS_SUCCESS);

  float points[6];
  REQUIRE(curandCreateGeneratorHost(&generator, CURAND_RNG_QUASI_DEFAULT) == CURAND_STATUS_SUCCESS);
  CHECK(curandSetQuasiRandomGeneratorDimensions(generator, 2) == CURAND_STATUS_SUCCESS);
  CHECK(curandSetGeneratorOffset(generator, 1) == CURAND_STATUS_SUCCESS);
  CHECK(curandSetStream(generator, nullptr) == CURAND_STATUS_SUCCESS);
  REQUIRE(curandGenerateUniform(generator, points, 6) == CURAND_STATUS_SUCCESS);
  CHECK((points[0] == 0.5f && points[1] == 0.75f && points[2] == 0.25f && points[3] == 0.5f && points[4] == 0.25f && points[5] == 0.75f));
  CHECK(curandDestroyGenerator(generator) == CURAND_STATUS_SUCCESS);
  CHECK(count(Opcode::LibraryCall) == calls);
}

TEST_CASE_METHOD(Numbers, "in a capture numbers are refused, which is counted, and the capture goes on", "[rand]") {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  REQUIRE(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10) == CURAND_STATUS_SUCCESS);
  REQUIRE(curandSetStream(generator, stream) == CURAND_STATUS_SUCCESS);
  const auto calls = count(Opcode::LibraryCall);
  const std::uint32_t id = idOf("curandGenerateUniform"), before = server().unsupportedCalls(id);
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  CHECK(curandGenerateUniform(generator, floats(), 16) == CURAND_STATUS_ARCH_MISMATCH);
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  std::size_t nodes = 1;
  REQUIRE(cudaGraphGetNodes(graph, nullptr, &nodes) == cudaSuccess);
  CHECK(nodes == 0);
  CHECK(server().unsupportedCalls(id) == before + 1);
  CHECK(count(Opcode::LibraryCall) == calls);
  REQUIRE(curandGenerateUniform(generator, floats(), 16) == CURAND_STATUS_SUCCESS);
  CHECK(travelled().generation.step == 0);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(curandDestroyGenerator(generator) == CURAND_STATUS_SUCCESS);
}

TEST_CASE_METHOD(Numbers, "tables of directions and constants", "[rand]") {
  curandDirectionVectors32_t *plain = nullptr, *scrambled = nullptr, *again = nullptr;
  REQUIRE(curandGetDirectionVectors32(&plain, CURAND_DIRECTION_VECTORS_32_JOEKUO6) == CURAND_STATUS_SUCCESS);
  REQUIRE(curandGetDirectionVectors32(&scrambled, CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6) == CURAND_STATUS_SUCCESS);
  REQUIRE(curandGetDirectionVectors32(&again, CURAND_DIRECTION_VECTORS_32_JOEKUO6) == CURAND_STATUS_SUCCESS);
  CHECK(plain == again);
  for (int i = 0; i < 32; ++i) CHECK(plain[0][i] == 1u << (31 - i));
  curandDirectionVectors64_t *wide = nullptr, *wideScrambled = nullptr;
  REQUIRE(curandGetDirectionVectors64(&wide, CURAND_DIRECTION_VECTORS_64_JOEKUO6) == CURAND_STATUS_SUCCESS);
  REQUIRE(curandGetDirectionVectors64(&wideScrambled, CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6) == CURAND_STATUS_SUCCESS);
  unsigned* constants = nullptr;
  unsigned long long* wideConstants = nullptr;
  REQUIRE(curandGetScrambleConstants32(&constants) == CURAND_STATUS_SUCCESS);
  REQUIRE(curandGetScrambleConstants64(&wideConstants) == CURAND_STATUS_SUCCESS);
  for (const int dimension : {0, 1, 2, 1000, 19999}) {
    for (int i = 0; i < 32; ++i) {
      CHECK(plain[dimension][i] == wide[dimension][i] >> 32);
      CHECK(scrambled[dimension][i] == wideScrambled[dimension][i] >> 32);
      // The highest bit of each is where it was.
      CHECK(__builtin_clz(plain[dimension][i]) == __builtin_clz(scrambled[dimension][i]));
    }
    CHECK(constants[dimension] == wideConstants[dimension] >> 32);
  }
  for (const auto set : {CURAND_DIRECTION_VECTORS_64_JOEKUO6, static_cast<curandDirectionVectorSet_t>(7)})
    CHECK(curandGetDirectionVectors32(&again, set) == CURAND_STATUS_OUT_OF_RANGE);
  CHECK(curandGetDirectionVectors64(&wide, CURAND_DIRECTION_VECTORS_32_JOEKUO6) == CURAND_STATUS_OUT_OF_RANGE);
  CHECK(curandGetDirectionVectors32(nullptr, CURAND_DIRECTION_VECTORS_32_JOEKUO6) == CURAND_STATUS_OUT_OF_RANGE);
  CHECK(curandGetScrambleConstants32(nullptr) == CURAND_STATUS_OUT_OF_RANGE);
}

TEST_CASE_METHOD(Numbers, "Poisson distributions lie in device memory until they are destroyed", "[rand]") {
  curandDiscreteDistribution_t distribution = nullptr;
  REQUIRE(curandCreatePoissonDistribution(12.5, &distribution) == CURAND_STATUS_SUCCESS);
  CHECK(distribution != nullptr);
  cudaPointerAttributes attributes{};
  REQUIRE(cudaPointerGetAttributes(&attributes, distribution) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeDevice);
  CHECK(curandDestroyDistribution(distribution) == CURAND_STATUS_SUCCESS);
  CHECK(curandDestroyDistribution(distribution) == CURAND_STATUS_NOT_INITIALIZED);
  CHECK(curandDestroyDistribution(nullptr) == CURAND_STATUS_NOT_INITIALIZED);
  for (const double lambda : {0.0, -1.0, 400001.0}) CHECK(curandCreatePoissonDistribution(lambda, &distribution) == CURAND_STATUS_OUT_OF_RANGE);
  CHECK(curandCreatePoissonDistribution(1, nullptr) == CURAND_STATUS_OUT_OF_RANGE);
}

TEST_CASE_METHOD(Numbers, "what cuRAND says of itself", "[rand]") {
  int version = 0, part = 0;
  CHECK(curandGetVersion(&version) == CURAND_STATUS_SUCCESS);
  CHECK(version == CURAND_VERSION);
  CHECK(curandGetProperty(MAJOR_VERSION, &part) == CURAND_STATUS_SUCCESS);
  CHECK(part == CURAND_VER_MAJOR);
  CHECK(curandGetProperty(MINOR_VERSION, &part) == CURAND_STATUS_SUCCESS);
  CHECK(part == CURAND_VER_MINOR);
  CHECK(curandGetProperty(PATCH_LEVEL, &part) == CURAND_STATUS_SUCCESS);
  CHECK(part == CURAND_VER_PATCH);
  CHECK(curandGetProperty(static_cast<libraryPropertyType>(7), &part) == CURAND_STATUS_OUT_OF_RANGE);
}

TEST_CASE_METHOD(Numbers, "what is not served says so, and is counted", "[rand]") {
  int unsupported = 0;
  for (std::uint32_t name = api::kCurandNames; name < api::kCusparseNames; ++name) {
    if (api::kAllSupported[name]) continue;
    CAPTURE(api::kAllNames[name]);
    void* function = ::dlsym(RTLD_DEFAULT, std::string(api::kAllNames[name]).c_str());
    REQUIRE(function != nullptr);
    const std::uint32_t counted = server().unsupportedCalls(name);
    CHECK(reinterpret_cast<int (*)()>(function)() == CURAND_STATUS_ARCH_MISMATCH);
    CHECK(server().unsupportedCalls(name) == counted + 1);
    ++unsupported;
  }
  CHECK(unsupported == 1);
}

}  // namespace rouse::test
