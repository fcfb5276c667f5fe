// Host memory in which the sessions of this executor have a place for every granule that they were promised: the host store's
// book-keeping (memory/home_store.h), its memory, and what is known of the way there. Pages of it are made ready for
// transfers once, at start-up: nothing is allocated or pinned when a session leaves or comes.
//
// Granules with the same content, of whichever sessions, share one slot of it while they rest (home_sharing.h). A thread
// finds them (home_reader.h) among what nobody writes; the bytes are compared before anything is shared.
//
// Reactor thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "memory/device.h"
#include "memory/home_store.h"
#include "schemas/wire/owned_fd.h"
#include "server/executor/home_reader.h"
#include "server/executor/home_sharing.h"
#include "swap/group_plan.h"

namespace rouse::executor {

class Homes {
 public:
  using Slot = HomeSharing::Home;  // a granule's place, whichever slot of the store that is
  static constexpr Slot kNone = ~Slot{0};

  // The part [offset, offset + bytes) of a memfd, in whole granules, mapped and given to the device. `ring`: called from another
  // thread when turn() has something to do.
  static Result<std::unique_ptr<Homes>> open(memory::Device& device, const wire::OwnedFd& file, std::uint64_t offset,
                                             std::uint64_t bytes, std::function<void()> ring = {});
  // The device has been destroyed, or uses it no more.
  ~Homes();
  Homes(const Homes&) = delete;

  // memoryAllocation, naming what is left, when not every promise could be kept.
  Status promise(memory::OwnerId owner, std::uint64_t granules);
  // Promised, and not taken.
  void giveBack(memory::OwnerId owner, std::uint64_t granules);
  // One of those promised, for the granule at the address. Holds whatever its slot held, until it is rewritten.
  Slot take(memory::OwnerId owner, std::uint64_t address = 0);
  // The same where its bytes are already: at this offset of the file, which may be in this part of it. kNone: it is not, or somebody's. While
  // the owner moves.
  Slot takeAt(memory::OwnerId owner, std::uint64_t address, std::uint64_t fileOffset);
  // Promised again.
  void drop(Slot slot) { sharing_.drop(slot); }
  // All that the owner has, and was promised.
  void release(memory::OwnerId owner) { sharing_.release(owner); }

  // Around every departure and arrival: meanwhile the owner's homes stay where they are, but for those that are written.
  void beginMove(memory::OwnerId owner) { sharing_.beginMove(owner); }
  void endMove(memory::OwnerId owner) { sharing_.endMove(owner); }
  // What the home holds. While its owner moves, for as long as that takes; else until the next turn().
  const std::byte* at(Slot slot) const { return memory(sharing_.slot(slot)); }
  // Where the granule is to be written, all of it, during its owner's departure: nobody else's content is there. `print`: of
  // what will be there, if that is known. There is always room.
  std::byte* rewrite(Slot slot, const std::optional<memory::PageFingerprint>& print);

  // HomeSharing's: what a home holds, and homes that have been found to hold what others do.
  memory::ContentId content(Slot slot) const { return sharing_.content(slot); }
  bool anyMerged() const { return sharing_.anyMerged(); }
  std::vector<HomeSharing::Merged> takeMerged() { return sharing_.takeMerged(); }

  // Goes on with finding equal homes, for some microseconds. True: there is more to do at once; else when `ring` has been
  // called, or a session's move has ended.
  bool turn();
  // Something is being read. turn() must follow.
  bool reading() const { return reader_ != nullptr && !reader_->idle(); }
  // No more, and `ring` is not called again.
  void endReading();

  // For telling what has changed: random, and no program ever sees it or what it makes.
  const memory::FingerprintKey& key() const { return key_; }
  // Of the link to the device, as that has measured it or its model says.
  const swap::BandwidthCurve& curve() const { return curve_; }
  // Where at() is in the file, of which others have other parts.
  std::uint64_t fileOffset(Slot slot) const { return fileOffset_ + std::uint64_t{sharing_.slot(slot)} * kGranuleBytes; }
  std::uint64_t totalBytes() const { return store_.slots() * kGranuleBytes; }
  std::uint64_t promisableBytes() const { return store_.promisable() * kGranuleBytes; }
  // By content: what is shared, once.
  std::uint64_t usedBytes() const { return store_.usedBytes(); }
  // What rests and has not been compared with what else does: usedBytes() may still become less by as much.
  std::uint64_t pendingBytes() const { return sharing_.pending() * kGranuleBytes; }
  // Of the owner's homes, those that share a slot with another home, its own or another's.
  std::uint64_t sharedBytes(memory::OwnerId owner) const { return store_.sharedPages(owner) * kGranuleBytes; }

 private:
  // What is read in one go: enough to make waking two threads cheap, and few slots of the store.
  static constexpr std::size_t kReadings = 16;
  // Homes that are looked at in one turn.
  static constexpr unsigned kSteps = 64;

  Homes(std::byte* base, std::uint64_t fileOffset, std::uint32_t granules, const memory::FingerprintKey& key,
        swap::BandwidthCurve curve, std::function<void()> ring);

  std::byte* memory(memory::SlotId slot) const { return base_ + std::uint64_t{slot} * kGranuleBytes; }
  void takeReadings();
  // Sees to it that a slot can be had: where all that are left are being read, waits for that.
  void feed();

  std::byte* base_;
  std::uint64_t fileOffset_;
  memory::FingerprintKey key_;
  swap::BandwidthCurve curve_;
  memory::HomeStore store_;
  HomeSharing sharing_{store_};
  std::vector<HomeSharing::Look> looks_;  // that reader_ has
  std::unique_ptr<HomeReader> reader_;
};

}  // namespace rouse::executor
