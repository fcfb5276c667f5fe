#include "schemas/wire/slot_wait.h"

#include <algorithm>

#include "schemas/wire/futex.h"
#include "schemas/wire/race_detector.h"

namespace rouse::wire {

void signal(Slot& slot, std::uint64_t value, CudaError result, std::uint64_t timestampNs) {
  std::uint64_t before = slot.value.load(std::memory_order_acquire);
  if (before > value) return;
  if (timestampNs != 0) slot.timestampNs.store(timestampNs, std::memory_order_relaxed);
  slot.result.store(static_cast<std::uint32_t>(result), std::memory_order_relaxed);
  peerMaySee();
  while (before < value && !slot.value.compare_exchange_weak(before, value, std::memory_order_release, std::memory_order_acquire)) {
  }
  // Pairs with the fence in sleepUntil(): either we see the waiter or it sees the value.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (slot.waiters.load(std::memory_order_relaxed) != 0) futexWakeAll(lowWord(slot.value));
}

void SpinBudget::learn(std::chrono::nanoseconds waited) {
  if (budget_.count() == 0) return;
  // Twice what this wait took would have covered it; a wait too long for any budget says that sleeping is right.
  budget_ = waited <= most_ ? std::clamp(2 * waited, kLeast, most_) : std::max(kLeast, budget_ / 2);
}

namespace detail {

bool spinUntil(const Slot& slot, std::uint64_t value, std::chrono::nanoseconds budget) {
  if (budget.count() == 0) return reached(slot, value);
  const auto end = std::chrono::steady_clock::now() + budget;
  do {
    for (int i = 0; i < 16; ++i) {
      if (reached(slot, value)) return true;
      cpuRelax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return reached(slot, value);
}

bool sleepUntil(Slot& slot, std::uint64_t value) {
  slot.waiters.fetch_add(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const std::uint64_t seen = slot.value.load(std::memory_order_acquire);
  if (seen < value) futexWait(lowWord(slot.value), static_cast<std::uint32_t>(seen), kLivenessInterval);
  slot.waiters.fetch_sub(1, std::memory_order_relaxed);
  return reached(slot, value);
}

}  // namespace detail
}  // namespace rouse::wire
