#include "client-shim/cudart/graph/dot.h"

#include <cstdio>
#include <memory>
#include <string>

#include "client-shim/cudart/module_registry.h"

namespace rouse::cudart::graph {
namespace {

std::string hex(const void* pointer) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", pointer);
  return text;
}

std::string size(const dim3& d) { return std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z); }

std::string label(const Node& node, unsigned flags) {
  const auto wants = [&](unsigned flag) { return (flags & (flag | cudaGraphDebugDotFlagsVerbose)) != 0; };
  std::string text;
  if (const auto* kernel = std::get_if<KernelParams>(&node.params)) {
    const Function* function = ModuleRegistry::get().findFunction(kernel->function);
    text = "KERNEL\\n" + (function != nullptr ? function->name : hex(kernel->function));
    if (wants(cudaGraphDebugDotFlagsKernelNodeParams))
      text += "\\n<<<(" + size(kernel->grid) + "), (" + size(kernel->block) + "), " + std::to_string(kernel->sharedBytes) + ">>>";
  } else if (const auto* copy = std::get_if<CopyParams>(&node.params)) {
    text = "MEMCPY";
    if (wants(cudaGraphDebugDotFlagsMemcpyNodeParams))
      text += "\\n" + hex(copy->box.srcPtr.ptr) + " to " + hex(copy->box.dstPtr.ptr) + "\\n" + std::to_string(copy->box.extent.width) + "," +
              std::to_string(copy->box.extent.height) + "," + std::to_string(copy->box.extent.depth);
  } else if (const auto* fill = std::get_if<FillParams>(&node.params)) {
    text = "MEMSET";
    if (wants(cudaGraphDebugDotFlagsMemsetNodeParams))
      text += "\\n" + hex(fill->box.dst) + "\\nvalue " + std::to_string(fill->box.value) + ", " + std::to_string(fill->box.width) + " x " +
              std::to_string(fill->box.height) + " of " + std::to_string(fill->box.elementSize);
  } else if (std::holds_alternative<HostParams>(node.params)) {
    text = "HOST";
  } else if (std::holds_alternative<ChildParams>(node.params)) {
    text = "GRAPH";
  } else if (std::holds_alternative<EmptyParams>(node.params)) {
    text = "EMPTY";
  } else if (std::holds_alternative<RecordParams>(node.params)) {
    text = "EVENT_RECORD";
  } else if (std::holds_alternative<WaitParams>(node.params)) {
    text = "EVENT_WAIT";
  } else if (std::holds_alternative<AllocParams>(node.params)) {
    text = "MEM_ALLOC";
  } else if (const auto* library = std::get_if<LibraryParams>(&node.params)) {
    text = "LIBRARY\\n" + std::to_string(library->library) + "." + std::to_string(library->function);
  } else {
    text = "MEM_FREE";
  }
  if (wants(cudaGraphDebugDotFlagsHandles)) text += "\\n" + hex(&node);
  return text;
}

void write(std::FILE* file, const Graph& graph, unsigned flags) {
  std::fprintf(file, "subgraph cluster_%llu {\nlabel=\"graph_%llu\"\n", static_cast<unsigned long long>(graph.id),
               static_cast<unsigned long long>(graph.id));
  for (const auto& node : graph.nodes) {
    std::fprintf(file, "\"node_%llu\" [shape=\"box\" label=\"%llu\\n%s\"]\n", static_cast<unsigned long long>(node->id),
                 static_cast<unsigned long long>(node->id), label(*node, flags).c_str());
    if (const auto* child = std::get_if<ChildParams>(&node->params)) write(file, *child->graph, flags);
  }
  for (const auto& node : graph.nodes)
    for (const Edge& edge : node->dependents)
      std::fprintf(file, "\"node_%llu\" -> \"node_%llu\"\n", static_cast<unsigned long long>(node->id),
                   static_cast<unsigned long long>(edge.node->id));
  std::fprintf(file, "}\n");
}

}  // namespace

bool writeDot(const Graph& graph, const char* path, unsigned flags) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "we"), [](std::FILE* f) { return f != nullptr ? std::fclose(f) : 0; });
  if (!file) return false;
  std::fprintf(file.get(), "digraph dot {\n");
  write(file.get(), graph, flags);
  return std::fprintf(file.get(), "}\n") > 0 && std::fflush(file.get()) == 0;
}

}  // namespace rouse::cudart::graph
