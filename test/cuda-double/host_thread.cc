#include "test/cuda-double/host_thread.h"

#include "test/cuda-double/call.h"

namespace rouse::cuda_double {

void HostThread::call(CUhostFn function, void* data, std::shared_ptr<std::atomic<bool>> done) {
  std::lock_guard lock(mutex_);
  if (stopping_) return;
  entries_.push_back({function, data, std::move(done)});
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  changed_.notify_all();
}

void HostThread::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void HostThread::work() {
  inHostFunction = true;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !entries_.empty(); });
    if (stopping_) return;
    Entry entry = std::move(entries_.front());
    entries_.pop_front();
    lock.unlock();
    entry.function(entry.data);
    entry.done->store(true);
    lock.lock();
  }
}

}  // namespace rouse::cuda_double
