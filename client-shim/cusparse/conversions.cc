// cuSPARSE: from one format into another. How many elements a dense matrix has that are not 0 is counted by the executor, and waited for.
#include "client-shim/cusparse/call.h"
#include "client-shim/cusparse/implementations.h"

namespace rouse::cusparse {
namespace {

using sparse::Function;

cusparseStatus_t toDense(cusparseConstSpMatDescr_t matA, cusparseDnMatDescr_t matB, int algorithm, sparse::Call& call) {
  const SparseDescriptor* const a = findMatrix(matA);
  const DenseDescriptor* const b = findDense(static_cast<cusparseConstDnMatDescr_t>(matB));
  if (a == nullptr || b == nullptr || algorithm != 0) return CUSPARSE_STATUS_INVALID_VALUE;
  call.a = operandOf(*a);
  call.y = operandOf(*b);
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t fromDense(cusparseConstDnMatDescr_t matA, cusparseSpMatDescr_t matB, int algorithm, SparseDescriptor*& result, sparse::Call& call) {
  const DenseDescriptor* const a = findDense(matA);
  result = findMatrix(static_cast<cusparseConstSpMatDescr_t>(matB));
  if (a == nullptr || result == nullptr || algorithm != 0) return CUSPARSE_STATUS_INVALID_VALUE;
  call.x = operandOf(*a);
  call.c = operandOf(*result);
  return CUSPARSE_STATUS_SUCCESS;
}

// Two arrays of one matrix: rows of all elements, and where each row begins.
sparse::Call offsetsCall(const int* from, int* to, int nnz, int m, cusparseIndexBase_t idxBase, bool compresses) {
  sparse::Call call;
  call.a = csrOf(m, 0, nnz, from, nullptr, nullptr, sparse::Type::f32, idxBase);
  call.c = csrOf(m, 0, nnz, to, nullptr, nullptr, sparse::Type::f32, idxBase);
  (compresses ? call.a : call.c).format = sparse::Format::coo;
  return call;
}

// csrVal and cscVal: null where only the pattern is wanted.
sparse::Call transposition(int m, int n, int nnz, const void* csrVal, const int* csrRowPtr, const int* csrColInd, void* cscVal, int* cscColPtr, int* cscRowInd,
                           cudaDataType valType, cusparseAction_t copyValues, cusparseIndexBase_t idxBase) {
  const bool values = copyValues == CUSPARSE_ACTION_NUMERIC;
  sparse::Call call;
  call.a = csrOf(m, n, nnz, csrRowPtr, csrColInd, values ? csrVal : nullptr, typeOf(valType), idxBase);
  call.c = csrOf(m, n, nnz, cscColPtr, cscRowInd, values ? cscVal : nullptr, typeOf(valType), idxBase);
  call.c.format = sparse::Format::csc;
  return call;
}

}  // namespace

namespace impl {

cusparseStatus_t cusparseSparseToDense_bufferSize(cusparseHandle_t handle, cusparseConstSpMatDescr_t matA, cusparseDnMatDescr_t matB,
                                                  cusparseSparseToDenseAlg_t alg, size_t* bufferSize) {
  return with(handle, [&](Handle&) {
    sparse::Call call;
    if (const cusparseStatus_t status = toDense(matA, matB, static_cast<int>(alg), call); status != CUSPARSE_STATUS_SUCCESS) return status;
    if (const cusparseStatus_t status = consider(Function::toDense, call, "cusparseSparseToDense_bufferSize"); status != CUSPARSE_STATUS_SUCCESS) return status;
    return tellBufferSize(bufferSize);
  });
}
cusparseStatus_t cusparseSparseToDense(cusparseHandle_t handle, cusparseConstSpMatDescr_t matA, cusparseDnMatDescr_t matB, cusparseSparseToDenseAlg_t alg, void*) {
  return with(handle, [&](Handle& found) {
    sparse::Call call;
    const cusparseStatus_t status = toDense(matA, matB, static_cast<int>(alg), call);
    return status != CUSPARSE_STATUS_SUCCESS ? status : send(found, Function::toDense, call, "cusparseSparseToDense");
  });
}

cusparseStatus_t cusparseDenseToSparse_bufferSize(cusparseHandle_t handle, cusparseConstDnMatDescr_t matA, cusparseSpMatDescr_t matB,
                                                  cusparseDenseToSparseAlg_t alg, size_t* bufferSize) {
  return with(handle, [&](Handle&) {
    sparse::Call call;
    SparseDescriptor* result = nullptr;
    if (const cusparseStatus_t status = fromDense(matA, matB, static_cast<int>(alg), result, call); status != CUSPARSE_STATUS_SUCCESS) return status;
    if (const cusparseStatus_t status = consider(Function::fromDense, call, "cusparseDenseToSparse_bufferSize"); status != CUSPARSE_STATUS_SUCCESS) return status;
    return tellBufferSize(bufferSize);
  });
}
cusparseStatus_t cusparseDenseToSparse_analysis(cusparseHandle_t handle, cusparseConstDnMatDescr_t matA, cusparseSpMatDescr_t matB, cusparseDenseToSparseAlg_t alg,
                                                void*) {
  return with(handle, [&](Handle& found) {
    sparse::Call call;
    SparseDescriptor* result = nullptr;
    if (const cusparseStatus_t status = fromDense(matA, matB, static_cast<int>(alg), result, call); status != CUSPARSE_STATUS_SUCCESS) return status;
    if (const cusparseStatus_t status = consider(Function::fromDense, call, "cusparseDenseToSparse_analysis"); status != CUSPARSE_STATUS_SUCCESS) return status;
    call.c = {};
    std::int64_t elements = 0;
    if (const cusparseStatus_t status = ask(found, Function::fromDenseCount, call, "cusparseDenseToSparse_analysis", elements); status != CUSPARSE_STATUS_SUCCESS)
      return status;
    if (result->what.indicesType == sparse::Index::i32 && elements > sparse::kMostInt) return CUSPARSE_STATUS_INSUFFICIENT_RESOURCES;
    result->what.nnz = elements;
    return CUSPARSE_STATUS_SUCCESS;
  });
}
cusparseStatus_t cusparseDenseToSparse_convert(cusparseHandle_t handle, cusparseConstDnMatDescr_t matA, cusparseSpMatDescr_t matB,
                                               cusparseDenseToSparseAlg_t alg, void*) {
  return with(handle, [&](Handle& found) {
    sparse::Call call;
    SparseDescriptor* result = nullptr;
    const cusparseStatus_t status = fromDense(matA, matB, static_cast<int>(alg), result, call);
    return status != CUSPARSE_STATUS_SUCCESS ? status : send(found, Function::fromDense, call, "cusparseDenseToSparse_convert");
  });
}

cusparseStatus_t cusparseXcoo2csr(cusparseHandle_t handle, const int* cooRowInd, int nnz, int m, int* csrSortedRowPtr, cusparseIndexBase_t idxBase) {
  return with(handle, [&](Handle& found) {
    return send(found, Function::compress, offsetsCall(cooRowInd, csrSortedRowPtr, nnz, m, idxBase, true), "cusparseXcoo2csr");
  });
}
cusparseStatus_t cusparseXcsr2coo(cusparseHandle_t handle, const int* csrSortedRowPtr, int nnz, int m, int* cooRowInd, cusparseIndexBase_t idxBase) {
  return with(handle, [&](Handle& found) {
    return send(found, Function::expand, offsetsCall(csrSortedRowPtr, cooRowInd, nnz, m, idxBase, false), "cusparseXcsr2coo");
  });
}

cusparseStatus_t cusparseCsr2cscEx2_bufferSize(cusparseHandle_t handle, int m, int n, int nnz, const void* csrVal, const int* csrRowPtr, const int* csrColInd,
                                               void* cscVal, int* cscColPtr, int* cscRowInd, cudaDataType valType, cusparseAction_t copyValues,
                                               cusparseIndexBase_t idxBase, cusparseCsr2CscAlg_t, size_t* bufferSize) {
  return with(handle, [&](Handle&) {
    const sparse::Call call = transposition(m, n, nnz, csrVal, csrRowPtr, csrColInd, cscVal, cscColPtr, cscRowInd, valType, copyValues, idxBase);
    const cusparseStatus_t status = consider(Function::transpose, call, "cusparseCsr2cscEx2_bufferSize");
    return status != CUSPARSE_STATUS_SUCCESS ? status : tellBufferSize(bufferSize);
  });
}
cusparseStatus_t cusparseCsr2cscEx2(cusparseHandle_t handle, int m, int n, int nnz, const void* csrVal, const int* csrRowPtr, const int* csrColInd,
                                    void* cscVal, int* cscColPtr, int* cscRowInd, cudaDataType valType, cusparseAction_t copyValues,
                                    cusparseIndexBase_t idxBase, cusparseCsr2CscAlg_t, void*) {
  return with(handle, [&](Handle& found) {
    if (copyValues == CUSPARSE_ACTION_NUMERIC && nnz > 0 && (csrVal == nullptr || cscVal == nullptr)) return CUSPARSE_STATUS_INVALID_VALUE;
    return send(found, Function::transpose, transposition(m, n, nnz, csrVal, csrRowPtr, csrColInd, cscVal, cscColPtr, cscRowInd, valType, copyValues, idxBase),
                "cusparseCsr2cscEx2");
  });
}

}  // namespace impl
}  // namespace rouse::cusparse
