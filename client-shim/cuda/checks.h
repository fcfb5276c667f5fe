// What an entry point makes sure of before anything else, as the driver does.
#pragma once

#include <cuda.h>

namespace rouse::cuda {

// CUDA_ERROR_NOT_INITIALIZED before cuInit, unless the runtime has attached the process.
CUresult checkDriver();
// Also CUDA_ERROR_INVALID_CONTEXT where the thread has none, CUDA_ERROR_CONTEXT_IS_DESTROYED where it is gone.
CUresult checkContext();

inline CUstream perThreadIfNull(CUstream stream) { return stream == nullptr ? CU_STREAM_PER_THREAD : stream; }

}  // namespace rouse::cuda
