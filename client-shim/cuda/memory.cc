// CUDA Driver API, "Memory Management", "Unified Addressing": linear memory.
#include <cstring>

#include "client-shim/cuda/call.h"
#include "client-shim/cuda/implementations.h"

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
  if (error == CUDA_SUCCESS) *dptr = address(memory);
  return error;
}

CUresult cuMemFree_v2(CUdeviceptr dptr) {
  return call([&] { return cudaFree(pointer(dptr)); });
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount) {
  return call([&] { return cudaMemcpy(pointer(dstDevice), srcHost, ByteCount, cudaMemcpyHostToDevice); });
}

CUresult cuMemcpyDtoH_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount) {
  return call([&] { return cudaMemcpy(dstHost, pointer(srcDevice), ByteCount, cudaMemcpyDeviceToHost); });
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount) {
  return call([&] { return cudaMemcpy(pointer(dstDevice), pointer(srcDevice), ByteCount, cudaMemcpyDeviceToDevice); });
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount, CUstream hStream) {
  return call([&] { return cudaMemcpyAsync(pointer(dstDevice), srcHost, ByteCount, cudaMemcpyHostToDevice, hStream); });
}

CUresult cuMemcpyDtoHAsync_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream) {
  return call([&] { return cudaMemcpyAsync(dstHost, pointer(srcDevice), ByteCount, cudaMemcpyDeviceToHost, hStream); });
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream) {
  return call([&] { return cudaMemcpyAsync(pointer(dstDevice), pointer(srcDevice), ByteCount, cudaMemcpyDeviceToDevice, hStream); });
}

CUresult cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N) {
  return call([&] { return cudaMemset(pointer(dstDevice), uc, N); });
}

CUresult cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream) {
  return call([&] { return cudaMemsetAsync(pointer(dstDevice), uc, N, hStream); });
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr ptr) {
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaPointerAttributes found;
  if (const CUresult error = call([&] { return cudaPointerGetAttributes(&found, pointer(ptr)); }); error != CUDA_SUCCESS) return error;
  // Memory that CUDA knows nothing of has no attributes.
  if (found.type == cudaMemoryTypeUnregistered) return CUDA_ERROR_INVALID_VALUE;
  const auto write = [&](auto value) {
    std::memcpy(data, &value, sizeof value);
    return CUDA_SUCCESS;
  };
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: {
      CUcontext context = nullptr;
      const CUresult error = impl::cuDevicePrimaryCtxRetain(&context, found.device);
      return error == CUDA_SUCCESS ? write(context) : error;
    }
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      // Managed memory counts as the device's.
      return write(found.type == cudaMemoryTypeHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return found.devicePointer != nullptr ? write(address(found.devicePointer)) : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return found.hostPointer != nullptr ? write(found.hostPointer) : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return write(static_cast<unsigned>(found.type == cudaMemoryTypeManaged));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return write(found.device);
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace rouse::cuda::impl
