// Rings at given times, to within some tens of microseconds, on a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace rouse::cpu {

class Alarm {
 public:
  virtual ~Alarm() = default;
  // On the clock's thread: quick.
  virtual void ring() = 0;
};

class AlarmClock {
 public:
  AlarmClock();
  // Alarms that have not rung are forgotten.
  ~AlarmClock();
  AlarmClock(const AlarmClock&) = delete;

  // Nanoseconds of the monotonic clock.
  static std::int64_t now();
  // Any thread. At once if the time has passed.
  void set(std::int64_t at, std::shared_ptr<Alarm> alarm);

 private:
  struct Entry {
    std::int64_t at;
    std::shared_ptr<Alarm> alarm;
  };
  static bool later(const Entry& a, const Entry& b) { return a.at > b.at; }
  void main();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Entry> alarms_;  // heap: the next first
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace rouse::cpu
