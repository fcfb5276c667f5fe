#include "client-shim/core/slot_wait_any.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "schemas/wire/futex.h"

namespace rouse::client {

namespace {

// As in linux/futex.h since 5.16; spelled out for older headers.
struct WaitVector {
  std::uint64_t value;
  std::uint64_t address;
  std::uint32_t flags;
  std::uint32_t reserved;
};
constexpr std::uint32_t kWord32 = 2;
constexpr long kFutexWaitv = 449;
constexpr std::size_t kMostSlots = 127;

timespec deadlineAfter(std::chrono::nanoseconds duration) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const long long nanoseconds = now.tv_nsec + duration.count();
  return {now.tv_sec + static_cast<time_t>(nanoseconds / 1'000'000'000),
          static_cast<long>(nanoseconds % 1'000'000'000)};
}

}  // namespace

void waitForAny(std::span<const AwaitedSlot> slots, const std::atomic<std::uint32_t>* bell, std::uint32_t seen,
                std::chrono::nanoseconds atMost) {
  slots = slots.first(std::min(slots.size(), kMostSlots));
  for (const AwaitedSlot& awaited : slots) awaited.slot->waiters.fetch_add(1, std::memory_order_relaxed);
  // Pairs with the fence in wire::signal(): either it sees that we wait or we see its value.
  std::atomic_thread_fence(std::memory_order_seq_cst);

  std::array<WaitVector, kMostSlots + 1> vectors{};
  std::uint32_t count = 0;
  bool ready = false;
  for (const AwaitedSlot& awaited : slots) {
    const std::uint64_t value = awaited.slot->value.load(std::memory_order_acquire);
    ready |= value >= awaited.value;
    vectors[count++] = {static_cast<std::uint32_t>(value),
                        reinterpret_cast<std::uint64_t>(wire::lowWord(awaited.slot->value)), kWord32, 0};
  }
  if (bell != nullptr) {
    ready |= bell->load(std::memory_order_acquire) != seen;
    vectors[count++] = {seen, reinterpret_cast<std::uint64_t>(bell), kWord32, 0};
  }
  if (!ready) {
    const timespec deadline = deadlineAfter(atMost);
    if (::syscall(kFutexWaitv, vectors.data(), count, 0, &deadline, CLOCK_MONOTONIC) < 0 && errno != EAGAIN &&
        errno != ETIMEDOUT && errno != EINTR) {
      const timespec pause{0, 200'000};
      ::nanosleep(&pause, nullptr);
    }
  }
  for (const AwaitedSlot& awaited : slots) awaited.slot->waiters.fetch_sub(1, std::memory_order_relaxed);
}

void ringBell(std::atomic<std::uint32_t>& bell) {
  ::syscall(SYS_futex, &bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace rouse::client
