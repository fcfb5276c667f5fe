// Runs the program's host functions, each when its stream gets there, in the order of the stream. Started at the first
// one.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "client-shim/core/mark.h"
#include "client-shim/core/stream.h"

namespace rouse::client {

class Session;

class CallbackThread {
 public:
  explicit CallbackThread(Session& session) : session_(session) {}
  // Calls that have not begun are dropped.
  ~CallbackThread();

  struct Call {
    std::uint32_t deviceIndex = 0;
    std::uint64_t streamId = 0;
    Mark reached, returned;
    HostFunction function = nullptr;
    void* data = nullptr;
    bool evenAfterError = false;
  };
  // Before the first submit(). False: the system gives no thread.
  bool start();
  // Adds a call. The caller holds the ring lock of the stream's device, so that calls come in the order of the stream;
  // it calls notify() when it has let go of it.
  void submit(const Call& call);
  void notify();

  // Host functions of the device that have not returned.
  std::uint32_t pending(std::uint32_t deviceIndex) const {
    return pending_[deviceIndex].load(std::memory_order_acquire);
  }
  // After a reset: calls of the device that have not begun are dropped.
  void forget(std::uint32_t deviceIndex);

  static bool isCurrent();

 private:
  void run();
  void perform(const Call& call);

  Session& session_;
  std::mutex mutex_;                                 // a leaf: nothing is locked under it
  std::map<std::uint64_t, std::deque<Call>> calls_;  // by stream
  bool stopping_ = false;
  std::thread thread_;
  std::atomic<bool> started_{false};
  std::atomic<std::uint32_t> bell_{0};
  std::atomic<std::uint32_t> pending_[wire::kMaxDevices]{};
};

}  // namespace rouse::client
