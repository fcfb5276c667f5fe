// One virtual device of this process: its ring, streams, memory, limits and latched error. Lives as long as the
// process.
//
// Threads: any. Lock order: memory pool, virtual memory, host memory, device memory, the device's list of streams, an event, the ring;
// under the ring lock only leaves are taken (slot numbers, host functions).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "client-shim/core/device_info.h"
#include "schemas/base/cuda_error.h"
#include "schemas/wire/layout.h"

namespace rouse::client {

class CommandQueue;
class DeviceHeap;
class DeviceMemory;
class Event;
class MemoryPool;
class Session;
class Stream;
class VirtualMemory;

enum class Limit : std::uint32_t { stackBytes = 0, printfBytes = 1, heapBytes = 2 };

struct StreamOptions {
  bool nonBlocking = false;
  std::int32_t priority = 0;  // clamped to what the device has: 0 (least) .. -5 (greatest), as CUDA's devices say
};
inline constexpr std::int32_t kLeastPriority = 0;
inline constexpr std::int32_t kGreatestPriority = -5;

class Device {
 public:
  std::uint32_t index() const { return index_; }
  const DeviceInfo& info() const { return info_; }

  // The latched failure of earlier asynchronous work, where CUDA "may also return error codes from previous,
  // asynchronous launches". Sticky errors stay; any other is returned once. A load and a branch when there is none.
  // devicesUnavailable once the executor or the connection is lost.
  CudaError asyncError() {
    return status_->error.load(std::memory_order_relaxed) == 0 && !lost_.load(std::memory_order_relaxed)
               ? CudaError::success
               : takeError();
  }
  // The same without taking it.
  CudaError peekError() const;

  // --- Streams
  Stream& legacyStream();
  // The calling thread's default stream on this device: made at its first use, ended with the thread.
  CudaError perThreadStream(Stream** stream);
  CudaError createStream(const StreamOptions& options, Stream** stream);
  // The program has made one here, which work of the legacy stream does not hold up.
  bool hasNonBlocking() const { return hasNonBlocking_.load(std::memory_order_relaxed); }
  // Work already on it is completed. invalidResourceHandle for the legacy and the per-thread streams.
  CudaError destroyStream(Stream& stream);

  // Blocks until all work of all streams is complete, then drains kernels' output and returns the latched error.
  CudaError synchronize();

  // --- Memory
  DeviceMemory& memory();
  // cuMemAddressReserve, cuMemCreate, cuMemMap.
  VirtualMemory& virtualMemory();
  MemoryPool& defaultPool();
  CudaError currentPool(MemoryPool** pool);
  CudaError setCurrentPool(MemoryPool& pool);
  // What this process could still allocate, and the most it may.
  CudaError memoryInfo(std::uint64_t* freeBytes, std::uint64_t* totalBytes);
  // The same, for who only looks on: waits for nothing, and takes no error. What was given back a moment ago may count as taken still.
  struct MemoryNow {
    std::uint64_t freeBytes = 0, totalBytes = 0, occupiedBytes = 0;
  };
  MemoryNow memoryNow() const;

  // --- Limits, reset
  CudaError setLimit(Limit limit, std::uint64_t value);
  std::uint64_t limit(Limit limit) const;
  // cudaDeviceReset: drops queued work, streams, events, memory, modules and the latched error of this device. What the
  // program still holds of them is no longer found. Blocks.
  CudaError reset();
  // Counts the resets, so that faces drop what they have cached (module instances).
  std::uint64_t incarnation() const { return incarnation_.load(std::memory_order_acquire); }

  // Writes out what kernels have printed so far. Called by every synchronising call.
  void drainOutput();

  // --- For the core's own verbs
  CommandQueue& queue() { return *queue_; }
  Session& session() { return *session_; }
  DeviceHeap& heap();
  // synchronize() without its effects on memory, text and errors.
  CudaError waitForAll();
  // What no stream of the program may see: copies between devices run on it.
  CudaError internalStream(Stream** stream);
  // destroyStream() of any stream but the legacy one.
  CudaError endStream(Stream& stream);
  // Numbers for module instances, in ring order: call under a Batch.
  wire::Handle takeModuleNumber();
  void giveModuleNumber(wire::Handle handle);
  void poolDestroyed(MemoryPool& pool);
  // The executor or the connection is gone.
  bool markLost() { return !lost_.exchange(true, std::memory_order_relaxed); }  // true the first time
  bool lost() const { return lost_.load(std::memory_order_relaxed); }
  wire::DeviceStatus& status() { return *status_; }

  Device(Session& session, std::uint32_t index, DeviceInfo info, std::unique_ptr<CommandQueue> queue,
         wire::DeviceStatus& status);
  ~Device();
  Device(const Device&) = delete;

 private:
  CudaError takeError();
  CudaError makeStream(const StreamOptions& options, bool hidden, Stream** stream);
  void dropObjects();

  Session* session_;
  const std::uint32_t index_;
  const DeviceInfo info_;
  wire::DeviceStatus* status_;
  std::atomic<bool> lost_{false};
  std::atomic<bool> hasNonBlocking_{false};
  std::atomic<bool> saidSticky_{false};  // the log has it
  std::atomic<std::uint64_t> incarnation_{0};
  std::unique_ptr<CommandQueue> queue_;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace rouse::client
