// What NVIDIA's libraries answer, as an error of CUDA's. A call that a library refuses leaves the context as it was, natively as here: only where its
// work has failed, or nobody knows, is the context not to be used any more (isSticky, cuda_error.h).
#pragma once

#include <cublas_api.h>
#include <cudnn.h>

#include <algorithm>
#include <string>

#include "schemas/base/cuda_error.h"

namespace rouse::library::cuda {

constexpr CudaError errorOf(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return CudaError::success;
    case CUBLAS_STATUS_INVALID_VALUE:
      return CudaError::invalidValue;
    case CUBLAS_STATUS_NOT_SUPPORTED:
    case CUBLAS_STATUS_ARCH_MISMATCH:
    case CUBLAS_STATUS_LICENSE_ERROR:
      return CudaError::notSupported;
    case CUBLAS_STATUS_ALLOC_FAILED:
      return CudaError::memoryAllocation;
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return CudaError::initializationError;
    default:  // CUBLAS_STATUS_EXECUTION_FAILED, _MAPPING_ERROR, _INTERNAL_ERROR
      return CudaError::unknown;
  }
}

constexpr CudaError errorOf(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS:
      return CudaError::success;
    case CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED:
    case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
      return CudaError::memoryAllocation;
    case CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED:
    case CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH:
    case CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED:
      return CudaError::notSupported;
    default:
      break;
  }
  switch (CUDNN_STATUS_CATEGORY(status)) {
    case CUDNN_STATUS_BAD_PARAM:
      return CudaError::invalidValue;
    case CUDNN_STATUS_NOT_SUPPORTED:
      return CudaError::notSupported;
    default:
      return CudaError::unknown;
  }
}

// What cuDNN says of its last refusal on this thread, on one line and after a colon; empty: nothing.
template <class Api>
std::string lastError(const Api& api) {
  char text[512] = "";
  api.cudnnGetLastErrorString(text, sizeof text);
  text[sizeof text - 1] = 0;
  // It has a line for each function that it came through.
  std::ranges::replace_if(text, [](char each) { return each > 0 && each < ' '; }, ' ');
  return text[0] != 0 ? std::string(": ") + text : std::string();
}

}  // namespace rouse::library::cuda
