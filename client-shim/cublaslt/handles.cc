// cuBLASLt: handles, versions, and what is set for the process. All local.
#include <cuda_runtime_api.h>

#include <atomic>
#include <new>

#include "client-shim/cublaslt/implementations.h"
#include "client-shim/library/handle_base.h"
#include "client-shim/library/host.h"
#include "client-shim/library/status_names.h"

namespace rouse::cublaslt::impl {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* lightHandle) {
  if (lightHandle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const client::LibraryHost* host = client::libraryHost();
  std::uint32_t device = 0;
  if (host == nullptr || host->attach(&device) != CudaError::success) return CUBLAS_STATUS_NOT_INITIALIZED;
  // Few bytes, and kept: who uses a destroyed handle must not read what is somebody else's.
  auto* object = new (std::nothrow) library::HandleBase{device};
  const std::uint64_t number = object != nullptr ? host->makeHandle(client::HandleKind::blasLt, object) : 0;
  if (number == 0) {
    delete object;
    return CUBLAS_STATUS_ALLOC_FAILED;
  }
  *lightHandle = reinterpret_cast<cublasLtHandle_t>(number);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t lightHandle) {
  const client::LibraryHost* host = client::libraryHost();
  if (host == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const void* object = host->dropHandle(reinterpret_cast<std::uint64_t>(lightHandle), client::HandleKind::blasLt);
  return object != nullptr ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

const char* cublasLtGetStatusName(cublasStatus_t status) { return library::statusName(status); }
const char* cublasLtGetStatusString(cublasStatus_t status) { return library::statusString(status); }
size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
size_t cublasLtGetCudartVersion() { return CUDART_VERSION; }

cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  switch (type) {
    case MAJOR_VERSION:
      *value = CUBLAS_VER_MAJOR;
      return CUBLAS_STATUS_SUCCESS;
    case MINOR_VERSION:
      *value = CUBLAS_VER_MINOR;
      return CUBLAS_STATUS_SUCCESS;
    case PATCH_LEVEL:
      *value = CUBLAS_VER_PATCH;
      return CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

// Heuristics are answered at once here: how many a cache would hold makes no difference.
namespace {
std::atomic<std::size_t> cacheCapacity{8192};
}
cublasStatus_t cublasLtHeuristicsCacheGetCapacity(size_t* capacity) {
  if (capacity == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *capacity = cacheCapacity;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t capacity) {
  cacheCapacity = capacity;
  return CUBLAS_STATUS_SUCCESS;
}

// There is no log of calls here: whoever asks for one is told.
cublasStatus_t cublasLtLoggerSetCallback(cublasLtLoggerCallback_t callback) {
  return callback == nullptr ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasLtLoggerSetFile(FILE* file) { return file == nullptr ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED; }
cublasStatus_t cublasLtLoggerOpenFile(const char*) { return CUBLAS_STATUS_NOT_SUPPORTED; }
cublasStatus_t cublasLtLoggerSetLevel(int level) { return level == 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED; }
cublasStatus_t cublasLtLoggerSetMask(int mask) { return mask == 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED; }
cublasStatus_t cublasLtLoggerForceDisable() { return CUBLAS_STATUS_SUCCESS; }

}  // namespace rouse::cublaslt::impl
