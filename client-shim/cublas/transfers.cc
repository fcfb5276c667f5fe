// cuBLAS, "Helper Functions": vectors and matrices from the program's memory to the device's and back: the runtime's copies.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "client-shim/cublas/implementations.h"

namespace rouse::cublas::impl {
namespace {

struct Box {
  const void* from;
  std::int64_t fromPitch;  // in elements
  void* to;
  std::int64_t toPitch;
  std::int64_t width, height;  // elements in a row; rows
  std::int64_t elementBytes;
};

cublasStatus_t move(const Box& box, cudaMemcpyKind kind, const cudaStream_t* stream) {
  const auto bytes = [&](std::int64_t elements, std::size_t* product) {
    return !__builtin_mul_overflow(static_cast<std::size_t>(elements), static_cast<std::size_t>(box.elementBytes), product);
  };
  std::size_t fromPitch, toPitch, width;
  if (!bytes(box.fromPitch, &fromPitch) || !bytes(box.toPitch, &toPitch) || !bytes(box.width, &width)) return CUBLAS_STATUS_INVALID_VALUE;
  if (box.from == nullptr || box.to == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const auto height = static_cast<std::size_t>(box.height);
  const cudaError_t error = stream != nullptr ? cudaMemcpy2DAsync(box.to, toPitch, box.from, fromPitch, width, height, kind, *stream)
                                              : cudaMemcpy2D(box.to, toPitch, box.from, fromPitch, width, height, kind);
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

cublasStatus_t vector(std::int64_t n, std::int64_t elemSize, const void* x, std::int64_t incx, void* y, std::int64_t incy,
                      cudaMemcpyKind kind, const cudaStream_t* stream = nullptr) {
  if (incx <= 0 || incy <= 0 || elemSize <= 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (n <= 0) return CUBLAS_STATUS_SUCCESS;
  if (incx == 1 && incy == 1) return move({x, n, y, n, n, 1, elemSize}, kind, stream);
  return move({x, incx, y, incy, 1, n, elemSize}, kind, stream);
}

cublasStatus_t matrix(std::int64_t rows, std::int64_t cols, std::int64_t elemSize, const void* A, std::int64_t lda, void* B,
                      std::int64_t ldb, cudaMemcpyKind kind, const cudaStream_t* stream = nullptr) {
  if (rows < 0 || cols < 0 || elemSize <= 0 || lda <= 0 || ldb <= 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (rows == 0 || cols == 0) return CUBLAS_STATUS_SUCCESS;
  // As NVIDIA's: a copy of rows that overlap, which its own runtime refuses without the program's hearing of it.
  if (lda < rows || ldb < rows) return CUBLAS_STATUS_MAPPING_ERROR;
  return move({A, lda, B, ldb, rows, cols, elemSize}, kind, stream);
}

}  // namespace

#define ROUSE_TRANSFERS(suffix, number)                                                                                                 \
  cublasStatus_t cublasSetVector##suffix(number n, number elemSize, const void* x, number incx, void* y, number incy) {                 \
    return vector(n, elemSize, x, incx, y, incy, cudaMemcpyHostToDevice);                                                               \
  }                                                                                                                                     \
  cublasStatus_t cublasGetVector##suffix(number n, number elemSize, const void* x, number incx, void* y, number incy) {                 \
    return vector(n, elemSize, x, incx, y, incy, cudaMemcpyDeviceToHost);                                                               \
  }                                                                                                                                     \
  cublasStatus_t cublasSetMatrix##suffix(number rows, number cols, number elemSize, const void* A, number lda, void* B, number ldb) {   \
    return matrix(rows, cols, elemSize, A, lda, B, ldb, cudaMemcpyHostToDevice);                                                        \
  }                                                                                                                                     \
  cublasStatus_t cublasGetMatrix##suffix(number rows, number cols, number elemSize, const void* A, number lda, void* B, number ldb) {   \
    return matrix(rows, cols, elemSize, A, lda, B, ldb, cudaMemcpyDeviceToHost);                                                        \
  }                                                                                                                                     \
  cublasStatus_t cublasSetVectorAsync##suffix(number n, number elemSize, const void* x, number incx, void* y, number incy,              \
                                              cudaStream_t stream) {                                                                    \
    return vector(n, elemSize, x, incx, y, incy, cudaMemcpyHostToDevice, &stream);                                                      \
  }                                                                                                                                     \
  cublasStatus_t cublasGetVectorAsync##suffix(number n, number elemSize, const void* x, number incx, void* y, number incy,              \
                                              cudaStream_t stream) {                                                                    \
    return vector(n, elemSize, x, incx, y, incy, cudaMemcpyDeviceToHost, &stream);                                                      \
  }                                                                                                                                     \
  cublasStatus_t cublasSetMatrixAsync##suffix(number rows, number cols, number elemSize, const void* A, number lda, void* B,            \
                                              number ldb, cudaStream_t stream) {                                                        \
    return matrix(rows, cols, elemSize, A, lda, B, ldb, cudaMemcpyHostToDevice, &stream);                                               \
  }                                                                                                                                     \
  cublasStatus_t cublasGetMatrixAsync##suffix(number rows, number cols, number elemSize, const void* A, number lda, void* B,            \
                                              number ldb, cudaStream_t stream) {                                                        \
    return matrix(rows, cols, elemSize, A, lda, B, ldb, cudaMemcpyDeviceToHost, &stream);                                               \
  }
ROUSE_TRANSFERS(, int)
ROUSE_TRANSFERS(_64, std::int64_t)
#undef ROUSE_TRANSFERS

}  // namespace rouse::cublas::impl
