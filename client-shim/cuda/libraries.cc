// CUDA Driver API, "Library Management". A library is the same in all contexts; where a thread has none, device 0 checks its code.
#include "client-shim/cuda/libraries.h"

#include <mutex>
#include <new>
#include <set>

#include "client-shim/cuda/call.h"
#include "client-shim/cuda/context.h"
#include "client-shim/cuda/implementations.h"
#include "client-shim/cuda/jit_options.h"

namespace rouse::cuda {
namespace {

static_assert(sizeof(CUlibraryOption) == sizeof(cudaLibraryOption));

struct Libraries {
  std::mutex mutex;
  std::set<const void*> loaded;
};
Libraries& libraries() {
  static Libraries& all = *new Libraries;  // programs call from exit handlers
  return all;
}

cudaLibrary_t same(CUlibrary library) { return reinterpret_cast<cudaLibrary_t>(library); }

template <class Body>
CUresult anywhere(Body&& body) {
  Context* context = currentContext();
  if (context == nullptr || context->destroyed) {
    if (const CUresult error = primaryContext(0, &context); error != CUDA_SUCCESS) return error;
  }
  return within(context, [&] { return call(body); });
}

CUresult keep(CUresult error, cudaLibrary_t library, CUlibrary* made) try {
  if (error != CUDA_SUCCESS) return error;
  const std::lock_guard lock(libraries().mutex);
  libraries().loaded.insert(library);
  *made = reinterpret_cast<CUlibrary>(library);
  return CUDA_SUCCESS;
} catch (const std::bad_alloc&) {
  (void)call([&] { return cudaLibraryUnload(library); });
  return CUDA_ERROR_OUT_OF_MEMORY;
}

}  // namespace

bool isOfLibrary(CUmodule module) {
  const std::lock_guard lock(libraries().mutex);
  return libraries().loaded.contains(module);
}

namespace impl {

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jitOptions, void** jitOptionsValues, unsigned int numJitOptions,
                           CUlibraryOption* libraryOptions, void** libraryOptionValues, unsigned int numLibraryOptions) {
  if (library == nullptr || code == nullptr) return CUDA_ERROR_INVALID_VALUE;
  JitOptions jit;
  if (const CUresult error = jit.read(numJitOptions, jitOptions, jitOptionsValues); error != CUDA_SUCCESS) return error;
  cudaLibrary_t loaded = nullptr;
  const CUresult error = anywhere([&] {
    return cudaLibraryLoadData(&loaded, code, jit.options(), jit.values(), jit.count(), reinterpret_cast<cudaLibraryOption*>(libraryOptions),
                               libraryOptionValues, numLibraryOptions);
  });
  jit.write(jitOptionsValues);
  return keep(error, loaded, library);
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* fileName, CUjit_option* jitOptions, void** jitOptionsValues, unsigned int numJitOptions,
                               CUlibraryOption* libraryOptions, void** libraryOptionValues, unsigned int numLibraryOptions) {
  if (library == nullptr || fileName == nullptr) return CUDA_ERROR_INVALID_VALUE;
  JitOptions jit;
  if (const CUresult error = jit.read(numJitOptions, jitOptions, jitOptionsValues); error != CUDA_SUCCESS) return error;
  cudaLibrary_t loaded = nullptr;
  const CUresult error = anywhere([&] {
    return cudaLibraryLoadFromFile(&loaded, fileName, jit.options(), jit.values(), jit.count(), reinterpret_cast<cudaLibraryOption*>(libraryOptions),
                                   libraryOptionValues, numLibraryOptions);
  });
  jit.write(jitOptionsValues);
  return keep(error, loaded, library);
}

CUresult cuLibraryUnload(CUlibrary library) {
  {
    const std::lock_guard lock(libraries().mutex);
    if (libraries().loaded.erase(library) == 0) return CUDA_ERROR_INVALID_HANDLE;
  }
  return anywhere([&] { return cudaLibraryUnload(same(library)); });
}

CUresult cuLibraryGetKernel(CUkernel* pKernel, CUlibrary library, const char* name) {
  if (pKernel == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return anywhere([&] { return cudaLibraryGetKernel(reinterpret_cast<cudaKernel_t*>(pKernel), same(library), name); });
}

CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary lib) {
  return anywhere([&] { return cudaLibraryGetKernelCount(count, same(lib)); });
}

CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int numKernels, CUlibrary lib) {
  return anywhere([&] { return cudaLibraryEnumerateKernels(reinterpret_cast<cudaKernel_t*>(kernels), numKernels, same(lib)); });
}

CUresult cuLibraryGetModule(CUmodule* pMod, CUlibrary library) {
  unsigned count = 0;
  if (pMod == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // It has to be there, and to be loaded in the current context.
  if (const CUresult error = call([&] { return cudaLibraryGetKernelCount(&count, same(library)); }); error != CUDA_SUCCESS) return error;
  *pMod = reinterpret_cast<CUmodule>(library);
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetGlobal(CUdeviceptr* dptr, size_t* bytes, CUlibrary library, const char* name) {
  return call([&] { return cudaLibraryGetGlobal(reinterpret_cast<void**>(dptr), bytes, same(library), name); });
}

CUresult cuLibraryGetManaged(CUdeviceptr* dptr, size_t* bytes, CUlibrary library, const char* name) {
  return call([&] { return cudaLibraryGetManaged(reinterpret_cast<void**>(dptr), bytes, same(library), name); });
}

}  // namespace impl
}  // namespace rouse::cuda
