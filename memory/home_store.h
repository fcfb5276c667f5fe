// Where the host copies of pages are: who holds which slot of the pinned arena, and who may still take one.
//
// A slot holds one page (kGranuleBytes). It is private while its content is being written, then published: immutable, found
// by fingerprint, and referenced by any number of pages of any owners. To change a page is to write another slot and to
// drop this one (copy on write), so that an executor that dies in the middle leaves the old content whole.
//
// Claims. Whoever may have to write a page back holds a claim on a slot, and taking a slot takes a claim, so that write-back
// never fails: what cannot be had is refused when the claim is asked for, before anything is written on a device.
//   open    for a page that has no home yet. promise() when a program allocates, giveBack() when it frees.
//   cover   for a page whose home may have to be replaced. A page that was merged with another's keeps the slot it freed
//           as cover: who shares still has its promise. settle() gives cover up, cover() gets it back.
// Only pages on a device can be written, and before they go there their owner calls cover(): one for each page there whose
// home is shared, and one more (a page's own home is freed when its replacement is done). So instances of one model cost the
// host one copy while they rest, and one copy more for each that is on a device. `headroom` slots are kept for cover()
// alone: with as many as all devices of the node have granules, cover() is never refused for want of what promise() took,
// and no more than that is ever needed at once; with fewer, more functions fit and cover() may be refused: the caller
// then waits, or evicts and settles another. After a page was unshared for good, less is left: reservable() tells.
//
// Invariant: slots used + open + cover <= slots. Pages of zeros need no slot: the caller knows them. Errors name what was
// asked, what is left and of how much. Pure: it never looks at a page. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "memory/bit_tree.h"
#include "memory/fingerprint.h"
#include "memory/owner_id.h"
#include "schemas/base/result.h"

namespace rouse::memory {

using SlotId = std::uint32_t;

// Equal content has equal fingerprints; the reverse is for the caller to check.
using Fingerprint = PageFingerprint;

class HomeStore {
 public:
  explicit HomeStore(std::uint32_t slots, std::uint32_t headroom = 0);

  // Claims on `count` more slots, or memoryAllocation and nothing.
  Status promise(OwnerId owner, std::uint32_t count);
  // invalidValue when the owner has fewer open claims.
  Status giveBack(OwnerId owner, std::uint32_t count);
  // Raises the owner's cover to `count`; memoryAllocation, and no change, when that cannot be. Never lowers it.
  Status cover(OwnerId owner, std::uint32_t count);
  // Gives up all cover; returns how much it was.
  std::uint32_t settle(OwnerId owner);

  // A private slot, for a page without a home (takes an open claim) or in the place of a home (takes cover). notReady when the
  // owner has no such claim: a mistake of the caller, not want of memory. Slots taken in a row are neighbours where that
  // can be.
  Result<SlotId> acquire(OwnerId owner);
  Result<SlotId> acquireReplacement(OwnerId owner);

  // The content of the owner's private slot is final. If a published slot has the same fingerprint it is returned: the
  // caller compares the pages, and if they are equal calls merge(). If they are not, nothing more is to be done: this
  // one is published, but will not be found (of equal fingerprints, the first is).
  Result<std::optional<SlotId>> publish(OwnerId owner, SlotId slot, Fingerprint fingerprint);
  // The page is found in `into` from now on; `own`, published and the owner's alone, is free, and the owner has one more cover.
  Status merge(OwnerId owner, SlotId own, SlotId into);
  // One more reference to a published slot. Takes and moves no claim.
  Status share(OwnerId owner, SlotId slot);
  // The page is gone: one reference less. If it was the last, the slot is free and the owner has one more open claim.
  Status drop(OwnerId owner, SlotId slot);
  // The page's home was `old` and is now the replacement, which is published (or was merged). As drop(), but a slot that becomes
  // free is cover again.
  Status dropReplaced(OwnerId owner, SlotId old);
  // All references and claims of an owner that has gone. Private slots too.
  void release(OwnerId owner);

  struct Usage {
    std::uint32_t open = 0, cover = 0;
    std::uint32_t pages = 0;   // references, private ones included
    std::uint32_t alone = 0;   // slots that nobody else refers to
    std::uint32_t shared = 0;  // slots that others refer to as well
    // Each slot's bytes divided by its references, times the owner's. Over all owners this adds up to usedBytes().
    double fairBytes = 0;
  };
  Usage usage(OwnerId owner) const;  // looks at each slot of the owner

  std::uint32_t slots() const { return static_cast<std::uint32_t>(slots_.size()); }
  std::uint32_t used() const { return used_; }
  std::uint64_t usedBytes() const;
  std::uint32_t openClaims() const { return open_; }
  std::uint32_t coverClaims() const { return cover_; }
  std::uint64_t pages() const { return pages_; }  // references
  // What promise() and cover() would still grant.
  std::uint32_t promisable() const;
  std::uint32_t coverable() const { return slots() - used_ - open_ - cover_; }
  std::uint32_t references(SlotId slot) const { return slot < slots_.size() ? slots_[slot].references : 0; }

 private:
  struct Slot {
    std::uint32_t references = 0;
    bool published = false;
    bool indexed = false;
    Fingerprint fingerprint;
  };
  struct Account {
    std::uint32_t open = 0, cover = 0;
    SlotId after = 0;  // where to look first for the next one
    std::unordered_map<SlotId, std::uint32_t> references;
  };
  struct Hash {
    std::size_t operator()(const Fingerprint& value) const { return static_cast<std::size_t>(value.low ^ value.high); }
  };

  Account* find(OwnerId owner);
  bool holds(OwnerId owner, SlotId slot) const;
  SlotId take(Account& account);
  Status check(OwnerId owner, SlotId slot, bool published, const char* doing) const;
  bool unreference(Account& account, SlotId slot);  // true: the slot is free now
  void forgetIfEmpty(OwnerId owner);

  std::vector<Slot> slots_;
  BitTree free_;
  std::uint32_t headroom_;
  std::uint32_t used_ = 0, open_ = 0, cover_ = 0;
  std::uint64_t pages_ = 0;
  std::unordered_map<OwnerId, Account> accounts_;
  std::unordered_map<Fingerprint, SlotId, Hash> index_;
};

}  // namespace rouse::memory
