// When all who polled at some time have looked since. On a GPU all threads that poll look again within a microsecond; here they have turns, and a value that stands only until whoever is let go by it comes
// to the same place again (a barrier of a program's own, used twice) must not be gone before.
//
// Two counters, of those that entered in even and in odd periods, as in sleepable RCU (McKenney, LWN.net, 2006).
#pragma once

#include <atomic>
#include <cstdint>

namespace rouse::cpu {

// Any thread.
class GracePeriods {
 public:
  // Before each look. What it returns is for leave(), by which nobody waits for this one any more: behind the next look, for which it has entered once more before.
  std::uint32_t enter() {
    for (;;) {
      const std::uint64_t period = period_;
      std::atomic<std::uint32_t>& inside = inside_[period % 2];
      ++inside;
      if (period == period_) return period % 2;
      --inside;
    }
  }
  void leave(std::uint32_t entered) { --inside_[entered]; }

  // After a change: until all who have looked before it look again, or have left.
  std::uint64_t begin() const {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return period_;
  }
  // Whether they have. Asked again and again, since it is who asks that lets periods end.
  bool isOver(std::uint64_t begun) {
    std::uint64_t period = period_;
    while (period < begun + 2 && inside_[(period + 1) % 2] == 0) {
      if (period_.compare_exchange_strong(period, period + 1)) ++period;
    }
    return period >= begun + 2;
  }

 private:
  std::atomic<std::uint64_t> period_{0};
  std::atomic<std::uint32_t> inside_[2] = {0, 0};
};

}  // namespace rouse::cpu
