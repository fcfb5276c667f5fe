// How a function of the driver is served by the runtime's.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace rouse::cuda {

// Numbers from 100 on mean the same in both; those below are arguments that the runtime names more closely than the driver does.
inline CUresult toDriver(cudaError_t error) {
  switch (error) {
    case cudaErrorInvalidDeviceFunction:
      return CUDA_ERROR_INVALID_HANDLE;
    case cudaErrorInvalidSymbol:
      return CUDA_ERROR_NOT_FOUND;
    case cudaErrorInsufficientDriver:
      return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
    default:
      if (error >= 100 || error <= cudaErrorCudartUnloading || error == cudaErrorDevicesUnavailable) return static_cast<CUresult>(error);
      return CUDA_ERROR_INVALID_VALUE;
  }
}

// Runs `body`, a call of the runtime. Its failure is not left as the runtime's last error: the driver's calls do not set that.
template <class Body>
CUresult call(Body&& body) {
  const cudaError_t before = cudaPeekAtLastError();
  const cudaError_t error = body();
  if (error != cudaSuccess && before == cudaSuccess) (void)cudaGetLastError();
  return toDriver(error);
}

// NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's addresses are numbers
inline void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }
inline CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

}  // namespace rouse::cuda
