// cuDNN: handles, versions, statuses in words. All local.
#include <cuda_runtime_api.h>

#include "client-shim/cudnn/errors.h"
#include "client-shim/cudnn/handle.h"
#include "client-shim/cudnn/implementations.h"
#include "client-shim/library/host.h"
#include "client-shim/library/object_pool.h"

namespace rouse::cudnn {
namespace {

library::ObjectPool<Handle>& objects() { return library::ObjectPool<Handle>::get(); }

const char* statusName(cudnnStatus_t status) {
#define ROUSE_STATUS(name) \
  case name:               \
    return #name;
  switch (status) {
    ROUSE_STATUS(CUDNN_STATUS_SUCCESS)
    ROUSE_STATUS(CUDNN_STATUS_NOT_INITIALIZED)
    ROUSE_STATUS(CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH)
    ROUSE_STATUS(CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH)
    ROUSE_STATUS(CUDNN_STATUS_DEPRECATED)
    ROUSE_STATUS(CUDNN_STATUS_LICENSE_ERROR)
    ROUSE_STATUS(CUDNN_STATUS_RUNTIME_IN_PROGRESS)
    ROUSE_STATUS(CUDNN_STATUS_RUNTIME_FP_OVERFLOW)
    ROUSE_STATUS(CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED)
    ROUSE_STATUS(CUDNN_STATUS_BAD_PARAM)
    ROUSE_STATUS(CUDNN_STATUS_INVALID_VALUE)
    ROUSE_STATUS(CUDNN_STATUS_BAD_PARAM_NULL_POINTER)
    ROUSE_STATUS(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER)
    ROUSE_STATUS(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED)
    ROUSE_STATUS(CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND)
    ROUSE_STATUS(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT)
    ROUSE_STATUS(CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH)
    ROUSE_STATUS(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH)
    ROUSE_STATUS(CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES)
    ROUSE_STATUS(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE)
    ROUSE_STATUS(CUDNN_STATUS_BAD_PARAM_CUDA_GRAPH_MISMATCH)
    ROUSE_STATUS(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE)
    ROUSE_STATUS(CUDNN_STATUS_NOT_SUPPORTED)
    ROUSE_STATUS(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN)
    ROUSE_STATUS(CUDNN_STATUS_NOT_SUPPORTED_SHAPE)
    ROUSE_STATUS(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE)
    ROUSE_STATUS(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT)
    ROUSE_STATUS(CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER)
    ROUSE_STATUS(CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART)
    ROUSE_STATUS(CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH)
    ROUSE_STATUS(CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING)
    ROUSE_STATUS(CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE)
    ROUSE_STATUS(CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT)
    ROUSE_STATUS(CUDNN_STATUS_NOT_SUPPORTED_PADDING)
    ROUSE_STATUS(CUDNN_STATUS_NOT_SUPPORTED_BAD_LAUNCH_PARAM)
    ROUSE_STATUS(CUDNN_STATUS_NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API)
    ROUSE_STATUS(CUDNN_STATUS_INTERNAL_ERROR)
    ROUSE_STATUS(CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED)
    ROUSE_STATUS(CUDNN_STATUS_INTERNAL_ERROR_UNEXPECTED_VALUE)
    ROUSE_STATUS(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED)
    ROUSE_STATUS(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)
    ROUSE_STATUS(CUDNN_STATUS_INTERNAL_ERROR_BAD_LAUNCH_PARAM)
    ROUSE_STATUS(CUDNN_STATUS_INTERNAL_ERROR_TEXTURE_CREATION_FAILED)
    ROUSE_STATUS(CUDNN_STATUS_EXECUTION_FAILED)
    ROUSE_STATUS(CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER)
    ROUSE_STATUS(CUDNN_STATUS_EXECUTION_FAILED_CUBLAS)
    ROUSE_STATUS(CUDNN_STATUS_EXECUTION_FAILED_CUDART)
    ROUSE_STATUS(CUDNN_STATUS_EXECUTION_FAILED_CURAND)
    default:
      return "CUDNN_UNKNOWN_STATUS";
  }
#undef ROUSE_STATUS
}

}  // namespace

Handle* findHandle(cudnnHandle_t handle) {
  const client::LibraryHost* host = handle != nullptr ? client::libraryHost() : nullptr;
  if (host == nullptr) return nullptr;
  return static_cast<Handle*>(host->findHandle(reinterpret_cast<std::uint64_t>(handle), kindBit(client::HandleKind::dnn)));
}

namespace impl {

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  return guarded([&] {
    if (handle == nullptr) return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnCreate: handle is null");
    const client::LibraryHost* host = client::libraryHost();
    std::uint32_t device = 0;
    if (host == nullptr || host->attach(&device) != CudaError::success)
      return fail(CUDNN_STATUS_NOT_INITIALIZED, "cudnnCreate: the process is not attached to the pool");
    Handle* object = objects().take();
    object->device = device;
    object->stream = 0;
    const std::uint64_t number = host->makeHandle(client::HandleKind::dnn, object);
    if (number == 0) {
      objects().give(object);
      return fail(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "cudnnCreate: too many handles");
    }
    *handle = reinterpret_cast<cudnnHandle_t>(number);
    return CUDNN_STATUS_SUCCESS;
  });
}

// Queued calls carry all they need: nothing is waited for.
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  return guarded([&] {
    const client::LibraryHost* host = client::libraryHost();
    if (host == nullptr) return CUDNN_STATUS_NOT_INITIALIZED;
    auto* object = static_cast<Handle*>(host->dropHandle(reinterpret_cast<std::uint64_t>(handle), client::HandleKind::dnn));
    if (object == nullptr) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnDestroy: not a handle");
    objects().give(object);
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t streamId) {
  Handle* object = findHandle(handle);
  if (object == nullptr) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnSetStream: not a handle");
  object->stream = reinterpret_cast<std::uint64_t>(streamId);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* streamId) {
  const Handle* object = findHandle(handle);
  if (object == nullptr) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetStream: not a handle");
  if (streamId == nullptr) return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnGetStream: streamId is null");
  *streamId = reinterpret_cast<cudaStream_t>(object->stream);
  return CUDNN_STATUS_SUCCESS;
}

// By its version front ends choose what they ask of a library (cudnn-frontend makes attention one operation from 9.13 on), and so which of its engines computes it: it is
// that of the library which does the work.
size_t cudnnGetVersion() {
  const client::LibraryHost* host = client::libraryHost();
  std::uint32_t device = 0;
  if (host == nullptr || host->attach(&device) != CudaError::success) return CUDNN_VERSION;
  const std::uint32_t version = host->dnnVersion(device);
  return version != 0 ? version : CUDNN_VERSION;
}
size_t cudnnGetMaxDeviceVersion() { return CUDNN_MAX_DEVICE_VERSION; }
size_t cudnnGetCudartVersion() { return CUDART_VERSION; }

cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnGetProperty: value is null");
  switch (type) {
    case MAJOR_VERSION:
      *value = static_cast<int>(cudnnGetVersion() / 10000);
      return CUDNN_STATUS_SUCCESS;
    case MINOR_VERSION:
      *value = static_cast<int>(cudnnGetVersion() / 100 % 100);
      return CUDNN_STATUS_SUCCESS;
    case PATCH_LEVEL:
      *value = static_cast<int>(cudnnGetVersion() % 100);
      return CUDNN_STATUS_SUCCESS;
  }
  return fail(CUDNN_STATUS_INVALID_VALUE, "cudnnGetProperty: no such property");
}

const char* cudnnGetErrorString(cudnnStatus_t status) { return statusName(status); }
void cudnnGetLastErrorString(char* message, size_t max_size) { takeLastError(message, max_size); }

// There is no log of calls here: whoever asks for one is told.
cudnnStatus_t cudnnSetCallback(unsigned mask, void*, cudnnCallback_t fptr) {
  return mask == 0 || fptr == nullptr ? CUDNN_STATUS_SUCCESS : refuse("cudnnSetCallback", "there is no log of calls");
}
cudnnStatus_t cudnnGetCallback(unsigned* mask, void** udata, cudnnCallback_t* fptr) {
  if (mask != nullptr) *mask = 0;
  if (udata != nullptr) *udata = nullptr;
  if (fptr != nullptr) *fptr = nullptr;
  return CUDNN_STATUS_SUCCESS;
}

// The parts are one library here.
cudnnStatus_t cudnnGraphVersionCheck() { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnOpsVersionCheck() { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnCnnVersionCheck() { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnAdvVersionCheck() { return CUDNN_STATUS_SUCCESS; }

}  // namespace impl
}  // namespace rouse::cudnn
