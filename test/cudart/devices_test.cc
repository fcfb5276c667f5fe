#include <cstring>
#include <thread>
#include <utility>

#include "test/cudart/fixture.h"

using rouse::test::Fixture;

TEST_CASE_METHOD(Fixture, "a process sees the devices that it was given", "[cudart][devices]") {
  int count = -1;
  REQUIRE(cudaGetDeviceCount(&count) == cudaSuccess);
  CHECK(count == 2);
  cudaDeviceProp prop;
  REQUIRE(cudaGetDeviceProperties(&prop, 1) == cudaSuccess);
  CHECK(std::string(prop.name) == "Test device");
  CHECK(prop.major == 7);
  int value = -1;
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxThreadsPerBlock, 0) == cudaSuccess);
  CHECK(value == 1024);
  CHECK(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(100000), 0) == cudaErrorInvalidValue);
}

TEST_CASE_METHOD(Fixture, "devices that do not exist are invalid", "[cudart][devices]") {
  int value = 0;
  cudaDeviceProp prop;
  for (const int device : {-1, 2, 1000}) {
    CHECK(cudaSetDevice(device) == cudaErrorInvalidDevice);
    CHECK(cudaGetDeviceProperties(&prop, device) == cudaErrorInvalidDevice);
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, device) == cudaErrorInvalidDevice);
    CHECK(cudaDeviceCanAccessPeer(&value, 0, device) == cudaErrorInvalidDevice);
  }
}

TEST_CASE_METHOD(Fixture, "each thread has a current device of its own", "[cudart][devices]") {
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  int here = -1, there = -1, later = -1;
  std::thread([&] {
    (void)cudaGetDevice(&there);
    (void)cudaSetDevice(0);
    (void)cudaGetDevice(&later);
  }).join();
  REQUIRE(cudaGetDevice(&here) == cudaSuccess);
  CHECK(here == 1);
  CHECK(there == 0);
  CHECK(later == 0);
}

TEST_CASE_METHOD(Fixture, "device flags are kept for each device", "[cudart][devices]") {
  unsigned flags = 0;
  REQUIRE(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync) == cudaSuccess);
  REQUIRE(cudaGetDeviceFlags(&flags) == cudaSuccess);
  CHECK((flags & cudaDeviceScheduleMask) == cudaDeviceScheduleBlockingSync);
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  REQUIRE(cudaGetDeviceFlags(&flags) == cudaSuccess);
  CHECK((flags & cudaDeviceScheduleMask) == cudaDeviceScheduleAuto);
  CHECK(cudaSetDeviceFlags(0x1000) == cudaErrorInvalidValue);
  CHECK(cudaSetDeviceFlags(cudaDeviceScheduleSpin | cudaDeviceScheduleYield) == cudaErrorInvalidValue);
}

TEST_CASE_METHOD(Fixture, "a device is ended by a reset and works again", "[cudart][devices]") {
  void* memory = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  REQUIRE(cudaMalloc(&memory, 1000) == cudaSuccess);
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  REQUIRE(cudaEventCreate(&event) == cudaSuccess);
  REQUIRE(cudaDeviceReset() == cudaSuccess);
  CHECK(cudaFree(memory) == cudaErrorInvalidValue);
  CHECK(cudaStreamQuery(stream) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventQuery(event) == cudaErrorInvalidResourceHandle);
  REQUIRE(cudaMalloc(&memory, 1000) == cudaSuccess);
  CHECK(cudaMemset(memory, 1, 1000) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE_METHOD(Fixture, "peers copy but do not share", "[cudart][devices]") {
  int can = -1;
  REQUIRE(cudaDeviceCanAccessPeer(&can, 0, 1) == cudaSuccess);
  CHECK(can == 0);
  CHECK(cudaDeviceEnablePeerAccess(1, 0) == cudaErrorPeerAccessUnsupported);
  CHECK(cudaDeviceEnablePeerAccess(0, 0) == cudaErrorInvalidDevice);
  CHECK(cudaDeviceDisablePeerAccess(1) == cudaErrorPeerAccessNotEnabled);
  CHECK(cudaDeviceGetP2PAttribute(&can, cudaDevP2PAttrAccessSupported, 0, 1) == cudaSuccess);
  CHECK(can == 0);
  CHECK(cudaDeviceGetP2PAttribute(&can, cudaDevP2PAttrAccessSupported, 1, 1) == cudaErrorInvalidDevice);
}

TEST_CASE_METHOD(Fixture, "limits are kept, unknown ones refused", "[cudart][devices]") {
  std::size_t value = 0;
  REQUIRE(cudaDeviceSetLimit(cudaLimitStackSize, 4096) == cudaSuccess);
  REQUIRE(cudaDeviceGetLimit(&value, cudaLimitStackSize) == cudaSuccess);
  CHECK(value >= 4096);
  CHECK(cudaDeviceSetLimit(cudaLimitDevRuntimeSyncDepth, 2) == cudaErrorUnsupportedLimit);
  // Hints: kept within what there is.
  std::size_t hint = 1;
  CHECK(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 1 << 20) == cudaSuccess);
  CHECK((cudaDeviceGetLimit(&hint, cudaLimitPersistingL2CacheSize) == cudaSuccess && hint == 0));
  CHECK((cudaDeviceGetLimit(&hint, cudaLimitMaxL2FetchGranularity) == cudaSuccess && hint == 64));
  CHECK(cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, 32) == cudaSuccess);
  CHECK((cudaDeviceGetLimit(&hint, cudaLimitMaxL2FetchGranularity) == cudaSuccess && hint == 32));
  CHECK(cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, 4096) == cudaSuccess);
  CHECK((cudaDeviceGetLimit(&hint, cudaLimitMaxL2FetchGranularity) == cudaSuccess && hint == 128));
  CHECK(cudaDeviceGetLimit(&value, static_cast<cudaLimit>(99)) == cudaErrorInvalidValue);
}

TEST_CASE("versions need no device", "[cudart][devices]") {
  int version = 0;
  CHECK(cudaRuntimeGetVersion(&version) == cudaSuccess);
  CHECK(version == CUDART_VERSION);
  CHECK(cudaDriverGetVersion(&version) == cudaSuccess);
  CHECK(version >= CUDART_VERSION);
  CHECK(cudaRuntimeGetVersion(nullptr) == cudaErrorInvalidValue);
}

TEST_CASE("driver functions that libcuda.so.1 has beside the runtime are found, and others the way CUDA does not find them", "[cudart][devices]") {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  CHECK(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 13000, cudaEnableDefault, &result) == cudaSuccess);
  CHECK(function != nullptr);
  CHECK(result == cudaDriverEntryPointSuccess);
  // Per-thread default streams: other functions. Of several versions, the one that was asked for.
  const auto found = [&](const char* name, unsigned version, unsigned long long flags) {
    CHECK(cudaGetDriverEntryPointByVersion(name, &function, version, flags, &result) == cudaSuccess);
    return function;
  };
  CHECK(found("cuMemcpyHtoD", 13000, cudaEnablePerThreadDefaultStream) != found("cuMemcpyHtoD", 13000, cudaEnableLegacyStream));
  CHECK(found("cuMemAlloc", 13000, cudaEnablePerThreadDefaultStream) == found("cuMemAlloc", 13000, cudaEnableDefault));
  CHECK(found("cuCtxGetDevice", 12000, cudaEnableDefault) != nullptr);
  CHECK(found("cuCtxGetDevice", 12000, cudaEnableDefault) != found("cuCtxGetDevice", 13000, cudaEnableDefault));
  CHECK(found("cuMemAlloc", 2000, cudaEnableDefault) == nullptr);
  CHECK(result == cudaDriverEntryPointVersionNotSufficent);
  // Exported to be refused: not found either, so that programs do without.
  for (const char* name : {"cuTensorMapEncodeIm2colWide", "cuGreenCtxCreate", "cudaMalloc", "cuMemAlloc_v2", "cuGetExportTable"}) {
    CAPTURE(name);
    function = &function;
    CHECK(cudaGetDriverEntryPointByVersion(name, &function, 13000, cudaEnableDefault, &result) == cudaSuccess);
    CHECK(function == nullptr);
    CHECK(result == cudaDriverEntryPointSymbolNotFound);
  }
  CHECK(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 99000, cudaEnableDefault, &result) ==
        cudaErrorInvalidValue);
  CHECK(cudaGetDriverEntryPointByVersion(nullptr, &function, 13000, cudaEnableDefault, nullptr) ==
        cudaErrorInvalidValue);
}
