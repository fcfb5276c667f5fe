// CUDA Driver API, "Primary Context Management".
#include "client-shim/cuda/call.h"
#include "client-shim/cuda/context.h"
#include "client-shim/cuda/implementations.h"
#include "client-shim/library/driver_host.h"

namespace rouse::cuda::impl {
namespace {

// Of each device: what programs hold of its context.
std::atomic<int> holders[64];

}  // namespace

CUresult cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev) {
  Context* context = nullptr;
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = primaryContext(dev, &context); error != CUDA_SUCCESS) return error;
  ++holders[dev];
  client::driverHost()->begin(dev);
  *pctx = handleOf(context);
  return CUDA_SUCCESS;
}

// The runtime holds the context as well, so that the last one that a program gives back ends nothing.
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
  Context* context = nullptr;
  if (const CUresult error = primaryContext(dev, &context); error != CUDA_SUCCESS) return error;
  int held = holders[dev];
  while (held > 0 && !holders[dev].compare_exchange_weak(held, held - 1)) continue;
  return held > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev) { return impl::cuDevicePrimaryCtxRelease_v2(dev); }

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int* flags, int* active) {
  Context* context = nullptr;
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = primaryContext(dev, &context); error != CUDA_SUCCESS) return error;
  *active = client::driverHost()->begun(dev) ? 1 : 0;
  return within(context, [&] { return call([&] { return cudaGetDeviceFlags(flags); }); });
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags) {
  Context* context = nullptr;
  if (const CUresult error = primaryContext(dev, &context); error != CUDA_SUCCESS) return error;
  return within(context, [&] { return call([&] { return cudaSetDeviceFlags(flags); }); });
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags) { return impl::cuDevicePrimaryCtxSetFlags_v2(dev, flags); }

// All that the process has on the device ends, whichever context it was made in.
CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev) {
  Context* context = nullptr;
  if (const CUresult error = primaryContext(dev, &context); error != CUDA_SUCCESS) return error;
  forgetOwned(dev);
  return within(context, [] { return call([] { return cudaDeviceReset(); }); });
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev) { return impl::cuDevicePrimaryCtxReset_v2(dev); }

}  // namespace rouse::cuda::impl
