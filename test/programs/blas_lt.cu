// nvcc: -lcublas -lcublasLt
// library: libcublas.so.13
// cuBLASLt's matrix product: types, transpositions, matrices by columns and by rows, batches, epilogues with bias, ReLU and GELU, scalars
// in either memory, heuristics and descriptors; against plain loops in double.
#include "blas_lt.h"

using namespace blas;

// Whether NVIDIA's library has an algorithm; ours has one for all that it serves.
bool possible(cublasLtHandle_t handle, Desc& d, Layout& a, Layout& b, Layout& c, cublasLtMatmulHeuristicResult_t* result) {
  cublasLtMatmulPreference_t preference;
  BLAS(cublasLtMatmulPreferenceCreate(&preference));
  std::uint64_t workspace = 0;
  BLAS(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace));
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle, d.desc, a.layout, b.layout, c.layout, c.layout, preference, 1, result, &count);
  BLAS(cublasLtMatmulPreferenceDestroy(preference));
  return status == CUBLAS_STATUS_SUCCESS && count == 1;
}

enum class Activation { none, relu, gelu };

template <class A, class C, class S>
void product(cublasLtHandle_t handle, const char* name, cublasComputeType_t compute, cublasOperation_t ta, cublasOperation_t tb, bool bias,
             Activation activation, bool scalarsInMemory, bool keeps, int m, int n, int k, double tolerance) {
  check::Random r(41);
  Matrix<A> a(r, ta == CUBLAS_OP_N ? m : k, ta == CUBLAS_OP_N ? k : m), b(r, tb == CUBLAS_OP_N ? k : n, tb == CUBLAS_OP_N ? n : k);
  Matrix<C> c(r, m, n), d(r, m, n), aux(r, m, n);
  Vector<C> biases(r, m, 1);
  Desc desc(compute, kType<S>);
  desc.set(CUBLASLT_MATMUL_DESC_TRANSA, ta);
  desc.set(CUBLASLT_MATMUL_DESC_TRANSB, tb);
  std::uint32_t epilogue = activation == Activation::relu ? CUBLASLT_EPILOGUE_RELU : activation == Activation::gelu ? CUBLASLT_EPILOGUE_GELU : 0;
  if (bias) epilogue |= CUBLASLT_EPILOGUE_BIAS;
  if (keeps) epilogue |= 128;
  if (epilogue == 0) epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  desc.set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  if (bias) desc.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, (void*)biases.device);
  if (keeps) {
    desc.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, (void*)aux.device);
    desc.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t(m));
  }
  Layout la(kType<A>, a.rows, a.columns, a.ld), lb(kType<A>, b.rows, b.columns, b.ld), lc(kType<C>, m, n, m);
  const S alpha = narrow<S>(2), beta = narrow<S>(-0.5);
  S *alphas = nullptr, *betas = nullptr;
  if (scalarsInMemory) {
    desc.set(CUBLASLT_MATMUL_DESC_POINTER_MODE, std::int32_t(CUBLASLT_POINTER_MODE_DEVICE));
    alphas = check::toDevice(std::vector<S>{alpha});
    betas = check::toDevice(std::vector<S>{beta});
  }
  cublasLtMatmulHeuristicResult_t found;
  if (!possible(handle, desc, la, lb, lc, &found)) {
    std::printf("%s: no algorithm\n", name);
    ++check::failures;
    return;
  }
  EXPECT(found.workspaceSize == 0 && found.state == CUBLAS_STATUS_SUCCESS);
  BLAS(cublasLtMatmul(handle, desc.desc, scalarsInMemory ? alphas : &alpha, a.device, la.layout, b.device, lb.layout, scalarsInMemory ? betas : &beta,
                      c.device, lc.layout, d.device, lc.layout, &found.algo, nullptr, 0, nullptr));
  const auto before = [&](int i, int j) {
    Z s = 0;
    for (int l = 0; l < k; ++l) s += times(a.op(ta, i, l), b.op(tb, l, j));
    s = wide(alpha) * s + wide(beta) * c(i, j);
    return bias ? s + biases(i) : s;
  };
  d.compare(name, [&](int i, int j) {
    const Z s = before(i, j);
    if (activation == Activation::relu) return Z(s.real() > 0 ? s.real() : 0);
    return activation == Activation::gelu ? Z(gelu(s.real())) : s;
  }, tolerance);
  if (keeps) aux.compare("aux", before, tolerance);
  if (scalarsInMemory) {
    CHECK(cudaFree(alphas));
    CHECK(cudaFree(betas));
  }
}

template <class A, class C, class S>
void all(cublasLtHandle_t handle, const char* name, cublasComputeType_t compute, double tolerance, bool epilogues) {
  for (cublasOperation_t ta : {CUBLAS_OP_N, CUBLAS_OP_T})
    for (cublasOperation_t tb : {CUBLAS_OP_N, CUBLAS_OP_T})
      product<A, C, S>(handle, name, compute, ta, tb, false, Activation::none, ta == tb, false, 32, 24, 40, tolerance);
  if (!epilogues) return;
  for (bool bias : {false, true})
    for (Activation activation : {Activation::none, Activation::relu, Activation::gelu})
      product<A, C, S>(handle, name, compute, CUBLAS_OP_T, CUBLAS_OP_N, bias, activation, false, false, 24, 16, 32, 4 * tolerance);
}

// By rows: D = A B as C programs have their matrices.
void byRows(cublasLtHandle_t handle) {
  check::Random r(42);
  const int m = 12, n = 20, k = 16;
  Matrix<float> a(r, k, m), b(r, n, k), c(r, n, m);  // the transposes, by columns
  Desc desc(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  Layout la(CUDA_R_32F, m, k, k), lb(CUDA_R_32F, k, n, n), lc(CUDA_R_32F, m, n, n);
  la.byRows();
  lb.byRows();
  lc.byRows();
  const float alpha = 1.5, beta = 2;
  BLAS(cublasLtMatmul(handle, desc.desc, &alpha, a.device, la.layout, b.device, lb.layout, &beta, c.device, lc.layout, c.device, lc.layout, nullptr,
                      nullptr, 0, nullptr));
  c.compare("by rows", [&](int i, int j) {
    Z s = 0;
    for (int l = 0; l < k; ++l) s += times(a(l, j), b(i, l));
    return 1.5 * s + 2.0 * c(i, j);
  }, 100);
}

void batches(cublasLtHandle_t handle) {
  check::Random r(43);
  const int m = 16, n = 8, k = 24, count = 5;
  Matrix<float> a(r, m, k * count), b(r, k, n), c(r, m, n * count);  // one B for all
  Desc desc(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  Layout la(CUDA_R_32F, m, k, m), lb(CUDA_R_32F, k, n, k), lc(CUDA_R_32F, m, n, m);
  la.batch(count, m * k);
  lb.batch(count, 0);
  lc.batch(count, m * n);
  const float alpha = 1, beta = 1;
  BLAS(cublasLtMatmul(handle, desc.desc, &alpha, a.device, la.layout, b.device, lb.layout, &beta, c.device, lc.layout, c.device, lc.layout, nullptr,
                      nullptr, 0, nullptr));
  c.compare("batch", [&](int i, int j) {
    Z s = c(i, j);
    for (int l = 0; l < k; ++l) s += times(a(i, j / n * k + l), b(l, j % n));
    return s;
  }, 200);
}

void wrong(cublasLtHandle_t handle) {
  check::Random r(44);
  Matrix<float> a(r, 8, 8);
  Desc desc(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  Layout l(CUDA_R_32F, 8, 8, 8), other(CUDA_R_32F, 8, 4, 8), thin(CUDA_R_32F, 8, 8, 7);
  const float one = 1;
  const auto run = [&](Layout& la, Layout& lb, Layout& lc) {
    return cublasLtMatmul(handle, desc.desc, &one, a.device, la.layout, a.device, lb.layout, &one, a.device, lc.layout, a.device, lc.layout, nullptr,
                          nullptr, 0, nullptr);
  };
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, run(l, l, other));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, run(other, l, l));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, run(thin, l, l));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasLtMatmulDescSetAttribute(desc.desc, CUBLASLT_MATMUL_DESC_TRANSA, &one, 3));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasLtMatmulDescCreate(nullptr, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  std::int32_t transposed = -1;
  std::size_t written = 0;
  desc.set(CUBLASLT_MATMUL_DESC_TRANSA, std::int32_t(CUBLAS_OP_T));
  BLAS(cublasLtMatmulDescGetAttribute(desc.desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed, &written));
  EXPECT(transposed == CUBLAS_OP_T && written == sizeof transposed);
  // In memory of the program's own.
  cublasLtMatmulDescOpaque_t mine;
  BLAS(cublasLtMatmulDescInit(&mine, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  const std::int32_t t = CUBLAS_OP_T;
  BLAS(cublasLtMatmulDescSetAttribute(&mine, CUBLASLT_MATMUL_DESC_TRANSA, &t, sizeof t));
}

int main() {
  cublasLtHandle_t handle;
  BLAS(cublasLtCreate(&handle));
  all<float, float, float>(handle, "f32", CUBLAS_COMPUTE_32F, 200, true);
  all<double, double, double>(handle, "f64", CUBLAS_COMPUTE_64F, 200, false);
  all<__half, __half, float>(handle, "f16", CUBLAS_COMPUTE_32F, 12, true);
  all<__half, float, float>(handle, "f16 to f32", CUBLAS_COMPUTE_32F, 200, false);
  all<__nv_bfloat16, __nv_bfloat16, float>(handle, "bf16", CUBLAS_COMPUTE_32F, 12, true);
  all<cuComplex, cuComplex, cuComplex>(handle, "c32", CUBLAS_COMPUTE_32F, 200, false);
  all<cuDoubleComplex, cuDoubleComplex, cuDoubleComplex>(handle, "c64", CUBLAS_COMPUTE_64F, 200, false);
  product<__half, __half, float>(handle, "f16 aux", CUBLAS_COMPUTE_32F, CUBLAS_OP_T, CUBLAS_OP_N, true, Activation::gelu, false, true, 16, 24, 32, 24);
  // More than one tile of the CPU device, and deeper than its panels.
  product<__half, __half, float>(handle, "f16 large", CUBLAS_COMPUTE_32F, CUBLAS_OP_T, CUBLAS_OP_N, true, Activation::relu, false, false, 520, 8, 528, 60);
  byRows(handle);
  batches(handle);
  wrong(handle);
  BLAS(cublasLtDestroy(handle));
  // A handle of cuBLAS serves as well.
  cublasHandle_t classic;
  BLAS(cublasCreate(&classic));
  product<float, float, float>((cublasLtHandle_t)classic, "cuBLAS handle", CUBLAS_COMPUTE_32F, CUBLAS_OP_N, CUBLAS_OP_N, false, Activation::none, false,
                               false, 16, 16, 16, 100);
  BLAS(cublasDestroy(classic));
  return check::done();
}
