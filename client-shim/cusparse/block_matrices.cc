// cuSPARSE: the classic interface's products and triangles of block matrices (bsrmv, bsrmm, bsrsv2, bsrsm2). Each is one of the calls that the generic interface makes.
#include "client-shim/cusparse/call.h"
#include "client-shim/cusparse/implementations.h"
#include "client-shim/cusparse/pivots.h"

namespace rouse::cusparse {
namespace {

using sparse::Function;

struct Blocks {
  cusparseDirection_t direction;
  int rows, cols, nnz;  // in blocks
  cusparseMatDescr_t descriptor;
  const void* values;
  const int* offsets;
  const int* indices;
  int size;
};

cusparseStatus_t describe(const Blocks& from, sparse::Type type, sparse::Sparse& to) {
  if (from.size < 1 || from.rows < 0 || from.cols < 0 || (from.direction != CUSPARSE_DIRECTION_ROW && from.direction != CUSPARSE_DIRECTION_COLUMN))
    return CUSPARSE_STATUS_INVALID_VALUE;
  const std::int64_t size = from.size;
  to = csrOf(from.rows * size, from.cols * size, from.nnz, from.offsets, from.indices, from.values, type, 0);
  to.format = sparse::Format::bsr;
  to.blockRows = to.blockCols = size;
  to.order = from.direction == CUSPARSE_DIRECTION_ROW ? sparse::Order::row : sparse::Order::column;
  if (!takeAttributes(from.descriptor, to)) return CUSPARSE_STATUS_INVALID_VALUE;
  return findMatrix(from.descriptor)->type == CUSPARSE_MATRIX_TYPE_GENERAL ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
}

// By columns, as the classic interface has them.
sparse::Dense denseOf(std::int64_t rows, std::int64_t cols, std::int64_t spacing, const void* values, sparse::Type type) {
  sparse::Dense dense;
  dense.rows = rows;
  dense.cols = cols;
  dense.spacing = spacing;
  dense.values = addressOf(values);
  dense.type = type;
  dense.order = sparse::Order::column;
  dense.batch = 1;
  return dense;
}

template <class T>
cusparseStatus_t multiply(cusparseHandle_t handle, cusparseOperation_t transA, const Blocks& a, const T* alpha, const T* x, const T* beta, T* y, const char* name) {
  return with(handle, [&](Handle& found) {
    sparse::Call call;
    if (!setScalars(found, alpha, beta, kTypeOf<T>, call)) return CUSPARSE_STATUS_INVALID_VALUE;
    if (const cusparseStatus_t status = describe(a, kTypeOf<T>, call.a); status != CUSPARSE_STATUS_SUCCESS) return status;
    call.opA = operationOf(transA);
    const std::int64_t rows = sparse::rowsOf(call.a, call.opA), cols = sparse::colsOf(call.a, call.opA);
    call.x = denseOf(cols, 1, cols, x, kTypeOf<T>);
    call.y = denseOf(rows, 1, rows, y, kTypeOf<T>);
    return send(found, Function::spmv, call, name);
  });
}

template <class T>
cusparseStatus_t multiply(cusparseHandle_t handle, cusparseOperation_t transA, cusparseOperation_t transB, int n, const Blocks& a, const T* alpha, const T* b,
                          int ldb, const T* beta, T* c, int ldc, const char* name) {
  return with(handle, [&](Handle& found) {
    sparse::Call call;
    if (!setScalars(found, alpha, beta, kTypeOf<T>, call)) return CUSPARSE_STATUS_INVALID_VALUE;
    if (const cusparseStatus_t status = describe(a, kTypeOf<T>, call.a); status != CUSPARSE_STATUS_SUCCESS) return status;
    call.opA = operationOf(transA);
    call.opB = operationOf(transB);
    const std::int64_t rows = sparse::rowsOf(call.a, call.opA), cols = sparse::colsOf(call.a, call.opA);
    call.x = call.opB == sparse::Operation::none ? denseOf(cols, n, ldb, b, kTypeOf<T>) : denseOf(n, cols, ldb, b, kTypeOf<T>);
    call.y = denseOf(rows, n, ldc, c, kTypeOf<T>);
    return send(found, Function::spmm, call, name);
  });
}

// Of sizes and analyses; the right sides are of no matter then.
template <class T>
cusparseStatus_t considerSolve(cusparseHandle_t handle, cusparseOperation_t transA, cusparseOperation_t transX, int n, const Blocks& a, const void* info,
                               const char* name, bool analyses) {
  return with(handle, [&](Handle&) {
    auto* const state = find<InfoDescriptor>(info, Kind::info);
    sparse::Call call;
    if (state == nullptr || n < 0) return CUSPARSE_STATUS_INVALID_VALUE;
    if (const cusparseStatus_t status = describe(a, kTypeOf<T>, call.a); status != CUSPARSE_STATUS_SUCCESS) return status;
    call.opA = operationOf(transA);
    call.opB = operationOf(transX);
    call.computeType = kTypeOf<T>;
    const bool turned = call.opB != sparse::Operation::none;
    call.x = turned ? denseOf(n, call.a.rows, n, nullptr, kTypeOf<T>) : denseOf(call.a.rows, n, call.a.rows, nullptr, kTypeOf<T>);
    call.y = denseOf(call.a.rows, n, call.a.rows, nullptr, kTypeOf<T>);
    const cusparseStatus_t status = consider(Function::solve, call, name);
    if (status == CUSPARSE_STATUS_SUCCESS && analyses) state->analysed = true;
    return status;
  });
}

// op(A) op(X) = alpha op(B): the same operation on both right sides, so that results of transposed ones lie by rows.
template <class T>
cusparseStatus_t solve(cusparseHandle_t handle, cusparseOperation_t transA, cusparseOperation_t transX, int n, const Blocks& a, const T* alpha,
                       const void* info, const T* b, int ldb, T* x, int ldx, const char* name) {
  return with(handle, [&](Handle& found) {
    auto* const state = find<InfoDescriptor>(info, Kind::info);
    sparse::Call call;
    if (state == nullptr || !state->analysed || alpha == nullptr || n < 0) return CUSPARSE_STATUS_INVALID_VALUE;
    if (const cusparseStatus_t status = describe(a, kTypeOf<T>, call.a); status != CUSPARSE_STATUS_SUCCESS) return status;
    if (transX == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE && sparse::isComplex(kTypeOf<T>)) return refuse(name, "conjugated right sides");
    call.opA = operationOf(transA);
    call.computeType = kTypeOf<T>;
    call.scalars = found.scalarsInMemory ? sparse::Scalars::inMemory : sparse::Scalars::inCall;
    call.alpha = scalarOf(found, alpha, kTypeOf<T>);
    const std::int64_t rows = call.a.rows;
    call.x = denseOf(rows, n, ldb, b, kTypeOf<T>);
    call.y = denseOf(rows, n, ldx, x, kTypeOf<T>);
    if (transX != CUSPARSE_OPERATION_NON_TRANSPOSE) call.x.order = call.y.order = sparse::Order::row;
    if (const cusparseStatus_t status = watchPivot(*state, call); status != CUSPARSE_STATUS_SUCCESS) return status;
    return send(found, Function::solve, call, name);
  });
}

}  // namespace

namespace impl {

cusparseStatus_t cusparseXbsrsv2_zeroPivot(cusparseHandle_t handle, bsrsv2Info_t info, int* position) { return tellPivot(handle, info, position); }
cusparseStatus_t cusparseXbsrsm2_zeroPivot(cusparseHandle_t handle, bsrsm2Info_t info, int* position) { return tellPivot(handle, info, position); }

#define ROUSE_BLOCKS(letter, T)                                                                                                                                        \
  cusparseStatus_t cusparse##letter##bsrmv(cusparseHandle_t handle, cusparseDirection_t dirA, cusparseOperation_t transA, int mb, int nb, int nnzb, const T* alpha,    \
                                           const cusparseMatDescr_t descrA, const T* bsrSortedValA, const int* bsrSortedRowPtrA, const int* bsrSortedColIndA,          \
                                           int blockDim, const T* x, const T* beta, T* y) {                                                                            \
    return multiply(handle, transA, {dirA, mb, nb, nnzb, descrA, bsrSortedValA, bsrSortedRowPtrA, bsrSortedColIndA, blockDim}, alpha, x, beta, y,                      \
                    "cusparse" #letter "bsrmv");                                                                                                                       \
  }                                                                                                                                                                    \
  cusparseStatus_t cusparse##letter##bsrmm(cusparseHandle_t handle, cusparseDirection_t dirA, cusparseOperation_t transA, cusparseOperation_t transB, int mb, int n,   \
                                           int kb, int nnzb, const T* alpha, const cusparseMatDescr_t descrA, const T* bsrSortedValA, const int* bsrSortedRowPtrA,     \
                                           const int* bsrSortedColIndA, const int blockSize, const T* B, const int ldb, const T* beta, T* C, int ldc) {                \
    return multiply(handle, transA, transB, n, {dirA, mb, kb, nnzb, descrA, bsrSortedValA, bsrSortedRowPtrA, bsrSortedColIndA, blockSize}, alpha, B, ldb, beta, C,     \
                    ldc, "cusparse" #letter "bsrmm");                                                                                                                  \
  }                                                                                                                                                                    \
  cusparseStatus_t cusparse##letter##bsrsv2_bufferSize(cusparseHandle_t handle, cusparseDirection_t dirA, cusparseOperation_t transA, int mb, int nnzb,                \
                                                       const cusparseMatDescr_t descrA, T* bsrSortedValA, const int* bsrSortedRowPtrA,                                 \
                                                       const int* bsrSortedColIndA, int blockDim, bsrsv2Info_t info, int* pBufferSizeInBytes) {                        \
    const cusparseStatus_t status = considerSolve<T>(handle, transA, CUSPARSE_OPERATION_NON_TRANSPOSE, 1,                                                              \
                                                     {dirA, mb, mb, nnzb, descrA, bsrSortedValA, bsrSortedRowPtrA, bsrSortedColIndA, blockDim}, info,                  \
                                                     "cusparse" #letter "bsrsv2_bufferSize", false);                                                                   \
    return status != CUSPARSE_STATUS_SUCCESS ? status : tellBufferSize(pBufferSizeInBytes);                                                                            \
  }                                                                                                                                                                    \
  cusparseStatus_t cusparse##letter##bsrsv2_analysis(cusparseHandle_t handle, cusparseDirection_t dirA, cusparseOperation_t transA, int mb, int nnzb,                  \
                                                     const cusparseMatDescr_t descrA, const T* bsrSortedValA, const int* bsrSortedRowPtrA,                             \
                                                     const int* bsrSortedColIndA, int blockDim, bsrsv2Info_t info, cusparseSolvePolicy_t, void*) {                     \
    return considerSolve<T>(handle, transA, CUSPARSE_OPERATION_NON_TRANSPOSE, 1,                                                                                       \
                            {dirA, mb, mb, nnzb, descrA, bsrSortedValA, bsrSortedRowPtrA, bsrSortedColIndA, blockDim}, info, "cusparse" #letter "bsrsv2_analysis",     \
                            true);                                                                                                                                     \
  }                                                                                                                                                                    \
  cusparseStatus_t cusparse##letter##bsrsv2_solve(cusparseHandle_t handle, cusparseDirection_t dirA, cusparseOperation_t transA, int mb, int nnzb, const T* alpha,     \
                                                  const cusparseMatDescr_t descrA, const T* bsrSortedValA, const int* bsrSortedRowPtrA,                                \
                                                  const int* bsrSortedColIndA, int blockDim, bsrsv2Info_t info, const T* f, T* x, cusparseSolvePolicy_t, void*) {      \
    const int rows = mb < 0 || blockDim < 1 || mb > sparse::kMostInt / blockDim ? 0 : mb * blockDim;                                                                   \
    return solve(handle, transA, CUSPARSE_OPERATION_NON_TRANSPOSE, 1, {dirA, mb, mb, nnzb, descrA, bsrSortedValA, bsrSortedRowPtrA, bsrSortedColIndA, blockDim},       \
                 alpha, info, f, rows, x, rows, "cusparse" #letter "bsrsv2_solve");                                                                                    \
  }                                                                                                                                                                    \
  cusparseStatus_t cusparse##letter##bsrsm2_bufferSize(cusparseHandle_t handle, cusparseDirection_t dirA, cusparseOperation_t transA, cusparseOperation_t transXY,     \
                                                       int mb, int n, int nnzb, const cusparseMatDescr_t descrA, T* bsrSortedVal, const int* bsrSortedRowPtr,          \
                                                       const int* bsrSortedColInd, int blockSize, bsrsm2Info_t info, int* pBufferSizeInBytes) {                        \
    const cusparseStatus_t status = considerSolve<T>(handle, transA, transXY, n,                                                                                       \
                                                     {dirA, mb, mb, nnzb, descrA, bsrSortedVal, bsrSortedRowPtr, bsrSortedColInd, blockSize}, info,                    \
                                                     "cusparse" #letter "bsrsm2_bufferSize", false);                                                                   \
    return status != CUSPARSE_STATUS_SUCCESS ? status : tellBufferSize(pBufferSizeInBytes);                                                                            \
  }                                                                                                                                                                    \
  cusparseStatus_t cusparse##letter##bsrsm2_analysis(cusparseHandle_t handle, cusparseDirection_t dirA, cusparseOperation_t transA, cusparseOperation_t transXY,       \
                                                     int mb, int n, int nnzb, const cusparseMatDescr_t descrA, const T* bsrSortedVal, const int* bsrSortedRowPtr,      \
                                                     const int* bsrSortedColInd, int blockSize, bsrsm2Info_t info, cusparseSolvePolicy_t, void*) {                     \
    return considerSolve<T>(handle, transA, transXY, n, {dirA, mb, mb, nnzb, descrA, bsrSortedVal, bsrSortedRowPtr, bsrSortedColInd, blockSize}, info,                 \
                            "cusparse" #letter "bsrsm2_analysis", true);                                                                                               \
  }                                                                                                                                                                    \
  cusparseStatus_t cusparse##letter##bsrsm2_solve(cusparseHandle_t handle, cusparseDirection_t dirA, cusparseOperation_t transA, cusparseOperation_t transXY, int mb,  \
                                                  int n, int nnzb, const T* alpha, const cusparseMatDescr_t descrA, const T* bsrSortedVal,                             \
                                                  const int* bsrSortedRowPtr, const int* bsrSortedColInd, int blockSize, bsrsm2Info_t info, const T* B, int ldb, T* X, \
                                                  int ldx, cusparseSolvePolicy_t, void*) {                                                                             \
    return solve(handle, transA, transXY, n, {dirA, mb, mb, nnzb, descrA, bsrSortedVal, bsrSortedRowPtr, bsrSortedColInd, blockSize}, alpha, info, B, ldb, X, ldx,     \
                 "cusparse" #letter "bsrsm2_solve");                                                                                                                   \
  }
ROUSE_BLOCKS(S, float)
ROUSE_BLOCKS(D, double)
ROUSE_BLOCKS(C, cuComplex)
ROUSE_BLOCKS(Z, cuDoubleComplex)
#undef ROUSE_BLOCKS

}  // namespace impl
}  // namespace rouse::cusparse
