// CUDA Driver API, "Graph Management": graphs as programs build them. Graphs, nodes and edges are the runtime's.
#include "client-shim/cuda/call.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {
namespace {

static_assert(sizeof(CUgraphEdgeData) == sizeof(cudaGraphEdgeData) && sizeof(CUgraphNodeType) == sizeof(cudaGraphNodeType));

cudaGraphEdgeData* edges(CUgraphEdgeData* data) { return reinterpret_cast<cudaGraphEdgeData*>(data); }
const cudaGraphEdgeData* edges(const CUgraphEdgeData* data) { return reinterpret_cast<const cudaGraphEdgeData*>(data); }

}  // namespace

CUresult cuGraphCreate(CUgraph* phGraph, unsigned int flags) {
  return call([&] { return cudaGraphCreate(phGraph, flags); });
}

CUresult cuGraphDestroy(CUgraph hGraph) {
  return call([&] { return cudaGraphDestroy(hGraph); });
}

CUresult cuGraphClone(CUgraph* phGraphClone, CUgraph originalGraph) {
  return call([&] { return cudaGraphClone(phGraphClone, originalGraph); });
}

CUresult cuGraphNodeFindInClone(CUgraphNode* phNode, CUgraphNode hOriginalNode, CUgraph hClonedGraph) {
  return call([&] { return cudaGraphNodeFindInClone(phNode, hOriginalNode, hClonedGraph); });
}

CUresult cuGraphGetNodes(CUgraph hGraph, CUgraphNode* nodes, size_t* numNodes) {
  return call([&] { return cudaGraphGetNodes(hGraph, nodes, numNodes); });
}

CUresult cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode* rootNodes, size_t* numRootNodes) {
  return call([&] { return cudaGraphGetRootNodes(hGraph, rootNodes, numRootNodes); });
}

CUresult cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType* type) {
  return call([&] { return cudaGraphNodeGetType(hNode, reinterpret_cast<cudaGraphNodeType*>(type)); });
}

CUresult cuGraphDestroyNode(CUgraphNode hNode) {
  return call([&] { return cudaGraphDestroyNode(hNode); });
}

CUresult cuGraphDebugDotPrint(CUgraph hGraph, const char* path, unsigned int flags) {
  return call([&] { return cudaGraphDebugDotPrint(hGraph, path, flags); });
}

CUresult cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* edgeData, size_t* numEdges) {
  return call([&] { return cudaGraphGetEdges(hGraph, from, to, edges(edgeData), numEdges); });
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode* dependencies, CUgraphEdgeData* edgeData, size_t* numDependencies) {
  return call([&] { return cudaGraphNodeGetDependencies(hNode, dependencies, edges(edgeData), numDependencies); });
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode hNode, CUgraphNode* dependentNodes, CUgraphEdgeData* edgeData, size_t* numDependentNodes) {
  return call([&] { return cudaGraphNodeGetDependentNodes(hNode, dependentNodes, edges(edgeData), numDependentNodes); });
}

CUresult cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* edgeData, size_t numDependencies) {
  return call([&] { return cudaGraphAddDependencies(hGraph, from, to, edges(edgeData), numDependencies); });
}

CUresult cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* edgeData,
                                      size_t numDependencies) {
  return call([&] { return cudaGraphRemoveDependencies(hGraph, from, to, edges(edgeData), numDependencies); });
}

// Before CUDA 12.3 edges said nothing.
CUresult cuGraphGetEdges(CUgraph hGraph, CUgraphNode* from, CUgraphNode* to, size_t* numEdges) {
  return impl::cuGraphGetEdges_v2(hGraph, from, to, nullptr, numEdges);
}

CUresult cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode* dependencies, size_t* numDependencies) {
  return impl::cuGraphNodeGetDependencies_v2(hNode, dependencies, nullptr, numDependencies);
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode* dependentNodes, size_t* numDependentNodes) {
  return impl::cuGraphNodeGetDependentNodes_v2(hNode, dependentNodes, nullptr, numDependentNodes);
}

CUresult cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to, size_t numDependencies) {
  return impl::cuGraphAddDependencies_v2(hGraph, from, to, nullptr, numDependencies);
}

CUresult cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to, size_t numDependencies) {
  return impl::cuGraphRemoveDependencies_v2(hGraph, from, to, nullptr, numDependencies);
}

}  // namespace rouse::cuda::impl
