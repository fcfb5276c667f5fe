// CUDA Driver API, "Primary Context Management", "Context Management".
#include <cstddef>
#include <cstdint>

#include "client-shim/cuda/call.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {
namespace {

// Numbers of devices in a process are small; a context's handle is its place here.
constexpr std::size_t kMost = 64;
char places[kMost];

thread_local bool noneCurrent = false;  // cuCtxSetCurrent(null)

CUcontext contextOf(int device) { return reinterpret_cast<CUcontext>(&places[device]); }

// -1: it is none of ours.
int deviceOf(CUcontext context) {
  const auto place = reinterpret_cast<std::uintptr_t>(context) - reinterpret_cast<std::uintptr_t>(places);
  return place < kMost ? static_cast<int>(place) : -1;
}

CUresult check(CUdevice device) {
  int count = 0;
  if (const CUresult error = call([&] { return cudaGetDeviceCount(&count); }); error != CUDA_SUCCESS) return error;
  return device >= 0 && device < count && static_cast<std::size_t>(device) < kMost ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

}  // namespace

CUresult cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev) {
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = check(dev); error != CUDA_SUCCESS) return error;
  *pctx = contextOf(dev);
  return CUDA_SUCCESS;
}

// The runtime holds a reference as well: a program's last one ends nothing.
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev) { return check(dev); }

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int* flags, int* active) {
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = check(dev); error != CUDA_SUCCESS) return error;
  return call([&] {
    int before = 0;
    cudaError_t error = cudaGetDevice(&before);
    if (error == cudaSuccess && before != dev) error = cudaSetDevice(dev);
    if (error == cudaSuccess) error = cudaGetDeviceFlags(flags);
    if (before != dev) (void)cudaSetDevice(before);
    *active = 1;
    return error;
  });
}

CUresult cuCtxGetCurrent(CUcontext* pctx) {
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  int device = 0;
  const CUresult error = call([&] { return cudaGetDevice(&device); });
  if (error == CUDA_SUCCESS) *pctx = noneCurrent ? nullptr : contextOf(device);
  return error;
}

CUresult cuCtxSetCurrent(CUcontext ctx) {
  if (ctx == nullptr) {
    noneCurrent = true;
    return CUDA_SUCCESS;
  }
  const int device = deviceOf(ctx);
  if (device < 0 || check(device) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_CONTEXT;
  noneCurrent = false;
  return call([&] { return cudaSetDevice(device); });
}

CUresult cuCtxGetDevice(CUdevice* device) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (noneCurrent) return CUDA_ERROR_INVALID_CONTEXT;
  return call([&] { return cudaGetDevice(device); });
}

CUresult cuCtxSynchronize() {
  if (noneCurrent) return CUDA_ERROR_INVALID_CONTEXT;
  return call([] { return cudaDeviceSynchronize(); });
}

}  // namespace rouse::cuda::impl
