// What a session has used of its device and of the host store, over time. Pure: time is passed in, nanoseconds of any steady clock.
//
// Work is counted as long as any is under way, whatever part of the device it keeps busy: what others could not have had, were the device given
// to one at a time.
#pragma once

#include <cstdint>

#include "server/control/session_recipe.h"

namespace rouse::executor {

using channel::Consumption;

class Meter {
 public:
  struct Level {
    bool busy = false;
    std::uint64_t deviceBytes = 0, homeBytes = 0;
    bool operator==(const Level&) const = default;
  };

  // Counts from the first set() on.
  explicit Meter(const Consumption& before = {}) : total_(before) {}

  // From now on. Times that go back count as the last one.
  void set(const Level& level, std::uint64_t now) {
    if (level == level_) return;
    advance(now);
    level_ = level;
  }
  Consumption read(std::uint64_t now) {
    advance(now);
    return total_;
  }
  // As of the latest of these.
  const Consumption& total() const { return total_; }

 private:
  void advance(std::uint64_t now) {
    if (now <= since_) return;
    const std::uint64_t passed = now - since_;
    const double seconds = static_cast<double>(passed) * 1e-9;
    if (level_.busy) total_.busyNs += passed;
    total_.deviceByteSeconds += static_cast<double>(level_.deviceBytes) * seconds;
    total_.homeByteSeconds += static_cast<double>(level_.homeBytes) * seconds;
    since_ = now;
  }

  std::uint64_t since_ = 0;
  Consumption total_;
  Level level_;
};

}  // namespace rouse::executor
