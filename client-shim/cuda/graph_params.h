// Parameters of graphs' nodes, as the runtime has them.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "client-shim/cuda/call.h"
#include "client-shim/cuda/context.h"
#include "client-shim/cuda/functions.h"

namespace rouse::cuda {

static_assert(sizeof(CUDA_MEM_ALLOC_NODE_PARAMS) == sizeof(cudaMemAllocNodeParams));

// Copies and fills name the context that they are in.
template <class Body>
CUresult callIn(CUcontext handle, Body&& body) {
  Context* const context = findContext(handle);
  if (context == nullptr || context->destroyed) return CUDA_ERROR_INVALID_CONTEXT;
  return within(context, [&] { return call(body); });
}

// Of before CUDA 12.
inline CUDA_KERNEL_NODE_PARAMS today(const CUDA_KERNEL_NODE_PARAMS_v1& old) {
  CUDA_KERNEL_NODE_PARAMS same{};
  same.func = old.func;
  same.gridDimX = old.gridDimX;
  same.gridDimY = old.gridDimY;
  same.gridDimZ = old.gridDimZ;
  same.blockDimX = old.blockDimX;
  same.blockDimY = old.blockDimY;
  same.blockDimZ = old.blockDimZ;
  same.sharedMemBytes = old.sharedMemBytes;
  same.kernelParams = old.kernelParams;
  same.extra = old.extra;
  return same;
}

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
