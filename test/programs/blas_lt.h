// What the programs that use cuBLASLt's products share. Needs -lcublas -lcublasLt.
#pragma once

#include <cublasLt.h>

#include "blas.h"

namespace blas {

struct Desc {
  cublasLtMatmulDesc_t desc;
  Desc(cublasComputeType_t compute, cudaDataType scale) { BLAS(cublasLtMatmulDescCreate(&desc, compute, scale)); }
  ~Desc() { BLAS(cublasLtMatmulDescDestroy(desc)); }
  template <class T>
  void set(cublasLtMatmulDescAttributes_t which, T value) { BLAS(cublasLtMatmulDescSetAttribute(desc, which, &value, sizeof value)); }
};

struct Layout {
  cublasLtMatrixLayout_t layout;
  Layout(cudaDataType type, int rows, int columns, int ld) { BLAS(cublasLtMatrixLayoutCreate(&layout, type, rows, columns, ld)); }
  ~Layout() { BLAS(cublasLtMatrixLayoutDestroy(layout)); }
  template <class T>
  void set(cublasLtMatrixLayoutAttribute_t which, T value) { BLAS(cublasLtMatrixLayoutSetAttribute(layout, which, &value, sizeof value)); }
  void batch(int count, std::int64_t stride) {
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t(count));
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  }
  void byRows() { set(CUBLASLT_MATRIX_LAYOUT_ORDER, std::int32_t(CUBLASLT_ORDER_ROW)); }
};

inline double gelu(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

}  // namespace blas
