// Allocation, and what the runtime says of an address.
#include <cstring>
#include <vector>

#include "test/cudart/fixture.h"

using rouse::test::Fixture;

namespace {

char* at(void* base, std::size_t offset) { return static_cast<char*>(base) + offset; }

}  // namespace

TEST_CASE_METHOD(Fixture, "device memory is aligned, bounded and freed once", "[cudart][memory]") {
  void* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, 100) == cudaSuccess);
  CHECK(reinterpret_cast<std::uintptr_t>(memory) % 512 == 0);
  CHECK(cudaFree(at(memory, 16)) == cudaErrorInvalidValue);
  CHECK(cudaFree(memory) == cudaSuccess);
  CHECK(cudaFree(memory) == cudaErrorInvalidValue);
  CHECK(cudaFree(nullptr) == cudaSuccess);
  int local = 0;
  CHECK(cudaFree(&local) == cudaErrorInvalidValue);

  void* unchanged = &local;
  CHECK(cudaMalloc(&unchanged, std::size_t{1} << 40) == cudaErrorMemoryAllocation);
  CHECK(unchanged == &local);
  CHECK(cudaMalloc(&memory, 0) == cudaSuccess);
  CHECK(memory == nullptr);
}

TEST_CASE_METHOD(Fixture, "memory of one device can be freed while another is current", "[cudart][memory]") {
  void* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, 100) == cudaSuccess);
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  CHECK(cudaFree(memory) == cudaSuccess);
}

TEST_CASE_METHOD(Fixture, "pitched memory has rows of a multiple of 512 bytes", "[cudart][memory]") {
  void* memory = nullptr;
  std::size_t pitch = 0;
  REQUIRE(cudaMallocPitch(&memory, &pitch, 1000, 20) == cudaSuccess);
  CHECK(pitch == 1024);
  CHECK(cudaMemset2D(memory, pitch, 7, 1000, 20) == cudaSuccess);
  CHECK(cudaMemset2D(memory, pitch, 7, 1000, 21) == cudaErrorInvalidValue);  // one row more than there is
  CHECK(cudaMemset2D(memory, 999, 7, 1000, 20) == cudaErrorInvalidPitchValue);

  cudaPitchedPtr box{};
  REQUIRE(cudaMalloc3D(&box, make_cudaExtent(100, 8, 4)) == cudaSuccess);
  CHECK(box.pitch == 512);
  CHECK(box.xsize == 100);
  CHECK(box.ysize == 8);
  CHECK(cudaMemset3D(box, 1, make_cudaExtent(100, 8, 4)) == cudaSuccess);
  CHECK(cudaMalloc3D(&box, make_cudaExtent(SIZE_MAX, SIZE_MAX, 2)) == cudaErrorMemoryAllocation);
}

TEST_CASE_METHOD(Fixture, "host memory is known by its address", "[cudart][memory]") {
  void* pinned = nullptr;
  REQUIRE(cudaHostAlloc(&pinned, 5000, cudaHostAllocPortable) == cudaSuccess);
  std::memset(pinned, 3, 5000);
  unsigned flags = 0;
  CHECK(cudaHostGetFlags(&flags, pinned) == cudaSuccess);
  CHECK((flags & cudaHostAllocPortable) != 0);
  void* device = nullptr;
  CHECK(cudaHostGetDevicePointer(&device, at(pinned, 40), 0) == cudaSuccess);
  CHECK(device == at(pinned, 40));
  CHECK(cudaHostAlloc(&pinned, 10, 0x100) == cudaErrorInvalidValue);

  int local = 0;
  CHECK(cudaFreeHost(&local) == cudaErrorInvalidValue);
  CHECK(cudaHostGetDevicePointer(&device, &local, 0) == cudaErrorInvalidValue);
  CHECK(cudaFree(pinned) == cudaErrorInvalidValue);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);
  CHECK(cudaFreeHost(nullptr) == cudaSuccess);
}

TEST_CASE_METHOD(Fixture, "an address says what it is", "[cudart][memory]") {
  void *device = nullptr, *pinned = nullptr, *managed = nullptr;
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  REQUIRE(cudaMalloc(&device, 100) == cudaSuccess);
  REQUIRE(cudaMallocHost(&pinned, 100) == cudaSuccess);
  REQUIRE(cudaMallocManaged(&managed, 100, cudaMemAttachGlobal) == cudaSuccess);
  CHECK(reinterpret_cast<std::uintptr_t>(pinned) % 512 == 0);
  CHECK(reinterpret_cast<std::uintptr_t>(managed) % 512 == 0);
  cudaPointerAttributes attributes;

  REQUIRE(cudaPointerGetAttributes(&attributes, at(device, 10)) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeDevice);
  CHECK(attributes.device == 1);
  CHECK(attributes.devicePointer == at(device, 10));
  CHECK(attributes.hostPointer == nullptr);

  REQUIRE(cudaPointerGetAttributes(&attributes, at(pinned, 10)) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeHost);
  CHECK(attributes.devicePointer == at(pinned, 10));
  CHECK(attributes.hostPointer == at(pinned, 10));

  REQUIRE(cudaPointerGetAttributes(&attributes, managed) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeManaged);
  CHECK(attributes.hostPointer == managed);

  int local = 0;
  REQUIRE(cudaPointerGetAttributes(&attributes, &local) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeUnregistered);
  CHECK(attributes.device == cudaInvalidDeviceId);
  CHECK(attributes.devicePointer == nullptr);

  CHECK(cudaFree(managed) == cudaSuccess);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);
  CHECK(cudaFree(device) == cudaSuccess);
}

TEST_CASE_METHOD(Fixture, "managed memory takes advice and gives it back", "[cudart][memory]") {
  void* managed = nullptr;
  CHECK(cudaMallocManaged(&managed, 0, cudaMemAttachGlobal) == cudaErrorInvalidValue);
  CHECK(cudaMallocManaged(&managed, 100, 8) == cudaErrorInvalidValue);
  REQUIRE(cudaMallocManaged(&managed, 1 << 20, cudaMemAttachGlobal) == cudaSuccess);
  const cudaMemLocation first{cudaMemLocationTypeDevice, 0};
  const cudaMemLocation host{cudaMemLocationTypeHost, 0};
  CHECK(cudaMemPrefetchAsync(managed, 1 << 20, first, 0, nullptr) == cudaSuccess);
  CHECK(cudaMemPrefetchAsync(managed, (1 << 20) + 1, first, 0, nullptr) == cudaErrorInvalidValue);
  CHECK(cudaMemPrefetchAsync(managed, 4096, {cudaMemLocationTypeDevice, 9}, 0, nullptr) == cudaErrorInvalidDevice);
  CHECK(cudaMemAdvise(managed, 4096, cudaMemAdviseSetReadMostly, first) == cudaSuccess);
  CHECK(cudaMemAdvise(managed, 4096, cudaMemAdviseSetPreferredLocation, host) == cudaSuccess);
  CHECK(cudaMemAdvise(managed, 4096, static_cast<cudaMemoryAdvise>(77), first) == cudaErrorInvalidValue);

  int value = 0;
  CHECK(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributeReadMostly, managed, 4096) == cudaSuccess);
  CHECK(value == 1);
  CHECK(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributeReadMostly, managed, 8192) == cudaSuccess);
  CHECK(value == 0);
  CHECK(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributePreferredLocation, managed, 4096) == cudaSuccess);
  CHECK(value == cudaCpuDeviceId);
  CHECK(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributePreferredLocation, managed, 8192) == cudaSuccess);
  CHECK(value == cudaInvalidDeviceId);
  CHECK(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributeLastPrefetchLocation, managed, 1 << 20) ==
        cudaSuccess);
  CHECK(value == 0);
  CHECK(cudaMemRangeGetAttribute(&value, 2, cudaMemRangeAttributeReadMostly, managed, 4096) == cudaErrorInvalidValue);

  void* device = nullptr;
  REQUIRE(cudaMalloc(&device, 4096) == cudaSuccess);
  CHECK(cudaMemPrefetchAsync(device, 4096, first, 0, nullptr) == cudaErrorInvalidValue);
  CHECK(cudaFree(managed) == cudaSuccess);
}

TEST_CASE_METHOD(Fixture, "registered memory is reached through another address", "[cudart][memory]") {
  std::vector<int> buffer(100'000);
  for (std::size_t i = 0; i < buffer.size(); ++i) buffer[i] = static_cast<int>(i);
  const std::size_t bytes = buffer.size() * sizeof(int);
  CHECK(cudaHostUnregister(buffer.data()) == cudaErrorHostMemoryNotRegistered);
  REQUIRE(cudaHostRegister(buffer.data(), bytes, cudaHostRegisterDefault) == cudaSuccess);
  CHECK(cudaHostRegister(buffer.data(), bytes, cudaHostRegisterDefault) == cudaErrorHostMemoryAlreadyRegistered);
  CHECK(cudaHostRegister(buffer.data(), bytes, cudaHostRegisterIoMemory) == cudaErrorNotSupported);
  void* device = nullptr;
  CHECK(cudaHostGetDevicePointer(&device, buffer.data(), 0) == cudaSuccess);
  CHECK(device != nullptr);
  CHECK(buffer[99'999] == 99'999);
  CHECK(cudaFreeHost(buffer.data()) == cudaErrorInvalidValue);
  REQUIRE(cudaHostUnregister(buffer.data()) == cudaSuccess);
  CHECK(buffer[99'999] == 99'999);
}

TEST_CASE_METHOD(Fixture, "pools hand out memory in stream order", "[cudart][memory]") {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  void* memory = nullptr;
  REQUIRE(cudaMallocAsync(&memory, 4000, stream) == cudaSuccess);
  CHECK(cudaMemsetAsync(memory, 1, 4000, stream) == cudaSuccess);
  CHECK(cudaFreeAsync(memory, stream) == cudaSuccess);
  CHECK(cudaFreeAsync(memory, stream) == cudaErrorInvalidValue);

  cudaMemPool_t pool = nullptr, current = nullptr;
  cudaMemPoolProps props{};
  props.allocType = cudaMemAllocationTypePinned;
  props.location = {cudaMemLocationTypeDevice, 0};
  REQUIRE(cudaMemPoolCreate(&pool, &props) == cudaSuccess);
  std::uint64_t threshold = 1 << 20, value = 0;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold) == cudaSuccess);
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &value) == cudaSuccess);
  CHECK(value == threshold);
  CHECK(cudaDeviceSetMemPool(0, pool) == cudaSuccess);
  CHECK(cudaDeviceGetMemPool(&current, 0) == cudaSuccess);
  CHECK(current == pool);
  CHECK(cudaDeviceSetMemPool(1, pool) == cudaErrorInvalidValue);
  REQUIRE(cudaMallocFromPoolAsync(&memory, 4000, pool, stream) == cudaSuccess);
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &value) == cudaSuccess);
  CHECK(value >= 4000);
  CHECK(cudaFree(memory) == cudaSuccess);  // also this way
  CHECK(cudaMemPoolDestroy(pool) == cudaSuccess);
  CHECK(cudaMemPoolDestroy(pool) == cudaErrorInvalidValue);
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0) == cudaSuccess);
  CHECK(cudaMemPoolDestroy(pool) == cudaErrorInvalidValue);
  props.location = {cudaMemLocationTypeHost, 0};
  CHECK(cudaMemPoolCreate(&pool, &props) == cudaErrorNotSupported);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
}
