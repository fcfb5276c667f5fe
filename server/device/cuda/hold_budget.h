// For how long others are held while somebody waits: for so much of each period and no more, all waits together. The rest of a period they go on, whatever waits.
// Only times; nanoseconds of one steady clock that do not go back.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rouse::cuda {

class HoldBudget {
 public:
  HoldBudget(std::uint64_t mostNs, std::uint64_t periodNs) : mostNs_(mostNs), periodNs_(periodNs) {}

  // Somebody waits, and did not before.
  void begin(std::uint64_t now) {
    renew(now);
    sinceNs_ = now;
    waits_ = true;
  }
  // Nobody waits any more.
  void end(std::uint64_t now) {
    usedNs_ = used(now);
    waits_ = false;
  }
  // A period that is over is followed by the next.
  void renew(std::uint64_t now) {
    if (now - beganNs_ < periodNs_) return;
    beganNs_ = sinceNs_ = now;
    usedNs_ = 0;
  }
  bool holds(std::uint64_t now) const { return waits_ && used(now) < mostNs_; }

 private:
  std::uint64_t used(std::uint64_t now) const { return std::min(mostNs_, usedNs_ + (waits_ ? now - sinceNs_ : 0)); }

  std::uint64_t mostNs_, periodNs_;
  std::uint64_t beganNs_ = 0;  // this period
  std::uint64_t sinceNs_ = 0;  // of who waits, in this period
  std::uint64_t usedNs_ = 0;   // in this period, before that
  bool waits_ = false;
};

}  // namespace rouse::cuda
