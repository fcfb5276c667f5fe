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

  Status reserve(memory::OwnerId owner, std::uint64_t bytes);
  void giveBack(memory::OwnerId owner, std::uint64_t bytes);
  // One to `count` chunks that read as zero, which the owner has reserved; scrubs one if it must. The chunk that cannot
  // be scrubbed is lost, and the device is not fit for use.
  Result<std::vector<memory::Chunk>> take(memory::OwnerId owner, std::size_t count);
  void put(memory::OwnerId owner, memory::Chunk chunk) { pool_.put(owner, chunk); }
  void release(memory::OwnerId owner);

  // Scrubs one chunk that waits for it. False: none does.
  Result<bool> scrubOne();
  bool scrubbing() const { return pool_.dirtyChunks() != 0; }

  std::uint64_t totalBytes() const { return pool_.capacityBytes(); }
  std::uint64_t freeBytes() const { return pool_.reservableBytes(); }
  // Changes whenever freeBytes() may have.
  std::uint64_t version() const { return version_; }

 private:
  PhysicalMemory(memory::Device& device, memory::ChunkPool pool) : device_(&device), pool_(std::move(pool)) {}

  memory::Device* device_;
  memory::ChunkPool pool_;
  std::uint64_t version_ = 1;
};

}  // namespace rouse::executor
