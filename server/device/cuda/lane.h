// A stream: what the driver has of it, and what it has not yet.
//
// The driver is given work only when nothing of this process's doing can hold it up: a stream that waits for a slot
// which nobody has promised to write, or which is far ahead of the GPU, keeps its work here. So a hardware queue, which
// streams share, is never blocked by a program; the driver's queues never fill up, where a launch would block the
// executor; and a context that ends drops what has not begun.
//
// Progress. After some operations, and where somebody wants to know, the stream writes how many it has done to a word
// of pinned memory (cuStreamWriteValue64). Looking at it costs a load.
//
// Locked, all of it.
#pragma once

#include <deque>
#include <memory>

#include "server/device/cuda/gpu.h"
#include "server/device/cuda/operation.h"
#include "server/library/cuda/real_libraries.h"

namespace rouse::cuda {

class Lanes;

class Lane final : public std::enable_shared_from_this<Lane> {
 public:
  // `counter`: a word of its own in pinned memory, 0 now.
  Lane(Lanes& owner, CUstream stream, std::uint64_t* counter) : owner_(owner), stream_(stream), counter_(counter) {}

  void push(Operation operation);
  // Gives the driver what it can of what is held. True if anything moved.
  bool drain();
  bool holds() const { return !held_.empty(); }
  bool waitsForSlot() const;
  // Drops what is held; its signals are delivered with the error.
  void dropHeld(CudaError error);

  std::uint64_t submitted() const { return submitted_; }
  std::uint64_t completed() const;
  // Asks for the counter to be written when all submitted so far is done; once.
  void mark();
  // Everything submitted and held is done. Marks.
  bool idle();
  // No kernel that it was given is under way, none of a library. Marks.
  bool quiet();
  // The driver's stream waits until another stream's counter is there, for which that has been marked.
  void waitFor(Lane& other, std::uint64_t sequence);
  void setSettled(std::uint64_t sequence) { settled_ = sequence; }

  // Looks how far it is; gives back what is no longer needed. True if it is further than last time.
  bool look();
  // Makes the driver write what the kernels that are done have printed. True: there were such kernels.
  bool flushText();
  // Some that may print are under way, or not flushed.
  bool printing() const { return !printed_.empty(); }
  void forgetText();
  bool outstanding() const { return seen_ != submitted_ || calling_ != nullptr; }
  bool watched() const { return marked_ > seen_ || calling_ != nullptr; }
  // Of launches that may be running.
  std::string kernelsUnderWay() const;

  CUstream stream() const { return stream_; }
  std::uint64_t* counter() const { return counter_; }
  // Until no other thread makes a call of a library for it: at once, unless the GPU is lost.
  void awaitCall();
  // The stream is gone from the driver; all was done.
  void finish();

  bool destroyed = false;     // by its owner; ends when it is idle
  bool isActive = false;      // in Lanes' list
  std::uint32_t signals = 0;  // pending

 private:
  enum class Step : std::uint8_t { done, blocked };
  bool attempt(Operation& operation);  // true: done, or refused for good
  Step step(Operation& operation);
  Step step(CopyOperation& operation);
  Step step(ArrayOperation& operation);
  Step step(InlineOperation& operation);
  Step step(FillOperation& operation);
  Step step(FingerprintOperation& operation);
  Step step(LaunchOperation& operation);
  Step step(LibraryOperation& operation);
  Step step(SignalOperation& operation);
  Step step(SlotWaitOperation& operation);
  Step step(RecordOperation& operation);
  Step step(EventWaitOperation& operation);

  bool room();
  void counted();
  // False: a call of a library is under way on another thread. What one that is over has queued counts from here on, and its operation is done: for who holds it, and for
  // whoever looks once it has been dropped. Nobody else may, or it would be made again.
  bool takeCall();
  // Memory mapped since the last work of this stream is usable. False: it will not be.
  bool settle();
  void willPrint(CUevent event);
  bool submitCopy(const CopyPiece& piece);
  bool submitHostCopy(const CopyPiece& piece);
  bool submitFill(const FillPiece& piece);

  Lanes& owner_;
  CUstream stream_;
  std::uint64_t* counter_;
  std::uint64_t submitted_ = 0, marked_ = 0, seen_ = 0;
  std::uint64_t kernel_ = 0;   // the last kernel submitted
  std::uint64_t settled_ = 0;  // of the setup stream: what this one has waited for
  std::deque<Operation> held_;
  bool stepping_ = false;
  struct Lent {
    std::uint64_t sequence;
    std::byte* block;
  };
  std::deque<Lent> lent_;
  struct Launched {
    std::uint64_t sequence;
    const std::string* kernel;
  };
  std::deque<Launched> launched_;  // the latest ones
  library::cuda::Handle* libraries_ = nullptr;  // from its first call of a library until it ends
  struct Calling {
    library::cuda::Handle* handle;  // what the call has taken, where there was none
    std::uint64_t kind;
    std::shared_ptr<SideCalls::Call> call;
  };
  std::shared_ptr<Calling> calling_;  // of the operation that is held first, unless that has been dropped
  struct Printed {
    std::uint64_t sequence;
    CUevent event;  // behind it
  };
  std::deque<Printed> printed_;
};

}  // namespace rouse::cuda
