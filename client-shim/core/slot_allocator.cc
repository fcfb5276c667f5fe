#include "client-shim/core/slot_allocator.h"

#include "schemas/wire/shared_event.h"

namespace rouse::client {

std::optional<SlotAllocator::Lease> SlotAllocator::take() {
  const std::lock_guard lock(mutex_);
  auto ready = [&](const Lease& lease) {
    return slots_[lease.index].value.load(std::memory_order_acquire) >= lease.value;
  };
  // The one that has rested longest; where it is still awaited, a few more before a new one is broken into.
  for (std::size_t tries = std::min<std::size_t>(rested_.size(), 8); tries != 0; --tries) {
    const Lease lease = rested_.front();
    rested_.pop_front();
    if (ready(lease)) return lease;
    rested_.push_back(lease);
  }
  if (fresh_ < wire::kSlotCount) return Lease{fresh_++, 0};
  for (std::size_t tries = rested_.size(); tries != 0; --tries) {
    const Lease lease = rested_.front();
    rested_.pop_front();
    if (ready(lease)) return lease;
    rested_.push_back(lease);
  }
  return std::nullopt;
}

std::optional<std::uint32_t> SlotAllocator::takePage() {
  const std::lock_guard lock(mutex_);
  const std::uint32_t page = (fresh_ + wire::kSharedEventSlots - 1) / wire::kSharedEventSlots;
  if (page >= wire::kSharedEventPages) return std::nullopt;
  while (fresh_ < page * wire::kSharedEventSlots) rested_.push_back({fresh_++, 0});
  fresh_ += wire::kSharedEventSlots;
  return page;
}

void SlotAllocator::give(Lease lease) {
  const std::lock_guard lock(mutex_);
  rested_.push_back(lease);
}

}  // namespace rouse::client
