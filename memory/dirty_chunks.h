// Free chunks that hold somebody's bytes, so that those that are taken together are neighbours, and those that are left are, too: who maps aligned runs of
// chunks in one piece (server/device/cuda/allocation_plan.h) needs few. By blocks as Placement's, each a word of bits; a request is taken as a buddy
// system would take it: the largest aligned runs first, each of the shortest that is long enough. Every operation touches a few words.
// Pure. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/bit_tree.h"
#include "memory/device.h"
#include "memory/placement.h"

namespace rouse::memory {

class DirtyChunks {
 public:
  // Of numbers below `chunks`; none yet.
  explicit DirtyChunks(std::uint32_t chunks);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // It is not among them.
  void put(std::uint32_t chunk);
  // Of as many at least, `count`, appended in no order.
  void take(std::size_t count, std::vector<Chunk>& to);
  // One whose neighbours are least likely to be taken with it. There is one.
  std::uint32_t takeOne();

 private:
  static constexpr unsigned kOrders = 6;  // runs of 2^order chunks
  static_assert(Placement::kLargeBlock == 1u << (kOrders - 1));

  // Takes an aligned run of 2^order or, where there is none, a shorter one, and returns the order.
  unsigned takeRun(unsigned order, std::uint32_t& first);
  void setBlock(std::size_t block, std::uint32_t chunks);

  std::vector<std::uint32_t> blocks_;      // by block: a bit for each chunk
  std::array<BitTree, kOrders> withRun_;   // by order: blocks with an aligned run of it that is no half of a longer one
  std::size_t size_ = 0;
};

}  // namespace rouse::memory
