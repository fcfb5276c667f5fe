#include "client-shim/cudart/graph/exec.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "client-shim/core/log.h"
#include "client-shim/core/stream.h"
#include "client-shim/cudart/graph/compile.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart::graph {
namespace {

std::unordered_map<const void*, std::unique_ptr<Exec>>& all() {
  static auto& execs = *new std::unordered_map<const void*, std::unique_ptr<Exec>>;
  return execs;
}

void forEachNode(const Graph& graph, const auto& visit) {
  for (const auto& node : graph.nodes) {
    visit(*node);
    if (const auto* child = std::get_if<ChildParams>(&node->params)) forEachNode(*child->graph, visit);
  }
}

// Where the first node of the graph that has a device says; one device for all.
cudaError_t deviceOf(const Graph& graph, client::Device** device) {
  cudaError_t error = cudaSuccess;
  *device = nullptr;
  forEachNode(graph, [&](const Node& node) {
    if (*device == nullptr) *device = node.device;
    if (node.device == *device || std::holds_alternative<EmptyParams>(node.params) || std::holds_alternative<ChildParams>(node.params)) return;
    error = cudaErrorNotSupported;
  });
  if (*device == nullptr) *device = &currentDevice();
  if (error != cudaSuccess) client::log(client::LogLevel::error, "a graph with nodes of several devices is not supported");
  return error;
}

// The two graphs' nodes in pairs, by the order in which they were made (cudaGraphExecUpdate: "graphs must be topologically identical").
cudaError_t pair(const Graph& to, const Graph& from, std::vector<std::pair<Node*, Node*>>* pairs, cudaGraphExecUpdateResultInfo* info) {
  const auto fail = [&](cudaGraphExecUpdateResult result, Node* node, Node* before = nullptr) {
    info->result = result;
    info->errorNode = node != nullptr ? node->handle() : nullptr;
    info->errorFromNode = before != nullptr ? before->handle() : nullptr;
    return cudaErrorGraphExecUpdateFailure;
  };
  std::unordered_map<const Node*, std::size_t> numbersTo, numbersFrom;
  for (std::size_t i = 0; i < std::min(to.nodes.size(), from.nodes.size()); ++i) {
    numbersTo[to.nodes[i].get()] = i;
    numbersFrom[from.nodes[i].get()] = i;
  }
  for (std::size_t i = 0; i < from.nodes.size(); ++i) {
    Node* node = from.nodes[i].get();
    if (i >= to.nodes.size()) return fail(cudaGraphExecUpdateErrorTopologyChanged, node);
    Node* twin = to.nodes[i].get();
    if (node->type() != twin->type()) return fail(cudaGraphExecUpdateErrorNodeTypeChanged, node);
    if (node->dependencies.size() != twin->dependencies.size()) return fail(cudaGraphExecUpdateErrorTopologyChanged, node);
    std::vector<std::size_t> has, had;
    for (const Edge& edge : node->dependencies) has.push_back(numbersFrom[edge.node]);
    for (const Edge& edge : twin->dependencies) had.push_back(numbersTo[edge.node]);
    std::sort(has.begin(), has.end());
    std::sort(had.begin(), had.end());
    if (has != had) return fail(cudaGraphExecUpdateErrorTopologyChanged, node);
    if (node->device != twin->device) return fail(cudaGraphExecUpdateErrorNotSupported, node);
    if (const auto* child = std::get_if<ChildParams>(&node->params)) {
      const cudaError_t error = pair(*std::get<ChildParams>(twin->params).graph, *child->graph, pairs, info);
      if (error != cudaSuccess) return error;
    } else if (const auto* alloc = std::get_if<AllocParams>(&node->params)) {
      if (std::get<AllocParams>(twin->params).allocation != alloc->allocation) return fail(cudaGraphExecUpdateErrorNotSupported, node);
    }
    pairs->push_back({twin, node});
  }
  if (to.nodes.size() > from.nodes.size()) return fail(cudaGraphExecUpdateErrorTopologyChanged, nullptr);
  return cudaSuccess;
}

}  // namespace

cudaError_t Exec::make(const Graph& source, unsigned long long flags, std::unique_ptr<Exec>* exec, Node** culprit,
                       cudaGraphInstantiateResult* result) {
  client::Device* device = nullptr;
  *result = cudaGraphInstantiateMultipleDevicesNotSupported;
  if (const cudaError_t error = deviceOf(source, &device); error != cudaSuccess) return error;
  std::unique_ptr<Exec> made(new Exec(source.clone(), *device, flags));
  *result = cudaGraphInstantiateError;
  std::vector<Node*> ordered;
  if (!source.order(&ordered)) {
    *result = cudaGraphInstantiateInvalidStructure;
    return cudaErrorInvalidValue;
  }
  Node* twin = nullptr;
  if (const cudaError_t error = made->define(&twin); error != cudaSuccess) {
    if (twin != nullptr)
      for (const auto& node : source.nodes)
        if (node->id == twin->origin) *culprit = node.get();
    return error;
  }
  // Sent now: a launch is one command.
  if (const cudaError_t error = made->upload(); error != cudaSuccess) return error;
  *result = cudaGraphInstantiateSuccess;
  *exec = std::move(made);
  return cudaSuccess;
}

cudaError_t Exec::define(Node** culprit) {
  client::GraphBuilder builder(device_);
  if (const cudaError_t error = compile(*graph_, builder, culprit); error != cudaSuccess) return error;
  if (const cudaError_t error = toCuda(exec_->define(builder.take())); error != cudaSuccess) return error;
  allocates_.clear();
  frees_.clear();
  forEachNode(*graph_, [&](const Node& node) {
    if (const auto* alloc = std::get_if<AllocParams>(&node.params)) allocates_.push_back(alloc->allocation);
    if (const auto* free = std::get_if<FreeParams>(&node.params)) frees_.push_back(free->pointer);
  });
  return cudaSuccess;
}

Node* Exec::find(const Node& original) const {
  if (Node* twin = graph_->findOrigin(original.id)) return twin;
  if (const auto alias = aliases_.find(original.id); alias != aliases_.end()) return alias->second;
  return original.origin != original.id ? graph_->findOrigin(original.origin) : nullptr;
}

cudaError_t Exec::change(Node* twin, Params params) {
  if (twin->params.index() != params.index()) return cudaErrorInvalidValue;
  std::swap(twin->params, params);
  Node* culprit = nullptr;
  const cudaError_t error = define(&culprit);
  if (error != cudaSuccess) std::swap(twin->params, params);
  return error;
}

cudaError_t Exec::enable(Node* twin, bool enabled) {
  if (twin->enabled == enabled) return cudaSuccess;
  twin->enabled = enabled;
  Node* culprit = nullptr;
  return define(&culprit);
}

cudaError_t Exec::update(const Graph& source, cudaGraphExecUpdateResultInfo* info) { return updateFrom(*graph_, source, info); }

cudaError_t Exec::updateChild(Graph& child, const Graph& source) {
  cudaGraphExecUpdateResultInfo info{};
  const cudaError_t error = updateFrom(child, source, &info);
  return error == cudaErrorGraphExecUpdateFailure ? cudaErrorInvalidValue : error;
}

cudaError_t Exec::updateFrom(const Graph& to, const Graph& source, cudaGraphExecUpdateResultInfo* info) {
  *info = {cudaGraphExecUpdateSuccess, nullptr, nullptr};
  std::vector<std::pair<Node*, Node*>> pairs;
  if (const cudaError_t error = pair(to, source, &pairs, info); error != cudaSuccess) return error;
  std::vector<Params> before;
  for (const auto& [twin, node] : pairs) {
    before.push_back(twin->params);
    if (!std::holds_alternative<ChildParams>(node->params)) twin->params = node->params;
  }
  Node* culprit = nullptr;
  if (const cudaError_t error = define(&culprit); error != cudaSuccess) {
    for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i].first->params = std::move(before[i]);
    info->result = cudaGraphExecUpdateErrorParametersChanged;
    for (const auto& [twin, node] : pairs)
      if (twin == culprit) info->errorNode = node->handle();
    return cudaErrorGraphExecUpdateFailure;
  }
  for (const auto& [twin, node] : pairs) aliases_[node->id] = twin;
  return cudaSuccess;
}

cudaError_t Exec::launch(client::Stream& stream) {
  const bool freesBefore = (flags_ & cudaGraphInstantiateFlagAutoFreeOnLaunch) != 0;
  for (const auto& allocation : allocates_)
    if (allocation->live && !freesBefore) return cudaErrorInvalidValue;
  if (const cudaError_t error = toCuda(exec_->launch(stream)); error != cudaSuccess) return error;
  for (const auto& allocation : allocates_) setLive(allocation, true);
  for (void* pointer : frees_)
    if (const auto allocation = findAllocation(pointer)) setLive(allocation, false);
  return cudaSuccess;
}

Exec* findExec(cudaGraphExec_t handle) {
  const auto found = all().find(handle);
  return found != all().end() ? found->second.get() : nullptr;
}

cudaGraphExec_t keep(std::unique_ptr<Exec> exec) {
  Exec* key = exec.get();
  all()[key] = std::move(exec);
  return reinterpret_cast<cudaGraphExec_t>(key);
}

bool forget(Exec* exec) { return all().erase(exec) != 0; }

bool hasMemoryNodes(const Graph& graph) {
  bool has = false;
  forEachNode(graph, [&](const Node& node) {
    has = has || std::holds_alternative<AllocParams>(node.params) || std::holds_alternative<FreeParams>(node.params);
  });
  return has;
}

Exec* instanceOf(const Graph& source) {
  for (const auto& [handle, exec] : all())
    if (exec->graph().origin == source.id) return exec.get();
  return nullptr;
}

}  // namespace rouse::cudart::graph
