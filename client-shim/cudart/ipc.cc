// CUDA Runtime API, "Device Management": memory and events of other processes.
#include <cstring>

#include "client-shim/core/interprocess.h"
#include "client-shim/core/session.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/session.h"
#include "schemas/wire/ipc_handle.h"

namespace rouse::cudart::impl {
namespace {

static_assert(sizeof(cudaIpcMemHandle_t) == wire::kIpcHandleBytes && sizeof(cudaIpcEventHandle_t) == wire::kIpcHandleBytes);

client::Interprocess& interprocess() { return currentDevice().session().interprocess(); }

template <class Handle>
wire::IpcHandle read(const Handle& from) {
  wire::IpcHandle handle;
  std::memcpy(&handle, &from, sizeof handle);
  return handle;
}

template <class Handle>
cudaError_t tell(CudaError error, const wire::IpcHandle& handle, Handle* to) {
  if (error == CudaError::success) std::memcpy(to, &handle, sizeof handle);
  return toCuda(error);
}

}  // namespace

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* devPtr) {
  wire::IpcHandle made;
  const CudaError error = interprocess().exportMemory(reinterpret_cast<std::uint64_t>(devPtr), &made);
  return tell(error, made, handle);
}

cudaError_t cudaIpcOpenMemHandle(void** devPtr, cudaIpcMemHandle_t handle, unsigned int flags) {
  // "flags: Must be specified as cudaIpcMemLazyEnablePeerAccess." Both are on one GPU here, with either.
  if ((flags & ~cudaIpcMemLazyEnablePeerAccess) != 0) return cudaErrorInvalidValue;
  const wire::IpcHandle given = read(handle);
  if (!given.wellFormed(wire::IpcKind::memory)) return cudaErrorInvalidValue;
  std::uint64_t address = 0;
  const CudaError error = interprocess().openMemory(currentDevice(), given, &address);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): another window's addresses are this program's as well
  if (error == CudaError::success) *devPtr = reinterpret_cast<void*>(address);
  return toCuda(error);
}

cudaError_t cudaIpcCloseMemHandle(void* devPtr) {
  return toCuda(interprocess().closeMemory(reinterpret_cast<std::uint64_t>(devPtr)));
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event) {
  client::Event* found = nullptr;
  if (const cudaError_t error = findEvent(event, &found); error != cudaSuccess) return error;
  wire::IpcHandle made;
  const CudaError error = interprocess().exportEvent(*found, &made);
  return tell(error, made, handle);
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle) {
  const wire::IpcHandle given = read(handle);
  if (!given.wellFormed(wire::IpcKind::event)) return cudaErrorInvalidValue;
  client::Event* made = nullptr;
  const CudaError error = interprocess().openEvent(currentDevice(), given, &made);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an opaque number
  if (error == CudaError::success) *event = reinterpret_cast<cudaEvent_t>(made->handle());
  return toCuda(error);
}

}  // namespace rouse::cudart::impl
