// nvcc: -lcublas -lcublasLt
// library: libcublas.so.13
// cuBLAS's functions that take their types as arguments, those of mixed types, and what is left of batches and transfers; against plain
// loops in double.
#include "blas.h"

using namespace blas;

const double kScale = 200;

template <class T>
Z product(const Matrix<T>& a, const Matrix<T>& b, int k, int i, int j) {
  Z s = 0;
  for (int l = 0; l < k; ++l) s += times(a(i, l), b(l, j));
  return s;
}

void products(cublasHandle_t handle) {
  check::Random r(51);
  const int m = 12, n = 9, k = 20;
  {
    Matrix<__half> a(r, m, k), b(r, k, n);
    Matrix<float> c(r, m, n);
    const float alpha = 2, beta = -1;
    BLAS(BLAS_NAME(cublasSgemmEx)(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, a.device, CUDA_R_16F, m, b.device, CUDA_R_16F, k, &beta, c.device, CUDA_R_32F, m));
    c.compare("SgemmEx", [&](int i, int j) { return 2.0 * product(a, b, k, i, j) - c(i, j); }, kScale);
  }
  Matrix<cuComplex> a(r, m, k), b(r, k, n), c(r, m, n), d(r, m, n), e(r, m, n), f(r, m, n);
  const cuComplex alpha = {0, 1}, beta = {1, 0};
  const auto wanted = [&](const Matrix<cuComplex>& to) { return [&](int i, int j) { return Z(0, 1) * product(a, b, k, i, j) + to(i, j); }; };
  BLAS(BLAS_NAME(cublasCgemmEx)(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, a.device, CUDA_C_32F, m, b.device, CUDA_C_32F, k, &beta, c.device, CUDA_C_32F, m));
  c.compare("CgemmEx", wanted(c), kScale);
  BLAS(BLAS_NAME(cublasCgemm3mEx)(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, a.device, CUDA_C_32F, m, b.device, CUDA_C_32F, k, &beta, d.device, CUDA_C_32F, m));
  d.compare("Cgemm3mEx", wanted(d), kScale);
  BLAS(BLAS_NAME(cublasCgemm3mStridedBatched)(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, a.device, m, 0, b.device, k, 0, &beta, e.device, m, m * n, 1));
  e.compare("Cgemm3mStridedBatched", wanted(e), kScale);
  const cuComplex **as = check::toDevice(std::vector<const cuComplex*>{a.device}), **bs = check::toDevice(std::vector<const cuComplex*>{b.device});
  cuComplex** fs = check::toDevice(std::vector<cuComplex*>{f.device});
  BLAS(BLAS_NAME(cublasCgemm3mBatched)(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, as, m, bs, k, &beta, fs, m, 1));
  f.compare("Cgemm3mBatched", wanted(f), kScale);
  Matrix<cuDoubleComplex> za(r, m, k), zb(r, k, n), zc(r, m, n);
  const cuDoubleComplex one = {1, 0};
  BLAS(BLAS_NAME(cublasZgemm3m)(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, za.device, m, zb.device, k, &one, zc.device, m));
  zc.compare("Zgemm3m", [&](int i, int j) { return product(za, zb, k, i, j) + zc(i, j); }, kScale);
  Matrix<__nv_bfloat16> ha(r, m, k), hb(r, k, n), hc(r, m, n);
  const void **has = check::toDevice(std::vector<const void*>{ha.device}), **hbs = check::toDevice(std::vector<const void*>{hb.device});
  void** hcs = check::toDevice(std::vector<void*>{hc.device});
  const float two = 2, zero = 0;
  BLAS(BLAS_NAME(cublasGemmBatchedEx)(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &two, has, CUDA_R_16BF, m, hbs, CUDA_R_16BF, k, &zero, hcs, CUDA_R_16BF, m, 1,
                           CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  hc.compare("GemmBatchedEx", [&](int i, int j) { return 2.0 * product(ha, hb, k, i, j); }, 20);
}

template <class In, class Out, class Strided, class Batched>
void vectorProducts(cublasHandle_t handle, const char* name, Strided strided, Batched batched, double scale) {
  check::Random r(52);
  const int m = 12, n = 7, count = 3;
  Matrix<In> a(r, m, n * count), x(r, n, count);
  Matrix<Out> y(r, m, count), z(r, m, count);
  const float alpha = 2, beta = -1;
  const auto wanted = [&](const Matrix<Out>& to, int i, int e) {
    Z sum = 0;
    for (int l = 0; l < n; ++l) sum += times(a(i, e * n + l), x(l, e));
    return 2.0 * sum - to(i, e);
  };
  BLAS(strided(handle, CUBLAS_OP_N, m, n, &alpha, a.device, m, m * n, x.device, 1, n, &beta, y.device, 1, m, count));
  y.compare(name, [&](int i, int e) { return wanted(y, i, e); }, scale);
  std::vector<const In*> as, xs;
  std::vector<Out*> zs;
  for (int e = 0; e < count; ++e) {
    as.push_back(a.device + e * m * n);
    xs.push_back(x.device + e * n);
    zs.push_back(z.device + e * m);
  }
  BLAS(batched(handle, CUBLAS_OP_N, m, n, &alpha, check::toDevice(as), m, check::toDevice(xs), 1, &beta, check::toDevice(zs), 1, count));
  z.compare(name, [&](int i, int e) { return wanted(z, i, e); }, scale);
}

template <class T, class R>
void vectors(cublasHandle_t handle) {
  check::Random r(53);
  const int n = 40;
  const cudaDataType type = kType<T>;
  Vector<T> x(r, n, 1), y(r, n, 2);
  BLAS(BLAS_NAME(cublasCopyEx)(handle, n, x.device, type, 1, y.device, type, 2));
  y.compare("CopyEx", [&](int i) { return x(i); }, 0);
  y.upload();
  BLAS(BLAS_NAME(cublasSwapEx)(handle, n, x.device, type, 1, y.device, type, 2));
  x.compare("SwapEx", [&](int i) { return y(i); }, 0);
  x.upload();
  y.upload();
  Z dot = 0;
  double sum = 0;
  int greatest = 0, least = 0;
  const auto size = [](Z v) { return std::fabs(v.real()) + std::fabs(v.imag()); };
  for (int i = 0; i < n; ++i) {
    dot += std::conj(x(i)) * y(i);
    sum += size(x(i));
    if (size(x(i)) > size(x(greatest))) greatest = i;
    if (size(x(i)) < size(x(least))) least = i;
  }
  T product;
  BLAS(BLAS_NAME(cublasDotcEx)(handle, n, x.device, type, 1, y.device, type, 2, &product, type, type));
  EXPECT(std::abs(wide(product) - dot) < 200 * kEpsilon<T>);
  R total;
  BLAS(BLAS_NAME(cublasAsumEx)(handle, n, x.device, type, 1, &total, kType<R>, type));
  EXPECT(std::abs(wide(total) - sum) < 200 * kEpsilon<T>);
  Int place = 0;
  BLAS(BLAS_NAME(cublasIamaxEx)(handle, n, x.device, type, 1, &place));
  EXPECT(place == greatest + 1);
  BLAS(BLAS_NAME(cublasIaminEx)(handle, n, x.device, type, 1, &place));
  EXPECT(place == least + 1);
  const R c = R(0.6), s = R(0.8);
  BLAS(BLAS_NAME(cublasRotEx)(handle, n, x.device, type, 1, y.device, type, 2, &c, &s, kType<R>, type));
  x.compare("RotEx x", [&](int i) { return 0.6 * x(i) + 0.8 * y(i); }, 8);
  y.compare("RotEx y", [&](int i) { return 0.6 * y(i) - 0.8 * x(i); }, 8);
}

void realFactors(cublasHandle_t handle) {
  check::Random r(54);
  Vector<cuComplex> x(r, 30, 2);
  Vector<cuDoubleComplex> y(r, 30, 1);
  const float a = 0.5f;
  const double b = -3;
  BLAS(BLAS_NAME(cublasCsscal)(handle, 30, &a, x.device, 2));
  x.compare("Csscal", [&](int i) { return 0.5 * x(i); }, 2);
  BLAS(BLAS_NAME(cublasZdscal)(handle, 30, &b, y.device, 1));
  y.compare("Zdscal", [&](int i) { return -3.0 * y(i); }, 6);
}

// Csyrk and Cherk with types as arguments.
void ranks(cublasHandle_t handle) {
  check::Random r(57);
  const int n = 13, k = 6;
  const cuComplex alpha = {0.5f, 1}, beta = {-1, 0.25f};
  const float real = 0.75f, factor = -2;
  for (cublasFillMode_t uplo : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER})
    for (bool thrice : {false, true}) {
      Matrix<cuComplex> a(r, n, k, 1), c(r, n, n, 1), d(r, n, n, 2);
      const auto symmetric = thrice ? BLAS_NAME(cublasCsyrk3mEx) : BLAS_NAME(cublasCsyrkEx);
      const auto hermitian = thrice ? BLAS_NAME(cublasCherk3mEx) : BLAS_NAME(cublasCherkEx);
      BLAS(symmetric(handle, uplo, CUBLAS_OP_N, n, k, &alpha, a.device, CUDA_C_32F, a.ld, &beta, c.device, CUDA_C_32F, c.ld));
      BLAS(hermitian(handle, uplo, CUBLAS_OP_N, n, k, &real, a.device, CUDA_C_32F, a.ld, &factor, d.device, CUDA_C_32F, d.ld));
      const auto made = [&](int i, int j, bool conjugates) {
        Z sum = 0;
        for (int l = 0; l < k; ++l) sum += times(a(i, l), conjugates ? std::conj(a(j, l)) : a(j, l));
        return sum;
      };
      const auto stored = [&](int i, int j) { return uplo == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j; };
      c.compare("syrkEx", [&](int i, int j) { return stored(i, j) ? wide(alpha) * made(i, j, false) + wide(beta) * c(i, j) : c(i, j); }, kScale);
      d.compare("herkEx", [&](int i, int j) {
        if (!stored(i, j)) return d(i, j);
        const Z v = 0.75 * made(i, j, true) - 2.0 * d(i, j);
        return i == j ? Z(v.real()) : v;
      }, kScale);
    }
}

void transfers() {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  float *host, *device = check::deviceArray<float>(64);
  CHECK(cudaMallocHost(&host, 128 * sizeof(float)));
  for (int i = 0; i < 128; ++i) host[i] = float(i < 64 ? i : -1);
  BLAS(BLAS_NAME(cublasSetVectorAsync)(20, sizeof(float), host, 2, device, 1, stream));
  BLAS(BLAS_NAME(cublasGetVectorAsync)(20, sizeof(float), device, 1, host + 64, 3, stream));
  CHECK(cudaStreamSynchronize(stream));
  for (int i = 0; i < 20; ++i) EXPECT(host[64 + 3 * i] == 2.0f * i);
  BLAS(BLAS_NAME(cublasSetMatrixAsync)(4, 5, sizeof(float), host, 6, device, 8, stream));
  BLAS(BLAS_NAME(cublasGetMatrixAsync)(4, 5, sizeof(float), device, 8, host + 64, 4, stream));
  CHECK(cudaStreamSynchronize(stream));
  for (int j = 0; j < 5; ++j)
    for (int i = 0; i < 4; ++i) EXPECT(host[64 + i + 4 * j] == float(i + 6 * j));
  BLAS(BLAS_NAME(cublasSetVector)(8, sizeof(float), host, 1, device, 2));
  BLAS(BLAS_NAME(cublasGetVector)(8, sizeof(float), device, 2, host + 64, 1));
  for (int i = 0; i < 8; ++i) EXPECT(host[64 + i] == float(i));
  BLAS(BLAS_NAME(cublasSetMatrix)(3, 3, sizeof(float), host, 4, device, 3));
  BLAS(BLAS_NAME(cublasGetMatrix)(3, 3, sizeof(float), device, 3, host + 64, 3));
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < 3; ++i) EXPECT(host[64 + i + 3 * j] == float(i + 4 * j));
  CHECK(cudaFreeHost(host));
  CHECK(cudaFree(device));
  CHECK(cudaStreamDestroy(stream));
}

int main() {
  cublasHandle_t handle;
  BLAS(cublasCreate(&handle));
  products(handle);
  vectorProducts<__half, __half>(handle, "HSH", BLAS_NAME(cublasHSHgemvStridedBatched), BLAS_NAME(cublasHSHgemvBatched), 8);
  vectorProducts<__half, float>(handle, "HSS", BLAS_NAME(cublasHSSgemvStridedBatched), BLAS_NAME(cublasHSSgemvBatched), kScale);
  vectorProducts<__nv_bfloat16, __nv_bfloat16>(handle, "TST", BLAS_NAME(cublasTSTgemvStridedBatched), BLAS_NAME(cublasTSTgemvBatched), 8);
  vectorProducts<__nv_bfloat16, float>(handle, "TSS", BLAS_NAME(cublasTSSgemvStridedBatched), BLAS_NAME(cublasTSSgemvBatched), kScale);
  vectors<float, float>(handle);
  vectors<double, double>(handle);
  vectors<cuComplex, float>(handle);
  vectors<cuDoubleComplex, double>(handle);
  realFactors(handle);
  ranks(handle);
  transfers();
  int count = -1;
  BLAS(cublasSetSmCountTarget(handle, 1));
  BLAS(cublasGetSmCountTarget(handle, &count));
  EXPECT(count == 1);
  BLAS(cublasSetSmCountTarget(handle, 0));
  EXPECT(cublasGetCudartVersion() >= 13000);
  BLAS(cublasDestroy(handle));
  return check::done();
}
