// CUDA Driver API, "Memory Management": memory and events of other processes. Handles are the runtime's.
#include <cstring>

#include "client-shim/cuda/call.h"
#include "client-shim/cuda/context.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {
namespace {

static_assert(sizeof(CUipcMemHandle) == sizeof(cudaIpcMemHandle_t) && sizeof(CUipcEventHandle) == sizeof(cudaIpcEventHandle_t));

}  // namespace

CUresult cuIpcGetMemHandle(CUipcMemHandle* pHandle, CUdeviceptr dptr) {
  return call([&] { return cudaIpcGetMemHandle(reinterpret_cast<cudaIpcMemHandle_t*>(pHandle), pointer(dptr)); });
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned int Flags) {
  cudaIpcMemHandle_t same;
  std::memcpy(&same, &handle, sizeof same);
  const CUresult error = call([&] { return cudaIpcOpenMemHandle(reinterpret_cast<void**>(pdptr), same, Flags); });
  if (error == CUDA_SUCCESS) own(Owned::imported, *pdptr);
  return error;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned int Flags) { return impl::cuIpcOpenMemHandle_v2(pdptr, handle, Flags); }

CUresult cuIpcCloseMemHandle(CUdeviceptr dptr) {
  const CUresult error = call([&] { return cudaIpcCloseMemHandle(pointer(dptr)); });
  if (error == CUDA_SUCCESS) disown(Owned::imported, dptr);
  return error;
}

CUresult cuIpcGetEventHandle(CUipcEventHandle* pHandle, CUevent event) {
  return call([&] { return cudaIpcGetEventHandle(reinterpret_cast<cudaIpcEventHandle_t*>(pHandle), event); });
}

CUresult cuIpcOpenEventHandle(CUevent* phEvent, CUipcEventHandle handle) {
  cudaIpcEventHandle_t same;
  std::memcpy(&same, &handle, sizeof same);
  const CUresult error = call([&] { return cudaIpcOpenEventHandle(phEvent, same); });
  if (error == CUDA_SUCCESS) own(Owned::event, *phEvent);
  return error;
}

}  // namespace rouse::cuda::impl
