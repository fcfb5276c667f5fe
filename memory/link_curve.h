// How fast a link between host and device copies, by the size of the blocks. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace rouse::memory {

struct LinkPoint {
  std::uint64_t bytes = 0;  // of one block
  std::uint64_t bytesPerSecond = 0;
  bool operator==(const LinkPoint&) const = default;
};

// Ascending in block size, each size once. Empty: not measured.
using LinkCurve = std::vector<LinkPoint>;

// The rate of the fastest block; 0 for an empty curve.
std::uint64_t bestRate(const LinkCurve& curve);

// The smallest block that reaches 95% of the best rate: smaller ones waste the link, larger ones only make whoever
// waits behind them wait longer. 0 for an empty curve, and where nothing has moved.
std::uint64_t elbow(const LinkCurve& curve);

}  // namespace rouse::memory
