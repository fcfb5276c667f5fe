// A function (CUfunction) and a kernel (CUkernel) are the runtime's kernel.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace rouse::cuda {

inline const void* kernelOf(CUfunction function) { return function; }
inline const void* kernelOf(CUkernel kernel) { return kernel; }

// CUDA_ERROR_INVALID_VALUE: there is no such attribute.
CUresult attributeOf(const cudaFuncAttributes& attributes, CUfunction_attribute attribute, int* value);

}  // namespace rouse::cuda
