// An in-order queue of operations.
//
// At any time at most one thread drives it: takes the operation at the front, does it or starts it, and goes on to the
// next. It stops where an operation is under way on the workers or waits for something; whoever ends that wait drives
// on. Operations are queued by the executor's thread only; when the queue is idle that thread may do small ones itself,
// unqueued.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "schemas/wire/layout.h"
#include "schemas/wire/stream_copy.h"
#include "server/device/cpu/context_state.h"
#include "server/device/cpu/operation.h"
#include "server/device/cpu/worker_pool.h"

namespace rouse::cpu {

struct PacedTransfer;  // paced_work.h

class StreamQueue final : public Work, public std::enable_shared_from_this<StreamQueue> {
 public:
  StreamQueue(std::shared_ptr<ContextState> context, int priority)
      : context_(std::move(context)), priority_(priority) {}

  // --- The executor's thread ---
  bool idle() const { return completed_.load(std::memory_order_acquire) == submitted_; }
  // The copies that its thread has done itself.
  wire::CopyRun& copies() { return copies_; }
  void push(Operation operation);
  // A wait is over: does what is small at once and leaves the rest to the workers.
  void resumeHere() { drive(nullptr, true); }

  // --- Any thread ---
  // A wait is over: leaves the driving to the workers.
  void resume();
  // The operation at the front, which was under way, has ended: does what is small at once and leaves the rest to the workers.
  // modelledEnd: when that was, over a modelled link, in nanoseconds of the monotonic clock.
  void completed(std::int64_t modelledEnd);
  ContextState& context() const { return *context_; }
  const std::shared_ptr<ContextState>& sharedContext() const { return context_; }

  // --- Workers ---
  // The operation at the front, which was under way, has ended. The worker is one of the pool's.
  void completed(Worker& worker);
  Turn run(Worker& worker) override;
  int priority() const override { return priority_; }

 private:
  enum class Step {
    done,     // completed
    waiting,  // somebody else drives on
    worker,   // needs a worker
  };
  void drive(Worker* worker, bool executor = false);
  void completeFront();
  Step step(Operation& operation, Worker* worker);
  Step step(CopyOperation& operation, Worker* worker);
  Step step(InlineCopyOperation& operation, Worker* worker);
  Step step(FillOperation& operation, Worker* worker);
  Step step(FingerprintOperation& operation, Worker* worker);
  Step step(LaunchOperation& operation, Worker* worker);
  Step step(LibraryOperation& operation, Worker* worker);
  Step step(SignalOperation& operation, Worker* worker);
  Step step(SlotWaitOperation& operation, Worker* worker);
  Step step(RestoreOperation& operation, Worker* worker);
  Step step(SettleOperation& operation, Worker* worker);
  Step step(RecordOperation& operation, Worker* worker);
  Step step(EventWaitOperation& operation, Worker* worker);
  template <class Shape>
  Step stepTransfer(const Shape& shape, Worker* worker);
  // Starts it if it goes over a modelled link and is to take the time that the model says.
  bool startPaced(const CopyOperation& operation);
  bool startPaced(const InlineCopyOperation& operation);
  bool startPaced(const RestoreOperation& operation);
  void pace(std::int64_t queuedAt, PacedTransfer transfer);

  std::shared_ptr<ContextState> context_;
  int priority_;
  std::int64_t follows_ = 0;     // whoever drives: when what came before the front ended in the model, or the stream was idle; 0: it went
                                 // over no link
  std::uint64_t submitted_ = 0;  // the executor's thread only
  wire::CopyRun copies_;         // so is this
  std::atomic<std::uint64_t> completed_{0};
  std::mutex mutex_;
  std::deque<Operation> operations_;
  bool driven_ = false;
};

// Copies and fills up to this size are done where they are met, others by workers. The pieces of pageable copies are among them: a worker would have to be
// woken for each, which takes longer than the copy.
inline constexpr std::uint64_t kInlineBytes = wire::kPartByProcessors;

}  // namespace rouse::cpu
