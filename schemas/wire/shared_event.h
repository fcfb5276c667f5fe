// An event that several processes have: a page of slots, mapped by all of them and by their executors in the place of a page of each session's
// own slots, so that commands name its slots as they name any (layout.h).
//
// Records are numbered from 1, whoever makes them: record n is the value n in slot 1 + n % kRecords of the page. A record begins with a claim,
// which says whose it is; whoever wants the event waits for the latest claim. A slot is claimed again only once what it was claimed for before has been
// signalled: so values grow, and no claim is forgotten before it has been kept. One that its owner cannot keep any more, because its process has ended,
// is kept for it by its executor: nobody waits for ever.
//
// All who have the page may write anything to it: they are one tenant's. Nothing here trusts it beyond that: counters wrap, indexes are bounded.
// Any thread, any process.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "schemas/base/cuda_error.h"
#include "schemas/wire/layout.h"

namespace rouse::wire {

inline constexpr std::uint32_t kSharedEventSlots = kPageBytes / sizeof(Slot);
inline constexpr std::uint32_t kSharedEventPages = kSlotCount / kSharedEventSlots;  // of a session's slots
static_assert(kSlotsOffset % kPageBytes == 0 && kSharedEventSlots * sizeof(Slot) == kPageBytes);

class SharedEvent {
 public:
  static constexpr std::uint64_t kRecords = kSharedEventSlots - 1;

  // kSharedEventSlots of them. Owners are told apart by the low 24 bits of their sessions' numbers.
  explicit SharedEvent(Slot* page) : page_(page) {}

  static std::uint32_t slotOf(std::uint64_t record) { return static_cast<std::uint32_t>(1 + record % kRecords); }

  // The number of a new record. 0: none is to be had before blocking() has been reached.
  std::uint64_t claim(std::uint64_t owner);
  // The latest record; 0: none has been made.
  std::uint64_t latest() const { return number(page_[0].value.load(std::memory_order_acquire)); }
  bool reached(std::uint64_t record) const { return page_[slotOf(record)].value.load(std::memory_order_acquire) >= record; }
  // That the next claim would take the place of; 0: there is none.
  std::uint64_t blocking() const { return displacedBy(latest() + 1); }
  // Every record that has been claimed.
  bool allReached() const;
  // The owner's records that have not been signalled are, with this result. Nothing of it is under way any more.
  void abandon(std::uint64_t owner, CudaError result);

 private:
  static constexpr std::uint64_t kOwnerBits = 24;
  static std::uint64_t number(std::uint64_t claim) { return claim >> kOwnerBits; }
  static std::uint64_t ownerOf(std::uint64_t claim) { return claim & ((1u << kOwnerBits) - 1); }
  static std::uint64_t displacedBy(std::uint64_t record) { return record > kRecords ? record - kRecords : 0; }
  void enter(std::uint64_t claim);

  Slot* page_;
};

}  // namespace rouse::wire
