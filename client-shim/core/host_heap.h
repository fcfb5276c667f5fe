// Host memory, behind HostMemory: the host window after its staging. Small blocks share ranges that stay mapped; a
// large one has a range of its own, which ends with it. Freed memory is given out again only when all work that was
// queued before the free is done on every device, because the program's own code writes to it at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "client-shim/core/allocation.h"
#include "client-shim/core/command_queue.h"
#include "client-shim/core/host_memory.h"
#include "client-shim/core/mark.h"
#include "client-shim/core/range_allocator.h"

namespace rouse::client {

class HostWindow;
class Session;

class HostHeap final : public HostMemory {
 public:
  explicit HostHeap(Session& session);

  CudaError allocate(std::uint64_t bytes, MemoryKind kind, std::uint32_t flags, std::uint32_t deviceIndex,
                     void** address) override;
  CudaError release(void* address) override;
  CudaError registerRange(void* address, std::uint64_t bytes, std::uint32_t flags, std::uint32_t deviceIndex) override;
  CudaError unregisterRange(void* address) override;
  bool find(std::uint64_t address, Allocation* found) const override;

  // For managed variables: not the program's to free.
  CudaError allocateVariable(std::uint64_t bytes, std::uint32_t deviceIndex, std::uint64_t* address);
  CudaError releaseVariable(std::uint64_t address);

  // Around a reset of one device: the ranges are declared to it anew; what it was asked to end has ended.
  std::unique_lock<std::shared_mutex> lock() { return std::unique_lock(mutex_); }
  void unlock() { mutex_.unlock(); }
  void mapEverything(CommandQueue::Batch& batch);
  void settle(std::uint32_t deviceIndex);

  // What the program has not freed, registered memory aside.
  std::vector<Allocation> live() const;

  // In a forked child: registered memory stays, as the child's own.
  void privatizeInChild() const;

 private:
  struct Retiring {
    AddressRange range;
    std::vector<Mark> marks;  // by device
  };
  struct Registered {
    AddressRange pages;    // of the program
    AddressRange backing;  // in the window
    int protection = 0;
    Allocation allocation;
  };

  CudaError allocateFor(const Allocation& tags, std::uint64_t bytes, std::uint64_t* address);
  CudaError releaseLocked(std::uint64_t address);
  // Where accesses are checked, every device is told exactly what may be accessed.
  void tellAllocated(AddressRange range);
  void tellFreed(AddressRange range);
  CudaError takeRange(std::uint64_t bytes, AddressRange* range);
  Retiring unmapRange(AddressRange range);
  bool wait(const Retiring& retiring);
  bool sweep(bool waiting);
  void finish(AddressRange range);
  CudaError drain();

  Session& session_;
  HostWindow& window_;
  mutable std::shared_mutex mutex_;
  RangeAllocator ranges_;                          // of the window, in pages
  RangeAllocator small_;                           // of the ranges for small blocks
  std::map<std::uint64_t, std::uint64_t> mapped_;  // declared to the executors: base, bytes
  std::deque<Retiring> retiring_;
  std::map<std::uint64_t, Allocation> blocks_;
  std::map<std::uint64_t, Registered> registered_;  // by the base of the pages
  std::atomic<std::size_t> registeredCount_{0};
  std::uint64_t epoch_ = 0, settled_ = 0;  // of small_
};

}  // namespace rouse::client
