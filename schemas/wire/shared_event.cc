#include "schemas/wire/shared_event.h"

#include "schemas/wire/slot_wait.h"

namespace rouse::wire {

// The first slot's value is the latest claim, the payload of each other the claim that is or will be its value.
void SharedEvent::enter(std::uint64_t claim) {
  std::atomic<std::uint64_t>& place = page_[slotOf(number(claim))].payload;
  std::uint64_t before = place.load(std::memory_order_acquire);
  while (number(before) < number(claim) && !place.compare_exchange_weak(before, claim, std::memory_order_acq_rel)) {
  }
}

std::uint64_t SharedEvent::claim(std::uint64_t owner) {
  std::atomic<std::uint64_t>& latest = page_[0].value;
  std::uint64_t before = latest.load(std::memory_order_acquire), mine;
  do {
    // Its owner may have ended before it did so itself: then only this tells whose it was.
    if (number(before) != 0) enter(before);
    if (const std::uint64_t displaced = displacedBy(number(before) + 1); displaced != 0 && !reached(displaced)) return 0;
    mine = (number(before) + 1) << kOwnerBits | ownerOf(owner);
  } while (!latest.compare_exchange_weak(before, mine, std::memory_order_acq_rel));
  enter(mine);
  return number(mine);
}

bool SharedEvent::allReached() const {
  if (const std::uint64_t last = latest(); last != 0 && !reached(last)) return false;
  for (std::uint32_t i = 1; i < kSharedEventSlots; ++i)
    if (page_[i].value.load(std::memory_order_acquire) < number(page_[i].payload.load(std::memory_order_acquire))) return false;
  return true;
}

void SharedEvent::abandon(std::uint64_t owner, CudaError result) {
  if (const std::uint64_t last = page_[0].value.load(std::memory_order_acquire); number(last) != 0) enter(last);
  for (std::uint32_t i = 1; i < kSharedEventSlots; ++i) {
    const std::uint64_t claim = page_[i].payload.load(std::memory_order_acquire);
    if (ownerOf(claim) == ownerOf(owner) && page_[i].value.load(std::memory_order_acquire) < number(claim))
      signal(page_[i], number(claim), result);
  }
}

}  // namespace rouse::wire
