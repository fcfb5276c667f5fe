// Chunks for the granules of an arrival. They are taken, and made ready, some time before the granules are put on their way: many at once, since a device maps
// what is one block of chunks and one run of addresses in one piece, but no sooner than that it keeps the first granules waiting.
//
// Reactor thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/executor/physical_memory.h"
#include "swap/group_plan.h"

namespace rouse::executor {

class ComingChunks {
 public:
  struct Granule {
    std::uint64_t address;
    memory::Chunk chunk;
  };

  // `mapsTogether` is the device's (DeviceProperties).
  ComingChunks(memory::OwnerId owner, PhysicalMemory& memory, std::uint32_t mapsTogether)
      : owner_(owner), memory_(memory), takenTogether_(mapsTogether == 1 ? kBlock : 4 * kBlock) {}

  // The owner has reserved chunks for all granules of the plan, and takes none but these until the last has gone.
  void begin(const swap::TransferPlan& plan);
  // Of the plan, what has not gone.
  std::size_t left() const { return addresses_.size() - gone_; }
  // Takes chunks for the next `count` granules, and more. False: not all can be had at the moment.
  bool take(std::size_t count);
  // Appends those that are to be made ready before the next `count` go, and were not before: by ascending address, whole pieces, some of which go later.
  void ready(std::size_t count, std::vector<Granule>& to);
  // The next one goes; a chunk has been taken for it.
  Granule go();
  // What has been taken and has not gone is put back, and nothing is left.
  void end();

 private:
  // Chunks with consecutive numbers, of one block, for consecutive addresses.
  struct Piece {
    std::size_t wanted;  // in the plan, the first of its granules
    std::uint64_t base;
    std::uint32_t firstChunk, count;
  };
  static constexpr std::size_t kBlock = memory::Placement::kLargeBlock, kReadyAhead = kBlock;

  // Of the chunks that have been taken last, which goes where.
  void fit(std::size_t first);

  const memory::OwnerId owner_;
  PhysicalMemory& memory_;
  // Behind the first group, for which others lose no more than it needs, since the program waits for it. Where mappings are of several, the more is taken at
  // once, the longer are the runs that are found: of sixteen functions that took turns, pieces had 3 granules with four blocks, and 2 with one. Where
  // each granule is unmapped by itself, four blocks of them would keep the second group waiting.
  const std::size_t takenTogether_;
  std::vector<std::uint64_t> addresses_;  // in the plan's order
  std::vector<memory::Chunk> chunks_;     // of as many of the first as have any
  std::size_t gone_ = 0;
  std::vector<Piece> unready_;  // what is wanted first last
};

}  // namespace rouse::executor
