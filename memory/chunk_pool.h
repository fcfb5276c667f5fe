// The free physical memory of one device, and who has promises on it.
//
// A chunk is clean (reads as zero) or dirty (held somebody's bytes); only clean ones are handed out, unless every byte is about
// to be overwritten. Bytes are promised (reserve) before chunks are taken: that is what makes out-of-memory exact and
// immediate. It also asks that any chunk can back any granule: all chunks are of one size, kGranuleBytes.
//
// An owner stays, or visits. Who stays has chunks set aside for all that it was promised. Who visits has a home elsewhere
// for all of it and can be asked to leave; together visitors may be promised far more than there is, but each of them no
// more than what those who stay leave over: so there is always room for any one of them, if need be for it alone. Taking
// may find too few chunks while visitors are there; never otherwise.
//
// A visitor that has gone home rests: its chunks are free, and go on holding its content until somebody needs them. They are
// the last to be had, of who has rested longest first, and only its owner can put them back (what leads to them has to be
// cut first). If it comes again before, what is left is simply its own: both cost the same whatever the number of chunks.
//
// Several owners may have one chunk (share()), and each counts it as one of its own: at any time each can have another one in its place,
// whatever the others do. So sharing makes fewer chunks hold somebody's content, and as many free as before: those that it spares can hold
// what rests, no more. A chunk is dirty when the last owner has put it back.
//
// Invariants: taken by those who do not rest + free = all chunks, counted by owner; clean + dirty + those that somebody has, each once, =
// all chunks; taken by an owner <= reserved by it; sum of the reservations of those who stay + the largest of a visitor <= capacity.
// Pure: scrubbing is the caller's. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "memory/device.h"
#include "memory/dirty_chunks.h"
#include "memory/owner_id.h"
#include "memory/placement.h"

namespace rouse::memory {

enum class Tenure : std::uint8_t { stays, visits };
// What a chunk must hold when it is taken.
enum class Content : std::uint8_t { zeros, any };

class ChunkPool {
 public:
  // The device's chunks, all clean. Fails if their ids are not 0, 1, 2… or a size is not kGranuleBytes.
  static Result<ChunkPool> create(std::span<const Chunk> chunks);

  // An owner that has not been enrolled stays. memoryAllocation, naming what is free, and nothing changes, when one that
  // visited cannot stay.
  Status enroll(OwnerId owner, Tenure tenure);
  // memoryAllocation, naming what is free, when the promises would pass the capacity.
  Status reserve(OwnerId owner, std::uint64_t bytes);
  // The owner has that much reserved and not taken.
  void giveBack(OwnerId owner, std::uint64_t bytes);

  // Up to `count` chunks for an owner that has them reserved, appended to `to` in ascending order of ids. Clean ones are where
  // `placement.h` says: an owner's together, since consecutive chunks at consecutive addresses become one mapping; of dirty ones, aligned runs (dirty_chunks.h). Returns
  // how many; fewer only if no more are free, or the rest of the free ones rests or, for zeros, is dirty.
  std::size_t take(OwnerId owner, std::size_t count, std::vector<Chunk>& to, Content content = Content::zeros);
  // The first chunks, for an owner that has them reserved, before anybody has taken any: that they have been somebody's since before.
  void takeFirst(OwnerId owner, std::size_t count, std::vector<Chunk>& to);
  // A chunk that somebody has is this owner's, too; also of an owner that rests. It has one reserved for it, or is about to put one back.
  void share(OwnerId owner, Chunk chunk);
  // A chunk comes back, dirty if nobody else has it; also from an owner that rests. The bytes stay reserved.
  void put(OwnerId owner, Chunk chunk);

  // All that the owner has taken is free from now on, though its own until it is put back. It takes nothing before wake().
  void rest(OwnerId owner);
  // What is left is taken again. Nothing happens where the owner does not rest, or has put everything back.
  void wake(OwnerId owner);
  // When it began to rest, as a number that grows; 0: it does not.
  std::uint64_t restingSince(OwnerId owner) const;
  // Who is to put chunks back when those that are clean or dirty are too few: of those who began to rest after that, the first.
  std::optional<OwnerId> longestResting(std::uint64_t after = 0) const;

  // A dirty chunk to scrub, which is nobody's until it is returned by scrubbed().
  std::optional<Chunk> beginScrub();
  void scrubbed(Chunk chunk);

  // Forgets an owner that has put back all its chunks.
  void release(OwnerId owner);

  std::uint64_t capacityBytes() const { return std::uint64_t{chunkCount_} * kGranuleBytes; }
  // By those who stay, and by the visitor that was promised most.
  std::uint64_t reservedBytes() const { return stayingBytes_ + largestVisitor_; }
  // What an owner that stays can still be promised, and what this one can.
  std::uint64_t reservableBytes() const { return capacityBytes() - reservedBytes(); }
  std::uint64_t reservableBytes(OwnerId owner) const;
  std::uint64_t visitableBytes() const { return capacityBytes() - stayingBytes_; }  // a visitor that has been promised nothing yet
  std::size_t freeChunks() const { return presentCount_ < chunkCount_ ? chunkCount_ - presentCount_ : 0; }
  std::size_t unusedChunks() const { return cleanChunks() + dirty_.size(); }  // nobody's content
  std::size_t presentChunks() const { return presentCount_; }  // taken by those who do not rest, by owners
  std::size_t restingChunks() const { return restingCount_; }  // by owners
  std::uint32_t owners(Chunk chunk) const { return owners_[chunk.id]; }
  std::size_t cleanChunks() const { return clean_.freeGranules(); }
  std::size_t dirtyChunks() const { return dirty_.size(); }
  std::uint64_t reservedBytes(OwnerId owner) const;
  std::uint64_t takenBytes(OwnerId owner) const;

 private:
  struct Account {
    std::uint64_t reserved = 0;
    std::uint64_t taken = 0;         // or resting
    std::uint64_t restingSince = 0;  // 0: it does not rest
    Tenure tenure = Tenure::stays;
  };

  explicit ChunkPool(std::uint32_t count);
  void takeClean(OwnerId owner, std::size_t count, std::vector<Chunk>& to);
  void findLargestVisitor();

  std::uint32_t chunkCount_;
  Placement clean_;               // what is free in it is clean; the rest belongs to who took it when it was clean last
  std::vector<OwnerId> cleanFor_;  // by chunk: who that was
  std::vector<Extent> extents_;
  DirtyChunks dirty_;
  std::map<std::uint64_t, OwnerId> resting_;  // by restingSince
  std::size_t restingCount_ = 0, presentCount_ = 0;  // taken by those who rest, and by the others
  std::vector<std::uint32_t> owners_;                // by chunk: how many have it
  std::uint64_t rests_ = 0;  // so far
  std::uint64_t stayingBytes_ = 0, largestVisitor_ = 0;
  std::unordered_map<OwnerId, Account> accounts_;
};

}  // namespace rouse::memory
