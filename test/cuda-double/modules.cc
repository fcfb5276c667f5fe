// cuModule… and cuFunc…: libraries that belong to a context.
#include "test/cuda-double/implementations.h"
#include "test/cuda-double/kernels.h"
#include "test/cuda-double/state.h"

namespace rouse::cuda_double::impl {
namespace {

CUlibrary library(CUmodule module) { return reinterpret_cast<CUlibrary>(module); }
CUkernel kernel(CUfunction function) { return reinterpret_cast<CUkernel>(function); }

}  // namespace

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int numOptions, CUjit_option* options,
                            void** optionValues) {
  if (numOptions != 0 && (options == nullptr || optionValues == nullptr)) {
    return violation(CUDA_ERROR_INVALID_VALUE, "null-argument", "options are announced and missing");
  }
  const auto context = here();
  context->flushOutput();
  CUlibrary handle = nullptr;
  const CUresult result = Library::load(context->gpu, image, context.get(), handle);
  if (result != CUDA_SUCCESS) return result;
  *module = reinterpret_cast<CUmodule>(handle);
  return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule hmod) {
  here()->flushOutput();
  return Library::unload(library(hmod), true);
}

CUresult cuModuleGetFunction(CUfunction* hfunc, CUmodule hmod, const char* name) {
  return kernelOf(library(hmod), name, reinterpret_cast<CUkernel*>(hfunc));
}

CUresult cuModuleGetGlobal(CUdeviceptr* dptr, size_t* bytes, CUmodule hmod, const char* name) {
  const auto module = state().libraries.find(library(hmod), "module");
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  // Modules give managed variables, too.
  const CUresult result = module->variable(*here(), name, false, dptr, bytes);
  return result == CUDA_ERROR_NOT_FOUND ? module->variable(*here(), name, true, dptr, bytes) : result;
}

CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule mod) { return kernelCount(library(mod), count); }

CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int numFunctions, CUmodule mod) {
  return enumerateKernels(library(mod), reinterpret_cast<CUkernel*>(functions), numFunctions);
}

// All are loaded with their module here.
CUresult cuFuncLoad(CUfunction function) {
  const char* ignored = nullptr;
  return kernelName(kernel(function), &ignored);
}

CUresult cuFuncGetName(const char** name, CUfunction hfunc) { return kernelName(kernel(hfunc), name); }

CUresult cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t* paramOffset, size_t* paramSize) {
  return parameterInfo(kernel(func), paramIndex, paramOffset, paramSize);
}

CUresult cuFuncGetAttribute(int* pi, CUfunction_attribute attrib, CUfunction hfunc) {
  return kernelAttribute(kernel(hfunc), attrib, pi);
}

CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
  return setKernelAttribute(here()->gpu, kernel(hfunc), attrib, value);
}

}  // namespace rouse::cuda_double::impl
