// The device's memory as its sessions share it: the pool of chunks with the scrubbing done, and with what rests there (chunk_pool.h)
// cleared away when it is needed; and one chunk for granules with the same bytes, where the device can have that (chunk_contents.h,
// DeviceProperties::copiesOnWrite). Reactor thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "memory/chunk_contents.h"
#include "memory/chunk_pool.h"
#include "memory/device.h"

namespace rouse::executor {

// An owner whose chunks rest.
class RestingOwner {
 public:
  // Surrenders `count` chunks, which is not 0, as far as it has them, and what is mapped together with them (memory::Context::together()), to which nothing of
  // its own leads any more: those that nobody keeps (kept()), while there are such. Or fails, for good: what is left is then its own until it is released.
  virtual Status giveUp(std::size_t count) = 0;
  // The granule's chunk is somebody's who rests for less long, and gives it up: puts it back, to which nothing of its own leads any more.
  // Fails as giveUp() does.
  virtual Status lose(std::uint64_t address) = 0;
  // Some chunks that others kept may be kept no more.
  virtual void reconsider() = 0;
  // How many are to be taken before anybody has to give up more than so.
  virtual std::uint64_t offered() const = 0;

 protected:
  ~RestingOwner() = default;
};

// An owner whose chunks others may have as well.
class ChunkHolder {
 public:
  // Others are about to have the granule's chunk. False: it has been written, and does not hold what it is named by.
  virtual bool letJoin(std::uint64_t address, memory::Chunk chunk) = 0;
  // The granule is on its way, and cannot be joined before it has come, which it will.
  virtual bool coming(std::uint64_t address) const = 0;
  // Nobody else has it any more.
  virtual void own(std::uint64_t address) = 0;

 protected:
  ~ChunkHolder() = default;
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
  // At start-up, before anything else: the first chunks, which have no memory yet.
  void takeFirst(memory::OwnerId owner, std::size_t count, std::vector<memory::Chunk>& to) { pool_.takeFirst(owner, count, to); }
  // `count` chunks to be overwritten whole, appended; fewer only when no more are free.
  void takeAny(memory::OwnerId owner, std::size_t count, std::vector<memory::Chunk>& to);
  void put(memory::OwnerId owner, memory::Chunk chunk);
  void release(memory::OwnerId owner);

  // --- One chunk for several granules.
  // Who is asked about chunks of the owner's that are named. Borrowed until release().
  void introduce(memory::OwnerId owner, ChunkHolder& holder) { holders_[owner] = &holder; }
  // The owner's granule lies in the chunk, which holds this content from now on, as far as anybody knows.
  void name(memory::OwnerId owner, std::uint64_t address, memory::Chunk chunk, memory::ContentId content);
  // The only one who has it has written it.
  void unname(memory::Chunk chunk) { contents_.unname(chunk.id); }
  // A chunk of that content, which is the owner's from now on, too, for this granule; all that have it have agreed. One that the owner has
  // reserved and not taken.
  std::optional<memory::Chunk> join(memory::OwnerId owner, std::uint64_t address, memory::ContentId content);
  // Whether others have the content: one could join(), or could when what is on its way has come.
  enum class Elsewhere : std::uint8_t { nowhere, coming, there };
  Elsewhere elsewhere(memory::OwnerId owner, memory::ContentId content) const;
  // The owner's granule has been copied, and does not lie in this chunk any more: puts that back, for one to be overwritten whole. None: none
  // can be had at the moment, and nothing has changed.
  std::optional<memory::Chunk> exchange(memory::OwnerId owner, memory::Chunk chunk);
  // Somebody who does not rest has the owner's chunk as well, or somebody who rests for less long.
  bool kept(memory::OwnerId owner, memory::Chunk chunk) const;
  // Mappings may be of several chunks (DeviceProperties::mapsTogether).
  bool mapsTogether() const { return device_->properties().mapsTogether != 1; }
  // Of the aligned block of so many chunks as Placement's large ones have, those that are nobody's.
  std::uint32_t unusedOf(std::uint32_t block) const;
  // As put(), by an owner that rests and has seen that nobody keeps the chunk: others that rest lose it, so that it is free.
  void surrender(memory::OwnerId owner, memory::Chunk chunk);
  // Of the owner, in chunks that others have as well.
  std::uint64_t sharedBytes(memory::OwnerId owner) const { return contents_.sharedChunks(owner) * kGranuleBytes; }
  // Held by those who do not rest; what several have counts once.
  std::uint64_t heldBytes() const;

  // --- Chunks whose memory is elsewhere (guest.h).
  // Up to `count` chunks give their memory up and are the owner's, appended; fewer only when no more are free. The one that fails is lost.
  Status withdraw(memory::OwnerId owner, std::size_t count, std::vector<memory::Chunk>& to);
  // One of them has memory again, and is put back. Or fails, and nothing has changed.
  Result<std::size_t> supply(memory::OwnerId owner, std::span<const memory::Chunk> chunks);
  // It is the other's from now on.
  void handOver(memory::OwnerId from, memory::OwnerId to, memory::Chunk chunk);
  // What is promised here, and to whom, another executor decides: all that there is may be promised to each, by count.
  void promiseElsewhere() { promisedElsewhere_ = true; }
  bool promisedElsewhere() const { return promisedElsewhere_; }

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
  std::uint64_t freeBytesOfVisitors() const { return pool_.visitableBytes(); }
  std::size_t freeChunks() const { return pool_.freeChunks(); }
  // Changes whenever freeBytes() may have.
  std::uint64_t version() const { return version_; }

 private:
  PhysicalMemory(memory::Device& device, memory::ChunkPool pool)
      : device_(&device), pool_(std::move(pool)), contents_(static_cast<std::uint32_t>(device.chunks().size())) {}

  // Makes those who have rested longest give up to `count` chunks up. False: nobody has any to give up.
  bool clearAway(std::size_t count);

  memory::Device* device_;
  memory::ChunkPool pool_;
  memory::ChunkContents contents_;
  std::unordered_map<memory::OwnerId, RestingOwner*> resting_;
  std::unordered_map<memory::OwnerId, ChunkHolder*> holders_;
  std::uint64_t version_ = 1;
  bool promisedElsewhere_ = false;
};

}  // namespace rouse::executor
