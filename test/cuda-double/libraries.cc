// cuLibrary… and cuKernel….
#include <algorithm>
#include <cstring>
#include <string>

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

// The text goes where CU_JIT_ERROR_LOG_BUFFER says, as far as CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES lets it.
void writeLog(const std::string& text, const CUjit_option* options, void** values, unsigned int count) {
  char* buffer = nullptr;
  std::size_t room = 0;
  for (unsigned int i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) buffer = static_cast<char*>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) room = reinterpret_cast<std::size_t>(values[i]);
  }
  if (buffer == nullptr || room == 0) return;
  const std::size_t length = std::min(text.size(), room - 1);
  std::memcpy(buffer, text.data(), length);
  buffer[length] = '\0';
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
  if (context != nullptr) context->flushOutput();
  Gpu* gpu = context != nullptr ? &context->gpu : state().gpu(0);
  if (gpu == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  // Options tune or tell; none changes what a kernel computes.
  std::string log;
  const CUresult result = Library::load(*gpu, code, nullptr, *library, &log);
  if (!log.empty()) writeLog(log, jitOptions, jitOptionsValues, numJitOptions);
  return result;
}

CUresult cuLibraryUnload(CUlibrary library) {
  if (currentContext != nullptr) here()->flushOutput();
  const CUresult result = Library::unload(library, false);
  if (result == CUDA_SUCCESS && currentContext != nullptr) here()->synchronize();
  return result;
}

CUresult cuLibraryGetModule(CUmodule* pMod, CUlibrary library) {
  const auto found = state().libraries.find(library, "library");
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *pMod = reinterpret_cast<CUmodule>(library);
  return found->failure();
}

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
