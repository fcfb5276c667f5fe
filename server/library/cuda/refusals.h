// What NVIDIA's libraries answer, as an error of CUDA's. A call that a library refuses leaves the context as it was, natively as here: only where its
// work has failed, or nobody knows, is the context not to be used any more (isSticky, cuda_error.h).
#pragma once

#include <cublas_api.h>
#include <cudnn.h>
#include <cufft.h>
#include <curand.h>
#include <cusparse.h>
#include <cusolver_common.h>

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

constexpr CudaError errorOf(cufftResult result) {
  switch (result) {
    case CUFFT_SUCCESS:
      return CudaError::success;
    case CUFFT_ALLOC_FAILED:
      return CudaError::memoryAllocation;
    case CUFFT_INVALID_TYPE:
    case CUFFT_INVALID_VALUE:
    case CUFFT_INVALID_SIZE:
    case CUFFT_UNALIGNED_DATA:
      return CudaError::invalidValue;
    case CUFFT_NOT_IMPLEMENTED:
    case CUFFT_NOT_SUPPORTED:
    case CUFFT_MISSING_DEPENDENCY:
    case CUFFT_NVRTC_FAILURE:
    case CUFFT_NVJITLINK_FAILURE:
      return CudaError::notSupported;
    case CUFFT_SETUP_FAILED:
      return CudaError::initializationError;
    default:  // CUFFT_EXEC_FAILED, _INTERNAL_ERROR
      return CudaError::unknown;
  }
}

constexpr CudaError errorOf(cusparseStatus_t status) {
  switch (status) {
    case CUSPARSE_STATUS_SUCCESS:
      return CudaError::success;
    case CUSPARSE_STATUS_INVALID_VALUE:
      return CudaError::invalidValue;
    case CUSPARSE_STATUS_NOT_SUPPORTED:
    case CUSPARSE_STATUS_ARCH_MISMATCH:
    case CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED:
      return CudaError::notSupported;
    case CUSPARSE_STATUS_ALLOC_FAILED:
    case CUSPARSE_STATUS_INSUFFICIENT_RESOURCES:
      return CudaError::memoryAllocation;
    case CUSPARSE_STATUS_NOT_INITIALIZED:
      return CudaError::initializationError;
    default:  // CUSPARSE_STATUS_EXECUTION_FAILED, _MAPPING_ERROR, _INTERNAL_ERROR, _ZERO_PIVOT
      return CudaError::unknown;
  }
}

// cuFFT tells none.
constexpr const char* nameOf(cufftResult result) {
  switch (result) {
    case CUFFT_SUCCESS: return "CUFFT_SUCCESS";
    case CUFFT_INVALID_PLAN: return "CUFFT_INVALID_PLAN";
    case CUFFT_ALLOC_FAILED: return "CUFFT_ALLOC_FAILED";
    case CUFFT_INVALID_TYPE: return "CUFFT_INVALID_TYPE";
    case CUFFT_INVALID_VALUE: return "CUFFT_INVALID_VALUE";
    case CUFFT_INTERNAL_ERROR: return "CUFFT_INTERNAL_ERROR";
    case CUFFT_EXEC_FAILED: return "CUFFT_EXEC_FAILED";
    case CUFFT_SETUP_FAILED: return "CUFFT_SETUP_FAILED";
    case CUFFT_INVALID_SIZE: return "CUFFT_INVALID_SIZE";
    case CUFFT_UNALIGNED_DATA: return "CUFFT_UNALIGNED_DATA";
    case CUFFT_INVALID_DEVICE: return "CUFFT_INVALID_DEVICE";
    case CUFFT_NO_WORKSPACE: return "CUFFT_NO_WORKSPACE";
    case CUFFT_NOT_IMPLEMENTED: return "CUFFT_NOT_IMPLEMENTED";
    case CUFFT_NOT_SUPPORTED: return "CUFFT_NOT_SUPPORTED";
    case CUFFT_MISSING_DEPENDENCY: return "CUFFT_MISSING_DEPENDENCY";
    case CUFFT_NVRTC_FAILURE: return "CUFFT_NVRTC_FAILURE";
    case CUFFT_NVJITLINK_FAILURE: return "CUFFT_NVJITLINK_FAILURE";
    case CUFFT_NVSHMEM_FAILURE: return "CUFFT_NVSHMEM_FAILURE";
  }
  return "an unknown result";
}

constexpr CudaError errorOf(curandStatus_t status) {
  switch (status) {
    case CURAND_STATUS_SUCCESS:
      return CudaError::success;
    case CURAND_STATUS_ALLOCATION_FAILED:
      return CudaError::memoryAllocation;
    case CURAND_STATUS_TYPE_ERROR:
    case CURAND_STATUS_OUT_OF_RANGE:
    case CURAND_STATUS_LENGTH_NOT_MULTIPLE:
      return CudaError::invalidValue;
    case CURAND_STATUS_DOUBLE_PRECISION_REQUIRED:
    case CURAND_STATUS_ARCH_MISMATCH:
      return CudaError::notSupported;
    case CURAND_STATUS_VERSION_MISMATCH:
    case CURAND_STATUS_INITIALIZATION_FAILED:
      return CudaError::initializationError;
    default:  // CURAND_STATUS_LAUNCH_FAILURE, _PREEXISTING_FAILURE, _INTERNAL_ERROR
      return CudaError::unknown;
  }
}

// Nor does cuRAND.
constexpr const char* nameOf(curandStatus_t status) {
  switch (status) {
    case CURAND_STATUS_SUCCESS: return "CURAND_STATUS_SUCCESS";
    case CURAND_STATUS_VERSION_MISMATCH: return "CURAND_STATUS_VERSION_MISMATCH";
    case CURAND_STATUS_NOT_INITIALIZED: return "CURAND_STATUS_NOT_INITIALIZED";
    case CURAND_STATUS_ALLOCATION_FAILED: return "CURAND_STATUS_ALLOCATION_FAILED";
    case CURAND_STATUS_TYPE_ERROR: return "CURAND_STATUS_TYPE_ERROR";
    case CURAND_STATUS_OUT_OF_RANGE: return "CURAND_STATUS_OUT_OF_RANGE";
    case CURAND_STATUS_LENGTH_NOT_MULTIPLE: return "CURAND_STATUS_LENGTH_NOT_MULTIPLE";
    case CURAND_STATUS_DOUBLE_PRECISION_REQUIRED: return "CURAND_STATUS_DOUBLE_PRECISION_REQUIRED";
    case CURAND_STATUS_LAUNCH_FAILURE: return "CURAND_STATUS_LAUNCH_FAILURE";
    case CURAND_STATUS_PREEXISTING_FAILURE: return "CURAND_STATUS_PREEXISTING_FAILURE";
    case CURAND_STATUS_INITIALIZATION_FAILED: return "CURAND_STATUS_INITIALIZATION_FAILED";
    case CURAND_STATUS_ARCH_MISMATCH: return "CURAND_STATUS_ARCH_MISMATCH";
    case CURAND_STATUS_INTERNAL_ERROR: return "CURAND_STATUS_INTERNAL_ERROR";
  }
  return "an unknown status";
}

constexpr CudaError errorOf(cusolverStatus_t status) {
  switch (status) {
    case CUSOLVER_STATUS_SUCCESS:
      return CudaError::success;
    case CUSOLVER_STATUS_ALLOC_FAILED:
      return CudaError::memoryAllocation;
    case CUSOLVER_STATUS_INVALID_VALUE:
    case CUSOLVER_STATUS_INVALID_WORKSPACE:
      return CudaError::invalidValue;
    case CUSOLVER_STATUS_ARCH_MISMATCH:
    case CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED:
    case CUSOLVER_STATUS_NOT_SUPPORTED:
    case CUSOLVER_STATUS_INVALID_LICENSE:
      return CudaError::notSupported;
    case CUSOLVER_STATUS_NOT_INITIALIZED:
      return CudaError::initializationError;
    default:  // CUSOLVER_STATUS_EXECUTION_FAILED, _MAPPING_ERROR, _INTERNAL_ERROR
      return CudaError::unknown;
  }
}

// cuSOLVER tells none, either.
constexpr const char* nameOf(cusolverStatus_t status) {
  switch (status) {
    case CUSOLVER_STATUS_SUCCESS: return "CUSOLVER_STATUS_SUCCESS";
    case CUSOLVER_STATUS_NOT_INITIALIZED: return "CUSOLVER_STATUS_NOT_INITIALIZED";
    case CUSOLVER_STATUS_ALLOC_FAILED: return "CUSOLVER_STATUS_ALLOC_FAILED";
    case CUSOLVER_STATUS_INVALID_VALUE: return "CUSOLVER_STATUS_INVALID_VALUE";
    case CUSOLVER_STATUS_ARCH_MISMATCH: return "CUSOLVER_STATUS_ARCH_MISMATCH";
    case CUSOLVER_STATUS_MAPPING_ERROR: return "CUSOLVER_STATUS_MAPPING_ERROR";
    case CUSOLVER_STATUS_EXECUTION_FAILED: return "CUSOLVER_STATUS_EXECUTION_FAILED";
    case CUSOLVER_STATUS_INTERNAL_ERROR: return "CUSOLVER_STATUS_INTERNAL_ERROR";
    case CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED: return "CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED";
    case CUSOLVER_STATUS_NOT_SUPPORTED: return "CUSOLVER_STATUS_NOT_SUPPORTED";
    case CUSOLVER_STATUS_ZERO_PIVOT: return "CUSOLVER_STATUS_ZERO_PIVOT";
    case CUSOLVER_STATUS_INVALID_LICENSE: return "CUSOLVER_STATUS_INVALID_LICENSE";
    case CUSOLVER_STATUS_INVALID_WORKSPACE: return "CUSOLVER_STATUS_INVALID_WORKSPACE";
    default: return "an unknown status";
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
