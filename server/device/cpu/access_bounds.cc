#include "server/device/cpu/access_bounds.h"

namespace rouse::cpu {

void AccessBounds::allow(AddressRange range) {
  live_[range.base] = range.bytes;
  now_.reset();
}

void AccessBounds::forbid(AddressRange range) {
  if (live_.erase(range.base) == 0) return;
  freed_.push_back(range);
  if (freed_.size() > kMostFreed) freed_.pop_front();
  now_.reset();
}

std::shared_ptr<const Allocations> AccessBounds::now() {
  if (now_ != nullptr) return now_;
  auto made = std::make_shared<Allocations>();
  made->live.reserve(live_.size());
  for (const auto& [base, bytes] : live_) made->live.push_back({base, bytes});
  made->freed.assign(freed_.begin(), freed_.end());
  return now_ = std::move(made);
}

}  // namespace rouse::cpu
