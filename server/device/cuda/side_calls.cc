#include "server/device/cuda/side_calls.h"

#include <utility>

#include "server/device/cuda/gpu.h"

namespace rouse::cuda {

void SideCalls::Call::make() {
  status_ = body_();
  body_ = nullptr;
  over_.store(true, std::memory_order_release);
  over_.notify_all();
}

std::shared_ptr<SideCalls::Call> SideCalls::begin(std::function<Status()> body) {
  auto call = std::make_shared<Call>(std::move(body));
  {
    const std::lock_guard lock(mutex_);
    if (!ended_) {
      calls_.push_back(call);
      if (idle_ < calls_.size() && threads_.size() < most_) threads_.emplace_back([this] { run(); });
      wanted_.notify_one();
      return call;
    }
  }
  gpu_.makeCurrent();
  call->make();
  return call;
}

void SideCalls::end() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    wanted_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void SideCalls::run() {
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
    call->make();
    lock.lock();
  }
}

}  // namespace rouse::cuda
