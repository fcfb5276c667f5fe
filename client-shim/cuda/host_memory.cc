// CUDA Driver API, "Memory Management": page-locked host memory. Flags have the runtime's numbers.
#include "client-shim/cuda/call.h"
#include "client-shim/cuda/context.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {

CUresult cuMemHostAlloc(void** pp, size_t bytesize, unsigned int Flags) {
  if (pp == nullptr || bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  const CUresult error = call([&] { return cudaHostAlloc(pp, bytesize, Flags); });
  if (error == CUDA_SUCCESS) own(Owned::hostMemory, *pp);
  return error;
}

// No bytes, and freeing null, are no errors to an H100's driver 580, whatever the documentation says of its kind.
CUresult cuMemAllocHost_v2(void** pp, size_t bytesize) {
  if (pp == nullptr || bytesize != 0) return impl::cuMemHostAlloc(pp, bytesize, 0);
  *pp = nullptr;
  return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void* p) {
  if (p == nullptr) return CUDA_SUCCESS;
  const CUresult error = call([&] { return cudaFreeHost(p); });
  if (error == CUDA_SUCCESS) disown(Owned::hostMemory, p);
  return error;
}

CUresult cuMemHostRegister_v2(void* p, size_t bytesize, unsigned int Flags) {
  const CUresult error = call([&] { return cudaHostRegister(p, bytesize, Flags); });
  if (error == CUDA_SUCCESS) own(Owned::registration, p);
  return error;
}

CUresult cuMemHostRegister(void* p, size_t bytesize, unsigned int Flags) { return impl::cuMemHostRegister_v2(p, bytesize, Flags); }

CUresult cuMemHostUnregister(void* p) {
  const CUresult error = call([&] { return cudaHostUnregister(p); });
  if (error == CUDA_SUCCESS) disown(Owned::registration, p);
  return error;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* pdptr, void* p, unsigned int Flags) {
  if (pdptr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  void* device = nullptr;
  const CUresult error = call([&] { return cudaHostGetDevicePointer(&device, p, Flags); });
  if (error == CUDA_SUCCESS) *pdptr = address(device);
  return error;
}

CUresult cuMemHostGetFlags(unsigned int* pFlags, void* p) {
  return call([&] { return cudaHostGetFlags(pFlags, p); });
}

}  // namespace rouse::cuda::impl
