// CUDA Driver API, "Execution Control", "Occupancy": a function is a kernel of the runtime's.
#include <cstddef>
#include <new>
#include <vector>

#include "client-shim/cuda/call.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {
namespace {

const void* kernelOf(CUfunction function) { return function; }

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

CUresult cuFuncGetAttribute(int* pi, CUfunction_attribute attrib, CUfunction hfunc) {
  if (pi == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaFuncAttributes found;
  if (const CUresult error = call([&] { return cudaFuncGetAttributes(&found, kernelOf(hfunc)); }); error != CUDA_SUCCESS) return error;
  switch (attrib) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *pi = found.maxThreadsPerBlock;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *pi = static_cast<int>(found.sharedSizeBytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      *pi = static_cast<int>(found.constSizeBytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *pi = static_cast<int>(found.localSizeBytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *pi = found.numRegs;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      *pi = found.ptxVersion;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *pi = found.binaryVersion;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
      *pi = found.cacheModeCA;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *pi = found.maxDynamicSharedSizeBytes;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *pi = found.preferredShmemCarveout;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

// The attributes that can be set have the same numbers.
CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
  return call([&] { return cudaFuncSetAttribute(kernelOf(hfunc), static_cast<cudaFuncAttribute>(attrib), value); });
}

CUresult cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config) {
  return call([&] { return cudaFuncSetCacheConfig(kernelOf(hfunc), static_cast<cudaFuncCache>(config)); });
}

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

// The attributes' numbers and values are the same.
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** kernelParams, void** extra) {
  static_assert(sizeof(CUlaunchAttribute) == sizeof(cudaLaunchAttribute) && sizeof(CUlaunchAttributeValue) == sizeof(cudaLaunchAttributeValue));
  if (config == nullptr || (kernelParams != nullptr && extra != nullptr)) return CUDA_ERROR_INVALID_VALUE;
  std::vector<void*> arguments;
  if (extra != nullptr) {
    if (const CUresult error = split(f, extra, &arguments); error != CUDA_SUCCESS) return error;
    kernelParams = arguments.data();
  }
  cudaLaunchConfig_t same{};
  same.gridDim = {config->gridDimX, config->gridDimY, config->gridDimZ};
  same.blockDim = {config->blockDimX, config->blockDimY, config->blockDimZ};
  same.dynamicSmemBytes = config->sharedMemBytes;
  same.stream = config->hStream;
  same.attrs = reinterpret_cast<cudaLaunchAttribute*>(config->attrs);
  same.numAttrs = config->numAttrs;
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

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize) {
  return call([&] { return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, kernelOf(func), blockSize, dynamicSMemSize, 0); });
}

}  // namespace rouse::cuda::impl
