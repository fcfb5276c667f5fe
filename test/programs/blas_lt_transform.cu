// nvcc: -lcublas -lcublasLt
// library: libcublasLt.so.13
// cuBLASLt's matrix transforms: from columns to rows and back, transposed, scaled, added up, from one type to another, one matrix or two, in batches; against plain loops in
// double.
#include "blas_lt.h"

using namespace blas;

template <class T>
struct Placed {
  int rows, columns, ld, batch;
  bool byRows;
  std::int64_t stride;
  std::vector<T> host;
  T* device;
  cublasLtMatrixLayout_t layout;

  Placed(check::Random& r, int rows, int columns, bool byRows, int gap, int batch) : rows(rows), columns(columns), ld((byRows ? columns : rows) + gap), batch(batch), byRows(byRows) {
    stride = std::int64_t(ld) * (byRows ? rows : columns) + 3;
    host = spoiled<T>(std::size_t(stride) * batch);
    for (int e = 0; e < batch; ++e)
      for (int j = 0; j < columns; ++j)
        for (int i = 0; i < rows; ++i) host[place(e, i, j)] = random<T>(r);
    device = check::toDevice(host);
    BLAS(cublasLtMatrixLayoutCreate(&layout, kType<T>, rows, columns, ld));
    const std::int32_t order = byRows ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL, count = batch;
    BLAS(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order));
    BLAS(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
    BLAS(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride));
  }
  ~Placed() {
    BLAS(cublasLtMatrixLayoutDestroy(layout));
    CHECK(cudaFree(device));
  }
  Placed(const Placed&) = delete;
  std::size_t place(int e, int i, int j) const { return std::size_t(e * stride + (byRows ? std::int64_t(i) * ld + j : i + std::int64_t(j) * ld)); }
  Z op(bool turned, int e, int i, int j) const { return wide(host[turned ? place(e, j, i) : place(e, i, j)]); }
  template <class Wanted>
  void compare(const char* name, Wanted&& wanted, double scale) const {
    const std::vector<T> got = check::toHost(device, host.size());
    std::vector<bool> ours(host.size());
    for (int e = 0; e < batch; ++e)
      for (int j = 0; j < columns; ++j)
        for (int i = 0; i < rows; ++i) {
          ours[place(e, i, j)] = true;
          const Z w = wanted(e, i, j), g = wide(got[place(e, i, j)]);
          if (std::abs(g - w) <= 2 * kEpsilon<T> * scale) continue;
          std::printf("%s: matrix %d (%d, %d) is %g + %gi, should be %g + %gi\n", name, e, i, j, g.real(), g.imag(), w.real(), w.imag());
          ++check::failures;
          return;
        }
    for (std::size_t i = 0; i < host.size(); ++i)
      if (!ours[i] && std::memcmp(&got[i], &host[i], sizeof(T)) != 0) {
        std::printf("%s: written between the elements, at %zu\n", name, i);
        ++check::failures;
        return;
      }
  }
};

template <class From, class To, class Scale>
void transform(cublasLtHandle_t handle, int rows, int columns, int batch) {
  check::Random r(97);
  for (int mode = 0; mode < 16; ++mode) {
    const bool aRows = mode & 1, cRows = mode & 2, turned = mode & 4, two = mode & 8;
    Placed<From> a(r, turned ? columns : rows, turned ? rows : columns, aRows, 2, batch);
    Placed<From> b(r, rows, columns, !aRows, 1, batch);
    Placed<To> c(r, rows, columns, cRows, 3, batch);
    cublasLtMatrixTransformDesc_t desc;
    BLAS(cublasLtMatrixTransformDescCreate(&desc, kType<Scale>));
    const std::int32_t transpose = turned ? CUBLAS_OP_T : CUBLAS_OP_N, onDevice = CUBLASLT_POINTER_MODE_DEVICE;
    BLAS(cublasLtMatrixTransformDescSetAttribute(desc, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, &transpose, sizeof transpose));
    const Scale alpha = narrow<Scale>(2), beta = two ? narrow<Scale>(-1) : narrow<Scale>(0);
    Scale* scalars = check::toDevice(std::vector<Scale>{alpha, beta});
    const bool inMemory = two && turned;
    if (inMemory) BLAS(cublasLtMatrixTransformDescSetAttribute(desc, CUBLASLT_MATRIX_TRANSFORM_DESC_POINTER_MODE, &onDevice, sizeof onDevice));
    BLAS(cublasLtMatrixTransform(handle, desc, inMemory ? scalars : &alpha, a.device, a.layout, inMemory ? scalars + 1 : &beta, two ? b.device : nullptr, two ? b.layout : nullptr,
                                 c.device, c.layout, nullptr));
    c.compare("transform", [&](int e, int i, int j) { return 2.0 * a.op(turned, e, i, j) - (two ? b.op(false, e, i, j) : Z(0)); }, 8);
    BLAS(cublasLtMatrixTransformDescDestroy(desc));
    CHECK(cudaFree(scalars));
  }
}

// What its descriptor tells, and what a transform refuses.
void about(cublasLtHandle_t handle) {
  check::Random r(98);
  cublasLtMatrixTransformDescOpaque_t own;
  BLAS(cublasLtMatrixTransformDescInit_internal(&own, sizeof own, CUDA_R_32F));
  std::int32_t scale = -1, transpose = -1;
  size_t written = 0;
  BLAS(cublasLtMatrixTransformDescGetAttribute(&own, CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE, &scale, sizeof scale, &written));
  EXPECT(scale == CUDA_R_32F && written == sizeof scale);
  BLAS(cublasLtMatrixTransformDescGetAttribute(&own, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB, &transpose, sizeof transpose, &written));
  EXPECT(transpose == CUBLAS_OP_N);
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasLtMatrixTransformDescSetAttribute(&own, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, &transpose, 1));
  Placed<float> a(r, 5, 7, false, 0, 1), c(r, 5, 6, true, 0, 1), d(r, 5, 7, true, 0, 1);
  const float one = 1, zero = 0;
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasLtMatrixTransform(handle, &own, &one, a.device, nullptr, &zero, nullptr, nullptr, d.device, d.layout, nullptr));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasLtMatrixTransform(handle, &own, &one, a.device, a.layout, &zero, nullptr, nullptr, c.device, c.layout, nullptr));
}

int main() {
  cublasLtHandle_t handle;
  BLAS(cublasLtCreate(&handle));
  about(handle);
  transform<float, float, float>(handle, 37, 21, 1);
  transform<float, float, float>(handle, 5, 8, 3);
  transform<__half, float, float>(handle, 16, 24, 1);
  transform<float, __half, float>(handle, 16, 24, 1);
  transform<float, float, float>(handle, 600, 300, 1);  // several pieces of the CPU device
  if (check::onCpuDevice()) {  // of NVIDIA's library no table says which types it takes
    transform<__nv_bfloat16, __half, float>(handle, 9, 31, 2);
    transform<double, double, double>(handle, 33, 20, 1);
    transform<cuComplex, cuComplex, cuComplex>(handle, 20, 33, 1);
    transform<signed char, float, float>(handle, 40, 12, 1);
    transform<signed char, int, int>(handle, 40, 12, 2);
    transform<int, int, int>(handle, 13, 14, 1);
  }
  BLAS(cublasLtDestroy(handle));
  return check::done();
}
