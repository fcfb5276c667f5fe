// CUDA Runtime API, "Version Management".
#include "client-shim/cudart/implementations.h"

namespace rouse::cudart::impl {

// The newest driver interface that this library's behaviour corresponds to; the host's driver is none of the program's
// business.
cudaError_t cudaDriverGetVersion(int* driverVersion) {
  *driverVersion = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* runtimeVersion) {
  *runtimeVersion = CUDART_VERSION;
  return cudaSuccess;
}

}  // namespace rouse::cudart::impl
