// How the device's threads and the loader's tell the reactor that there is something to do.
#pragma once

#include <atomic>

#include "schemas/wire/owned_fd.h"
#include "server/executor/progress_listener.h"

namespace rouse::executor {

class ProgressFlag final : public ProgressListener {
 public:
  ProgressFlag();

  // Any thread. A device reports progress very often and the reactor seldom cares, so this is a store and a load unless
  // the reactor rests and has said that it waits for progress.
  void onProgress() override;
  // Any thread: wakes the reactor in any case.
  void ring();

  // Reactor: about to rest. False if there has been progress since the last take(): do not rest.
  bool prepareRest();
  void endRest() { resting_.store(false, std::memory_order_relaxed); }
  // Reactor: whether there has been progress since the last call.
  bool take() { return progress_.load(std::memory_order_relaxed) && progress_.exchange(false); }

  // Readable, edge after edge, when rung. Never read. Negative if there was no descriptor to be had.
  int fd() const { return fd_.get(); }

 private:
  wire::OwnedFd fd_;
  std::atomic<bool> progress_{false};
  std::atomic<bool> resting_{false};
};

}  // namespace rouse::executor
