// One attachment to the daemon and all that hangs on it: shared segments, devices, handles, staging, the callback
// thread. A process has one (Process); tests make their own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client-shim/core/allocation.h"
#include "client-shim/core/mark.h"
#include "client-shim/core/slot_allocator.h"
#include "schemas/base/result.h"
#include "schemas/wire/layout.h"

namespace rouse::client {

class AccessCheck;
class CallbackThread;
class ControlConnection;
struct DescribedDevice;
class Device;
class Event;
class HostHeap;
class HostWindow;
class Interprocess;
class MemoryPool;
class Staging;
class Stream;
struct SessionHandles;

struct AttachOptions {
  std::string socketPath, token, program, library;
  std::uint32_t apiNames = 0;

  // $ROUSE_SOCKET or /run/rouse/rouse.sock, $ROUSE_TOKEN, and this program's name.
  static AttachOptions fromEnvironment();
};

class Session {
 public:
  static Result<std::unique_ptr<Session>> attach(const AttachOptions& options);
  // What GPUs a process has or would have, without attaching: over a connection that is closed again. `number`: of a session that it has, or that the
  // process had that it was forked from; 0: none.
  static Result<std::vector<DescribedDevice>> describe(const AttachOptions& options, std::uint64_t number);
  // Waits for the callback thread; queued work is the executor's to drop. Nothing of the session may be in use.
  ~Session();
  Session(const Session&) = delete;

  std::uint64_t id() const { return id_; }  // among the sessions of this process
  std::uint32_t deviceCount() const { return static_cast<std::uint32_t>(devices_.size()); }
  Device& device(std::uint32_t index) { return *devices_[index]; }
  // Whose window the address lies in, or where a variable or memory of another process is known that is there; or null.
  Device* deviceAt(std::uint64_t address);

  SessionHandles& handles() { return *handles_; }
  SlotAllocator& slots() { return *slots_; }
  Staging& staging() { return *staging_; }
  CallbackThread& callbacks() { return *callbacks_; }
  HostHeap& hostHeap() { return *hostHeap_; }
  HostWindow& hostWindow() { return *hostWindow_; }
  ControlConnection& connection() { return *connection_; }
  // Null but under `rouse run --check`.
  AccessCheck* check() { return check_.get(); }
  // Held while a copy between devices is written to their rings: two copies come in one order in both. Before staging and the rings.
  std::mutex& crossing() { return crossing_; }
  Interprocess& interprocess() { return *interprocess_; }

  // The daemon's number of it, which other processes know it by.
  std::uint64_t number() const { return number_; }
  // Puts an event of several processes in the place of a page of slots (SessionSegment::mapEvent()).
  Status mapEvent(std::uint32_t page, int fd);

  // Device, pinned, managed or registered memory that contains the address.
  bool findAllocation(std::uint64_t address, Allocation* found);

  wire::Slot& slot(std::uint32_t index) { return slotBase_[index]; }
  bool reached(Mark mark) { return slot(mark.slot).value.load(std::memory_order_acquire) >= mark.value; }

  enum class Waiting { spins, sleeps };  // first spin as long as is worth it, or not at all
  // Blocks until the mark is reached. devicesUnavailable when the device's executor or the daemon is gone.
  CudaError wait(std::uint32_t deviceIndex, Mark mark, Waiting waiting = Waiting::spins);

  // alive(), but looks only now and then: for calls that a program makes in a loop.
  bool probe(std::uint32_t deviceIndex);
  // False, for ever, once the device's executor or the daemon's connection is gone. Not for hot paths.
  bool alive(std::uint32_t deviceIndex);

  void countUnsupported(std::uint32_t apiId, std::uint32_t times);

  // Around fork(): so that the child finds the list of registered memory whole. The last one in a forked child, from
  // the atfork handler.
  void lockForFork();
  void unlockAfterFork();
  void abandonInChild();

 private:
  Session();
  struct Memory;

  std::uint64_t id_ = 0, number_ = 0;
  std::mutex crossing_;
  std::unique_ptr<ControlConnection> connection_;
  std::unique_ptr<Memory> memory_;
  wire::Slot* slotBase_ = nullptr;
  std::atomic<std::uint64_t> lastLookNs_{0};
  std::unique_ptr<AccessCheck> check_;
  std::unique_ptr<HostWindow> hostWindow_;
  std::unique_ptr<SlotAllocator> slots_;
  std::unique_ptr<SessionHandles> handles_;
  std::unique_ptr<Staging> staging_;
  std::unique_ptr<HostHeap> hostHeap_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<Interprocess> interprocess_;
  std::unique_ptr<CallbackThread> callbacks_;
};

}  // namespace rouse::client
