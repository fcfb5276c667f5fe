#include "server/executor/progress_flag.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace rouse::executor {

ProgressFlag::ProgressFlag() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void ProgressFlag::onProgress() {
  progress_.store(true, std::memory_order_release);
  // Pairs with the fence in prepareRest(): either the reactor sees the progress or we see that it rests.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (resting_.load(std::memory_order_relaxed)) ring();
}

void ProgressFlag::ring() {
  const std::uint64_t one = 1;
  // A full counter is an edge that has not been seen yet; nothing is lost.
  [[maybe_unused]] const ssize_t written = ::write(fd_.get(), &one, sizeof one);
}

bool ProgressFlag::prepareRest() {
  resting_.store(true, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!progress_.load(std::memory_order_relaxed)) return true;
  endRest();
  return false;
}

}  // namespace rouse::executor
