// CUDA Driver API, "Graph Management": nodes of any kind, by one structure for all. Kinds have the runtime's numbers.
#include "client-shim/cuda/box_copies.h"
#include "client-shim/cuda/graph_params.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {
namespace {

static_assert(sizeof(CUgraphEdgeData) == sizeof(cudaGraphEdgeData));
static_assert(int{CU_GRAPH_NODE_TYPE_KERNEL} == cudaGraphNodeTypeKernel && int{CU_GRAPH_NODE_TYPE_WAIT_EVENT} == cudaGraphNodeTypeWaitEvent &&
              int{CU_GRAPH_NODE_TYPE_MEM_FREE} == cudaGraphNodeTypeMemFree && int{CU_GRAPH_NODE_TYPE_CONDITIONAL} == cudaGraphNodeTypeConditional);

// Kinds that are not served stay what they are, for the runtime to refuse by their number.
CUresult runtimeParams(const CUgraphNodeParams& from, cudaGraphNodeParams* to) {
  to->type = static_cast<cudaGraphNodeType>(from.type);
  switch (from.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const CUDA_KERNEL_NODE_PARAMS_v3& kernel = from.kernel;
      to->kernel.func = const_cast<void*>(kernel.func != nullptr ? kernelOf(kernel.func) : kernelOf(kernel.kern));
      to->kernel.gridDim = {kernel.gridDimX, kernel.gridDimY, kernel.gridDimZ};
      to->kernel.blockDim = {kernel.blockDimX, kernel.blockDimY, kernel.blockDimZ};
      to->kernel.sharedMemBytes = kernel.sharedMemBytes;
      to->kernel.kernelParams = kernel.kernelParams;
      to->kernel.extra = kernel.extra;
      return CUDA_SUCCESS;
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      to->memcpy.flags = from.memcpy.flags;
      return boxOf(from.memcpy.copyParams, &to->memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const CUDA_MEMSET_NODE_PARAMS_v2& fill = from.memset;
      to->memset = {pointer(fill.dst), fill.pitch, fill.value, fill.elementSize, fill.width, fill.height};
      return CUDA_SUCCESS;
    }
    case CU_GRAPH_NODE_TYPE_HOST:
      to->host = {from.host.fn, from.host.userData};
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_GRAPH:
      to->graph.graph = from.graph.graph;
      to->graph.ownership = static_cast<cudaGraphChildGraphNodeOwnership>(from.graph.ownership);
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      to->eventWait.event = from.eventWait.event;
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      to->eventRecord.event = from.eventRecord.event;
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      to->alloc.poolProps = reinterpret_cast<const cudaMemPoolProps&>(from.alloc.poolProps);
      to->alloc.accessDescs = reinterpret_cast<const cudaMemAccessDesc*>(from.alloc.accessDescs);
      to->alloc.accessDescCount = from.alloc.accessDescCount;
      to->alloc.bytesize = from.alloc.bytesize;
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      to->free.dptr = pointer(from.free.dptr);
      return CUDA_SUCCESS;
    default:
      return CUDA_SUCCESS;
  }
}

// Null: the current one.
CUcontext contextOf(const CUgraphNodeParams& params) {
  switch (params.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return params.kernel.func == nullptr ? params.kernel.ctx : nullptr;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return params.memcpy.copyCtx;
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return params.memset.ctx;
    default:
      return nullptr;
  }
}

// `body` with the runtime's parameters; what it says in them is handed back.
template <class Body>
CUresult with(CUgraphNodeParams* params, Body&& body) {
  cudaGraphNodeParams same{};
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = runtimeParams(*params, &same); error != CUDA_SUCCESS) return error;
  const auto run = [&] { return body(&same); };
  const CUcontext context = contextOf(*params);
  const CUresult error = context != nullptr ? callIn(context, run) : call(run);
  if (error != CUDA_SUCCESS) return error;
  if (params->type == CU_GRAPH_NODE_TYPE_GRAPH) params->graph.graph = same.graph.graph;
  if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) params->alloc.dptr = address(same.alloc.dptr);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuGraphAddNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, size_t numDependencies, CUgraphNodeParams* nodeParams) {
  return impl::cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, nullptr, numDependencies, nodeParams);
}

CUresult cuGraphAddNode_v2(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies, const CUgraphEdgeData* dependencyData,
                           size_t numDependencies, CUgraphNodeParams* nodeParams) {
  return with(nodeParams, [&](cudaGraphNodeParams* params) {
    return cudaGraphAddNode(phGraphNode, hGraph, dependencies, reinterpret_cast<const cudaGraphEdgeData*>(dependencyData), numDependencies, params);
  });
}

CUresult cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams* nodeParams) {
  return with(nodeParams, [&](cudaGraphNodeParams* params) { return cudaGraphNodeSetParams(hNode, params); });
}

CUresult cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraphNodeParams* nodeParams) {
  return with(nodeParams, [&](cudaGraphNodeParams* params) { return cudaGraphExecNodeSetParams(hGraphExec, hNode, params); });
}

}  // namespace rouse::cuda::impl
