// CUDA Driver API, "Unified Addressing", "Memory Management": managed memory and its hints. Numbers and places are the runtime's.
#include "client-shim/cuda/call.h"
#include "client-shim/cuda/context.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {
namespace {

static_assert(sizeof(CUmemLocation) == sizeof(cudaMemLocation) && sizeof(CUmem_range_attribute) == sizeof(cudaMemRangeAttribute));
static_assert(static_cast<int>(CU_MEM_LOCATION_TYPE_DEVICE) == static_cast<int>(cudaMemLocationTypeDevice) &&
              static_cast<int>(CU_MEM_LOCATION_TYPE_HOST) == static_cast<int>(cudaMemLocationTypeHost) &&
              static_cast<int>(CU_MEM_LOCATION_TYPE_HOST_NUMA) == static_cast<int>(cudaMemLocationTypeHostNuma));

cudaMemLocation place(const CUmemLocation& location) { return {static_cast<cudaMemLocationType>(location.type), location.id}; }
cudaMemLocation placeOf(CUdevice device) {
  return device == CU_DEVICE_CPU ? cudaMemLocation{cudaMemLocationTypeHost, 0} : cudaMemLocation{cudaMemLocationTypeDevice, device};
}

}  // namespace

CUresult cuMemAllocManaged(CUdeviceptr* dptr, size_t bytesize, unsigned int flags) {
  if (dptr == nullptr || bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  void* memory = nullptr;
  const CUresult error = call([&] { return cudaMallocManaged(&memory, bytesize, flags); });
  if (error != CUDA_SUCCESS) return error;
  *dptr = address(memory);
  own(Owned::managedMemory, memory);
  return CUDA_SUCCESS;
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags, CUstream hStream) {
  return call([&] { return cudaMemPrefetchAsync(pointer(devPtr), count, place(location), flags, hStream); });
}

CUresult cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream) {
  return call([&] { return cudaMemPrefetchAsync(pointer(devPtr), count, placeOf(dstDevice), 0, hStream); });
}

CUresult cuMemPrefetchBatchAsync(CUdeviceptr* dptrs, size_t* sizes, size_t count, CUmemLocation* prefetchLocs, size_t* prefetchLocIdxs,
                                 size_t numPrefetchLocs, unsigned long long flags, CUstream hStream) {
  return call([&] {
    return cudaMemPrefetchBatchAsync(reinterpret_cast<void**>(dptrs), sizes, count, reinterpret_cast<cudaMemLocation*>(prefetchLocs), prefetchLocIdxs,
                                     numPrefetchLocs, flags, hStream);
  });
}

CUresult cuMemDiscardBatchAsync(CUdeviceptr* dptrs, size_t* sizes, size_t count, unsigned long long flags, CUstream hStream) {
  return call([&] { return cudaMemDiscardBatchAsync(reinterpret_cast<void**>(dptrs), sizes, count, flags, hStream); });
}

CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr* dptrs, size_t* sizes, size_t count, CUmemLocation* prefetchLocs, size_t* prefetchLocIdxs,
                                           size_t numPrefetchLocs, unsigned long long flags, CUstream hStream) {
  return call([&] {
    return cudaMemDiscardAndPrefetchBatchAsync(reinterpret_cast<void**>(dptrs), sizes, count, reinterpret_cast<cudaMemLocation*>(prefetchLocs),
                                               prefetchLocIdxs, numPrefetchLocs, flags, hStream);
  });
}

CUresult cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUmemLocation location) {
  return call([&] { return cudaMemAdvise(pointer(devPtr), count, static_cast<cudaMemoryAdvise>(advice), place(location)); });
}

CUresult cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device) {
  return call([&] { return cudaMemAdvise(pointer(devPtr), count, static_cast<cudaMemoryAdvise>(advice), placeOf(device)); });
}

CUresult cuMemRangeGetAttribute(void* data, size_t dataSize, CUmem_range_attribute attribute, CUdeviceptr devPtr, size_t count) {
  return call([&] { return cudaMemRangeGetAttribute(data, dataSize, static_cast<cudaMemRangeAttribute>(attribute), pointer(devPtr), count); });
}

CUresult cuMemRangeGetAttributes(void** data, size_t* dataSizes, CUmem_range_attribute* attributes, size_t numAttributes, CUdeviceptr devPtr,
                                 size_t count) {
  return call([&] {
    return cudaMemRangeGetAttributes(data, dataSizes, reinterpret_cast<cudaMemRangeAttribute*>(attributes), numAttributes, pointer(devPtr), count);
  });
}

CUresult cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length, unsigned int flags) {
  return call([&] { return cudaStreamAttachMemAsync(hStream, pointer(dptr), length, flags); });
}

}  // namespace rouse::cuda::impl
