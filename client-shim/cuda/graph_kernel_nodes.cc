// CUDA Driver API, "Graph Management": nodes of kernels. Up to CUDA 11 their parameters end before the kernel (CUkernel) and the context.
#include "client-shim/cuda/call.h"
#include "client-shim/cuda/graph_params.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {
namespace {

static_assert(sizeof(CUkernelNodeAttrValue) == sizeof(cudaLaunchAttributeValue));

}  // namespace

CUresult cuGraphAddKernelNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, size_t numDependencies,
                              const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_KERNEL_NODE_PARAMS same = today(*nodeParams);
  return impl::cuGraphAddKernelNode_v2(phGraphNode, hGraph, dependencies, numDependencies, &same);
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  CUDA_KERNEL_NODE_PARAMS found;
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = impl::cuGraphKernelNodeGetParams_v2(hNode, &found); error != CUDA_SUCCESS) return error;
  *nodeParams = {found.func,      found.gridDimX,  found.gridDimY,       found.gridDimZ,     found.blockDimX,
                 found.blockDimY, found.blockDimZ, found.sharedMemBytes, found.kernelParams, found.extra};
  return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_KERNEL_NODE_PARAMS same = today(*nodeParams);
  return impl::cuGraphKernelNodeSetParams_v2(hNode, &same);
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, size_t numDependencies,
                                 const CUDA_KERNEL_NODE_PARAMS* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaKernelNodeParams same = kernelNode(*nodeParams);
  return call([&] { return cudaGraphAddKernelNode(phGraphNode, hGraph, dependencies, numDependencies, &same); });
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS* nodeParams) {
  cudaKernelNodeParams found;
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = call([&] { return cudaGraphKernelNodeGetParams(hNode, &found); }); error != CUDA_SUCCESS) return error;
  *nodeParams = {};
  // The runtime names kernels of the program by their addresses there, the driver by a handle.
  cudaKernel_t handle = nullptr;
  if (const CUresult error = call([&] { return cudaGetKernel(&handle, found.func); }); error != CUDA_SUCCESS) return error;
  nodeParams->func = reinterpret_cast<CUfunction>(handle);
  nodeParams->gridDimX = found.gridDim.x;
  nodeParams->gridDimY = found.gridDim.y;
  nodeParams->gridDimZ = found.gridDim.z;
  nodeParams->blockDimX = found.blockDim.x;
  nodeParams->blockDimY = found.blockDim.y;
  nodeParams->blockDimZ = found.blockDim.z;
  nodeParams->sharedMemBytes = found.sharedMemBytes;
  nodeParams->kernelParams = found.kernelParams;
  nodeParams->extra = found.extra;
  return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaKernelNodeParams same = kernelNode(*nodeParams);
  return call([&] { return cudaGraphKernelNodeSetParams(hNode, &same); });
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src) {
  return call([&] { return cudaGraphKernelNodeCopyAttributes(dst, src); });
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr, CUkernelNodeAttrValue* value_out) {
  return call([&] {
    return cudaGraphKernelNodeGetAttribute(hNode, static_cast<cudaLaunchAttributeID>(attr), reinterpret_cast<cudaLaunchAttributeValue*>(value_out));
  });
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr, const CUkernelNodeAttrValue* value) {
  return call([&] {
    return cudaGraphKernelNodeSetAttribute(hNode, static_cast<cudaLaunchAttributeID>(attr), reinterpret_cast<const cudaLaunchAttributeValue*>(value));
  });
}

}  // namespace rouse::cuda::impl
