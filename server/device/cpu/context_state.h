// What the streams and running launches of one context share; lives until the last of them has ended.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "memory/device.h"
#include "schemas/wire/access_errors.h"
#include "server/device/cpu/access_bounds.h"
#include "server/device/cpu/link_use.h"
#include "server/device/cpu/mapped_memory.h"
#include "server/device/cpu/prefault.h"
#include "server/device/cpu/runtime/device_heap.h"
#include "server/device/cpu/runtime/grid.h"
#include "server/device/cpu/runtime/visits.h"
#include "server/device/cpu/slot_waits.h"
#include "server/device/cpu/worker_pool.h"

namespace rouse::cpu {

class ContextState final : public OutputSink {
 public:
  ContextState(WorkerPool& pool, SlotWaits& slotWaits, LinkUse* links, memory::ContextObserver& observer,
               AddressRange deviceWindow, std::uint32_t check = 0)
      : pool(pool),
        slotWaits(slotWaits),
        links(links),
        deviceWindow(deviceWindow),
        prefault(std::make_shared<Prefault>(deviceWindow, pool)),
        visits(links),
        check(check),
        observer_(observer) {}

  WorkerPool& pool;
  SlotWaits& slotWaits;
  LinkUse* const links;  // null: transfers take what they take
  const AddressRange deviceWindow;
  const std::shared_ptr<Prefault> prefault;
  Visits visits;
  MappedRanges mapped;
  DeviceHeap heap;
  const std::uint32_t check;  // memory::ContextOptions
  AccessBounds bounds;        // the executor's thread's
  std::atomic<std::uint64_t> stackLimitBytes{1024};
  std::atomic<std::uint64_t> nextGridId{1};

  // Operations queued and not completed.
  std::atomic<std::int64_t> outstanding{0};

  // The error that killed the context, or success.
  CudaError dead() const { return dead_.load(std::memory_order_acquire); }
  // Reports an error; a sticky one kills the context: running launches are stopped, slot waits are given up. Any
  // thread.
  void fault(CudaError error, const std::string& message);
  // As a fault that nobody is told of: `outstanding` goes to 0 by itself.
  void cancel() { kill(CudaError::devicesUnavailable); }
  // Then waits until no stream is driven and nothing is left queued.
  void cancelAndWait();

  void addGrid(std::shared_ptr<Grid> grid);
  void removeGrid(const Grid& grid);

  // Around the time that a stream is being driven, waits included.
  void beginDriving() { driven_.fetch_add(1, std::memory_order_relaxed); }
  void endDriving();
  void progress() { observer_.onProgress(); }
  void onOutput(std::string_view text, bool toStderr) override { observer_.onOutput(text, toStderr); }
  // One more invalid access, or failure of a kernel, of a context that is checked. Whether to report it. Any thread.
  bool countInvalid() {
    observer_.onInvalidAccess(1);
    return check == wire::kAllReports || reports_.fetch_add(1, std::memory_order_relaxed) < check;
  }

 private:
  bool kill(CudaError error);

  memory::ContextObserver& observer_;
  std::atomic<std::uint64_t> reports_{0};
  std::atomic<CudaError> dead_{CudaError::success};
  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<std::shared_ptr<Grid>> grids_;
  std::atomic<std::int64_t> driven_{0};
};

}  // namespace rouse::cpu
