// CUDA Runtime API, "Driver Entry Point Access": what the pool's libcuda.so.1 serves. Every other look-up ends the way CUDA ends one for a name
// that does not exist: success, and a null pointer.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "client-shim/cudart/implementations.h"
#include "client-shim/library/driver_names.h"

namespace rouse::cudart::impl {
namespace {

// libcuda.so.1 of this library's folder: another one would be a driver, of which this process has no device. Null: it is not there.
void* openDriver() {
  Dl_info self{};
  if (::dladdr(reinterpret_cast<void*>(&openDriver), &self) == 0 || self.dli_fname == nullptr) return nullptr;
  const char* slash = std::strrchr(self.dli_fname, '/');
  if (slash == nullptr) return nullptr;
  char path[4096];
  const int length = std::snprintf(path, sizeof path, "%.*s/libcuda.so.1", static_cast<int>(slash - self.dli_fname), self.dli_fname);
  return length > 0 && static_cast<std::size_t>(length) < sizeof path ? ::dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
}

// Null: none that is served.
void* find(const char* exported) {
  if (exported == nullptr) return nullptr;
  static void* const driver = openDriver();
  return driver != nullptr ? ::dlsym(driver, exported) : nullptr;
}

}  // namespace

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** funcPtr, unsigned int cudaVersion, unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* driverStatus, cudaStream_t defaultStream) {
  if (symbol == nullptr || *symbol == '\0' || flags > cudaEnablePerThreadDefaultStream || cudaVersion > CUDART_VERSION) return cudaErrorInvalidValue;
  // As the program was compiled, unless it says which.
  const bool perThread = flags == cudaEnablePerThreadDefaultStream || (flags == cudaEnableDefault && defaultStream == cudaStreamPerThread);
  const library::DriverName name = library::findDriverName(symbol, static_cast<int>(cudaVersion), perThread);
  *funcPtr = find(name.exported);
  if (driverStatus != nullptr) {
    *driverStatus = *funcPtr != nullptr ? cudaDriverEntryPointSuccess
                    : name.tooNew       ? cudaDriverEntryPointVersionNotSufficent
                                        : cudaDriverEntryPointSymbolNotFound;
  }
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** funcPtr, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* driverStatus, cudaStream_t defaultStream) {
  return impl::cudaGetDriverEntryPointByVersion(symbol, funcPtr, CUDART_VERSION, flags, driverStatus, defaultStream);
}

}  // namespace rouse::cudart::impl
