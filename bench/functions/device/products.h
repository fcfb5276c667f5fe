// Products of row-major matrices through cuBLAS, which takes them for transposed ones: floats by cublasSgemm..., halves by cublasGemm...Ex
// with sums in 32 bits.
#pragma once

#include "bench/functions/device/memory.h"

namespace networks {

// One matrix of a batch: where it begins, elements from one row to the next, and from one matrix to the next.
template <class T>
struct Matrices {
  T* data;
  int row;
  long long next = 0;
};

enum class Second { asIs, transposed };

// c (rows x columns) = scale x a (rows x inner) x b (inner x columns, or columns x inner where it is transposed), `batch` times.
template <class T>
void multiply(const Context& context, Matrices<T> c, Matrices<const T> a, Matrices<const T> b, Second second, int rows, int columns, int inner, float scale = 1, int batch = 1) {
  const float zero = 0;
  const cublasOperation_t turned = second == Second::transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  if constexpr (std::is_same_v<T, float>) {
    if (batch == 1)
      CHECK(cublasSgemm(context.blas, turned, CUBLAS_OP_N, columns, rows, inner, &scale, b.data, b.row, a.data, a.row, &zero, c.data, c.row));
    else
      CHECK(cublasSgemmStridedBatched(context.blas, turned, CUBLAS_OP_N, columns, rows, inner, &scale, b.data, b.row, b.next, a.data, a.row, a.next, &zero, c.data, c.row, c.next, batch));
  } else {
    if (batch == 1)
      CHECK(cublasGemmEx(context.blas, turned, CUBLAS_OP_N, columns, rows, inner, &scale, b.data, CUDA_R_16F, b.row, a.data, CUDA_R_16F, a.row, &zero, c.data, CUDA_R_16F, c.row,
                         CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    else
      CHECK(cublasGemmStridedBatchedEx(context.blas, turned, CUBLAS_OP_N, columns, rows, inner, &scale, b.data, CUDA_R_16F, b.row, b.next, a.data, CUDA_R_16F, a.row, a.next, &zero,
                                       c.data, CUDA_R_16F, c.row, c.next, batch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }
}

// y (rows x out) = x (rows x in) x w, which is out x in as PyTorch's layers have it.
template <class T>
void linear(const Context& context, T* y, const T* x, const T* w, int rows, int out, int in) {
  multiply<T>(context, {y, out}, {x, in}, {w, in}, Second::transposed, rows, out, in);
}

}  // namespace networks
