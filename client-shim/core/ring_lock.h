// The lock of a ring: two atomic operations when nobody else wants it, a futex when somebody does. (The three states of
// "Futexes Are Tricky", Drepper 2011, §5.)
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace rouse::client {

class RingLock {
 public:
  void lock() {
    std::uint32_t expected = kFree;
    if (!word_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire, std::memory_order_relaxed))
        [[unlikely]] {
      lockSlowly();
    }
  }
  void unlock() {
    if (word_.exchange(kFree, std::memory_order_release) == kContended) [[unlikely]]
      wake();
  }

 private:
  static constexpr std::uint32_t kFree = 0, kHeld = 1, kContended = 2;

  [[gnu::noinline, gnu::cold]] void lockSlowly() {
    while (word_.exchange(kContended, std::memory_order_acquire) != kFree) {
      ::syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, kContended, nullptr, nullptr, 0);
    }
  }
  [[gnu::noinline, gnu::cold]] void wake() { ::syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }

  std::atomic<std::uint32_t> word_{kFree};
};

}  // namespace rouse::client
