// A stream of one virtual device. Made by Device, addressed by faces through its handle.
#pragma once

#include <cstdint>

#include "schemas/base/cuda_error.h"
#include "schemas/wire/layout.h"

namespace rouse::client {

class Device;
class Event;

// status: success, or the error the stream's device has latched.
using HostFunction = void (*)(void* data, CudaError status);

// What has been written to the ring for a stream. Guarded by the ring lock of its device.
struct StreamAccount {
  std::uint64_t submitted = 0;       // commands so far
  std::uint64_t marked = 0;          // `submitted` when the last mark was sent
  std::uint64_t markedBlocking = 0;  // the queue's count of all blocking streams then (legacy stream only)
  std::uint32_t markSlot = 0;
  std::uint64_t markValue = 0;  // of the last mark
  // Host functions: the stream signals `reached`, the callback thread answers with `returned`. Slot 0: none so far.
  std::uint32_t reachedSlot = 0, returnedSlot = 0;
  std::uint64_t reachedValue = 0, returnedValue = 0;
};

class Stream {
 public:
  Device& device() const { return *device_; }
  std::uint64_t handle() const { return handle_; }  // never 0, 1 or 2; unique while live
  wire::Handle wireHandle() const { return wire_; }
  bool nonBlocking() const { return nonBlocking_; }
  std::int32_t priority() const { return priority_; }
  std::uint64_t id() const { return id_; }  // never used again in this process; the legacy stream has one too
  bool legacy() const { return wire_ == wire::kLegacyStream; }

  // Blocks until all that was submitted before has completed; then the device's latched error.
  CudaError synchronize();
  // success, notReady, or the device's latched error. Never blocks; at most one command.
  CudaError query();
  // Later work waits for the event's latest record (none: returns at once). The event may be of another device.
  CudaError waitEvent(Event& event);
  // Runs the function on the callback thread when the stream gets there; later work waits until it returns. After a
  // sticky error it runs only if `evenAfterError`, with that error as its argument.
  CudaError launchHostFunction(HostFunction function, void* data, bool evenAfterError);

  // A thread's default stream: not the program's to destroy.
  bool threadDefault() const { return threadDefault_; }

  // For the core's own verbs.
  StreamAccount account;
  void setThreadDefault() { threadDefault_ = true; }

 private:
  friend class Device;
  Device* device_ = nullptr;
  std::uint64_t handle_ = 0;
  std::uint64_t id_ = 0;
  wire::Handle wire_{};
  std::int32_t priority_ = 0;
  bool nonBlocking_ = false;
  bool threadDefault_ = false;
};

}  // namespace rouse::client
