// cuSPARSE: elements put in order, and a permutation with them.
#include "client-shim/cusparse/call.h"
#include "client-shim/cusparse/implementations.h"

namespace rouse::cusparse {
namespace {

using sparse::Format;
using sparse::Function;

sparse::Call describe(Format format, int m, int n, int nnz, const int* offsets, const int* indices, int* permutation, int base = 0) {
  sparse::Call call;
  call.a = csrOf(m, n, nnz, offsets, indices, nullptr, sparse::Type::f32, base);
  call.a.format = format;
  call.result = addressOf(permutation);
  return call;
}

cusparseStatus_t tellSize(cusparseHandle_t handle, Format format, int m, int n, int nnz, const char* name, std::size_t* size) {
  return with(handle, [&](Handle&) {
    const cusparseStatus_t status = consider(Function::sort, describe(format, m, n, nnz, nullptr, nullptr, nullptr), name);
    return status != CUSPARSE_STATUS_SUCCESS ? status : tellBufferSize(size);
  });
}

cusparseStatus_t sortCompressed(cusparseHandle_t handle, Format format, int m, int n, int nnz, cusparseMatDescr_t descriptor, const int* offsets, int* indices,
                                int* permutation, const char* name) {
  return with(handle, [&](Handle& found) {
    const MatrixDescriptor* const matrix = findMatrix(descriptor);
    if (matrix == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    return send(found, Function::sort, describe(format, m, n, nnz, offsets, indices, permutation, matrix->base), name);
  });
}

cusparseStatus_t sortCoo(cusparseHandle_t handle, int m, int n, int nnz, int* rows, int* cols, int* permutation, bool byColumn, const char* name) {
  return with(handle, [&](Handle& found) {
    sparse::Call call = describe(Format::coo, m, n, nnz, rows, cols, permutation);
    call.byColumn = byColumn ? 1 : 0;
    return send(found, Function::sort, call, name);
  });
}

}  // namespace

namespace impl {

cusparseStatus_t cusparseXcoosort_bufferSizeExt(cusparseHandle_t handle, int m, int n, int nnz, const int*, const int*, size_t* pBufferSizeInBytes) {
  return tellSize(handle, Format::coo, m, n, nnz, "cusparseXcoosort_bufferSizeExt", pBufferSizeInBytes);
}
cusparseStatus_t cusparseXcoosortByRow(cusparseHandle_t handle, int m, int n, int nnz, int* cooRowsA, int* cooColsA, int* P, void*) {
  return sortCoo(handle, m, n, nnz, cooRowsA, cooColsA, P, false, "cusparseXcoosortByRow");
}
cusparseStatus_t cusparseXcoosortByColumn(cusparseHandle_t handle, int m, int n, int nnz, int* cooRowsA, int* cooColsA, int* P, void*) {
  return sortCoo(handle, m, n, nnz, cooRowsA, cooColsA, P, true, "cusparseXcoosortByColumn");
}

cusparseStatus_t cusparseXcsrsort_bufferSizeExt(cusparseHandle_t handle, int m, int n, int nnz, const int*, const int*, size_t* pBufferSizeInBytes) {
  return tellSize(handle, Format::csr, m, n, nnz, "cusparseXcsrsort_bufferSizeExt", pBufferSizeInBytes);
}
cusparseStatus_t cusparseXcsrsort(cusparseHandle_t handle, int m, int n, int nnz, const cusparseMatDescr_t descrA, const int* csrRowPtrA, int* csrColIndA,
                                  int* P, void*) {
  return sortCompressed(handle, Format::csr, m, n, nnz, descrA, csrRowPtrA, csrColIndA, P, "cusparseXcsrsort");
}
cusparseStatus_t cusparseXcscsort_bufferSizeExt(cusparseHandle_t handle, int m, int n, int nnz, const int*, const int*, size_t* pBufferSizeInBytes) {
  return tellSize(handle, Format::csc, m, n, nnz, "cusparseXcscsort_bufferSizeExt", pBufferSizeInBytes);
}
cusparseStatus_t cusparseXcscsort(cusparseHandle_t handle, int m, int n, int nnz, const cusparseMatDescr_t descrA, const int* cscColPtrA, int* cscRowIndA,
                                  int* P, void*) {
  return sortCompressed(handle, Format::csc, m, n, nnz, descrA, cscColPtrA, cscRowIndA, P, "cusparseXcscsort");
}

cusparseStatus_t cusparseCreateIdentityPermutation(cusparseHandle_t handle, int n, int* p) {
  return with(handle, [&](Handle& found) {
    sparse::Call call;
    call.count = n;
    call.result = addressOf(p);
    return send(found, Function::identity, call, "cusparseCreateIdentityPermutation");
  });
}

}  // namespace impl
}  // namespace rouse::cusparse
