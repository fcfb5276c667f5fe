// Why a device does not open, as far as an operator does something else about it. A back end gives one of these codes
// to the error that opening returns; the executor hands it to the daemon, whose exit status tells them apart
// (server/roused/start_failure.h). Any other code: none of these.
#pragma once

#include "schemas/base/cuda_error.h"

namespace rouse::memory {

// As the CUDA runtime would name them where it can; cudaError_t has a number for each.
inline constexpr auto kNoDriver = static_cast<CudaError>(303);  // cudaErrorSharedObjectInitFailed: no libcuda.so.1
inline constexpr auto kDriverTooOld = CudaError::insufficientDriver;
inline constexpr auto kNoGpu = CudaError::noDevice;
inline constexpr auto kNoSuchGpu = CudaError::invalidDevice;      // fewer GPUs than its number
inline constexpr auto kGpuTaken = CudaError::devicesUnavailable;  // exclusive or prohibited compute mode
inline constexpr auto kGpuFull = CudaError::memoryAllocation;
inline constexpr auto kNotPinned = static_cast<CudaError>(304);  // cudaErrorOperatingSystem: host memory is not locked

}  // namespace rouse::memory
