// Measures a LinkCurve with copies that the caller makes, by a clock that the caller reads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "memory/link_curve.h"
#include "schemas/base/result.h"

namespace rouse::memory {

inline constexpr std::uint64_t kSmallestLinkBlock = std::uint64_t{64} << 10;
inline constexpr std::uint64_t kLargestLinkBlock = std::uint64_t{32} << 20;

struct LinkTrial {
  std::uint64_t largestBlock = kLargestLinkBlock;
  // For all sizes together, shared out evenly. Each size is tried once at least, so it is overrun by the slowest block
  // at most, and sizes are left out once it is used up.
  std::chrono::nanoseconds budget{75'000'000};
  // Copies `count` blocks of `bytes` one behind the other and returns when the last has arrived.
  std::function<Status(std::uint64_t bytes, std::uint32_t count)> copy;
  std::function<std::chrono::nanoseconds()> now;
};

// Sizes are the powers of two from kSmallestLinkBlock to largestBlock. A rate is the best of several batches: what
// disturbs a copy only makes it slower. The first error of copy() ends it.
Result<LinkCurve> measureLink(const LinkTrial& trial);

}  // namespace rouse::memory
