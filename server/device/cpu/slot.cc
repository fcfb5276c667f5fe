#include "server/device/cpu/slot.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace rouse::cpu {

void signalSlot(wire::Slot& slot, std::uint64_t value, bool timestamp, CudaError result) {
  slot.result.store(static_cast<std::uint32_t>(result), std::memory_order_relaxed);
  if (timestamp) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    slot.timestampNs.store(
        static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec),
        std::memory_order_relaxed);
  }
  // A sequentially consistent store is the release and the fence between publishing and looking for sleepers in one.
  slot.value.store(value, std::memory_order_seq_cst);
  if (slot.waiters.load(std::memory_order_seq_cst) != 0) {
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&slot.value), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }
}

}  // namespace rouse::cpu
