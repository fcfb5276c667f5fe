// What chunks of a device hold, as far as it is also at home, and which granules have them: so that granules with the same bytes can
// have one chunk between them.
//
// Contents are numbered, not looked at. Two places that hold the same content hold the same bytes; a number is never used for other bytes
// again. A chunk that holds one is named by it, and its holders are known: the granules that lie in it, of an owner one at most. Who has
// several equal granules has as many chunks for them (each write would get a copy sooner or later, and each a mapping of its own).
//
// Invariants: a chunk with several holders is named. Nobody is the holder of a chunk that is not.
// Pure. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "memory/owner_id.h"

namespace rouse::memory {

using ContentId = std::uint64_t;
inline constexpr ContentId kNoContent = 0;

class ChunkContents {
 public:
  // Chunks of one content beyond these are not named: one is enough for an owner, and few have many.
  static constexpr std::size_t kMostNamed = 16;

  struct Holder {
    OwnerId owner = 0;
    std::uint64_t address = 0;
  };

  explicit ChunkContents(std::uint32_t chunks) : chunks_(chunks) {}

  // The chunk, which the holder has, holds this content; whatever it was named before.
  void name(std::uint32_t chunk, Holder holder, ContentId content);
  // Its only holder may have changed it.
  void unname(std::uint32_t chunk);
  // One more holder of a chunk that is named, of another owner than the others.
  void share(std::uint32_t chunk, Holder holder);
  // The owner's granule lies there no more. Nothing happens if none did. How many holders are left.
  std::size_t leave(std::uint32_t chunk, OwnerId owner);

  std::span<const Holder> holders(std::uint32_t chunk) const { return chunks_[chunk].holders; }
  bool holds(std::uint32_t chunk, OwnerId owner) const;
  // Those that are named so.
  std::span<const std::uint32_t> find(ContentId content) const;
  // Of the owner, those that have other holders.
  std::uint32_t sharedChunks(OwnerId owner) const;
  // Those that have several.
  const std::unordered_set<std::uint32_t>& shared() const { return shared_; }

 private:
  struct Named {
    ContentId content = kNoContent;
    std::vector<Holder> holders;
  };
  void forgetName(std::uint32_t chunk);
  void count(OwnerId owner, int change);

  std::vector<Named> chunks_;
  std::unordered_map<ContentId, std::vector<std::uint32_t>> named_;
  std::unordered_set<std::uint32_t> shared_;
  std::unordered_map<OwnerId, std::uint32_t> sharedBy_;
};

}  // namespace rouse::memory
