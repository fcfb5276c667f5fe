// One block of a grid on one worker: its threads as fibers, and which of them runs next.
//
// Order: threads that became runnable first, then threads that have not begun (in order), then those that step, then those that spin (yield),
// so that a block of threads that never wait uses one stack. Every few hundred switches a spinning thread goes first:
// one that others wait for in a loop must not starve.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "server/device/cpu/runtime/barrier.h"
#include "server/device/cpu/runtime/cluster.h"
#include "server/device/cpu/runtime/fiber.h"
#include "server/device/cpu/runtime/frame_memory.h"
#include "server/device/cpu/runtime/grid.h"
#include "server/device/cpu/runtime/runner.h"
#include "server/device/cpu/runtime/shared_memory.h"
#include "server/device/cpu/runtime/warp.h"

namespace rouse::cpu {

class Block {
 public:
  explicit Block(Runner& runner) : runner_(runner) {}
  Block(const Block&) = delete;

  // --- Worker's own stack ---

  // Takes on block `index` of the grid. `cluster`: of a grid that runs in clusters (Grid::clustered), else null. False: no memory; the grid has been failed.
  bool begin(Grid& grid, std::uint64_t index, std::shared_ptr<Cluster> cluster = nullptr);
  // Has ended, and will be given back.
  void leaveCluster() { cluster_ = nullptr; }

  std::uint64_t index() const { return index_; }

  enum class Outcome { finished, spinning, failed };
  // Runs threads until all have ended, or all that could run only spin, or the launch has failed. A failed block has
  // ended.
  Outcome run(bool alone);

  // Runs the block, and with KernelCode::rows those that follow it in x, `blocks` in all, as a loop (KernelCode::loop) on the calling fiber.
  void runLoop(std::uint32_t blocks);
  // Ends the launch for a fault of this block's code. `fiber`: where it happened.
  void failFor(const Fault& fault, const Fiber* fiber);

  // --- Fibers of the block ---

  void barrier(Fiber* self, std::uint32_t id, std::uint32_t count);
  void barrierArrive(std::uint32_t id, std::uint32_t count);
  void clusterArrive(Fiber* self);
  void clusterWait(Fiber* self);
  std::uint64_t barrierReduce(Fiber* self, std::uint32_t id, std::uint32_t count, std::uint32_t op, bool predicate);
  std::uint64_t meet(Fiber* self, WarpOperation operation, std::uint32_t mask, const LaneOperands& operands);
  // `site` tells calls of different places in the program apart.
  std::uint32_t activemask(Fiber* self, const void* site);
  void yield(Fiber* self);
  void yieldWhile(Fiber* self, const Watched* watched, std::uint32_t count);
  void pollBegin(Fiber* self);
  void pollEnd(Fiber* self);
  void changeBegin(Fiber* self, bool isStore);
  void changeEnd(Fiber* self);
  void step(Fiber* self, std::uint64_t place);
  void fenceStep(Fiber* self, std::uint64_t place);
  // On the fiber of a loop.
  void letOthers();
  // What the threads of a loop keep at barriers: at least so many bytes, aligned to 64, the same each time; null: out of memory. A block that is left in the
  // middle of its loop has its own.
  std::byte* frames(std::size_t bytes);

  // Of checked code. What is found is remembered where the access says.
  // If it is not allowed, `access` is what of it is not.
  bool mayAccess(const ThreadContext& thread, Access& access);
  // Ends the thread; the others go on.
  [[noreturn]] void endInvalid(Fiber* self, const Access& access);

  // Ends the launch; the message is the kernel, block and thread, then what stands in Runner::scratch(). `thread` null:
  // unknown. On a fiber of this block.
  [[noreturn]] void fail(const ThreadContext* thread, CudaError error);

  // On the way into generated code; does not return when the launch has been stopped.
  void enterKernelCode() {
    runner_.enterKernelCode();
    if (grid_->stopped()) leaveStopped();
  }

  Grid& grid() { return *grid_; }
  Runner& runner() { return runner_; }
  const BlockContext& context() const { return context_; }

 private:
  static void threadBody(Fiber* self);
  static void loopBody(Fiber* self);
  Outcome runPolling(bool alone);
  // The next thread to run, taken out of its queue; null when none can or all spin.
  Fiber* pick();
  Fiber* takeYielded();
  void yieldNow(Fiber* self);
  bool seesChange(Fiber* fiber);
  void hasLooked(Fiber* self);
  void arrive();
  void settle();
  // Those that wait for the cluster's barrier go on, if it is over.
  void wakeAtCluster();
  void takePlace(std::uint64_t index);
  // Whether others are to have a turn, though threads can run here.
  bool turnOver() const;
  Fiber* beginThread();
  // The fiber does something else than poll.
  void goesOn(Fiber* fiber);
  void waitForStep(Fiber* self, std::uint64_t place, bool soft);
  void letStep();
  void judgePatience();
  void place(Fiber* fiber, std::uint32_t linear);
  void threadEnded(Fiber* self);
  void suspend(Fiber* self);
  bool resolveActivemasks();
  bool giveUpMeetings();
  void leaveStopped();
  std::string where(const ThreadContext* thread) const;
  bool inShared(const Access& access, std::uint64_t offset) const;
  // Of a thread that has made an invalid access: it is told of, and gone.
  void reportInvalid(Fiber* ended);
  void failDeadlocked();
  void abandonThreads();

  Runner& runner_;
  Grid* grid_ = nullptr;
  std::uint64_t index_ = 0;
  BlockContext context_{};
  SharedMemory shared_;
  FiberQueue ready_;
  FiberQueue yielded_;
  FiberQueue going_;  // that have stepped, and go on
  FiberQueue activemasks_;
  std::uint32_t begun_ = 0;  // threads that have begun
  std::uint32_t live_ = 0;   // threads that have not ended
  std::uint32_t spins_ = 0;  // yields since a thread last became runnable otherwise
  std::uint32_t yields_ = 0;  // since the block's turn began
  std::uint32_t turns_ = 0;
  bool progressed_ = false;  // a thread that does not poll has stepped, or one has ended, in this turn
  bool ended_ = false;       // one has ended
  std::uint32_t stepping_ = 0;  // threads that step
  bool held_ = false;        // some of them, because lanes of their warps poll
  std::uint64_t roundSeen_ = 0;  // the grid's last in which it had a turn
  std::uint64_t progressSeen_ = 0, endsSeen_ = 0, progressRound_ = 0;
  std::chrono::steady_clock::time_point progressTime_, heldSince_;
  bool arrives_ = false;  // one of its threads has changed what is polled at a barrier of the program's own; `arrived_` is for GracePeriods::leave
  std::uint32_t arrived_ = 0;
  Barriers barriers_;
  std::shared_ptr<Cluster> cluster_;
  FiberQueue atCluster_;  // that wait for its barrier, the first of them for the end of `atClusterPhase_`
  std::uint64_t atClusterPhase_ = 0;
  std::vector<Warp> warps_;
  std::vector<Fiber*> fibers_;  // by thread; null: not begun, or ended
  Fiber* loop_ = nullptr;       // of a loop that polls; null: not begun, or ended
  std::uint32_t rounds_ = 0;    // of polling that are left of the block's turn
  FrameMemory frames_;
  std::unique_ptr<CheckedRange[]> checkedRanges_;  // of checked code
  Fiber* ending_ = nullptr;                        // has made the access that follows
  Access invalid_;
};

}  // namespace rouse::cpu
