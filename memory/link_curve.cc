#include "memory/link_curve.h"

#include <algorithm>

namespace rouse::memory {

std::uint64_t bestRate(const LinkCurve& curve) {
  std::uint64_t best = 0;
  for (const LinkPoint& point : curve) best = std::max(best, point.bytesPerSecond);
  return best;
}

std::uint64_t elbow(const LinkCurve& curve) {
  constexpr double kShare = 0.95;
  const std::uint64_t best = bestRate(curve);
  if (best == 0) return 0;
  for (const LinkPoint& point : curve)
    if (static_cast<double>(point.bytesPerSecond) >= kShare * static_cast<double>(best)) return point.bytes;
  return curve.back().bytes;
}

}  // namespace rouse::memory
