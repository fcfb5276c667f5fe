// Stream capture: forks and joins by events, what may not be done meanwhile and the errors it gives, modes, dependencies of the program's
// own, updates of an instance by a graph captured anew.
#include <thread>

#include "check.h"

__global__ void step(int* values, int n, int by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = values[i] * 3 + by;
}
__global__ void join(const int* a, const int* b, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] - 2 * b[i];
}

constexpr int n = 5000, kBlock = 256, kGrid = (n + kBlock - 1) / kBlock;
int *a, *b, *out;
int calls = 0;
void CUDART_CB count(void*) { ++calls; }

void enqueue(cudaStream_t stream, cudaStream_t side, cudaEvent_t fork, cudaEvent_t joined, std::vector<int>& host, int by) {
  CHECK(cudaMemcpyAsync(a, host.data(), n * 4, cudaMemcpyHostToDevice, stream));
  CHECK(cudaEventRecord(fork, stream));
  CHECK(cudaStreamWaitEvent(side, fork));
  CHECK(cudaMemsetAsync(b, 1, n * 4, side));
  step<<<kGrid, kBlock, 0, side>>>(b, n, by);
  for (int i = 0; i < 3; ++i) step<<<kGrid, kBlock, 0, stream>>>(a, n, by + i);
  CHECK(cudaEventRecord(joined, side));
  CHECK(cudaStreamWaitEvent(stream, joined));
  join<<<kGrid, kBlock, 0, stream>>>(a, b, out, n);
  CHECK(cudaLaunchHostFunc(stream, count, nullptr));
}

int wanted(int x, int by) {
  int v = x, w = 0x01010101;
  w = w * 3 + by;
  for (int i = 0; i < 3; ++i) v = v * 3 + by + i;
  return v - 2 * w;
}

void forks() {
  cudaStream_t stream, side;
  cudaEvent_t fork, joined;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
  std::vector<int> host(n);

  cudaGraph_t graph;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  cudaStreamCaptureStatus status;
  CHECK(cudaStreamIsCapturing(side, &status));
  EXPECT(status == cudaStreamCaptureStatusNone);
  enqueue(stream, side, fork, joined, host, 7);
  CHECK(cudaStreamIsCapturing(side, &status));
  EXPECT(status == cudaStreamCaptureStatusActive);
  unsigned long long id[2] = {};
  const cudaGraphNode_t* dependencies = nullptr;
  size_t dependencyCount = 0;
  cudaGraph_t underWay = nullptr;
  CHECK(cudaStreamGetCaptureInfo(stream, &status, &id[0], &underWay, &dependencies, nullptr, &dependencyCount));
  CHECK(cudaStreamGetCaptureInfo(side, &status, &id[1]));
  EXPECT(id[0] == id[1] && id[0] != 0 && dependencyCount == 1 && underWay != nullptr);
  cudaGraphNodeType type;
  CHECK(cudaGraphNodeGetType(dependencies[0], &type));
  EXPECT(type == cudaGraphNodeTypeHost);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaStreamIsCapturing(side, &status));
  EXPECT(status == cudaStreamCaptureStatusNone && graph == underWay && calls == 0);
  size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT(nodes == 8);
  // Programs look for a kernel by its address, whatever <<<>>> launches it by. CUDA does not say that they find it.
  std::vector<cudaGraphNode_t> all(nodes);
  CHECK(cudaGraphGetNodes(graph, all.data(), &nodes));
  int steps = 0, joins = 0;
  for (cudaGraphNode_t node : all) {
    cudaKernelNodeParams params{};
    CHECK(cudaGraphNodeGetType(node, &type));
    if (type != cudaGraphNodeTypeKernel) continue;
    CHECK(cudaGraphKernelNodeGetParams(node, &params));
    EXPECT(params.func != nullptr && params.blockDim.x == kBlock && params.kernelParams != nullptr);
    steps += params.func == (void*)step;
    joins += params.func == (void*)join;
  }
  EXPECT(!check::throughRouse() || (steps == 4 && joins == 1));

  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  for (int launch = 0; launch < 10; ++launch) {
    for (int i = 0; i < n; ++i) host[i] = i * 31 + launch;
    CHECK(cudaGraphLaunch(exec, launch % 2 ? stream : side));
    CHECK(cudaDeviceSynchronize());
    const auto got = check::toHost(out, n);
    for (int i = 0; i < n; ++i)
      if (got[i] != wanted(host[i], 7)) {
        EXPECT(got[i] == wanted(host[i], 7));
        break;
      }
  }
  EXPECT(calls == 10);

  // Captured anew with other numbers, and brought into the instance.
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  enqueue(stream, side, fork, joined, host, 40);
  CHECK(cudaStreamEndCapture(stream, &graph));
  cudaGraphExecUpdateResultInfo info;
  CHECK(cudaGraphExecUpdate(exec, graph, &info));
  EXPECT(info.result == cudaGraphExecUpdateSuccess);
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(check::toHost(out, n)[77] == wanted(host[77], 40));

  // Launches cannot be captured; what they would launch can be a child.
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  EXPECT_ERROR(cudaErrorStreamCaptureUnsupported, cudaGraphLaunch(exec, stream));
  cudaGraph_t outer;
  EXPECT_ERROR(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &outer));
  (void)cudaGetLastError();
  CHECK(cudaGraphCreate(&outer, 0));
  cudaGraphNode_t first, second;
  CHECK(cudaGraphAddChildGraphNode(&first, outer, nullptr, 0, graph));
  CHECK(cudaGraphAddChildGraphNode(&second, outer, &first, 1, graph));
  CHECK(cudaGraphNodeGetType(second, &type));
  EXPECT(type == cudaGraphNodeTypeGraph);
  cudaGraphExec_t twice;
  CHECK(cudaGraphInstantiate(&twice, outer, 0));
  calls = 0;
  CHECK(cudaGraphLaunch(twice, stream));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(calls == 2);
  CHECK(cudaGraphExecDestroy(twice));
  CHECK(cudaGraphDestroy(outer));
  // An instance cannot be destroyed meanwhile.
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  const cudaError_t refused = cudaGraphExecDestroy(exec);
  EXPECT_ERROR(cudaErrorStreamCaptureUnsupported, refused);
  EXPECT_ERROR(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &outer));
  (void)cudaGetLastError();
  if (refused != cudaSuccess) CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaStreamDestroy(side));
  CHECK(cudaEventDestroy(fork));
  CHECK(cudaEventDestroy(joined));
}

void refusals() {
  cudaStream_t stream, other;
  cudaEvent_t event, outside;
  cudaGraph_t graph;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamCreate(&other));
  CHECK(cudaEventCreate(&event));
  CHECK(cudaEventCreate(&outside));
  CHECK(cudaEventRecord(outside, other));
  const auto invalidated = [&] {
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamIsCapturing(stream, &status));
    EXPECT(status == cudaStreamCaptureStatusInvalidated);
    EXPECT_ERROR(cudaErrorStreamCaptureInvalidated, cudaMemsetAsync(a, 0, 4, stream));
    graph = reinterpret_cast<cudaGraph_t>(&graph);
    EXPECT_ERROR(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    EXPECT(graph == nullptr);
    CHECK(cudaStreamIsCapturing(stream, &status));
    EXPECT(status == cudaStreamCaptureStatusNone);
    (void)cudaGetLastError();
  };
  const auto begin = [&](cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) { CHECK(cudaStreamBeginCapture(stream, mode)); };

  EXPECT_ERROR(cudaErrorStreamCaptureUnsupported, cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeGlobal));
  EXPECT_ERROR(cudaErrorIllegalState, cudaStreamEndCapture(stream, &graph));

  begin();
  EXPECT_ERROR(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
  invalidated();
  begin();
  EXPECT_ERROR(cudaErrorStreamCaptureUnsupported, cudaStreamQuery(stream));
  invalidated();
  begin();
  EXPECT_ERROR(cudaErrorStreamCaptureUnsupported, cudaDeviceSynchronize());
  invalidated();
  begin();
  void* memory = nullptr;
  EXPECT_ERROR(cudaErrorStreamCaptureUnsupported, cudaMalloc(&memory, 256));
  invalidated();
  begin();
  // To ask whether the legacy stream captures is an error, and does no harm.
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  EXPECT_ERROR(cudaErrorStreamCaptureImplicit, cudaStreamIsCapturing(cudaStreamLegacy, &status));
  CHECK(cudaStreamIsCapturing(stream, &status));
  EXPECT(status == cudaStreamCaptureStatusActive);
  EXPECT_ERROR(cudaErrorStreamCaptureImplicit, cudaMemset(a, 0, 4));
  invalidated();
  begin();
  step<<<1, 1>>>(a, 1, 1);
  EXPECT_ERROR(cudaErrorStreamCaptureImplicit, cudaGetLastError());
  invalidated();
  begin();
  EXPECT_ERROR(cudaErrorStreamCaptureIsolation, cudaStreamWaitEvent(stream, outside));
  invalidated();
  begin();
  CHECK(cudaEventRecord(event, stream));
  EXPECT_ERROR(cudaErrorCapturedEvent, cudaEventSynchronize(event));
  invalidated();
  begin();
  EXPECT_ERROR(cudaErrorStreamCaptureUnsupported,
               cudaStreamAddCallback(stream, [](cudaStream_t, cudaError_t, void*) {}, nullptr, 0));
  invalidated();

  // A fork that does not come back.
  begin();
  CHECK(cudaMemsetAsync(a, 0, 4, stream));
  CHECK(cudaEventRecord(event, stream));
  CHECK(cudaStreamWaitEvent(other, event));
  CHECK(cudaMemsetAsync(b, 0, 4, other));
  EXPECT_ERROR(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(stream, &graph));
  // Ended on the wrong stream.
  begin();
  CHECK(cudaEventRecord(event, stream));
  CHECK(cudaStreamWaitEvent(other, event));
  EXPECT_ERROR(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(other, &graph));
  if (check::throughRouse()) {
    invalidated();
  } else {  // CUDA does not say what becomes of it
    (void)cudaStreamEndCapture(stream, &graph);
    (void)cudaGetLastError();
  }
  // Two captures that meet.
  begin();
  CHECK(cudaStreamBeginCapture(other, cudaStreamCaptureModeGlobal));
  CHECK(cudaEventRecord(event, other));
  EXPECT_ERROR(cudaErrorStreamCaptureMerge, cudaStreamWaitEvent(stream, event));
  EXPECT_ERROR(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(other, &graph));
  invalidated();
  // Ended by another thread.
  begin();
  std::thread([&] { EXPECT_ERROR(cudaErrorStreamCaptureWrongThread, cudaStreamEndCapture(stream, &graph)); }).join();
  const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
  if (check::throughRouse()) CHECK(ended);  // CUDA does not say
  if (ended == cudaSuccess) CHECK(cudaGraphDestroy(graph));
  (void)cudaGetLastError();

  // What the modes forbid, and to whom.
  begin(cudaStreamCaptureModeRelaxed);
  CHECK(cudaMalloc(&memory, 256));
  CHECK(cudaFree(memory));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphDestroy(graph));
  begin(cudaStreamCaptureModeThreadLocal);
  std::thread([&] {
    void* its = nullptr;
    CHECK(cudaMalloc(&its, 256));
    CHECK(cudaFree(its));
  }).join();
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT(mode == cudaStreamCaptureModeGlobal);
  CHECK(cudaMalloc(&memory, 256));
  CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaFree(memory));

  // Nothing of all that has been run.
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaStreamDestroy(other));
  CHECK(cudaEventDestroy(event));
  CHECK(cudaEventDestroy(outside));
}

// A stream that takes part is destroyed before the capture ends: what it did stays, and must have been joined. (CUDA does not say so.)
void destroyed() {
  cudaStream_t stream;
  cudaEvent_t forked, joined;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&forked));
  CHECK(cudaEventCreate(&joined));
  for (const bool joins : {true, false}) {
    cudaStream_t side;
    CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMemsetAsync(a, 0, n * 4, stream));
    CHECK(cudaEventRecord(forked, stream));
    CHECK(cudaStreamWaitEvent(side, forked));
    step<<<kGrid, kBlock, 0, side>>>(a, n, 7);
    CHECK(cudaEventRecord(joined, side));
    if (joins) CHECK(cudaStreamWaitEvent(stream, joined));
    CHECK(cudaStreamDestroy(side));
    cudaGraph_t graph;
    if (!joins) {
      EXPECT_ERROR(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(stream, &graph));
      continue;
    }
    CHECK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(check::toHost(a, n)[n - 1] == 7);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
  }
  CHECK(cudaEventDestroy(forked));
  CHECK(cudaEventDestroy(joined));
  CHECK(cudaStreamDestroy(stream));
}

// Nodes of the program's between captured ones, external events, and a capture into a graph there is.
void mixed() {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaEvent_t outside;
  CHECK(cudaEventCreate(&outside));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  CHECK(cudaMemsetAsync(a, 0, n * 4, stream));
  cudaStreamCaptureStatus status;
  cudaGraph_t graph;
  const cudaGraphNode_t* dependencies;
  size_t count = 0;
  CHECK(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, &dependencies, nullptr, &count));
  int *at = a, size = n, by = 5;
  void* arguments[] = {&at, &size, &by};
  cudaKernelNodeParams params{};
  params.func = (void*)step;
  params.gridDim = kGrid;
  params.blockDim = kBlock;
  params.kernelParams = arguments;
  cudaGraphNode_t node;
  CHECK(cudaGraphAddKernelNode(&node, graph, dependencies, count, &params));
  CHECK(cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1, cudaStreamSetCaptureDependencies));
  step<<<kGrid, kBlock, 0, stream>>>(a, n, 1);
  CHECK(cudaEventRecordWithFlags(outside, stream, cudaEventRecordExternal));
  CHECK(cudaStreamEndCapture(stream, &graph));
  cudaGraphNode_t tail = nullptr;
  size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT(nodes == 4);
  std::vector<cudaGraphNode_t> all(nodes);
  CHECK(cudaGraphGetNodes(graph, all.data(), &nodes));
  for (cudaGraphNode_t each : all) {
    cudaGraphNodeType type;
    CHECK(cudaGraphNodeGetType(each, &type));
    if (type == cudaGraphNodeTypeEventRecord) tail = each;
  }
  CHECK(cudaStreamBeginCaptureToGraph(stream, graph, &tail, nullptr, 1, cudaStreamCaptureModeThreadLocal));
  step<<<kGrid, kBlock, 0, stream>>>(a, n, 2);
  cudaGraph_t same;
  CHECK(cudaStreamEndCapture(stream, &same));
  EXPECT(same == graph);

  cudaGraphExec_t exec;
  cudaGraphInstantiateParams how{};
  how.flags = cudaGraphInstantiateFlagUpload;
  how.uploadStream = stream;
  CHECK(cudaGraphInstantiateWithParams(&exec, graph, &how));
  EXPECT(how.result_out == cudaGraphInstantiateSuccess);
  CHECK(cudaGraphUpload(exec, stream));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaEventSynchronize(outside));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(check::toHost(a, n)[n - 1] == (5 * 3 + 1) * 3 + 2);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaEventDestroy(outside));
  CHECK(cudaStreamDestroy(stream));
}

int main() {
  CHECK(cudaMalloc(&a, n * 4));
  CHECK(cudaMalloc(&b, n * 4));
  CHECK(cudaMalloc(&out, n * 4));
  forks();
  refusals();
  if (check::throughRouse()) destroyed();
  mixed();
  return check::done();
}
