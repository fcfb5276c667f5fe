// Where the memory of one session is: on the device, at home in host memory, or on the way.
//
//   here ── beginLeaving() → leaving ── away ── beginArriving() → arriving ── here
//
// What is on the device and has changed since it came, or never was at home, is saved before its chunk is given up: there
// is no moment at which the only copy of a granule is dropped. What has changed the device tells, or fingerprints of the
// granules do (memory/fingerprint.h).
//
// What is away stays mapped in chunks that are the pool's until somebody needs them (resting.h). So leaving costs what was written,
// whatever else there is, and what comes back is what is no more there.
//
// It comes in groups (swap/group_plan.h), in the order in which it was used before (swap/access_order.h), and work is
// queued meanwhile, each operation behind the groups that it names. What a kernel reaches without naming it is either
// brought on demand (DeviceProperties::arrivesOnDemand), or launches wait for everything, but of kernels that reach nothing else (KernelDescription::reachesOnlyParameters).
//
// Where the device can have it, granules with the same content as other functions' (homes.h) lie in the same chunks (physical_memory.h): who
// comes takes what is there, and only the rest of it comes over the link; what has been found to be equal later is put together then.
// What is written gets a copy at once; soon afterwards a chunk is set aside for it, and there it settles when the session leaves.
//
// Reactor thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "memory/device.h"
#include "memory/extent_map.h"
#include "server/control/session_recipe.h"
#include "server/executor/coming_chunks.h"
#include "server/executor/home_copy.h"
#include "server/executor/homes.h"
#include "server/executor/physical_memory.h"
#include "server/executor/resting.h"
#include "server/executor/store_view.h"
#include "swap/access_order.h"
#include "swap/group_plan.h"

namespace rouse::executor {

class Presence final : private ChunkHolder {
 public:
  enum class Where : std::uint8_t { here, leaving, away, arriving };

  // All outlive it. `extents`: what the session has mapped; its chunks are kNoChunk while they are away. Without homes the session
  // stays for good.
  Presence(memory::OwnerId owner, memory::Device& device, PhysicalMemory& memory, Homes* homes,
           memory::ExtentMap& extents, swap::PlanKind plan = swap::PlanKind::grouped);

  // Promised nothing, as after release().
  void startAnew() { enroll(); }

  Where where() const { return where_; }
  bool here() const { return where_ == Where::here; }
  bool mayLeave() const { return homes_ != nullptr; }

  // A home for `bytes` more, promised or given back. An owner without any keeps what it has on the device.
  Status promise(std::uint64_t bytes);
  void giveBack(std::uint64_t bytes);

  // A granule that is here, and has been unmapped, is not the session's any more: its chunk is on its way to the pool.
  void forget(std::uint64_t address);

  // --- Chunks that others have as well.
  // Some may have been copied: they get chunks of their own. Before anything is unmapped, and else from time to time.
  void noteCopies(memory::Context& context);
  bool mayCopy() const { return mayCopy_; }
  // The granule's home has been found to hold what others hold.
  void meet(std::uint64_t address);
  // Of what is here, or rests, that which lies in chunks that others have as well.
  std::uint64_t sharedChunkBytes() const { return memory_.sharedBytes(owner_); }

  // Whole granules in which the program has no allocation any more, or one again. The former need not be saved: what they hold is
  // undefined. They come back with their own bytes of an earlier time.
  void vacate(AddressRange granules) { setVacant(granules, true); }
  void occupy(AddressRange granules) { setVacant(granules, false); }

  // --- Leaving: the context is idle, and nothing is submitted to it until the session is here or arrives.
  Status beginLeaving(memory::Context& context);
  // True once it is away: the chunks are the pool's, to be had while the context lives.
  Result<bool> leave(memory::Context& context);
  // Of what will rest, or rests: Resting::offer().
  void offer(std::uint64_t bytes) { resting_.offer(bytes); }
  // While it is away: it cannot go on.
  const std::optional<Error>& fault() const { return resting_.fault(); }
  // --- Arriving: the pool has wantedBytes() of chunks, which nobody else takes before all of it is under way.
  void beginArriving(memory::Context& context);
  // Most of what it would have to fetch comes to others just now: if it waits until that is there, it has it without a transfer.
  bool waits();
  // Puts more of it on its way: a bounded part, since others are waiting for their turns. True if there was anything to put.
  Result<bool> bring(memory::Context& context);
  // All of it is on its way, or here. Nothing is submitted to the context before.
  bool underWay() const { return sent_ == groups_ && joined_.empty(); }
  // True once all of it is here.
  bool arrive();
  // --- Between devices (presence_recipe.cc). Away, or here without any memory.
  // Homes stay where they are from describe() to resumed(), if that comes.
  void describe(channel::SessionRecipe&);
  void resumed() { homes_->endMove(owner_); }
  // In the place of nothing: becomes what another was, with homes of its own for it, all promised. Their pages are to be filled before
  // the session comes; then adopted(), with their fingerprints where the device does not notice writes.
  std::vector<HomeCopy::Page> adopt(const channel::SessionRecipe&, const StoreView&);
  void adopted(std::span<const memory::PageFingerprint> prints);

  // Of one that is away and described: what still rests here, and is what its home is, for the other device to read; a piece of at most
  // `most` granules, from this one on. Nobody has any of what rests until takeBack(), also when the context has ended meanwhile.
  struct Lent {
    std::vector<std::pair<std::uint32_t, memory::Chunk>> chunks;  // by granule, ascending
    std::uint32_t next = 0;                                       // where to go on; 0: there is no more
  };
  Lent lend(std::uint32_t from, std::size_t most);
  void takeBack();
  std::uint64_t lentBytes() const { return lentBytes_; }
  // Of one that adopts: this granule can be had from there, too. False: it is none of what is to come.
  bool borrow(std::uint32_t granule, std::unique_ptr<memory::PeerChunk> chunk);
  // What is not under way yet comes from home.
  void stopBorrowing() { homeOnly_ = true; }
  // Something is being read from there, or will be.
  bool borrows();

  // The context is about to end, with whatever is in it or on its way.
  void endStream();
  // It has ended: gives back all chunks and homes, and all promises. What is mapped is for the caller to forget. Before that the homes alone,
  // where something is lent still.
  void release();
  void releaseHomes();

  // --- Work that uses device memory. Called for each operation while attentive(), which is soon after the memory came, to
  // learn the order of use, and for as long as some of it is still on the way.
  bool attentive() const { return attention_ != 0 || where_ == Where::arriving; }
  // True: what an operation may use must be known exactly, not only for the order's sake.
  bool arriving() const { return where_ == Where::arriving; }
  void beginOperation() { attention_ -= attention_ != 0; }
  // The operation, queued on the stream next, uses the range (any of it that is the session's), or may use anything.
  void use(memory::Context& context, memory::Stream& stream, AddressRange range);
  void useEverything(memory::Context& context, memory::Stream& stream);

  // For all of it to be here, while it is away, what rests included; and what has chunks that others cannot have now.
  std::uint64_t wantedBytes() const { return where_ == Where::away ? extents_.backedBytes() : 0; }
  std::uint64_t heldBytes() const { return where_ == Where::away ? 0 : extents_.backedBytes(); }
  std::uint64_t homeBytes() const { return homed_.size() * kGranuleBytes; }
  // Of those, what other granules share, its own or another session's (homes.h).
  std::uint64_t sharedHomeBytes() const { return homes_ == nullptr ? 0 : homes_->sharedBytes(owner_); }
  // By all departures: what had changed, or had no copy at home.
  std::uint64_t savedBytes() const { return savedBytes_; }
  // While it is away, what is still there; and what has been there still, by all arrivals.
  std::uint64_t restingBytes() const { return resting_.leftBytes(); }
  std::uint64_t returnedBytes() const { return returnedBytes_; }
  // By all arrivals: what was there as somebody else's.
  std::uint64_t joinedBytes() const { return joinedBytes_; }
  // By all arrivals: what came from another device rather than from home.
  std::uint64_t peerBytes() const { return peerBytes_; }
  // What came from home.
  std::uint64_t broughtBytes() const { return broughtBytes_; }
  std::uint64_t arrivals() const { return arrivals_; }
  std::uint64_t departures() const { return departures_; }

 private:
  // Operations after an arrival (and at first) whose use of memory is noted.
  static constexpr std::uint32_t kAttention = 20'000;
  // Groups are put on their way until they are this many granules: each may cost two mappings, the one before and its own.
  static constexpr std::uint64_t kGranulesPerTurn = 64;

  struct Home {
    Homes::Slot slot;
    bool current;  // holds what the granule holds or, while that is away, will hold again
    memory::PageFingerprint print;  // of what it holds, where the device does not notice writes
  };
  void enroll();
  memory::Stream& stream(memory::Context& context);
  // What is to be saved, into changed_.
  void findChanges(memory::Context& context);
  void findNew();
  // Its home has older bytes of its own, and the program wants neither.
  bool needless(std::uint64_t address, const Home& home) const {
    return home.slot != Homes::kNone && granule(address) < vacant_.size() && vacant_[granule(address)];
  }
  void setVacant(AddressRange granules, bool vacant);
  Status beginPrints(memory::Context& context);
  void endPrints();
  void saveChanged(memory::Context& context);
  Status endSaving(memory::Context& context);
  // visit(range) for each run of neighbouring granules.
  template <class Visit>
  void forEachRun(Visit&& visit) const;
  std::uint32_t granule(std::uint64_t address) const {
    return static_cast<std::uint32_t>((address - extents_.window().base) / kGranuleBytes);
  }
  // Those that are in a chunk on the device already are there from now on; they leave `wanted`.
  void join(std::vector<std::uint32_t>& wanted);
  void meetLate();
  // Of the arrival, before its next `count` granules are put on their way.
  void prepare(memory::Context& context, std::size_t count);
  // Its chunk holds what its home does.
  void name(std::uint64_t address, const Home& home);
  bool sharing() const { return homes_ != nullptr && device_.properties().copiesOnWrite; }
  // ChunkHolder
  bool letJoin(std::uint64_t address, memory::Chunk chunk) override;
  bool coming(std::uint64_t address) const override;
  void own(std::uint64_t address) override;

  // Waits for the first `groups` of this arrival.
  void awaitGroups(memory::Context& context, memory::Stream& stream, std::uint32_t groups);

  const memory::OwnerId owner_;
  memory::Device& device_;
  PhysicalMemory& memory_;
  Homes* const homes_;
  memory::ExtentMap& extents_;
  const swap::PlanKind plan_;
  std::unordered_map<std::uint64_t, Home> homed_;  // by address
  std::unique_ptr<memory::Stream> stream_;         // for what moves
  std::vector<std::uint64_t> changed_;             // since it came, or never at home: what this departure saves
  std::vector<std::uint64_t> unsaved_;             // changed, and needless when it was last away: not current unless it came since
  std::vector<bool> vacant_;                       // by granule, as far as any was
  std::vector<memory::PageFingerprint> prints_;  // of all granules, ascending, while they are being made
  Where where_ = Where::here;

  // Of granules in chunks that others have as well.
  memory::Context* context_ = nullptr;             // from the first departure or arrival on
  bool mayCopy_ = false;                           // there may have been any
  std::vector<std::uint64_t> joined_;              // have their chunks, and are still to be mapped
  std::unordered_set<std::uint64_t> copied_;       // have been, and no chunk has been set aside for them yet
  std::unordered_set<std::uint64_t> unsettled_;    // one has, and holds nothing yet
  std::vector<std::uint64_t> met_;                 // while it moved
  std::optional<std::vector<memory::ContentId>> awaited_;  // since it was asked whether it waits; those that have come leave it

  swap::AccessOrder order_;
  Resting resting_{owner_, memory_, extents_, order_};
  std::uint32_t attention_;
  // Of the arrival: groups are numbered from 1 in their order, and the first so many have been put on their way.
  swap::TransferPlan coming_;
  ComingChunks chunks_{owner_, memory_, device_.properties().mapsTogether};  // for those that have not
  std::uint32_t sent_ = 0;
  std::vector<std::uint32_t> groupOf_;                  // by granule; 0: not on its way
  std::vector<std::unique_ptr<memory::Event>> events_;  // [group - 1]: it is here
  std::uint32_t groups_ = 0;
  std::unique_ptr<wire::Slot> arrived_;  // groups that have come, of all arrivals together
  std::uint64_t arrivedBefore_ = 0;      // as of the beginning of this one

  // --- Between devices.
  std::uint64_t lentBytes_ = 0;
  bool homesReleased_ = false;
  std::unordered_map<std::uint64_t, std::unique_ptr<memory::PeerChunk>> borrowed_;  // by address
  bool homeOnly_ = false;
  std::uint32_t lastBorrowed_ = 0;  // the last group of this arrival that has any of it

  std::uint64_t savedBytes_ = 0, returnedBytes_ = 0, joinedBytes_ = 0, peerBytes_ = 0, broughtBytes_ = 0, arrivals_ = 0, departures_ = 0;
};

}  // namespace rouse::executor
