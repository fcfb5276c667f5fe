// Signalling slots and waiting for them (the protocol is in layout.h).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <type_traits>

#include "schemas/base/cuda_error.h"
#include "schemas/wire/layout.h"

namespace rouse::wire {

// Stores timestamp, result and value, in this order, and wakes whoever sleeps on the slot; nothing where the value is greater already: it is
// only ever raised. Any thread, but only one at a time for one slot, or the result is anyone's. `timestampNs`: CLOCK_MONOTONIC; 0 leaves the last one.
void signal(Slot& slot, std::uint64_t value, CudaError result = CudaError::success, std::uint64_t timestampNs = 0);

// How long to look at a slot before sleeping. Learns from the waits it is told of: what usually comes soon is worth
// spinning for, what does not is not. No clock of its own; not thread-safe (one per thread or under the caller's lock).
class SpinBudget {
 public:
  static constexpr std::chrono::nanoseconds kLeast{2'000};
  static constexpr std::chrono::nanoseconds kMost{50'000};
  // For work that takes no processor of this machine. A processor that sleeps meanwhile takes 50 to 100 µs to be there again where it is a virtual
  // one: a twentieth of a copy of 64 MiB.
  static constexpr std::chrono::nanoseconds kMostBesideDevice{2'000'000};

  // `scarceCores`: never spin; whoever spins would keep the processor from the one it waits for.
  explicit SpinBudget(bool scarceCores = false, std::chrono::nanoseconds most = kMost)
      : most_(most), budget_(scarceCores ? std::chrono::nanoseconds{0} : most / 2) {}

  std::chrono::nanoseconds current() const { return budget_; }
  void learn(std::chrono::nanoseconds waited);

 private:
  std::chrono::nanoseconds most_, budget_;
};

enum class WaitResult : std::uint8_t {
  reached,
  abandoned,  // the peer is gone, or the caller's callback has had enough
};

namespace detail {
bool spinUntil(const Slot& slot, std::uint64_t value, std::chrono::nanoseconds budget);
// One sleep of at most kLivenessInterval. True when the slot has the value.
bool sleepUntil(Slot& slot, std::uint64_t value);
inline bool reached(const Slot& slot, std::uint64_t value) {
  return slot.value.load(std::memory_order_acquire) >= value;
}
}  // namespace detail

// Blocks until the slot's value is at least `value`; its result and timestamp are then valid. `alive()` is asked about
// every kLivenessInterval of sleep; false ends the wait. Any number of threads may wait for one slot.
template <class Alive>
WaitResult waitUntil(Slot& slot, std::uint64_t value, SpinBudget& spin, Alive&& alive) {
  if (detail::reached(slot, value)) return WaitResult::reached;
  const auto start = std::chrono::steady_clock::now();
  if (!detail::spinUntil(slot, value, spin.current())) {
    while (!detail::sleepUntil(slot, value)) {
      if (!alive()) return detail::reached(slot, value) ? WaitResult::reached : WaitResult::abandoned;
    }
  }
  spin.learn(std::chrono::steady_clock::now() - start);
  return WaitResult::reached;
}

}  // namespace rouse::wire
