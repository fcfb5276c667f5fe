// CUDA Driver API, "Graph Management": instantiated graphs. Flags and results are the runtime's.
#include "client-shim/cuda/call.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {
namespace {

static_assert(sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS) == sizeof(cudaGraphInstantiateParams));
static_assert(sizeof(CUgraphExecUpdateResultInfo) == sizeof(cudaGraphExecUpdateResultInfo));

}  // namespace

// Up to CUDA 11 there were a node and a text for what is wrong with the graph.
CUresult cuGraphInstantiate(CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode, char* logBuffer, size_t bufferSize) {
  if (phErrorNode != nullptr) *phErrorNode = nullptr;
  if (logBuffer != nullptr && bufferSize != 0) *logBuffer = '\0';
  return impl::cuGraphInstantiateWithFlags(phGraphExec, hGraph, 0);
}

CUresult cuGraphInstantiate_v2(CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode, char* logBuffer, size_t bufferSize) {
  return impl::cuGraphInstantiate(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

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

CUresult cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode* hErrorNode_out, CUgraphExecUpdateResult* updateResult_out) {
  CUgraphExecUpdateResultInfo info{};
  const CUresult error = impl::cuGraphExecUpdate_v2(hGraphExec, hGraph, &info);
  if (hErrorNode_out != nullptr) *hErrorNode_out = info.errorNode;
  if (updateResult_out != nullptr) *updateResult_out = info.result;
  return error;
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

}  // namespace rouse::cuda::impl
