#include "server/executor/fault_latch.h"

#include <algorithm>
#include <cstring>

namespace rouse::executor {

void FaultLatch::latch(CudaError error, std::string_view message) {
  const std::lock_guard lock(mutex_);
  if (isSticky(last_)) return;
  // The program takes an error by storing 0. Whatever else it stores there is its own loss.
  if (status_.error.load(std::memory_order_acquire) != 0 && !isSticky(error)) return;
  last_ = error;
  const std::size_t length = std::min(message.size(), sizeof(status_.message) - 1);
  std::memcpy(status_.message, message.data(), length);
  status_.message[length] = '\0';
  status_.error.store(static_cast<std::uint32_t>(error), std::memory_order_release);
}

void FaultLatch::clear() {
  const std::lock_guard lock(mutex_);
  last_ = CudaError::success;
  status_.error.store(0, std::memory_order_release);
}

void FaultLatch::continueAfter(CudaError last) {
  const std::lock_guard lock(mutex_);
  last_ = last;
}

CudaError FaultLatch::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

}  // namespace rouse::executor
