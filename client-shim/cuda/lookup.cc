// CUDA Driver API, "Driver Entry Point Access": functions that are served, and no others. What NVIDIA's own libraries would need besides
// (cuGetExportTable) refuses: they find a driver that they cannot start on.
#include <dlfcn.h>

#include "client-shim/cuda/implementations.h"
#include "client-shim/library/driver_names.h"

namespace rouse::cuda::impl {
namespace {

// This library: what it exports.
void* self() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&self), &info) == 0 || info.dli_fname == nullptr) return nullptr;
  return ::dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
}

}  // namespace

CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags, CUdriverProcAddressQueryResult* symbolStatus) {
  if (symbol == nullptr || *symbol == '\0' || pfn == nullptr || cudaVersion > CUDA_VERSION || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
    return CUDA_ERROR_INVALID_VALUE;
  static void* const handle = self();
  const rouse::library::DriverName found = rouse::library::findDriverName(symbol, cudaVersion, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
  *pfn = found.exported != nullptr && handle != nullptr ? ::dlsym(handle, found.exported) : nullptr;
  if (symbolStatus != nullptr) {
    *symbolStatus = *pfn != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
                    : found.tooNew  ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                    : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return CUDA_SUCCESS;
}

// Before CUDA 12 a function that is not there was an error.
CUresult cuGetProcAddress(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags) {
  const CUresult error = impl::cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, nullptr);
  return error == CUDA_SUCCESS && *pfn == nullptr ? CUDA_ERROR_NOT_FOUND : error;
}

}  // namespace rouse::cuda::impl
