#include "server/roused/rebalance_policy.h"

#include <algorithm>

namespace rouse::daemon {

bool RebalancePolicy::considers(std::uint64_t session, std::uint64_t now) const {
  const auto note = notes_.find(session);
  return note == notes_.end() || now >= note->second.until;
}

std::optional<std::uint32_t> RebalancePolicy::choose(const Waiting& waiting, std::span<const Gpu> others) {
  const Gpu* best = nullptr;
  const auto rank = [&](const Gpu& gpu) {
    const bool free = gpu.roomBytes >= waiting.wantedBytes;
    return std::pair(free, free ? gpu.roomBytes : gpu.roomBytes + gpu.idleBytes);
  };
  for (const Gpu& gpu : others) {
    if (gpu.waiting != 0 || gpu.homeBytes < waiting.reservedBytes || gpu.roomBytes + gpu.idleBytes < waiting.wantedBytes) continue;
    if (best == nullptr || rank(gpu) > rank(*best)) best = &gpu;
  }
  return best == nullptr ? std::nullopt : std::optional(best->number);
}

void RebalancePolicy::ended(std::uint64_t session, bool moved, std::uint64_t now) {
  Note& note = notes_[session];
  note.refusals = moved ? 0 : std::min(note.refusals + 1, kMostRefusals);
  note.until = now + (kStayNs << note.refusals);
}

// What is forgotten begins afresh: of refusals, one more period is remembered.
void RebalancePolicy::forgetOld(std::uint64_t now) {
  std::erase_if(notes_, [now](const auto& entry) { return now > entry.second.until + (kStayNs << kMostRefusals); });
}

}  // namespace rouse::daemon
