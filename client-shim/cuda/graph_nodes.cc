// CUDA Driver API, "Graph Management": nodes of each kind but kernels, and their parameters.
#include "client-shim/cuda/box_copies.h"
#include "client-shim/cuda/call.h"
#include "client-shim/cuda/graph_params.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {
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

CUresult cuGraphAddMemsetNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, size_t numDependencies,
                              const CUDA_MEMSET_NODE_PARAMS* memsetParams, CUcontext ctx) {
  if (memsetParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaMemsetParams same = memsetNode(*memsetParams);
  return callIn(ctx, [&] { return cudaGraphAddMemsetNode(phGraphNode, hGraph, dependencies, numDependencies, &same); });
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
  return callIn(ctx, [&] { return cudaGraphAddMemcpyNode(phGraphNode, hGraph, dependencies, numDependencies, &same); });
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D* nodeParams) {
  cudaMemcpy3DParms found;
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = call([&] { return cudaGraphMemcpyNodeGetParams(hNode, &found); }); error != CUDA_SUCCESS) return error;
  return copyOf(found, nodeParams);
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D* nodeParams) {
  cudaMemcpy3DParms same;
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = boxOf(*nodeParams, &same); error != CUDA_SUCCESS) return error;
  return call([&] { return cudaGraphMemcpyNodeSetParams(hNode, &same); });
}

CUresult cuGraphAddMemAllocNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, size_t numDependencies,
                                CUDA_MEM_ALLOC_NODE_PARAMS* nodeParams) {
  return call([&] {
    return cudaGraphAddMemAllocNode(phGraphNode, hGraph, dependencies, numDependencies, reinterpret_cast<cudaMemAllocNodeParams*>(nodeParams));
  });
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS* params_out) {
  return call([&] { return cudaGraphMemAllocNodeGetParams(hNode, reinterpret_cast<cudaMemAllocNodeParams*>(params_out)); });
}

CUresult cuGraphAddMemFreeNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, size_t numDependencies, CUdeviceptr dptr) {
  return call([&] { return cudaGraphAddMemFreeNode(phGraphNode, hGraph, dependencies, numDependencies, pointer(dptr)); });
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode hNode, CUdeviceptr* dptr_out) {
  return call([&] { return cudaGraphMemFreeNodeGetParams(hNode, dptr_out); });
}

}  // namespace rouse::cuda::impl
