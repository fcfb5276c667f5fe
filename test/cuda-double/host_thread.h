// The one thread that runs the host functions of a context, one after the other, as drivers do: a function that waits
// for another one waits for ever.
#pragma once

#include <cuda.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace rouse::cuda_double {

// Any thread. Started at its first function.
class HostThread {
 public:
  ~HostThread() { stop(); }
  // `done` is set when the function has returned, or never when stop() comes first.
  void call(CUhostFn function, void* data, std::shared_ptr<std::atomic<bool>> done);
  // Waits for the function that is running.
  void stop();

 private:
  struct Entry {
    CUhostFn function;
    void* data;
    std::shared_ptr<std::atomic<bool>> done;
  };
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> entries_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace rouse::cuda_double
