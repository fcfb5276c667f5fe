#include "server/device/cpu/slot_waits.h"

#include "server/device/cpu/slot.h"
#include "server/device/cpu/stream_queue.h"

namespace rouse::cpu {

bool SlotWaits::waitFor(std::shared_ptr<StreamQueue> stream, const wire::Slot& slot, std::uint64_t value) {
  std::lock_guard lock(mutex_);
  // Counted before the slot is looked at: who signals it looks at the count after writing, so one of the two sees the
  // other.
  count_.fetch_add(1, std::memory_order_seq_cst);
  if (slotReached(slot, value)) {
    count_.fetch_sub(1, std::memory_order_seq_cst);
    return false;
  }
  waits_.push_back({std::move(stream), &slot, value});
  return true;
}

template <class Condition>
std::vector<std::shared_ptr<StreamQueue>> SlotWaits::take(Condition condition) {
  std::vector<std::shared_ptr<StreamQueue>> taken;
  if (empty()) return taken;
  std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < waits_.size();) {
    if (condition(waits_[i])) {
      taken.push_back(std::move(waits_[i].stream));
      waits_.erase(waits_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  count_.fetch_sub(taken.size(), std::memory_order_seq_cst);
  return taken;
}

std::vector<std::shared_ptr<StreamQueue>> SlotWaits::takeReady() {
  return take([](const Wait& wait) { return slotReached(*wait.slot, wait.value); });
}

std::vector<std::shared_ptr<StreamQueue>> SlotWaits::takeOf(const ContextState& context) {
  return take([&](const Wait& wait) { return &wait.stream->context() == &context; });
}

}  // namespace rouse::cpu
