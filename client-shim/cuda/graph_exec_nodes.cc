// CUDA Driver API, "Graph Management": parameters of single nodes of an instantiated graph.
#include "client-shim/cuda/box_copies.h"
#include "client-shim/cuda/graph_params.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_KERNEL_NODE_PARAMS same = today(*nodeParams);
  return impl::cuGraphExecKernelNodeSetParams_v2(hGraphExec, hNode, &same);
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaKernelNodeParams same = kernelNode(*nodeParams);
  return call([&] { return cudaGraphExecKernelNodeSetParams(hGraphExec, hNode, &same); });
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_MEMCPY3D* copyParams, CUcontext ctx) {
  cudaMemcpy3DParms same;
  if (copyParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = boxOf(*copyParams, &same); error != CUDA_SUCCESS) return error;
  return callIn(ctx, [&] { return cudaGraphExecMemcpyNodeSetParams(hGraphExec, hNode, &same); });
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS* memsetParams, CUcontext ctx) {
  if (memsetParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaMemsetParams same = memsetNode(*memsetParams);
  return callIn(ctx, [&] { return cudaGraphExecMemsetNodeSetParams(hGraphExec, hNode, &same); });
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaHostNodeParams same = hostNode(*nodeParams);
  return call([&] { return cudaGraphExecHostNodeSetParams(hGraphExec, hNode, &same); });
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraph childGraph) {
  return call([&] { return cudaGraphExecChildGraphNodeSetParams(hGraphExec, hNode, childGraph); });
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event) {
  return call([&] { return cudaGraphExecEventRecordNodeSetEvent(hGraphExec, hNode, event); });
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event) {
  return call([&] { return cudaGraphExecEventWaitNodeSetEvent(hGraphExec, hNode, event); });
}

}  // namespace rouse::cuda::impl
