#include "client-shim/cudnn/errors.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "client-shim/library/refuse.h"

namespace rouse::cudnn {
namespace {

thread_local char lastError[256];

}  // namespace

cudnnStatus_t fail(cudnnStatus_t status, const char* text) noexcept {
  std::snprintf(lastError, sizeof lastError, "%s", text);
  return status;
}

cudnnStatus_t refuse(const char* function, const char* why) noexcept {
  library::refuse(function, why);
  std::snprintf(lastError, sizeof lastError, "%s: %s", function, why);
  return CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t toStatus(CudaError error) noexcept {
  switch (error) {
    case CudaError::success:
      return CUDNN_STATUS_SUCCESS;
    case CudaError::memoryAllocation:
      return fail(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no memory");
    case CudaError::invalidResourceHandle:
      return fail(CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH, "the handle's stream is gone, or another device's");
    default:
      return fail(CUDNN_STATUS_EXECUTION_FAILED, "the call could not be queued: the runtime's last error says why");
  }
}

void takeLastError(char* message, std::size_t bytes) noexcept {
  if (message == nullptr || bytes == 0) return;
  const std::size_t length = std::min(std::strlen(lastError), bytes - 1);
  std::memcpy(message, lastError, length);
  message[length] = 0;
  lastError[0] = 0;
}

}  // namespace rouse::cudnn
