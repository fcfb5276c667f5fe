// cuBLAS, "Helper Functions": handles and what is set in them. All local.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <new>

#include "client-shim/cublas/settings.h"
#include "client-shim/cublas/implementations.h"
#include "client-shim/library/host.h"
#include "client-shim/library/object_pool.h"
#include "client-shim/library/status_names.h"

namespace rouse::cublas {
namespace {

library::ObjectPool<Handle>& objects() { return library::ObjectPool<Handle>::get(); }

}  // namespace

Handle* findHandle(cublasHandle_t handle) {
  const client::LibraryHost* host = handle != nullptr ? client::libraryHost() : nullptr;
  if (host == nullptr) return nullptr;
  return static_cast<Handle*>(host->findHandle(reinterpret_cast<std::uint64_t>(handle), kindBit(client::HandleKind::blas)));
}

namespace impl {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) try {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const client::LibraryHost* host = client::libraryHost();
  std::uint32_t device = 0;
  if (host == nullptr || host->attach(&device) != CudaError::success) return CUBLAS_STATUS_NOT_INITIALIZED;
  Handle* object = objects().take();
  object->device = device;
  object->stream = 0;
  object->pointerMode = CUBLAS_POINTER_MODE_HOST;
  object->atomics = CUBLAS_ATOMICS_NOT_ALLOWED;
  object->mathMode = CUBLAS_DEFAULT_MATH;
  object->multiprocessors = 0;
  object->emulation = {};
  object->workspace = object->workspaceBytes = 0;
  const std::uint64_t number = host->makeHandle(client::HandleKind::blas, object);
  if (number == 0) {
    objects().give(object);
    return CUBLAS_STATUS_ALLOC_FAILED;
  }
  *handle = reinterpret_cast<cublasHandle_t>(number);
  return CUBLAS_STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
  return CUBLAS_STATUS_ALLOC_FAILED;
}

// Queued calls carry all they need: nothing is waited for.
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) try {
  const client::LibraryHost* host = client::libraryHost();
  if (host == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  auto* object = static_cast<Handle*>(host->dropHandle(reinterpret_cast<std::uint64_t>(handle), client::HandleKind::blas));
  if (object == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  objects().give(object);
  return CUBLAS_STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
  return CUBLAS_STATUS_SUCCESS;  // the object is lost, no more
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int* version) {
  return read<int>(handle, version, [](const Handle&) { return CUBLAS_VERSION; });
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
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

size_t cublasGetCudartVersion() { return CUDART_VERSION; }

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes) {
  return with(handle, [&](Handle& object) {
    if (reinterpret_cast<std::uint64_t>(workspace) % 256 != 0) return CUBLAS_STATUS_INVALID_VALUE;
    const bool own = workspace != nullptr && bytes != 0;
    object.workspace = own ? reinterpret_cast<std::uint64_t>(workspace) : 0;
    object.workspaceBytes = own ? bytes : 0;
    return CUBLAS_STATUS_SUCCESS;
  });
}

// "cublasSetStream unconditionally resets the library workspace back to the default workspace pool."
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  return with(handle, [&](Handle& object) {
    object.stream = reinterpret_cast<std::uint64_t>(stream);
    object.workspace = object.workspaceBytes = 0;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  return read<cudaStream_t>(handle, stream, [](const Handle& object) { return reinterpret_cast<cudaStream_t>(object.stream); });
}

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  return read<cublasPointerMode_t>(handle, mode, [](const Handle& object) { return object.pointerMode; });
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  return with(handle, [&](Handle& object) {
    if (mode != CUBLAS_POINTER_MODE_HOST && mode != CUBLAS_POINTER_MODE_DEVICE) return CUBLAS_STATUS_INVALID_VALUE;
    object.pointerMode = mode;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t* mode) {
  return read<cublasAtomicsMode_t>(handle, mode, [](const Handle& object) { return object.atomics; });
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
  return with(handle, [&](Handle& object) {
    if (mode != CUBLAS_ATOMICS_ALLOWED && mode != CUBLAS_ATOMICS_NOT_ALLOWED) return CUBLAS_STATUS_INVALID_VALUE;
    object.atomics = mode;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  return read<cublasMath_t>(handle, mode, [](const Handle& object) { return object.mathMode; });
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  return with(handle, [&](Handle& object) {
    constexpr unsigned kModes = 0xf, kFlags = CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
    const auto bits = static_cast<unsigned>(mode);
    if ((bits & ~(kModes | kFlags)) != 0) return CUBLAS_STATUS_INVALID_VALUE;
    object.mathMode = mode;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasGetSmCountTarget(cublasHandle_t handle, int* target) {
  return read<int>(handle, target, [](const Handle& object) { return object.multiprocessors; });
}

cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int target) {
  return with(handle, [&](Handle& object) {
    if (target < 0) return CUBLAS_STATUS_INVALID_VALUE;
    object.multiprocessors = target;
    return CUBLAS_STATUS_SUCCESS;
  });
}

const char* cublasGetStatusName(cublasStatus_t status) { return library::statusName(status); }
const char* cublasGetStatusString(cublasStatus_t status) { return library::statusString(status); }

// There is no log of calls here: whoever asks for one is told.
cublasStatus_t cublasLoggerConfigure(int logIsOn, int, int, const char*) {
  return logIsOn == 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasSetLoggerCallback(cublasLogCallback userCallback) {
  return userCallback == nullptr ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasGetLoggerCallback(cublasLogCallback* userCallback) {
  if (userCallback == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *userCallback = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}

void cublasXerbla(const char* srName, int info) {
  std::fprintf(stderr, " ** On entry to %s parameter number %d had an illegal value\n", srName != nullptr ? srName : "?", info);
}

}  // namespace impl
}  // namespace rouse::cublas
