#include "client-shim/cudart/graph/arguments.h"

#include <algorithm>

#include "client-shim/core/log.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/module_registry.h"

namespace rouse::cudart::graph {

cudaError_t readEdges(const Graph& graph, const cudaGraphNode_t* nodes, const cudaGraphEdgeData* data, std::size_t count,
                      std::vector<Edge>* edges) {
  if (count != 0 && nodes == nullptr) return cudaErrorInvalidValue;
  for (std::size_t i = 0; i < count; ++i) {
    Node* node = nullptr;
    if (const cudaError_t error = need(nodes[i], &node); error != cudaSuccess) return error;
    if (node->graph != &graph) return cudaErrorInvalidValue;
    if (std::any_of(edges->begin(), edges->end(), [&](const Edge& edge) { return edge.node == node; })) return cudaErrorInvalidValue;
    edges->push_back({node, data != nullptr ? data[i] : cudaGraphEdgeData{}});
  }
  return cudaSuccess;
}

cudaError_t addNode(cudaGraphNode_t* made, cudaGraph_t handle, const cudaGraphNode_t* nodes, const cudaGraphEdgeData* data, std::size_t count,
                    Params params) {
  Graph* graph = nullptr;
  if (const cudaError_t error = need(handle, &graph); error != cudaSuccess) return error;
  std::vector<Edge> edges;
  if (const cudaError_t error = readEdges(*graph, nodes, data, count, &edges); error != cudaSuccess) return error;
  *made = graph->add(std::move(params), edges, &currentDevice())->handle();
  return cudaSuccess;
}

cudaError_t refuseLibraryNode() {
  client::log(client::LogLevel::error, "a graph's node that is a call of a library has no parameters for the program");
  return cudaErrorNotSupported;
}

cudaError_t readHost(const cudaHostNodeParams& given, HostParams* params) {
  if (given.fn == nullptr) return cudaErrorInvalidValue;
  params->call = given;
  return cudaSuccess;
}

cudaError_t symbolBytes(const void* symbol, std::size_t count, std::size_t offset, void** address) {
  Symbol* found = ModuleRegistry::get().findSymbol(symbol);
  const client::Variable* variable = nullptr;
  if (found == nullptr) return cudaErrorInvalidSymbol;
  if (const cudaError_t error = found->resolve(currentDevice(), &variable); error != cudaSuccess) return error;
  if (offset > variable->bytes || count > variable->bytes - offset) return cudaErrorInvalidValue;
  *address = reinterpret_cast<void*>(variable->address + offset);  // NOLINT(performance-no-int-to-ptr)
  return cudaSuccess;
}

cudaError_t readParams(cudaGraphNodeParams& given, const Params* before, Params* params) {
  cudaError_t error = cudaSuccess;
  switch (given.type) {
    case cudaGraphNodeTypeKernel: {
      KernelParams kernel;
      if (before != nullptr)
        if (const auto* old = std::get_if<KernelParams>(before)) kernel = *old;
      const cudaKernelNodeParamsV2& from = given.kernel;
      error = readKernel(from.func, from.gridDim, from.blockDim, from.sharedMemBytes, from.kernelParams, from.extra, kernel.cooperative,
                         currentDevice(), &kernel);
      *params = std::move(kernel);
      return error;
    }
    case cudaGraphNodeTypeMemcpy: {
      CopyParams copy;
      if (given.memcpy.flags != 0) return cudaErrorInvalidValue;
      error = readCopy(given.memcpy.copyParams, &copy);
      *params = copy;
      return error;
    }
    case cudaGraphNodeTypeMemset: {
      FillParams fill;
      const cudaMemsetParamsV2& from = given.memset;
      error = readFill({from.dst, from.pitch, from.value, from.elementSize, from.width, from.height}, &fill);
      *params = fill;
      return error;
    }
    case cudaGraphNodeTypeHost: {
      HostParams host;
      error = readHost({given.host.fn, given.host.userData}, &host);
      *params = host;
      return error;
    }
    case cudaGraphNodeTypeGraph: {
      Graph* child = nullptr;
      if (error = need(given.graph.graph, &child); error != cudaSuccess) return error;
      if (given.graph.ownership == cudaGraphChildGraphOwnershipMove) {
        if (before != nullptr) return cudaErrorNotSupported;  // as CUDA has it
        if (child->capturing) return cudaErrorInvalidValue;
        *params = ChildParams{owned(child)};  // whoever adds the node disowns it
        return std::get<ChildParams>(*params).graph != nullptr ? cudaSuccess : cudaErrorInvalidValue;
      }
      *params = ChildParams{child->clone()};
      return cudaSuccess;
    }
    case cudaGraphNodeTypeEmpty:
      *params = EmptyParams{};
      return cudaSuccess;
    case cudaGraphNodeTypeWaitEvent: {
      client::Event* event = nullptr;
      *params = WaitParams{given.eventWait.event};
      return findEvent(given.eventWait.event, &event);
    }
    case cudaGraphNodeTypeEventRecord: {
      client::Event* event = nullptr;
      *params = RecordParams{given.eventRecord.event};
      return findEvent(given.eventRecord.event, &event);
    }
    case cudaGraphNodeTypeMemAlloc: {
      if (before != nullptr) return cudaErrorNotSupported;
      const cudaMemAllocNodeParamsV2& from = given.alloc;
      AllocParams alloc;
      alloc.wish = {from.poolProps, from.accessDescs, from.accessDescCount, from.bytesize, nullptr};
      if (from.poolProps.allocType != cudaMemAllocationTypePinned || from.poolProps.location.type != cudaMemLocationTypeDevice)
        return cudaErrorInvalidValue;
      client::Device* device = nullptr;
      if (error = findDevice(from.poolProps.location.id, &device); error != cudaSuccess) return error;
      if (error = allocate(*device, from.bytesize, &alloc.allocation); error != cudaSuccess) return error;
      alloc.wish.accessDescs = nullptr;  // the program's; what a device may use of another's is none's here
      alloc.wish.accessDescCount = 0;
      alloc.wish.dptr = given.alloc.dptr = reinterpret_cast<void*>(alloc.allocation->address);  // NOLINT(performance-no-int-to-ptr)
      *params = std::move(alloc);
      return cudaSuccess;
    }
    case cudaGraphNodeTypeMemFree:
      if (before != nullptr) return cudaErrorNotSupported;
      if (!findAllocation(given.free.dptr)) return cudaErrorInvalidValue;
      *params = FreeParams{given.free.dptr};
      return cudaSuccess;
    default:
      client::log(client::LogLevel::error, "graph nodes of type %d (conditional, external semaphores) are not supported", given.type);
      return cudaErrorNotSupported;
  }
}

}  // namespace rouse::cudart::graph
