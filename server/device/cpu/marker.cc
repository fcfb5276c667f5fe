#include "server/device/cpu/marker.h"

#include <utility>

namespace rouse::cpu {

bool Marker::waitFor(std::shared_ptr<StreamQueue> stream) {
  std::lock_guard lock(mutex_);
  if (reached()) return false;
  waiting_.push_back(std::move(stream));
  return true;
}

std::vector<std::shared_ptr<StreamQueue>> Marker::reach() {
  std::lock_guard lock(mutex_);
  reached_.store(true, std::memory_order_release);
  return std::exchange(waiting_, {});
}

}  // namespace rouse::cpu
