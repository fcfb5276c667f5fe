#include "client-shim/cudart/graph/compile.h"

#include <algorithm>
#include <unordered_map>

#include "client-shim/core/log.h"
#include "client-shim/cudart/cooperative.h"
#include "client-shim/cudart/copy_box.h"
#include "client-shim/cudart/module_registry.h"
#include "client-shim/cudart/session.h"
#include "client-shim/cudart/thread_state.h"

namespace rouse::cudart::graph {
namespace {

using After = client::GraphBuilder::After;

class Compiler {
 public:
  explicit Compiler(client::GraphBuilder& builder) : builder_(builder) {}

  cudaError_t graph(const Graph& graph, const After& entry, After* exit, Node** culprit) {
    std::vector<Node*> ordered;
    if (!graph.order(&ordered)) return cudaErrorInvalidValue;
    std::unordered_map<const Node*, After> ends;
    for (Node* node : ordered) {
      After after;
      for (const Edge& edge : node->dependencies) {
        const After& end = ends[edge.node];
        after.insert(after.end(), end.begin(), end.end());
      }
      if (node->dependencies.empty()) after = entry;
      std::sort(after.begin(), after.end());
      after.erase(std::unique(after.begin(), after.end()), after.end());
      if (const cudaError_t error = this->node(*node, after, &ends[node], culprit); error != cudaSuccess) {
        if (*culprit == nullptr) *culprit = node;
        return error;
      }
      if (node->dependents.empty()) exit->insert(exit->end(), ends[node].begin(), ends[node].end());
    }
    if (ordered.empty()) *exit = entry;
    return cudaSuccess;
  }

 private:
  // Nothing of its own: what comes behind it comes behind what it is behind. Where many meet they meet once.
  void pass(const After& after, After* end) {
    if (after.size() <= 1)
      *end = after;
    else
      *end = {builder_.junction(after)};
  }

  cudaError_t node(Node& node, const After& after, After* end, Node** culprit) {
    if (!node.enabled) {
      pass(after, end);
      return cudaSuccess;
    }
    std::uint32_t last = 0;
    bool any = true;
    cudaError_t error = cudaSuccess;
    if (const auto* kernel = std::get_if<KernelParams>(&node.params)) {
      error = launch(*kernel, after, &last);
    } else if (const auto* copy = std::get_if<CopyParams>(&node.params)) {
      client::CopyShape shape;
      error = boxOf(copy->box, &shape);
      if (error == cudaSuccess) error = toCuda(builder_.copy(after, shape, static_cast<client::CopyKind>(copy->box.kind), &last, &any));
    } else if (const auto* fill = std::get_if<FillParams>(&node.params)) {
      const cudaMemsetParams& box = fill->box;
      error = toCuda(builder_.fill(after, box.dst, box.pitch, box.value, box.elementSize, box.width, box.height, &last, &any));
    } else if (const auto* host = std::get_if<HostParams>(&node.params)) {
      last = builder_.call(after, [call = host->call](CudaError status) {
        if (status != CudaError::success) return;  // as cudaLaunchHostFunc has it
        threadState.inHostFunction = true;
        call.fn(call.userData);
        threadState.inHostFunction = false;
      });
    } else if (const auto* child = std::get_if<ChildParams>(&node.params)) {
      return graph(*child->graph, after, end, culprit);
    } else if (const auto* record = std::get_if<RecordParams>(&node.params)) {
      last = builder_.event(after, client::GraphOperation::EventUse::record, reinterpret_cast<std::uint64_t>(record->event));
    } else if (const auto* wait = std::get_if<WaitParams>(&node.params)) {
      last = builder_.event(after, client::GraphOperation::EventUse::wait, reinterpret_cast<std::uint64_t>(wait->event));
    } else if (const auto* library = std::get_if<LibraryParams>(&node.params)) {
      last = builder_.library(after, library->library, library->function, library->parameters);
    } else {
      any = false;  // empty; memory has its place all the time
    }
    if (error != cudaSuccess) return error;
    if (any)
      *end = {last};
    else
      pass(after, end);
    return cudaSuccess;
  }

  cudaError_t launch(const KernelParams& params, const After& after, std::uint32_t* last) {
    client::Kernel* kernel = nullptr;
    if (const cudaError_t error = findKernel(params.function, builder_.device(), &kernel); error != cudaSuccess) return error;
    const client::LaunchShape shape{{params.grid.x, params.grid.y, params.grid.z},
                                    {params.block.x, params.block.y, params.block.z},
                                    params.sharedBytes,
                                    params.cooperative,
                                    params.cluster};
    if (params.cooperative)
      if (const cudaError_t error = checkCooperative(builder_.device(), *kernel, shape); error != cudaSuccess) return error;
    return toCuda(builder_.launch(after, *kernel, shape, params.arguments, last));
  }

  client::GraphBuilder& builder_;
};

}  // namespace

cudaError_t compile(const Graph& graph, client::GraphBuilder& builder, Node** culprit) {
  After exit;
  return Compiler(builder).graph(graph, {}, &exit, culprit);
}

}  // namespace rouse::cudart::graph
