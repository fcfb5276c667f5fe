// What a generator of cuRAND is to make, as it travels: wire::LibraryCall with library 5, function 0, and this as the parameters, followed by its stretches.
// It is all of the generator: none is kept on the server.
//
// Numbers are cuRAND's own: curandRngType, curandOrdering.
#pragma once

#include <cstdint>
#include <type_traits>

namespace rouse::rand {

inline constexpr std::uint32_t kLibrary = 5;  // wire::LibraryCall::library
inline constexpr std::uint32_t kGenerateFunction = 0;

enum class Type : std::uint32_t {
  xorwow = 101,
  mrg32k3a = 121,
  mtgp32 = 141,
  mt19937 = 142,
  philox = 161,
  sobol32 = 201,
  scrambledSobol32 = 202,
  sobol64 = 203,
  scrambledSobol64 = 204,
};

enum class Ordering : std::uint32_t {
  best = 100,
  pseudoDefault = 101,
  seeded = 102,
  legacy = 103,
  dynamic = 104,
  quasiDefault = 201,
};

// One a generating function.
enum class Kind : std::uint32_t { bits32, bits64, uniform, uniformDouble, normal, normalDouble, logNormal, logNormalDouble, poisson };
inline constexpr std::uint32_t kKinds = 9;

// XORWOW, MRG32k3a and Philox are many generators side by side, lanes, whose results are interleaved. A lane has a state of its own, and what a result takes of
// it depends on the kind; so after calls of several kinds lanes differ in how much they have drawn. From `lane` on to the next stretch, each has drawn so much.
struct Stretch {
  std::uint64_t draws = 0;
  std::uint32_t lane = 0;
  std::uint32_t padding = 0;
};
// What a position is described by at most; see Position.
inline constexpr std::uint32_t kMostStretches = 64;

struct Generation {
  std::uint64_t output = 0;  // address of the first result
  std::uint64_t count = 0;   // of results
  std::uint64_t seed = 0;
  // Where the generator is. Of XORWOW and MRG32k3a: steps so far, of which each is one lane's, the next that of lane `step` modulo their number. Of Philox:
  // results, of which four make a step. Of Mersenne Twisters: results. Of quasi-random ones: points.
  std::uint64_t step = 0;
  double first = 0, second = 0;  // mean and standard deviation, or lambda
  Type type{};
  Ordering ordering{};
  Kind kind{};
  std::uint32_t dimensions = 0;  // of quasi-random ones
  std::uint32_t stretches = 0;   // that follow; none but of lanes
  std::uint32_t padding = 0;
};
static_assert(std::is_trivially_copyable_v<Generation> && sizeof(Generation) == 72);
static_assert(std::is_trivially_copyable_v<Stretch> && sizeof(Stretch) == 16);

}  // namespace rouse::rand
