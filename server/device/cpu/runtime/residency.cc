#include "server/device/cpu/runtime/residency.h"

#include <algorithm>

namespace rouse::cpu {
namespace {

constexpr std::chrono::milliseconds kSlice{2};
constexpr std::uint64_t kMostAtOnce = 4096;
constexpr std::uint64_t kSharesPerWorker = 16;  // of what nobody has claimed yet
constexpr std::uint64_t kMostOfRow = 8;  // blocks at once: enough to go through memory as it lies, few enough to let others have a turn

}  // namespace

Residency::Residency(Runner& runner, Grid& grid, std::uint32_t workers) : runner_(runner), grid_(grid) {
  // Fibers cost far more than a claim; loops may be shorter than one. Blocks that follow one another find much in a core's own caches, so it claims many of them at first, and fewer towards the end, where all are to be
  // done at the same time (Polychronopoulos, Kuck, "Guided Self-Scheduling", 1987).
  // Blocks that wait for earlier ones count on those being begun.
  shares_ = runsThrough() ? workers * kSharesPerWorker : 0;
}

bool Residency::claimed() {
  if (left_ == 0 && !grid_.stopped()) left_ = grid_.claim(shares_ == 0 ? grid_.blocksPerCluster() : std::clamp<std::uint64_t>(grid_.unclaimed() / shares_, 1, kMostAtOnce), next_);
  return left_ != 0;
}

bool Residency::sliceOver(const std::atomic<std::uint32_t>& others) {
  return others.load(std::memory_order_relaxed) != 0 && Clock::now() >= sliceEnd_;
}

Residency::Progress Residency::run(const std::atomic<std::uint32_t>& others) {
  sliceEnd_ = Clock::now() + kSlice;
  return runsThrough() ? runLoops(others) : runBlocks(others);
}

// How many blocks from the next one on are run at once.
std::uint64_t Residency::ofRow() const {
  if (!grid_.options().code.rows || grid_.options().firstSetsAlong == 0) return 1;
  const std::uint64_t width = grid_.options().grid.x;
  return std::min({left_, width - next_ % width, kMostOfRow});
}

// Asked of blocks that are claimed.
bool Residency::mustWait() {
  waits_ = !grid_.firstsThrough(next_, grid_.options().code.loop != nullptr ? ofRow() : 1);
  return waits_;
}

void Residency::loopBody(Fiber* self) {
  auto& share = *static_cast<Residency*>(self->context.runtime);
  while (share.claimed() && !share.grid_.stopped() && !share.mustWait()) {
    if (!share.loopBlock_->begin(share.grid_, share.next_)) break;
    const std::uint64_t blocks = share.ofRow();
    share.grid_.noteBegun(share.next_, blocks);
    share.loopBlock_->runLoop(static_cast<std::uint32_t>(blocks));
    share.grid_.noteThrough(share.next_, blocks);
    share.next_ += blocks;
    share.left_ -= blocks;
    share.loopsEnded_ += blocks;
    if (share.sliceOver(*share.others_)) break;
  }
  self->detail = 1;
  share.runner_.retire(self, nullptr);
}

Residency::Progress Residency::runLoops(const std::atomic<std::uint32_t>& others) {
  if (loopBlock_ == nullptr) loopBlock_ = runner_.takeBlock();
  others_ = &others;
  Fiber* fiber = nullptr;
  if (claimed()) {
    fiber = runner_.takeFiber(grid_.loopStackBytes(), &Residency::loopBody);
    if (fiber == nullptr) {
      grid_.fail(CudaError::launchOutOfResources, "kernel " + grid_.options().kernel + ": no memory for a stack");
    }
  }
  if (fiber != nullptr) {
    fiber->block = loopBlock_.get();
    fiber->context.runtime = this;
    fiber->detail = 0;
    loopsEnded_ = 0;
    for (Fiber* next = fiber; next != nullptr;) {
      Fault fault;
      runner_.enter(next, fault);
      runner_.flushOutput(grid_);
      if (fault.signal != 0) loopBlock_->failFor(fault, fiber);
      next = grid_.stopped() ? nullptr : runner_.takeFlushRequest();
    }
    (void)runner_.takeFlushRequest();
    if (fiber->detail == 0) runner_.abandon(fiber);
    grid_.endBlocks(loopsEnded_, false);
  }
  if (grid_.stopped()) {
    grid_.endBlocks(left_, false);
    left_ = 0;
  }
  if (claimed()) return waits_ ? Progress::spinning : Progress::more;
  runner_.giveBlock(std::move(loopBlock_));
  return Progress::done;
}

// Of the next block.
bool Residency::joinCluster() {
  if (!grid_.clustered() || cluster_ != nullptr) return true;
  cluster_ = runner_.takeCluster();
  if (cluster_->begin(grid_.blocksPerCluster(), grid_.threadsPerBlock(), grid_.sharedAndReservedBytes(), grid_.options().code.sharedAlignment)) return true;
  grid_.fail(CudaError::launchOutOfResources, "kernel " + grid_.options().kernel + ": no memory for a cluster's shared memory");
  cluster_ = nullptr;
  return false;
}

// Null when there is nothing to claim, or as many blocks as allowed are begun already.
std::unique_ptr<Block> Residency::beginNext() {
  // Who has begun a cluster begins all of it.
  const bool must = spinning_.empty() || left_ % grid_.blocksPerCluster() != 0;
  if (!claimed() || mustWait() || !grid_.beginBlock(must)) return nullptr;
  auto block = runner_.takeBlock();
  const bool begun = joinCluster() && block->begin(grid_, next_, cluster_);
  ++next_;
  --left_;
  if (left_ == 0) cluster_ = nullptr;
  if (begun) return block;
  grid_.endBlocks(1, true);
  runner_.giveBlock(std::move(block));
  return nullptr;
}

Residency::Progress Residency::runBlocks(const std::atomic<std::uint32_t>& others) {
  // First one turn for each block that spun last time, then new ones as long as there are any.
  std::size_t turns = spinning_.size();
  waits_ = false;
  for (;;) {
    std::unique_ptr<Block> block;
    if (turns != 0) {
      block = std::move(spinning_.front());
      spinning_.pop_front();
      --turns;
    } else {
      block = beginNext();
      if (block == nullptr) break;
    }
    grid_.noteBegun(block->index(), 1);
    const Block::Outcome outcome = block->run(spinning_.empty() && left_ == 0);
    grid_.noteThrough(block->index(), 1);
    if (outcome == Block::Outcome::spinning) {
      spinning_.push_back(std::move(block));
    } else {
      grid_.endBlocks(1, true);
      runner_.giveBlock(std::move(block));
      // Its end may be what the others wait for: they come before new ones.
      turns = std::max(turns, spinning_.size());
    }
    if (sliceOver(others)) break;
  }
  if (grid_.stopped()) {
    grid_.endBlocks(left_, false);
    left_ = 0;
    cluster_ = nullptr;
  }
  if (spinning_.empty() && !claimed()) return Progress::done;
  return turns == 0 && (waits_ || !spinning_.empty()) ? Progress::spinning : Progress::more;
}

}  // namespace rouse::cpu
