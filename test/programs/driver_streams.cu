// Streams by the driver API: making, asking, waiting, attributes, callbacks, captures, events, also by the names that programs with per-thread default
// streams call; and what another process is told of memory and events.
// known-gap-check: a process whose accesses are checked shares no memory with others
#include "driver.h"

#include <sys/wait.h>
#include <unistd.h>

#include <thread>

const unsigned n = 1024;

CUfunction scale(CUmodule* module) {
  CUfunction function = nullptr;
  DRIVER(cuModuleLoadData, module, driver::source);
  DRIVER(cuModuleGetFunction, &function, *module, "scale");
  return function;
}

void asked() {
  CUstream plain = nullptr, urgent = nullptr;
  unsigned flags = 99;
  int priority = 99, least = 0, greatest = 0;
  CUdevice device = -1;
  unsigned long long id = 0, other = 0;
  DRIVER(cuCtxGetStreamPriorityRange, &least, &greatest);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuStreamCreate, &plain, 77);
  DRIVER(cuStreamCreate, &plain, CU_STREAM_DEFAULT);
  DRIVER(cuStreamCreateWithPriority, &urgent, CU_STREAM_NON_BLOCKING, greatest);
  DRIVER(cuStreamGetFlags, urgent, &flags);
  EXPECT(flags == CU_STREAM_NON_BLOCKING);
  DRIVER(cuStreamGetFlags_ptsz, plain, &flags);
  EXPECT(flags == CU_STREAM_DEFAULT);
  DRIVER(cuStreamGetPriority, urgent, &priority);
  EXPECT(priority == greatest);
  DRIVER(cuStreamGetPriority_ptsz, plain, &priority);
  EXPECT(priority == 0);
  DRIVER(cuStreamGetDevice, urgent, &device);
  EXPECT(device == 0);
  DRIVER(cuStreamGetDevice_ptsz, nullptr, &device);
  // The null stream of such programs is the thread's own.
  DRIVER(cuStreamGetId, nullptr, &id);
  DRIVER(cuStreamGetId, CU_STREAM_LEGACY, &other);
  EXPECT(id == other);
  DRIVER(cuStreamGetId_ptsz, nullptr, &other);
  EXPECT(id != other);
  DRIVER(cuStreamGetId, CU_STREAM_PER_THREAD, &id);
  EXPECT(id == other);
  CUcontext context = nullptr, current = nullptr;
  CUgreenCtx green = nullptr;
  DRIVER(cuCtxGetCurrent, &current);
  DRIVER(cuStreamGetCtx_ptsz, plain, &context);
  EXPECT(context == current);
  DRIVER(cuStreamGetCtx_v2_ptsz, nullptr, &context, &green);
  EXPECT(context == current && green == nullptr);

  CUstreamAttrValue value{};
  value.syncPolicy = CU_SYNC_POLICY_YIELD;
  DRIVER(cuStreamSetAttribute, plain, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value);
  DRIVER(cuStreamCopyAttributes, urgent, plain);
  value = {};
  DRIVER(cuStreamGetAttribute, urgent, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value);
  EXPECT(value.syncPolicy == CU_SYNC_POLICY_YIELD);
  value.syncPolicy = CU_SYNC_POLICY_SPIN;
  DRIVER(cuStreamSetAttribute_ptsz, urgent, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value);
  DRIVER(cuStreamCopyAttributes_ptsz, plain, urgent);
  DRIVER(cuStreamGetAttribute_ptsz, plain, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value);
  EXPECT(value.syncPolicy == CU_SYNC_POLICY_SPIN);
  DRIVER(cuStreamDestroy_v2, plain);
  DRIVER(cuStreamDestroy, urgent);
  if (check::throughRouse()) DRIVER_ERROR(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery, plain);
}

void events() {
  CUstream one = nullptr, two = nullptr;
  CUevent begin = nullptr, end = nullptr, untimed = nullptr;
  float milliseconds = -1;
  CUmodule module = nullptr;
  const CUfunction function = scale(&module);
  CUdeviceptr memory = 0;
  DRIVER(cuMemAlloc_v2, &memory, n * sizeof(unsigned));
  DRIVER(cuStreamCreate, &one, CU_STREAM_NON_BLOCKING);
  DRIVER(cuStreamCreate, &two, CU_STREAM_NON_BLOCKING);
  DRIVER(cuEventCreate, &begin, CU_EVENT_DEFAULT);
  DRIVER(cuEventCreate, &end, CU_EVENT_BLOCKING_SYNC);
  DRIVER(cuEventCreate, &untimed, CU_EVENT_DISABLE_TIMING);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuEventCreate, &untimed, 0x100);
  unsigned count = n, factor = 3;
  void* arguments[] = {&memory, &count, &factor};
  DRIVER(cuEventRecord, begin, one);
  DRIVER(cuMemsetD32Async, memory, 4, n, one);
  DRIVER(cuEventRecordWithFlags, untimed, one, CU_EVENT_RECORD_DEFAULT);
  DRIVER(cuStreamWaitEvent, two, untimed, CU_EVENT_WAIT_DEFAULT);
  DRIVER(cuLaunchKernel_ptsz, function, 8, 1, 1, 128, 1, 1, 0, two, arguments, nullptr);
  DRIVER(cuEventRecord_ptsz, untimed, two);
  DRIVER(cuStreamWaitEvent_ptsz, one, untimed, 0);
  DRIVER(cuEventRecordWithFlags_ptsz, end, one, 0);
  DRIVER(cuEventSynchronize, end);
  DRIVER(cuEventQuery, end);
  DRIVER(cuStreamSynchronize_ptsz, one);
  DRIVER(cuStreamQuery_ptsz, one);
  DRIVER(cuEventElapsedTime_v2, &milliseconds, begin, end);
  EXPECT(milliseconds >= 0 && milliseconds < 60000);
  DRIVER(cuEventElapsedTime, &milliseconds, begin, end);
  DRIVER_ERROR(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime, &milliseconds, begin, untimed);
  std::vector<unsigned> result(n);
  DRIVER(cuMemcpyDtoH_v2, result.data(), memory, n * sizeof(unsigned));
  check::equal("two streams", result, std::vector<unsigned>(n, 4 * 3 + 1000));
  DRIVER(cuEventDestroy_v2, begin);
  DRIVER(cuEventDestroy, end);
  DRIVER(cuEventDestroy_v2, untimed);
  if (check::throughRouse()) DRIVER_ERROR(CUDA_ERROR_INVALID_HANDLE, cuEventQuery, begin);
  DRIVER(cuStreamDestroy_v2, one);
  DRIVER(cuStreamDestroy_v2, two);
  DRIVER(cuModuleUnload, module);
  DRIVER(cuMemFree_v2, memory);
}

struct Seen {
  int calls = 0;
  CUresult status = CUDA_ERROR_UNKNOWN;
  CUstream stream = nullptr;
  CUresult forbidden = CUDA_SUCCESS;
};

void CUDA_CB callback(CUstream stream, CUresult status, void* data) {
  auto& seen = *static_cast<Seen*>(data);
  ++seen.calls;
  seen.status = status;
  seen.stream = stream;
  CUdeviceptr memory = 0;
  seen.forbidden = CALL(cuMemAlloc_v2, &memory, 16);
}

void CUDA_CB hostFunction(void* data) { ++static_cast<Seen*>(data)->calls; }

void callbacks() {
  CUstream stream = nullptr;
  Seen seen;
  DRIVER(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  DRIVER(cuStreamAddCallback, stream, callback, &seen, 0);
  DRIVER(cuStreamSynchronize, stream);
  EXPECT(seen.calls == 1 && seen.status == CUDA_SUCCESS && seen.stream == stream && seen.forbidden != CUDA_SUCCESS);
  DRIVER(cuStreamAddCallback_ptsz, stream, callback, &seen, 0);
  DRIVER(cuLaunchHostFunc, stream, hostFunction, &seen);
  DRIVER(cuLaunchHostFunc_ptsz, stream, hostFunction, &seen);
  DRIVER(cuStreamSynchronize, stream);
  EXPECT(seen.calls == 4);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuStreamAddCallback, stream, nullptr, &seen, 0);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuLaunchHostFunc, stream, nullptr, &seen);
  DRIVER(cuStreamDestroy_v2, stream);
}

void captures() {
  CUstream stream = nullptr;
  CUgraph graph = nullptr, found = nullptr;
  CUstreamCaptureStatus status{};
  cuuint64_t id = 0, same = 0;
  const CUgraphNode* nodes = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  std::size_t count = 99;
  CUmodule module = nullptr;
  const CUfunction function = scale(&module);
  CUdeviceptr memory = 0;
  DRIVER(cuMemAlloc_v2, &memory, n * sizeof(unsigned));
  DRIVER(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  DRIVER(cuMemsetD32Async, memory, 2, n, stream);
  DRIVER(cuStreamIsCapturing, stream, &status);
  EXPECT(status == CU_STREAM_CAPTURE_STATUS_NONE);
  DRIVER_ERROR(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture, stream, &graph);

  DRIVER(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  DRIVER(cuStreamIsCapturing_ptsz, stream, &status);
  EXPECT(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  unsigned elements = n, factor = 3;
  void* arguments[] = {&memory, &elements, &factor};
  DRIVER(cuLaunchKernel, function, 8, 1, 1, 128, 1, 1, 0, stream, arguments, nullptr);
  DRIVER(cuMemsetD2D16Async, memory, 2048, 7, 4, 2, stream);
  DRIVER_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize, stream);
  DRIVER_ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture, stream, &graph);

  DRIVER(cuStreamBeginCapture_v2_ptsz, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  DRIVER(cuLaunchKernel, function, 8, 1, 1, 128, 1, 1, 0, stream, arguments, nullptr);
  DRIVER(cuMemsetD2D16Async, memory, 2048, 7, 4, 2, stream);
  DRIVER(cuStreamGetCaptureInfo_v3, stream, &status, &id, &found, &nodes, &edges, &count);
  EXPECT(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && found != nullptr && count == 1);
  CUgraphNode last = count == 1 ? nodes[0] : nullptr;
  DRIVER(cuStreamGetCaptureInfo_v3_ptsz, stream, &status, &same, nullptr, nullptr, nullptr, nullptr);
  EXPECT(id == same);
  DRIVER(cuStreamGetCaptureInfo_v2, stream, &status, &same, &found, &nodes, &count);
  EXPECT(id == same && count == 1 && nodes[0] == last);
  DRIVER(cuStreamGetCaptureInfo_v2_ptsz, stream, &status, &same, &found, &nodes, &count);
  DRIVER(cuStreamGetCaptureInfo, stream, &status, &same);
  DRIVER(cuStreamGetCaptureInfo_ptsz, stream, &status, &same);
  EXPECT(id == same);
  DRIVER(cuStreamUpdateCaptureDependencies_v2, stream, &last, nullptr, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES);
  DRIVER(cuStreamUpdateCaptureDependencies_v2_ptsz, stream, &last, nullptr, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES);
  DRIVER(cuStreamUpdateCaptureDependencies, stream, &last, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES);
  DRIVER(cuStreamUpdateCaptureDependencies_ptsz, stream, &last, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES);
  DRIVER(cuStreamEndCapture_ptsz, stream, &graph);
  EXPECT(graph != nullptr);
  // The runtime's launch of the driver's graph.
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphInstantiate(&exec, reinterpret_cast<cudaGraph_t>(graph), 0));
  CHECK(cudaGraphLaunch(exec, reinterpret_cast<cudaStream_t>(stream)));
  DRIVER(cuStreamSynchronize, stream);
  std::vector<unsigned> result(n), wanted(n, 2 * 3 + 1000);
  wanted[0] = wanted[1] = wanted[512] = wanted[513] = 0x00070007;
  DRIVER(cuMemcpyDtoH_v2, result.data(), memory, n * sizeof(unsigned));
  check::equal("captured", result, wanted);
  CHECK(cudaGraphExecDestroy(exec));

  DRIVER(cuStreamBeginCaptureToGraph, stream, reinterpret_cast<CUgraph>(graph), nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_RELAXED);
  DRIVER(cuMemsetD8Async, memory, 1, 16, stream);
  DRIVER(cuStreamEndCapture, stream, &found);
  EXPECT(found == graph);
  DRIVER(cuStreamBeginCaptureToGraph_ptsz, stream, graph, nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_RELAXED);
  DRIVER(cuStreamEndCapture, stream, &found);
  CHECK(cudaGraphDestroy(reinterpret_cast<cudaGraph_t>(graph)));

  // Without a mode, as it was before there were any, nothing is forbidden; in the global one other threads may not allocate either.
  CUdeviceptr none = 0;
  DRIVER(cuStreamBeginCapture, stream);
  DRIVER(cuMemsetD8Async, memory, 1, 16, stream);
  DRIVER(cuMemAlloc_v2, &none, 16);
  DRIVER(cuStreamEndCapture, stream, &graph);
  CHECK(cudaGraphDestroy(reinterpret_cast<cudaGraph_t>(graph)));
  DRIVER(cuMemFree_v2, none);
  DRIVER(cuStreamBeginCapture_ptsz, stream);
  DRIVER(cuStreamEndCapture, stream, &graph);
  CHECK(cudaGraphDestroy(reinterpret_cast<cudaGraph_t>(graph)));
  DRIVER(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  DRIVER(cuMemsetD8Async, memory, 1, 16, stream);
  DRIVER_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc_v2, &none, 16);
  DRIVER_ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture, stream, &graph);
  DRIVER(cuStreamBeginCapture_v2_ptsz, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  DRIVER(cuThreadExchangeStreamCaptureMode, &mode);
  EXPECT(mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
  DRIVER(cuMemAlloc_v2, &none, 16);
  DRIVER(cuThreadExchangeStreamCaptureMode, &mode);
  DRIVER(cuStreamEndCapture, stream, &graph);
  CHECK(cudaGraphDestroy(reinterpret_cast<cudaGraph_t>(graph)));
  DRIVER(cuMemFree_v2, none);
  DRIVER(cuStreamDestroy_v2, stream);
  DRIVER(cuModuleUnload, module);
  DRIVER(cuMemFree_v2, memory);
}

struct Handles {
  CUipcMemHandle memory;
  CUipcEventHandle event;
};

// The other process: sees what the first one has written, and writes.
int other(int in, int out) {
  Handles handles;
  if (::read(in, &handles, sizeof handles) != sizeof handles) return 2;
  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
  CUevent event = nullptr;
  std::vector<unsigned> result(n);
  DRIVER(cuInit, 0);
  DRIVER(cuCtxCreate_v2, &context, 0, 0);
  DRIVER(cuIpcOpenMemHandle_v2, &memory, handles.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  DRIVER(cuIpcOpenEventHandle, &event, handles.event);
  DRIVER(cuEventSynchronize, event);
  DRIVER(cuMemcpyDtoH_v2, result.data(), memory, n * sizeof(unsigned));
  check::equal("another process's", result, std::vector<unsigned>(n, 77));
  DRIVER(cuIpcCloseMemHandle, memory);
  DRIVER(cuIpcOpenMemHandle, &memory, handles.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  DRIVER(cuMemsetD32_v2, memory, 78, n);
  DRIVER(cuCtxSynchronize);
  DRIVER(cuEventDestroy_v2, event);
  DRIVER(cuCtxDestroy_v2, context);
  const char done = check::failures == 0 ? 1 : 0;
  return ::write(out, &done, 1) == 1 && done == 1 ? 0 : 1;
}

void twoProcesses(int in, int out) {
  CUdeviceptr memory = 0;
  CUevent event = nullptr;
  Handles handles;
  DRIVER(cuMemAlloc_v2, &memory, n * sizeof(unsigned));
  DRIVER(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
  DRIVER(cuMemsetD32_v2, memory, 77, n);
  DRIVER(cuEventRecord, event, nullptr);
  DRIVER(cuIpcGetMemHandle, &handles.memory, memory);
  DRIVER(cuIpcGetEventHandle, &handles.event, event);
  EXPECT(::write(out, &handles, sizeof handles) == sizeof handles);
  char done = 0;
  EXPECT(::read(in, &done, 1) == 1 && done == 1);
  std::vector<unsigned> result(n);
  DRIVER(cuMemcpyDtoH_v2, result.data(), memory, n * sizeof(unsigned));
  check::equal("written by another process", result, std::vector<unsigned>(n, 78));
  DRIVER(cuEventDestroy_v2, event);
  DRIVER(cuMemFree_v2, memory);
}

int main() {
  int there[2], back[2];
  if (::pipe(there) != 0 || ::pipe(back) != 0) return 1;
  const pid_t child = ::fork();  // before anything of CUDA's
  if (child == 0) std::_Exit(other(there[0], back[1]));
  CUcontext context = nullptr;
  DRIVER(cuInit, 0);
  DRIVER(cuDevicePrimaryCtxRetain, &context, 0);
  DRIVER(cuCtxSetCurrent, context);
  asked();
  events();
  callbacks();
  captures();
  DRIVER(cuProfilerStart);
  DRIVER(cuProfilerStop);
  ::close(back[1]);
  twoProcesses(back[0], there[1]);
  int status = -1;
  EXPECT(::waitpid(child, &status, 0) == child && status == 0);
  return check::done();
}
