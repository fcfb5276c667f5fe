// CUDA Runtime API, "Graph Management": graphs as a whole, and what is known of their nodes.
#include "client-shim/cudart/graph/arguments.h"
#include "client-shim/cudart/graph/dot.h"
#include "client-shim/cudart/implementations.h"

namespace rouse::cudart::impl {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace)

// CUDA's way with lists: without room for them their number; with too little, what fits; with more, null behind the end.
template <class Get>
void list(std::size_t have, cudaGraphNode_t* nodes, std::size_t* count, Get&& get) {
  if (nodes != nullptr)
    for (std::size_t i = 0; i < *count; ++i) nodes[i] = i < have ? get(i) : nullptr;
  *count = nodes == nullptr || have < *count ? have : *count;
}

cudaError_t listEdges(const std::vector<Edge>& edges, cudaGraphNode_t* nodes, cudaGraphEdgeData* data, std::size_t* count) {
  if (data != nullptr)
    for (std::size_t i = 0; i < edges.size() && i < *count; ++i) data[i] = edges[i].data;
  list(edges.size(), nodes, count, [&](std::size_t i) { return edges[i].node->handle(); });
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaGraphCreate(cudaGraph_t* pGraph, unsigned int flags) {
  if (flags != 0) return cudaErrorInvalidValue;
  const auto lock = lockGraphs();
  auto made = std::make_shared<Graph>();
  *pGraph = made->handle();
  adopt(std::move(made));
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const auto lock = lockGraphs();
  Graph* found = nullptr;
  if (const cudaError_t error = need(graph, &found); error != cudaSuccess) return error;
  return !found->capturing && disown(found) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaGraphClone(cudaGraph_t* pGraphClone, cudaGraph_t originalGraph) {
  const auto lock = lockGraphs();
  Graph* found = nullptr;
  if (const cudaError_t error = need(originalGraph, &found); error != cudaSuccess) return error;
  auto made = found->clone();
  *pGraphClone = made->handle();
  adopt(std::move(made));
  return cudaSuccess;
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* pNode, cudaGraphNode_t originalNode, cudaGraph_t clonedGraph) {
  const auto lock = lockGraphs();
  Graph* clone = nullptr;
  Node* original = nullptr;
  if (const cudaError_t error = need(clonedGraph, &clone); error != cudaSuccess) return error;
  if (const cudaError_t error = need(originalNode, &original); error != cudaSuccess) return error;
  Node* found = clone->findOrigin(original->id);
  if (found == nullptr || found == original) return cudaErrorInvalidValue;
  *pNode = found->handle();
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* numNodes) {
  const auto lock = lockGraphs();
  Graph* found = nullptr;
  if (const cudaError_t error = need(graph, &found); error != cudaSuccess) return error;
  list(found->nodes.size(), nodes, numNodes, [&](std::size_t i) { return found->nodes[i]->handle(); });
  return cudaSuccess;
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* pRootNodes, size_t* pNumRootNodes) {
  const auto lock = lockGraphs();
  Graph* found = nullptr;
  if (const cudaError_t error = need(graph, &found); error != cudaSuccess) return error;
  std::vector<Node*> roots;
  for (const auto& node : found->nodes)
    if (node->dependencies.empty()) roots.push_back(node.get());
  list(roots.size(), pRootNodes, pNumRootNodes, [&](std::size_t i) { return roots[i]->handle(); });
  return cudaSuccess;
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData* edgeData, size_t* numEdges) {
  const auto lock = lockGraphs();
  Graph* found = nullptr;
  if (const cudaError_t error = need(graph, &found); error != cudaSuccess) return error;
  if ((from == nullptr) != (to == nullptr)) return cudaErrorInvalidValue;
  std::vector<std::pair<Node*, Edge>> edges;
  for (const auto& node : found->nodes)
    for (const Edge& edge : node->dependents) edges.push_back({node.get(), edge});
  if (edgeData != nullptr)
    for (std::size_t i = 0; i < edges.size() && i < *numEdges; ++i) edgeData[i] = edges[i].second.data;
  std::size_t count = *numEdges;
  list(edges.size(), from, &count, [&](std::size_t i) { return edges[i].first->handle(); });
  list(edges.size(), to, numEdges, [&](std::size_t i) { return edges[i].second.node->handle(); });
  return cudaSuccess;
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* pType) {
  const auto lock = lockGraphs();
  Node* found = nullptr;
  if (const cudaError_t error = need(node, &found); error != cudaSuccess) return error;
  *pType = found->type();
  return cudaSuccess;
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* pDependencies, cudaGraphEdgeData* edgeData,
                                         size_t* pNumDependencies) {
  const auto lock = lockGraphs();
  Node* found = nullptr;
  if (const cudaError_t error = need(node, &found); error != cudaSuccess) return error;
  return listEdges(found->dependencies, pDependencies, edgeData, pNumDependencies);
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* pDependentNodes, cudaGraphEdgeData* edgeData,
                                           size_t* pNumDependentNodes) {
  const auto lock = lockGraphs();
  Node* found = nullptr;
  if (const cudaError_t error = need(node, &found); error != cudaSuccess) return error;
  return listEdges(found->dependents, pDependentNodes, edgeData, pNumDependentNodes);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     const cudaGraphEdgeData* edgeData, size_t numDependencies) {
  const auto lock = lockGraphs();
  Graph* found = nullptr;
  if (const cudaError_t error = need(graph, &found); error != cudaSuccess) return error;
  if (numDependencies != 0 && (from == nullptr || to == nullptr)) return cudaErrorInvalidValue;
  std::vector<std::pair<Node*, Node*>> pairs(numDependencies);
  for (std::size_t i = 0; i < numDependencies; ++i) {
    auto& [first, second] = pairs[i];
    if (need(from[i], &first) != cudaSuccess || need(to[i], &second) != cudaSuccess) return cudaErrorInvalidValue;
    if (first->graph != found || second->graph != found || first == second) return cudaErrorInvalidValue;
    for (const Edge& edge : first->dependents)
      if (edge.node == second) return cudaErrorInvalidValue;
  }
  for (std::size_t i = 0; i < numDependencies; ++i)
    connect(pairs[i].first, pairs[i].second, edgeData != nullptr ? edgeData[i] : cudaGraphEdgeData{});
  return cudaSuccess;
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                        const cudaGraphEdgeData* edgeData, size_t numDependencies) {
  const auto lock = lockGraphs();
  Graph* found = nullptr;
  if (const cudaError_t error = need(graph, &found); error != cudaSuccess) return error;
  if (numDependencies != 0 && (from == nullptr || to == nullptr)) return cudaErrorInvalidValue;
  for (std::size_t i = 0; i < numDependencies; ++i) {
    Node *first = nullptr, *second = nullptr;
    if (need(from[i], &first) != cudaSuccess || need(to[i], &second) != cudaSuccess) return cudaErrorInvalidValue;
    if (first->graph != found || !disconnect(first, second, edgeData != nullptr ? edgeData[i] : cudaGraphEdgeData{}))
      return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  const auto lock = lockGraphs();
  Node* found = nullptr;
  if (const cudaError_t error = need(node, &found); error != cudaSuccess) return error;
  // What is allocated has to stay until it is freed (cudaGraphDestroyNode: "cannot be removed").
  if (std::holds_alternative<AllocParams>(found->params) || std::holds_alternative<FreeParams>(found->params)) return cudaErrorNotSupported;
  found->graph->remove(found);
  return cudaSuccess;
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned int flags) {
  const auto lock = lockGraphs();
  Graph* found = nullptr;
  if (const cudaError_t error = need(graph, &found); error != cudaSuccess) return error;
  return writeDot(*found, path, flags) ? cudaSuccess : cudaErrorOperatingSystem;
}

}  // namespace rouse::cudart::impl
