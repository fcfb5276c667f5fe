#include "bench/probe/gpu.h"

#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "server/device/cuda/driver/error.h"

namespace rouse::probe {

Gpu::Gpu(int ordinal) : ordinal_(ordinal) {
  auto loaded = cuda::loadDriver();
  if (!loaded) throw NoGpu(loaded.error().message);
  driver_ = std::move(loaded).value();
  const auto need = [&](CUresult result, const char* call) {
    if (result != CUDA_SUCCESS) throw NoGpu(cuda::driverError(*driver_, result, call).message);
  };
  need(driver_->cuInit(0), "cuInit");
  need(driver_->cuDeviceGetCount(&count_), "cuDeviceGetCount");
  if (count_ == 0) throw NoGpu("no GPU: the driver is there and counts none; see nvidia-smi -L and CUDA_VISIBLE_DEVICES");
  if (ordinal >= count_) {
    throw NoGpu("no GPU " + std::to_string(ordinal) + ": there are " + std::to_string(count_) + ", counted from 0");
  }
  need(driver_->cuDeviceGet(&device_, ordinal), "cuDeviceGet");
}

void Gpu::check(CUresult result, const char* call) const {
  if (result != CUDA_SUCCESS) throw Failure(cuda::driverError(*driver_, result, call).message);
}

Context::Context(const Gpu& gpu) : gpu_(gpu) {
  CUcontext context = nullptr;
  gpu.check(gpu.driver().cuDevicePrimaryCtxRetain(&context, gpu.device()), "cuDevicePrimaryCtxRetain");
  const CUresult result = gpu.driver().cuCtxSetCurrent(context);
  if (result != CUDA_SUCCESS) gpu.driver().cuDevicePrimaryCtxRelease(gpu.device());
  gpu.check(result, "cuCtxSetCurrent");
}

Context::~Context() {
  gpu_.driver().cuCtxSetCurrent(nullptr);
  gpu_.driver().cuDevicePrimaryCtxRelease(gpu_.device());
}

Stream::Stream(const Gpu& gpu) : gpu_(gpu) {
  gpu.check(gpu.driver().cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, 0), "cuStreamCreateWithPriority");
}

Stream::~Stream() { gpu_.driver().cuStreamDestroy(stream_); }

void Stream::synchronize() const { gpu_.check(gpu_.driver().cuStreamSynchronize(stream_), "cuStreamSynchronize"); }

Library::Library(const Gpu& gpu, const char* ptx) : gpu_(gpu) {
  gpu.check(gpu.driver().cuLibraryLoadData(&library_, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0), "cuLibraryLoadData");
}

Library::~Library() { unload(); }

CUfunction Library::function(const char* name) const {
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  gpu_.check(gpu_.driver().cuLibraryGetKernel(&kernel, library_, name), "cuLibraryGetKernel");
  gpu_.check(gpu_.driver().cuKernelGetFunction(&function, kernel), "cuKernelGetFunction");
  gpu_.check(gpu_.driver().cuFuncLoad(function), "cuFuncLoad");
  return function;
}

CUresult Library::unload() { return library_ == nullptr ? CUDA_SUCCESS : gpu_.driver().cuLibraryUnload(std::exchange(library_, nullptr)); }

DeviceMemory::DeviceMemory(const Gpu& gpu, std::size_t bytes) : gpu_(gpu), bytes_(bytes) {
  try {
    gpu.check(gpu.driver().cuMemAddressReserve(&address_, bytes, 0, 0, 0), "cuMemAddressReserve");
    const CUmemAllocationProp prop = allocation(gpu);
    gpu.check(gpu.driver().cuMemCreate(&handle_, bytes, &prop, 0), "cuMemCreate");
    made_ = true;
    gpu.check(gpu.driver().cuMemMap(address_, bytes, 0, handle_, 0), "cuMemMap");
    mapped_ = true;
    const CUmemAccessDesc access = readWrite(gpu);
    gpu.check(gpu.driver().cuMemSetAccess(address_, bytes, &access, 1), "cuMemSetAccess");
  } catch (...) {
    release();
    throw;
  }
}

DeviceMemory::~DeviceMemory() { release(); }

void DeviceMemory::release() {
  if (mapped_) gpu_.driver().cuMemUnmap(address_, bytes_);
  if (made_) gpu_.driver().cuMemRelease(handle_);
  if (address_ != 0) gpu_.driver().cuMemAddressFree(address_, bytes_);
}

PinnedMemory::PinnedMemory(const Gpu& gpu, std::size_t bytes) : gpu_(gpu), bytes_(bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Failure("no " + std::to_string(bytes >> 20) + " MiB of host memory");
  memory_ = static_cast<char*>(memory);
  std::memset(memory_, 1, bytes);
  const CUresult result = gpu.driver().cuMemHostRegister(memory_, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  if (result != CUDA_SUCCESS) {
    ::munmap(memory_, bytes);
    gpu.check(result, "cuMemHostRegister (less pinned memory allowed? see ulimit -l)");
  }
}

PinnedMemory::~PinnedMemory() {
  gpu_.driver().cuMemHostUnregister(memory_);
  ::munmap(memory_, bytes_);
}

CUdeviceptr PinnedMemory::deviceAddress() const {
  CUdeviceptr address = 0;
  gpu_.check(gpu_.driver().cuMemHostGetDevicePointer(&address, memory_, 0), "cuMemHostGetDevicePointer");
  return address;
}

CUmemAllocationProp allocation(const Gpu& gpu) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = gpu.ordinal();
  return prop;
}

CUmemAccessDesc readWrite(const Gpu& gpu) {
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = gpu.ordinal();
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return access;
}

std::size_t freeBytes(const Gpu& gpu) {
  std::size_t free = 0, total = 0;
  gpu.check(gpu.driver().cuMemGetInfo(&free, &total), "cuMemGetInfo");
  return free;
}

}  // namespace rouse::probe
