// A thread that looks at streams while the executor does not: delivers signals, hands on held work, finds out that the
// GPU is lost. While the executor polls it keeps out of the way; while nothing is under way it sleeps.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <thread>

#include "server/device/cuda/gpu.h"

namespace rouse::cuda {

class Watcher {
 public:
  explicit Watcher(std::shared_ptr<Gpu> gpu);
  ~Watcher();
  Watcher(const Watcher&) = delete;

  // There is something to look at. Locked.
  void wake();
  // The executor's turn. Locked. True if anything happened; `waiting`: it should look again soon.
  bool poll(bool& waiting);

 private:
  bool lookAtAll();
  void lookForLoss(std::uint64_t now);
  bool anythingWatched() const;
  void run();

  std::shared_ptr<Gpu> gpu_;
  std::condition_variable wanted_;
  bool sleeping_ = false, ending_ = false;  // under the GPU's lock
  std::uint64_t polledNs_ = 0, movedNs_ = 0, askedNs_ = 0;
  std::size_t askedContext_ = 0;
  std::thread thread_;  // last
};

}  // namespace rouse::cuda
