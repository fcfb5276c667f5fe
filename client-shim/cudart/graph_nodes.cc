// CUDA Runtime API, "Graph Management": nodes of each kind, and their parameters.
#include <cstring>

#include "client-shim/cudart/graph/arguments.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/module_registry.h"

namespace rouse::cudart::impl {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace)

// A node of its kind's parameters, read by `read` under the lock.
template <class Kind, class Read>
cudaError_t add(cudaGraphNode_t* made, cudaGraph_t graph, const cudaGraphNode_t* nodes, std::size_t count, Read&& read) {
  const auto lock = lockGraphs();
  Kind params;
  if (const cudaError_t error = read(&params); error != cudaSuccess) return error;
  return addNode(made, graph, nodes, nullptr, count, std::move(params));
}

template <class Kind, class Read>
cudaError_t set(cudaGraphNode_t handle, Read&& read) {
  const auto lock = lockGraphs();
  Node* node = nullptr;
  Kind* params = nullptr;
  if (const cudaError_t error = need(handle, &node, &params); error != cudaSuccess) return error;
  Kind changed = *params;
  if (const cudaError_t error = read(&changed, node); error != cudaSuccess) return error;
  *params = std::move(changed);
  return cudaSuccess;
}

template <class Kind, class Write>
cudaError_t get(cudaGraphNode_t handle, Write&& write) {
  const auto lock = lockGraphs();
  Node* node = nullptr;
  Kind* params = nullptr;
  if (const cudaError_t error = need(handle, &node, &params); error != cudaSuccess) return error;
  write(*params, node);
  return cudaSuccess;
}

cudaError_t checkEvent(cudaEvent_t event) {
  client::Event* found = nullptr;
  return findEvent(event, &found);
}

cudaError_t fromSymbol(CopyParams* copy, void* dst, const void* symbol, std::size_t count, std::size_t offset, cudaMemcpyKind kind) {
  void* address = nullptr;
  if (const cudaError_t error = symbolBytes(symbol, count, offset, &address); error != cudaSuccess) return error;
  return readCopy(flatCopy(dst, address, count, kind), copy);
}

cudaError_t toSymbol(CopyParams* copy, const void* symbol, const void* src, std::size_t count, std::size_t offset, cudaMemcpyKind kind) {
  void* address = nullptr;
  if (const cudaError_t error = symbolBytes(symbol, count, offset, &address); error != cudaSuccess) return error;
  return readCopy(flatCopy(address, src, count, kind), copy);
}

}  // namespace

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies, size_t numDependencies,
                                   const cudaKernelNodeParams* pNodeParams) {
  return add<KernelParams>(pGraphNode, graph, pDependencies, numDependencies,
                           [&](KernelParams* params) { return readKernel(*pNodeParams, currentDevice(), params); });
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* pNodeParams) {
  return get<KernelParams>(node, [&](KernelParams& params, Node* found) {
    params.pointers = pointersInto(params.function, *found->device, params.arguments);
    // The program's own name for it: what <<<>>> compiles to launches by a handle (cudaKernel_t), and programs look for the kernel's address.
    const Function* const function = ModuleRegistry::get().findFunction(params.function);
    const void* const named = function != nullptr && function->hostFunction != nullptr ? function->hostFunction : params.function;
    *pNodeParams = {const_cast<void*>(named), params.grid, params.block, params.sharedBytes, params.pointers.data(), nullptr};
  });
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* pNodeParams) {
  return set<KernelParams>(node, [&](KernelParams* params, Node* found) { return readKernel(*pNodeParams, *found->device, params); });
}

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t hNode, cudaLaunchAttributeID attr, const cudaLaunchAttributeValue* value) {
  return set<KernelParams>(hNode, [&](KernelParams* params, Node*) {
    switch (attr) {
      case cudaLaunchAttributeCooperative:
        params->cooperative = value->cooperative != 0;
        break;
      case cudaLaunchAttributeAccessPolicyWindow:
      case cudaLaunchAttributePriority:
      case cudaLaunchAttributeMemSyncDomain:
      case cudaLaunchAttributeMemSyncDomainMap:
      case cudaLaunchAttributePreferredSharedMemoryCarveout:
        break;  // hints
      case cudaLaunchAttributeClusterDimension:
        params->cluster = {value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
        break;
      default:
        return cudaErrorInvalidValue;
    }
    params->attributes[attr] = *value;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t hNode, cudaLaunchAttributeID attr, cudaLaunchAttributeValue* value_out) {
  return get<KernelParams>(hNode, [&](KernelParams& params, Node*) {
    const auto found = params.attributes.find(attr);
    *value_out = found != params.attributes.end() ? found->second : cudaLaunchAttributeValue{};
    if (attr == cudaLaunchAttributeCooperative) value_out->cooperative = params.cooperative ? 1 : 0;
    if (attr == cudaLaunchAttributeClusterDimension) {
      value_out->clusterDim.x = params.cluster.x;
      value_out->clusterDim.y = params.cluster.y;
      value_out->clusterDim.z = params.cluster.z;
    }
  });
}

cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t hDst, cudaGraphNode_t hSrc) {
  const auto lock = lockGraphs();
  Node* node = nullptr;
  KernelParams* source = nullptr;
  if (const cudaError_t error = need(hSrc, &node, &source); error != cudaSuccess) return error;
  return set<KernelParams>(hDst, [&](KernelParams* params, Node*) {
    params->attributes = source->attributes;
    params->cluster = source->cluster;
    params->cooperative = source->cooperative;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies, size_t numDependencies,
                                   const cudaMemcpy3DParms* pCopyParams) {
  return add<CopyParams>(pGraphNode, graph, pDependencies, numDependencies,
                         [&](CopyParams* params) { return readCopy(*pCopyParams, params); });
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                     size_t numDependencies, void* dst, const void* src, size_t count, cudaMemcpyKind kind) {
  return add<CopyParams>(pGraphNode, graph, pDependencies, numDependencies,
                         [&](CopyParams* params) { return readCopy(flatCopy(dst, src, count, kind), params); });
}

cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                             size_t numDependencies, void* dst, const void* symbol, size_t count, size_t offset,
                                             cudaMemcpyKind kind) {
  return add<CopyParams>(pGraphNode, graph, pDependencies, numDependencies,
                         [&](CopyParams* params) { return fromSymbol(params, dst, symbol, count, offset, kind); });
}

cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                           size_t numDependencies, const void* symbol, const void* src, size_t count, size_t offset,
                                           cudaMemcpyKind kind) {
  return add<CopyParams>(pGraphNode, graph, pDependencies, numDependencies,
                         [&](CopyParams* params) { return toSymbol(params, symbol, src, count, offset, kind); });
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* pNodeParams) {
  return get<CopyParams>(node, [&](CopyParams& params, Node*) { *pNodeParams = params.box; });
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* pNodeParams) {
  return set<CopyParams>(node, [&](CopyParams* params, Node*) { return readCopy(*pNodeParams, params); });
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* dst, const void* src, size_t count, cudaMemcpyKind kind) {
  return set<CopyParams>(node, [&](CopyParams* params, Node*) { return readCopy(flatCopy(dst, src, count, kind), params); });
}

cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void* dst, const void* symbol, size_t count, size_t offset,
                                                   cudaMemcpyKind kind) {
  return set<CopyParams>(node, [&](CopyParams* params, Node*) { return fromSymbol(params, dst, symbol, count, offset, kind); });
}

cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void* symbol, const void* src, size_t count, size_t offset,
                                                 cudaMemcpyKind kind) {
  return set<CopyParams>(node, [&](CopyParams* params, Node*) { return toSymbol(params, symbol, src, count, offset, kind); });
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies, size_t numDependencies,
                                   const cudaMemsetParams* pMemsetParams) {
  return add<FillParams>(pGraphNode, graph, pDependencies, numDependencies,
                         [&](FillParams* params) { return readFill(*pMemsetParams, params); });
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* pNodeParams) {
  return get<FillParams>(node, [&](FillParams& params, Node*) { *pNodeParams = params.box; });
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* pNodeParams) {
  return set<FillParams>(node, [&](FillParams* params, Node*) { return readFill(*pNodeParams, params); });
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies, size_t numDependencies,
                                 const cudaHostNodeParams* pNodeParams) {
  return add<HostParams>(pGraphNode, graph, pDependencies, numDependencies,
                         [&](HostParams* params) { return readHost(*pNodeParams, params); });
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* pNodeParams) {
  return get<HostParams>(node, [&](HostParams& params, Node*) { *pNodeParams = params.call; });
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* pNodeParams) {
  return set<HostParams>(node, [&](HostParams* params, Node*) { return readHost(*pNodeParams, params); });
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                       size_t numDependencies, cudaGraph_t childGraph) {
  return add<ChildParams>(pGraphNode, graph, pDependencies, numDependencies, [&](ChildParams* params) {
    Graph* child = nullptr;
    if (const cudaError_t error = need(childGraph, &child); error != cudaSuccess) return error;
    params->graph = child->clone();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* pGraph) {
  return get<ChildParams>(node, [&](ChildParams& params, Node*) { *pGraph = params.graph->handle(); });
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies, size_t numDependencies) {
  return add<EmptyParams>(pGraphNode, graph, pDependencies, numDependencies, [](EmptyParams*) { return cudaSuccess; });
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                        size_t numDependencies, cudaEvent_t event) {
  return add<RecordParams>(pGraphNode, graph, pDependencies, numDependencies, [&](RecordParams* params) {
    params->event = event;
    return checkEvent(event);
  });
}

cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event_out) {
  return get<RecordParams>(node, [&](RecordParams& params, Node*) { *event_out = params.event; });
}

cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return set<RecordParams>(node, [&](RecordParams* params, Node*) {
    params->event = event;
    return checkEvent(event);
  });
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                      size_t numDependencies, cudaEvent_t event) {
  return add<WaitParams>(pGraphNode, graph, pDependencies, numDependencies, [&](WaitParams* params) {
    params->event = event;
    return checkEvent(event);
  });
}

cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event_out) {
  return get<WaitParams>(node, [&](WaitParams& params, Node*) { *event_out = params.event; });
}

cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return set<WaitParams>(node, [&](WaitParams* params, Node*) {
    params->event = event;
    return checkEvent(event);
  });
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                             const cudaGraphEdgeData* dependencyData, size_t numDependencies, cudaGraphNodeParams* nodeParams) {
  const auto lock = lockGraphs();
  Params params;
  if (const cudaError_t error = readParams(*nodeParams, nullptr, &params); error != cudaSuccess) return error;
  // A child that is moved and not copied: the program's handle is the node's then. It holds nothing that is to hold it.
  const auto* child = std::get_if<ChildParams>(&params);
  Graph* const moved = child != nullptr && nodeParams->graph.ownership == cudaGraphChildGraphOwnershipMove ? child->graph.get() : nullptr;
  for (const Graph* around = findGraph(graph); around != nullptr && moved != nullptr; around = around->parent != nullptr ? around->parent->graph : nullptr)
    if (around == moved) return cudaErrorInvalidValue;
  if (const cudaError_t error = addNode(pGraphNode, graph, pDependencies, dependencyData, numDependencies, std::move(params)); error != cudaSuccess) {
    return error;
  }
  if (moved != nullptr) disown(moved);
  // A child's handle is that of the node's own copy.
  if (nodeParams->type == cudaGraphNodeTypeGraph)
    nodeParams->graph.graph = std::get<ChildParams>(findNode(*pGraphNode)->params).graph->handle();
  return cudaSuccess;
}

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* nodeParams) {
  const auto lock = lockGraphs();
  Node* found = nullptr;
  if (const cudaError_t error = need(node, &found); error != cudaSuccess) return error;
  if (found->type() != nodeParams->type) return cudaErrorInvalidValue;
  if (std::holds_alternative<LibraryParams>(found->params)) return refuseLibraryNode();
  Params params;
  if (const cudaError_t error = readParams(*nodeParams, &found->params, &params); error != cudaSuccess) return error;
  found->params = std::move(params);
  if (auto* child = std::get_if<ChildParams>(&found->params)) child->graph->parent = found;
  return cudaSuccess;
}

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                     size_t numDependencies, cudaMemAllocNodeParams* nodeParams) {
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeMemAlloc;
  params.alloc = {nodeParams->poolProps, nodeParams->accessDescs, nodeParams->accessDescCount, nodeParams->bytesize, nullptr};
  const cudaError_t error = impl::cudaGraphAddNode(pGraphNode, graph, pDependencies, nullptr, numDependencies, &params);
  if (error == cudaSuccess) nodeParams->dptr = params.alloc.dptr;
  return error;
}

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, cudaMemAllocNodeParams* params_out) {
  return get<AllocParams>(node, [&](AllocParams& params, Node*) { *params_out = params.wish; });
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                    size_t numDependencies, void* dptr) {
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeMemFree;
  params.free.dptr = dptr;
  return impl::cudaGraphAddNode(pGraphNode, graph, pDependencies, nullptr, numDependencies, &params);
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* dptr_out) {
  return get<FreeParams>(node, [&](FreeParams& params, Node*) { std::memcpy(dptr_out, &params.pointer, sizeof params.pointer); });
}

}  // namespace rouse::cudart::impl
