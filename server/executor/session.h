// One function process on this device: its ring, its context, and everything its commands may name. All state that
// commands are checked against is private to this object; what lies in shared memory is written, never believed.
//
// A session never waits. A command that has to (MemUnmap until the context is idle, say) is parked: the session's ring
// is not read until it is done, and nobody else notices.
//
//   open() → serving → (reject | fail → condemned) → beginClose() → closed()
//
// It can be taken to another device (design: what a session is is virtual): it is frozen here, the same is made of a session that has been
// dormant there, and either of them is resumed while the other is closed.
//
//   serving → freeze() → frozen → resume() → serving       open(dormant) → dormant → import → resume() → serving
//
// Reactor thread only, except the ContextObserver's functions.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "memory/device.h"
#include "memory/extent_map.h"
#include "memory/quota.h"
#include "memory/range_map.h"
#include "schemas/wire/check.h"
#include "schemas/wire/output_ring.h"
#include "schemas/wire/ring_consumer.h"
#include "schemas/wire/segment.h"
#include "server/control/message.h"
#include "server/executor/exports.h"
#include "server/executor/fault_latch.h"
#include "server/executor/graphs.h"
#include "server/executor/handle_table.h"
#include "server/executor/home_copy.h"
#include "server/executor/meter.h"
#include "server/executor/module_loader.h"
#include "server/executor/physical_memory.h"
#include "server/executor/presence.h"
#include "server/executor/progress_listener.h"
#include "server/executor/promises.h"
#include "server/executor/sharer.h"
#include "server/executor/store_view.h"
#include "server/executor/streams.h"

namespace rouse::executor {

// What all sessions of an executor share. Outlives them.
struct Surroundings {
  memory::Device& device;
  PhysicalMemory& memory;
  ProgressListener& progress;
  wire::CommandBuffer& buffer;
  Homes* homes = nullptr;  // null: nobody leaves the device
  // Somebody waits for chunks: nobody takes any that he has not been given.
  bool contended = false;
  swap::PlanKind plan = swap::PlanKind::grouped;
  bool discardLaunches = false;  // check launches, then drop them: measures the path itself
  const StoreView* store = nullptr;  // null: nobody comes from another device
  ModuleLoader* loader = nullptr;    // null: whoever needs another instance of a module waits for it
  Promises* promises = nullptr;      // null: what is promised is decided here
  std::size_t eventPages = 0;        // of all sessions: kMaxEventPagesOfAll
};

inline constexpr unsigned kBurstCommands = 256;
inline constexpr std::uint64_t kBurstBytes = std::uint64_t{128} << 10;
// What its commands may copy and fill, as the device may do that at once, on this thread (a tenth of a millisecond).
inline constexpr std::uint64_t kBurstCopiedBytes = std::uint64_t{1} << 20;

inline constexpr std::size_t kMaxModuleInstances = 16384;
// Each may cost the executor a mapping, of which Linux allows a process 65530 by default (vm.max_map_count).
inline constexpr std::size_t kMaxHostRanges = 4096;
// Allocations of the program that are known as such. Those beyond are not: launches then wait for all that is on its way.
inline constexpr std::size_t kMaxObjects = std::size_t{1} << 18;
// Events of several processes, its own and others': each costs the executor a mapping, and splits another.
inline constexpr std::size_t kMaxEventPages = 1024;
// Of all sessions: half of what mappings Linux allows, and less than half of what descriptors (each exported event is one).
inline constexpr std::size_t kMaxEventPagesOfAll = 16384;

class Session final : public Sharer, private memory::ContextObserver {
 public:
  // Checks everything that came with the request. `fds`: as control.capnp says.
  static Result<std::unique_ptr<Session>> open(const channel::OpenSession&, std::vector<wire::OwnedFd> fds,
                                               Surroundings&);
  ~Session() override;

  // Takes a bounded number of commands: at most kBurstCommands, fewer when they are long or slow. True if anything was
  // done.
  bool poll();

  // The module may be bound from now on.
  void install(std::uint64_t moduleId, std::shared_ptr<memory::Image> image);

  // Set once, when the client broke a rule or the device failed it: nothing is taken from the ring any more, its work
  // is cancelled, and the daemon is to be told.
  const std::optional<Error>& fault() const { return fault_; }

  // Cancels everything. closed() is true once nothing is left but this object; poll() gets it there.
  void beginClose();
  bool closed() const { return stage_ == Stage::closed; }

  // How the ring's producer may rely on us. False: there is something to take.
  bool restNapping();
  bool restSleeping();
  // Waits for the device's threads rather than for its ring.
  bool awaitsProgress() const;
  // Where the program last waited (wire::kNoCore: unknown). Any number at all, if it is hostile.
  std::uint32_t clientCore() const { return ring_.header().producerCore.load(std::memory_order_relaxed) - 1; }
  bool busy() const { return context_ && !context_->idle(); }
  // What it uses as of now is counted so until the next call. Nanoseconds.
  void meter(std::uint64_t now) {
    meter_.set({.busy = busy(), .deviceBytes = presence_.heldBytes(), .homeBytes = presence_.homeBytes()}, now);
  }
  // usage() is to tell what has been used until now.
  void readMeter(std::uint64_t now) { meter_.read(now); }

  // --- Sharing the device's memory (Sharing, sharing.h). All only where there are homes.
  std::uint64_t wantedChunks() const override;
  void admit() override { admitted_ = true; }
  bool admitted() const override { return admitted_; }
  // To give its chunks up as soon as its queued work has ended; until then it reads no more commands.
  void askToLeave() override { leaveAsked_ = true; }
  void letStay() override { leaveAsked_ = false; }
  bool leaveAsked() const override { return leaveAsked_; }
  bool mustLeave() const override { return leaveAsked_ || sentAway_; }
  bool mayLeave() const override;
  bool quiet() const override;
  bool active() override { return tookCommands() || busy(); }
  bool present() const override { return presence_.here(); }
  bool away() const { return presence_.where() == Presence::Where::away; }  // though it may have left some of its memory here
  const Presence& presence() const { return presence_; }
  // Presence's; not of one that is being taken to another device.
  void meet(std::uint64_t address) { presence_.meet(address); }
  std::uint64_t heldChunks() const override { return presence_.heldBytes() / kGranuleBytes; }
  // --- What an operator asks for (Moves, moves.h). Only where there are homes.
  // On the device from now on: it comes if it is away. Its homes stay promised to it, so that unpinning cannot fail.
  // memoryAllocation, and nothing changes, when what others were promised leaves no room for it.
  Status pin();
  void unpin();
  bool pinned() const { return pinned_; }
  // It wants to be here, with or without something to do, until dismissed.
  void summon() { summoned_ = true; }
  void dismiss() { summoned_ = false; }
  // As askToLeave(), whoever waits. Not while it is admitted.
  void sendAway() { sentAway_ = true; }
  void recall() { sentAway_ = false; }
  // Of what rests here once it is away, or rests already: Resting::offer().
  void offer(std::uint64_t bytes) { presence_.offer(bytes); }
  bool serving() const override { return stage_ == Stage::serving; }

  // --- Between devices (session_recipe.cc).
  // Why it has to stay on this device; notPermitted, notSupported or the error of its context.
  Status mayMove() const;
  // What no other device has of it; empty: nothing, or nothing leaves this one.
  std::string ties() const;
  // Nothing of it is on the device, on its way, or under way: it may be frozen.
  bool still();
  // It reads no more commands, and says nothing more to its program, until resume(). still() and mayMove(), both of just now.
  channel::SessionRecipe freeze();
  // Of a dormant session, once: checks all of it, promises included; then homes are being filled until imported(). After an
  // error it can only be closed. Modules have been installed.
  Status beginImport(const channel::SessionRecipe&);
  bool imported();
  // Frozen, or imported: it serves from now on.
  Status resume();
  // Where the two devices can reach each other. Of a frozen session: a piece of its memory that still rests here, for the other to read, from
  // this granule on; empty where nothing does, or others need it. What rests stays until takeBack() or resume(); closed() awaits that.
  struct Shared {
    channel::SharedMemory body;
    std::vector<wire::OwnedFd> fds;
  };
  Result<Shared> share(std::uint32_t from);
  void takeBack() { presence_.takeBack(); }
  std::uint64_t lentChunks() const override { return presence_.lentBytes() / kGranuleBytes; }
  // Of a dormant one, begun to be imported: what the other has shared. In doubt none of it: it comes from home.
  Status borrow(const channel::SharedMemory&, std::vector<wire::OwnedFd> fds);
  void stopBorrowing() { presence_.stopBorrowing(); }
  bool borrows() { return presence_.borrows(); }
  // Frozen or dormant: another executor may be serving it.
  bool between() const { return stage_ == Stage::frozen || stage_ == Stage::dormant; }

  // --- With other processes of its tenant (session_exports.cc).
  // The handle by which the mapped range is to be had: the one that it has been exported by, if it has.
  Result<wire::IpcHandle> exportMemory(const wire::IpcHandle& handle, AddressRange range);
  // An event's memory takes the place of a page of slots, also of the executor's other sessions of the same process.
  Status exportEvent(const wire::IpcHandle& handle, std::uint32_t page, wire::OwnedFd memory);
  // `own`: the event is this device's.
  Status mapEvent(std::uint32_t page, int fd, bool own);
  // True: somebody has it open still.
  bool withdraw(const wire::IpcHandle& handle);
  std::shared_ptr<Export> findExport(const wire::IpcHandle& handle) const;
  bool hasImport(const wire::IpcHandle& handle) const { return imports_.has(handle); }
  // Stays on the device from now on, as if pinned, while anything is shared; memoryAllocation, as pin().
  Status hold();
  bool heldForOthers() const { return held_; }
  // Until it is known whether something will be.
  void awaitImport() { ++awaitedImports_; }
  void endAwaiting() { --awaitedImports_; }
  // The user that `from` counts already is this session from now on; after an error it is not.
  Status addImport(const std::shared_ptr<Export>& from);
  void endImport(const wire::IpcHandle& handle) { imports_.end(handle); }

  bool tookCommands() { return std::exchange(tookCommands_, false); }

  // The executor is going away; the program is told why.
  void declareLost(std::string_view why);
  // What the program is told of the device's free memory.
  void publishMemory();
  channel::SessionUsage usage() const;
  // Of usage(), what was done on this device.
  std::uint64_t commandsHere() const { return consumer_.commands() - commandsElsewhere_; }
  std::uint64_t launchesHere() const { return launches_ - launchesElsewhere_; }
  std::uint64_t id() const override { return id_; }
  std::uint32_t deviceIndex() const { return deviceIndex_; }
  const std::string& name() const { return name_; }
  int wakeFd() const { return wake_.get(); }
  // For a daemon that adopts this executor.
  int hostFd() const { return hostFd_.get(); }
  channel::Held held() const;
  std::vector<std::uint64_t> installed() const;

  // CommandSession: what the decoder asks.
  bool streamLive(wire::Handle handle) const { return streams_->live(handle); }
  bool newStream(wire::Handle handle) const { return streams_->mayCreate(handle); }
  bool moduleLive(wire::Handle handle) const { return modules_.live(handle); }
  bool newModule(wire::Handle handle) const { return modules_.mayInsert(handle); }
  bool rangeMapped(AddressRange range, wire::Access, wire::Where where) const {
    if (where != wire::Where::host && extents_.contains(range.base, range.bytes)) return true;
    if (where != wire::Where::device && hostRanges_.contains(range.base, range.bytes)) return true;
    return where != wire::Where::host && (variableRanges_.contains(range.base, range.bytes) || imports_.contains(range));
  }

  // The commands, in one file a family: stream_, memory_, host_, copy_, module_, slot_, context_, library_, graph_,
  // texture_commands.cc.
  wire::DecodeStatus on(const wire::StreamCreate&);
  wire::DecodeStatus on(const wire::StreamDestroy&);
  void on(const wire::Fence&);
  wire::DecodeStatus on(const wire::MemReserve&);
  wire::DecodeStatus on(const wire::MemReturn&);
  wire::DecodeStatus on(const wire::MemMap&);
  wire::DecodeStatus on(const wire::MemUnmap&);
  wire::DecodeStatus on(const wire::HostMap&);
  wire::DecodeStatus on(const wire::HostUnmap&);
  void on(const wire::Copy&);
  void on(const wire::Copy3D&);
  void on(const wire::CopyInline&, std::span<const std::byte> data);
  wire::DecodeStatus on(const wire::Fill&);
  void on(const wire::Fill3D&);
  wire::DecodeStatus on(const wire::ModuleBind&, std::span<const std::uint64_t> addresses);
  void on(const wire::ModuleUnbind&);
  wire::DecodeStatus on(const wire::VariableAddress&);
  wire::DecodeStatus on(const wire::Launch&, std::span<const std::byte> parameters);
  wire::DecodeStatus on(const wire::TensorMapEncode&, std::span<const std::byte> request);
  void on(const wire::SlotSignal&);
  void on(const wire::SlotWait&);
  void on(const wire::SetLimit&);
  wire::DecodeStatus on(const wire::Allocated&);
  wire::DecodeStatus on(const wire::Freed&);
  void on(const wire::Reset&);
  wire::DecodeStatus on(const wire::LibraryCall&, std::span<const std::byte> parameters);
  wire::DecodeStatus on(const wire::GraphDefine&, std::span<const std::byte> definition);
  wire::DecodeStatus on(const wire::GraphLaunch&, std::span<const std::uint64_t> slots);
  wire::DecodeStatus on(const wire::GraphDestroy&);
  wire::DecodeStatus on(const wire::TextureCreate&, std::span<const std::byte> request);
  wire::DecodeStatus on(const wire::TextureDestroy&);
  void on(const wire::ArrayForget&);

 private:
  struct BoundModule {
    std::uint64_t moduleId = 0;
    std::shared_ptr<memory::Image> image;
    std::unique_ptr<memory::ModuleInstance> instance;  // null: the device could not make it, launches fail
  };

  // Parked commands: all of what is left to do. Each resume() goes on as far as it can without waiting; true: done.
  struct Reserve {
    std::uint64_t bytes, value;
    std::uint32_t slot;
    std::uint64_t question;
  };
  struct Map {
    AddressRange left;
  };
  struct Unmap {
    AddressRange range;
  };
  struct UnmapHost {
    AddressRange range;
    std::uint64_t value;
    std::uint32_t slot;
  };
  struct Bind {
    wire::Handle module;
    std::uint64_t moduleId;
    std::shared_ptr<memory::Image> image;
    std::vector<std::uint64_t> addresses;
    std::shared_ptr<const ModuleLoader::Preparation> preparation{};
  };
  struct Unbind {
    wire::Handle module;
  };
  struct CreateStream {
    wire::Handle stream;
    bool nonBlocking;
    int priority;
  };
  struct StartAnew {
    std::uint64_t value;
    std::uint32_t slot;
  };
  struct CreateTexture {
    wire::TextureRequest request;
    std::uint64_t value;
    std::uint32_t slot;
    std::uint64_t made;  // 0: not yet
  };
  struct EndTexture {
    std::uint64_t object;
  };
  struct EndArray {
    std::uint64_t base;
  };
  struct SetLimits {
    std::vector<channel::SessionRecipe::Limit> left;
  };
  struct Backlog {};
  // A graph's launch, which may have more nodes than a turn should take.
  struct Replay {
    Graphs::Graph* graph;  // the ring is not read meanwhile, so it stays
    std::array<memory::Stream*, wire::kMaxGraphLanes> lanes;  // null: not begun yet
    std::vector<std::uint64_t> slots;
    std::size_t next = 0;
  };
  using Parked = std::variant<std::monostate, Reserve, Map, Unmap, UnmapHost, Bind, Unbind, CreateStream, StartAnew, CreateTexture, EndTexture, EndArray, SetLimits, Backlog, Replay>;

  enum class Stage { dormant, serving, frozen, condemned, closing, closed };

  Session(const channel::OpenSession&, wire::SessionSegment, wire::RingSegment, wire::OwnedFd host, wire::OwnedFd wake,
          Surroundings&);

  // Ends the turn where that was much.
  void noteCopied(std::uint64_t bytes);
  bool parked() const { return parked_.index() != 0 || !limitsLeft_.left.empty(); }
  // Resumes at once; parks what is not done then.
  template <class Command>
  void start(Command command);
  bool resumeParked();
  bool resume(std::monostate) { return true; }
  bool resume(Reserve&);
  bool resume(Map&);
  bool resume(Unmap&);
  bool resume(UnmapHost&);
  bool resume(Bind&);
  bool resume(Unbind&);
  bool prepare(Bind& command, Status& prepared);
  bool resume(CreateStream&);
  bool resume(StartAnew&);
  bool resume(CreateTexture&);
  bool resume(EndTexture&);
  bool resume(EndArray&);
  bool resume(SetLimits&);
  bool resume(Backlog);
  bool resume(Replay&);

  // As MemReserve says; and undone.
  Status reserve(std::uint64_t bytes);
  void unreserve(std::uint64_t bytes);
  // After the objects have changed by this one: Presence is told which granules have any.
  void noteFreed(AddressRange object);
  // Of a session whose accesses are checked: the program may access this from now on.
  Status allow(AddressRange range);
  // session_exports.cc
  bool stays() const { return pinned_ || held_; }
  void letGo();
  bool settleSharing();
  // Memory or events, with other processes.
  bool sharesByIpc() const { return exports_.any() || imports_.any() || !eventPages_.empty(); }
  void abandonEvents();
  bool keepsForOthers();
  bool reduce();
  bool pollWork();
  bool pollElsewhere();
  bool bring();
  // What the next operation on the stream uses: see Presence::use().
  void attend(memory::Stream& stream, AddressRange range) {
    if (!presence_.attentive()) [[likely]]
      return;
    presence_.beginOperation();
    presence_.use(*context_, stream, range);
  }
  void attend(memory::Stream& stream, const BoundModule& module, const memory::KernelDescription& kernel, std::span<const std::byte> parameters);
  void attendAddress(memory::Stream& stream, std::uint64_t address);
  AddressRange reachable(std::uint64_t address, AddressRange object) const;
  void launchNode(const Graphs::Graph& graph, const Graphs::Node& node, memory::Stream& lane, std::span<const std::uint64_t> slots);
  // Its ring is not read, whatever is in it: it is on its way, or waits for memory with a command to do.
  bool elsewhere() const;
  bool readsRing() const;
  Status createContext();
  Status importMemory(const channel::SessionRecipe&);
  Status importModules(const channel::SessionRecipe&);
  Status importContext(const channel::SessionRecipe&);
  void enterVariables(const BoundModule& module);
  void forgetVariables(const BoundModule& module);
  // Cancels what runs; true once the context and all that lived in it are gone and its memory is on its way to the
  // pool.
  bool dismantle();
  void reject(std::string message) { condemn({CudaError::invalidValue, std::move(message)}); }
  void condemn(Error error);
  void awake();

  // ContextObserver, from the device's threads.
  void onFault(CudaError error, std::string_view message) override;
  void onOutput(std::string_view text, bool toStderr) override;
  void onInvalidAccess(std::uint64_t more) override;
  void onProgress() override { surroundings_.progress.onProgress(); }

  const std::uint64_t id_;
  const std::string name_;
  const std::uint32_t deviceIndex_;
  const AddressRange deviceWindow_, hostWindow_;
  const std::uint32_t check_;  // as memory::ContextOptions
  Surroundings& surroundings_;

  wire::SessionSegment segment_;
  wire::RingSegment ring_;
  wire::OwnedFd hostFd_, wake_;
  wire::RingConsumer consumer_;
  wire::ConsumerState declared_ = wire::ConsumerState::polling;
  FaultLatch latch_;
  std::mutex outputMutex_;
  wire::OutputProducer output_;

  Stage stage_;
  // Its program is not to be told anything from here: another executor may be serving it. Never taken back but by resume().
  std::atomic<bool> mute_;
  std::optional<Error> fault_;
  Parked parked_;
  bool dismantling_ = false;
  bool turnOver_ = false;  // something that takes long has been done: let the neighbours go on
  std::uint64_t copied_ = 0;  // in this turn
  // A Fence has come and the context has not been idle since: memory that the client uses again may still be in use.
  bool fenced_ = false;

  memory::Quota quota_;
  memory::ExtentMap extents_;
  Presence presence_;
  bool leaveAsked_ = false;
  bool sentAway_ = false;  // by an operator
  bool summoned_ = false, pinned_ = false;
  bool admitted_ = false;
  bool tookCommands_ = false;
  std::uint64_t savedBefore_ = 0, lastSaved_ = 0;  // all bytes saved when it last began to leave, and how many were then
  std::chrono::steady_clock::time_point leavesAt_;  // when it last began to
  std::chrono::nanoseconds lastDeparture_{0};       // what that took, saving included
  memory::RangeMap hostRanges_;
  memory::RangeMap objects_;  // the program's allocations, kMaxObjects of them
  memory::RangeMap hostObjects_;  // likewise in the host window, where accesses are checked
  bool allObjectsKnown_ = true;
  memory::RangeMap variableRanges_;  // of bound modules, where the device places them
  std::unordered_map<std::uint64_t, std::shared_ptr<memory::Image>> installed_;
  std::size_t textures_ = 0;  // that the device's driver has made
  std::size_t endedTextures_ = 0;  // of them, since work was last waited for because of that
  std::uint64_t launches_ = 0;
  Meter meter_;
  std::uint64_t commandsElsewhere_ = 0, launchesElsewhere_ = 0;
  std::vector<channel::SessionRecipe::Limit> limits_;  // as they have been set
  SetLimits limitsLeft_;                               // of an imported session: before everything else

  // In this order: streams and instances end before their context.
  std::unique_ptr<memory::Context> context_;
  std::unique_ptr<Streams> streams_;
  std::unique_ptr<Graphs> graphs_;
  HandleTable<BoundModule> modules_;

  Exports exports_;
  Imports imports_;
  std::map<std::uint32_t, bool> eventPages_;  // whether the event is this device's
  unsigned awaitedImports_ = 0;
  bool held_ = false;
  bool reduced_ = false;  // to what others have

  std::unique_ptr<HomeCopy> copy_;  // of an import; ends before the homes are given back
  bool imported_ = false;
};

template <class Command>
void Session::start(Command command) {
  turnOver_ = true;
  if (!resume(command)) parked_ = std::move(command);
}

}  // namespace rouse::executor
