// What is learned of a function: how long it takes, and how often it is asked for. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "sched/time.h"

namespace rouse::sched {

// The median of the last few measurements: one slow run changes nothing.
class Median {
 public:
  static constexpr unsigned kSamples = 15;

  void add(Duration sample) {
    samples_[count_++ % kSamples] = sample;
    std::array<Duration, kSamples> sorted = samples_;
    const unsigned known = std::min(count_, kSamples);
    std::nth_element(sorted.begin(), sorted.begin() + known / 2, sorted.begin() + known);
    median_ = sorted[known / 2];
  }
  bool known() const { return count_ != 0; }
  Duration operator()(Duration otherwise) const { return known() ? median_ : otherwise; }

 private:
  std::array<Duration, kSamples> samples_{};
  unsigned count_ = 0;
  Duration median_{};
};

// Arrivals a second, those of the last minutes counting most: their number decays with a time constant.
class Rate {
 public:
  static constexpr double kSeconds = 300;

  void add(Time now) {
    if (!begun_) begin_ = last_ = now, begun_ = true;
    count_ = decayed(now) + 1;
    last_ = std::max(last_, now);
  }
  double operator()(Time now) const {
    if (!begun_) return 0;
    // Whoever has just begun has not had the time to be counted: as if it had been there for 30 seconds at least.
    const double age = std::max(30.0, seconds(now - begin_));
    return decayed(now) / (kSeconds * (1 - std::exp(-age / kSeconds)));
  }

 private:
  double decayed(Time now) const { return count_ * std::exp(-std::max(0.0, seconds(now - last_)) / kSeconds); }

  bool begun_ = false;
  Time begin_{}, last_{};
  double count_ = 0;
};

// Weights of what happens now and then, of which the last minutes' count most: one that grows instead of many that decay (forward
// decay; Cormode et al., ICDE '09), so that sums of weighted things are compared without reading the time. `over` a bound, all sums are to be
// divided by renew().
class Landmark {
 public:
  static constexpr double kSeconds = 300;

  double weight(Time now) const { return std::exp(seconds(now - at_) / kSeconds); }
  bool over(Time now) const { return seconds(now - at_) > kMost * kSeconds; }
  double renew(Time now) {
    const double divisor = weight(now);
    at_ = now;
    return divisor;
  }

 private:
  static constexpr double kMost = 40;  // e^40: far from what a double can hold

  Time at_{};
};

}  // namespace rouse::sched
