// All of the GPU's memory that is for functions, made at start-up: in allocations of the driver's as large as they can be (allocation_plan.h), which
// are made anew, of the same chunks, where others are wanted.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "server/device/cuda/allocation_plan.h"
#include "server/device/cuda/gpu.h"

namespace rouse::cuda {

class PhysicalMemory {
 public:
  // `atMost`: 0 takes all but what the context itself needs. `absent`: so many bytes' chunks, the first, have no memory yet. `shareable`: to be read by other GPUs' executors, where the driver can that.
  // Locked.
  static Result<std::unique_ptr<PhysicalMemory>> create(std::shared_ptr<Gpu> gpu, std::uint64_t atMost, std::uint64_t absent, bool shareable);
  ~PhysicalMemory();

  std::span<const memory::Chunk> chunks() const { return chunks_; }
  // Fails for a chunk that is not one of these, or has no memory.
  Status check(memory::Chunk chunk) const;
  // As memory::Device. Locked.
  Status withdraw(std::span<const memory::Chunk> chunks);
  Result<std::size_t> supply(std::span<const memory::Chunk> chunks);
  // Zeroed when it is mapped again, with its neighbours. The last of a block of which none is mapped, and none holds anything, makes that an allocation: what
  // is free ends up in large ones while nobody waits.
  Status scrub(memory::Chunk chunk);

  // --- Allocations. Locked.
  memory::Extent allocationOf(std::uint32_t chunk) const { return plan_.of(chunk); }
  CUmemGenericAllocationHandle handle(memory::Extent allocation) const { return handles_[allocation.first]; }
  // So that the chunks, of which none is mapped and each has memory, are an allocation: a piece of AllocationPlan::pieces(). Several still, smaller ones,
  // where the driver has no memory to make it with just now. Where it has none to make smaller ones with, the chunks are lost, and an error.
  Status shape(memory::Extent piece);
  // So that those of an allocation that are to be unmapped are not of one with the others: as planned, and the handles of what it begins, nothing of which
  // is mapped yet. What ends keeps its memory until adopt() or abandon(), and as long as it is mapped.
  struct Cut {
    AllocationPlan::Change change;
    std::vector<CUmemGenericAllocationHandle> begun;  // one for each of change.begins
  };
  Result<Cut> cut(memory::Extent chunks);
  void adopt(const Cut& cut);
  void abandon(const Cut& cut);
  // Which of them are mapped; by whoever maps them.
  bool mapped(std::uint32_t chunk) const { return mapped_[chunk]; }
  void setMapped(memory::Extent chunks, bool mapped);

  bool shareable() const { return shareable_; }

  // Whether its bytes may be another's; whoever maps it zeroes it then. The driver does not promise that fresh memory
  // is zero.
  bool dirty(std::uint32_t chunk) const { return dirty_[chunk]; }
  void setDirty(memory::Extent chunks, bool dirty);

 private:
  using Handles = std::vector<CUmemGenericAllocationHandle>;
  // The handles of these allocations, one behind the other.
  PhysicalMemory(std::shared_ptr<Gpu> gpu, bool shareable, const std::vector<memory::Extent>& allocations, const Handles& handles);

  Status known(memory::Chunk chunk) const;
  static Status forEachPiece(std::span<const memory::Chunk> chunks, const std::function<Status(memory::Extent)>& visit);
  Status withdraw(memory::Extent piece);
  // Chunks that have none get memory, in one piece; or fewer of the first, one by one, and how many.
  Result<std::size_t> supply(memory::Extent piece);
  // All of them, or none; those of `without` get no memory.
  static Status make(Gpu& gpu, bool shareable, const std::vector<memory::Extent>& allocations, memory::Extent without, Handles& handles);
  // Where there is no memory to do it with just now, larger ones do not begin, and smaller ones only if there is once the larger has ended.
  Status remake(const AllocationPlan::Change& change, memory::Extent without = {});
  void adopt(const AllocationPlan::Change& change, const Handles& begun);
  static void release(Gpu& gpu, CUmemGenericAllocationHandle handle, memory::Extent allocation);

  static constexpr std::uint32_t kJoined = 8;

  std::shared_ptr<Gpu> gpu_;
  std::vector<memory::Chunk> chunks_;
  AllocationPlan plan_;
  Handles handles_;  // by the allocation's first chunk; kNone: there is none, or it has no memory, and is of one chunk
  std::vector<bool> dirty_, mapped_;                   // by chunk
  bool shareable_ = false;
  static constexpr CUmemGenericAllocationHandle kNone = 0;
};

}  // namespace rouse::cuda
