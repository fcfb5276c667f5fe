// A function (CUfunction) and a kernel (CUkernel) are the runtime's kernel.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace rouse::cuda {

inline const void* kernelOf(CUfunction function) { return function; }
inline const void* kernelOf(CUkernel kernel) { return kernel; }

// CUDA_ERROR_INVALID_VALUE: there is no such attribute.
CUresult attributeOf(const cudaFuncAttributes& attributes, CUfunction_attribute attribute, int* value);

// A launch as the runtime has it: the attributes' numbers and values are the same. Points into what is given.
inline cudaLaunchConfig_t configOf(const CUlaunchConfig& config) {
  static_assert(sizeof(CUlaunchAttribute) == sizeof(cudaLaunchAttribute) && sizeof(CUlaunchAttributeValue) == sizeof(cudaLaunchAttributeValue));
  cudaLaunchConfig_t same{};
  same.gridDim = {config.gridDimX, config.gridDimY, config.gridDimZ};
  same.blockDim = {config.blockDimX, config.blockDimY, config.blockDimZ};
  same.dynamicSmemBytes = config.sharedMemBytes;
  same.stream = config.hStream;
  same.attrs = reinterpret_cast<cudaLaunchAttribute*>(config.attrs);
  same.numAttrs = config.numAttrs;
  return same;
}

}  // namespace rouse::cuda
