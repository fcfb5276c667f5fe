// One stream: a queue and the thread that works through it.
#pragma once

#include <cuda.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "memory/device.h"

namespace rouse::cuda_double {

class Context;

struct Operation {
  std::function<CUresult()> run;     // on the stream's thread
  std::vector<AddressRange> ranges;  // must stay mapped until it has run
};

// Any thread, unless said otherwise. The context outlives its streams' threads (Context::~Context joins them).
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(Context& context, std::unique_ptr<memory::Stream> device, int priority);
  ~Stream();

  Context& context;
  const int priority;

  void push(Operation operation);
  // What was pushed before has run, or never will (the context failed or ends).
  void drain();
  bool idle();
  bool uses(AddressRange range);
  // Nothing is pushed after it; the thread ends when the queue is empty or the context stops.
  void close();
  bool closed();
  void join();
  void wake();

  // --- The stream's thread ---
  // Hands work to the CPU device and waits for its end.
  CUresult onDevice(const std::function<void(memory::Context&, memory::Stream&)>& work);
  // The operation's ranges are no longer needed: what it does next tells the caller that it is over.
  void releaseRanges();

 private:
  void work();

  std::unique_ptr<memory::Stream> device_;
  wire::Slot slot_{};
  std::uint64_t signalled_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Operation> operations_;
  std::uint64_t pushed_ = 0, completed_ = 0;
  bool closing_ = false, ended_ = false;
  std::mutex joinMutex_;
  std::thread thread_;
};

}  // namespace rouse::cuda_double
