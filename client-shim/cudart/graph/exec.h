// An instantiated graph: a copy of the program's, and what the device has of it.
//
// Threads: under lockGraphs(), as the model.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <unordered_map>
#include <vector>

#include "client-shim/core/graph_exec.h"
#include "client-shim/cudart/graph/model.h"

namespace rouse::client {
class Stream;
}

namespace rouse::cudart::graph {

class Exec {
 public:
  static cudaError_t make(const Graph& source, unsigned long long flags, std::unique_ptr<Exec>* exec, Node** culprit,
                          cudaGraphInstantiateResult* result);

  unsigned long long flags() const { return flags_; }
  client::Device& device() const { return device_; }
  const Graph& graph() const { return *graph_; }

  // The twin of a node of the graph that this was made of (or of a graph cloned from it, or of a child's). Null: it has none.
  Node* find(const Node& original) const;
  // The twin's parameters have changed; where they cannot be had, they are as before and the error says why.
  cudaError_t change(Node* twin, Params params);
  cudaError_t enable(Node* twin, bool enabled);
  cudaError_t update(const Graph& source, cudaGraphExecUpdateResultInfo* info);
  // A child's parameters become those of a graph like it.
  cudaError_t updateChild(Graph& child, const Graph& source);
  cudaError_t upload() { return toError(exec_->upload()); }
  cudaError_t launch(client::Stream& stream);

 private:
  Exec(std::shared_ptr<Graph> graph, client::Device& device, unsigned long long flags)
      : graph_(std::move(graph)), device_(device), flags_(flags), exec_(std::make_unique<client::GraphExec>(device)) {}
  static cudaError_t toError(CudaError error) { return static_cast<cudaError_t>(error); }
  cudaError_t define(Node** culprit);
  cudaError_t updateFrom(const Graph& to, const Graph& source, cudaGraphExecUpdateResultInfo* info);

  std::shared_ptr<Graph> graph_;
  client::Device& device_;
  const unsigned long long flags_;
  std::unique_ptr<client::GraphExec> exec_;
  std::unordered_map<std::uint64_t, Node*> aliases_;  // by the ids of nodes of the graphs that it has been updated with
  // What a launch allocates and does not free, and what it frees of others.
  std::vector<std::shared_ptr<Allocation>> allocates_;
  std::vector<void*> frees_;
};

Exec* findExec(cudaGraphExec_t handle);
cudaGraphExec_t keep(std::unique_ptr<Exec> exec);
bool forget(Exec* exec);

bool hasMemoryNodes(const Graph& graph);
// One that has been made of this graph; null: there is none.
Exec* instanceOf(const Graph& source);

}  // namespace rouse::cudart::graph
