// The device's memory as its sessions share it: the pool of chunks with the scrubbing done. Reactor thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/chunk_pool.h"
#include "memory/device.h"

namespace rouse::executor {

class PhysicalMemory {
 public:
  static Result<PhysicalMemory> create(memory::Device& device);

  Status enroll(memory::OwnerId owner, memory::Tenure tenure);
  Status reserve(memory::OwnerId owner, std::uint64_t bytes);
  void giveBack(memory::OwnerId owner, std::uint64_t bytes);
  // Up to `count` chunks that read as zero, which the owner has reserved; scrubs one if it must. None only while visitors
  // (memory/chunk_pool.h) have them. The chunk that cannot be scrubbed is lost, and the device is not fit for use.
  Result<std::vector<memory::Chunk>> take(memory::OwnerId owner, std::size_t count);
  // Exactly `count` chunks, which are free, to be overwritten whole.
  std::vector<memory::Chunk> takeAny(memory::OwnerId owner, std::size_t count);
  void put(memory::OwnerId owner, memory::Chunk chunk) { pool_.put(owner, chunk); }
  void release(memory::OwnerId owner);

  // Scrubs one chunk that waits for it. False: none does.
  Result<bool> scrubOne();
  bool scrubbing() const { return pool_.dirtyChunks() != 0; }

  std::uint64_t totalBytes() const { return pool_.capacityBytes(); }
  // What can be promised, and to this owner.
  std::uint64_t freeBytes() const { return pool_.reservableBytes(); }
  std::uint64_t freeBytes(memory::OwnerId owner) const { return pool_.reservableBytes(owner); }
  std::size_t freeChunks() const { return pool_.freeChunks(); }
  // Changes whenever freeBytes() may have.
  std::uint64_t version() const { return version_; }

 private:
  PhysicalMemory(memory::Device& device, memory::ChunkPool pool) : device_(&device), pool_(std::move(pool)) {}

  memory::Device* device_;
  memory::ChunkPool pool_;
  std::uint64_t version_ = 1;
};

}  // namespace rouse::executor
