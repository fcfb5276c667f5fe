// Each rule, broken on purpose: the call fails, and the rule is named.
#include <sys/mman.h>

#include <atomic>

#include "test/cuda-double/tests/bench.h"

using namespace rouse;
using namespace rouse::cuda_double_test;

// The call fails and breaks just this rule.
#define BREAKS(rule, call)                \
  do {                                    \
    violated();                           \
    CHECK(driver().call != CUDA_SUCCESS); \
    CHECK(violated() == rule);            \
  } while (false)

TEST_CASE("a broken rule is counted, with its call and circumstance") {
  Bench bench;
  violated();
  CHECK(driver().cuMemAddressFree(0x123000, 4096) == CUDA_ERROR_INVALID_VALUE);
  CHECK(lastViolation() == "not-reserved: cuMemAddressFree: [0x123000, +0x1000) is not a reservation");
  violated();
}

TEST_CASE("calls out of order") {
  CHECK(beforeInit() == "not-initialized");
  std::size_t bytes = 0;
  REQUIRE(driver().cuCtxSetCurrent(nullptr) == CUDA_SUCCESS);
  BREAKS("no-context", cuMemGetInfo(&bytes, &bytes));
  BREAKS("not-retained", cuDevicePrimaryCtxRelease(1));
  BREAKS("no-such-device", cuDeviceTotalMem(&bytes, 7));
  BREAKS("null-argument", cuDeviceTotalMem(nullptr, 0));
  BREAKS("flags", cuInit(1));
  BREAKS("flags", cuDevicePrimaryCtxSetFlags(0, 0x8000));
  int value = 0;
  char name[4];
  BREAKS("own-peer", cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 1, 1));
  BREAKS("no-room", cuDeviceGetName(name, 0, 0));
}

TEST_CASE("handles that are none, or were") {
  Bench bench;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  REQUIRE(driver().cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
  REQUIRE(driver().cuStreamDestroy(stream) == CUDA_SUCCESS);
  BREAKS("destroyed-handle", cuStreamSynchronize(stream));
  BREAKS("destroyed-handle", cuStreamDestroy(stream));
  BREAKS("unknown-handle", cuEventRecord(reinterpret_cast<CUevent>(bench.stream), bench.stream));
  BREAKS("null-handle", cuEventRecord(nullptr, bench.stream));
  BREAKS("default-stream", cuEventRecord(event, nullptr));
  BREAKS("blocking-stream", cuStreamCreateWithPriority(&stream, CU_STREAM_DEFAULT, 0));
  BREAKS("flags", cuStreamCreateWithPriority(&stream, 8, 0));
  BREAKS("flags", cuEventCreate(&event, 64));
  float time = 0;
  BREAKS("untimed-event", cuEventElapsedTime(&time, event, event));
  REQUIRE(driver().cuEventDestroy(event) == CUDA_SUCCESS);
  BREAKS("destroyed-handle", cuEventQuery(event));
  REQUIRE(driver().cuEventCreate(&event, 0) == CUDA_SUCCESS);
  BREAKS("unrecorded-event", cuEventElapsedTime(&time, event, event));
  REQUIRE(driver().cuEventDestroy(event) == CUDA_SUCCESS);
}

TEST_CASE("a stream of another context") {
  Bench bench;
  bench.allocate(2 * kMiB);
  CUcontext other = nullptr;
  REQUIRE(driver().cuDevicePrimaryCtxRetain(&other, 1) == CUDA_SUCCESS);
  REQUIRE(driver().cuCtxSetCurrent(other) == CUDA_SUCCESS);
  BREAKS("other-context", cuStreamQuery(bench.stream));
  REQUIRE(driver().cuCtxSetCurrent(bench.context) == CUDA_SUCCESS);
  violated();
  // The last of this device; the other's memory and streams are not its own.
  CHECK(driver().cuDevicePrimaryCtxRelease(1) == CUDA_SUCCESS);
  CHECK(violated() == "");
}

TEST_CASE("virtual memory") {
  Bench bench;
  auto properties = onDevice();
  CUdeviceptr window = 0, other = 0;
  CUmemGenericAllocationHandle handle = 0;
  CUmemAccessDesc access{properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  BREAKS("granularity", cuMemAddressReserve(&other, 4096, 0, 0, 0));
  BREAKS("alignment", cuMemAddressReserve(&other, 2 * kMiB, 3 * kMiB, 0, 0));
  BREAKS("flags", cuMemAddressReserve(&other, 2 * kMiB, 0, 0, 1));
  BREAKS("granularity", cuMemCreate(&handle, 3 * kMiB, &properties, 0));
  properties.type = CU_MEM_ALLOCATION_TYPE_INVALID;
  BREAKS("properties", cuMemCreate(&handle, 2 * kMiB, &properties, 0));
  properties = onDevice(5);
  BREAKS("no-such-device", cuMemCreate(&handle, 2 * kMiB, &properties, 0));
  properties = onDevice();

  REQUIRE(driver().cuMemAddressReserve(&window, 8 * kMiB, 0, 0, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemCreate(&handle, 4 * kMiB, &properties, 0) == CUDA_SUCCESS);
  BREAKS("granularity", cuMemMap(window + 4096, 2 * kMiB, 0, handle, 0));
  BREAKS("beyond-memory", cuMemMap(window, 6 * kMiB, 0, handle, 0));
  BREAKS("offset", cuMemMap(window, 2 * kMiB, 2 * kMiB, handle, 0));
  BREAKS("not-reserved", cuMemMap(window + 6 * kMiB, 4 * kMiB, 0, handle, 0));
  BREAKS("partial-mapping", cuMemSetAccess(window, 4 * kMiB, &access, 1));
  REQUIRE(driver().cuMemMap(window, 4 * kMiB, 0, handle, 0) == CUDA_SUCCESS);
  BREAKS("already-mapped", cuMemMap(window + 2 * kMiB, 2 * kMiB, 0, handle, 0));
  BREAKS("partial-mapping", cuMemSetAccess(window, 2 * kMiB, &access, 1));
  BREAKS("partial-mapping", cuMemUnmap(window, 2 * kMiB));
  BREAKS("count", cuMemSetAccess(window, 4 * kMiB, &access, 0));
  BREAKS("still-mapped", cuMemAddressFree(window, 8 * kMiB));
  BREAKS("not-reserved", cuMemAddressFree(window, 4 * kMiB));

  BREAKS("inaccessible", cuMemsetD8Async(window, 0, 16, bench.stream));
  BREAKS("unmapped", cuMemsetD8Async(window + 4 * kMiB - 8, 0, 16, bench.stream));
  REQUIRE(driver().cuMemSetAccess(window, 4 * kMiB, &access, 1) == CUDA_SUCCESS);
  CHECK(driver().cuMemsetD8Async(window + 4 * kMiB - 8, 0, 8, bench.stream) == CUDA_SUCCESS);
  bench.finish();

  REQUIRE(driver().cuMemUnmap(window, 4 * kMiB) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemRelease(handle) == CUDA_SUCCESS);
  BREAKS("destroyed-handle", cuMemRelease(handle));
  BREAKS("destroyed-handle", cuMemMap(window, 2 * kMiB, 0, handle, 0));
  REQUIRE(driver().cuMemAddressFree(window, 8 * kMiB) == CUDA_SUCCESS);
  BREAKS("not-reserved", cuMemAddressFree(window, 8 * kMiB));
}

TEST_CASE("ranges of copies and fills") {
  Bench bench;
  const CUdeviceptr device = bench.allocate(2 * kMiB);
  std::uint8_t* pinned = bench.host(4096);
  std::uint8_t here[64] = {};
  BREAKS("not-device-memory", cuMemcpyHtoDAsync(reinterpret_cast<CUdeviceptr>(here), here, 16, bench.stream));
  BREAKS("not-device-memory", cuMemcpyHtoDAsync(device + 2 * kMiB - 8, here, 16, bench.stream));
  BREAKS("not-host-memory", cuMemcpyHtoDAsync(device, reinterpret_cast<void*>(device), 16, bench.stream));
  BREAKS("not-mapped-on-host", cuMemcpyAsync(device, 0x1000, 16, bench.stream));
  BREAKS("beyond-registration", cuMemcpyHtoDAsync(device, pinned + 4090, 16, bench.stream));
  BREAKS("alignment", cuMemsetD32Async(device + 2, 0, 1, bench.stream));
  BREAKS("pitch", cuMemsetD2D8Async(device, 4, 0, 8, 2, bench.stream));
  CUDA_MEMCPY3D box{};
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = box.dstDevice = device;
  box.srcPitch = box.dstPitch = 16;
  box.srcHeight = box.dstHeight = 1;
  box.WidthInBytes = 16;
  box.Height = box.Depth = 2;
  BREAKS("height", cuMemcpy3DAsync(&box, bench.stream));
  box.srcHeight = box.dstHeight = 2;
  box.WidthInBytes = 17;
  BREAKS("pitch", cuMemcpy3DAsync(&box, bench.stream));
  box.srcLOD = 1;
  BREAKS("reserved", cuMemcpy3DAsync(&box, bench.stream));
  box.srcMemoryType = static_cast<CUmemorytype>(9);
  BREAKS("memory-type", cuMemcpy3DAsync(&box, bench.stream));
  BREAKS("null-argument", cuMemcpyHtoDAsync(device, nullptr, 16, bench.stream));
}

TEST_CASE("host memory") {
  Bench bench;
  auto* memory =
      static_cast<std::uint8_t*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const auto address = reinterpret_cast<CUdeviceptr>(memory);
  CUdeviceptr mapped = 0;
  BREAKS("empty-range", cuMemHostRegister(memory, 0, 0));
  BREAKS("flags", cuMemHostRegister(memory, 4096, 64));
  BREAKS("not-mapped-on-host", cuMemHostRegister(reinterpret_cast<void*>(0x1000), 4096, 0));
  BREAKS("not-registered", cuMemHostGetDevicePointer(&mapped, memory, 0));
  BREAKS("not-device-memory", cuStreamWaitValue64(bench.stream, address, 1, 0));
  REQUIRE(driver().cuMemHostRegister(memory, 8192, 0) == CUDA_SUCCESS);
  BREAKS("already-registered", cuMemHostRegister(memory + 4096, 4096, 0));
  BREAKS("alignment", cuStreamWaitValue64(bench.stream, address + 4, 1, 0));
  BREAKS("flags", cuStreamWaitValue64(bench.stream, address, 1, 8));
  BREAKS("flags", cuStreamWriteValue64(bench.stream, address, 1, 8));
  REQUIRE(driver().cuStreamWaitValue64(bench.stream, address, 1, 0) == CUDA_SUCCESS);
  BREAKS("in-use", cuMemHostUnregister(memory));
  BREAKS("not-registered", cuMemHostUnregister(memory + 4096));
  reinterpret_cast<std::atomic<std::uint64_t>*>(memory)->store(1);
  bench.finish();
  REQUIRE(driver().cuMemHostUnregister(memory) == CUDA_SUCCESS);
  munmap(memory, 8192);
}

TEST_CASE("memory that queued work needs") {
  Bench bench;
  std::uint8_t* host = bench.host(4096);
  const CUdeviceptr device = bench.allocate(2 * kMiB);
  const auto address = reinterpret_cast<CUdeviceptr>(host);
  REQUIRE(driver().cuStreamWaitValue64(bench.stream, address, 1, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemsetD8Async(device, 1, 16, bench.stream) == CUDA_SUCCESS);
  BREAKS("in-use", cuMemUnmap(device, 2 * kMiB));
  reinterpret_cast<std::atomic<std::uint64_t>*>(host)->store(1);
  bench.finish();
}

TEST_CASE("launches and modules") {
  Bench bench;
  const auto function = reinterpret_cast<CUfunction>(bench.kernel("store"));
  CUdeviceptr memory = bench.allocate(2 * kMiB);
  void* null = nullptr;
  void* parameters[] = {&memory};
  std::size_t size = 4;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &memory, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  BREAKS("parameters", cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, bench.stream, nullptr, nullptr));
  BREAKS("parameters", cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, bench.stream, &null, nullptr));
  BREAKS("parameters", cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, bench.stream, nullptr, extra));
  BREAKS("parameters", cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, bench.stream, parameters, extra));
  BREAKS("null-handle", cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, bench.stream, parameters, nullptr));
  BREAKS("", cuLaunchKernel(function, 0, 1, 1, 1, 1, 1, 0, bench.stream, parameters, nullptr));
  BREAKS("", cuLaunchKernel(function, 1, 1, 1, 2048, 1, 1, 0, bench.stream, parameters, nullptr));
  BREAKS("null-argument", cuLaunchHostFunc(bench.stream, nullptr, nullptr));
  int value = 0;
  BREAKS("attribute", cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(77), function));
  BREAKS("null-argument", cuLibraryGetGlobal(nullptr, nullptr, bench.library(), "counter"));
  BREAKS("unknown-handle", cuModuleUnload(reinterpret_cast<CUmodule>(bench.library())));

  std::uint8_t* host = bench.host(4096);
  const auto address = reinterpret_cast<CUdeviceptr>(host);
  REQUIRE(driver().cuStreamWaitValue64(bench.stream, address, 1, 0) == CUDA_SUCCESS);
  REQUIRE(bench.launch(bench.kernel("store"), 1, 1, {&memory}) == CUDA_SUCCESS);
  BREAKS("in-use", cuLibraryUnload(bench.library()));
  reinterpret_cast<std::atomic<std::uint64_t>*>(host)->store(1);
  bench.finish();
}

TEST_CASE("textures of memory begin where textures do") {
  Bench bench;
  const CUdeviceptr memory = bench.allocate(2 * kMiB);
  CUDA_RESOURCE_DESC linear{}, plane{};
  linear.resType = CU_RESOURCE_TYPE_LINEAR;
  linear.res.linear = {memory, CU_AD_FORMAT_FLOAT, 1, 4096};
  plane.resType = CU_RESOURCE_TYPE_PITCH2D;
  plane.res.pitch2D = {memory, CU_AD_FORMAT_FLOAT, 1, 8, 8, 64};
  const CUDA_TEXTURE_DESC sampling{};
  CUtexObject texture = 0;
  for (CUDA_RESOURCE_DESC* resource : {&linear, &plane}) {
    REQUIRE(driver().cuTexObjectCreate(&texture, resource, &sampling, nullptr) == CUDA_SUCCESS);
    REQUIRE(driver().cuTexObjectDestroy(texture) == CUDA_SUCCESS);
  }
  linear.res.linear.devPtr = plane.res.pitch2D.devPtr = memory + 256;
  BREAKS("", cuTexObjectCreate(&texture, &linear, &sampling, nullptr));
  BREAKS("", cuTexObjectCreate(&texture, &plane, &sampling, nullptr));
  plane.res.pitch2D.devPtr = memory;
  plane.res.pitch2D.pitchInBytes = 48;
  BREAKS("", cuTexObjectCreate(&texture, &plane, &sampling, nullptr));
  // All of it is there, and may be read.
  linear.res.linear = {memory + kMiB, CU_AD_FORMAT_FLOAT, 1, kMiB + 4};
  BREAKS("not-device-memory", cuTexObjectCreate(&texture, &linear, &sampling, nullptr));
  CUdeviceptr window = 0;
  CUmemGenericAllocationHandle handle = 0;
  const auto properties = onDevice();
  REQUIRE(driver().cuMemAddressReserve(&window, 2 * kMiB, 0, 0, 0) == CUDA_SUCCESS);
  linear.res.linear = {window, CU_AD_FORMAT_FLOAT, 1, 64};
  BREAKS("unmapped", cuTexObjectCreate(&texture, &linear, &sampling, nullptr));
  REQUIRE(driver().cuMemCreate(&handle, 2 * kMiB, &properties, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemMap(window, 2 * kMiB, 0, handle, 0) == CUDA_SUCCESS);
  BREAKS("inaccessible", cuTexObjectCreate(&texture, &linear, &sampling, nullptr));
  REQUIRE(driver().cuMemUnmap(window, 2 * kMiB) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemRelease(handle) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemAddressFree(window, 2 * kMiB) == CUDA_SUCCESS);
}

TEST_CASE("a host function that calls CUDA") {
  Bench bench;
  std::atomic<int> result{-1};
  REQUIRE(driver().cuLaunchHostFunc(
              bench.stream,
              [](void* data) {
                std::size_t free = 0, total = 0;
                static_cast<std::atomic<int>*>(data)->store(driver().cuMemGetInfo(&free, &total));
              },
              &result) == CUDA_SUCCESS);
  bench.finish();
  CHECK(result == CUDA_ERROR_NOT_PERMITTED);
  CHECK(violated() == "call-from-host-function");
}

TEST_CASE("what is left when the context goes") {
  driver();
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUmodule module = nullptr;
  CUdeviceptr window = 0;
  CUmemGenericAllocationHandle handle = 0;
  const auto properties = onDevice();
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(driver().cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuCtxSetCurrent(context) == CUDA_SUCCESS);
  REQUIRE(driver().cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuEventCreate(&event, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuModuleLoadDataEx(&module, ".version 8.0\n.target sm_80\n.address_size 64\n", 0, nullptr,
                                      nullptr) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemHostRegister(memory, 4096, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemAddressReserve(&window, 2 * kMiB, 0, 0, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemCreate(&handle, 2 * kMiB, &properties, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemMap(window, 2 * kMiB, 0, handle, 0) == CUDA_SUCCESS);
  violated();
  REQUIRE(driver().cuDevicePrimaryCtxRelease(0) == CUDA_SUCCESS);
  CHECK(violated() ==
        "leaked-stream, leaked-event, leaked-module, leaked-registration, leaked-mapping, leaked-reservation, "
        "leaked-memory");
  CHECK(driver().cuMemUnmap(window, 2 * kMiB) == CUDA_SUCCESS);
  CHECK(driver().cuMemRelease(handle) == CUDA_SUCCESS);
  CHECK(driver().cuMemAddressFree(window, 2 * kMiB) == CUDA_SUCCESS);
  BREAKS("destroyed-handle", cuCtxSetCurrent(context));
  CHECK(driver().cuCtxSetCurrent(nullptr) == CUDA_SUCCESS);
  munmap(memory, 4096);
}
