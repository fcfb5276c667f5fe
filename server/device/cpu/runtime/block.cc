#include "server/device/cpu/runtime/block.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace rouse::cpu {
namespace {

constexpr std::uint32_t kYieldsPerSwitch = 8;     // a loop that yields is not always one that spins
constexpr std::uint32_t kSpinsPerThread = 4;      // rounds of all spinning threads before other blocks get a turn
constexpr std::uint32_t kYieldsPerTurn = 16;      // of each thread, though others become runnable: threads that poll together meet in each round
constexpr std::uint32_t kRoundsPerTurn = 4;       // of a loop in which threads only poll: the other block may be another worker's
constexpr std::uint32_t kRoundsAlone = 64;        // where this worker has no other: what looks like polling may be a walk along a list
// How long, and for how many turns of each block, since workers may have to wait for processors, nothing but polling goes on in the whole grid before lanes that step no longer wait for mates that
// poll; and at most without a thread that ends, since rounds of polling may step as well.
constexpr std::chrono::milliseconds kPatience{200}, kMostPatience{10'000};
constexpr std::uint64_t kPatienceRounds = 4;
constexpr std::uint32_t kTurnsPerFairness = 256;  // switches between turns of those that come last

}  // namespace

bool Block::begin(Grid& grid, std::uint64_t index, std::shared_ptr<Cluster> cluster) {
  grid_ = &grid;
  cluster_ = std::move(cluster);
  const GridOptions& options = grid.options();
  index_ = index;
  takePlace(index);
  context_.threads = grid.threadsPerBlock();
  context_.ntid[0] = options.block.x;
  context_.ntid[1] = options.block.y;
  context_.ntid[2] = options.block.z;
  context_.nctaid[0] = options.grid.x;
  context_.nctaid[1] = options.grid.y;
  context_.nctaid[2] = options.grid.z;
  context_.sharedBytes = grid.sharedBytes();
  const std::uint32_t reserved = options.code.reservedSharedBytes;
  const std::uint32_t reservedAt = reservedSharedOffset(grid.sharedBytes());
  context_.shared = cluster_ != nullptr ? cluster_->shared() : shared_.prepare(grid.sharedAndReservedBytes(), options.code.sharedAlignment);
  if (reserved != 0 && context_.shared != nullptr) std::memset(context_.shared + (cluster_ != nullptr ? context_.clusterShared : 0) + reservedAt, 0, reserved);
  context_.variables = options.variables;
  context_.dynamicSharedBytes = options.dynamicSharedBytes;
  context_.misaligned = 0;
  context_.gridId = options.gridId;
  context_.gridWorkspace = grid.workspace();
  context_.runtime = this;
  if (options.check != nullptr) {
    if (checkedRanges_ == nullptr) checkedRanges_ = std::make_unique<CheckedRange[]>(kCheckedRanges);
    std::fill_n(checkedRanges_.get(), kCheckedRanges, CheckedRange{});
    context_.checked = checkedRanges_.get();
  }
  if (context_.shared == nullptr) {
    grid.fail(CudaError::launchOutOfResources, where(nullptr) + "no memory for shared memory");
    return false;
  }

  ready_.clear();
  yielded_.clear();
  going_.clear();
  stepping_ = 0;
  held_ = false;
  arrives_ = false;
  progressed_ = ended_ = false;
  roundSeen_ = ~std::uint64_t{0};
  progressSeen_ = grid.progress();
  endsSeen_ = grid.ends();
  heldSince_ = {};
  activemasks_.clear();
  atCluster_.clear();
  begun_ = 0;
  live_ = context_.threads;
  spins_ = 0;
  barriers_.reset();
  if (options.code.loop == nullptr) {
    const std::uint32_t warps = (live_ + kWarpLanes - 1) / kWarpLanes;
    if (warps_.size() < warps) warps_.resize(warps);
    for (std::uint32_t warp = 0; warp < warps; ++warp) warps_[warp].reset(live_ - warp * kWarpLanes);
    if (fibers_.size() < live_) fibers_.resize(live_);
  }
  return true;
}

void Block::runLoop(std::uint32_t blocks) {
  context_.blocks = blocks;
  enterKernelCode();
  grid_->options().code.loop(&context_, grid_->parameters());
  runner_.leaveKernelCode();
  if ((context_.misaligned & kStuck) != 0) {
    runner_.scratch() = "deadlock: all threads wait at a barrier object (mbarrier) for which nobody is left to arrive";
    fail(nullptr, CudaError::launchFailure);
  } else if (context_.misaligned != 0) {
    runner_.scratch() = "misaligned access";
    fail(nullptr, CudaError::misalignedAddress);
  }
}

void Block::loopBody(Fiber* self) {
  Block& block = *self->block;
  block.runLoop(1);
  self->result = 1;
  block.runner_.retire(self, nullptr);
}

// A loop that has to be left in the middle, when others are to run.
Block::Outcome Block::runPolling(bool alone) {
  rounds_ = alone ? kRoundsAlone : kRoundsPerTurn;
  if (loop_ == nullptr) {
    loop_ = runner_.takeFiber(grid_->loopStackBytes(), &Block::loopBody);
    if (loop_ == nullptr) {
      grid_->fail(CudaError::launchOutOfResources, "kernel " + grid_->options().kernel + ": no memory for a stack");
      return Outcome::failed;
    }
    loop_->block = this;
    loop_->result = 0;
  }
  for (Fiber* next = loop_; next != nullptr && !grid_->stopped();) {
    Fault fault;
    runner_.enter(next, fault);
    runner_.flushOutput(*grid_);
    if (fault.signal != 0) failFor(fault, loop_);
    next = runner_.takeFlushRequest();
  }
  (void)runner_.takeFlushRequest();
  const bool ended = loop_->result != 0;
  if (!ended && !grid_->stopped()) return Outcome::spinning;
  if (!ended) runner_.abandon(loop_);
  loop_ = nullptr;
  return ended ? Outcome::finished : Outcome::failed;
}

Block::Outcome Block::run(bool alone) {
  if (grid_->options().code.loop != nullptr) return runPolling(alone);
  spins_ = 0;
  yields_ = 0;
  if (held_) judgePatience();
  bool ran = false;
  const auto endTurn = [&](Outcome outcome, bool waits = false) {
    if (cluster_ != nullptr && !waits) (void)cluster_->endTurn(true);
    if (std::exchange(progressed_, false)) grid_->noteProgress();
    if (std::exchange(ended_, false)) grid_->noteEnds();
    grid_->endTurn(roundSeen_);
    if (ready_.empty()) settle();
    return outcome;
  };
  while (live_ != 0) {
    if (grid_->stopped()) {
      abandonThreads();
      return Outcome::failed;
    }
    Fiber* next = runner_.takeFlushRequest();
    if (next == nullptr) next = pick();
    if (next == nullptr && turnOver()) return endTurn(Outcome::spinning);
    if (next == nullptr && begun_ < context_.threads) {
      grid_->fail(CudaError::launchOutOfResources, where(nullptr) + "no memory for the threads' stacks");
      continue;
    }
    if (next == nullptr) {
      if (resolveActivemasks() || giveUpMeetings()) continue;
      if (!yielded_.empty()) return endTurn(Outcome::spinning);
      if (stepping_ != 0) {
        for (Warp& warp : warps_) stepping_ -= warp.letAllStep(going_);
        continue;
      }
      if (!atCluster_.empty() && cluster_->endTurn(ran)) return endTurn(Outcome::spinning, true);
      failDeadlocked();
      continue;
    }
    ran = true;
    Fault fault;
    runner_.enter(next, fault);
    runner_.flushOutput(*grid_);
    if (Fiber* const ended = std::exchange(ending_, nullptr)) reportInvalid(ended);
    if (fault.signal != 0) {
      failFor(fault, runner_.faulted());
      abandonThreads();
      return Outcome::failed;
    }
  }
  return endTurn(Outcome::finished);
}

// A warp's lanes are together again behind a loop that they left one after the other, so what they step through there waits for those that still poll. Unless
// those poll for what a lane of their own warp does then, which threads of their own may (PTX ISA, "Independent Thread Scheduling").
void Block::judgePatience() {
  const auto now = std::chrono::steady_clock::now();
  const std::uint64_t rounds = grid_->rounds(), ends = grid_->ends(), progress = grid_->progress();
  const bool begins = heldSince_ == std::chrono::steady_clock::time_point{};
  if (begins || ends != endsSeen_) {
    endsSeen_ = ends;
    heldSince_ = now;
  }
  if (begins || progress != progressSeen_) {
    progressSeen_ = progress;
    progressTime_ = now;
    progressRound_ = rounds;
  }
  if ((now - progressTime_ >= kPatience && rounds - progressRound_ >= kPatienceRounds) || now - heldSince_ >= kMostPatience) grid_->stopHolding();
}

void Block::goesOn(Fiber* fiber) {
  if (!fiber->polls) return;
  fiber->polls = false;
  Warp& warp = warps_[fiber->context.warp];
  warp.lanePolls(false);
  if (!warp.anyPolls() && warp.anySteps()) heldSince_ = {};
}

// One round: of each warp those whose turn it is, which then go on to where they step next.
void Block::letStep() {
  const bool holds = grid_->holds();
  const std::uint32_t warps = (context_.threads + kWarpLanes - 1) / kWarpLanes;
  held_ = false;
  for (std::uint32_t index = 0; index < warps && stepping_ != 0; ++index) {
    Warp& warp = warps_[index];
    if (!warp.anySteps()) continue;
    stepping_ -= warp.letStep(holds, going_);
    held_ |= holds && warp.anyPolls() && warp.anySteps();
  }
}

bool Block::turnOver() const { return yields_ >= kYieldsPerTurn * live_ && live_ != 0; }

Fiber* Block::pick() {
  if (cluster_ != nullptr) wakeAtCluster();
  if (turnOver()) return nullptr;
  ++turns_;
  if (turns_ % kTurnsPerFairness == 0) {
    if (begun_ < context_.threads) return beginThread();
    if (Fiber* const fiber = takeYielded()) return fiber;
  }
  if (!ready_.empty()) {
    spins_ = 0;
    return ready_.pop();
  }
  if (begun_ < context_.threads) return beginThread();
  if (going_.empty() && stepping_ != 0) letStep();
  if (!going_.empty()) return going_.pop();
  return spins_ < kSpinsPerThread * (yielded_.size() + 1) ? takeYielded() : nullptr;
}

// Whether a place that it watches holds another value.
static ROUSE_UNINSTRUMENTED __attribute__((no_sanitize("address", "thread"))) bool hasChanged(const Fiber& fiber) {
  const auto now = [](const Watched& place) -> std::uint64_t {
    switch (place.bytes) {
      case 1:
        return __atomic_load_n(static_cast<const std::uint8_t*>(place.at), __ATOMIC_RELAXED);
      case 2:
        return __atomic_load_n(static_cast<const std::uint16_t*>(place.at), __ATOMIC_RELAXED);
      case 4:
        return __atomic_load_n(static_cast<const std::uint32_t*>(place.at), __ATOMIC_RELAXED);
      default:
        return __atomic_load_n(static_cast<const std::uint64_t*>(place.at), __ATOMIC_RELAXED);
    }
  };
  for (std::uint32_t k = 0; k < fiber.watching; ++k)
    if (now(fiber.watched[k]) != fiber.watched[k].value) return true;
  return false;
}

// Looks for it. In vain: it has looked. Otherwise it is still to look itself.
bool Block::seesChange(Fiber* fiber) {
  if (!fiber->looks) return hasChanged(*fiber);
  const std::uint32_t entered = grid_->polls().enter();
  const bool changed = hasChanged(*fiber);
  grid_->polls().leave(changed ? entered : std::exchange(fiber->entered, entered));
  return changed;
}

// The next of those that poll; of those that watch one for which something has changed, or null. On a fiber's stack only: if a place is there no more, a kernel has ended in a fault, and the
// worker's own stack is no kernel's. There whoever is next looks itself.
Fiber* Block::takeYielded() {
  const bool mayLook = runner_.current() != nullptr;
  for (std::uint32_t left = yielded_.size(); left != 0; --left) {
    Fiber* const fiber = yielded_.pop();
    if (fiber->watching == 0 || !mayLook || seesChange(fiber)) {
      fiber->watching = 0;
      return fiber;
    }
    yielded_.push(fiber);
  }
  // Nor will it before somebody else has had a turn.
  spins_ = kSpinsPerThread * (yielded_.size() + 1);
  return nullptr;
}

Fiber* Block::beginThread() {
  Fiber* fiber = runner_.takeFiber(grid_->stackBytes(), &Block::threadBody);
  if (fiber != nullptr) place(fiber, begun_++);
  return fiber;
}

void Block::place(Fiber* fiber, std::uint32_t linear) {
  fiber->block = this;
  fiber->yields = 0;
  fiber->polls = fiber->stepped = fiber->yielded = false;
  fiber->looks = fiber->looksNow = fiber->hasChanged = fiber->arrivedInCluster = false;
  ThreadContext& thread = fiber->context;
  thread.tid[0] = linear % context_.ntid[0];
  thread.tid[1] = linear / context_.ntid[0] % context_.ntid[1];
  thread.tid[2] = linear / context_.ntid[0] / context_.ntid[1];
  thread.lane = linear % kWarpLanes;
  thread.warp = linear / kWarpLanes;
  thread.linear = linear;
  thread.misaligned = 0;
  thread.block = &context_;
  thread.runtime = fiber;
  thread.frames = nullptr;
  thread.place = 0;
  thread.placeUnit = kPlaceUnit;
  fibers_[linear] = fiber;
}

void Block::threadBody(Fiber* self) {
  for (;;) {
    Block& block = *self->block;
    Grid& grid = *block.grid_;
    block.enterKernelCode();
    grid.options().code.entry(&self->context, grid.parameters());
    block.runner_.leaveKernelCode();
    if (self->context.misaligned != 0) {
      block.runner_.scratch() = "misaligned access";
      block.fail(&self->context, CudaError::misalignedAddress);
    }
    block.threadEnded(self);
    if (!block.ready_.empty() || block.begun_ == block.context_.threads || grid.stopped()) {
      block.runner_.retire(self, grid.stopped() || block.live_ == 0 ? nullptr : block.pick());
      return;
    }
    block.place(self, block.begun_++);
  }
}

void Block::threadEnded(Fiber* self) {
  progressed_ = ended_ = true;
  goesOn(self);
  if (self->looks) pollEnd(self);
  fibers_[self->context.linear] = nullptr;
  --live_;
  warps_[self->context.warp].laneExited(self->context.lane, ready_);
  barriers_.threadExited(live_, ready_);
  if (cluster_ != nullptr) cluster_->threadExited();
}

void Block::suspend(Fiber* self) {
  Fiber* next = grid_->stopped() ? nullptr : pick();
  if (next != self) runner_.leave(self, next);
  self->wait = Wait::none;
}

void Block::barrier(Fiber* self, std::uint32_t id, std::uint32_t count) {
  goesOn(self);
  if (!barriers_.arriveAndWait(self, id, count, live_, ready_)) suspend(self);
}

void Block::barrierArrive(std::uint32_t id, std::uint32_t count) { barriers_.arrive(id, count, live_, ready_); }

std::uint64_t Block::barrierReduce(Fiber* self, std::uint32_t id, std::uint32_t count, std::uint32_t op,
                                   bool predicate) {
  goesOn(self);
  if (!barriers_.reduce(self, id, count, live_, op, predicate, ready_)) suspend(self);
  return self->result;
}

std::uint64_t Block::meet(Fiber* self, WarpOperation operation, std::uint32_t mask, const LaneOperands& operands) {
  goesOn(self);
  if (!warps_[self->context.warp].meet(self, operation, mask, operands, ready_)) suspend(self);
  return self->result;
}

void Block::yield(Fiber* self) {
  self->yielded = true;
  if (++self->yields % kYieldsPerSwitch != 0) {
    __builtin_ia32_pause();
    return;
  }
  yieldNow(self);
}

void Block::yieldWhile(Fiber* self, const Watched* watched, std::uint32_t count) {
  self->yielded = true;
  self->watching = static_cast<std::uint8_t>(count);
  std::copy_n(watched, count, self->watched);
  yieldNow(self);
}

void Block::yieldNow(Fiber* self) {
  ++spins_;
  ++yields_;
  // Who steps in each round (histograms by tagged words) goes with the others.
  const bool onlyPolls = !std::exchange(self->stepped, false);
  Warp& warp = warps_[self->context.warp];
  if (!self->polls && onlyPolls) {
    self->polls = true;
    warp.lanePolls(true);
  }
  self->wait = Wait::yielded;
  yielded_.push(self);
  if (!onlyPolls) warp.laneIsBehind(true);
  hasLooked(self);
  suspend(self);
  if (self->looks) {
    self->looksNow = true;
    self->enteredBefore = std::exchange(self->entered, grid_->polls().enter());
  }
  if (!onlyPolls) warp.laneIsBehind(false);
}

void Block::pollBegin(Fiber* self) {
  if (self->looks) return;
  self->looks = true;
  self->entered = grid_->polls().enter();
}

void Block::pollEnd(Fiber* self) {
  if (!self->looks) return;
  hasLooked(self);
  self->looks = false;
  grid_->polls().leave(self->entered);
  changeEnd(self);  // what has let it go may let others go
}

void Block::hasLooked(Fiber* self) {
  if (std::exchange(self->looksNow, false)) grid_->polls().leave(self->enteredBefore);
}

// From a change until all of the block's threads have come as far as they can, each counted by itself where it polls: whoever is let go elsewhere meanwhile changes nothing before they have looked for
// the first time; nor before the last of them has set the place back, where all do.
void Block::arrive() {
  if (!std::exchange(arrives_, true)) arrived_ = grid_->polls().enter();
}

void Block::settle() {
  if (std::exchange(arrives_, false)) grid_->polls().leave(arrived_);
}

void Block::changeBegin(Fiber* self, bool isStore) {
  if (self->hasChanged && !isStore) {
    settle();
    while (!grid_->polls().isOver(self->changedAt)) yieldNow(self);
  }
  arrive();
}

void Block::changeEnd(Fiber* self) {
  self->hasChanged = true;
  self->changedAt = grid_->polls().begin();
}

void Block::letOthers() {
  __builtin_ia32_pause();
  if (--rounds_ != 0) return;
  runner_.leave(runner_.current(), nullptr);
}

std::byte* Block::frames(std::size_t bytes) { return grid_->options().code.mayPoll ? frames_.take(bytes) : runner_.frames().take(bytes); }

void Block::step(Fiber* self, std::uint64_t place) {
  if (!self->polls) progressed_ = true;
  self->stepped = true;
  goesOn(self);
  waitForStep(self, place, false);
}

// A round of polling in which there is a fence polls all the same.
void Block::fenceStep(Fiber* self, std::uint64_t place) {
  if (!warps_[self->context.warp].anyPolls()) waitForStep(self, place, true);
}

// Behind all that can run otherwise.
void Block::waitForStep(Fiber* self, std::uint64_t place, bool soft) {
  warps_[self->context.warp].step(self, place, soft);
  ++stepping_;
  self->yielded = false;
  self->wait = Wait::step;
  suspend(self);
}

std::uint32_t Block::activemask(Fiber* self, const void* site) {
  goesOn(self);
  self->result = reinterpret_cast<std::uint64_t>(site);
  self->wait = Wait::activemask;
  activemasks_.push(self);
  suspend(self);
  return static_cast<std::uint32_t>(self->result);
}

// Every lane has run as far as it can: those that stand at the same place in the program are the active ones there. Mates that poll may be on their way to it, since what looks like polling may be
// a walk along a list; or they poll for what these do next.
bool Block::resolveActivemasks() {
  if (activemasks_.empty()) return false;
  std::uint32_t asking = 0, held = 0;  // warps
  for (const Fiber* fiber = activemasks_.front(); fiber != nullptr; fiber = fiber->next) asking |= std::uint32_t{1} << fiber->context.warp;
  for (const Fiber* fiber = yielded_.front(); fiber != nullptr; fiber = fiber->next) held |= asking & std::uint32_t{1} << fiber->context.warp;
  for (std::uint32_t left = asking; left != 0; left &= left - 1) {
    const int warp = std::countr_zero(left);
    if (!warps_[warp].activemaskWaits((held >> warp & 1) != 0)) held &= ~(std::uint32_t{1} << warp);
  }
  if (held == asking) return false;

  FiberQueue waiting;
  std::swap(waiting, activemasks_);
  while (!waiting.empty()) {
    Fiber* const fiber = waiting.pop();
    if ((held >> fiber->context.warp & 1) != 0) {
      activemasks_.push(fiber);
      continue;
    }
    if (fiber->wait == Wait::activemask) {
      const auto stands = [&, site = fiber->result](const Fiber* other) {
        return other->wait == Wait::activemask && other->result == site && other->context.warp == fiber->context.warp;
      };
      std::uint32_t mask = std::uint32_t{1} << fiber->context.lane;
      for (const Fiber* other = waiting.front(); other != nullptr; other = other->next) mask |= stands(other) ? std::uint32_t{1} << other->context.lane : 0;
      for (Fiber* other = waiting.front(); other != nullptr; other = other->next) {
        if (!stands(other)) continue;
        other->wait = Wait::none;
        other->result = mask;
      }
      fiber->wait = Wait::none;
      fiber->result = mask;
    }
    ready_.push(fiber);
  }
  return true;
}

// Lanes that a mask names and that wait elsewhere do not come.
bool Block::giveUpMeetings() {
  bool any = false;
  const std::uint32_t warps = (context_.threads + kWarpLanes - 1) / kWarpLanes;
  for (std::uint32_t warp = 0; warp < warps; ++warp) any |= warps_[warp].endOutside(ready_);
  if (any || !yielded_.empty() || !atCluster_.empty()) return any;  // whom the others wait for, or let go on
  for (std::uint32_t warp = 0; warp < warps; ++warp) any |= warps_[warp].giveUp(ready_);
  return any;
}

void Block::abandonThreads() {
  for (std::uint32_t thread = 0; thread < begun_; ++thread) {
    if (fibers_[thread] == nullptr) continue;
    runner_.abandon(fibers_[thread]);
    fibers_[thread] = nullptr;
  }
  live_ = 0;
}

}  // namespace rouse::cpu
