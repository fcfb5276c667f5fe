// Completion counters shared with clients (layout.h, "Slots").
#pragma once

#include <cstdint>

#include "schemas/base/cuda_error.h"
#include "schemas/wire/layout.h"

namespace rouse::cpu {

void signalSlot(wire::Slot& slot, std::uint64_t value, bool timestamp, CudaError result);

inline bool slotReached(const wire::Slot& slot, std::uint64_t value) {
  return slot.value.load(std::memory_order_seq_cst) >= value;
}

}  // namespace rouse::cpu
