// CUDA Driver API, "Library Management": kernels of libraries, which are the same in all contexts.
#include "client-shim/cuda/call.h"
#include "client-shim/cuda/context.h"
#include "client-shim/cuda/functions.h"
#include "client-shim/cuda/implementations.h"
#include "client-shim/library/driver_host.h"

namespace rouse::cuda::impl {
namespace {

// The kernel on a device, whatever is current.
template <class Body>
CUresult on(CUdevice device, Body&& body) {
  Context* context = nullptr;
  if (const CUresult error = primaryContext(device, &context); error != CUDA_SUCCESS) return error;
  return within(context, [&] { return call(body); });
}

}  // namespace

CUresult cuKernelGetFunction(CUfunction* pFunc, CUkernel kernel) {
  if (pFunc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaFuncAttributes loads;
  if (const CUresult error = call([&] { return cudaFuncGetAttributes(&loads, kernelOf(kernel)); }); error != CUDA_SUCCESS) return error;
  *pFunc = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

CUresult cuKernelGetLibrary(CUlibrary* pLib, CUkernel kernel) {
  if (pLib == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const void* const library = client::driverHost()->libraryOf(kernelOf(kernel));
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *pLib = reinterpret_cast<CUlibrary>(const_cast<void*>(library));
  return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char** name, CUkernel hfunc) {
  return call([&] { return cudaFuncGetName(name, kernelOf(hfunc)); });
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t* paramOffset, size_t* paramSize) {
  const Context* const current = currentContext();
  return on(current != nullptr ? current->device : 0, [&] { return cudaFuncGetParamInfo(kernelOf(kernel), paramIndex, paramOffset, paramSize); });
}

CUresult cuKernelGetAttribute(int* pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev) {
  if (pi == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaFuncAttributes found;
  if (const CUresult error = on(dev, [&] { return cudaFuncGetAttributes(&found, kernelOf(kernel)); }); error != CUDA_SUCCESS) return error;
  return attributeOf(found, attrib, pi);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev) {
  return on(dev, [&] { return cudaFuncSetAttribute(kernelOf(kernel), static_cast<cudaFuncAttribute>(attrib), val); });
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev) {
  return on(dev, [&] { return cudaFuncSetCacheConfig(kernelOf(kernel), static_cast<cudaFuncCache>(config)); });
}

}  // namespace rouse::cuda::impl
