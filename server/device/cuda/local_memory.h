// Room for kernels' local memory and stacks. The driver has it once for the whole CUDA context, for as many threads as the GPU runs, and as much a thread as
// any kernel has needed so far or the limit says. Who needs more, by a launch or a new limit, is kept waiting inside the call until all that runs has ended
// (cuda.h, CU_LIMIT_STACK_SIZE). Under the GPU's lock that would stop everybody for as long as some function's kernel runs, and for good if that
// waits for its program.
//
// So whoever needs more waits here, outside of the driver, until no kernel is under way. Others' launches wait for that meanwhile, or there might never be such
// a moment; but for no more than kMostHoldNs of each kPeriodNs, all waits together: what runs may end only once one of them has run. For the rest of the
// period each moment without a kernel is used.
//
// Locked, all of it.
#pragma once

#include <cstdint>
#include <deque>

#include "server/device/cuda/hold_budget.h"

namespace rouse::cuda {

class Lanes;

class LocalMemory {
 public:
  static constexpr std::uint64_t kMostHoldNs = 1'000'000'000;
  static constexpr std::uint64_t kPeriodNs = 10'000'000'000;

  // Bytes a thread for which there is room.
  std::uint64_t bytes() const { return bytes_; }
  // There is room for so much: the driver has made it. Who has waited for no more need not wait.
  void grew(std::uint64_t bytes);
  // Somebody waits, and launches that could be made have to wait for him.
  bool holds() const;
  // True: the driver may be asked for so much, now. False: later; wanted() until then. First come, first served.
  bool take(Lanes& who, std::uint64_t bytes);
  // It waits no longer.
  void forget(const Lanes& who);
  bool wanted() const { return !waiting_.empty(); }

 private:
  struct Waiting {
    Lanes* who;
    std::uint64_t bytes;
  };
  template <class Which>
  void leave(Which&& which);

  std::uint64_t bytes_ = 0;
  std::deque<Waiting> waiting_;
  HoldBudget budget_{kMostHoldNs, kPeriodNs};
};

}  // namespace rouse::cuda
