// All of the GPU's memory that is for functions: one driver allocation for each granule.
//
// Larger ones cannot be shared out: cuMemMap maps a whole allocation ("offset: currently must be zero", CUDA Driver
// API, "Virtual Memory Management"), and executors hand out single granules.
#pragma once

#include <memory>
#include <vector>

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
  Status withdraw(memory::Chunk chunk);
  Status supply(memory::Chunk chunk);
  CUmemGenericAllocationHandle handle(memory::Chunk chunk) const { return handles_[chunk.id]; }

  bool shareable() const { return shareable_; }

  // Whether its bytes may be another's; whoever maps it zeroes it then. The driver does not promise that fresh memory
  // is zero.
  bool dirty(memory::Chunk chunk) const { return dirty_[chunk.id]; }
  void setDirty(memory::Chunk chunk, bool dirty) { dirty_[chunk.id] = dirty; }

 private:
  explicit PhysicalMemory(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}

  Status known(memory::Chunk chunk) const;
  CUmemAllocationProp property() const;

  std::shared_ptr<Gpu> gpu_;
  std::vector<memory::Chunk> chunks_;
  std::vector<CUmemGenericAllocationHandle> handles_;  // kNone: it has no memory
  std::vector<bool> dirty_;
  bool shareable_ = false;
  static constexpr CUmemGenericAllocationHandle kNone = 0;
};

}  // namespace rouse::cuda
