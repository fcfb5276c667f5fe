// What this device's transfers between host and device make of its modelled links.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "memory/device.h"
#include "server/device/cpu/alarm_clock.h"
#include "server/device/cpu/runtime/visits.h"
#include "server/device/cpu/worker_pool.h"
#include "server/device/link_board.h"

namespace rouse::cpu {

class LinkUse final : public DemandObserver {
 public:
  // The largest transfer that is small: the copying itself takes nothing that counts.
  static constexpr std::uint64_t kPassingBytes = std::uint64_t{64} << 10;

  explicit LinkUse(std::unique_ptr<device::LinkBoard> board) : board_(std::move(board)) {}

  device::LinkBoard& board() { return *board_; }
  // Who copies what the links move: as a GPU's copy engines do, beside the kernels rather than between them.
  WorkerPool& copyEngines() { return copyEngines_; }
  AlarmClock& clock() { return clock_; }

  // What the model gives: blocks one behind the other, each after the path's latency, and nobody else under way.
  memory::LinkDescription describe() const;

  // Any thread. Whether a small transfer may be done where it is met: it is charged to the link then, and nobody waits for it.
  // False once so many have been that a stream of them would be faster than the link; `refused` says that it then begins to wait
  // for the link, and counts as one of them.
  bool pass(device::LinkDirection direction, std::uint64_t bytes, bool refused);
  void onDemand(std::uint64_t bytes, std::uint8_t way) noexcept override;

 private:
  std::unique_ptr<device::LinkBoard> board_;
  std::atomic<std::int64_t> passedUntil_[2] = {};  // when what has passed would have moved, had it the link to itself
  WorkerPool copyEngines_{2, "cpu-copy", WorkerPool::Kind::engines};
  AlarmClock clock_;  // gives the engines work
};

// Which way a copy goes over the links. None: it stays where it is.
std::optional<device::LinkDirection> directionOf(AddressRange deviceWindow, std::uint64_t destination, std::uint64_t source);

}  // namespace rouse::cpu
