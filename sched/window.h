// How many requests of a function were in time lately: a sliding window of fixed size, in steps. Old luck and old misfortune
// are forgotten (the published Torpor prototype counts from its start). Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "sched/time.h"

namespace rouse::sched {

class Window {
 public:
  static constexpr int kSteps = 10;

  Window() : Window(std::chrono::minutes(10)) {}
  explicit Window(Duration length) : step_(std::max<Duration::rep>(1, length.count() / kSteps)) {}

  void add(bool inTime, Time now) {
    advance(now);
    Step& step = steps_[current_ % kSteps];
    ++step.all, ++all_;
    if (inTime) ++step.good, ++good_;
  }
  // Forgets what is older than the window, to the step.
  void advance(Time now) {
    const auto step = static_cast<std::uint64_t>(std::max<Duration::rep>(0, now.time_since_epoch().count()) / step_);
    for (int passed = 0; current_ < step; ++current_, ++passed) {
      if (passed == kSteps) {
        current_ = step;
        return;
      }
      Step& oldest = steps_[(current_ + 1) % kSteps];
      all_ -= oldest.all, good_ -= oldest.good;
      oldest = {};
    }
  }

  std::uint32_t requests() const { return all_; }
  std::uint32_t inTime() const { return good_; }
  // Torpor's required request count (section 5.2): so many more in time, and the percentile is met. Negative: so many to spare.
  double required(double percentile) const { return (percentile * all_ - good_) / (1 - percentile); }
  // A function without requests complies.
  bool complies(double percentile) const { return good_ >= percentile * all_; }

 private:
  struct Step {
    std::uint32_t all = 0, good = 0;
  };
  Duration::rep step_;
  std::uint64_t current_ = 0;
  std::array<Step, kSteps> steps_{};
  std::uint32_t all_ = 0, good_ = 0;
};

}  // namespace rouse::sched
