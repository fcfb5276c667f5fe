// What may be asked of a generator, and what memory it names. The client asks before it sends a call, to answer as cuRAND does at the call; the executor asks
// again, of what has come. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/rand/generation.h"

namespace rouse::rand {

// Of an output: what a window holds (memory::kMaxWindowBytes).
inline constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 40;
inline constexpr std::uint32_t kMostDimensions = 20000;
// Larger ones are refused, as by cuRAND.
inline constexpr double kMostLambda = 400000;

enum class Verdict : std::uint8_t {
  runs,
  typeError,    // CURAND_STATUS_TYPE_ERROR
  outOfRange,   // CURAND_STATUS_OUT_OF_RANGE
  notMultiple,  // CURAND_STATUS_LENGTH_NOT_MULTIPLE
  unsupported,
};

struct Check {
  Verdict verdict = Verdict::runs;
  const char* what = "";  // in words; literal
};

bool isQuasi(Type type);
bool is64(Type type);
// Generators that a program can create here. unsupported: one of cuRAND's that is refused.
Check checkType(Type type);
bool hasOrdering(Type type, Ordering ordering);

std::uint32_t bytesOf(Kind kind);  // of a result; 0: it is none
// Of XORWOW, MRG32k3a and Philox; else 0.
std::uint32_t lanesOf(Type type, Ordering ordering);
// Of MTGP32: blocks of 256 threads, whose rows are one behind the other.
std::uint32_t mtgpBlocksOf(Ordering ordering);
// Mersenne Twisters have no offsets.
bool hasOffset(Type type);
// Their numbers are reached one by one only, so there is a last one: as many as a GPU makes in seconds.
inline constexpr std::uint64_t kMostTwisterStep = std::uint64_t{1} << 36;
// What one step of a lane is: results, and draws from its state (of Philox: counters). Philox also begins and ends within a step; that counts as what ends it.
struct Step {
  std::uint32_t results = 1, draws = 1;
};
Step stepOf(Type type, Kind kind);

// What is asked for, without the address and the stretches.
Check check(const Generation& generation);
// Also the address (aligned to results, and no end behind the last address) and where lanes are.
Check check(const Generation& generation, std::span<const Stretch> stretches);

// As it travels. False: these are no generation's bytes. `stretches`: room for kMostStretches.
bool takeApart(std::span<const std::byte> parameters, Generation& generation, std::span<Stretch> stretches);

}  // namespace rouse::rand
