// How long it takes to get memory where released blocks go to one pool, as in Torpor-Block (section 7.3): the first cached
// block that is large enough, of those released longest ago, is returned at once; without one, cached blocks are given back to
// CUDA until there is room, and a new one is asked for.
//
// Assumptions, for the paper gives neither: a model is kBlocks blocks of equal size (PyTorch's allocator asks in segments), and
// cudaMalloc and cudaFree take kCallTime each: cudaFree waits for the device, and both change its page tables. What a block is
// larger than was asked for is not taken from others: only time is modelled here.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "sched/time.h"

namespace rouse::sim {

class BlockPool {
 public:
  static constexpr unsigned kBlocks = 16;
  static constexpr sched::Duration kCallTime = std::chrono::milliseconds(1);

  explicit BlockPool(std::uint64_t capacity) : capacity_(capacity) {}

  // What it takes. `bytes` of all functions that hold some are at most the capacity.
  sched::Duration allocate(std::uint32_t function, std::uint64_t bytes);
  void release(std::uint32_t function);

  std::uint64_t allocatedBytes() const { return allocated_; }

 private:
  std::uint64_t capacity_;
  std::uint64_t allocated_ = 0;               // from CUDA: held and cached
  std::deque<std::uint64_t> cached_;          // sizes, in order of release
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> held_;
};

}  // namespace rouse::sim
