// An event: a slot, and the value that its latest record will store there. Everything but a blocking wait is local. One that other processes have
// is a page of slots, where its latest record is found, whoever made it (schemas/wire/shared_event.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "client-shim/core/mark.h"
#include "schemas/base/cuda_error.h"
#include "schemas/wire/ipc_handle.h"

namespace rouse::client {

class Device;
class GraphExec;
class Stream;

struct EventOptions {
  bool disableTiming = false;
  bool blockingSync = false;  // waiting sleeps at once
  bool interprocess = false;  // other processes may have it
};

class Event {
 public:
  Device& device() const { return *device_; }
  std::uint64_t handle() const { return handle_; }
  const EventOptions& options() const { return options_; }

  // Marks the present end of the stream, which must be of the event's device (else invalidResourceHandle).
  CudaError record(Stream& stream);
  // Waits for the latest record; success at once where there is none.
  CudaError synchronize();
  // success (also: never recorded), notReady, or the latched error.
  CudaError query();
  // Milliseconds between two completed records. invalidResourceHandle: never recorded, or
  // without timing; notReady: not completed.
  static CudaError elapsed(Event& start, Event& end, float* milliseconds);

  // --- Of several processes (Interprocess).
  // From now on: a page of slots from this one on. Takes the latest record along.
  CudaError share(std::uint32_t firstSlot, const wire::IpcHandle& handle, bool imported);
  bool shared() const { return sharedSlot_.load(std::memory_order_acquire) != 0; }
  std::uint32_t sharedSlot() const { return sharedSlot_.load(std::memory_order_acquire); }
  // Of one that is shared.
  bool imported() const { return shared() && imported_; }
  const wire::IpcHandle& handleForOthers() const { return handleForOthers_; }

  // For the core's own verbs. The latest record, or value 0.
  Mark latest();
  // After a reset of the device: lets waiters go and ends the event.
  void abandon();

 private:
  friend CudaError createEvent(Device& device, const EventOptions& options, Event** event);
  friend CudaError destroyEvent(Event& event);
  CudaError claim(std::uint32_t firstSlot, Mark* mark);

  friend class GraphExec;  // whose launches record several at once

  Device* device_ = nullptr;
  std::uint64_t handle_ = 0;
  EventOptions options_;
  std::mutex mutex_;  // guards what follows; taken before a ring lock
  Mark mark_;         // the latest record; before the first, where the slot's values go on from
  bool recorded_ = false;
  std::atomic<std::uint32_t> sharedSlot_{0};  // 0: no other process has it
  bool imported_ = false;
  wire::IpcHandle handleForOthers_;
  std::uint64_t streamId_ = 0;  // of the latest record
};

// Makes and ends events of a device. Destroying one that is recorded but not complete is fine.
CudaError createEvent(Device& device, const EventOptions& options, Event** event);
CudaError destroyEvent(Event& event);

}  // namespace rouse::client
