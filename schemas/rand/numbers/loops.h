// The inner loops, compiled for several sets of instructions and chosen at run time; results are the same. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schemas/rand/generation.h"
#include "schemas/rand/numbers/directions.h"
#include "schemas/rand/numbers/mrg32k3a.h"
#include "schemas/rand/numbers/poisson.h"
#include "schemas/rand/numbers/xorwow.h"

namespace rouse::rand {

// So many lanes, counters or points are computed side by side.
inline constexpr std::uint32_t kTogether = 64;

struct Distribution {
  Kind kind{};
  double first = 0, second = 0;
  const Poisson* poisson = nullptr;
  bool inDouble = false;  // uniform numbers of one word are computed so, in the middle of their intervals: MT19937
};

// Neighbouring lanes, up to kTogether: each row is a step of each, the last of the first `last` of them.
struct LaneRows {
  std::uint64_t rows = 0;
  std::uint32_t lanes = 0, last = 0;
  std::byte* output = nullptr;
  std::uint64_t rowBytes = 0;  // from one row to the next
};

// Neighbouring lanes, and the counter of each.
struct PhiloxLanes {
  std::uint32_t lanes[kTogether];
  std::uint64_t counters[kTogether];
};

struct Loops {
  void (*xorwow)(const XorwowState* states, const LaneRows& rows, const Distribution& distribution);
  void (*mrg)(const MrgState* states, const LaneRows& rows, const Distribution& distribution);
  // Of kTogether lanes four results each, or what of them is asked for: `count` from `skipped` on.
  void (*philox)(std::uint64_t seed, const PhiloxLanes& lanes, std::uint32_t skipped, std::uint32_t count, std::byte* output, const Distribution& distribution);
  // Points from one on, in one dimension; of 32 bits, or 64.
  void (*sobol)(const Directions& directions, std::uint64_t shift, bool wide, std::uint64_t point, std::uint64_t count, std::byte* output,
                const Distribution& distribution);
  // One result of each, as of points.
  void (*words)(const std::uint32_t* words, std::uint32_t count, std::byte* output, const Distribution& distribution);
};
extern const Loops kLoopsAny, kLoops256, kLoops512;
// For this processor.
const Loops& loops();

}  // namespace rouse::rand
