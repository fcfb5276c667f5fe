// How many executors to start on one GPU for isolated functions, in advance. Pure: time is passed in.
//
// None before the first isolated function is expected there: a context costs a GPU memory. From then on as many are ready, or on their way, as
// are wanted beside those that are waited for. One that does not come up is tried again later, ever later, unless somebody waits.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace rouse::daemon {

class SparePolicy {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kFirstPause{500}, kLongestPause{60'000};

  explicit SparePolicy(std::uint32_t spares) : spares_(spares) {}

  // Functions will come.
  void expect() { expected_ = true; }
  bool expected() const { return expected_; }
  void came() { pause_ = std::chrono::milliseconds(0); }
  void failed(Time now) {
    pause_ = std::clamp(2 * pause_, kFirstPause, kLongestPause);
    notBefore_ = now + pause_;
  }

  // How many to start now. `ready` are at rest, `starting` on their way, `waiting` have asked for one.
  std::uint32_t toStart(std::uint32_t ready, std::uint32_t starting, std::uint32_t waiting, Time now) const {
    if (!expected_ && waiting == 0) return 0;
    const bool pausing = pause_.count() != 0 && now < notBefore_;
    const std::uint32_t wanted = waiting + (pausing ? 0 : spares_), have = ready + starting;
    return wanted > have ? wanted - have : 0;
  }
  // When to ask again although nothing has happened; zero: not.
  std::chrono::milliseconds pause(Time now) const {
    return pause_.count() == 0 || now >= notBefore_ ? std::chrono::milliseconds(0)
                                                     : std::chrono::ceil<std::chrono::milliseconds>(notBefore_ - now);
  }

 private:
  const std::uint32_t spares_;
  bool expected_ = false;
  std::chrono::milliseconds pause_{0};
  Time notBefore_;
};

}  // namespace rouse::daemon
