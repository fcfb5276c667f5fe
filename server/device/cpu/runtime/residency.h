// One worker's share of one grid: the blocks that it has begun and not ended.
//
// A block that can run is run to its end. When all threads of a block spin, other blocks get their turn: those begun
// already, and new ones up to the number that a GPU would hold at once, so that blocks that wait for earlier ones
// (look-back scans), and cooperative grids, come to an end even on one worker.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>

#include "server/device/cpu/runtime/block.h"
#include "server/device/cpu/runtime/grid.h"

namespace rouse::cpu {

class Residency {
 public:
  Residency(Runner& runner, Grid& grid, std::uint32_t workers);

  enum class Progress {
    done,      // nothing begun here, nothing left to claim
    more,      // others wait for the worker: call again
    spinning,  // every block here spins: call again later
  };
  // `others`: not 0 while other work waits for a worker; then it returns after a slice of time, at the end of a block.
  Progress run(const std::atomic<std::uint32_t>& others);

  Grid& grid() { return grid_; }

 private:
  using Clock = std::chrono::steady_clock;

  Progress runLoops(const std::atomic<std::uint32_t>& others);
  Progress runBlocks(const std::atomic<std::uint32_t>& others);
  static void loopBody(Fiber* self);
  std::unique_ptr<Block> beginNext();
  bool joinCluster();
  // Whether no block is ever left before its end.
  bool runsThrough() const { return grid_.options().code.loop != nullptr && !grid_.options().code.mayPoll; }
  bool claimed();
  std::uint64_t ofRow() const;
  bool mustWait();
  bool sliceOver(const std::atomic<std::uint32_t>& others);

  Runner& runner_;
  Grid& grid_;
  std::uint64_t shares_;  // claims are such a part of what is left; 0: one at a time
  std::uint64_t next_ = 0, left_ = 0;  // claimed and not begun
  bool waits_ = false;                 // what comes next waits for the first of its row
  std::shared_ptr<Cluster> cluster_;   // of those
  std::deque<std::unique_ptr<Block>> spinning_;
  Clock::time_point sliceEnd_;
  // While loops run
  std::unique_ptr<Block> loopBlock_;
  const std::atomic<std::uint32_t>* others_ = nullptr;
  std::uint64_t loopsEnded_ = 0;
};

}  // namespace rouse::cpu
