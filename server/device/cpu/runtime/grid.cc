#include "server/device/cpu/runtime/grid.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "schemas/base/range.h"
#include "server/device/cpu/runtime/stack_pool.h"

namespace rouse::cpu {
namespace {

// What the runtime's own functions need below a kernel's frames (formatting a double takes the most).
constexpr std::size_t kRuntimeStackBytes = std::size_t{24} << 10;
// A frame on this processor is larger than on a GPU: return addresses, saved and spilled registers.
constexpr std::size_t kFrameGrowth = 4;
constexpr std::size_t kParameterAlign = 64;
constexpr std::uint64_t kMostRows = std::uint64_t{1} << 24;  // beyond that nobody waits for the first of a row
// Of a processor's time, which a thread that lost its core does not have: by then the first of a row has set what it sets. It may go on for long, with work that all blocks share.
constexpr std::int64_t kSettingNs = 10'000'000;

std::optional<std::int64_t> timeOf(clockid_t clock) {
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return std::nullopt;
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Blocks that all poll for so long may wait for one that was not begun: programs count on as many as the GPU that they were written for holds. There are none larger
// than that (H100: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
constexpr std::chrono::milliseconds kPatience{50};
constexpr std::uint64_t kMultiprocessors = 132, kMostThreads = 2048, kMostBlocks = 32;

}  // namespace

Grid::Grid(GridOptions options) : options_(std::move(options)) {
  const auto& grid = options_.grid;
  const auto& block = options_.block;
  blocks_ = std::uint64_t{grid.x} * grid.y * grid.z;
  residentLimit_ = options_.residentBlocks;
  threads_ = block.x * block.y * block.z;
  unfinished_ = blocks_;
  if (options_.firstSetsAlong) {
    const std::uint64_t sizes[] = {grid.x, grid.y, grid.z}, strides[] = {1, grid.x, std::uint64_t{grid.x} * grid.y};
    rowLength_ = sizes[*options_.firstSetsAlong];
    rowStride_ = strides[*options_.firstSetsAlong];
    if (const std::uint64_t rows = blocks_ / std::max<std::uint64_t>(rowLength_, 1); rowLength_ > 1 && rows <= kMostRows) through_ = std::vector<std::atomic<bool>>(rows);
  }
  stackBytes_ = StackPool::classFor(options_.code.localBytes + kRuntimeStackBytes +
                                    kFrameGrowth * std::min<std::uint64_t>(options_.stackLimitBytes, kMaxStackBytes));
  storage_.resize(options_.parameters.size() + kParameterAlign);
  auto* aligned =
      reinterpret_cast<std::byte*>(roundUp(reinterpret_cast<std::uint64_t>(storage_.data()), kParameterAlign));
  if (!options_.parameters.empty()) std::memcpy(aligned, options_.parameters.data(), options_.parameters.size());
  parameters_ = aligned;
}

std::uint64_t Grid::claim(std::uint64_t most, std::uint64_t& first) {
  if (!claimable()) return 0;
  first = next_.fetch_add(most, std::memory_order_relaxed);
  if (first >= blocks_) return 0;
  return std::min(most, blocks_ - first);
}

bool Grid::firstsThrough(std::uint64_t first, std::uint64_t count) {
  if (through_.empty()) return true;
  for (std::uint64_t block = first; block < first + count; ++block) {
    const auto [at, row] = inRow(block);
    if (at == 0 || through_[row].load(std::memory_order_acquire)) continue;
    if (!hasHadItsTime(block - at * rowStride_)) return false;
    through_[row].store(true, std::memory_order_relaxed);
  }
  return true;
}

void Grid::noteBegun(std::uint64_t first, std::uint64_t count) {
  if (through_.empty() || !hasFirst(first, count)) return;
  Begun begun{first, count, {}, 0};
  pthread_getcpuclockid(pthread_self(), &begun.clock);
  begun.since = timeOf(begun.clock).value_or(0);
  const std::lock_guard lock(begunMutex_);
  begun_.push_back(begun);
}

void Grid::noteThrough(std::uint64_t first, std::uint64_t count) {
  if (through_.empty() || !hasFirst(first, count)) return;
  for (std::uint64_t block = first; block < first + count; ++block) {
    const auto [at, row] = inRow(block);
    if (at == 0) through_[row].store(true, std::memory_order_release);
  }
  const std::lock_guard lock(begunMutex_);
  std::erase_if(begun_, [first](const Begun& begun) { return begun.first == first; });
}

bool Grid::hasFirst(std::uint64_t first, std::uint64_t count) const {
  for (std::uint64_t block = first; block < first + count; ++block)
    if (inRow(block).at == 0) return true;
  return false;
}

bool Grid::hasHadItsTime(std::uint64_t block) {
  const std::lock_guard lock(begunMutex_);
  return std::any_of(begun_.begin(), begun_.end(), [block](const Begun& begun) {
    if (block - begun.first >= begun.count) return false;
    const auto now = timeOf(begun.clock);
    return now && *now - begun.since > kSettingNs;
  });
}

bool Grid::beginBlock(bool first) {
  const std::uint64_t before = resident_.fetch_add(1, std::memory_order_relaxed);
  if (first || before < residentLimit_.load(std::memory_order_relaxed)) return true;
  resident_.fetch_sub(1, std::memory_order_relaxed);
  mayNeedMore();
  return false;
}

// In loops, where one more takes next to nothing; fibers have a stack for each thread.
void Grid::mayNeedMore() {
  if (options_.code.loop == nullptr || !options_.code.mayPoll || options_.cooperative) return;
  const std::int64_t now = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
  std::int64_t since = refusedSince_.load(std::memory_order_relaxed);
  if (since == 0) {
    refusedSince_.compare_exchange_strong(since, now, std::memory_order_relaxed);
  } else if (now - since > std::chrono::nanoseconds(kPatience).count() && refusedSince_.compare_exchange_strong(since, 0, std::memory_order_relaxed)) {
    const std::uint64_t limit = residentLimit_.load(std::memory_order_relaxed), most = kMultiprocessors * std::min(kMostBlocks, kMostThreads / std::max(threads_, 1u));
    if (limit < most) residentLimit_.store(std::min(2 * limit, most), std::memory_order_relaxed);
  }
}

void Grid::endBlocks(std::uint64_t count, bool begun) {
  if (begun) {
    resident_.fetch_sub(count, std::memory_order_relaxed);
    refusedSince_.store(0, std::memory_order_relaxed);
  }
  unfinished_.fetch_sub(count, std::memory_order_acq_rel);
}

void Grid::endTurn(std::uint64_t& seen) {
  std::uint64_t turns = turns_.load(std::memory_order_relaxed), next = 0;
  do {
    const std::uint64_t round = turns / kTurnsPerRound, count = turns % kTurnsPerRound + 1;
    if (seen == round) return;
    next = count < resident_.load(std::memory_order_relaxed) ? turns + 1 : (round + 1) * kTurnsPerRound;
  } while (!turns_.compare_exchange_weak(turns, next, std::memory_order_relaxed));
  seen = turns / kTurnsPerRound;
}

bool Grid::takeCompletion() {
  return unfinished_.load(std::memory_order_acquire) == 0 && !completed_.exchange(true, std::memory_order_acq_rel);
}

void Grid::fail(CudaError error, std::string message) {
  {
    std::lock_guard lock(failureMutex_);
    if (failure_.code == CudaError::success) failure_ = Error{error, std::move(message)};
  }
  stopped_.store(true, std::memory_order_relaxed);
  // Blocks that nobody has claimed end here.
  const std::uint64_t claimed = std::min(next_.exchange(blocks_, std::memory_order_relaxed), blocks_);
  if (claimed < blocks_) unfinished_.fetch_sub(blocks_ - claimed, std::memory_order_acq_rel);
}

void Grid::failInTheEnd(CudaError error, std::string message) {
  std::lock_guard lock(failureMutex_);
  if (failure_.code == CudaError::success) failure_ = Error{error, std::move(message)};
}

Error Grid::failure() const {
  std::lock_guard lock(failureMutex_);
  return failure_;
}

}  // namespace rouse::cpu
