// Calls that may wait for kernels, whoever's they are, made by threads beside the executor's and without the GPU's lock: under it each of them would stop all functions until one
// function's kernel has ended, for good if that waits for its program. Which calls these are is measured (bench/results, "beside a kernel"):
// - what gives something back: of an H100's driver cuLibraryUnload, cuMemHostUnregister, cuArrayDestroy and cuMipmappedArrayDestroy (Gpu::disposal);
// - a library's first calls of a kind, in which it makes a handle or a plan, compiles, and has the driver load its kernels, and all that may wait for the GPU (Gpu::libraryCalls).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "schemas/base/result.h"

namespace rouse::cuda {

class Gpu;

class SideCalls {
 public:
  // One that has been begun. Any thread; what it returned may be asked for when it is over.
  class Call {
   public:
    explicit Call(std::function<Status()> body) : body_(std::move(body)) {}
    bool over() const { return over_.load(std::memory_order_acquire); }
    void wait() const { over_.wait(false, std::memory_order_acquire); }
    const Status& status() const { return status_; }

   private:
    friend class SideCalls;
    void make();
    std::function<Status()> body_;
    Status status_;
    std::atomic<bool> over_{false};
  };

  // `most`: threads, which are there when they are first needed.
  SideCalls(const Gpu& gpu, std::size_t most) : gpu_(gpu), most_(most) {}
  ~SideCalls() { end(); }
  SideCalls(const SideCalls&) = delete;

  // `body` runs with the GPU's context current and without the GPU's lock, which it must not take; what it keeps alive ends there. In the order in which they come, as many at a
  // time as there are threads. Any thread.
  std::shared_ptr<Call> begin(std::function<Status()> body);
  // Until all are over that have been begun. Of one thread; any thread but that.
  void wait() { begin([]() -> Status { return {}; })->wait(); }
  // Makes all that are left. From then on who begins one makes it.
  void end();

 private:
  void run();

  const Gpu& gpu_;
  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable wanted_;
  std::deque<std::shared_ptr<Call>> calls_;
  std::size_t idle_ = 0;
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace rouse::cuda
