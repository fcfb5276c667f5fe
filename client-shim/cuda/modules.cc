// CUDA Driver API, "Module Management": a module is a library of the runtime's, whose kernels are functions.
#include "client-shim/cuda/call.h"
#include "client-shim/cuda/context.h"
#include "client-shim/cuda/implementations.h"
#include "client-shim/cuda/jit_options.h"
#include "client-shim/cuda/libraries.h"

namespace rouse::cuda::impl {
namespace {

cudaLibrary_t libraryOf(CUmodule module) { return reinterpret_cast<cudaLibrary_t>(module); }

CUresult made(CUresult error, cudaLibrary_t library, CUmodule* module) {
  if (error != CUDA_SUCCESS) return error;
  *module = reinterpret_cast<CUmodule>(library);
  own(Owned::module, library);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuModuleLoad(CUmodule* module, const char* fname) {
  if (module == nullptr || fname == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaLibrary_t library = nullptr;
  const CUresult error = call([&] { return cudaLibraryLoadFromFile(&library, fname, nullptr, nullptr, 0, nullptr, nullptr, 0); });
  return made(error, library, module);
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaLibrary_t library = nullptr;
  const CUresult error = call([&] { return cudaLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0); });
  return made(error, library, module);
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int numOptions, CUjit_option* options, void** optionValues) {
  if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  JitOptions jit;
  if (const CUresult error = jit.read(numOptions, options, optionValues); error != CUDA_SUCCESS) return error;
  cudaLibrary_t library = nullptr;
  const CUresult error = call([&] { return cudaLibraryLoadData(&library, image, jit.options(), jit.values(), jit.count(), nullptr, nullptr, 0); });
  jit.write(optionValues);
  return made(error, library, module);
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* fatCubin) { return impl::cuModuleLoadData(module, fatCubin); }

// cuLibraryGetModule's are their library's to end.
CUresult cuModuleUnload(CUmodule hmod) {
  if (isOfLibrary(hmod)) return CUDA_ERROR_NOT_PERMITTED;
  disown(Owned::module, hmod);
  return call([&] { return cudaLibraryUnload(libraryOf(hmod)); });
}

CUresult cuModuleGetFunction(CUfunction* hfunc, CUmodule hmod, const char* name) {
  if (hfunc == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaKernel_t kernel = nullptr;
  const CUresult error = call([&] { return cudaLibraryGetKernel(&kernel, libraryOf(hmod), name); });
  if (error == CUDA_SUCCESS) *hfunc = reinterpret_cast<CUfunction>(kernel);
  return error;
}

// Managed variables are found as well.
CUresult cuModuleGetGlobal_v2(CUdeviceptr* dptr, size_t* bytes, CUmodule hmod, const char* name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  void* found = nullptr;
  CUresult error = call([&] { return cudaLibraryGetGlobal(&found, bytes, libraryOf(hmod), name); });
  if (error == CUDA_ERROR_NOT_FOUND) error = call([&] { return cudaLibraryGetManaged(&found, bytes, libraryOf(hmod), name); });
  if (error == CUDA_SUCCESS && dptr != nullptr) *dptr = address(found);
  return error;
}

// Code of the program's own is loaded when something of it is used; what is loaded by these calls, at once.
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule mod) {
  return call([&] { return cudaLibraryGetKernelCount(count, libraryOf(mod)); });
}

CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int numFunctions, CUmodule mod) {
  return call([&] { return cudaLibraryEnumerateKernels(reinterpret_cast<cudaKernel_t*>(functions), numFunctions, libraryOf(mod)); });
}

}  // namespace rouse::cuda::impl
