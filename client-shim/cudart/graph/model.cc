#include "client-shim/cudart/graph/model.h"

#include <algorithm>
#include <queue>
#include <set>
#include <unordered_set>

#include "client-shim/cudart/session.h"

namespace rouse::cudart::graph {
namespace {

struct Registry {
  std::recursive_mutex mutex;
  std::unordered_set<const void*> graphs, nodes;
  std::unordered_map<const Graph*, std::shared_ptr<Graph>> owned;
  std::uint64_t lastId = 0;
};
// Not destroyed: programs end graphs from destructors of their own.
Registry& registry() {
  static Registry& all = *new Registry;
  return all;
}

bool sameData(const cudaGraphEdgeData& a, const cudaGraphEdgeData& b) {
  return a.from_port == b.from_port && a.to_port == b.to_port && a.type == b.type;
}

bool erase(std::vector<Edge>& edges, const Node* node, const cudaGraphEdgeData& data) {
  const auto found = std::find_if(edges.begin(), edges.end(), [&](const Edge& e) { return e.node == node && sameData(e.data, data); });
  if (found == edges.end()) return false;
  edges.erase(found);
  return true;
}

}  // namespace

std::unique_lock<std::recursive_mutex> lockGraphs() { return std::unique_lock(registry().mutex); }

cudaGraphNodeType Node::type() const {
  constexpr cudaGraphNodeType kTypes[] = {cudaGraphNodeTypeKernel, cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeMemset,
                                          cudaGraphNodeTypeHost,   cudaGraphNodeTypeGraph,  cudaGraphNodeTypeEmpty,
                                          cudaGraphNodeTypeWaitEvent, cudaGraphNodeTypeEventRecord, cudaGraphNodeTypeMemAlloc,
                                          cudaGraphNodeTypeMemFree,   cudaGraphNodeTypeKernel};
  static_assert(std::size(kTypes) == std::variant_size_v<Params>);
  return kTypes[params.index()];
}

Graph::Graph() {
  registry().graphs.insert(this);
  id = origin = ++registry().lastId;
}

Graph::~Graph() {
  const auto lock = lockGraphs();
  registry().graphs.erase(this);
  for (const auto& node : nodes) registry().nodes.erase(node.get());
  for (const auto& [object, count] : objects) (void)release(object, count);
}

Node* Graph::add(Params params, const std::vector<Edge>& dependencies, client::Device* device) {
  Node* node = nodes.emplace_back(std::make_unique<Node>()).get();
  registry().nodes.insert(node);
  node->graph = this;
  node->id = node->origin = ++registry().lastId;
  node->params = std::move(params);
  node->device = device;
  if (auto* child = std::get_if<ChildParams>(&node->params)) child->graph->parent = node;
  for (const Edge& edge : dependencies) connect(edge.node, node, edge.data);
  return node;
}

void Graph::remove(Node* node) {
  for (const Edge& edge : node->dependencies) erase(edge.node->dependents, node, edge.data);
  for (const Edge& edge : node->dependents) erase(edge.node->dependencies, node, edge.data);
  registry().nodes.erase(node);
  std::erase_if(nodes, [&](const auto& each) { return each.get() == node; });
}

std::shared_ptr<Graph> Graph::clone() const {
  auto copy = std::make_shared<Graph>();
  copy->origin = id;
  std::unordered_map<const Node*, Node*> made;
  for (const auto& node : nodes) {
    Params params = node->params;
    if (auto* child = std::get_if<ChildParams>(&params)) child->graph = child->graph->clone();
    if (auto* kernel = std::get_if<KernelParams>(&params)) kernel->pointers.clear();
    Node* twin = copy->add(std::move(params), {}, node->device);
    twin->origin = node->id;
    twin->enabled = node->enabled;
    made[node.get()] = twin;
  }
  for (const auto& node : nodes)
    for (const Edge& edge : node->dependencies) connect(made[edge.node], made[node.get()], edge.data);
  for (const auto& [object, count] : objects) {
    retain(object, count);
    copy->objects[object] += count;
  }
  return copy;
}

bool Graph::order(std::vector<Node*>* ordered) const {
  std::unordered_map<const Node*, std::size_t> number, missing;
  std::set<std::size_t> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    number[nodes[i].get()] = i;
    missing[nodes[i].get()] = nodes[i]->dependencies.size();
    if (nodes[i]->dependencies.empty()) ready.insert(i);
  }
  ordered->clear();
  ordered->reserve(nodes.size());
  while (!ready.empty()) {
    Node* node = nodes[*ready.begin()].get();
    ready.erase(ready.begin());
    ordered->push_back(node);
    for (const Edge& edge : node->dependents)
      if (--missing[edge.node] == 0) ready.insert(number[edge.node]);
  }
  return ordered->size() == nodes.size();
}

Node* Graph::findOrigin(std::uint64_t wanted) const {
  for (const auto& node : nodes) {
    if (node->origin == wanted) return node.get();
    if (const auto* child = std::get_if<ChildParams>(&node->params))
      if (Node* found = child->graph->findOrigin(wanted)) return found;
  }
  return nullptr;
}

Graph* findGraph(cudaGraph_t handle) {
  return registry().graphs.contains(handle) ? reinterpret_cast<Graph*>(handle) : nullptr;
}

Node* findNode(cudaGraphNode_t handle) { return registry().nodes.contains(handle) ? reinterpret_cast<Node*>(handle) : nullptr; }

void adopt(std::shared_ptr<Graph> graph) {
  const Graph* key = graph.get();
  registry().owned[key] = std::move(graph);
}

std::shared_ptr<Graph> owned(Graph* graph) {
  const auto found = registry().owned.find(graph);
  return found != registry().owned.end() ? found->second : nullptr;
}

bool disown(Graph* graph) { return registry().owned.erase(graph) != 0; }

void connect(Node* from, Node* to, const cudaGraphEdgeData& data) {
  from->dependents.push_back({to, data});
  to->dependencies.push_back({from, data});
}

bool disconnect(Node* from, Node* to, const cudaGraphEdgeData& data) {
  return erase(from->dependents, to, data) && erase(to->dependencies, from, data);
}

}  // namespace rouse::cudart::graph
