// The calling process as a client of Rouse: attached once, at the first call that needs a device, and until the process
// ends.
//
// Threads: everything here may be called from any thread. Errors: no function throws; failures are CudaError values,
// with a line in the log that names what, where and the limit.
//
// Fork. A child of a process that was attached gets initializationError from every call, as CUDA gives it; a child of
// one that was not attaches for itself. Memory of the host window and registered memory stays readable in the child,
// and what the child writes there is its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "schemas/base/cuda_error.h"

namespace rouse::client {

class Device;
class Event;
class HostMemory;
class MemoryPool;
class Session;
class Stream;
struct Allocation;

// What a face (libcudart, libcuda) says of itself when the process attaches. Set before the first attach.
struct FaceInfo {
  const char* library = "";    // "libcudart.so.13"
  std::uint32_t apiNames = 0;  // names in the generated table
};

class Process {
 public:
  // Made at the first call, never destroyed: programs call from destructors of their own.
  static Process& get();

  void describeFace(const FaceInfo& face);

  // Attaches if that has not been tried; then costs a load. Success, or why there is no device: noDevice (no daemon, no
  // devices), insufficientDriver (another protocol or command set), initializationError (in a forked child), or what
  // the daemon answered. A failure is final, except that of a missing daemon, which the next call tries again.
  CudaError attach() {
    return state_.load(std::memory_order_acquire) == State::attached ? CudaError::success : attachSlowly();
  }
  bool attached() const { return state_.load(std::memory_order_acquire) == State::attached; }
  // A child of a process that was attached: what that knew of its devices, and its session's number, can be read still; nothing else of it.
  bool forked() const { return state_.load(std::memory_order_acquire) == State::forked; }

  // After a successful attach(). 0 <= index < deviceCount(). Devices live as long as the process.
  std::uint32_t deviceCount() const { return deviceCount_; }
  Device& device(std::uint32_t index);
  HostMemory& hostMemory();
  Session& session();

  // The live object behind an opaque handle, or null. Constant time; stale and made-up handles are told apart from live
  // ones. The object of a destroyed handle stays readable (its storage is only ever used for its like), so a race of
  // use and destruction in the program does not crash the library.
  Stream* findStream(std::uint64_t handle);
  Event* findEvent(std::uint64_t handle);
  MemoryPool* findPool(std::uint64_t handle);

  // The allocation that contains the address: device, pinned, managed or registered. False for pageable memory.
  bool findAllocation(const void* address, Allocation* found);

  // A call of a name that is not supported. Before attach it is counted here and handed on later. Index: ApiId.
  void countUnsupported(std::uint32_t apiId);

  // True on the thread that runs host functions, where CUDA forbids calls of its API.
  static bool onCallbackThread();

 private:
  enum class State : std::uint32_t { fresh, attached, failed, forked };
  Process();
  CudaError attachSlowly();
  static void beforeFork();
  static void afterForkInParent();
  static void afterForkInChild();
  static void atExit();
  [[gnu::destructor]] static void afterExit();

  std::atomic<State> state_{State::fresh};
  std::uint32_t deviceCount_ = 0;
  struct Parts;
  Parts* parts_;  // never freed
};

}  // namespace rouse::client
