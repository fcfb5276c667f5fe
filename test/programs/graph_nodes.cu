// Graphs built node by node: kernels, copies of pageable and pinned memory, fills, host functions, events, children; queries; clones; the
// same graph launched again with other parameters.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "check.h"

__global__ void scale(float* values, int n, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] *= by;
}
__global__ void add(const float* a, const float* b, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}
__device__ float offset[4];
__global__ void addOffset(float* values, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] += offset[i % 4];
}

constexpr int n = 10000;

cudaGraphNode_t kernel(cudaGraph_t graph, std::vector<cudaGraphNode_t> after, void* function, std::vector<void*> arguments) {
  cudaKernelNodeParams params{};
  params.func = function;
  params.gridDim = dim3((n + 255) / 256);
  params.blockDim = dim3(256);
  params.kernelParams = arguments.data();
  cudaGraphNode_t node;
  CHECK(cudaGraphAddKernelNode(&node, graph, after.data(), after.size(), &params));
  return node;
}

struct Called {
  int times = 0;
  float first = 0;
  const float* from = nullptr;
};
void CUDART_CB called(void* data) {
  auto* c = static_cast<Called*>(data);
  ++c->times;
  c->first = c->from[0];
}

void dataflow() {
  std::vector<float> host(n), out(n);
  float *a, *b, *c, *pinned;
  CHECK(cudaMalloc(&a, n * 4));
  CHECK(cudaMalloc(&b, n * 4));
  CHECK(cudaMalloc(&c, n * 4));
  CHECK(cudaMallocHost(&pinned, n * 4));
  Called call;
  call.from = out.data();

  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t up, twice, copied, thrice, sum, offsets, shifted, down, host1, zero;
  CHECK(cudaGraphAddMemcpyNode1D(&up, graph, nullptr, 0, a, host.data(), n * 4, cudaMemcpyHostToDevice));
  CHECK(cudaGraphAddMemcpyNode1D(&copied, graph, &up, 1, b, a, n * 4, cudaMemcpyDeviceToDevice));
  cudaMemsetParams fill{};
  fill.dst = c;
  fill.value = 0x3f;
  fill.elementSize = 1;
  fill.width = n * 4;
  fill.height = 1;
  CHECK(cudaGraphAddMemsetNode(&zero, graph, nullptr, 0, &fill));
  float two = 2, three = 3;
  int count = n;
  twice = kernel(graph, {copied}, (void*)scale, {&a, &count, &two});  // after the copy, which reads a
  thrice = kernel(graph, {copied}, (void*)scale, {&b, &count, &three});
  sum = kernel(graph, {twice, thrice, zero}, (void*)add, {&a, &b, &c, &count});
  const float shifts[4] = {1, 10, 100, 1000};
  CHECK(cudaGraphAddMemcpyNodeToSymbol(&offsets, graph, nullptr, 0, offset, shifts, sizeof shifts, 0, cudaMemcpyHostToDevice));
  shifted = kernel(graph, {sum, offsets}, (void*)addOffset, {&c, &count});
  cudaMemcpy3DParms box{};
  box.srcPtr = make_cudaPitchedPtr(c, n * 4, n * 4, 1);
  box.dstPtr = make_cudaPitchedPtr(out.data(), n * 4, n * 4, 1);
  box.extent = make_cudaExtent(n * 4, 1, 1);
  box.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaGraphAddMemcpyNode(&down, graph, &shifted, 1, &box));
  cudaHostNodeParams hostParams{called, &call};
  CHECK(cudaGraphAddHostNode(&host1, graph, &down, 1, &hostParams));

  size_t nodes = 0, roots = 0, edges = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  CHECK(cudaGraphGetRootNodes(graph, nullptr, &roots));
  CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  EXPECT(nodes == 10 && roots == 3 && edges == 10);
  std::vector<cudaGraphNode_t> list(12, up);
  nodes = 12;
  CHECK(cudaGraphGetNodes(graph, list.data(), &nodes));
  const auto lists = [](const auto& all, cudaGraphNode_t node) { return std::count(std::begin(all), std::end(all), node) == 1; };
  EXPECT(nodes == 10 && lists(list, up) && lists(list, host1) && list[10] == nullptr && list[11] == nullptr);
  cudaGraphNode_t before[3];
  size_t dependencies = 3;
  CHECK(cudaGraphNodeGetDependencies(sum, before, nullptr, &dependencies));
  EXPECT(dependencies == 3 && lists(before, twice) && lists(before, thrice) && lists(before, zero));
  cudaGraphNodeType type;
  CHECK(cudaGraphNodeGetType(host1, &type));
  EXPECT(type == cudaGraphNodeTypeHost);
  cudaKernelNodeParams got{};
  CHECK(cudaGraphKernelNodeGetParams(thrice, &got));
  EXPECT(got.func == (void*)scale && got.blockDim.x == 256 && *static_cast<float*>(got.kernelParams[2]) == 3);

  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int launch = 0; launch < 5; ++launch) {
    for (int i = 0; i < n; ++i) host[i] = float(i % 97 + launch);
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    std::vector<float> wanted(n);
    for (int i = 0; i < n; ++i) wanted[i] = host[i] * 5 + shifts[i % 4];
    check::equal("out", out, wanted);
    EXPECT(call.times == launch + 1 && call.first == wanted[0]);
  }

  // Other parameters, in the instance alone.
  float seven = 7;
  void* arguments[] = {&b, &count, &seven};
  got.kernelParams = arguments;
  CHECK(cudaGraphExecKernelNodeSetParams(exec, thrice, &got));
  CHECK(cudaGraphExecMemcpyNodeSetParams1D(exec, down, pinned, c, n * 4, cudaMemcpyDeviceToHost));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  for (int i = 0; i < n; ++i) EXPECT(pinned[i] == host[i] * 9 + shifts[i % 4]);
  CHECK(cudaGraphNodeSetEnabled(exec, shifted, 0));
  unsigned enabled = 1;
  CHECK(cudaGraphNodeGetEnabled(exec, shifted, &enabled));
  EXPECT(enabled == 0);
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(pinned[4] == host[4] * 9);

  // As a child, twice over, of a clone.
  cudaGraph_t clone, outer;
  CHECK(cudaGraphClone(&clone, graph));
  cudaGraphNode_t twin;
  CHECK(cudaGraphNodeFindInClone(&twin, thrice, clone));
  CHECK(cudaGraphKernelNodeSetParams(twin, &got));
  CHECK(cudaGraphCreate(&outer, 0));
  cudaGraphNode_t first, second, last;
  CHECK(cudaGraphAddChildGraphNode(&first, outer, nullptr, 0, clone));
  CHECK(cudaGraphAddChildGraphNode(&second, outer, &first, 1, clone));
  CHECK(cudaGraphAddMemcpyNode1D(&last, outer, &second, 1, pinned, out.data(), n * 4, cudaMemcpyHostToHost));
  CHECK(cudaGraphDestroy(clone));
  cudaGraphExec_t outerExec;
  CHECK(cudaGraphInstantiateWithFlags(&outerExec, outer, 0));
  call.times = 0;
  std::memset(pinned, 0, n * 4);
  CHECK(cudaGraphLaunch(outerExec, stream));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(call.times == 2);
  for (int i = 0; i < n; ++i) EXPECT(pinned[i] == host[i] * 9 + shifts[i % 4]);

  CHECK(cudaGraphDebugDotPrint(outer, "/dev/null", cudaGraphDebugDotFlagsVerbose));
  CHECK(cudaGraphExecDestroy(outerExec));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(outer));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  for (float* p : {a, b, c}) CHECK(cudaFree(p));
  CHECK(cudaFreeHost(pinned));
}

// A long chain and a wide fan, with joints of empty nodes; events across graphs and streams.
void shapes() {
  float* values;
  CHECK(cudaMalloc(&values, n * 4 * 40));
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaMemsetParams fill{};
  fill.elementSize = 4;
  fill.width = n;
  fill.height = 1;
  std::vector<cudaGraphNode_t> fills(40), ends;
  const float one = 1;
  std::memcpy(&fill.value, &one, 4);
  for (int i = 0; i < 40; ++i) {
    fill.dst = values + i * n;
    CHECK(cudaGraphAddMemsetNode(&fills[i], graph, nullptr, 0, &fill));
  }
  cudaGraphNode_t joint;
  CHECK(cudaGraphAddEmptyNode(&joint, graph, fills.data(), fills.size()));
  int count = n;
  float two = 2;
  for (int i = 0; i < 40; ++i) {
    float* at = values + i * n;
    cudaGraphNode_t node = joint;
    for (int step = 0; step <= i % 5; ++step) node = kernel(graph, {node}, (void*)scale, {&at, &count, &two});
    ends.push_back(node);
  }
  cudaEvent_t before, done;
  CHECK(cudaEventCreate(&before));
  CHECK(cudaEventCreate(&done));
  cudaGraphNode_t wait, record;
  CHECK(cudaGraphAddEventWaitNode(&wait, graph, nullptr, 0, before));
  for (auto node : fills) CHECK(cudaGraphAddDependencies(graph, &wait, &node, nullptr, 1));
  CHECK(cudaGraphAddEventRecordNode(&record, graph, ends.data(), ends.size(), done));
  kernel(graph, {record}, (void*)scale, {&values, &count, &two});

  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  cudaStream_t a, b;
  CHECK(cudaStreamCreate(&a));
  CHECK(cudaStreamCreate(&b));
  for (int launch = 0; launch < 3; ++launch) {
    CHECK(cudaMemsetAsync(values, 0xff, n * 160, b));
    CHECK(cudaEventRecord(before, b));
    CHECK(cudaGraphLaunch(exec, a));
    CHECK(cudaStreamWaitEvent(b, done));
    std::vector<float> got(n);
    CHECK(cudaMemcpyAsync(got.data(), values + 9 * n, n * 4, cudaMemcpyDeviceToHost, b));
    CHECK(cudaStreamSynchronize(b));
    EXPECT(got[5] == 32);
    CHECK(cudaStreamSynchronize(a));
    const auto all = check::toHost(values, 40 * n);
    for (int i = 0; i < 40; ++i) EXPECT(all[i * n + n - 1] == float(1 << (i % 5 + 1 + (i == 0))));
  }
  // What depends on itself cannot run.
  CHECK(cudaGraphAddDependencies(graph, &ends[0], &joint, nullptr, 1));
  cudaGraphExec_t none;
  EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphInstantiate(&none, graph, 0));
  CHECK(cudaGraphRemoveDependencies(graph, &ends[0], &joint, nullptr, 1));
  CHECK(cudaGraphDestroyNode(record));
  // CUDA leaves open what comes of handles that are stale, and may crash; Rouse has an error for them.
  if (check::throughRouse()) EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphDestroyNode(record));
  size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT(nodes == 40 + 1 + 120 + 1 + 1);
  cudaGraphExecUpdateResultInfo info;
  EXPECT_ERROR(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec, graph, &info));
  EXPECT(info.result == cudaGraphExecUpdateErrorTopologyChanged || info.result == cudaGraphExecUpdateErrorNodeTypeChanged);
  cudaGetLastError();
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  if (check::throughRouse()) {
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphDestroy(graph));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphLaunch(exec, a));
  }
  cudaGetLastError();
  CHECK(cudaStreamDestroy(a));
  CHECK(cudaStreamDestroy(b));
  CHECK(cudaEventDestroy(before));
  CHECK(cudaEventDestroy(done));
  CHECK(cudaFree(values));
}

// What has been said of a node is what it says, and what another takes over from it.
void attributes() {
  float* values;
  CHECK(cudaMalloc(&values, n * 4));
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  int count = n;
  float by = 2;
  cudaGraphNode_t filled, first = kernel(graph, {}, (void*)scale, {&values, &count, &by}),
                          second = kernel(graph, {first}, (void*)scale, {&values, &count, &by});
  cudaLaunchAttributeValue value{}, got{};
  value.priority = -1;
  CHECK(cudaGraphKernelNodeSetAttribute(first, cudaLaunchAttributePriority, &value));
  CHECK(cudaGraphKernelNodeGetAttribute(first, cudaLaunchAttributePriority, &got));
  EXPECT(got.priority == -1);
  CHECK(cudaGraphKernelNodeGetAttribute(second, cudaLaunchAttributePriority, &got));
  EXPECT(got.priority == 0);
  CHECK(cudaGraphKernelNodeCopyAttributes(second, first));
  CHECK(cudaGraphKernelNodeGetAttribute(second, cudaLaunchAttributePriority, &got));
  EXPECT(got.priority == -1);
  cudaMemsetParams fill{}, said{};
  fill.dst = values;
  fill.value = 3;
  fill.elementSize = 4;
  fill.width = 7;
  fill.height = 1;
  CHECK(cudaGraphAddMemsetNode(&filled, graph, nullptr, 0, &fill));
  CHECK(cudaGraphMemsetNodeGetParams(filled, &said));
  EXPECT(said.dst == fill.dst && said.value == 3 && said.elementSize == 4 && said.width == 7 && said.height == 1);
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaFree(values));
}

std::atomic<int> ended{0};
void CUDART_CB ends(void* data) { ended += *static_cast<int*>(data); }

void objects() {
  cudaUserObject_t object;
  int by = 5;
  CHECK(cudaUserObjectCreate(&object, &by, ends, 1, cudaUserObjectNoDestructorSync));
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  cudaGraphNode_t node;
  CHECK(cudaGraphAddEmptyNode(&node, graph, nullptr, 0));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  EXPECT(ended == 0);
  CHECK(cudaGraphLaunch(exec, 0));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaGraphExecDestroy(exec));
  // "The destructor execution is not synchronized by any CUDA handle": it may be a thread of CUDA's that calls it.
  for (int i = 0; i < 5000 && ended == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT(ended == 5);
  if (check::throughRouse()) EXPECT_ERROR(cudaErrorInvalidValue, cudaUserObjectRelease(object, 1));
}

int main() {
  dataflow();
  shapes();
  attributes();
  objects();
  return check::done();
}
