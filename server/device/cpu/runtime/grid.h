// One launch, shared by the workers that run its blocks.
#pragma once

#include <algorithm>
#include <atomic>
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memory/device.h"
#include "schemas/base/cluster.h"
#include "server/device/cpu/abi.h"
#include "server/device/cpu/runtime/access_check.h"
#include "server/device/cpu/runtime/device_heap.h"
#include "server/device/cpu/runtime/grace_periods.h"

namespace rouse::cpu {

// Where kernels' text goes. Called from workers, on their own stacks.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  virtual void onOutput(std::string_view text, bool toStderr) = 0;
};

struct GridOptions {
  std::string kernel;  // name, for messages
  KernelCode code;
  memory::Dim3 grid, block;
  ClusterShape cluster;  // of code for clusters (Code::clustered); none else
  std::uint32_t dynamicSharedBytes = 0;
  std::uint64_t stackLimitBytes = 1024;  // cudaLimitStackSize
  std::uint64_t gridId = 0;
  bool cooperative = false;
  std::uint64_t residentBlocks =
      1;  // at most so many blocks begun and not ended at once, and at least one for each worker
  // Along which of x, y and z (0 to 2) a block is begun only when the first of its row has ended, or waits for others, or has had the time for that: the first may set what all of the row combine with (ptx::CallGraph::firstSetsAlong). CUDA
  // leaves open which of them comes first; a GPU begins blocks in order, and the first is through with it long before another has what to add.
  std::optional<std::uint8_t> firstSetsAlong;
  std::vector<std::byte> parameters;
  const std::uint64_t* variables = nullptr;
  DeviceHeap* heap = nullptr;
  OutputSink* output = nullptr;
  std::shared_ptr<const LaunchCheck> check;  // of checked code; null: it is not
};

class Grid {
 public:
  explicit Grid(GridOptions options);

  const GridOptions& options() const { return options_; }
  const std::byte* parameters() const { return parameters_; }
  // BlockContext::gridWorkspace
  std::uint64_t workspace() const { return options_.cooperative ? reinterpret_cast<std::uint64_t>(&workspace_) : 0; }
  std::uint64_t blocks() const { return blocks_; }
  std::uint32_t threadsPerBlock() const { return threads_; }
  std::size_t stackBytes() const { return stackBytes_; }  // of a thread; 0: more than any has
  // Of what runs all threads of a block. Side by side they keep all their registers in one frame: 6000 values (codegen/lanes.cc) of 64 bits, of 32 lanes.
  // Taken only as far as it is used.
  std::size_t loopStackBytes() const { return stackBytes_ == 0 ? 0 : std::max(stackBytes_, std::size_t{2} << 20); }
  // Whether blocks run together with the others of their cluster.
  bool clustered() const { return !options_.cluster.none(); }
  std::uint32_t blocksPerCluster() const { return clustered() ? static_cast<std::uint32_t>(options_.cluster.blocks()) : 1; }
  std::uint32_t sharedAndReservedBytes() const {
    const std::uint32_t reserved = options_.code.reservedSharedBytes;
    return reserved == 0 ? sharedBytes() : reservedSharedOffset(sharedBytes()) + reserved;
  }
  std::uint32_t sharedBytes() const { return options_.code.staticSharedBytes + options_.dynamicSharedBytes; }

  // Claims up to `most` blocks in a row, in grid order, or by clusters: the first's index, and how many; none once all are claimed.
  std::uint64_t claim(std::uint64_t most, std::uint64_t& first);
  std::uint64_t unclaimed() const { return blocks_ - std::min(next_.load(std::memory_order_relaxed), blocks_); }
  bool claimable() const { return next_.load(std::memory_order_relaxed) < blocks_; }
  // Whether the first ones of the rows of `count` blocks in a row have been through (GridOptions::firstSetsAlong). They are before them in grid order, so who runs blocks in that order comes to an end.
  bool firstsThrough(std::uint64_t first, std::uint64_t count);
  // Of such ones among `count` blocks in a row: the calling thread goes on with them; each has ended, or waits for others.
  void noteBegun(std::uint64_t first, std::uint64_t count);
  void noteThrough(std::uint64_t first, std::uint64_t count);
  // Blocks begun and not ended. beginBlock fails at the limit unless `first`, the worker's only one.
  bool beginBlock(bool first);
  void endBlocks(std::uint64_t count, bool begun);
  // True for exactly one caller, once every block has ended: that one completes the launch. Asked by a worker after it
  // ended blocks or found nothing to claim.
  bool takeCompletion();

  // Threads of some block have done something else than poll; how often that was said.
  void noteProgress() { progress_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t progress() const { return progress_.load(std::memory_order_relaxed); }
  // The same, for threads that have ended.
  void noteEnds() { ends_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t ends() const { return ends_.load(std::memory_order_relaxed); }
  // A block's turn is over. A round is one turn of each that was begun and has not ended, about; `seen` is the block's own.
  void endTurn(std::uint64_t& seen);
  std::uint64_t rounds() const { return turns_.load(std::memory_order_relaxed) / kTurnsPerRound; }
  // Whether to wait for lanes that poll (Block::letStep) is of use in this launch.
  void stopHolding() { holds_.store(false, std::memory_order_relaxed); }
  bool holds() const { return holds_.load(std::memory_order_relaxed); }

  // Of threads that poll at barriers of the program's own (rouse_cpu_poll_begin).
  GracePeriods& polls() { return polls_; }

  // First failure wins; nothing more is begun, and what runs stops where it can. Any thread.
  void fail(CudaError error, std::string message);
  // The launch has failed when all of it has ended: this is why, if nothing else is before.
  void failInTheEnd(CudaError error, std::string message);
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  Error failure() const;  // code success when there was none

 private:
  void mayNeedMore();
  // Where a block is in its row, and which row that is.
  struct InRow {
    std::uint64_t at, row;
  };
  bool hasFirst(std::uint64_t first, std::uint64_t count) const;
  // Of its thread's processor, as the first of a row.
  bool hasHadItsTime(std::uint64_t block);
  InRow inRow(std::uint64_t block) const { return {block / rowStride_ % rowLength_, block / (rowStride_ * rowLength_) * rowStride_ + block % rowStride_}; }

  GridOptions options_;
  struct Workspace {
    std::uint32_t bytes = sizeof(Workspace);
    std::uint32_t barrier = 0;
  };
  alignas(64) Workspace workspace_;
  std::vector<std::byte> storage_;
  const std::byte* parameters_ = nullptr;
  std::uint64_t blocks_ = 0;
  std::uint32_t threads_ = 0;
  std::size_t stackBytes_ = 0;
  alignas(64) std::atomic<std::uint64_t> next_{0};
  alignas(64) std::atomic<std::uint64_t> unfinished_{0};
  std::atomic<std::uint64_t> resident_{0}, residentLimit_;
  std::atomic<std::int64_t> refusedSince_{0};  // steady clock's, ns; 0: blocks end
  std::uint64_t rowLength_ = 1, rowStride_ = 1;
  std::vector<std::atomic<bool>> through_;  // by row: its first block is; none where nobody waits for it
  // Of blocks in a row that a thread is at, firsts among them; `since`: its processor time then, in nanoseconds.
  struct Begun {
    std::uint64_t first, count;
    clockid_t clock;
    std::int64_t since;
  };
  std::mutex begunMutex_;
  std::vector<Begun> begun_;
  std::atomic<std::uint64_t> progress_{0}, ends_{0};
  static constexpr std::uint64_t kTurnsPerRound = std::uint64_t{1} << 24;  // more than blocks are begun at once
  std::atomic<std::uint64_t> turns_{0};  // of this round; and rounds, by kTurnsPerRound
  GracePeriods polls_;
  std::atomic<bool> holds_{true};
  std::atomic<bool> stopped_{false};
  std::atomic<bool> completed_{false};
  mutable std::mutex failureMutex_;
  Error failure_{CudaError::success, {}};
};

}  // namespace rouse::cpu
