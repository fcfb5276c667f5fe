#include "server/executor/physical_memory.h"

namespace rouse::executor {

Result<PhysicalMemory> PhysicalMemory::create(memory::Device& device) {
  Result<memory::ChunkPool> pool = memory::ChunkPool::create(device.chunks());
  if (!pool) return std::move(pool).error();
  return PhysicalMemory(device, std::move(*pool));
}

Status PhysicalMemory::enroll(memory::OwnerId owner, memory::Tenure tenure) {
  ++version_;
  return pool_.enroll(owner, tenure);
}

Status PhysicalMemory::reserve(memory::OwnerId owner, std::uint64_t bytes) {
  ++version_;
  return pool_.reserve(owner, bytes);
}

void PhysicalMemory::giveBack(memory::OwnerId owner, std::uint64_t bytes) {
  ++version_;
  pool_.giveBack(owner, bytes);
}

Result<std::vector<memory::Chunk>> PhysicalMemory::take(memory::OwnerId owner, std::size_t count) {
  std::vector<memory::Chunk> chunks;
  if (pool_.take(owner, count, chunks) == 0) {
    while (pool_.dirtyChunks() == 0 && clearAway(1)) {
    }
    if (Result<bool> scrubbed = scrubOne(); !scrubbed) return std::move(scrubbed).error();
    pool_.take(owner, 1, chunks);
  }
  return chunks;
}

void PhysicalMemory::takeAny(memory::OwnerId owner, std::size_t count, std::vector<memory::Chunk>& to) {
  while (pool_.unusedChunks() < count && clearAway(count - pool_.unusedChunks())) {
  }
  pool_.take(owner, count, to, memory::Content::any);
}

void PhysicalMemory::rest(memory::OwnerId owner, RestingOwner& guest) {
  resting_[owner] = &guest;
  pool_.rest(owner);
}

void PhysicalMemory::wake(memory::OwnerId owner) {
  resting_.erase(owner);
  pool_.wake(owner);
}

bool PhysicalMemory::clearAway(std::size_t count) {
  const auto owner = pool_.longestResting();
  if (!owner) return false;
  if (!resting_.at(*owner)->giveUp(count)) wake(*owner);  // its session ends with that error, and then the chunks are free
  return true;
}

void PhysicalMemory::release(memory::OwnerId owner) {
  ++version_;
  pool_.release(owner);
}

Result<bool> PhysicalMemory::scrubOne() {
  const auto chunk = pool_.beginScrub();
  if (!chunk) return false;
  if (Status status = device_->scrub(*chunk); !status) return status.error();
  pool_.scrubbed(*chunk);
  return true;
}

}  // namespace rouse::executor
