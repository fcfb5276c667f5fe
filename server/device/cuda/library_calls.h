// Calls of NVIDIA's libraries that may take long: the first of their kind, in which a library makes a handle or a plan, compiles, and has the driver load its
// kernels, which waits for every kernel that runs (bench/results, "beside a kernel"). On the executor's thread each of them would hold up all functions; so threads of their own
// make them, several at a time, without the GPU's lock. Their streams wait meanwhile, and nothing else does.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "schemas/base/result.h"

namespace rouse::cuda {

class Gpu;

class LibraryCalls {
 public:
  // One that has been begun. Any thread; what it returned may be asked for when it is over.
  class Call {
   public:
    explicit Call(std::function<Status()> body) : body_(std::move(body)) {}
    bool over() const { return over_.load(std::memory_order_acquire); }
    void wait() const { over_.wait(false, std::memory_order_acquire); }
    const Status& status() const { return status_; }

   private:
    friend class LibraryCalls;
    std::function<Status()> body_;
    Status status_;
    std::atomic<bool> over_{false};
  };

  explicit LibraryCalls(const Gpu& gpu) : gpu_(gpu) {}
  ~LibraryCalls() { end(); }
  LibraryCalls(const LibraryCalls&) = delete;

  // `body` runs with the GPU's context current and without the GPU's lock, which it must not take. At most kMost run at a time, in the order in which they came.
  std::shared_ptr<Call> begin(std::function<Status()> body);
  // Waits for all.
  void end();

  static constexpr std::size_t kMost = 8;

 private:
  void run();

  const Gpu& gpu_;
  std::mutex mutex_;
  std::condition_variable wanted_;
  std::deque<std::shared_ptr<Call>> calls_;
  std::size_t idle_ = 0;
  bool ended_ = false;
  std::vector<std::thread> threads_;  // as many as have been needed at a time
};

}  // namespace rouse::cuda
