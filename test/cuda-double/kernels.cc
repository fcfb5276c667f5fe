#include "test/cuda-double/kernels.h"

#include <algorithm>
#include <cstring>

#include "test/cuda-double/state.h"

namespace rouse::cuda_double {

CUresult kernelName(CUkernel handle, const char** name) {
  const auto kernel = state().kernels.find(handle, "kernel");
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *name = kernel->description->name.c_str();
  return CUDA_SUCCESS;
}

CUresult parameterInfo(CUkernel handle, size_t index, size_t* offset, size_t* size) {
  const auto kernel = state().kernels.find(handle, "kernel");
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  // How callers learn how many there are: no rule broken.
  if (index >= kernel->description->parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = kernel->description->parameters[index].offset;
  if (size != nullptr) *size = kernel->description->parameters[index].bytes;
  return CUDA_SUCCESS;
}

CUresult kernelAttribute(CUkernel handle, CUfunction_attribute attribute, int* value) {
  const auto kernel = state().kernels.find(handle, "kernel");
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const memory::KernelDescription& is = *kernel->description;
  const auto answer = [&](std::uint32_t number) {
    *value = static_cast<int>(number);
    return CUDA_SUCCESS;
  };
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return answer(is.maxThreadsPerBlock);
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return answer(is.staticSharedBytes);
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      return answer(is.constantBytes);
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      return answer(is.localBytes);
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return answer(is.registers);
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      return answer(is.ptxVersion);
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return answer(is.binaryVersion);
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
      return answer(0);
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return answer(kernel->maxDynamicShared);
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = -1;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
      return answer(is.clusterMustBeSet || !is.cluster.none() ? 1 : 0);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
      return answer(is.cluster.x);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
      return answer(is.cluster.y);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      return answer(is.cluster.z);
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      return answer(kernel->largeClusters ? 1 : 0);
    default:
      if (attribute >= 0 && attribute < CU_FUNC_ATTRIBUTE_MAX) return answer(0);
      return violation(CUDA_ERROR_INVALID_VALUE, "attribute", std::to_string(attribute));
  }
}

CUresult setKernelAttribute(const Gpu& gpu, CUkernel handle, CUfunction_attribute attribute, int value) {
  const auto kernel = state().kernels.find(handle, "kernel");
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
      const int most = gpu.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
      // More than there is, is refused: callers pass on what a program asked for.
      if (value < 0 || value + static_cast<int>(kernel->description->staticSharedBytes) > most)
        return CUDA_ERROR_INVALID_VALUE;
      kernel->maxDynamicShared = static_cast<std::uint32_t>(value);
      return CUDA_SUCCESS;
    }
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      kernel->largeClusters = value != 0;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return value >= -1 && value <= 100 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;  // a hint
    default:
      note("function attribute " + std::to_string(attribute) + " cannot be set on the double");
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult kernelOf(CUlibrary handle, const char* name, CUkernel* kernel) {
  const auto library = state().libraries.find(handle, "library");
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const auto& kernels = library->description().kernels;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].name != name) continue;
    *kernel = library->kernels()[i];
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

CUresult kernelCount(CUlibrary handle, unsigned* count) {
  const auto library = state().libraries.find(handle, "library");
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *count = static_cast<unsigned>(library->kernels().size());
  return CUDA_SUCCESS;
}

CUresult enumerateKernels(CUlibrary handle, CUkernel* kernels, unsigned count) {
  const auto library = state().libraries.find(handle, "library");
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const auto& all = library->kernels();
  std::copy_n(all.begin(), std::min<std::size_t>(count, all.size()), kernels);
  return CUDA_SUCCESS;
}

}  // namespace rouse::cuda_double
