// nvcc: -lcublas -lcublasLt
// library: libcublas.so.13
// Matrix products of cuBLAS: all transpositions, types, batches and pointer modes, gaps between columns, empty dimensions; against plain
// loops in double.
#include "blas.h"

using namespace blas;

const cublasOperation_t kAll[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};

namespace typed {
ROUSE_BLAS_OF(gemm, cublasSgemm, cublasDgemm, cublasCgemm, cublasZgemm)
template <> inline constexpr auto* gemm<__half> = BLAS_NAME(cublasHgemm);
ROUSE_BLAS_OF(strided, cublasSgemmStridedBatched, cublasDgemmStridedBatched, cublasCgemmStridedBatched, cublasZgemmStridedBatched)
template <> inline constexpr auto* strided<__half> = BLAS_NAME(cublasHgemmStridedBatched);
ROUSE_BLAS_OF(batched, cublasSgemmBatched, cublasDgemmBatched, cublasCgemmBatched, cublasZgemmBatched)
template <> inline constexpr auto* batched<__half> = BLAS_NAME(cublasHgemmBatched);
}  // namespace typed

template <class T, class U>
Z sum(const Matrix<T>& a, const Matrix<U>& b, cublasOperation_t ta, cublasOperation_t tb, int k, int i, int j) {
  Z s = 0;
  for (int l = 0; l < k; ++l) s += times(a.op(ta, i, l), b.op(tb, l, j));
  return s;
}

double roundings(int k) { return 2.0 * k + 4; }

template <class T>
void products(cublasHandle_t handle, const char* name) {
  check::Random r(1);
  const int shapes[][3] = {{1, 1, 1}, {7, 5, 3}, {16, 16, 16}, {33, 65, 17}, {70, 20, 90}, {3, 3, 0}};
  for (const auto& s : shapes)
    for (cublasOperation_t ta : kAll)
      for (cublasOperation_t tb : kAll) {
        const int m = s[0], n = s[1], k = s[2];
        Matrix<T> a(r, ta == CUBLAS_OP_N ? m : k, ta == CUBLAS_OP_N ? k : m, 3), b(r, tb == CUBLAS_OP_N ? k : n, tb == CUBLAS_OP_N ? n : k, 2),
            c(r, m, n, 5);
        Scalar<T> alpha(handle, Z(0.75, kComplex<T> ? -0.5 : 0)), beta(handle, Z(-1.5, kComplex<T> ? 0.25 : 0));
        BLAS(typed::gemm<T>(handle, ta, tb, m, n, k, alpha, a.device, a.ld, b.device, b.ld, beta, c.device, c.ld));
        char what[64];
        std::snprintf(what, sizeof what, "%s %s%s", name, blas::name(ta), blas::name(tb));
        c.compare(what, [&](int i, int j) { return alpha.wide() * sum(a, b, ta, tb, k, i, j) + beta.wide() * c(i, j); }, roundings(k) + (std::is_same_v<T, __half> ? k : 0));
      }
  // What is not to be read may be NaN.
  Matrix<T> a(r, 8, 8), b(r, 8, 8), c(r, 8, 8);
  for (T& v : c.host) std::memset(&v, 0xff, sizeof v);
  c.upload();
  Scalar<T> one(handle, 1), zero(handle, 0);
  BLAS(typed::gemm<T>(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, one, a.device, 8, b.device, 8, zero, c.device, 8));
  c.compare("beta 0", [&](int i, int j) { return sum(a, b, CUBLAS_OP_N, CUBLAS_OP_N, 8, i, j); }, roundings(8));
  // Nothing is nothing.
  BLAS(typed::gemm<T>(handle, CUBLAS_OP_N, CUBLAS_OP_N, 0, 8, 8, one, nullptr, 8, b.device, 8, zero, c.device, 8));
  BLAS(typed::gemm<T>(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 0, 8, one, a.device, 8, nullptr, 8, zero, c.device, 8));
}

template <class T>
void batches(cublasHandle_t handle, const char* name) {
  check::Random r(2);
  const int m = 9, n = 12, k = 20, count = 6;
  Matrix<T> a(r, m, k * count), b(r, n, k * count), c(r, m, n * count), c2(r, m, n * count);
  Scalar<T> alpha(handle, 2), beta(handle, Z(0.5));
  const auto wanted = [&](Matrix<T>& out) {
    return [&](int i, int j) {
      const int e = j / n;
      Z s = 0;
      for (int l = 0; l < k; ++l) s += a(i, e * k + l) * b(j % n, e * k + l);
      return alpha.wide() * s + beta.wide() * out(i, j);
    };
  };
  BLAS(typed::strided<T>(handle, CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, alpha, a.device, m, m * k, b.device, n, n * k, beta, c.device, m, m * n, count));
  c.compare(name, wanted(c), 4 * roundings(k));
  std::vector<T*> as, bs, cs;
  for (int e = 0; e < count; ++e) {
    as.push_back(a.device + e * m * k);
    bs.push_back(b.device + e * n * k);
    cs.push_back(c2.device + (count - 1 - e) * m * n);  // in another order
  }
  T **da = check::toDevice(as), **db = check::toDevice(bs), **dc = check::toDevice(cs);
  BLAS(typed::batched<T>(handle, CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, alpha, da, m, db, n, beta, dc, m, count));
  c2.compare(name, [&](int i, int j) {
    const int e = count - 1 - j / n;
    Z s = 0;
    for (int l = 0; l < k; ++l) s += a(i, e * k + l) * b(j % n, e * k + l);
    return alpha.wide() * s + beta.wide() * c2(i, j);
  }, 4 * roundings(k));
  for (T** p : {da, db, dc}) CHECK(cudaFree(p));
}

template <class A, class C, class S>
void extended(cublasHandle_t handle, const char* name, cublasComputeType_t compute, double tolerance) {
  check::Random r(3);
  // The last is more than one tile of the CPU device.
  const int shapes[][3] = {{5, 3, 12}, {40, 21, 47}, {530, 5, 520}};
  for (const auto& shape : shapes) {
    const int m = shape[0], n = shape[1], k = shape[2];
    for (cublasOperation_t ta : {CUBLAS_OP_N, CUBLAS_OP_T}) {
      // Of 8-bit integers: "A, B being 32-bit aligned; and lda, ldb being multiples of 4" (cublasGemmEx).
      const int rows = ta == CUBLAS_OP_N ? m : k;
      const bool small = sizeof(A) == 1;
      Matrix<A> a(r, rows, ta == CUBLAS_OP_N ? k : m, small ? 8 - rows % 4 : 3), b(r, k, n, small ? 8 - k % 4 : 1);
      Matrix<C> c(r, m, n, 2);
      Scalar<S> alpha(handle, 2), beta(handle, -1);
      BLAS(BLAS_NAME(cublasGemmEx)(handle, ta, CUBLAS_OP_N, m, n, k, (const S*)alpha, a.device, kType<A>, a.ld, b.device, kType<A>, b.ld, (const S*)beta,
                        c.device, kType<C>, c.ld, compute, CUBLAS_GEMM_DEFAULT));
      c.compare(name, [&](int i, int j) { return alpha.wide() * sum(a, b, ta, CUBLAS_OP_N, k, i, j) + beta.wide() * c(i, j); },
                tolerance + roundings(k) * (kEpsilon<C> > 1e-5 ? 0.2 : 1));
    }
  }
}

int main() {
  cublasHandle_t handle;
  BLAS(cublasCreate(&handle));
  for (cublasPointerMode_t mode : {CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE}) {
    BLAS(cublasSetPointerMode(handle, mode));
    products<float>(handle, "Sgemm");
    products<double>(handle, "Dgemm");
    products<cuComplex>(handle, "Cgemm");
    products<cuDoubleComplex>(handle, "Zgemm");
    products<__half>(handle, "Hgemm");
    batches<float>(handle, "S batch");
    batches<double>(handle, "D batch");
    batches<cuComplex>(handle, "C batch");
    batches<cuDoubleComplex>(handle, "Z batch");
    batches<__half>(handle, "H batch");
    extended<float, float, float>(handle, "GemmEx f32", CUBLAS_COMPUTE_32F, 8);
    extended<double, double, double>(handle, "GemmEx f64", CUBLAS_COMPUTE_64F, 8);
    extended<__half, __half, float>(handle, "GemmEx f16", CUBLAS_COMPUTE_32F, 8);
    extended<__half, float, float>(handle, "GemmEx f16 to f32", CUBLAS_COMPUTE_32F, 8);
    extended<__nv_bfloat16, __nv_bfloat16, float>(handle, "GemmEx bf16", CUBLAS_COMPUTE_32F, 8);
    extended<__nv_bfloat16, float, float>(handle, "GemmEx bf16 to f32", CUBLAS_COMPUTE_32F, 8);
    if (!check::onCpuDevice()) continue;  // cuBLAS 13.1 on an H100 has no kernels for 8-bit integers of all these shapes
    extended<signed char, int, int>(handle, "GemmEx i8", CUBLAS_COMPUTE_32I, 0);
    extended<signed char, float, float>(handle, "GemmEx i8 to f32", CUBLAS_COMPUTE_32F, 2e5);
  }
  BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));

  // The same with 64-bit numbers, and batches by type.
  check::Random r(4);
  const int m = 30, n = 20, k = 10;
  Matrix<float> a(r, m, k), b(r, k, n), c(r, m, n);
  Scalar<float> alpha(handle, 1), beta(handle, 1);
  BLAS(cublasSgemm_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, alpha, a.device, m, b.device, k, beta, c.device, m));
  c.compare("Sgemm_64", [&](int i, int j) { return sum(a, b, CUBLAS_OP_N, CUBLAS_OP_N, k, i, j) + c(i, j); }, roundings(k));
  c.upload();
  BLAS(BLAS_NAME(cublasGemmStridedBatchedEx)(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n / 2, k, (const float*)alpha, a.device, CUDA_R_32F, m, 0, b.device, CUDA_R_32F, k, k * (n / 2),
                                  (const float*)beta, c.device, CUDA_R_32F, m, m * (n / 2), 2, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT_TENSOR_OP));
  // TF32 may round what goes in to 11 bits.
  c.compare("GemmStridedBatchedEx", [&](int i, int j) { return sum(a, b, CUBLAS_OP_N, CUBLAS_OP_N, k, i, j) + c(i, j); }, 4096.0 * roundings(k));
  Matrix<cuComplex> za(r, m, k), zb(r, k, n), zc(r, m, n);
  Scalar<cuComplex> one(handle, 1), i1(handle, Z(0, 1));
  BLAS(BLAS_NAME(cublasCgemm3m)(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, one, za.device, m, zb.device, k, i1, zc.device, m));
  zc.compare("Cgemm3m", [&](int i, int j) { return sum(za, zb, CUBLAS_OP_N, CUBLAS_OP_N, k, i, j) + Z(0, 1) * zc(i, j); }, 4 * roundings(k));
  BLAS(cublasDestroy(handle));
  return check::done();
}
