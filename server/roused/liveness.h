// Whether an executor is still there: it is asked now and then, and one that says nothing at all for a limit is given up. Without a clock, a
// timer or a process. Only time in which the daemon itself was on time counts: if both were stopped, or the machine was, nobody is to blame.
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

namespace rouse::daemon {

class Liveness {
 public:
  using Duration = std::chrono::steady_clock::duration;

  // `limit`: above 0.
  explicit Liveness(Duration limit) : limit_(limit) {}

  // Between two turns.
  Duration interval() const { return std::clamp<Duration>(limit_ / 8, std::chrono::milliseconds(1), std::chrono::seconds(15)); }
  // Anything has come from it.
  void heard() {
    asked_ = false;
    silent_ = Duration::zero();
  }
  enum class Step { nothing, ask, end };
  // `since`: the turn before this one.
  Step turn(Duration since) {
    if (!std::exchange(asked_, true)) return Step::ask;
    silent_ += std::min(since, interval());
    return silent_ >= limit_ ? Step::end : Step::nothing;
  }

 private:
  Duration limit_;
  Duration silent_ = Duration::zero();  // since it was asked
  bool asked_ = false;
};

}  // namespace rouse::daemon
