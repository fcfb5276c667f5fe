// CUDA Runtime API, "Graph Management": instantiated graphs.
#include "client-shim/cudart/graph/arguments.h"
#include "client-shim/cudart/graph/capture.h"
#include "client-shim/cudart/graph/exec.h"
#include "client-shim/cudart/implementations.h"

namespace rouse::cudart::impl {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace)

constexpr unsigned long long kKnownFlags = cudaGraphInstantiateFlagAutoFreeOnLaunch | cudaGraphInstantiateFlagUpload |
                                           cudaGraphInstantiateFlagDeviceLaunch | cudaGraphInstantiateFlagUseNodePriority;

cudaError_t needExec(cudaGraphExec_t handle, Exec** exec) {
  *exec = findExec(handle);
  return *exec != nullptr ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t instantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long flags, Node** culprit, cudaGraphInstantiateResult* result) {
  *result = cudaGraphInstantiateError;
  if ((flags & ~kKnownFlags) != 0) return cudaErrorInvalidValue;
  if ((flags & cudaGraphInstantiateFlagDeviceLaunch) != 0) return cudaErrorNotSupported;  // kernels launch nothing here
  Graph* found = nullptr;
  if (const cudaError_t error = need(graph, &found); error != cudaSuccess) return error;
  if (found->capturing) return cudaErrorInvalidValue;
  // "If graph contains any allocation or free nodes, there can be at most one executable graph in existence for that graph at a time."
  if (hasMemoryNodes(*found) && instanceOf(*found) != nullptr) return cudaErrorNotSupported;
  std::unique_ptr<Exec> exec;
  if (const cudaError_t error = Exec::make(*found, flags, &exec, culprit, result); error != cudaSuccess) return error;
  *made = keep(std::move(exec));
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* pGraphExec, cudaGraph_t graph, unsigned long long flags) {
  const auto lock = lockGraphs();
  Node* culprit = nullptr;
  cudaGraphInstantiateResult result{};
  return instantiate(pGraphExec, graph, flags, &culprit, &result);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* pGraphExec, cudaGraph_t graph, unsigned long long flags) {
  return impl::cudaGraphInstantiateWithFlags(pGraphExec, graph, flags);
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* pGraphExec, cudaGraph_t graph, cudaGraphInstantiateParams* instantiateParams,
                                           cudaStream_t) {
  const auto lock = lockGraphs();
  Node* culprit = nullptr;
  const cudaError_t error = instantiate(pGraphExec, graph, instantiateParams->flags, &culprit, &instantiateParams->result_out);
  instantiateParams->errNode_out = culprit != nullptr ? culprit->handle() : nullptr;
  return error;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream) {
  client::Stream* found = nullptr;
  if (const cudaError_t error = findStream(stream, &found); error != cudaSuccess) return error;
  const auto lock = lockGraphs();
  Exec* exec = nullptr;
  if (const cudaError_t error = needExec(graphExec, &exec); error != cudaSuccess) return error;
  // CUDA captures no launches: the way to a child is cudaGraphAddChildGraphNode.
  if (const cudaError_t error = refuseCaptured(*found); error != cudaSuccess) return error;
  return exec->launch(*found);
}

// Nothing has to be on the device before a launch but the definition.
cudaError_t cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream) {
  client::Stream* found = nullptr;
  if (const cudaError_t error = findStream(stream, &found); error != cudaSuccess) return error;
  const auto lock = lockGraphs();
  Exec* exec = nullptr;
  if (const cudaError_t error = needExec(graphExec, &exec); error != cudaSuccess) return error;
  if (const cudaError_t error = refuseCaptured(*found); error != cudaSuccess) return error;
  return exec->upload();
}

// Potentially unsafe while a stream captures, as cudaFree is: it gives memory back.
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec) {
  const auto lock = lockGraphs();
  if (const cudaError_t error = checkUnsafe(); error != cudaSuccess) return error;
  Exec* exec = nullptr;
  if (const cudaError_t error = needExec(graphExec, &exec); error != cudaSuccess) return error;
  (void)forget(exec);
  return cudaSuccess;
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t graphExec, unsigned long long* flags) {
  const auto lock = lockGraphs();
  Exec* exec = nullptr;
  if (const cudaError_t error = needExec(graphExec, &exec); error != cudaSuccess) return error;
  *flags = exec->flags() & ~static_cast<unsigned long long>(cudaGraphInstantiateFlagUpload);
  return cudaSuccess;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph, cudaGraphExecUpdateResultInfo* resultInfo) {
  const auto lock = lockGraphs();
  Exec* exec = nullptr;
  Graph* graph = nullptr;
  *resultInfo = {cudaGraphExecUpdateError, nullptr, nullptr};
  if (const cudaError_t error = needExec(hGraphExec, &exec); error != cudaSuccess) return error;
  if (const cudaError_t error = need(hGraph, &graph); error != cudaSuccess) return error;
  return exec->update(*graph, resultInfo);
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned int* isEnabled) {
  const auto lock = lockGraphs();
  Exec* exec = nullptr;
  Node* node = nullptr;
  if (const cudaError_t error = needExec(hGraphExec, &exec); error != cudaSuccess) return error;
  if (const cudaError_t error = need(hNode, &node); error != cudaSuccess) return error;
  const Node* twin = exec->find(*node);
  if (twin == nullptr) return cudaErrorInvalidValue;
  *isEnabled = twin->enabled ? 1 : 0;
  return cudaSuccess;
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned int isEnabled) {
  const auto lock = lockGraphs();
  Exec* exec = nullptr;
  Node* node = nullptr;
  if (const cudaError_t error = needExec(hGraphExec, &exec); error != cudaSuccess) return error;
  if (const cudaError_t error = need(hNode, &node); error != cudaSuccess) return error;
  Node* twin = exec->find(*node);
  if (twin == nullptr) return cudaErrorInvalidValue;
  // "Currently only kernel, memset and memcpy nodes are supported."
  const cudaGraphNodeType type = twin->type();
  if (type != cudaGraphNodeTypeKernel && type != cudaGraphNodeTypeMemset && type != cudaGraphNodeTypeMemcpy) return cudaErrorInvalidValue;
  return exec->enable(twin, isEnabled != 0);
}

}  // namespace rouse::cudart::impl
