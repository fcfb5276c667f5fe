// Streams, events, host functions.
#include <atomic>
#include <chrono>
#include <thread>

#include "test/cudart/fixture.h"

using rouse::test::Fixture;
using rouse::test::launchAddOne;
using rouse::test::launchSleep;
using rouse::test::server;

// Exported beside the plain names; headers rename to them when a program is compiled with per-thread default streams.
extern "C" {
cudaError_t cudaStreamGetId_ptsz(cudaStream_t, unsigned long long*);
cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t);
cudaError_t cudaMemsetAsync_ptsz(void*, int, size_t, cudaStream_t);
cudaError_t cudaMemset_ptds(void*, int, size_t);
}

namespace {

void registered() {
  static void** const handle = rouse::test::registerModule();
  REQUIRE(handle != nullptr);
}

}  // namespace

TEST_CASE_METHOD(Fixture, "a stream is what it was made to be", "[cudart][streams]") {
  cudaStream_t stream = nullptr;
  int priority = 1, device = -1, least = -1, greatest = 1;
  unsigned flags = 99;
  REQUIRE(cudaDeviceGetStreamPriorityRange(&least, &greatest) == cudaSuccess);
  CHECK(least == 0);
  CHECK(greatest < 0);
  REQUIRE(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest) == cudaSuccess);
  CHECK(cudaStreamGetFlags(stream, &flags) == cudaSuccess);
  CHECK(flags == cudaStreamNonBlocking);
  CHECK(cudaStreamGetPriority(stream, &priority) == cudaSuccess);
  CHECK(priority == greatest);
  CHECK(cudaStreamGetDevice(stream, &device) == cudaSuccess);
  CHECK(device == 0);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
  CHECK(cudaStreamIsCapturing(stream, &status) == cudaSuccess);
  CHECK(status == cudaStreamCaptureStatusNone);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaErrorInvalidResourceHandle);
  CHECK(cudaStreamGetFlags(stream, &flags) == cudaErrorInvalidResourceHandle);
  CHECK(cudaStreamDestroy(nullptr) == cudaErrorInvalidResourceHandle);
  CHECK(cudaStreamDestroy(cudaStreamPerThread) == cudaErrorInvalidResourceHandle);
  CHECK(cudaStreamCreateWithFlags(&stream, 2) == cudaErrorInvalidValue);
}

TEST_CASE_METHOD(Fixture, "default streams: one for all, one a thread", "[cudart][streams]") {
  unsigned long long legacy = 0, explicitLegacy = 0, mine = 0, mineAgain = 0, theirs = 0;
  REQUIRE(cudaStreamGetId(nullptr, &legacy) == cudaSuccess);
  REQUIRE(cudaStreamGetId(cudaStreamLegacy, &explicitLegacy) == cudaSuccess);
  REQUIRE(cudaStreamGetId_ptsz(nullptr, &mine) == cudaSuccess);
  REQUIRE(cudaStreamGetId(cudaStreamPerThread, &mineAgain) == cudaSuccess);
  std::thread([&] { (void)cudaStreamGetId_ptsz(nullptr, &theirs); }).join();
  CHECK(legacy == explicitLegacy);
  CHECK(mine == mineAgain);
  CHECK(mine != legacy);
  CHECK(theirs != mine);
  CHECK(theirs != legacy);
  REQUIRE(cudaStreamGetId_ptsz(cudaStreamLegacy, &mine) == cudaSuccess);  // asked for by name
  CHECK(mine == legacy);
}

TEST_CASE_METHOD(Fixture, "the per-thread variants work on the thread's stream", "[cudart][streams]") {
  void* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, 1024) == cudaSuccess);
  CHECK(cudaMemset_ptds(memory, 5, 1024) == cudaSuccess);
  CHECK(cudaMemsetAsync_ptsz(memory, 6, 512, nullptr) == cudaSuccess);
  CHECK(cudaStreamSynchronize_ptsz(nullptr) == cudaSuccess);
  unsigned char bytes[1024];
  REQUIRE(cudaMemcpy(bytes, memory, 1024, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(bytes[511] == 6);
  CHECK(bytes[512] == 5);
}

TEST_CASE_METHOD(Fixture, "stream attributes are kept with the stream", "[cudart][streams]") {
  cudaStream_t first = nullptr, second = nullptr;
  REQUIRE(cudaStreamCreate(&first) == cudaSuccess);
  REQUIRE(cudaStreamCreate(&second) == cudaSuccess);
  cudaLaunchAttributeValue value{};
  value.syncPolicy = cudaSyncPolicyYield;
  CHECK(cudaStreamSetAttribute(first, cudaLaunchAttributeSynchronizationPolicy, &value) == cudaSuccess);
  CHECK(cudaStreamCopyAttributes(second, first) == cudaSuccess);
  value = {};
  CHECK(cudaStreamGetAttribute(second, cudaLaunchAttributeSynchronizationPolicy, &value) == cudaSuccess);
  CHECK(value.syncPolicy == cudaSyncPolicyYield);
  CHECK(cudaStreamGetAttribute(second, cudaLaunchAttributeClusterDimension, &value) == cudaErrorInvalidValue);
}

TEST_CASE_METHOD(Fixture, "events order and time", "[cudart][streams]") {
  registered();
  cudaEvent_t start = nullptr, end = nullptr, untimed = nullptr;
  REQUIRE(cudaEventCreate(&start) == cudaSuccess);
  REQUIRE(cudaEventCreate(&end) == cudaSuccess);
  REQUIRE(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming) == cudaSuccess);
  float ms = -1;
  CHECK(cudaEventElapsedTime(&ms, start, end) == cudaErrorInvalidResourceHandle);  // never recorded
  REQUIRE(cudaEventRecord(start, nullptr) == cudaSuccess);
  REQUIRE(launchSleep(3000) == cudaSuccess);
  REQUIRE(cudaEventRecord(end, nullptr) == cudaSuccess);
  REQUIRE(cudaEventRecord(untimed, nullptr) == cudaSuccess);
  REQUIRE(cudaEventSynchronize(end) == cudaSuccess);
  REQUIRE(cudaEventElapsedTime(&ms, start, end) == cudaSuccess);
  CHECK(ms >= 2.9F);
  CHECK(ms < 10'000.0F);
  REQUIRE(cudaEventSynchronize(untimed) == cudaSuccess);
  CHECK(cudaEventElapsedTime(&ms, start, untimed) == cudaErrorInvalidResourceHandle);

  CHECK(cudaEventCreateWithFlags(&end, 0x800) == cudaErrorInvalidValue);
  CHECK(cudaEventCreateWithFlags(&end, cudaEventInterprocess) == cudaErrorInvalidValue);
  CHECK(cudaEventRecordWithFlags(start, nullptr, 7) == cudaErrorInvalidValue);
  CHECK(cudaEventRecord(nullptr, nullptr) == cudaErrorInvalidResourceHandle);
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  CHECK(cudaEventRecord(start, nullptr) == cudaErrorInvalidResourceHandle);  // another device's stream
  CHECK(cudaStreamWaitEvent(nullptr, start, 0) == cudaSuccess);              // may be waited for anywhere
  CHECK(cudaEventDestroy(start) == cudaSuccess);
  CHECK(cudaEventDestroy(start) == cudaErrorInvalidResourceHandle);
}

namespace {

struct Call {
  std::atomic<int> calls{0};
  cudaError_t status = cudaErrorUnknown;
  cudaError_t inside = cudaSuccess;
  cudaStream_t stream = nullptr;
};

void CUDART_CB hostFunction(void* data) {
  auto* call = static_cast<Call*>(data);
  void* memory = nullptr;
  call->inside = cudaMemcpy(memory, memory, 0, cudaMemcpyDefault);
  ++call->calls;
}

void CUDART_CB callback(cudaStream_t stream, cudaError_t status, void* data) {
  auto* call = static_cast<Call*>(data);
  call->status = status;
  call->stream = stream;
  ++call->calls;
}

}  // namespace

TEST_CASE_METHOD(Fixture, "host functions run in their stream's order", "[cudart][streams]") {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  Call function, added;
  REQUIRE(cudaLaunchHostFunc(stream, hostFunction, &function) == cudaSuccess);
  REQUIRE(cudaStreamAddCallback(stream, callback, &added, 0) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(function.calls == 1);
  CHECK(function.inside == cudaErrorNotPermitted);
  CHECK(added.calls == 1);
  CHECK(added.status == cudaSuccess);
  CHECK(added.stream == stream);
  CHECK(cudaLaunchHostFunc(stream, nullptr, nullptr) == cudaErrorInvalidValue);
  CHECK(cudaStreamAddCallback(stream, callback, &added, 1) == cudaErrorInvalidValue);
}

TEST_CASE_METHOD(Fixture, "after a failure callbacks are told, host functions are not called", "[cudart][streams]") {
  registered();
  static Call function, added;                          // outlive the test, whatever happens
  REQUIRE(rouse::test::launchSleep(0) == cudaSuccess);  // loads the module while work is still done
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  server().executor(0).hold(true);
  REQUIRE(rouse::test::launchFault(cudaErrorIllegalAddress) == cudaSuccess);
  REQUIRE(cudaLaunchHostFunc(nullptr, hostFunction, &function) == cudaSuccess);
  REQUIRE(cudaStreamAddCallback(nullptr, callback, &added, 0) == cudaSuccess);
  server().executor(0).hold(false);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  for (int i = 0; i < 2000 && added.calls == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(function.calls == 0);
  CHECK(added.calls == 1);
  CHECK(added.status == cudaErrorIllegalAddress);
}
