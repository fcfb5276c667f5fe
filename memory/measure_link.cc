#include "memory/measure_link.h"

#include <algorithm>

namespace rouse::memory {
namespace {

// A batch of small blocks: long enough for the cost of waiting for it not to count.
constexpr std::uint64_t kBatchBytes = std::uint64_t{4} << 20;
constexpr std::uint32_t kMostBatches = 8;

std::uint64_t rate(std::uint64_t bytes, std::chrono::nanoseconds time) {
  const auto nanoseconds = static_cast<double>(std::max<std::int64_t>(time.count(), 1));
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * 1e9 / nanoseconds);
}

}  // namespace

Result<LinkCurve> measureLink(const LinkTrial& trial) {
  std::int64_t sizes = 0;
  for (std::uint64_t bytes = kSmallestLinkBlock; bytes <= trial.largestBlock; bytes *= 2) ++sizes;
  LinkCurve curve;
  if (sizes == 0) return curve;
  // What is slow only the first time: page tables, caches of translations, a link that sleeps.
  if (Status status = trial.copy(kSmallestLinkBlock << (sizes - 1), 1); !status) return status.error();

  const std::chrono::nanoseconds start = trial.now();
  for (std::int64_t i = 0; i < sizes; ++i) {
    if (i != 0 && trial.now() - start >= trial.budget) break;
    const std::chrono::nanoseconds until = start + trial.budget * (i + 1) / sizes;
    const std::uint64_t bytes = kSmallestLinkBlock << i;
    const auto count = static_cast<std::uint32_t>(std::max<std::uint64_t>(kBatchBytes / bytes, 1));
    LinkPoint point{bytes, 0};
    for (std::uint32_t batch = 0; batch < kMostBatches; ++batch) {
      const std::chrono::nanoseconds before = trial.now();
      if (batch != 0 && before >= until) break;
      if (Status status = trial.copy(bytes, count); !status) return status.error();
      point.bytesPerSecond = std::max(point.bytesPerSecond, rate(bytes * count, trial.now() - before));
    }
    curve.push_back(point);
  }
  return curve;
}

}  // namespace rouse::memory
