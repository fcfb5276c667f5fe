// CUDA Driver API, "Graph Management": instantiated graphs. Flags and results are the runtime's.
#include "client-shim/cuda/call.h"
#include "client-shim/cuda/context.h"
#include "client-shim/cuda/graph_params.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {
namespace {

static_assert(sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS) == sizeof(cudaGraphInstantiateParams));
static_assert(sizeof(CUgraphExecUpdateResultInfo) == sizeof(cudaGraphExecUpdateResultInfo));

}  // namespace

CUresult cuGraphInstantiateWithFlags(CUgraphExec* phGraphExec, CUgraph hGraph, unsigned long long flags) {
  return call([&] { return cudaGraphInstantiateWithFlags(phGraphExec, hGraph, flags); });
}

// The stream is one to upload in; the thread's own where the program's null stream is that.
CUresult cuGraphInstantiateWithParams(CUgraphExec* phGraphExec, CUgraph hGraph, CUDA_GRAPH_INSTANTIATE_PARAMS* instantiateParams, CUstream defaultStream) {
  if (instantiateParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUstream named = instantiateParams->hUploadStream;
  if (named == nullptr) instantiateParams->hUploadStream = defaultStream;
  const CUresult error =
      call([&] { return cudaGraphInstantiateWithParams(phGraphExec, hGraph, reinterpret_cast<cudaGraphInstantiateParams*>(instantiateParams)); });
  instantiateParams->hUploadStream = named;
  return error;
}

CUresult cuGraphLaunch(CUgraphExec hGraph, CUstream hStream) {
  return call([&] { return cudaGraphLaunch(hGraph, hStream); });
}

CUresult cuGraphUpload(CUgraphExec hGraph, CUstream hStream) {
  return call([&] { return cudaGraphUpload(hGraph, hStream); });
}

CUresult cuGraphExecDestroy(CUgraphExec hGraphExec) {
  return call([&] { return cudaGraphExecDestroy(hGraphExec); });
}

CUresult cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t* flags) {
  return call([&] { return cudaGraphExecGetFlags(hGraphExec, reinterpret_cast<unsigned long long*>(flags)); });
}

CUresult cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphExecUpdateResultInfo* resultInfo) {
  return call([&] { return cudaGraphExecUpdate(hGraphExec, hGraph, reinterpret_cast<cudaGraphExecUpdateResultInfo*>(resultInfo)); });
}

CUresult cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int* isEnabled) {
  return call([&] { return cudaGraphNodeGetEnabled(hGraphExec, hNode, isEnabled); });
}

CUresult cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled) {
  return call([&] { return cudaGraphNodeSetEnabled(hGraphExec, hNode, isEnabled); });
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaKernelNodeParams same = kernelNode(*nodeParams);
  return call([&] { return cudaGraphExecKernelNodeSetParams(hGraphExec, hNode, &same); });
}

}  // namespace rouse::cuda::impl
