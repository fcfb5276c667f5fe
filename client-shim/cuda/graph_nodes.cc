// CUDA Driver API, "Graph Management": nodes of each kind, and their parameters.
#include "client-shim/cuda/box_copies.h"
#include "client-shim/cuda/call.h"
#include "client-shim/cuda/context.h"
#include "client-shim/cuda/graph_params.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {
namespace {

// Copies and fills name the context that they are in.
template <class Body>
CUresult in(CUcontext handle, Body&& body) {
  Context* const context = findContext(handle);
  if (context == nullptr || context->destroyed) return CUDA_ERROR_INVALID_CONTEXT;
  return within(context, [&] { return call(body); });
}

}  // namespace

CUresult cuGraphAddEmptyNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, size_t numDependencies) {
  return call([&] { return cudaGraphAddEmptyNode(phGraphNode, hGraph, dependencies, numDependencies); });
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, size_t numDependencies, CUgraph childGraph) {
  return call([&] { return cudaGraphAddChildGraphNode(phGraphNode, hGraph, dependencies, numDependencies, childGraph); });
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph* phGraph) {
  return call([&] { return cudaGraphChildGraphNodeGetGraph(hNode, phGraph); });
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, size_t numDependencies, CUevent event) {
  return call([&] { return cudaGraphAddEventRecordNode(phGraphNode, hGraph, dependencies, numDependencies, event); });
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode hNode, CUevent* event_out) {
  return call([&] { return cudaGraphEventRecordNodeGetEvent(hNode, event_out); });
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode hNode, CUevent event) {
  return call([&] { return cudaGraphEventRecordNodeSetEvent(hNode, event); });
}

CUresult cuGraphAddEventWaitNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, size_t numDependencies, CUevent event) {
  return call([&] { return cudaGraphAddEventWaitNode(phGraphNode, hGraph, dependencies, numDependencies, event); });
}

CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode hNode, CUevent* event_out) {
  return call([&] { return cudaGraphEventWaitNodeGetEvent(hNode, event_out); });
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode hNode, CUevent event) {
  return call([&] { return cudaGraphEventWaitNodeSetEvent(hNode, event); });
}

CUresult cuGraphAddHostNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, size_t numDependencies,
                            const CUDA_HOST_NODE_PARAMS* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaHostNodeParams same = hostNode(*nodeParams);
  return call([&] { return cudaGraphAddHostNode(phGraphNode, hGraph, dependencies, numDependencies, &same); });
}

CUresult cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS* nodeParams) {
  cudaHostNodeParams found;
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult error = call([&] { return cudaGraphHostNodeGetParams(hNode, &found); });
  if (error == CUDA_SUCCESS) *nodeParams = {found.fn, found.userData};
  return error;
}

CUresult cuGraphHostNodeSetParams(CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaHostNodeParams same = hostNode(*nodeParams);
  return call([&] { return cudaGraphHostNodeSetParams(hNode, &same); });
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

CUresult cuGraphAddMemsetNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, size_t numDependencies,
                              const CUDA_MEMSET_NODE_PARAMS* memsetParams, CUcontext ctx) {
  if (memsetParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaMemsetParams same = memsetNode(*memsetParams);
  return in(ctx, [&] { return cudaGraphAddMemsetNode(phGraphNode, hGraph, dependencies, numDependencies, &same); });
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS* nodeParams) {
  cudaMemsetParams found;
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult error = call([&] { return cudaGraphMemsetNodeGetParams(hNode, &found); });
  if (error == CUDA_SUCCESS) *nodeParams = {address(found.dst), found.pitch, found.value, found.elementSize, found.width, found.height};
  return error;
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaMemsetParams same = memsetNode(*nodeParams);
  return call([&] { return cudaGraphMemsetNodeSetParams(hNode, &same); });
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, size_t numDependencies,
                              const CUDA_MEMCPY3D* copyParams, CUcontext ctx) {
  cudaMemcpy3DParms same;
  if (copyParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = boxOf(*copyParams, &same); error != CUDA_SUCCESS) return error;
  return in(ctx, [&] { return cudaGraphAddMemcpyNode(phGraphNode, hGraph, dependencies, numDependencies, &same); });
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D* nodeParams) {
  cudaMemcpy3DParms same;
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = boxOf(*nodeParams, &same); error != CUDA_SUCCESS) return error;
  return call([&] { return cudaGraphMemcpyNodeSetParams(hNode, &same); });
}

}  // namespace rouse::cuda::impl
