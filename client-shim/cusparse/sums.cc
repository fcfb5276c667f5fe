// cuSPARSE: sums of two sparse matrices by rows (csrgeam2).
#include <cstring>

#include "client-shim/cusparse/call.h"
#include "client-shim/cusparse/implementations.h"

namespace rouse::cusparse {
namespace {

using sparse::Function;

// A matrix as the program's arguments have it.
struct Rows {
  cusparseMatDescr_t descriptor;
  int nnz;
  const void* values;
  const int* offsets;
  const int* indices;
};

cusparseStatus_t describe(int m, int n, sparse::Type type, const Rows& a, const Rows& b, const Rows& c, sparse::Call& call) {
  const auto matrix = [&](const Rows& from, sparse::Sparse& to) {
    to = csrOf(m, n, from.nnz, from.offsets, from.indices, from.values, type, 0);
    return takeAttributes(from.descriptor, to);
  };
  return matrix(a, call.a) && matrix(b, call.b) && matrix(c, call.c) ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_INVALID_VALUE;
}

template <class T>
cusparseStatus_t tellSize(cusparseHandle_t handle, int m, int n, const T* alpha, const Rows& a, const T* beta, const Rows& b, const Rows& c, const char* name,
                          std::size_t* size) {
  return with(handle, [&](Handle& found) {
    sparse::Call call;
    if (!setScalars(found, alpha, beta, kTypeOf<T>, call)) return CUSPARSE_STATUS_INVALID_VALUE;
    if (const cusparseStatus_t status = describe(m, n, kTypeOf<T>, a, b, c, call); status != CUSPARSE_STATUS_SUCCESS) return status;
    const cusparseStatus_t status = consider(Function::sum, call, name);
    return status != CUSPARSE_STATUS_SUCCESS ? status : tellBufferSize(size);
  });
}

// How many elements C has is not said: the executor finds it again.
template <class T>
cusparseStatus_t add(cusparseHandle_t handle, int m, int n, const T* alpha, const Rows& a, const T* beta, const Rows& b, const Rows& c, const char* name) {
  return with(handle, [&](Handle& found) {
    sparse::Call call;
    if (!setScalars(found, alpha, beta, kTypeOf<T>, call)) return CUSPARSE_STATUS_INVALID_VALUE;
    if (const cusparseStatus_t status = describe(m, n, kTypeOf<T>, a, b, c, call); status != CUSPARSE_STATUS_SUCCESS) return status;
    return send(found, Function::sum, call, name);
  });
}

}  // namespace

namespace impl {

// Counted on the host's behalf it is waited for; counted for the device's it is not.
cusparseStatus_t cusparseXcsrgeam2Nnz(cusparseHandle_t handle, int m, int n, const cusparseMatDescr_t descrA, int nnzA, const int* csrSortedRowPtrA,
                                      const int* csrSortedColIndA, const cusparseMatDescr_t descrB, int nnzB, const int* csrSortedRowPtrB,
                                      const int* csrSortedColIndB, const cusparseMatDescr_t descrC, int* csrSortedRowPtrC, int* nnzTotalDevHostPtr, void*) {
  return with(handle, [&](Handle& found) {
    sparse::Call call;
    const cusparseStatus_t status =
        describe(m, n, sparse::Type::f32, {descrA, nnzA, nullptr, csrSortedRowPtrA, csrSortedColIndA},
                                  {descrB, nnzB, nullptr, csrSortedRowPtrB, csrSortedColIndB}, {descrC, 0, nullptr, csrSortedRowPtrC, nullptr}, call);
    if (status != CUSPARSE_STATUS_SUCCESS || nnzTotalDevHostPtr == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    if (found.scalarsInMemory) {
      call.result = addressOf(nnzTotalDevHostPtr);
      return send(found, Function::sumCount, call, "cusparseXcsrgeam2Nnz");
    }
    std::int64_t elements = 0;
    if (const cusparseStatus_t asked = ask(found, Function::sumCount, call, "cusparseXcsrgeam2Nnz", elements); asked != CUSPARSE_STATUS_SUCCESS) return asked;
    if (elements > sparse::kMostInt) return CUSPARSE_STATUS_INSUFFICIENT_RESOURCES;
    *nnzTotalDevHostPtr = static_cast<int>(elements);
    return CUSPARSE_STATUS_SUCCESS;
  });
}

#define ROUSE_CSRGEAM2(letter, T)                                                                                                                                     \
  cusparseStatus_t cusparse##letter##csrgeam2_bufferSizeExt(                                                                                                          \
      cusparseHandle_t handle, int m, int n, const T* alpha, const cusparseMatDescr_t descrA, int nnzA, const T* csrSortedValA, const int* csrSortedRowPtrA,          \
      const int* csrSortedColIndA, const T* beta, const cusparseMatDescr_t descrB, int nnzB, const T* csrSortedValB, const int* csrSortedRowPtrB,                     \
      const int* csrSortedColIndB, const cusparseMatDescr_t descrC, const T* csrSortedValC, const int* csrSortedRowPtrC, const int* csrSortedColIndC,                 \
      size_t* pBufferSizeInBytes) {                                                                                                                                   \
    return tellSize(handle, m, n, alpha, {descrA, nnzA, csrSortedValA, csrSortedRowPtrA, csrSortedColIndA}, beta,                                                     \
                    {descrB, nnzB, csrSortedValB, csrSortedRowPtrB, csrSortedColIndB}, {descrC, 0, csrSortedValC, csrSortedRowPtrC, csrSortedColIndC},                \
                    "cusparse" #letter "csrgeam2_bufferSizeExt", pBufferSizeInBytes);                                                                                 \
  }                                                                                                                                                                   \
  cusparseStatus_t cusparse##letter##csrgeam2(                                                                                                                        \
      cusparseHandle_t handle, int m, int n, const T* alpha, const cusparseMatDescr_t descrA, int nnzA, const T* csrSortedValA, const int* csrSortedRowPtrA,          \
      const int* csrSortedColIndA, const T* beta, const cusparseMatDescr_t descrB, int nnzB, const T* csrSortedValB, const int* csrSortedRowPtrB,                     \
      const int* csrSortedColIndB, const cusparseMatDescr_t descrC, T* csrSortedValC, int* csrSortedRowPtrC, int* csrSortedColIndC, void*) {                          \
    return add(handle, m, n, alpha, {descrA, nnzA, csrSortedValA, csrSortedRowPtrA, csrSortedColIndA}, beta,                                                          \
               {descrB, nnzB, csrSortedValB, csrSortedRowPtrB, csrSortedColIndB}, {descrC, 0, csrSortedValC, csrSortedRowPtrC, csrSortedColIndC},                     \
               "cusparse" #letter "csrgeam2");                                                                                                                        \
  }
ROUSE_CSRGEAM2(S, float)
ROUSE_CSRGEAM2(D, double)
ROUSE_CSRGEAM2(C, cuComplex)
ROUSE_CSRGEAM2(Z, cuDoubleComplex)
#undef ROUSE_CSRGEAM2

}  // namespace impl
}  // namespace rouse::cusparse
