// cuSPARSE: handles, versions, statuses in words. All local.
#include "client-shim/cusparse/call.h"
#include "client-shim/cusparse/implementations.h"

namespace rouse::cusparse {
namespace {

struct StatusText {
  const char* name;
  const char* text;
};
StatusText textOf(cusparseStatus_t status) {
  switch (status) {
    case CUSPARSE_STATUS_SUCCESS: return {"CUSPARSE_STATUS_SUCCESS", "success"};
    case CUSPARSE_STATUS_NOT_INITIALIZED: return {"CUSPARSE_STATUS_NOT_INITIALIZED", "initialization error"};
    case CUSPARSE_STATUS_ALLOC_FAILED: return {"CUSPARSE_STATUS_ALLOC_FAILED", "out of memory"};
    case CUSPARSE_STATUS_INVALID_VALUE: return {"CUSPARSE_STATUS_INVALID_VALUE", "invalid value"};
    case CUSPARSE_STATUS_ARCH_MISMATCH: return {"CUSPARSE_STATUS_ARCH_MISMATCH", "architecture mismatch"};
    case CUSPARSE_STATUS_MAPPING_ERROR: return {"CUSPARSE_STATUS_MAPPING_ERROR", "mapping error"};
    case CUSPARSE_STATUS_EXECUTION_FAILED: return {"CUSPARSE_STATUS_EXECUTION_FAILED", "kernel launch failure"};
    case CUSPARSE_STATUS_INTERNAL_ERROR: return {"CUSPARSE_STATUS_INTERNAL_ERROR", "internal error"};
    case CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED: return {"CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED", "matrix type not supported"};
    case CUSPARSE_STATUS_ZERO_PIVOT: return {"CUSPARSE_STATUS_ZERO_PIVOT", "zero pivot"};
    case CUSPARSE_STATUS_NOT_SUPPORTED: return {"CUSPARSE_STATUS_NOT_SUPPORTED", "operation not supported"};
    case CUSPARSE_STATUS_INSUFFICIENT_RESOURCES: return {"CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", "insufficient resources"};
  }
  return {"unrecognized error code", "unrecognized error code"};
}

}  // namespace

namespace impl {

cusparseStatus_t cusparseCreate(cusparseHandle_t* handle) {
  return guarded([&] {
    if (handle == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    const client::LibraryHost* const host = client::libraryHost();
    std::uint32_t device = 0;
    if (host == nullptr || host->attach(&device) != CudaError::success) return CUSPARSE_STATUS_NOT_INITIALIZED;
    Handle* const made = take<Handle>(Kind::handle);
    made->device = device;
    made->stream = 0;
    made->scalarsInMemory = false;
    *handle = reinterpret_cast<cusparseHandle_t>(made);
    return CUSPARSE_STATUS_SUCCESS;
  });
}

// Queued calls carry all they need: nothing is waited for.
cusparseStatus_t cusparseDestroy(cusparseHandle_t handle) {
  return with(handle, [](Handle& found) {
    give(&found);
    return CUSPARSE_STATUS_SUCCESS;
  });
}

cusparseStatus_t cusparseGetVersion(cusparseHandle_t handle, int* version) {
  return with(handle, [&](Handle&) {
    if (version == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    *version = CUSPARSE_VERSION;
    return CUSPARSE_STATUS_SUCCESS;
  });
}

cusparseStatus_t cusparseGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  switch (type) {
    case MAJOR_VERSION:
      *value = CUSPARSE_VER_MAJOR;
      return CUSPARSE_STATUS_SUCCESS;
    case MINOR_VERSION:
      *value = CUSPARSE_VER_MINOR;
      return CUSPARSE_STATUS_SUCCESS;
    case PATCH_LEVEL:
      *value = CUSPARSE_VER_PATCH;
      return CUSPARSE_STATUS_SUCCESS;
  }
  return CUSPARSE_STATUS_INVALID_VALUE;
}

const char* cusparseGetErrorName(cusparseStatus_t status) { return textOf(status).name; }
const char* cusparseGetErrorString(cusparseStatus_t status) { return textOf(status).text; }

// Whether there is such a stream on the handle's device is known when it is used.
cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t streamId) {
  return with(handle, [&](Handle& found) {
    found.stream = addressOf(streamId);
    return CUSPARSE_STATUS_SUCCESS;
  });
}
cusparseStatus_t cusparseGetStream(cusparseHandle_t handle, cudaStream_t* streamId) {
  return with(handle, [&](Handle& found) {
    if (streamId == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    *streamId = reinterpret_cast<cudaStream_t>(found.stream);
    return CUSPARSE_STATUS_SUCCESS;
  });
}

cusparseStatus_t cusparseGetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t* mode) {
  return with(handle, [&](Handle& found) {
    if (mode == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    *mode = found.scalarsInMemory ? CUSPARSE_POINTER_MODE_DEVICE : CUSPARSE_POINTER_MODE_HOST;
    return CUSPARSE_STATUS_SUCCESS;
  });
}
cusparseStatus_t cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode) {
  return with(handle, [&](Handle& found) {
    if (mode != CUSPARSE_POINTER_MODE_HOST && mode != CUSPARSE_POINTER_MODE_DEVICE) return CUSPARSE_STATUS_INVALID_VALUE;
    found.scalarsInMemory = mode == CUSPARSE_POINTER_MODE_DEVICE;
    return CUSPARSE_STATUS_SUCCESS;
  });
}

// There is no log of calls here: whoever asks for one is told.
cusparseStatus_t cusparseLoggerSetCallback(cusparseLoggerCallback_t callback) {
  return callback == nullptr ? CUSPARSE_STATUS_SUCCESS : refuse("cusparseLoggerSetCallback", "there is no log of calls");
}
cusparseStatus_t cusparseLoggerSetFile(FILE* file) {
  return file == nullptr ? CUSPARSE_STATUS_SUCCESS : refuse("cusparseLoggerSetFile", "there is no log of calls");
}
cusparseStatus_t cusparseLoggerOpenFile(const char* logFile) {
  return logFile == nullptr ? CUSPARSE_STATUS_INVALID_VALUE : refuse("cusparseLoggerOpenFile", "there is no log of calls");
}
cusparseStatus_t cusparseLoggerSetLevel(int level) { return level == 0 ? CUSPARSE_STATUS_SUCCESS : refuse("cusparseLoggerSetLevel", "there is no log of calls"); }
cusparseStatus_t cusparseLoggerSetMask(int mask) { return mask == 0 ? CUSPARSE_STATUS_SUCCESS : refuse("cusparseLoggerSetMask", "there is no log of calls"); }
cusparseStatus_t cusparseLoggerForceDisable() { return CUSPARSE_STATUS_SUCCESS; }

}  // namespace impl
}  // namespace rouse::cusparse
