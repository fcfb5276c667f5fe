// CUDA Driver API, "Module Management": a module is a library of the runtime's.
#include "client-shim/cuda/call.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {
namespace {

constexpr unsigned kMostOptions = 64;

CUresult load(CUmodule* module, const void* image, cudaJitOption* options, void** values, unsigned count) {
  cudaLibrary_t library = nullptr;
  const CUresult error = call([&] { return cudaLibraryLoadData(&library, image, options, values, count, nullptr, nullptr, 0); });
  if (error == CUDA_SUCCESS) *module = reinterpret_cast<CUmodule>(library);
  return error;
}

}  // namespace

CUresult cuModuleLoad(CUmodule* module, const char* fname) {
  if (module == nullptr || fname == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaLibrary_t library = nullptr;
  const CUresult error = call([&] { return cudaLibraryLoadFromFile(&library, fname, nullptr, nullptr, 0, nullptr, nullptr, 0); });
  if (error == CUDA_SUCCESS) *module = reinterpret_cast<CUmodule>(library);
  return error;
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return load(module, image, nullptr, nullptr, 0);
}

// The options' numbers are the same, but the runtime has none for the target: it is always the current device.
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int numOptions, CUjit_option* options, void** optionValues) {
  if (module == nullptr || image == nullptr || numOptions > kMostOptions) return CUDA_ERROR_INVALID_VALUE;
  if (numOptions > 0 && (options == nullptr || optionValues == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  cudaJitOption kept[kMostOptions];
  void* values[kMostOptions];
  unsigned from[kMostOptions], count = 0;
  for (unsigned i = 0; i < numOptions; ++i) {
    if (options[i] == CU_JIT_TARGET_FROM_CUCONTEXT) continue;
    kept[count] = static_cast<cudaJitOption>(options[i]);
    values[count] = optionValues[i];
    from[count++] = i;
  }
  const CUresult error = load(module, image, kept, values, count);
  for (unsigned i = 0; i < count; ++i) optionValues[from[i]] = values[i];  // some tell something
  return error;
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* fatCubin) { return impl::cuModuleLoadData(module, fatCubin); }

CUresult cuModuleUnload(CUmodule hmod) {
  return call([&] { return cudaLibraryUnload(reinterpret_cast<cudaLibrary_t>(hmod)); });
}

CUresult cuModuleGetFunction(CUfunction* hfunc, CUmodule hmod, const char* name) {
  if (hfunc == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaKernel_t kernel = nullptr;
  const CUresult error = call([&] { return cudaLibraryGetKernel(&kernel, reinterpret_cast<cudaLibrary_t>(hmod), name); });
  if (error == CUDA_SUCCESS) *hfunc = reinterpret_cast<CUfunction>(kernel);
  return error;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* dptr, size_t* bytes, CUmodule hmod, const char* name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  void* found = nullptr;
  const CUresult error = call([&] { return cudaLibraryGetGlobal(&found, bytes, reinterpret_cast<cudaLibrary_t>(hmod), name); });
  if (error == CUDA_SUCCESS && dptr != nullptr) *dptr = address(found);
  return error;
}

}  // namespace rouse::cuda::impl
