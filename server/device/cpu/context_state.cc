#include "server/device/cpu/context_state.h"

#include <algorithm>

#include "server/device/cpu/stream_queue.h"

namespace rouse::cpu {

// Only the first death counts.
bool ContextState::kill(CudaError error) {
  std::vector<std::shared_ptr<Grid>> running;
  {
    std::lock_guard lock(mutex_);
    CudaError alive = CudaError::success;
    if (!dead_.compare_exchange_strong(alive, error)) return false;
    running = grids_;
  }
  for (const auto& grid : running) grid->fail(error, "stopped: the context has failed");
  if (!running.empty()) pool.interrupt();
  for (auto& stream : slotWaits.takeOf(*this)) stream->resume();
  return true;
}

void ContextState::fault(CudaError error, const std::string& message) {
  if (dead() != CudaError::success) return;
  if (isSticky(error) && !kill(error)) return;
  observer_.onFault(error, message);
}

void ContextState::cancelAndWait() {
  cancel();
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] {
    return driven_.load(std::memory_order_acquire) == 0 && outstanding.load(std::memory_order_acquire) == 0;
  });
}

void ContextState::addGrid(std::shared_ptr<Grid> grid) {
  std::lock_guard lock(mutex_);
  if (dead() != CudaError::success) grid->fail(dead(), "stopped: the context has failed");
  grids_.push_back(std::move(grid));
}

void ContextState::removeGrid(const Grid& grid) {
  std::lock_guard lock(mutex_);
  std::erase_if(grids_, [&](const auto& other) { return other.get() == &grid; });
}

void ContextState::endDriving() {
  std::lock_guard lock(mutex_);
  if (driven_.fetch_sub(1, std::memory_order_acq_rel) == 1) ended_.notify_all();
}

}  // namespace rouse::cpu
