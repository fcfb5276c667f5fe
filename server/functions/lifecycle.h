// When a function is started, looked after, restarted and stopped: the policy, without a clock or a process. Each event
// says what is to be done now; next() says when tick() is wanted.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

namespace rouse::functions {

struct LifecyclePolicy {
  std::chrono::milliseconds firstBackOff{100}, mostBackOff{30000};
  std::chrono::milliseconds mostAfterReady{2000};  // of one that was ready before it ended: it can serve
  std::chrono::milliseconds steadyAfter{2000};  // it was ready for so long: its next end is counted as the first
  std::chrono::milliseconds startInterval{25};   // between looks at one that is starting, at first
  std::chrono::milliseconds healthInterval{2000};
  std::uint32_t healthFailures = 3;
  std::chrono::milliseconds startTimeout{120000}, stopTimeout{10000};
};

class Lifecycle {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class State : std::uint8_t {
    stopped,   // nobody wants it
    starting,  // its process runs, and has not been found well yet
    ready,
    doubted,   // it was ready, and something went wrong: whether it still is, is being found out
    waiting,   // for the end of its back-off
    stopping,  // it has been told to end; afterwards it is stopped, or started again
  };
  enum class Action : std::uint8_t {
    start,      // then onStarted() or onStartFailed()
    check,      // then onHealth()
    terminate,  // ask it to end
    kill,       // end it, and all it has started
  };
  using Actions = std::vector<Action>;

  explicit Lifecycle(LifecyclePolicy policy) : policy_(policy) {}
  void setPolicy(LifecyclePolicy policy) { policy_ = policy; }

  // What an operator wants.
  Actions start(Time now);
  Actions stop(Time now);
  Actions restart(Time now);

  // What happens. `suspect`: a connection to it failed, or its GPU was lost... `end`: which nothing but a new process
  // mends.
  Actions onStarted(Time now);
  // It runs already, and was ready; whether it still is, is looked at now. It is wanted.
  Actions onFound(Time now);
  Actions onStartFailed(Time now);
  Actions onExited(Time now);
  Actions onHealth(bool well, Time now);
  Actions suspect(Time now);
  Actions end(Time now);
  Actions tick(Time now);

  // Time::max(): never.
  Time next() const;
  State state() const { return state_; }
  bool wanted() const { return wanted_; }
  std::uint32_t failuresInARow() const { return failures_; }

 private:
  bool running() const { return state_ == State::starting || state_ == State::ready || state_ == State::doubted; }
  Actions check(Time now);
  Actions terminate(Time now);
  void backOff(Time now);

  LifecyclePolicy policy_;
  State state_ = State::stopped;
  bool wanted_ = false;
  bool atOnce_ = false;  // once it has ended, without back-off
  bool checking_ = false;
  bool wasReady_ = false;  // its process, at any time
  std::uint32_t failures_ = 0;                             // ends in a row that nobody wanted
  std::uint32_t unwell_ = 0;                               // checks in a row
  std::chrono::milliseconds interval_{0};                  // to the next look while it is starting
  Time since_{};                                           // of the state ready
  Time nextCheck_ = Time::max(), deadline_ = Time::max();  // deadline: of starting, stopping, waiting
};

std::string_view name(Lifecycle::State);

}  // namespace rouse::functions
