#include "server/functions/lifecycle.h"

#include <algorithm>
#include <array>

namespace rouse::functions {

using Actions = Lifecycle::Actions;

Actions Lifecycle::start(Time now) {
  wanted_ = true;
  if (state_ == State::stopping) atOnce_ = true;
  if (state_ == State::waiting) failures_ = 0;
  if (state_ != State::stopped && state_ != State::waiting) return {};
  deadline_ = Time::max();
  return {Action::start};
}

Actions Lifecycle::stop(Time now) {
  wanted_ = atOnce_ = false;
  failures_ = 0;
  if (running()) return terminate(now);
  if (state_ == State::waiting) {
    state_ = State::stopped;
    deadline_ = Time::max();
  }
  return {};
}

Actions Lifecycle::restart(Time now) {
  if (!running()) return start(now);
  wanted_ = true;
  failures_ = 0;
  return end(now);
}

Actions Lifecycle::onStarted(Time now) {
  state_ = State::starting;
  wasReady_ = false;
  unwell_ = 0;
  interval_ = policy_.startInterval;
  nextCheck_ = now + interval_;
  deadline_ = now + policy_.startTimeout;
  return {};
}

Actions Lifecycle::onFound(Time now) {
  wanted_ = true;
  Actions none = onStarted(now);
  wasReady_ = true;  // a process that ends is back sooner then
  nextCheck_ = now;
  return none;
}

Actions Lifecycle::onStartFailed(Time now) {
  wasReady_ = false;
  backOff(now);
  return {};
}

Actions Lifecycle::onExited(Time now) {
  const bool wasSteady = (state_ == State::ready || state_ == State::doubted) && now - since_ >= policy_.steadyAfter;
  const bool atOnce = atOnce_;
  atOnce_ = false;
  nextCheck_ = deadline_ = Time::max();
  if (!wanted_) {
    state_ = State::stopped;
    return {};
  }
  if (atOnce) {
    state_ = State::stopped;
    return {Action::start};
  }
  if (wasSteady) failures_ = 0;
  backOff(now);
  return {};
}

void Lifecycle::backOff(Time now) {
  state_ = State::waiting;
  nextCheck_ = Time::max();
  const auto factor = std::int64_t{1} << std::min<std::uint32_t>(failures_, 20);
  deadline_ = now + std::min(policy_.firstBackOff * factor, wasReady_ ? policy_.mostAfterReady : policy_.mostBackOff);
  ++failures_;
}

Actions Lifecycle::check(Time) {
  nextCheck_ = Time::max();
  if (checking_) return {};
  checking_ = true;
  return {Action::check};
}

Actions Lifecycle::onHealth(bool well, Time now) {
  checking_ = false;
  if (!running()) return {};
  if (well) {
    if (state_ == State::starting) since_ = now;
    state_ = State::ready;
    wasReady_ = true;
    deadline_ = Time::max();
    unwell_ = 0;
    nextCheck_ = now + policy_.healthInterval;
    return {};
  }
  if (state_ == State::starting) {
    interval_ = std::min<std::chrono::milliseconds>(interval_ * 2,
                                                    std::min(policy_.healthInterval, std::chrono::milliseconds(500)));
    nextCheck_ = now + interval_;
    return {};
  }
  state_ = State::doubted;
  if (++unwell_ >= policy_.healthFailures) return terminate(now);
  nextCheck_ = now + std::min(policy_.healthInterval, std::chrono::milliseconds(200));
  return {};
}

Actions Lifecycle::suspect(Time now) {
  if (state_ != State::ready && state_ != State::doubted) return {};
  state_ = State::doubted;
  return check(now);
}

// Not a failure of the process: no back-off.
Actions Lifecycle::end(Time now) {
  if (!running()) return {};
  atOnce_ = wanted_;
  return terminate(now);
}

Actions Lifecycle::terminate(Time now) {
  state_ = State::stopping;
  nextCheck_ = Time::max();
  deadline_ = now + policy_.stopTimeout;
  return {Action::terminate};
}

Actions Lifecycle::tick(Time now) {
  if (nextCheck_ <= now && running()) return check(now);
  if (deadline_ > now) return {};
  deadline_ = Time::max();
  switch (state_) {
    case State::starting:
      return terminate(now);
    case State::waiting:
      return {Action::start};
    case State::stopping:
      return {Action::kill};
    default:
      return {};
  }
}

Lifecycle::Time Lifecycle::next() const { return std::min(nextCheck_, deadline_); }

std::string_view name(Lifecycle::State state) {
  constexpr std::array<std::string_view, 6> kNames = {"stopped", "starting", "ready", "doubted", "waiting", "stopping"};
  return kNames[static_cast<std::size_t>(state)];
}

}  // namespace rouse::functions
