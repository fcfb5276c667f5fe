// cuBLAS, "Using the cuBLAS Legacy API": what is no function of today's. One handle and one last error a process; that interface says of itself that it is for one thread.
#include "client-shim/cublas/classic.h"

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <mutex>

#include "client-shim/cublas/implementations_classic.h"

namespace rouse::cublas {
namespace {

constexpr int kNoLetter = 99;  // of no enumeration of cuBLAS's

struct Classic {
  std::mutex mutex;  // of making and ending the handle
  std::atomic<cublasHandle_t> handle{nullptr};
  std::atomic<cublasStatus_t> error{CUBLAS_STATUS_SUCCESS};
};

// Destructors of the program's may still call.
Classic& classic() {
  static Classic* const all = new Classic;
  return *all;
}

char upper(char letter) { return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter; }

}  // namespace

cublasHandle_t classicHandle() noexcept { return classic().handle; }

void note(cublasStatus_t status) noexcept {
  if (status != CUBLAS_STATUS_SUCCESS) classic().error = status;
}

cublasOperation_t operationOf(char letter) noexcept {
  switch (upper(letter)) {
    case 'N': return CUBLAS_OP_N;
    case 'T': return CUBLAS_OP_T;
    case 'C': return CUBLAS_OP_C;
    default: return static_cast<cublasOperation_t>(kNoLetter);
  }
}

cublasFillMode_t triangleOf(char letter) noexcept {
  switch (upper(letter)) {
    case 'L': return CUBLAS_FILL_MODE_LOWER;
    case 'U': return CUBLAS_FILL_MODE_UPPER;
    default: return static_cast<cublasFillMode_t>(kNoLetter);
  }
}

cublasDiagType_t diagonalOf(char letter) noexcept {
  switch (upper(letter)) {
    case 'N': return CUBLAS_DIAG_NON_UNIT;
    case 'U': return CUBLAS_DIAG_UNIT;
    default: return static_cast<cublasDiagType_t>(kNoLetter);
  }
}

cublasSideMode_t sideOf(char letter) noexcept {
  switch (upper(letter)) {
    case 'L': return CUBLAS_SIDE_LEFT;
    case 'R': return CUBLAS_SIDE_RIGHT;
    default: return static_cast<cublasSideMode_t>(kNoLetter);
  }
}

namespace impl {

cublasStatus_t cublasInit() {
  Classic& all = classic();
  const std::lock_guard lock(all.mutex);
  if (all.handle != nullptr) return CUBLAS_STATUS_SUCCESS;
  cublasHandle_t made = nullptr;
  const cublasStatus_t status = ::cublasCreate_v2(&made);
  if (status == CUBLAS_STATUS_SUCCESS) all.handle = made;
  return status;
}

cublasStatus_t cublasShutdown() {
  Classic& all = classic();
  const std::lock_guard lock(all.mutex);
  const cublasHandle_t ended = all.handle.exchange(nullptr);
  return ended != nullptr ? ::cublasDestroy_v2(ended) : CUBLAS_STATUS_NOT_INITIALIZED;
}

// "Reading the error status ... resets the internal error state to CUBLAS_STATUS_SUCCESS."
cublasStatus_t cublasGetError() { return classic().error.exchange(CUBLAS_STATUS_SUCCESS); }

cublasStatus_t cublasGetVersion(int* version) { return ::cublasGetVersion_v2(classicHandle(), version); }

cublasStatus_t cublasAlloc(int n, int elemSize, void** devicePtr) {
  if (classicHandle() == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (n <= 0 || elemSize <= 0 || devicePtr == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  return ::cudaMalloc(devicePtr, static_cast<std::size_t>(n) * static_cast<std::size_t>(elemSize)) == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasFree(void* devicePtr) {
  if (classicHandle() == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  return ::cudaFree(devicePtr) == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INTERNAL_ERROR;
}

cublasStatus_t cublasSetKernelStream(cudaStream_t stream) { return ::cublasSetStream_v2(classicHandle(), stream); }

}  // namespace impl
}  // namespace rouse::cublas
