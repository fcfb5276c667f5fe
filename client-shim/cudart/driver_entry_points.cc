// CUDA Runtime API, "Driver Entry Point Access": what the pool's libcuda.so.1 serves. Every other look-up ends the way CUDA ends one for a name
// that does not exist: success, and a null pointer.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "client-shim/cudart/implementations.h"
#include "schemas/api/library_names.h"

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

bool served(std::string_view name) {
  const auto first = api::kAllNames.begin() + api::kCudaNames;
  const auto found = std::find(first, api::kAllNames.end(), name);
  return found != api::kAllNames.end() && api::kAllSupported[static_cast<std::size_t>(found - api::kAllNames.begin())];
}

// Programs ask for a function by its name in the header; of what is served there is one version each, CUDA 13's.
void* find(const char* symbol) {
  char newer[128];
  const int length = std::snprintf(newer, sizeof newer, "%s_v2", symbol);
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof newer) return nullptr;
  const char* name = served(newer) ? newer : symbol;
  if (!served(name)) return nullptr;
  static void* const driver = openDriver();
  return driver != nullptr ? ::dlsym(driver, name) : nullptr;
}

}  // namespace

// With per-thread default streams the driver would have other functions, which are not there.
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** funcPtr, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* driverStatus, cudaStream_t) {
  if (symbol == nullptr || *symbol == '\0' || flags > cudaEnablePerThreadDefaultStream) return cudaErrorInvalidValue;
  *funcPtr = flags == cudaEnablePerThreadDefaultStream ? nullptr : find(symbol);
  if (driverStatus != nullptr) *driverStatus = *funcPtr != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** funcPtr, unsigned int cudaVersion,
                                             unsigned long long flags, cudaDriverEntryPointQueryResult* driverStatus,
                                             cudaStream_t defaultStream) {
  if (cudaVersion > CUDART_VERSION) return cudaErrorInvalidValue;
  return cudaGetDriverEntryPoint(symbol, funcPtr, flags, driverStatus, defaultStream);
}

}  // namespace rouse::cudart::impl
