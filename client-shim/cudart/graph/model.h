// Graphs as programs build them: nodes, their parameters, what each depends on. No device has any of it: that begins with
// instantiation (graph/exec.h).
//
// Threads: CUDA's graph objects are not thread-safe (CUDA Driver API, "Graph object thread safety"), but their handles may be made up
// and captures of several threads may meet in one graph: everything here is called under lockGraphs().
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <variant>
#include <vector>

#include "client-shim/core/device.h"
#include "schemas/base/cluster.h"

namespace rouse::cudart::graph {

std::unique_lock<std::recursive_mutex> lockGraphs();

struct Graph;
struct Allocation;

struct KernelParams {
  const void* function = nullptr;
  dim3 grid, block;
  unsigned sharedBytes = 0;
  bool cooperative = false;
  ClusterShape cluster;
  std::vector<std::byte> arguments;   // the parameter block
  std::vector<void*> pointers;        // into it, one a parameter: what a program that asks is given
  std::map<int, cudaLaunchAttributeValue> attributes;
};
struct CopyParams {
  cudaMemcpy3DParms box{};
};
struct FillParams {
  cudaMemsetParams box{};
};
struct HostParams {
  cudaHostNodeParams call{};
};
struct ChildParams {
  std::shared_ptr<Graph> graph;
};
struct EmptyParams {};
struct RecordParams {
  cudaEvent_t event = nullptr;
};
struct WaitParams {
  cudaEvent_t event = nullptr;
};
struct AllocParams {
  cudaMemAllocNodeParams wish{};
  std::shared_ptr<Allocation> allocation;
};
struct FreeParams {
  void* pointer = nullptr;
};
// A call of a forwarded library, as it travels. For programs it is a kernel node, as most calls of NVIDIA's libraries are, whose parameters
// are the library's own affair.
struct LibraryParams {
  std::uint32_t library = 0, function = 0;  // wire::LibraryCall
  std::vector<std::byte> parameters;
};
using Params = std::variant<KernelParams, CopyParams, FillParams, HostParams, ChildParams, EmptyParams, WaitParams, RecordParams, AllocParams,
                            FreeParams, LibraryParams>;

struct Node;
struct Edge {
  Node* node = nullptr;
  cudaGraphEdgeData data{};
};

struct Node {
  Graph* graph = nullptr;
  std::uint64_t id = 0;     // never used again
  std::uint64_t origin = 0;  // the id of the node that this one was cloned from last; of its own otherwise
  Params params;
  client::Device* device = nullptr;  // that was current when it was made
  std::vector<Edge> dependencies, dependents;
  bool enabled = true;  // of an instantiated graph's

  cudaGraphNode_t handle() { return reinterpret_cast<cudaGraphNode_t>(this); }
  cudaGraphNodeType type() const;
};

// References that graphs hold on an object of the program's.
struct UserObject {
  void* pointer = nullptr;
  cudaHostFn_t destroy = nullptr;
  std::uint64_t references = 0;
};

struct Graph {
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;

  std::uint64_t id = 0;
  std::uint64_t origin = 0;
  std::vector<std::unique_ptr<Node>> nodes;  // in the order in which they were made
  Node* parent = nullptr;                    // whose child graph it is
  bool capturing = false;                    // a capture adds to it: not the program's to destroy
  std::map<UserObject*, unsigned> objects;

  cudaGraph_t handle() { return reinterpret_cast<cudaGraph_t>(this); }

  // Everything it depends on is of this graph.
  Node* add(Params params, const std::vector<Edge>& dependencies, client::Device* device);
  void remove(Node* node);
  std::shared_ptr<Graph> clone() const;
  // Each behind all that it depends on, otherwise in the order in which they were made. False: there is a cycle.
  bool order(std::vector<Node*>* ordered) const;
  Node* findOrigin(std::uint64_t origin) const;  // also in child graphs
};

// Live objects behind the program's handles: null for any other.
Graph* findGraph(cudaGraph_t handle);
Node* findNode(cudaGraphNode_t handle);
// What programs have made and not destroyed; the others belong to their nodes, captures and instances.
void adopt(std::shared_ptr<Graph> graph);
std::shared_ptr<Graph> owned(Graph* graph);  // null: it is not the program's
bool disown(Graph* graph);

void connect(Node* from, Node* to, const cudaGraphEdgeData& data);
// False: there is no such edge.
bool disconnect(Node* from, Node* to, const cudaGraphEdgeData& data);

// The parameters as the program gave them, checked and copied. cudaErrorNotSupported names what cannot be in the log.
cudaError_t readKernel(const cudaKernelNodeParams& given, client::Device& device, KernelParams* params);
cudaError_t readKernel(const void* function, dim3 grid, dim3 block, unsigned sharedBytes, void** arguments, void** extra, bool cooperative,
                       client::Device& device, KernelParams* params);
cudaError_t readCopy(const cudaMemcpy3DParms& given, CopyParams* params);
cudaError_t readFill(const cudaMemsetParams& given, FillParams* params);
// One range as a box.
cudaMemcpy3DParms flatCopy(void* dst, const void* src, std::size_t count, cudaMemcpyKind kind);
std::vector<void*> pointersInto(const void* function, client::Device& device, std::vector<std::byte>& block);

// Of user objects. release() ends the object with its last reference.
void retain(UserObject* object, unsigned count);
cudaError_t release(UserObject* object, unsigned count);
UserObject* findObject(cudaUserObject_t handle);
UserObject* makeObject(void* pointer, cudaHostFn_t destroy, unsigned references);

// Memory of an allocation node: it has its address, and its bytes, from the node on until neither a graph nor the program has any more
// use for it. What a launch changes is whether it counts as allocated.
struct Allocation {
  Allocation(client::Device& device, std::uint64_t address, std::uint64_t bytes)
      : device(device), address(address), bytes(bytes), incarnation(device.incarnation()) {}
  ~Allocation();
  client::Device& device;
  const std::uint64_t address, bytes;
  const std::uint64_t incarnation;  // of the device: a reset ends the memory, and the address may be another's
  bool live = false;
};
cudaError_t allocate(client::Device& device, std::uint64_t bytes, std::shared_ptr<Allocation>* allocation);
// Null: no graph's.
std::shared_ptr<Allocation> findAllocation(const void* pointer);
// A launch has allocated it; a free, in a graph or not, has freed it.
void setLive(const std::shared_ptr<Allocation>& allocation, bool live);

struct MemoryUse {
  std::uint64_t used = 0, usedHigh = 0, reserved = 0, reservedHigh = 0;
};
MemoryUse& memoryUse(const client::Device& device);

}  // namespace rouse::cudart::graph
