// Parameters of graphs' nodes, as the runtime has them.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "client-shim/cuda/call.h"
#include "client-shim/cuda/functions.h"

namespace rouse::cuda {

// A kernel takes the place of a function that is not named.
inline cudaKernelNodeParams kernelNode(const CUDA_KERNEL_NODE_PARAMS& from) {
  const void* const kernel = from.func != nullptr ? kernelOf(from.func) : kernelOf(from.kern);
  return {const_cast<void*>(kernel),
          {from.gridDimX, from.gridDimY, from.gridDimZ},
          {from.blockDimX, from.blockDimY, from.blockDimZ},
          from.sharedMemBytes,
          from.kernelParams,
          from.extra};
}

inline cudaMemsetParams memsetNode(const CUDA_MEMSET_NODE_PARAMS& from) {
  return {pointer(from.dst), from.pitch, from.value, from.elementSize, from.width, from.height};
}

inline cudaHostNodeParams hostNode(const CUDA_HOST_NODE_PARAMS& from) { return {from.fn, from.userData}; }

}  // namespace rouse::cuda
