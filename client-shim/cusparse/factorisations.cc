// cuSPARSE: incomplete factorisations of sparse matrices by rows (csrilu02, csric02).
#include "client-shim/cusparse/implementations.h"
#include "client-shim/cusparse/pivots.h"

namespace rouse::cusparse {
namespace {

using sparse::Function;

struct Rows {
  int m, nnz;
  cusparseMatDescr_t descriptor;
  const void* values;
  const int* offsets;
  const int* indices;
};

cusparseStatus_t describe(const Rows& from, sparse::Type type, sparse::Call& call) {
  call.a = csrOf(from.m, from.m, from.nnz, from.offsets, from.indices, from.values, type, 0);
  call.computeType = type;
  if (!takeAttributes(from.descriptor, call.a)) return CUSPARSE_STATUS_INVALID_VALUE;
  return findMatrix(from.descriptor)->type == CUSPARSE_MATRIX_TYPE_GENERAL ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
}

cusparseStatus_t considerRows(cusparseHandle_t handle, Function function, const Rows& rows, sparse::Type type, const void* info, const char* name, bool analyses) {
  return with(handle, [&](Handle&) {
    auto* const state = find<InfoDescriptor>(info, Kind::info);
    sparse::Call call;
    if (state == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    if (const cusparseStatus_t status = describe(rows, type, call); status != CUSPARSE_STATUS_SUCCESS) return status;
    const cusparseStatus_t status = consider(function, call, name);
    if (status == CUSPARSE_STATUS_SUCCESS && analyses) state->analysed = true;
    return status;
  });
}

cusparseStatus_t factorise(cusparseHandle_t handle, Function function, const Rows& rows, sparse::Type type, const void* info, const char* name) {
  return with(handle, [&](Handle& found) {
    auto* const state = find<InfoDescriptor>(info, Kind::info);
    sparse::Call call;
    if (state == nullptr || !state->analysed) return CUSPARSE_STATUS_INVALID_VALUE;
    if (const cusparseStatus_t status = describe(rows, type, call); status != CUSPARSE_STATUS_SUCCESS) return status;
    if (function == Function::lu && state->boosts) {
      call.boosted = 1;
      call.scalars = found.scalarsInMemory ? sparse::Scalars::inMemory : sparse::Scalars::inCall;
      call.alpha = scalarOf(found, state->tolerance, sparse::Type::f64);
      call.beta = scalarOf(found, state->boost, type);
    }
    if (const cusparseStatus_t status = watchPivot(*state, call); status != CUSPARSE_STATUS_SUCCESS) return status;
    return send(found, function, call, name);
  });
}

// The numbers are read where they are when the matrix is factorised.
cusparseStatus_t boost(cusparseHandle_t handle, const void* info, int enable, const double* tolerance, const void* value) {
  return with(handle, [&](Handle&) {
    auto* const state = find<InfoDescriptor>(info, Kind::info);
    if (state == nullptr || (enable != 0 && (tolerance == nullptr || value == nullptr))) return CUSPARSE_STATUS_INVALID_VALUE;
    state->boosts = enable != 0;
    state->tolerance = tolerance;
    state->boost = value;
    return CUSPARSE_STATUS_SUCCESS;
  });
}

}  // namespace

namespace impl {

cusparseStatus_t cusparseXcsrilu02_zeroPivot(cusparseHandle_t handle, csrilu02Info_t info, int* position) { return tellPivot(handle, info, position); }
cusparseStatus_t cusparseXcsric02_zeroPivot(cusparseHandle_t handle, csric02Info_t info, int* position) { return tellPivot(handle, info, position); }

#define ROUSE_FACTORISATION(letter, T, which, function)                                                                                                             \
  cusparseStatus_t cusparse##letter##which##_bufferSize(cusparseHandle_t handle, int m, int nnz, const cusparseMatDescr_t descrA, T* csrSortedValA,                  \
                                                        const int* csrSortedRowPtrA, const int* csrSortedColIndA, which##Info_t info, int* pBufferSizeInBytes) {     \
    const cusparseStatus_t status = considerRows(handle, function, {m, nnz, descrA, csrSortedValA, csrSortedRowPtrA, csrSortedColIndA}, kTypeOf<T>, info,            \
                                                 "cusparse" #letter #which "_bufferSize", false);                                                                    \
    return status != CUSPARSE_STATUS_SUCCESS ? status : tellBufferSize(pBufferSizeInBytes);                                                                          \
  }                                                                                                                                                                  \
  cusparseStatus_t cusparse##letter##which##_analysis(cusparseHandle_t handle, int m, int nnz, const cusparseMatDescr_t descrA, const T* csrSortedValA,              \
                                                      const int* csrSortedRowPtrA, const int* csrSortedColIndA, which##Info_t info, cusparseSolvePolicy_t, void*) {  \
    return considerRows(handle, function, {m, nnz, descrA, csrSortedValA, csrSortedRowPtrA, csrSortedColIndA}, kTypeOf<T>, info,                                     \
                        "cusparse" #letter #which "_analysis", true);                                                                                                \
  }                                                                                                                                                                  \
  cusparseStatus_t cusparse##letter##which(cusparseHandle_t handle, int m, int nnz, const cusparseMatDescr_t descrA, T* csrSortedValA_valM,                          \
                                           const int* csrSortedRowPtrA, const int* csrSortedColIndA, which##Info_t info, cusparseSolvePolicy_t, void*) {             \
    return factorise(handle, function, {m, nnz, descrA, csrSortedValA_valM, csrSortedRowPtrA, csrSortedColIndA}, kTypeOf<T>, info, "cusparse" #letter #which);       \
  }
#define ROUSE_BOOST(letter, T)                                                                                                                     \
  cusparseStatus_t cusparse##letter##csrilu02_numericBoost(cusparseHandle_t handle, csrilu02Info_t info, int enable_boost, double* tol, T* boost_val) { \
    return boost(handle, info, enable_boost, tol, boost_val);                                                                                      \
  }
#define ROUSE_FACTORISATIONS(letter, T)                            \
  ROUSE_FACTORISATION(letter, T, csrilu02, Function::lu)           \
  ROUSE_FACTORISATION(letter, T, csric02, Function::cholesky)      \
  ROUSE_BOOST(letter, T)
ROUSE_FACTORISATIONS(S, float)
ROUSE_FACTORISATIONS(D, double)
ROUSE_FACTORISATIONS(C, cuComplex)
ROUSE_FACTORISATIONS(Z, cuDoubleComplex)
#undef ROUSE_FACTORISATIONS
#undef ROUSE_BOOST
#undef ROUSE_FACTORISATION

}  // namespace impl
}  // namespace rouse::cusparse
