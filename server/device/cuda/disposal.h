// Calls of the driver that give something back and, inside the call, wait until every kernel that runs is over, whoever's it is: of an H100's, cuLibraryUnload,
// cuMemHostUnregister, cuArrayDestroy and cuMipmappedArrayDestroy do (bench/results, "beside a kernel"). Made where they arise, under the GPU's lock, each of them would stop all
// functions until one function's kernel has ended: for good, if that waits for its program. So a thread of their own makes them, one after the other, and nobody waits
// for them but who needs the very thing again.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace rouse::cuda {

class Gpu;

class Disposal {
 public:
  explicit Disposal(const Gpu& gpu) : gpu_(gpu) {}
  // Makes all that is left.
  ~Disposal() { end(); }
  Disposal(const Disposal&) = delete;

  // `call` is made with the GPU's context current and without the GPU's lock, which it must not take. What it keeps alive ends on that thread. Returns its number;
  // calls are made in the order of theirs. Any thread.
  std::uint64_t add(std::function<void()> call);
  // Calls up to this one are made. Any thread.
  bool made(std::uint64_t number) const;
  // Until they are, or all that have been added. Any thread but its own, with the GPU's lock or without.
  void wait(std::uint64_t number);
  void waitForAll();
  // The same; from then on calls are made at once, by who adds them.
  void end();

 private:
  void run();

  const Gpu& gpu_;
  mutable std::mutex mutex_;
  std::condition_variable wanted_, progress_;
  std::deque<std::function<void()>> calls_;
  std::uint64_t added_ = 0, made_ = 0;
  bool ended_ = false;
  std::thread thread_;  // since the first call
};

}  // namespace rouse::cuda
