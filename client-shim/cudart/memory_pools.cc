// CUDA Runtime API, "Stream Ordered Memory Allocator".
#include <cstring>

#include "client-shim/core/allocation.h"
#include "client-shim/core/memory_pool.h"
#include "client-shim/core/stream.h"
#include "client-shim/cudart/graph/capture_work.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart::impl {
namespace {

cudaMemPool_t handleOf(const client::MemoryPool& pool) {
  return reinterpret_cast<cudaMemPool_t>(pool.handle());  // NOLINT(performance-no-int-to-ptr): an opaque number
}

cudaError_t allocate(void** pointer, std::size_t size, client::MemoryPool& pool, client::Stream& stream) {
  if (graph::anyCapture()) {
    bool done = false;
    if (const cudaError_t error = graph::captureAlloc(stream, size, pointer, &done); error != cudaSuccess || done) return error;
  }
  std::uint64_t address = 0;
  const cudaError_t error = toCuda(pool.allocate(size, stream, &address));
  if (error == cudaSuccess) *pointer = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  return error;
}

// Pools of device memory there are; of host memory not.
cudaError_t poolDevice(const cudaMemLocation& location, cudaMemAllocationType type, client::Device** device) {
  if (type != cudaMemAllocationTypePinned) return cudaErrorNotSupported;
  if (location.type != cudaMemLocationTypeDevice) return cudaErrorNotSupported;
  return findDevice(location.id, device);
}

}  // namespace

cudaError_t cudaMallocAsync(void** devPtr, size_t size, cudaStream_t hStream) {
  client::Stream* stream = nullptr;
  client::MemoryPool* pool = nullptr;
  if (const cudaError_t error = findStream(hStream, &stream); error != cudaSuccess) return error;
  if (const cudaError_t error = toCuda(stream->device().currentPool(&pool)); error != cudaSuccess) return error;
  return allocate(devPtr, size, *pool, *stream);
}

cudaError_t cudaMallocFromPoolAsync(void** ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream) {
  client::Stream* found = nullptr;
  client::MemoryPool* pool = nullptr;
  if (const cudaError_t error = findStream(stream, &found); error != cudaSuccess) return error;
  if (const cudaError_t error = findPool(memPool, &pool); error != cudaSuccess) return error;
  return allocate(ptr, size, *pool, *found);
}

cudaError_t cudaFreeAsync(void* devPtr, cudaStream_t hStream) {
  client::Stream* stream = nullptr;
  if (const cudaError_t error = findStream(hStream, &stream); error != cudaSuccess) return error;
  if (graph::anyCapture()) {
    bool done = false;
    if (const cudaError_t error = graph::captureFree(*stream, devPtr, &done); error != cudaSuccess || done) return error;
  }
  bool freed = false;
  if (const cudaError_t error = graph::freeAllocation(devPtr, &freed); error != cudaSuccess || freed) return error;
  return toCuda(client::releaseAsync(reinterpret_cast<std::uint64_t>(devPtr), *stream));
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* memPool, int device) {
  client::Device* found = nullptr;
  if (const cudaError_t error = findDevice(device, &found); error != cudaSuccess) return error;
  *memPool = handleOf(found->defaultPool());
  return cudaSuccess;
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* memPool, int device) {
  client::Device* found = nullptr;
  client::MemoryPool* pool = nullptr;
  if (const cudaError_t error = findDevice(device, &found); error != cudaSuccess) return error;
  if (const cudaError_t error = toCuda(found->currentPool(&pool)); error != cudaSuccess) return error;
  *memPool = handleOf(*pool);
  return cudaSuccess;
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t memPool) {
  client::Device* found = nullptr;
  client::MemoryPool* pool = nullptr;
  if (const cudaError_t error = findDevice(device, &found); error != cudaSuccess) return error;
  if (const cudaError_t error = findPool(memPool, &pool); error != cudaSuccess) return error;
  if (&pool->device() != found) return cudaErrorInvalidValue;
  return toCuda(found->setCurrentPool(*pool));
}

cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t* memPool, cudaMemLocation* location, cudaMemAllocationType type) {
  client::Device* device = nullptr;
  if (const cudaError_t error = poolDevice(*location, type, &device); error != cudaSuccess) return error;
  return impl::cudaDeviceGetDefaultMemPool(memPool, location->id);
}

cudaError_t cudaMemGetMemPool(cudaMemPool_t* memPool, cudaMemLocation* location, cudaMemAllocationType type) {
  client::Device* device = nullptr;
  if (const cudaError_t error = poolDevice(*location, type, &device); error != cudaSuccess) return error;
  return impl::cudaDeviceGetMemPool(memPool, location->id);
}

cudaError_t cudaMemSetMemPool(cudaMemLocation* location, cudaMemAllocationType type, cudaMemPool_t memPool) {
  client::Device* device = nullptr;
  if (const cudaError_t error = poolDevice(*location, type, &device); error != cudaSuccess) return error;
  return impl::cudaDeviceSetMemPool(location->id, memPool);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* memPool, const cudaMemPoolProps* poolProps) {
  client::Device* device = nullptr;
  if (poolProps->allocType != cudaMemAllocationTypePinned) return cudaErrorInvalidValue;
  if (poolProps->handleTypes != cudaMemHandleTypeNone) return cudaErrorNotSupported;  // nothing to share them with
  if (const cudaError_t error = poolDevice(poolProps->location, poolProps->allocType, &device); error != cudaSuccess) {
    return error;
  }
  client::MemoryPool* pool = nullptr;
  const cudaError_t error = toCuda(client::createPool(*device, poolProps->maxSize, &pool));
  if (error == cudaSuccess) *memPool = handleOf(*pool);
  return error;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t memPool) {
  client::MemoryPool* pool = nullptr;
  if (const cudaError_t error = findPool(memPool, &pool); error != cudaSuccess) return error;
  return toCuda(client::destroyPool(*pool));
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep) {
  client::MemoryPool* pool = nullptr;
  if (const cudaError_t error = findPool(memPool, &pool); error != cudaSuccess) return error;
  return toCuda(pool->trimTo(minBytesToKeep));
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t memPool, cudaMemPoolAttr attr, void* value) {
  client::MemoryPool* pool = nullptr;
  if (const cudaError_t error = findPool(memPool, &pool); error != cudaSuccess) return error;
  client::PoolReuse reuse = pool->reuse();
  int flag = 0;
  std::uint64_t bytes = 0;
  // Switches are int, amounts are cuuint64_t (driver_types.h, cudaMemPoolAttr).
  if (attr <= cudaMemPoolReuseAllowInternalDependencies) {
    std::memcpy(&flag, value, sizeof(flag));
  } else {
    std::memcpy(&bytes, value, sizeof(bytes));
  }
  switch (attr) {
    case cudaMemPoolReuseFollowEventDependencies:
      reuse.followEventDependencies = flag != 0;
      break;
    case cudaMemPoolReuseAllowOpportunistic:
      reuse.allowOpportunistic = flag != 0;
      break;
    case cudaMemPoolReuseAllowInternalDependencies:
      reuse.allowInternalDependencies = flag != 0;
      break;
    case cudaMemPoolAttrReleaseThreshold:
      pool->setReleaseThreshold(bytes);
      return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh:
      if (bytes != 0) return cudaErrorInvalidValue;
      pool->resetReservedHigh();
      return cudaSuccess;
    case cudaMemPoolAttrUsedMemHigh:
      if (bytes != 0) return cudaErrorInvalidValue;
      pool->resetUsedHigh();
      return cudaSuccess;
    default:
      return cudaErrorInvalidValue;
  }
  pool->setReuse(reuse);
  return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t memPool, cudaMemPoolAttr attr, void* value) {
  client::MemoryPool* pool = nullptr;
  if (const cudaError_t error = findPool(memPool, &pool); error != cudaSuccess) return error;
  const auto flag = [&](bool on) {
    const int number = on ? 1 : 0;
    std::memcpy(value, &number, sizeof(number));
    return cudaSuccess;
  };
  const auto amount = [&](std::uint64_t bytes) {
    std::memcpy(value, &bytes, sizeof(bytes));
    return cudaSuccess;
  };
  switch (attr) {
    case cudaMemPoolReuseFollowEventDependencies:
      return flag(pool->reuse().followEventDependencies);
    case cudaMemPoolReuseAllowOpportunistic:
      return flag(pool->reuse().allowOpportunistic);
    case cudaMemPoolReuseAllowInternalDependencies:
      return flag(pool->reuse().allowInternalDependencies);
    case cudaMemPoolAttrReleaseThreshold:
      return amount(pool->releaseThreshold());
    case cudaMemPoolAttrReservedMemCurrent:
      return amount(pool->usage().reservedBytes);
    case cudaMemPoolAttrReservedMemHigh:
      return amount(pool->usage().reservedHighBytes);
    case cudaMemPoolAttrUsedMemCurrent:
      return amount(pool->usage().usedBytes);
    case cudaMemPoolAttrUsedMemHigh:
      return amount(pool->usage().usedHighBytes);
    default:
      return cudaErrorInvalidValue;
  }
}

// A pool's own device always has access, no other ever gets it: devices do not reach each other's memory.
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t memPool, const cudaMemAccessDesc* descList, size_t count) {
  client::MemoryPool* pool = nullptr;
  if (const cudaError_t error = findPool(memPool, &pool); error != cudaSuccess) return error;
  if (count > 0 && descList == nullptr) return cudaErrorInvalidValue;
  for (size_t i = 0; i < count; ++i) {
    const cudaMemAccessDesc& wish = descList[i];
    client::Device* device = nullptr;
    if (wish.location.type != cudaMemLocationTypeDevice) return cudaErrorInvalidValue;
    if (const cudaError_t error = findDevice(wish.location.id, &device); error != cudaSuccess) return error;
    const bool own = device == &pool->device();
    if (own && wish.flags != cudaMemAccessFlagsProtReadWrite) return cudaErrorInvalidValue;
    if (!own && wish.flags != cudaMemAccessFlagsProtNone) return cudaErrorInvalidDevice;
  }
  return cudaSuccess;
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t memPool, cudaMemLocation* location) {
  client::MemoryPool* pool = nullptr;
  client::Device* device = nullptr;
  if (const cudaError_t error = findPool(memPool, &pool); error != cudaSuccess) return error;
  if (location->type != cudaMemLocationTypeDevice) return cudaErrorInvalidValue;
  if (const cudaError_t error = findDevice(location->id, &device); error != cudaSuccess) return error;
  *flags = device == &pool->device() ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone;
  return cudaSuccess;
}

}  // namespace rouse::cudart::impl
