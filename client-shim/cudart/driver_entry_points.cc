// CUDA Runtime API, "Driver Entry Point Access". There is no driver interface behind this runtime, so every look-up
// ends the way CUDA ends one for a name that does not exist: success, and a null pointer.
#include "client-shim/cudart/implementations.h"

namespace rouse::cudart::impl {

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** funcPtr, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* driverStatus, cudaStream_t) {
  if (symbol == nullptr || *symbol == '\0' || flags > cudaEnablePerThreadDefaultStream) return cudaErrorInvalidValue;
  *funcPtr = nullptr;
  if (driverStatus != nullptr) *driverStatus = cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** funcPtr, unsigned int cudaVersion,
                                             unsigned long long flags, cudaDriverEntryPointQueryResult* driverStatus,
                                             cudaStream_t defaultStream) {
  if (cudaVersion > CUDART_VERSION) return cudaErrorInvalidValue;
  return cudaGetDriverEntryPoint(symbol, funcPtr, flags, driverStatus, defaultStream);
}

}  // namespace rouse::cudart::impl
