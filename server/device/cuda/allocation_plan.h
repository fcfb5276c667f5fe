// Which runs of chunks are one allocation of the driver's each.
//
// The driver maps, and unmaps, whole allocations ("offset: currently must be zero", CUDA Driver API, cuMemMap; "must not be unmapped in part",
// cuMemUnmap), and a mapping costs nearly the same whatever its size: on an H100 access to one of 2 MiB takes 29 us, to one of 16 MiB 30, to one of 64 MiB 50
// (bench/results). So what is mapped in one piece had better be one allocation. Sizes are a granule, and powers of two from kSmallest to
// kLargest, and an allocation of n granules begins with a chunk whose number is a multiple of n, as in a buddy system. There is none of two: making it of
// two single ones costs what it saves, and who grows granule by granule finds single ones beside the first.
//
// Pure. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/placement.h"

namespace rouse::cuda {

class AllocationPlan {
 public:
  // Granules. What an owner is given goes by blocks of this size, too.
  static constexpr std::uint32_t kLargest = memory::Placement::kLargeBlock;
  static constexpr std::uint32_t kSmallest = 4;

  // Pieces one behind the other, from chunk 0 on.
  explicit AllocationPlan(const std::vector<memory::Extent>& allocations);

  // The allocation that the chunk is of.
  memory::Extent of(std::uint32_t chunk) const;

  // What allocations the chunks may be of, if they are to be theirs alone: the fewest, ascending.
  static std::vector<memory::Extent> pieces(memory::Extent chunks);

  // What is to be done, so that such a piece is an allocation. Nothing larger begins than what it names, or what ends.
  struct Change {
    std::vector<memory::Extent> ends;    // allocations as they are
    std::vector<memory::Extent> begins;  // of the same chunks
    bool needed() const { return !begins.empty(); }
  };
  Change change(memory::Extent piece) const;
  // So that the chunks, which are of one allocation, are not of one with any others: `begins` are pieces of them and of the others.
  Change cut(memory::Extent chunks) const;
  void apply(const Change& change);

 private:
  // By chunk: granules of the allocation that begins with it; 0: none does.
  std::vector<std::uint8_t> granules_;
};

}  // namespace rouse::cuda
