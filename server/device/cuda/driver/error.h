// The driver's results as errors of Rouse.
#pragma once

#include <cuda.h>

#include <string_view>

#include "schemas/base/result.h"
#include "server/device/cuda/driver/driver_table.h"

namespace rouse::cuda {

// The same number: since CUDA 10.1 cudaError_t counts as CUresult does. The result may be a code that CudaError has no
// name for.
constexpr CudaError toCudaError(CUresult result) { return static_cast<CudaError>(result); }

// True for results after which the context, and with it the process's use of this GPU, is lost: cuda.h describes them
// with "the process must be terminated and relaunched", or they report hardware that failed.
bool isFatal(CUresult result);

// "cuMemMap: CUDA_ERROR_INVALID_VALUE (invalid argument): chunk 7 at 0x…". `what` may be empty. Any thread.
Error driverError(const Driver& driver, CUresult result, std::string_view call, std::string_view what = {});

// Success, or driverError.
Status check(const Driver& driver, CUresult result, std::string_view call, std::string_view what = {});

}  // namespace rouse::cuda
