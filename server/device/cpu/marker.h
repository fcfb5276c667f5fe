// A point in a stream that others may wait for: one record of an event.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace rouse::cpu {

class StreamQueue;

class Marker {
 public:
  bool reached() const { return reached_.load(std::memory_order_acquire); }
  // False when it is reached already; otherwise the stream is handed out by reach().
  bool waitFor(std::shared_ptr<StreamQueue> stream);
  // Returns the streams that waited.
  std::vector<std::shared_ptr<StreamQueue>> reach();

 private:
  std::atomic<bool> reached_{false};
  std::mutex mutex_;
  std::vector<std::shared_ptr<StreamQueue>> waiting_;
};

}  // namespace rouse::cpu
