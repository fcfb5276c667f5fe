// When the reactor, having found nothing to do, looks again at once (spin), when others who want the core have had it
// (yield), soon (nap) or only when woken (sleep).
//
// Spinning makes the next command cheap for both sides and costs a core; it is worth it only while commands come in
// quick succession. So the budget is full as long as the last pause would have been covered by it and halves with each
// that would not. It is zero where cores are scarce, and short while kernels need the cores. Where the device is a GPU, whose work needs none, it
// looks on for as long as a large copy takes while work is under way: what a core costs is less than what a late signal costs.
//
// It yields once before it rests: whoever it has just answered was often woken on this very core and then waits until the
// reactor is off it, and going to rest takes long where arming a timer traps into a hypervisor (20 µs were seen).
//
// Pure: time is passed in. Nanoseconds of any steady clock.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rouse::executor {

enum class Rest : std::uint8_t { spin, yield, nap, sleep };

class RestPolicy {
 public:
  static constexpr std::uint64_t kMostSpinNs = 50'000;
  static constexpr std::uint64_t kLeastSpinNs = 2'000;
  static constexpr std::uint64_t kBusySpinNs = 5'000;
  static constexpr std::uint64_t kBesideDeviceSpinNs = 2'000'000;
  static constexpr std::uint64_t kNappingNs = 2'000'000;
  static constexpr std::uint64_t kWaitingNapsNs = 20'000'000;

  // `leavesProcessors`: DeviceProperties'.
  explicit RestPolicy(unsigned cores, bool leavesProcessors = false)
      : scarce_(cores < 2), besideDevice_(leavesProcessors && cores >= kCoresToSpare), budget_(scarce_ ? 0 : kMostSpinNs) {}

  // Something was done. If it ended a rest, the budget learns from how long that was.
  void worked(std::uint64_t now) {
    if (rested_ && !scarce_) budget_ = now - last_ <= kMostSpinNs ? kMostSpinNs : std::max(kLeastSpinNs, budget_ / 2);
    rested_ = yielded_ = false;
    last_ = now;
  }

  // Nothing was to be done. `deviceBusy`: kernels or copies are running. `deviceWaiting`: the device has to be polled
  // for something that nobody will wake us for, often the end of a host function: worth looking for a while longer.
  Rest next(std::uint64_t now, bool deviceBusy, bool deviceWaiting = false) {
    const std::uint64_t idle = now - last_;
    const std::uint64_t spins = !deviceBusy ? budget_ : besideDevice_ ? kBesideDeviceSpinNs : std::min(budget_, kBusySpinNs);
    if (idle < spins) return Rest::spin;
    if (!yielded_) {
      yielded_ = true;
      return Rest::yield;
    }
    rested_ = true;
    return idle < (deviceWaiting ? kWaitingNapsNs : kNappingNs) ? Rest::nap : Rest::sleep;
  }

  std::uint64_t spinBudget() const { return budget_; }

 private:
  static constexpr unsigned kCoresToSpare = 4;

  bool scarce_, besideDevice_;
  bool rested_ = false;
  bool yielded_ = false;
  std::uint64_t budget_;
  std::uint64_t last_ = 0;
};

}  // namespace rouse::executor
