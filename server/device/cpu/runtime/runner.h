// A worker thread's own part of the runtime: fibers, stacks, the way between its own stack and theirs, and what a
// signal handler must know of it. Everything here belongs to one thread, but for interrupt().
#pragma once

#include <pthread.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "server/device/cpu/runtime/fiber.h"
#include "server/device/cpu/runtime/frame_memory.h"
#include "server/device/cpu/runtime/grid.h"
#include "server/device/cpu/runtime/sanitizer.h"
#include "server/device/cpu/runtime/stack_pool.h"

namespace rouse::cpu {

class Block;
class Cluster;

// What a signal handler saw when it took the thread off a fiber.
struct Fault {
  int signal = 0;  // 0: none
  int code = 0;
  std::uint64_t address = 0;
  bool guardHit = false;
};

class Runner {
 public:
  // Binds to the calling thread; destroyed on it.
  Runner();
  ~Runner();
  Runner(const Runner&) = delete;

  // The calling thread's, null elsewhere. Safe in a signal handler.
  ROUSE_UNINSTRUMENTED static Runner* active();

  // --- On the thread's own stack ---

  // A fiber whose stack holds at least `stackBytes` (a StackPool class), at the beginning of `body`; null: out of
  // memory.
  Fiber* takeFiber(std::size_t stackBytes, void (*body)(Fiber*));
  // Gives back a fiber that was left in the middle of something.
  void abandon(Fiber* fiber);
  // Continues a fiber; returns when one switches to the thread's own stack. Fills `fault` when a signal ended it
  // instead.
  void enter(Fiber* fiber, Fault& fault);
  // Who was running when the last fault came.
  const Fiber* faulted() const { return faulted_; }

  std::unique_ptr<Block> takeBlock();
  void giveBlock(std::unique_ptr<Block> block);
  // Comes back by itself when nobody has it any more.
  std::shared_ptr<Cluster> takeCluster();

  // Gives the memory of large stacks that no fiber uses back to the system: for when there has been nothing to do for a
  // while, since a system call and the page faults afterwards for each stack cost more than small kernels.
  void trim();
  bool trimmable() const { return largeUsed_; }

  // Hands the text that kernels printed to the grid's sink.
  void flushOutput(Grid& grid);

  // --- On a fiber ---

  // Leaves `self` (to be continued later) for `next`, or for the thread's own stack when null.
  void leave(Fiber* self, Fiber* next);
  // Its body has ended for now: keeps the fiber for reuse and goes on with `next` or the thread's own stack. Returns
  // when it is taken again.
  void retire(Fiber* self, Fiber* next);
  // Leaves for good: the launch has failed.
  [[noreturn]] void leaveForGood(Fiber* self);
  // Appends text; goes to the thread's own stack to flush it when there is much.
  void print(Fiber* self, std::string_view text, bool toStderr);

  Fiber* current() const { return current_; }
  // Set by a fiber that went to the thread's own stack only to have its output flushed: to be entered again at once.
  Fiber* takeFlushRequest() {
    Fiber* fiber = flushRequest_;
    flushRequest_ = nullptr;
    return fiber;
  }

  std::string& scratch() { return scratch_; }

  // Of loops that run from their beginning to their end.
  FrameMemory& frames() { return frames_; }

  // --- Interruption (signal_faults.cc, interruption.h) ---

  // Any thread: makes the thread leave a kernel that has been stopped (Grid::stopped), unless it is inside the runtime.
  void interrupt() const;
  // Whether generated code runs, which may be interrupted at any instruction.
  ROUSE_UNINSTRUMENTED void enterKernelCode() {
    inKernelCode_ = 1;
    std::atomic_signal_fence(std::memory_order_seq_cst);  // an interrupt after this is acted on, whatever is read next
  }
  ROUSE_UNINSTRUMENTED void leaveKernelCode() { inKernelCode_ = 0; }
  ROUSE_UNINSTRUMENTED bool inKernelCode() const { return inKernelCode_ != 0; }
  // In a handler: where to continue so that enter() returns with this fault.
  void* landing(const Fault& fault);

 private:
  static void fiberMain(void* fiber);
  void prepare(Fiber* fiber);

  void* ownStack_ = nullptr;  // while a fiber runs
  StackAnnotation ownAnnotation_;
  Fiber* current_ = nullptr;
  Fiber* faulted_ = nullptr;
  Fiber* flushRequest_ = nullptr;
  volatile std::sig_atomic_t inKernelCode_ = 0;  // for this thread and its signal handlers
  Fault fault_;
  StackPool stacks_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_[16];  // by size class
  bool largeUsed_ = false;        // since the last trim()
  std::vector<std::unique_ptr<Cluster>> clusters_;  // before `blocks_`, which may have some
  std::vector<std::unique_ptr<Block>> blocks_;
  FrameMemory frames_;
  std::string output_;
  bool outputToStderr_ = false;
  std::string scratch_;
  pthread_t thread_;
  std::unique_ptr<std::byte[]> signalStack_;
  stack_t previousSignalStack_{};
};

}  // namespace rouse::cpu
