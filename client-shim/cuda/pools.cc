// CUDA Driver API, "Stream Ordered Memory Allocator". Pools are the runtime's, and belong to a device, not to a context.
#include "client-shim/cuda/call.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {
namespace {

static_assert(sizeof(CUmemPoolProps) == sizeof(cudaMemPoolProps) && sizeof(CUmemAccessDesc) == sizeof(cudaMemAccessDesc));
static_assert(sizeof(CUmemAccess_flags) == sizeof(cudaMemAccessFlags));

}  // namespace

// No bytes are no error to an H100's driver 580.
CUresult cuMemAllocAsync(CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
  if (dptr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (bytesize == 0) return *dptr = 0, CUDA_SUCCESS;
  return call([&] { return cudaMallocAsync(reinterpret_cast<void**>(dptr), bytesize, hStream); });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream) {
  if (dptr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (bytesize == 0) return *dptr = 0, CUDA_SUCCESS;
  return call([&] { return cudaMallocFromPoolAsync(reinterpret_cast<void**>(dptr), bytesize, pool, hStream); });
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) {
  return call([&] { return cudaFreeAsync(pointer(dptr), hStream); });
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* poolProps) {
  return call([&] { return cudaMemPoolCreate(pool, reinterpret_cast<const cudaMemPoolProps*>(poolProps)); });
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  return call([&] { return cudaMemPoolDestroy(pool); });
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep) {
  return call([&] { return cudaMemPoolTrimTo(pool, minBytesToKeep); });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  return call([&] { return cudaMemPoolSetAttribute(pool, static_cast<cudaMemPoolAttr>(attr), value); });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  return call([&] { return cudaMemPoolGetAttribute(pool, static_cast<cudaMemPoolAttr>(attr), value); });
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) {
  return call([&] { return cudaMemPoolSetAccess(pool, reinterpret_cast<const cudaMemAccessDesc*>(map), count); });
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool memPool, CUmemLocation* location) {
  return call([&] { return cudaMemPoolGetAccess(reinterpret_cast<cudaMemAccessFlags*>(flags), memPool, reinterpret_cast<cudaMemLocation*>(location)); });
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool_out, CUmemLocation* location, CUmemAllocationType type) {
  return call([&] { return cudaMemGetDefaultMemPool(pool_out, reinterpret_cast<cudaMemLocation*>(location), static_cast<cudaMemAllocationType>(type)); });
}

CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  return call([&] { return cudaMemGetMemPool(pool, reinterpret_cast<cudaMemLocation*>(location), static_cast<cudaMemAllocationType>(type)); });
}

CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
  return call([&] { return cudaMemSetMemPool(reinterpret_cast<cudaMemLocation*>(location), static_cast<cudaMemAllocationType>(type), pool); });
}

}  // namespace rouse::cuda::impl
