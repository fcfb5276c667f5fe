// cublas<t>gemmGroupedBatched: groups of products, each with sizes, scalars and transpositions of its own. A group is a batch as gemmBatched has them, and is queued as
// one; all are checked before the first is queued.
#include <cstddef>
#include <cstdint>

#include "client-shim/cublas/implementations.h"
#include "client-shim/cublas/run.h"
#include "client-shim/library/refuse.h"

namespace rouse::cublas::impl {
namespace {

// Arrays of groups' parameters, in the program's memory; of addresses, in the device's.
template <class Number>
struct Groups {
  const cublasOperation_t *transa, *transb;
  const Number *m, *n, *k;
  const void* alpha;
  const void* a;
  const Number* lda;
  const void* b;
  const Number* ldb;
  const void* beta;
  const void* c;
  const Number* ldc;
  Number count;
  const Number* sizes;

  bool complete() const {
    for (const void* each : {static_cast<const void*>(transa), static_cast<const void*>(transb), static_cast<const void*>(m), static_cast<const void*>(n),
                             static_cast<const void*>(k), alpha, a, static_cast<const void*>(lda), b, static_cast<const void*>(ldb), beta, c,
                             static_cast<const void*>(ldc), static_cast<const void*>(sizes)})
      if (each == nullptr) return false;
    return true;
  }
};

// What all groups have in common.
struct Common {
  const char* name;
  blas::Function batched;
  blas::Type a, b, c;
  std::uint32_t compute = 0;
};

template <class Number>
blas::Call callOf(const Groups<Number>& groups, const Common& common, Number group, std::uint64_t before) {
  blas::Call call = begin(common.batched);
  const auto addresses = [&](const void* array) { return reinterpret_cast<std::uint64_t>(array) + before * sizeof(void*); };
  call.transa = narrow<blas::Transpose>(groups.transa[group]);
  call.transb = narrow<blas::Transpose>(groups.transb[group]);
  call.m = groups.m[group];
  call.n = groups.n[group];
  call.k = groups.k[group];
  call.batch = groups.sizes[group];
  call.a = {.address = addresses(groups.a), .spacing = groups.lda[group]};
  call.b = {.address = addresses(groups.b), .spacing = groups.ldb[group]};
  call.c = {.address = addresses(groups.c), .spacing = groups.ldc[group]};
  call.aType = common.a;
  call.bType = common.b;
  call.cType = common.c;
  call.computeType = common.compute;
  call.algorithm = common.compute != 0 ? CUBLAS_GEMM_DEFAULT : 0;
  if (common.compute != 0) call.scaleType = blas::scaleTypeOf(call.computeType, call.cType);
  return call;
}

template <class Number>
cublasStatus_t multiplyGroups(cublasHandle_t handle, const Common& common, const Groups<Number>& groups) noexcept {
  const Handle* object = findHandle(handle);
  if (object == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (groups.count < 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (groups.count == 0) return CUBLAS_STATUS_SUCCESS;
  if (object->pointerMode != CUBLAS_POINTER_MODE_HOST) {  // as documented
    library::refuse(common.name, "scalars in device memory");
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (!groups.complete()) return CUBLAS_STATUS_INVALID_VALUE;
  std::uint64_t problems = 0;
  for (Number group = 0; group < groups.count; ++group) {
    const blas::Check checked = blas::check(common.batched, callOf(groups, common, group, problems));
    if (checked.verdict == blas::Verdict::invalid) return CUBLAS_STATUS_INVALID_VALUE;
    if (checked.verdict == blas::Verdict::unsupported) {
      library::refuse(common.name, checked.what);
      return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    problems += static_cast<std::uint64_t>(groups.sizes[group]);
  }
  const std::uint32_t scalar = blas::bytesOf(callOf(groups, common, Number{0}, 0).scaleType);
  std::uint64_t before = 0;
  for (Number group = 0; group < groups.count; ++group) {
    blas::Call call = callOf(groups, common, group, before);
    const std::size_t offset = static_cast<std::size_t>(group) * scalar;
    const cublasStatus_t status = run(handle, common.batched, call, {.alpha = static_cast<const std::byte*>(groups.alpha) + offset,
                                                                     .beta = static_cast<const std::byte*>(groups.beta) + offset});
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    before += static_cast<std::uint64_t>(groups.sizes[group]);
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

#define ROUSE_GROUPED(letter, T, type, suffix, Number)                                                                                  \
  cublasStatus_t cublas##letter##gemmGroupedBatched##suffix(cublasHandle_t handle, const cublasOperation_t transa_array[],              \
      const cublasOperation_t transb_array[], const Number m_array[], const Number n_array[], const Number k_array[], const T alpha_array[], \
      const T* const Aarray[], const Number lda_array[], const T* const Barray[], const Number ldb_array[], const T beta_array[],       \
      T* const Carray[], const Number ldc_array[], Number group_count, const Number group_size[]) {                                     \
    return multiplyGroups<Number>(handle, {"cublas" #letter "gemmGroupedBatched", blas::Function::cublas##letter##gemmBatched, type, type, type},      \
                                  {transa_array, transb_array, m_array, n_array, k_array, alpha_array, Aarray, lda_array, Barray, ldb_array, \
                                   beta_array, Carray, ldc_array, group_count, group_size});                                            \
  }
ROUSE_GROUPED(S, float, blas::Type::f32, , int)
ROUSE_GROUPED(S, float, blas::Type::f32, _64, std::int64_t)
ROUSE_GROUPED(D, double, blas::Type::f64, , int)
ROUSE_GROUPED(D, double, blas::Type::f64, _64, std::int64_t)
#undef ROUSE_GROUPED

#define ROUSE_GROUPED_EX(suffix, Number)                                                                                                \
  cublasStatus_t cublasGemmGroupedBatchedEx##suffix(cublasHandle_t handle, const cublasOperation_t transa_array[],                      \
      const cublasOperation_t transb_array[], const Number m_array[], const Number n_array[], const Number k_array[], const void* alpha_array, \
      const void* const Aarray[], cudaDataType_t Atype, const Number lda_array[], const void* const Barray[], cudaDataType_t Btype,     \
      const Number ldb_array[], const void* beta_array, void* const Carray[], cudaDataType_t Ctype, const Number ldc_array[],           \
      Number group_count, const Number group_size[], cublasComputeType_t computeType) {                                                 \
    return multiplyGroups<Number>(handle, {"cublasGemmGroupedBatchedEx", blas::Function::cublasGemmBatchedEx, narrow<blas::Type>(Atype),  \
                                           narrow<blas::Type>(Btype), narrow<blas::Type>(Ctype), static_cast<std::uint32_t>(computeType)}, \
                                  {transa_array, transb_array, m_array, n_array, k_array, alpha_array, Aarray, lda_array, Barray, ldb_array, \
                                   beta_array, Carray, ldc_array, group_count, group_size});                                            \
  }
ROUSE_GROUPED_EX(, int)
ROUSE_GROUPED_EX(_64, std::int64_t)
#undef ROUSE_GROUPED_EX

}  // namespace rouse::cublas::impl
