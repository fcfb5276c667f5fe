// CUDA Runtime API, "Graph Management": parameters of single nodes of an instantiated graph, named by the nodes it was made from.
#include "client-shim/cudart/graph/arguments.h"
#include "client-shim/cudart/graph/exec.h"
#include "client-shim/cudart/implementations.h"

namespace rouse::cudart::impl {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace)

cudaError_t findTwin(cudaGraphExec_t handle, cudaGraphNode_t original, Exec** exec, Node** twin) {
  *exec = findExec(handle);
  Node* node = nullptr;
  if (*exec == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = need(original, &node); error != cudaSuccess) return error;
  *twin = (*exec)->find(*node);
  return *twin != nullptr ? cudaSuccess : cudaErrorInvalidValue;
}

template <class Kind, class Read>
cudaError_t change(cudaGraphExec_t handle, cudaGraphNode_t original, Read&& read) {
  const auto lock = lockGraphs();
  Exec* exec = nullptr;
  Node* twin = nullptr;
  if (const cudaError_t error = findTwin(handle, original, &exec, &twin); error != cudaSuccess) return error;
  Kind* params = nullptr;
  if (const cudaError_t error = need(*twin, &params); error != cudaSuccess) return error;
  Kind changed = *params;
  if (const cudaError_t error = read(&changed, twin); error != cudaSuccess) return error;
  return exec->change(twin, std::move(changed));
}

cudaError_t checkEvent(cudaEvent_t event) {
  client::Event* found = nullptr;
  return findEvent(event, &found);
}

}  // namespace

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, const cudaKernelNodeParams* pNodeParams) {
  return change<KernelParams>(hGraphExec, node,
                              [&](KernelParams* params, Node* twin) { return readKernel(*pNodeParams, *twin->device, params); });
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, const cudaMemcpy3DParms* pNodeParams) {
  return change<CopyParams>(hGraphExec, node, [&](CopyParams* params, Node*) { return readCopy(*pNodeParams, params); });
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, void* dst, const void* src, size_t count,
                                               cudaMemcpyKind kind) {
  return change<CopyParams>(hGraphExec, node,
                            [&](CopyParams* params, Node*) { return readCopy(flatCopy(dst, src, count, kind), params); });
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, void* dst, const void* symbol,
                                                       size_t count, size_t offset, cudaMemcpyKind kind) {
  return change<CopyParams>(hGraphExec, node, [&](CopyParams* params, Node*) {
    void* address = nullptr;
    const cudaError_t error = symbolBytes(symbol, count, offset, &address);
    return error == cudaSuccess ? readCopy(flatCopy(dst, address, count, kind), params) : error;
  });
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, const void* symbol, const void* src,
                                                     size_t count, size_t offset, cudaMemcpyKind kind) {
  return change<CopyParams>(hGraphExec, node, [&](CopyParams* params, Node*) {
    void* address = nullptr;
    const cudaError_t error = symbolBytes(symbol, count, offset, &address);
    return error == cudaSuccess ? readCopy(flatCopy(address, src, count, kind), params) : error;
  });
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, const cudaMemsetParams* pNodeParams) {
  return change<FillParams>(hGraphExec, node, [&](FillParams* params, Node*) { return readFill(*pNodeParams, params); });
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, const cudaHostNodeParams* pNodeParams) {
  return change<HostParams>(hGraphExec, node, [&](HostParams* params, Node*) { return readHost(*pNodeParams, params); });
}

cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, cudaEvent_t event) {
  return change<RecordParams>(hGraphExec, hNode, [&](RecordParams* params, Node*) {
    params->event = event;
    return checkEvent(event);
  });
}

cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, cudaEvent_t event) {
  return change<WaitParams>(hGraphExec, hNode, [&](WaitParams* params, Node*) {
    params->event = event;
    return checkEvent(event);
  });
}

cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, cudaGraph_t childGraph) {
  const auto lock = lockGraphs();
  Exec* exec = nullptr;
  Node* twin = nullptr;
  Graph* source = nullptr;
  if (const cudaError_t error = findTwin(hGraphExec, node, &exec, &twin); error != cudaSuccess) return error;
  if (const cudaError_t error = need(childGraph, &source); error != cudaSuccess) return error;
  const auto* child = std::get_if<ChildParams>(&twin->params);
  if (child == nullptr) return cudaErrorInvalidValue;
  return exec->updateChild(*child->graph, *source);
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t graphExec, cudaGraphNode_t node, cudaGraphNodeParams* nodeParams) {
  if (nodeParams->type == cudaGraphNodeTypeGraph) return impl::cudaGraphExecChildGraphNodeSetParams(graphExec, node, nodeParams->graph.graph);
  const auto lock = lockGraphs();
  Exec* exec = nullptr;
  Node* twin = nullptr;
  if (const cudaError_t error = findTwin(graphExec, node, &exec, &twin); error != cudaSuccess) return error;
  if (twin->type() != nodeParams->type) return cudaErrorInvalidValue;
  if (std::holds_alternative<LibraryParams>(twin->params)) return refuseLibraryNode();
  Params params;
  if (const cudaError_t error = readParams(*nodeParams, &twin->params, &params); error != cudaSuccess) return error;
  return exec->change(twin, std::move(params));
}

}  // namespace rouse::cudart::impl
