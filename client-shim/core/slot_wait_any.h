// Sleeping until one of several slots moves.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>

#include "schemas/wire/layout.h"

namespace rouse::client {

struct AwaitedSlot {
  wire::Slot* slot = nullptr;
  std::uint64_t value = 0;
};

// Returns when one of the slots has its value, when `bell` (a word of this process, may be null) no longer holds
// `seen`, after `atMost`, or for no reason. Looks at no more than the first 127 slots; a caller with more looks at all
// of them itself, on return. Where the kernel has no futex_waitv(2) (before 5.16) it sleeps 200 us.
void waitForAny(std::span<const AwaitedSlot> slots, const std::atomic<std::uint32_t>* bell, std::uint32_t seen,
                std::chrono::nanoseconds atMost);

// Wakes who waits with that bell, after its word was changed.
void ringBell(std::atomic<std::uint32_t>& bell);

}  // namespace rouse::client
