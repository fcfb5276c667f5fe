#include "server/device/cpu/link_use.h"

#include <time.h>

#include <algorithm>

#include "memory/measure_link.h"
#include "server/device/cpu/stream_queue.h"

namespace rouse::cpu {
namespace {

// What may be ahead of the link: so many of the largest that pass.
constexpr std::int64_t kPassedCopies = 4;

}  // namespace

memory::LinkDescription LinkUse::describe() const {
  memory::LinkDescription link;
  const auto curve = [&](device::LinkDirection direction) {
    memory::LinkCurve points;
    for (std::uint64_t bytes = memory::kSmallestLinkBlock; bytes <= memory::kLargestLinkBlock; bytes *= 2) {
      const auto size = static_cast<double>(bytes);
      const double seconds = size / board_->bytesPerSecond(direction) + static_cast<double>(board_->latency(direction)) * 1e-9;
      points.push_back({bytes, static_cast<std::uint64_t>(size / seconds)});
    }
    return points;
  };
  link.toDevice = curve(device::LinkDirection::toDevice);
  link.toHost = curve(device::LinkDirection::toHost);
  return link;
}

bool LinkUse::pass(device::LinkDirection direction, std::uint64_t bytes, bool refused) {
  if (bytes > kPassingBytes) return false;
  // Alone on the link, with the fixed cost, which is most of what a small copy takes.
  const auto alone = [&](std::uint64_t size) {
    return board_->latency(direction) + static_cast<std::int64_t>(static_cast<double>(size) * 1e9 / board_->bytesPerSecond(direction));
  };
  const std::int64_t least = kPassedCopies * alone(kPassingBytes), duration = alone(bytes);
  const std::int64_t now = AlarmClock::now();
  auto& until = passedUntil_[static_cast<std::size_t>(direction)];
  std::int64_t before = until.load(std::memory_order_relaxed);
  bool passes = false;
  do {
    passes = before <= now + least;
    if (!passes && !refused) return false;
  } while (!until.compare_exchange_weak(before, std::max(before, now) + duration, std::memory_order_relaxed));
  if (passes) board_->charge(now, direction, bytes);
  return passes;
}

// Not what a sanitizer may look into: it is in the handler of a fault.
__attribute__((no_sanitize("address", "thread"))) void LinkUse::onDemand(std::uint64_t bytes, std::uint8_t way) noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  board_->charge(std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec, static_cast<device::LinkDirection>(way), bytes);
}

std::optional<device::LinkDirection> directionOf(AddressRange deviceWindow, std::uint64_t destination, std::uint64_t source) {
  const bool to = deviceWindow.contains(destination), from = deviceWindow.contains(source);
  if (to == from) return std::nullopt;
  return to ? device::LinkDirection::toDevice : device::LinkDirection::toHost;
}

}  // namespace rouse::cpu
