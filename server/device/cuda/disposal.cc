#include "server/device/cuda/disposal.h"

#include <utility>

#include "server/device/cuda/gpu.h"

namespace rouse::cuda {

std::uint64_t Disposal::add(std::function<void()> call) {
  {
    const std::lock_guard lock(mutex_);
    if (!ended_) {
      calls_.push_back(std::move(call));
      if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
      wanted_.notify_one();
      return ++added_;
    }
  }
  gpu_.makeCurrent();
  call();
  return 0;
}

bool Disposal::made(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  return made_ >= number;
}

void Disposal::wait(std::uint64_t number) {
  std::unique_lock lock(mutex_);
  progress_.wait(lock, [this, number] { return made_ >= number; });
}

void Disposal::waitForAll() {
  std::unique_lock lock(mutex_);
  progress_.wait(lock, [this, all = added_] { return made_ >= all; });
}

void Disposal::end() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    wanted_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void Disposal::run() {
  gpu_.makeCurrent();
  std::unique_lock lock(mutex_);
  for (;;) {
    wanted_.wait(lock, [this] { return ended_ || !calls_.empty(); });
    if (calls_.empty()) return;
    std::function<void()> call = std::move(calls_.front());
    calls_.pop_front();
    lock.unlock();
    call();
    call = nullptr;
    lock.lock();
    ++made_;
    progress_.notify_all();
  }
}

}  // namespace rouse::cuda
