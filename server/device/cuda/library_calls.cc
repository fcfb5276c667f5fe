#include "server/device/cuda/library_calls.h"

#include <utility>

#include "server/device/cuda/gpu.h"

namespace rouse::cuda {

std::shared_ptr<LibraryCalls::Call> LibraryCalls::begin(std::function<Status()> body) {
  auto call = std::make_shared<Call>(std::move(body));
  const std::lock_guard lock(mutex_);
  calls_.push_back(call);
  if (idle_ < calls_.size() && threads_.size() < kMost) threads_.emplace_back([this] { run(); });
  wanted_.notify_one();
  return call;
}

void LibraryCalls::end() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    wanted_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void LibraryCalls::run() {
  gpu_.makeCurrent();
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wanted_.wait(lock, [this] { return ended_ || !calls_.empty(); });
    --idle_;
    if (calls_.empty()) return;
    const std::shared_ptr<Call> call = std::move(calls_.front());
    calls_.pop_front();
    lock.unlock();
    call->status_ = call->body_();
    call->body_ = nullptr;
    call->over_.store(true, std::memory_order_release);
    call->over_.notify_all();
    lock.lock();
  }
}

}  // namespace rouse::cuda
