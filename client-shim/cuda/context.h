// Contexts. Each device has its primary one, which is the runtime's; what programs make besides stands for the same device state, and has of its own
// what ends with it: the memory, streams, events, modules, arrays and objects that were made by calls of the driver while it was current.
//
// A thread's current context is the runtime's business (client::CurrentContext), since cudaSetDevice changes it; what lies below it on the thread's
// stack is kept here. Any thread.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "client-shim/library/driver_host.h"

namespace rouse::cuda {

struct Context {
  int device = 0;
  bool primary = false;
  unsigned flags = 0;     // of one that was made
  std::uint64_t id = 0;   // unique in the process
  std::atomic<bool> destroyed{false};
  std::atomic<unsigned> attached{0};  // how often cuCtxAttach named it, without what cuCtxDetach took back
};

// Null unless the handle is of a context that is there, or of one that was (then `destroyed`).
Context* findContext(CUcontext handle);
inline CUcontext handleOf(const Context* context) { return reinterpret_cast<CUcontext>(const_cast<Context*>(context)); }

// The device's; CUDA_ERROR_INVALID_DEVICE unless there is such a device.
CUresult primaryContext(CUdevice device, Context** context);
// Null: out of memory.
Context* makeContext(CUdevice device, unsigned flags);

// The calling thread's; null: none.
Context* currentContext();
void setCurrentContext(Context* context);
void pushContext(Context* context);
// What was current; null: nothing was.
Context* popContext();

// Runs `body` with a context current, then puts back what was.
template <class Body>
auto within(Context* context, Body&& body) {
  const client::CurrentContext before = client::driverHost()->current();
  setCurrentContext(context);
  const auto result = body();
  client::driverHost()->setCurrent(before);
  return result;
}

// What ends with a context that a program has made.
enum class Owned { texture, surface, module, event, stream, array, mipmappedArray, imported, memory, managedMemory, hostMemory, registration };

// Of what a call has just made: if the current context is one that was made, it ends with it. Out of memory: it stays until the process ends.
void own(Owned kind, std::uint64_t handle) noexcept;
void disown(Owned kind, std::uint64_t handle) noexcept;
template <class Handle>
void own(Owned kind, Handle* handle) noexcept { own(kind, reinterpret_cast<std::uint64_t>(handle)); }
template <class Handle>
void disown(Owned kind, Handle* handle) noexcept { disown(kind, reinterpret_cast<std::uint64_t>(handle)); }
// Null: none that was made, so the primary one of its device.
Context* ownerOf(Owned kind, std::uint64_t handle);

// After the device's reset.
void forgetOwned(int device);

// Waits for the device, and ends all of the context's. CUDA_ERROR_INVALID_CONTEXT: it is gone already.
CUresult destroyContext(Context* context);

}  // namespace rouse::cuda
