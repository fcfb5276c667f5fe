// From the runtime's notion of a current device, a stream handle or an error code to the client core's objects.
// Everything but attach() may be called only after a successful attach(). Any thread.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "client-shim/core/device.h"
#include "client-shim/core/process.h"
#include "client-shim/cudart/thread_state.h"
#include "schemas/base/cuda_error.h"

namespace rouse::client {
class Event;
class MemoryPool;
class Stream;
}  // namespace rouse::client

namespace rouse::cudart {

constexpr cudaError_t toCuda(CudaError error) { return static_cast<cudaError_t>(error); }

inline cudaError_t attach() { return toCuda(client::Process::get().attach()); }

// The device of threads that reach a device before they have chosen one: cudaSetValidDevices may change it.
int defaultDevice();
void setDefaultDevice(int device);

// The calling thread's choice, or the default.
inline int currentDeviceIndex() {
  return threadState.chosenDevice != 0 ? threadState.chosenDevice - 1 : defaultDevice();
}

// Makes the primary context of a device current.
void enterDevice(client::Device& device);
client::Device& selectDevice();
inline client::Device& currentDevice() { return threadState.device != nullptr ? *threadState.device : selectDevice(); }

// Whether a thread has had the device's context since the process began or reset the device.
bool deviceBegun(std::uint32_t device);
void setDeviceBegun(std::uint32_t device, bool begun);

// cudaErrorInvalidDevice unless there is such a device.
cudaError_t findDevice(int index, client::Device** device);

inline cudaError_t takeLatched() { return toCuda(currentDevice().asyncError()); }

// Null and cudaStreamLegacy: the current device's legacy stream; cudaStreamPerThread: the calling thread's own. Fails
// with cudaErrorInvalidResourceHandle for what is not a live stream.
cudaError_t findStreamSlowly(cudaStream_t handle, client::Stream** stream);
inline cudaError_t findStream(cudaStream_t handle, client::Stream** stream) {
  if (reinterpret_cast<std::uintptr_t>(handle) <= 1) {
    *stream = &currentDevice().legacyStream();
    return cudaSuccess;
  }
  return findStreamSlowly(handle, stream);
}

// cudaErrorInvalidResourceHandle for what is not a live event; cudaErrorInvalidValue for what is not a live pool.
cudaError_t findEvent(cudaEvent_t handle, client::Event** event);
cudaError_t findPool(cudaMemPool_t handle, client::MemoryPool** pool);

}  // namespace rouse::cudart
