// The device's memory as its sessions share it: the pool of chunks with the scrubbing done, and with what rests there (chunk_pool.h)
// cleared away when it is needed. Reactor thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "memory/chunk_pool.h"
#include "memory/device.h"

namespace rouse::executor {

// An owner whose chunks rest.
class RestingOwner {
 public:
  // Puts back at least one chunk and at most `count`, which is not 0, to which nothing of its own leads any more. Or fails, for good:
  // what is left is then its own until it is released.
  virtual Status giveUp(std::size_t count) = 0;

 protected:
  ~RestingOwner() = default;
};

class PhysicalMemory {
 public:
  static Result<PhysicalMemory> create(memory::Device& device);

  Status enroll(memory::OwnerId owner, memory::Tenure tenure);
  Status reserve(memory::OwnerId owner, std::uint64_t bytes);
  void giveBack(memory::OwnerId owner, std::uint64_t bytes);
  // Up to `count` chunks that read as zero, which the owner has reserved; scrubs one if it must. None only while visitors
  // (memory/chunk_pool.h) have them. The chunk that cannot be scrubbed is lost, and the device is not fit for use.
  Result<std::vector<memory::Chunk>> take(memory::OwnerId owner, std::size_t count);
  // Up to `count` chunks to be overwritten whole, appended; fewer only when no more are free.
  void takeAny(memory::OwnerId owner, std::size_t count, std::vector<memory::Chunk>& to);
  void put(memory::OwnerId owner, memory::Chunk chunk) { pool_.put(owner, chunk); }
  void release(memory::OwnerId owner);

  // The owner's chunks are free, and will be asked back from `guest` (borrowed, until wake()) as others need them.
  void rest(memory::OwnerId owner, RestingOwner& guest);
  // What is left is its own again. Nothing happens where it does not rest.
  void wake(memory::OwnerId owner);

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

  // Makes who has rested longest give up to `count` chunks up. False: nobody rests.
  bool clearAway(std::size_t count);

  memory::Device* device_;
  memory::ChunkPool pool_;
  std::unordered_map<memory::OwnerId, RestingOwner*> resting_;
  std::uint64_t version_ = 1;
};

}  // namespace rouse::executor
