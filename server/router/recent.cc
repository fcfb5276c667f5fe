#include "server/router/recent.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace rouse::router {
namespace {

std::int64_t stepOf(Recent::Time time) { return time.time_since_epoch() / Recent::kStep; }

}  // namespace

unsigned Recent::bucket(Duration took) {
  const auto ns = static_cast<std::uint64_t>(std::max<Duration::rep>(1, std::chrono::nanoseconds(took).count()));
  const unsigned octave = static_cast<unsigned>(std::bit_width(ns)) - 1;
  if (octave < kLeast) return 0;
  if (octave >= kLeast + kOctaves) return kBuckets - 1;
  return (octave - kLeast) * kParts + static_cast<unsigned>((ns >> (octave - 3)) & (kParts - 1));
}

Recent::Duration Recent::middle(unsigned bucket) {
  const unsigned octave = kLeast + bucket / kParts;
  const std::uint64_t width = std::uint64_t{1} << (octave - 3);
  return std::chrono::nanoseconds((std::uint64_t{1} << octave) + (bucket % kParts) * width + width / 2);
}

void Recent::add(Time now, std::optional<Duration> took, Duration deadline) {
  if (!since_) since_ = now;
  const std::int64_t number = stepOf(now);
  Step& step = steps_[static_cast<std::size_t>(number) % kSteps];
  if (step.number > number) return;  // time has gone back by a window
  if (step.number != number) step = {.number = number};
  ++step.requests;
  if (!took) return;
  ++step.answered;
  step.inTime += *took <= deadline;
  std::uint16_t& count = step.took[bucket(*took)];
  if (count != std::numeric_limits<std::uint16_t>::max()) ++count;
}

Recent::Figures Recent::figures(Time now) const {
  Figures figures;
  if (!since_) return figures;
  const std::int64_t current = stepOf(now);
  std::array<std::uint32_t, kBuckets> took{};
  std::uint32_t all = 0, latest = 0;
  for (const Step& step : steps_) {
    if (step.number <= current - static_cast<std::int64_t>(kSteps) || step.number > current) continue;
    figures.requests += step.requests;
    figures.answered += step.answered;
    figures.inTime += step.inTime;
    if (step.number >= current - 1) latest += step.requests;
    for (unsigned i = 0; i < kBuckets; ++i) took[i] += step.took[i], all += step.took[i];
  }
  const Duration since = now - *since_, begun = now.time_since_epoch() - current * kStep;
  const auto seconds = [](Duration time) { return std::chrono::duration<double>(time).count(); };
  figures.seconds = std::max(1e-3, seconds(std::min<Duration>(since, (kSteps - 1) * kStep + begun)));
  // Whoever has just begun counts as if it had been there for a second.
  figures.perSecond = latest / std::max(1.0, seconds(std::min<Duration>(since, kStep + begun)));
  const auto below = [&](double fraction) -> std::optional<Duration> {
    if (all == 0) return std::nullopt;
    const auto rank = static_cast<std::uint32_t>(fraction * (all - 1));
    std::uint32_t passed = 0;
    for (unsigned i = 0; i < kBuckets; ++i)
      if ((passed += took[i]) > rank) return middle(i);
    return middle(kBuckets - 1);
  };
  figures.p50 = below(0.5);
  figures.p98 = below(0.98);
  return figures;
}

}  // namespace rouse::router
