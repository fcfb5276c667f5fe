// What the machine itself takes to wake a sleeping process and be answered: an eventfd and a futex, nothing else. The
// least that a call to a sleeping executor can cost.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace rouse::bench {

// Forks: make it before the process uses CUDA.
class BareWake {
 public:
  BareWake();
  ~BareWake();
  BareWake(const BareWake&) = delete;
  BareWake& operator=(const BareWake&) = delete;

  // Nanoseconds until the other process, asleep before, has answered.
  double roundTrip();

 private:
  [[noreturn]] void answer();

  std::atomic<std::uint64_t>* answered_ = nullptr;  // shared
  int wake_ = -1;
  pid_t child_ = -1;
};

}  // namespace rouse::bench
