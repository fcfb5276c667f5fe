#include "server/device/cpu/slot.h"

#include <ctime>

#include "schemas/wire/slot_wait.h"

namespace rouse::cpu {

void signalSlot(wire::Slot& slot, std::uint64_t value, bool timestamp, CudaError result) {
  std::uint64_t nowNs = 0;
  if (timestamp) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    nowNs = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
  }
  wire::signal(slot, value, result, nowNs);
}

}  // namespace rouse::cpu
