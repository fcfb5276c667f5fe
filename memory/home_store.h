// Where the host copies of pages are: who refers to which slot of the pinned arena, and who may still take one.
//
// A slot holds one page (kGranuleBytes). It is private while its content is being written; then it may be published: nobody
// writes it any more, it is found by its fingerprint, and any number of pages of any owners may refer to it. rewrite() gives
// a page that has changed a private slot: another one where others refer to its own (copy on write), else its own.
//
// Claims. Every page that may have to be written back has a claim on a slot: an open one from promise() until it has a home;
// then its home's slot, or, where pages share one, a claim that rests with it. A slot with n references has n - 1 of those,
// and who leaves it takes one along. So write-back never fails and waits for nobody, whatever becomes of pages that were
// equal: what cannot be had is refused when it is promised, before anything is written on a device. It also follows that
// sharing makes used() less and promisable() no more. Equal pages may all be changed at any time; more promises than slots
// would in the end leave an owner on a device that it cannot leave, or at home without room to come.
//
// Readers. hold() keeps a slot's content as it is until letGo(), whatever becomes of the pages: meanwhile it is neither
// rewritten nor given to anybody. Where a slot is wanted then and there is no other, starved() tells, and the reader must
// let go first. A reader that holds few slots, briefly, makes that next to never happen.
//
// Invariants: pages + open claims <= slots; used <= pages. Errors name what was asked, what is left and of how much. Pure: it
// never looks at a page. Not thread-safe.
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
  explicit HomeStore(std::uint32_t slots);

  // Claims on `count` more slots, or memoryAllocation and nothing.
  Status promise(OwnerId owner, std::uint32_t count);
  // invalidValue when the owner has fewer open claims.
  Status giveBack(OwnerId owner, std::uint32_t count);

  // A private slot, for a page without a home: takes an open claim. notReady when the owner has none: a mistake of the
  // caller, not want of memory. Slots taken in a row are neighbours where that can be. Not while starved().
  Result<SlotId> acquire(OwnerId owner);
  // As acquire(), of this slot, which holds the page already; false, and nothing has changed: it is somebody's, or held. notReady as there.
  Result<bool> acquireAt(OwnerId owner, SlotId slot);
  // A private slot in the place of the page's home, which is not the owner's any more if it is another. Not while starved().
  Result<SlotId> rewrite(OwnerId owner, SlotId home);

  // The content of the slot is final. The published slot that has this fingerprint, if that is another: the caller compares
  // the two, and if they are equal calls merge(). If they are not, nothing more is to be done: this one is published, but
  // will not be found (of equal fingerprints, the first is). May be repeated: the other may have gone.
  Result<std::optional<SlotId>> publish(OwnerId owner, SlotId slot, Fingerprint fingerprint);
  // One of the owner's references to `own`, published, becomes one to `into`, its equal.
  Status merge(OwnerId owner, SlotId own, SlotId into);
  // One more reference to a published slot: takes an open claim, which then rests with the slot.
  Status share(OwnerId owner, SlotId slot);
  // The page is gone: one reference less, and one more open claim for the owner.
  Status drop(OwnerId owner, SlotId slot);
  // All references and claims of an owner that has gone. Private slots too.
  void release(OwnerId owner);

  // Of a slot that somebody refers to; as often as it is let go.
  void hold(SlotId slot);
  void letGo(SlotId slot);
  // All slots that nobody refers to are held.
  bool starved() const { return free_.empty() && held_ != 0; }

  struct Usage {
    std::uint32_t open = 0;
    std::uint32_t pages = 0;   // references, private ones included
    std::uint32_t shared = 0;  // those of them to slots to which there are others, of any owner
    // Each slot's bytes divided by its references, times the owner's. Over all owners this adds up to usedBytes().
    double fairBytes = 0;
  };
  Usage usage(OwnerId owner) const;  // looks at each slot of the owner
  // Usage::shared, at once.
  std::uint32_t sharedPages(OwnerId owner) const;

  std::uint32_t slots() const { return static_cast<std::uint32_t>(slots_.size()); }
  std::uint32_t used() const { return used_; }
  std::uint64_t usedBytes() const;
  std::uint32_t openClaims() const { return open_; }
  std::uint32_t pages() const { return pages_; }  // references
  // What promise() would still grant.
  std::uint32_t promisable() const { return slots() - pages_ - open_; }
  std::uint32_t references(SlotId slot) const { return slot < slots_.size() ? slots_[slot].references : 0; }

 private:
  struct Slot {
    std::uint32_t references = 0;
    std::uint32_t holds = 0;
    OwnerId holders = 0;  // of all references, exclusive or: of the only one, its owner
    bool published = false;
    bool indexed = false;
    Fingerprint fingerprint{};
  };
  struct Account {
    std::uint32_t open = 0;
    std::uint32_t shared = 0;
    SlotId after = 0;  // where to look first for the next one
    std::unordered_map<SlotId, std::uint32_t> references;
  };
  struct Hash {
    std::size_t operator()(const Fingerprint& value) const { return static_cast<std::size_t>(value.low ^ value.high); }
  };

  Account* find(OwnerId owner);
  bool holds(OwnerId owner, SlotId slot) const;
  Status check(OwnerId owner, SlotId slot, const char* doing) const;
  SlotId take(OwnerId owner);
  void refer(OwnerId owner, SlotId slot);
  void unrefer(OwnerId owner, SlotId slot);
  void unpublish(SlotId slot);
  void forgetIfEmpty(OwnerId owner);

  std::vector<Slot> slots_;
  BitTree free_;  // neither referred to nor held
  std::uint32_t used_ = 0, pages_ = 0, open_ = 0;
  std::uint64_t held_ = 0;  // holds
  std::unordered_map<OwnerId, Account> accounts_;
  std::unordered_map<Fingerprint, SlotId, Hash> index_;
};

}  // namespace rouse::memory
