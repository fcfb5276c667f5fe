// The sixteen named barriers of a block (PTX ISA, "bar, barrier"), and those of its warpgroups. Counts are in threads; a count of 0 means all
// threads of the block that have not exited.
#pragma once

#include <array>
#include <cstdint>

#include "server/device/cpu/abi.h"
#include "server/device/cpu/runtime/fiber.h"

namespace rouse::cpu {

inline constexpr std::uint32_t kBarriers = kNumberedBarriers + kWarpgroups;

class Barriers {
 public:
  // Forgets everything: a new block begins.
  void reset();

  // `fiber` arrives, and waits unless it completes the barrier: then true, and those that waited are moved to `ready`
  // with their results. `live`: threads of the block that have not exited.
  bool arriveAndWait(Fiber* fiber, std::uint32_t id, std::uint32_t count, std::uint32_t live, FiberQueue& ready);
  // As arriveAndWait, with bar.red's result in Fiber::result. op: 0 popc, 1 and, 2 or.
  bool reduce(Fiber* fiber, std::uint32_t id, std::uint32_t count, std::uint32_t live, std::uint32_t op, bool predicate,
              FiberQueue& ready);
  // Arrives without waiting.
  void arrive(std::uint32_t id, std::uint32_t count, std::uint32_t live, FiberQueue& ready);
  // A thread has exited: barriers of all threads may be complete with the `live` that are left.
  void threadExited(std::uint32_t live, FiberQueue& ready);

 private:
  struct Barrier {
    FiberQueue waiting;
    std::uint32_t arrived = 0;
    std::uint32_t expected = 0;  // 0: all
    std::uint32_t trueCount = 0;
    std::uint32_t predicates = 0;
    bool reducing = false;
  };
  bool completeIfFull(Barrier& barrier, std::uint32_t live, Fiber* last, FiberQueue& ready);
  Barrier& use(std::uint32_t id, std::uint32_t count);

  std::array<Barrier, kBarriers> barriers_;
  std::uint32_t used_ = 0;  // bits
};

}  // namespace rouse::cpu
