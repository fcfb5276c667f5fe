// Time as the scheduler knows it: whatever steady clock its caller has, virtual or real. It never reads one.
#pragma once

#include <chrono>

namespace rouse::sched {

using Duration = std::chrono::nanoseconds;

// Never asked for the time: it makes Time a type of its own.
struct CallersClock {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<CallersClock, Duration>;
  static constexpr bool is_steady = true;
};
using Time = CallersClock::time_point;

inline constexpr double seconds(Duration d) { return static_cast<double>(d.count()) * 1e-9; }
inline constexpr double milliseconds(Duration d) { return static_cast<double>(d.count()) * 1e-6; }
inline constexpr Duration fromSeconds(double s) { return Duration(static_cast<Duration::rep>(s * 1e9)); }

}  // namespace rouse::sched
