// CUDA Driver API, "Memory Management": linear device memory.
#include "client-shim/cuda/call.h"
#include "client-shim/cuda/context.h"
#include "client-shim/cuda/implementations.h"
#include "client-shim/library/driver_host.h"

namespace rouse::cuda::impl {

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  return call([&] { return cudaMemGetInfo(free, total); });
}

CUresult cuMemAlloc_v2(CUdeviceptr* dptr, size_t bytesize) {
  if (dptr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (bytesize == 0) {
    *dptr = 0;  // as the driver leaves it
    return CUDA_ERROR_INVALID_VALUE;
  }
  void* memory = nullptr;
  const CUresult error = call([&] { return cudaMalloc(&memory, bytesize); });
  if (error != CUDA_SUCCESS) return error;
  *dptr = address(memory);
  own(Owned::memory, memory);
  return CUDA_SUCCESS;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* dptr, size_t* pPitch, size_t WidthInBytes, size_t Height, unsigned int ElementSizeBytes) {
  if (dptr == nullptr || pPitch == nullptr || WidthInBytes == 0 || Height == 0) return CUDA_ERROR_INVALID_VALUE;
  if (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16) return CUDA_ERROR_INVALID_VALUE;
  void* memory = nullptr;
  const CUresult error = call([&] { return cudaMallocPitch(&memory, pPitch, WidthInBytes, Height); });
  if (error != CUDA_SUCCESS) return error;
  *dptr = address(memory);
  own(Owned::memory, memory);
  return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr dptr) {
  const CUresult error = call([&] { return cudaFree(pointer(dptr)); });
  if (error == CUDA_SUCCESS) {
    disown(Owned::memory, dptr);
    disown(Owned::managedMemory, dptr);
  }
  return error;
}

// Both results are optional.
CUresult cuMemGetAddressRange_v2(CUdeviceptr* pbase, size_t* psize, CUdeviceptr dptr) {
  client::MemoryFacts facts;
  if (!client::driverHost()->memory(dptr, &facts)) return CUDA_ERROR_NOT_FOUND;
  client::MappingFacts mapping;
  if (facts.mapped) {
    if (!client::driverHost()->mapping(dptr, &mapping)) return CUDA_ERROR_NOT_FOUND;
    facts.base = mapping.base;
    facts.bytes = mapping.bytes;
  }
  if (pbase != nullptr) *pbase = facts.base;
  if (psize != nullptr) *psize = facts.bytes;
  return CUDA_SUCCESS;
}

}  // namespace rouse::cuda::impl
