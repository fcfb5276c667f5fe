// CUDA Driver API, "Execution Control": launches.
#include <cstddef>
#include <new>
#include <vector>

#include "client-shim/cuda/call.h"
#include "client-shim/cuda/functions.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {
namespace {

// Arguments in one buffer (CU_LAUNCH_PARAM_*), each where the kernel has it: as pointers to them.
CUresult split(CUfunction function, void** extra, std::vector<void*>* arguments) try {
  const std::byte* buffer = nullptr;
  std::size_t bytes = 0;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = static_cast<const std::byte*>(extra[1]);
    } else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      bytes = *static_cast<const std::size_t*>(extra[1]);
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  std::size_t offset = 0, length = 0;
  const auto next = [&] { return call([&] { return cudaFuncGetParamInfo(kernelOf(function), arguments->size(), &offset, &length); }); };
  CUresult found = next();
  for (; found == CUDA_SUCCESS; found = next()) {
    if (buffer == nullptr || offset > bytes || length > bytes - offset) return CUDA_ERROR_INVALID_VALUE;
    arguments->push_back(const_cast<std::byte*>(buffer) + offset);
  }
  // It has no more parameters; anything else is about the function.
  return found == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : found;
} catch (const std::bad_alloc&) {
  return CUDA_ERROR_OUT_OF_MEMORY;
}

}  // namespace

CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ, unsigned int blockDimX,
                        unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream, void** kernelParams,
                        void** extra) {
  if (kernelParams != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<void*> arguments;
  if (extra != nullptr) {
    if (const CUresult error = split(f, extra, &arguments); error != CUDA_SUCCESS) return error;
    kernelParams = arguments.data();
  }
  return call([&] {
    return cudaLaunchKernel(kernelOf(f), {gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, kernelParams, sharedMemBytes, hStream);
  });
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** kernelParams, void** extra, CUstream defaultStream) {
  if (config == nullptr || (kernelParams != nullptr && extra != nullptr)) return CUDA_ERROR_INVALID_VALUE;
  std::vector<void*> arguments;
  if (extra != nullptr) {
    if (const CUresult error = split(f, extra, &arguments); error != CUDA_SUCCESS) return error;
    kernelParams = arguments.data();
  }
  cudaLaunchConfig_t same = configOf(*config);
  if (same.stream == nullptr) same.stream = defaultStream;
  return call([&] { return cudaLaunchKernelExC(&same, kernelOf(f), kernelParams); });
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ, unsigned int blockDimX,
                                   unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                                   void** kernelParams) {
  return call([&] {
    return cudaLaunchCooperativeKernel(kernelOf(f), {gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, kernelParams,
                                       sharedMemBytes, hStream);
  });
}

}  // namespace rouse::cuda::impl
