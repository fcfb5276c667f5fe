// What the functions of the graph API have in common: handles and lists of the program's, looked up and checked.
#pragma once

#include <cuda_runtime_api.h>

#include <type_traits>
#include <vector>

#include "client-shim/cudart/graph/model.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart::graph {

// cudaErrorInvalidValue for what is not live.
inline cudaError_t need(cudaGraph_t handle, Graph** graph) {
  *graph = findGraph(handle);
  return *graph != nullptr ? cudaSuccess : cudaErrorInvalidValue;
}
inline cudaError_t need(cudaGraphNode_t handle, Node** node) {
  *node = findNode(handle);
  return *node != nullptr ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t refuseLibraryNode();
// A node's parameters, if it is of that kind. cudaErrorNotSupported: a kernel's are asked for, of what is a library's call.
template <class Kind>
cudaError_t need(Node& node, Kind** params) {
  *params = std::get_if<Kind>(&node.params);
  if (*params != nullptr) return cudaSuccess;
  if constexpr (std::is_same_v<Kind, KernelParams>)
    if (std::holds_alternative<LibraryParams>(node.params)) return refuseLibraryNode();
  return cudaErrorInvalidValue;
}
template <class Kind>
cudaError_t need(cudaGraphNode_t handle, Node** node, Kind** params) {
  if (const cudaError_t error = need(handle, node); error != cudaSuccess) return error;
  return need(**node, params);
}

// The nodes that another is to depend on: all of one graph, none twice.
cudaError_t readEdges(const Graph& graph, const cudaGraphNode_t* nodes, const cudaGraphEdgeData* data, std::size_t count,
                      std::vector<Edge>* edges);

// Adds a node that does this to a graph that no node owns instances of.
cudaError_t addNode(cudaGraphNode_t* made, cudaGraph_t graph, const cudaGraphNode_t* nodes, const cudaGraphEdgeData* data, std::size_t count,
                    Params params);

cudaError_t readHost(const cudaHostNodeParams& given, HostParams* params);
// The bytes [offset, offset + count) of a module's variable on the current device.
cudaError_t symbolBytes(const void* symbol, std::size_t count, std::size_t offset, void** address);
// Parameters of any kind, for a node that is `before` now (null: a new one). Memory nodes allocate.
cudaError_t readParams(cudaGraphNodeParams& given, const Params* before, Params* params);

}  // namespace rouse::cudart::graph
