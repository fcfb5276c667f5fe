// nvcc: -lcublas -lcublasLt
// library: libcublas.so.13
// cuBLASLt's products of 8-bit floats: both formats, each type of the result, scales in either memory, bias, ReLU and GELU, the largest absolute value,
// scales that are vectors, batches, rounding and saturation; against plain loops in double. GPUs can from compute capability 8.9 on, with vectors 9.0.
#include <cuda_fp8.h>

#include <complex>

// Before the templates that call them.
namespace blas {
inline std::complex<double> wide(__nv_fp8_e4m3 v) { return double(float(v)); }
inline std::complex<double> wide(__nv_fp8_e5m2 v) { return double(float(v)); }
}  // namespace blas

#include "blas_lt.h"

namespace blas {

template <> inline __nv_fp8_e4m3 narrow(Z v) { return __nv_fp8_e4m3(float(v.real())); }
template <> inline __nv_fp8_e5m2 narrow(Z v) { return __nv_fp8_e5m2(float(v.real())); }
template <> inline constexpr cudaDataType kType<__nv_fp8_e4m3> = CUDA_R_8F_E4M3;
template <> inline constexpr cudaDataType kType<__nv_fp8_e5m2> = CUDA_R_8F_E5M2;
// Half of a last place, and of the smallest number.
template <> inline constexpr double kEpsilon<__nv_fp8_e4m3> = 0x1p-4;
template <> inline constexpr double kEpsilon<__nv_fp8_e5m2> = 0x1p-3;
template <class T> constexpr double kSmallest = 0;
template <> inline constexpr double kSmallest<__half> = 0x1p-25;
template <> inline constexpr double kSmallest<__nv_fp8_e4m3> = 0x1p-10;
template <> inline constexpr double kSmallest<__nv_fp8_e5m2> = 0x1p-17;
template <class T> constexpr double kLargest = 1e300;
template <> inline constexpr double kLargest<__nv_fp8_e4m3> = 448;
template <> inline constexpr double kLargest<__nv_fp8_e5m2> = 57344;

}  // namespace blas

using namespace blas;
using E4m3 = __nv_fp8_e4m3;
using E5m2 = __nv_fp8_e5m2;

constexpr std::size_t kWorkspace = std::size_t{4} << 20;
void* workspace = nullptr;

// By the algorithm that the heuristics name.
cublasStatus_t run(cublasLtHandle_t handle, const Desc& desc, float alpha, const void* a, const Layout& la, const void* b, const Layout& lb, float beta,
                   const void* c, const Layout& lc, void* d, const Layout& ld) {
  cublasLtMatmulPreference_t preference;
  BLAS(cublasLtMatmulPreferenceCreate(&preference));
  BLAS(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace, sizeof kWorkspace));
  cublasLtMatmulHeuristicResult_t found;
  int count = 0;
  cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle, desc.desc, la.layout, lb.layout, lc.layout, ld.layout, preference, 1, &found, &count);
  BLAS(cublasLtMatmulPreferenceDestroy(preference));
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  EXPECT(count == 1 && found.state == CUBLAS_STATUS_SUCCESS && found.workspaceSize <= kWorkspace);
  return cublasLtMatmul(handle, desc.desc, &alpha, a, la.layout, b, lb.layout, &beta, c, lc.layout, d, ld.layout, &found.algo, workspace, kWorkspace, nullptr);
}

// Floats where the device sees them.
struct Floats {
  float* at = nullptr;
  bool pinned;
  Floats(const std::vector<float>& values, bool pinned = false) : pinned(pinned) {
    if (!pinned) {
      at = check::toDevice(values);
      return;
    }
    CHECK(cudaMallocHost(&at, values.size() * sizeof(float)));
    std::memcpy(at, values.data(), values.size() * sizeof(float));
  }
  ~Floats() { CHECK(pinned ? cudaFreeHost(at) : cudaFree(at)); }
  Floats(const Floats&) = delete;
};

struct What {
  int m = 32, n = 24, k = 64;
  float alpha = 1, beta = 0;
  bool scales = false;  // of A and B, and C where that is read, D where that is of 8 bits
  bool pinned = false;  // they lie in the host's memory
  bool vectors = false;
  bool amax = false;
  bool fast = false;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  int batch = 1;
  int gap = 0;  // between columns
};

template <class A, class B, class C, class D, class Bias>
void product(cublasLtHandle_t handle, const char* name, What w) {
  check::Random r(61);
  const bool eight = sizeof(D) == 1, bias = (w.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
  Matrix<A> a(r, w.k, w.m * w.batch, w.gap);
  Matrix<B> b(r, w.k, w.n * w.batch, w.gap);
  Matrix<C> c(r, w.m, w.n * w.batch, w.gap);
  Matrix<D> d(r, w.m, w.n * w.batch, w.gap);
  Vector<Bias> biases(r, w.m, 1);
  std::vector<float> as(w.vectors ? w.m : 1, 2.5f), bs(w.vectors ? w.n : 1, 0.75f);
  if (w.vectors) {
    for (float& each : as) each = float(r.uniform(0.5, 2));
    for (float& each : bs) each = float(r.uniform(0.5, 2));
  }
  const float cs = 1.25f, ds = 20;
  const bool scaled = w.scales || w.vectors;
  Floats aScale(as, w.pinned), bScale(bs, w.pinned), cScale({cs}, w.pinned), dScale({ds}, w.pinned), amax({0});
  Desc desc(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  desc.set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  desc.set(CUBLASLT_MATMUL_DESC_EPILOGUE, w.epilogue);
  desc.set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t(w.fast));
  if (scaled) {
    desc.set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, (const void*)aScale.at);
    desc.set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, (const void*)bScale.at);
    desc.set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, std::int32_t(w.vectors ? CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F : 0));
    desc.set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, std::int32_t(w.vectors ? CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F : 0));
  }
  // A C of 8 bits is in no combination of types, and what GPUs do with the scale of another is not written down.
  const bool scalesC = w.scales && eight && w.beta != 0 && check::onCpuDevice(), scalesD = w.scales && eight;
  if (scalesC) desc.set(CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, (const void*)cScale.at);
  if (scalesD) desc.set(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, (const void*)dScale.at);
  if (w.amax) desc.set(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, (void*)amax.at);
  if (bias) {
    desc.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, (void*)biases.device);
    desc.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, std::int32_t(kType<Bias>));
  }
  Layout la(kType<A>, w.k, w.m, a.ld), lb(kType<B>, w.k, w.n, b.ld), lc(kType<C>, w.m, w.n, c.ld), ld(kType<D>, w.m, w.n, d.ld);
  if (w.batch > 1) {
    la.batch(w.batch, std::int64_t(a.ld) * w.m);
    lb.batch(w.batch, std::int64_t(b.ld) * w.n);
    lc.batch(w.batch, std::int64_t(c.ld) * w.n);
    ld.batch(w.batch, std::int64_t(d.ld) * w.n);
  }
  // A C that is not read is D, as PyTorch calls it: of 8 bits D is not as long as C's layout says.
  const void* read = w.beta != 0 ? (const void*)c.device : d.device;
  const cublasStatus_t status = run(handle, desc, w.alpha, a.device, la, b.device, lb, w.beta, read, lc, d.device, ld);
  if (status != CUBLAS_STATUS_SUCCESS) {
    std::printf("%s: %s\n", name, cublasGetStatusName(status));
    ++check::failures;
    return;
  }
  // GPUs sum products of 8-bit floats with 14 bits or so.
  const double summing = check::onCpuDevice() ? 0x1p-20 : 0x1p-10;
  const std::vector<D> got = check::toHost(d.device, d.host.size());
  double largest = 0, largestError = 0;
  for (int j = 0; j < w.n * w.batch; ++j)
    for (int i = 0; i < w.m; ++i) {
      double sum = 0, size = 0;
      for (int l = 0; l < w.k; ++l) {
        const double term = a(l, j / w.n * w.m + i).real() * b(l, j).real();
        sum += term;
        size += std::fabs(term);
      }
      const double factor = w.alpha * (scaled ? double(as[w.vectors ? i : 0]) * double(bs[w.vectors ? j : 0]) : 1);
      double value = factor * sum;
      size *= std::fabs(factor);
      if (w.beta != 0) value += double(w.beta) * (scalesC ? cs : 1) * c(i, j).real();
      if (bias) value += biases(i).real();
      if ((w.epilogue & CUBLASLT_EPILOGUE_RELU) != 0) value = value > 0 ? value : 0;
      if ((w.epilogue & CUBLASLT_EPILOGUE_GELU) != 0) value = gelu(value);
      const double error = summing * (size + std::fabs(value));
      if (std::fabs(value) > largest) largest = std::fabs(value), largestError = error;
      double wanted = value * (scalesD ? ds : 1);
      if (wanted > kLargest<D>) wanted = kLargest<D>;
      if (wanted < -kLargest<D>) wanted = -kLargest<D>;
      const double bound = kEpsilon<D> * std::fabs(wanted) + kSmallest<D> + 2 * error * (scalesD ? ds : 1);
      const double is = wide(got[i + std::size_t(j) * d.ld]).real();
      if (std::fabs(is - wanted) <= bound) continue;
      std::printf("%s(%d, %d) is %.9g, should be %.9g within %g\n", name, i, j, is, wanted, bound);
      ++check::failures;
      return;
    }
  for (int j = 0; j < w.n * w.batch; ++j)
    for (int i = w.m; i < d.ld; ++i)
      if (std::memcmp(&got[i + std::size_t(j) * d.ld], &d.host[i + std::size_t(j) * d.ld], sizeof(D)) != 0) {
        std::printf("%s: written between the columns, at (%d, %d)\n", name, i, j);
        ++check::failures;
        return;
      }
  if (!w.amax) return;
  const double is = check::toHost(amax.at, 1)[0];
  if (std::fabs(is - largest) <= 2 * largestError) return;
  std::printf("%s: the largest is %.9g, should be %.9g\n", name, is, largest);
  ++check::failures;
}

// All that a type of the result can have.
template <class A, class B, class C, class D, class Bias>
void all(cublasLtHandle_t handle, const char* name) {
  constexpr bool eight = sizeof(D) == 1;
  product<A, B, C, D, Bias>(handle, name, {});
  product<A, B, C, D, Bias>(handle, name, {.n = 1, .k = 16, .alpha = -2});
  product<A, B, C, D, Bias>(handle, name, {.alpha = 0.5, .beta = -1.5, .scales = true, .amax = eight, .fast = true});
  product<A, B, C, D, Bias>(handle, name, {.scales = true, .pinned = true, .amax = eight, .gap = 16});
  for (const std::uint32_t epilogue : {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS})
    product<A, B, C, D, Bias>(handle, name, {.scales = true, .amax = eight, .epilogue = epilogue});
  product<A, B, C, D, Bias>(handle, name, {.beta = 1, .scales = true, .amax = eight, .batch = 3});
}

template <class A, class B>
void wideResults(cublasLtHandle_t handle, const char* name) {
  all<A, B, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16>(handle, (std::string(name) + " to bf16").c_str());
  all<A, B, __half, __half, __half>(handle, (std::string(name) + " to f16").c_str());
  all<A, B, float, float, __nv_bfloat16>(handle, (std::string(name) + " to f32").c_str());
}

template <class A, class B, class D>
void narrowResults(cublasLtHandle_t handle, const char* name) {
  all<A, B, __nv_bfloat16, D, __nv_bfloat16>(handle, (std::string(name) + " beside bf16").c_str());
  all<A, B, __half, D, __half>(handle, (std::string(name) + " beside f16").c_str());
}

// One product each, which is exact: only what the result's type does to it. Every number of B's type, by some of A's.
template <class B, class D>
void rounding(cublasLtHandle_t handle, const char* name, float scale) {
  const int m = 16, n = 256, k = 16;
  const float numbers[m] = {1, -1, 1.125f, 1.875f, 0.0625f, 0.015625f, 448, -448, 3.25f, -0.001953125f, 0.8125f, 13, 0, -0.0f, 0.375f, 240};
  std::vector<E4m3> a(m * k, E4m3(0.0f));
  std::vector<B> b(n * k, B(0.0f));
  for (int i = 0; i < m; ++i) a[i * k] = E4m3(numbers[i]);
  for (int j = 0; j < n; ++j) b[j * k].__x = __nv_fp8_storage_t(j);
  std::vector<D> wanted(m * n), got;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      const float value = float(a[i * k]) * float(b[j * k]);
      wanted[i + j * m] = D(value * scale);
    }
  auto* da = check::toDevice(a);
  auto* db = check::toDevice(b);
  D* dd = check::toDevice(spoiled<D>(m * n));
  Floats dScale({scale});
  Desc desc(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  desc.set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  desc.set(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, (const void*)dScale.at);
  Layout la(CUDA_R_8F_E4M3, k, m, k), lb(kType<B>, k, n, k), lc(CUDA_R_16BF, m, n, m), ld(kType<D>, m, n, m);
  BLAS(run(handle, desc, 1, da, la, db, lb, 0, nullptr, lc, dd, ld));
  got = check::toHost(dd, m * n);
  for (int at = 0; at < m * n; ++at) {
    const bool nan = std::isnan(float(wanted[at]));
    // A zero's sign is lost in the sum with others.
    const bool same = nan ? std::isnan(float(got[at])) : float(got[at]) == float(wanted[at]);
    if (same) continue;
    std::printf("%s: %g times %g is %g, should be %g\n", name, float(a[at % m * k]), float(b[at / m * k]), float(got[at]), float(wanted[at]));
    ++check::failures;
    break;
  }
  CHECK(cudaFree(da));
  CHECK(cudaFree(db));
  CHECK(cudaFree(dd));
}

// What is no product of 8-bit floats, or none that is served.
void refused(cublasLtHandle_t handle) {
  if (!check::throughRouse()) return;  // GPUs differ in what they can
  E4m3* a = nullptr;
  CHECK(cudaMalloc(&a, 1 << 16));
  struct Case {
    const char* name;
    cublasStatus_t status = CUBLAS_STATUS_NOT_SUPPORTED;
    cudaDataType a = CUDA_R_8F_E4M3, b = CUDA_R_8F_E4M3, c = CUDA_R_16BF, d = CUDA_R_16BF;
    int m = 32, n = 32, k = 32;
    cublasOperation_t ta = CUBLAS_OP_T, tb = CUBLAS_OP_N;
    std::int32_t aMode = 0, bMode = 0, dMode = 0;
    std::size_t offset = 0, scaleOffset = 0;
    bool amax = false, auxScale = false;
    cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  };
  const Case cases[] = {
      {.name = "served", .status = CUBLAS_STATUS_SUCCESS},
      {.name = "columns of any number", .status = CUBLAS_STATUS_SUCCESS, .n = 7},
      {.name = "both E5M2", .a = CUDA_R_8F_E5M2, .b = CUDA_R_8F_E5M2},
      {.name = "one of 16 bits", .b = CUDA_R_16BF},
      {.name = "E4M3 to E5M2", .d = CUDA_R_8F_E5M2},
      {.name = "C of 8 bits", .c = CUDA_R_8F_E4M3, .d = CUDA_R_8F_E4M3},
      {.name = "C is not D", .c = CUDA_R_32F},
      {.name = "to integers", .c = CUDA_R_32I, .d = CUDA_R_32I},
      {.name = "A not transposed", .ta = CUBLAS_OP_N},
      {.name = "B transposed", .tb = CUBLAS_OP_T},
      {.name = "k", .k = 24},
      {.name = "m", .m = 12},
      {.name = "m of 8 bits", .d = CUDA_R_8F_E4M3, .m = 24},
      {.name = "address", .offset = 8},
      {.name = "a scale's address", .status = CUBLAS_STATUS_INVALID_VALUE, .scaleOffset = 2},
      {.name = "amax of 16 bits", .amax = true},
      {.name = "vector for one", .aMode = CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F},
      {.name = "blocks of 16", .aMode = CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3, .bMode = CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3},
      {.name = "blocks of 32", .aMode = CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0, .bMode = CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0},
      {.name = "blocks of 128", .aMode = CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F, .bMode = CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F},
      {.name = "blocks of the result", .dMode = CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0},
      {.name = "the auxiliary matrix's scale", .auxScale = true},
      {.name = "TF32", .compute = CUBLAS_COMPUTE_32F_FAST_TF32},
  };
  for (const Case& each : cases) {
    Desc desc(each.compute, CUDA_R_32F);
    desc.set(CUBLASLT_MATMUL_DESC_TRANSA, each.ta);
    desc.set(CUBLASLT_MATMUL_DESC_TRANSB, each.tb);
    desc.set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, each.aMode);
    desc.set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, each.bMode);
    desc.set(CUBLASLT_MATMUL_DESC_D_SCALE_MODE, each.dMode);
    desc.set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, (char*)a + each.scaleOffset);
    desc.set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, (char*)a);
    if (each.amax) desc.set(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, (char*)a);
    if (each.auxScale) desc.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, (char*)a);
    const bool at = each.ta != CUBLAS_OP_N, bt = each.tb != CUBLAS_OP_N;
    Layout la(each.a, at ? each.k : each.m, at ? each.m : each.k, at ? each.k : each.m), lb(each.b, bt ? each.n : each.k, bt ? each.k : each.n, bt ? each.n : each.k),
        lc(each.c, each.m, each.n, each.m), ld(each.d, each.m, each.n, each.m);
    const cublasStatus_t got = run(handle, desc, 1, (char*)a + each.offset, la, (char*)a + 8192, lb, 0, nullptr, lc, (char*)a + 16384, ld);
    if (got == each.status) continue;
    std::printf("%s: %s instead of %s\n", each.name, cublasGetStatusName(got), cublasGetStatusName(each.status));
    ++check::failures;
  }
  // Scales of others.
  Desc desc(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  desc.set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, (char*)a);
  Layout l(CUDA_R_32F, 16, 16, 16);
  EXPECT_STATUS(CUBLAS_STATUS_NOT_SUPPORTED, run(handle, desc, 1, a, l, a, l, 0, nullptr, l, a + 8192, l));
  // What is set is there to be read.
  const void* scale = nullptr;
  std::size_t bytes = 0;
  BLAS(cublasLtMatmulDescGetAttribute(desc.desc, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &scale, sizeof scale, &bytes));
  EXPECT(scale == a && bytes == sizeof scale);
  CHECK(cudaFree(a));
}

int main() {
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  const int capability = properties.major * 10 + properties.minor;
  if (capability < 89) {
    std::printf("left out: a GPU of compute capability %d.%d has no 8-bit floats\n", properties.major, properties.minor);
    return check::done();
  }
  cublasLtHandle_t handle;
  BLAS(cublasLtCreate(&handle));
  CHECK(cudaMalloc(&workspace, kWorkspace));
  wideResults<E4m3, E4m3>(handle, "E4M3");
  wideResults<E4m3, E5m2>(handle, "E4M3 by E5M2");
  wideResults<E5m2, E4m3>(handle, "E5M2 by E4M3");
  narrowResults<E4m3, E4m3, E4m3>(handle, "E4M3 to E4M3");
  narrowResults<E4m3, E5m2, E4m3>(handle, "E4M3 by E5M2 to E4M3");
  narrowResults<E4m3, E5m2, E5m2>(handle, "E4M3 by E5M2 to E5M2");
  narrowResults<E5m2, E4m3, E4m3>(handle, "E5M2 by E4M3 to E4M3");
  narrowResults<E5m2, E4m3, E5m2>(handle, "E5M2 by E4M3 to E5M2");
  // More than one tile of the CPU device, and deeper than its panels.
  product<E4m3, E5m2, __half, E4m3, __half>(handle, "large", {.m = 528, .n = 24, .k = 528, .scales = true, .amax = true, .epilogue = CUBLASLT_EPILOGUE_BIAS});
  if (capability == 90) product<E4m3, E4m3, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16>(handle, "vectors to bf16", {.vectors = true});
  if (capability == 90) product<E4m3, E5m2, float, float, __nv_bfloat16>(handle, "vectors to f32", {.m = 32, .n = 530, .k = 32, .pinned = true, .vectors = true});
  rounding<E4m3, E4m3>(handle, "rounding to E4M3", 1);
  rounding<E5m2, E4m3>(handle, "rounding of E5M2 to E4M3", 0.5f);
  rounding<E5m2, E5m2>(handle, "rounding to E5M2", 8);
  refused(handle);
  CHECK(cudaFree(workspace));
  BLAS(cublasLtDestroy(handle));
  return check::done();
}
