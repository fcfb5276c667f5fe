// cuSPARSE: systems of equations with three and five diagonals (gtsv2, gtsv2_nopivot, gtsv2StridedBatch, gtsvInterleavedBatch, gpsvInterleavedBatch).
#include <initializer_list>

#include "client-shim/cusparse/call.h"
#include "client-shim/cusparse/implementations.h"

namespace rouse::cusparse {
namespace {

using sparse::Function;

constexpr int kMostInterleaved = 2;  // `algo` of gtsvInterleavedBatch: 0 without pivots, 1 with, 2 by rotations

sparse::Call describe(sparse::Type type, int m, std::initializer_list<const void*> diagonals) {
  sparse::Call call;
  call.computeType = type;
  call.band.rows = m;
  std::size_t at = diagonals.size() == 3 ? 1 : 0;
  for (const void* diagonal : diagonals) call.band.diagonals[at++] = addressOf(diagonal);
  return call;
}

// One matrix, n right sides.
template <class T>
sparse::Call columns(int m, int n, const T* dl, const T* d, const T* du, const T* b, int ldb, bool pivots) {
  sparse::Call call = describe(kTypeOf<T>, m, {dl, d, du});
  call.band.oneMatrix = 1;
  call.band.spacing = call.band.systems = 1;
  call.band.pivots = pivots ? 1 : 0;
  call.x.values = addressOf(b);
  call.x.rows = m;
  call.x.cols = n;
  call.x.spacing = ldb;
  call.x.batch = 1;
  call.x.type = kTypeOf<T>;
  call.x.order = sparse::Order::column;
  return call;
}

template <class T>
sparse::Call strided(int m, const T* dl, const T* d, const T* du, const T* x, int batchCount, int batchStride) {
  sparse::Call call = describe(kTypeOf<T>, m, {dl, d, du});
  call.band.spacing = 1;
  call.band.stride = batchStride;
  call.band.systems = batchCount;
  call.result = addressOf(x);
  return call;
}

template <class T>
sparse::Call interleaved(int m, std::initializer_list<const void*> diagonals, const T* x, int batchCount, bool pivots) {
  sparse::Call call = describe(kTypeOf<T>, m, diagonals);
  call.band.spacing = batchCount > 1 ? batchCount : 1;
  call.band.stride = 1;
  call.band.systems = batchCount;
  call.band.pivots = pivots ? 1 : 0;
  call.result = addressOf(x);
  return call;
}

cusparseStatus_t run(cusparseHandle_t handle, Function function, const sparse::Call& call, const char* name) {
  return with(handle, [&](Handle& found) { return send(found, function, call, name); });
}
// Memory is not looked at, so that programs may ask before they have any: null is as good an address as another then.
cusparseStatus_t tellSize(cusparseHandle_t handle, Function function, sparse::Call call, const char* name, std::size_t* size) {
  constexpr std::uint64_t kSomewhere = 4096;
  const bool five = function == Function::pentadiagonal;
  for (std::size_t i = five ? 0 : 1; i < (five ? 5 : 4); ++i) call.band.diagonals[i] = kSomewhere;
  (call.band.oneMatrix != 0 ? call.x.values : call.result) = kSomewhere;
  return with(handle, [&](Handle&) {
    const cusparseStatus_t status = consider(function, call, name);
    return status != CUSPARSE_STATUS_SUCCESS ? status : tellBufferSize(size);
  });
}

}  // namespace

namespace impl {

#define ROUSE_DIAGONALS(letter, T)                                                                                                                                    \
  cusparseStatus_t cusparse##letter##gtsv2_bufferSizeExt(cusparseHandle_t handle, int m, int n, const T* dl, const T* d, const T* du, const T* B, int ldb,            \
                                                         size_t* bufferSizeInBytes) {                                                                                 \
    return tellSize(handle, Function::tridiagonal, columns(m, n, dl, d, du, B, ldb, true), "cusparse" #letter "gtsv2_bufferSizeExt", bufferSizeInBytes);              \
  }                                                                                                                                                                   \
  cusparseStatus_t cusparse##letter##gtsv2(cusparseHandle_t handle, int m, int n, const T* dl, const T* d, const T* du, T* B, int ldb, void*) {                       \
    return run(handle, Function::tridiagonal, columns(m, n, dl, d, du, B, ldb, true), "cusparse" #letter "gtsv2");                                                    \
  }                                                                                                                                                                   \
  cusparseStatus_t cusparse##letter##gtsv2_nopivot_bufferSizeExt(cusparseHandle_t handle, int m, int n, const T* dl, const T* d, const T* du, const T* B, int ldb,    \
                                                                 size_t* bufferSizeInBytes) {                                                                         \
    return tellSize(handle, Function::tridiagonal, columns(m, n, dl, d, du, B, ldb, false), "cusparse" #letter "gtsv2_nopivot_bufferSizeExt", bufferSizeInBytes);     \
  }                                                                                                                                                                   \
  cusparseStatus_t cusparse##letter##gtsv2_nopivot(cusparseHandle_t handle, int m, int n, const T* dl, const T* d, const T* du, T* B, int ldb, void*) {               \
    return run(handle, Function::tridiagonal, columns(m, n, dl, d, du, B, ldb, false), "cusparse" #letter "gtsv2_nopivot");                                           \
  }                                                                                                                                                                   \
  cusparseStatus_t cusparse##letter##gtsv2StridedBatch_bufferSizeExt(cusparseHandle_t handle, int m, const T* dl, const T* d, const T* du, const T* x, int batchCount,\
                                                                     int batchStride, size_t* bufferSizeInBytes) {                                                    \
    return tellSize(handle, Function::tridiagonal, strided(m, dl, d, du, x, batchCount, batchStride), "cusparse" #letter "gtsv2StridedBatch_bufferSizeExt",           \
                    bufferSizeInBytes);                                                                                                                               \
  }                                                                                                                                                                   \
  cusparseStatus_t cusparse##letter##gtsv2StridedBatch(cusparseHandle_t handle, int m, const T* dl, const T* d, const T* du, T* x, int batchCount, int batchStride,   \
                                                       void*) {                                                                                                       \
    return run(handle, Function::tridiagonal, strided(m, dl, d, du, x, batchCount, batchStride), "cusparse" #letter "gtsv2StridedBatch");                             \
  }                                                                                                                                                                   \
  cusparseStatus_t cusparse##letter##gtsvInterleavedBatch_bufferSizeExt(cusparseHandle_t handle, int algo, int m, const T* dl, const T* d, const T* du, const T* x,   \
                                                                        int batchCount, size_t* pBufferSizeInBytes) {                                                 \
    if (algo < 0 || algo > kMostInterleaved) return CUSPARSE_STATUS_INVALID_VALUE;                                                                                    \
    return tellSize(handle, Function::tridiagonal, interleaved(m, {dl, d, du}, x, batchCount, algo != 0), "cusparse" #letter "gtsvInterleavedBatch_bufferSizeExt",    \
                    pBufferSizeInBytes);                                                                                                                              \
  }                                                                                                                                                                   \
  cusparseStatus_t cusparse##letter##gtsvInterleavedBatch(cusparseHandle_t handle, int algo, int m, T* dl, T* d, T* du, T* x, int batchCount, void*) {                \
    if (algo < 0 || algo > kMostInterleaved) return CUSPARSE_STATUS_INVALID_VALUE;                                                                                    \
    return run(handle, Function::tridiagonal, interleaved(m, {dl, d, du}, x, batchCount, algo != 0), "cusparse" #letter "gtsvInterleavedBatch");                      \
  }                                                                                                                                                                   \
  cusparseStatus_t cusparse##letter##gpsvInterleavedBatch_bufferSizeExt(cusparseHandle_t handle, int algo, int m, const T* ds, const T* dl, const T* d, const T* du,  \
                                                                        const T* dw, const T* x, int batchCount, size_t* pBufferSizeInBytes) {                        \
    if (algo != 0) return CUSPARSE_STATUS_INVALID_VALUE;                                                                                                              \
    return tellSize(handle, Function::pentadiagonal, interleaved(m, {ds, dl, d, du, dw}, x, batchCount, true),                                                        \
                    "cusparse" #letter "gpsvInterleavedBatch_bufferSizeExt", pBufferSizeInBytes);                                                                     \
  }                                                                                                                                                                   \
  cusparseStatus_t cusparse##letter##gpsvInterleavedBatch(cusparseHandle_t handle, int algo, int m, T* ds, T* dl, T* d, T* du, T* dw, T* x, int batchCount, void*) {  \
    if (algo != 0) return CUSPARSE_STATUS_INVALID_VALUE;                                                                                                              \
    return run(handle, Function::pentadiagonal, interleaved(m, {ds, dl, d, du, dw}, x, batchCount, true), "cusparse" #letter "gpsvInterleavedBatch");                 \
  }
ROUSE_DIAGONALS(S, float)
ROUSE_DIAGONALS(D, double)
ROUSE_DIAGONALS(C, cuComplex)
ROUSE_DIAGONALS(Z, cuDoubleComplex)
#undef ROUSE_DIAGONALS

}  // namespace impl
}  // namespace rouse::cusparse
