// An event: a slot, and the value that its latest record will store there. Everything but a blocking wait is local.
#pragma once

#include <cstdint>
#include <mutex>

#include "client-shim/core/mark.h"
#include "schemas/base/cuda_error.h"

namespace rouse::client {

class Device;
class GraphExec;
class Stream;

struct EventOptions {
  bool disableTiming = false;
  bool blockingSync = false;  // waiting sleeps at once
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

  // For the core's own verbs. The latest record, or value 0.
  Mark latest();
  // After a reset of the device: lets waiters go and ends the event.
  void abandon();

 private:
  friend CudaError createEvent(Device& device, const EventOptions& options, Event** event);
  friend CudaError destroyEvent(Event& event);
  friend class GraphExec;  // whose launches record several at once

  Device* device_ = nullptr;
  std::uint64_t handle_ = 0;
  EventOptions options_;
  std::mutex mutex_;  // guards what follows; taken before a ring lock
  Mark mark_;         // the latest record; before the first, where the slot's values go on from
  bool recorded_ = false;
  std::uint64_t streamId_ = 0;  // of the latest record
};

// Makes and ends events of a device. Destroying one that is recorded but not complete is fine.
CudaError createEvent(Device& device, const EventOptions& options, Event** event);
CudaError destroyEvent(Event& event);

}  // namespace rouse::client
