// CUDA Driver API, "Execution Control": what functions need, and may use.
#include "client-shim/cuda/functions.h"

#include "client-shim/cuda/call.h"
#include "client-shim/cuda/context.h"
#include "client-shim/cuda/implementations.h"
#include "client-shim/library/driver_host.h"

namespace rouse::cuda {

CUresult attributeOf(const cudaFuncAttributes& found, CUfunction_attribute attribute, int* value) {
  const auto tell = [&](auto number) {
    *value = static_cast<int>(number);
    return CUDA_SUCCESS;
  };
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return tell(found.maxThreadsPerBlock);
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return tell(found.sharedSizeBytes);
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      return tell(found.constSizeBytes);
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      return tell(found.localSizeBytes);
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return tell(found.numRegs);
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      return tell(found.ptxVersion);
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return tell(found.binaryVersion);
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
      return tell(found.cacheModeCA);
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return tell(found.maxDynamicSharedSizeBytes);
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return tell(found.preferredShmemCarveout);
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
      return tell(found.clusterDimMustBeSet);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
      return tell(found.requiredClusterWidth);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
      return tell(found.requiredClusterHeight);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      return tell(found.requiredClusterDepth);
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      return tell(found.nonPortableClusterSizeAllowed);
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return tell(found.clusterSchedulingPolicyPreference);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

namespace impl {

CUresult cuFuncGetAttribute(int* pi, CUfunction_attribute attrib, CUfunction hfunc) {
  if (pi == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaFuncAttributes found;
  if (const CUresult error = call([&] { return cudaFuncGetAttributes(&found, kernelOf(hfunc)); }); error != CUDA_SUCCESS) return error;
  return attributeOf(found, attrib, pi);
}

// The attributes that can be set have the same numbers.
CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
  return call([&] { return cudaFuncSetAttribute(kernelOf(hfunc), static_cast<cudaFuncAttribute>(attrib), value); });
}

CUresult cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config) {
  return call([&] { return cudaFuncSetCacheConfig(kernelOf(hfunc), static_cast<cudaFuncCache>(config)); });
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // as the driver's is
CUresult cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config) {
  return call([&] { return cudaFuncSetSharedMemConfig(kernelOf(hfunc), static_cast<cudaSharedMemConfig>(config)); });
}
#pragma GCC diagnostic pop

CUresult cuFuncGetModule(CUmodule* hmod, CUfunction hfunc) {
  if (hmod == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const void* const library = client::driverHost()->libraryOf(kernelOf(hfunc));
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *hmod = reinterpret_cast<CUmodule>(const_cast<void*>(library));
  return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char** name, CUfunction hfunc) {
  return call([&] { return cudaFuncGetName(name, kernelOf(hfunc)); });
}

CUresult cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t* paramOffset, size_t* paramSize) {
  return call([&] { return cudaFuncGetParamInfo(kernelOf(func), paramIndex, paramOffset, paramSize); });
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const client::DriverHost& host = *client::driverHost();
  if (host.libraryOf(kernelOf(function)) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *state = host.loaded(kernelOf(function), currentContext()->device) ? CU_FUNCTION_LOADING_STATE_LOADED : CU_FUNCTION_LOADING_STATE_UNLOADED;
  return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction function) {
  cudaFuncAttributes loads;
  return call([&] { return cudaFuncGetAttributes(&loads, kernelOf(function)); });
}

}  // namespace impl
}  // namespace rouse::cuda
