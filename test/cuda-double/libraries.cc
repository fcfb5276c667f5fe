// cuLibrary… and cuKernel….
#include "test/cuda-double/implementations.h"
#include "test/cuda-double/kernels.h"
#include "test/cuda-double/state.h"

namespace rouse::cuda_double::impl {
namespace {

CUresult variableOf(CUdeviceptr* address, size_t* bytes, CUlibrary handle, const char* name, bool managed) {
  const auto library = state().libraries.find(handle, "library");
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (address == nullptr && bytes == nullptr) {
    return violation(CUDA_ERROR_INVALID_VALUE, "null-argument", "neither address nor size is asked for");
  }
  return library->variable(*here(), name, managed, address, bytes);
}

}  // namespace

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jitOptions, void** jitOptionsValues,
                           unsigned int numJitOptions, CUlibraryOption* libraryOptions, void** libraryOptionValues,
                           unsigned int numLibraryOptions) {
  if ((numJitOptions != 0 && (jitOptions == nullptr || jitOptionsValues == nullptr)) ||
      (numLibraryOptions != 0 && libraryOptions == nullptr)) {
    return violation(CUDA_ERROR_INVALID_VALUE, "null-argument", "options are announced and missing");
  }
  const auto context = currentContext != nullptr ? here() : nullptr;
  Gpu* gpu = context != nullptr ? &context->gpu : state().gpu(0);
  if (gpu == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  // Options tune or tell; none changes what a kernel computes.
  return Library::load(*gpu, code, nullptr, *library);
}

CUresult cuLibraryUnload(CUlibrary library) { return Library::unload(library, false); }

CUresult cuLibraryGetKernel(CUkernel* pKernel, CUlibrary library, const char* name) {
  return kernelOf(library, name, pKernel);
}

CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary lib) { return kernelCount(lib, count); }

CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int numKernels, CUlibrary lib) {
  return enumerateKernels(lib, kernels, numKernels);
}

CUresult cuLibraryGetGlobal(CUdeviceptr* dptr, size_t* bytes, CUlibrary library, const char* name) {
  return variableOf(dptr, bytes, library, name, false);
}

CUresult cuLibraryGetManaged(CUdeviceptr* dptr, size_t* bytes, CUlibrary library, const char* name) {
  return variableOf(dptr, bytes, library, name, true);
}

CUresult cuKernelGetName(const char** name, CUkernel hfunc) { return kernelName(hfunc, name); }

CUresult cuKernelGetFunction(CUfunction* pFunc, CUkernel kernel) {
  if (state().kernels.find(kernel, "kernel") == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *pFunc = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t* paramOffset, size_t* paramSize) {
  return parameterInfo(kernel, paramIndex, paramOffset, paramSize);
}

CUresult cuKernelGetAttribute(int* pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev) {
  if (state().gpu(dev) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  return kernelAttribute(kernel, attrib, pi);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev) {
  Gpu* gpu = state().gpu(dev);
  if (gpu == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  return setKernelAttribute(*gpu, kernel, attrib, val);
}

}  // namespace rouse::cuda_double::impl
