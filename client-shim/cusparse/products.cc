// cuSPARSE: products with dense operands.
#include "client-shim/cusparse/call.h"
#include "client-shim/cusparse/implementations.h"

namespace rouse::cusparse {
namespace {

using sparse::Function;

bool isOperation(cusparseOperation_t op) {
  return op == CUSPARSE_OPERATION_NON_TRANSPOSE || op == CUSPARSE_OPERATION_TRANSPOSE || op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE;
}

// What is common to the three: CUSPARSE_STATUS_SUCCESS, and the call as it is to be sent.
template <class DenseA, class DenseB>
cusparseStatus_t describe(const Handle& handle, cusparseOperation_t opA, cusparseOperation_t opB, const void* alpha, cusparseConstSpMatDescr_t matrix, DenseA x,
                          const void* beta, DenseB y, cudaDataType computeType, int algorithm, sparse::Call& call, bool sampled = false) {
  const SparseDescriptor* const a = findMatrix(matrix);
  const DenseDescriptor* const first = findDense(x);
  const DenseDescriptor* const second = findDense(y);
  if (a == nullptr || first == nullptr || second == nullptr || !isOperation(opA) || !isOperation(opB) || algorithm < 0 || algorithm > 255)
    return CUSPARSE_STATUS_INVALID_VALUE;
  if (!setScalars(handle, alpha, beta, typeOf(computeType), call)) return CUSPARSE_STATUS_INVALID_VALUE;
  (sampled ? call.c : call.a) = operandOf(*a);
  call.x = operandOf(*first);
  call.y = operandOf(*second);
  call.opA = operationOf(opA);
  call.opB = operationOf(opB);
  call.algorithm = static_cast<std::uint8_t>(algorithm);
  return CUSPARSE_STATUS_SUCCESS;
}

enum class Use { tellsSize, prepares, runs };

cusparseStatus_t finish(const Handle& handle, Function function, const sparse::Call& call, const char* name, Use use, std::size_t* size = nullptr) {
  if (use == Use::tellsSize && size == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  if (use == Use::runs) return send(handle, function, call, name);
  if (const cusparseStatus_t status = consider(function, call, name); status != CUSPARSE_STATUS_SUCCESS) return status;
  return use == Use::tellsSize ? tellBufferSize(size) : CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t spmv(cusparseHandle_t handle, cusparseOperation_t opA, const void* alpha, cusparseConstSpMatDescr_t matA, cusparseConstDnVecDescr_t vecX,
                      const void* beta, cusparseDnVecDescr_t vecY, cudaDataType computeType, cusparseSpMVAlg_t alg, const char* name, Use use,
                      std::size_t* size = nullptr) {
  return with(handle, [&](Handle& found) {
    sparse::Call call;
    const cusparseStatus_t status = describe(found, opA, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, matA, vecX, beta,
                                             static_cast<cusparseConstDnVecDescr_t>(vecY), computeType, static_cast<int>(alg), call);
    return status != CUSPARSE_STATUS_SUCCESS ? status : finish(found, Function::spmv, call, name, use, size);
  });
}

cusparseStatus_t spmm(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void* alpha, cusparseConstSpMatDescr_t matA,
                      cusparseConstDnMatDescr_t matB, const void* beta, cusparseDnMatDescr_t matC, cudaDataType computeType, cusparseSpMMAlg_t alg,
                      const char* name, Use use, std::size_t* size = nullptr) {
  return with(handle, [&](Handle& found) {
    sparse::Call call;
    const cusparseStatus_t status =
        describe(found, opA, opB, alpha, matA, matB, beta, static_cast<cusparseConstDnMatDescr_t>(matC), computeType, static_cast<int>(alg), call);
    return status != CUSPARSE_STATUS_SUCCESS ? status : finish(found, Function::spmm, call, name, use, size);
  });
}

cusparseStatus_t sddmm(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void* alpha, cusparseConstDnMatDescr_t matA,
                       cusparseConstDnMatDescr_t matB, const void* beta, cusparseSpMatDescr_t matC, cudaDataType computeType, cusparseSDDMMAlg_t alg,
                       const char* name, Use use, std::size_t* size = nullptr) {
  return with(handle, [&](Handle& found) {
    sparse::Call call;
    const cusparseStatus_t status = describe(found, opA, opB, alpha, matC, matA, beta, matB, computeType, static_cast<int>(alg), call, true);
    return status != CUSPARSE_STATUS_SUCCESS ? status : finish(found, Function::sddmm, call, name, use, size);
  });
}

}  // namespace

namespace impl {

cusparseStatus_t cusparseSpMV(cusparseHandle_t handle, cusparseOperation_t opA, const void* alpha, cusparseConstSpMatDescr_t matA, cusparseConstDnVecDescr_t vecX,
                              const void* beta, cusparseDnVecDescr_t vecY, cudaDataType computeType, cusparseSpMVAlg_t alg, void*) {
  return spmv(handle, opA, alpha, matA, vecX, beta, vecY, computeType, alg, "cusparseSpMV", Use::runs);
}
cusparseStatus_t cusparseSpMV_bufferSize(cusparseHandle_t handle, cusparseOperation_t opA, const void* alpha, cusparseConstSpMatDescr_t matA,
                                         cusparseConstDnVecDescr_t vecX, const void* beta, cusparseDnVecDescr_t vecY, cudaDataType computeType,
                                         cusparseSpMVAlg_t alg, size_t* bufferSize) {
  return spmv(handle, opA, alpha, matA, vecX, beta, vecY, computeType, alg, "cusparseSpMV_bufferSize", Use::tellsSize, bufferSize);
}
cusparseStatus_t cusparseSpMV_preprocess(cusparseHandle_t handle, cusparseOperation_t opA, const void* alpha, cusparseConstSpMatDescr_t matA,
                                         cusparseConstDnVecDescr_t vecX, const void* beta, cusparseDnVecDescr_t vecY, cudaDataType computeType,
                                         cusparseSpMVAlg_t alg, void*) {
  return spmv(handle, opA, alpha, matA, vecX, beta, vecY, computeType, alg, "cusparseSpMV_preprocess", Use::prepares);
}

cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void* alpha, cusparseConstSpMatDescr_t matA,
                              cusparseConstDnMatDescr_t matB, const void* beta, cusparseDnMatDescr_t matC, cudaDataType computeType, cusparseSpMMAlg_t alg, void*) {
  return spmm(handle, opA, opB, alpha, matA, matB, beta, matC, computeType, alg, "cusparseSpMM", Use::runs);
}
cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void* alpha,
                                         cusparseConstSpMatDescr_t matA, cusparseConstDnMatDescr_t matB, const void* beta, cusparseDnMatDescr_t matC,
                                         cudaDataType computeType, cusparseSpMMAlg_t alg, size_t* bufferSize) {
  return spmm(handle, opA, opB, alpha, matA, matB, beta, matC, computeType, alg, "cusparseSpMM_bufferSize", Use::tellsSize, bufferSize);
}
cusparseStatus_t cusparseSpMM_preprocess(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void* alpha,
                                         cusparseConstSpMatDescr_t matA, cusparseConstDnMatDescr_t matB, const void* beta, cusparseDnMatDescr_t matC,
                                         cudaDataType computeType, cusparseSpMMAlg_t alg, void*) {
  return spmm(handle, opA, opB, alpha, matA, matB, beta, matC, computeType, alg, "cusparseSpMM_preprocess", Use::prepares);
}

cusparseStatus_t cusparseSDDMM(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void* alpha, cusparseConstDnMatDescr_t matA,
                               cusparseConstDnMatDescr_t matB, const void* beta, cusparseSpMatDescr_t matC, cudaDataType computeType, cusparseSDDMMAlg_t alg,
                               void*) {
  return sddmm(handle, opA, opB, alpha, matA, matB, beta, matC, computeType, alg, "cusparseSDDMM", Use::runs);
}
cusparseStatus_t cusparseSDDMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void* alpha,
                                          cusparseConstDnMatDescr_t matA, cusparseConstDnMatDescr_t matB, const void* beta, cusparseSpMatDescr_t matC,
                                          cudaDataType computeType, cusparseSDDMMAlg_t alg, size_t* bufferSize) {
  return sddmm(handle, opA, opB, alpha, matA, matB, beta, matC, computeType, alg, "cusparseSDDMM_bufferSize", Use::tellsSize, bufferSize);
}
cusparseStatus_t cusparseSDDMM_preprocess(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void* alpha,
                                          cusparseConstDnMatDescr_t matA, cusparseConstDnMatDescr_t matB, const void* beta, cusparseSpMatDescr_t matC,
                                          cudaDataType computeType, cusparseSDDMMAlg_t alg, void*) {
  return sddmm(handle, opA, opB, alpha, matA, matB, beta, matC, computeType, alg, "cusparseSDDMM_preprocess", Use::prepares);
}

}  // namespace impl
}  // namespace rouse::cusparse
