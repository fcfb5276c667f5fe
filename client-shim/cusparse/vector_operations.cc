// cuSPARSE: operations on a sparse and a dense vector.
#include <cstring>

#include "client-shim/cusparse/call.h"
#include "client-shim/cusparse/implementations.h"

namespace rouse::cusparse {
namespace {

using sparse::Function;

// Scalars of vectors in 16 bits are floats.
sparse::Type computeTypeOf(sparse::Type type) { return type == sparse::Type::f16 || type == sparse::Type::bf16 ? sparse::Type::f32 : type; }

cusparseStatus_t scaled(cusparseHandle_t handle, Function function, const void* alpha, cusparseConstSpVecDescr_t vecX, const void* beta, cusparseDnVecDescr_t vecY,
                        const char* name) {
  return with(handle, [&](Handle& found) {
    const SparseDescriptor* const x = findVector(vecX);
    const DenseDescriptor* const y = findDense(static_cast<cusparseConstDnVecDescr_t>(vecY));
    sparse::Call call;
    if (x == nullptr || y == nullptr || !setScalars(found, alpha, beta, computeTypeOf(x->what.type), call)) return CUSPARSE_STATUS_INVALID_VALUE;
    call.a = operandOf(*x);
    call.y = operandOf(*y);
    return send(found, function, call, name);
  });
}

cusparseStatus_t dot(Handle& handle, cusparseOperation_t opX, cusparseConstSpVecDescr_t vecX, cusparseConstDnVecDescr_t vecY, cudaDataType computeType,
                     sparse::Call& call) {
  const SparseDescriptor* const x = findVector(vecX);
  const DenseDescriptor* const y = findDense(vecY);
  if (x == nullptr || y == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  call.a = operandOf(*x);
  call.x = operandOf(*y);
  call.opA = operationOf(opX);
  call.computeType = typeOf(computeType);
  call.scalars = handle.scalarsInMemory ? sparse::Scalars::inMemory : sparse::Scalars::inCall;
  return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace

namespace impl {

cusparseStatus_t cusparseAxpby(cusparseHandle_t handle, const void* alpha, cusparseConstSpVecDescr_t vecX, const void* beta, cusparseDnVecDescr_t vecY) {
  return scaled(handle, Function::axpby, alpha, vecX, beta, vecY, "cusparseAxpby");
}

cusparseStatus_t cusparseRot(cusparseHandle_t handle, const void* c_coeff, const void* s_coeff, cusparseSpVecDescr_t vecX, cusparseDnVecDescr_t vecY) {
  return scaled(handle, Function::rot, c_coeff, vecX, s_coeff, vecY, "cusparseRot");
}

cusparseStatus_t cusparseGather(cusparseHandle_t handle, cusparseConstDnVecDescr_t vecY, cusparseSpVecDescr_t vecX) {
  return with(handle, [&](Handle& found) {
    const SparseDescriptor* const x = findVector(vecX);
    const DenseDescriptor* const y = findDense(vecY);
    if (x == nullptr || y == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    sparse::Call call;
    call.a = operandOf(*x);
    call.x = operandOf(*y);
    return send(found, Function::gather, call, "cusparseGather");
  });
}

cusparseStatus_t cusparseScatter(cusparseHandle_t handle, cusparseConstSpVecDescr_t vecX, cusparseDnVecDescr_t vecY) {
  return with(handle, [&](Handle& found) {
    const SparseDescriptor* const x = findVector(vecX);
    const DenseDescriptor* const y = findDense(static_cast<cusparseConstDnVecDescr_t>(vecY));
    if (x == nullptr || y == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    sparse::Call call;
    call.a = operandOf(*x);
    call.y = operandOf(*y);
    return send(found, Function::scatter, call, "cusparseScatter");
  });
}

cusparseStatus_t cusparseSpVV_bufferSize(cusparseHandle_t handle, cusparseOperation_t opX, cusparseConstSpVecDescr_t vecX, cusparseConstDnVecDescr_t vecY,
                                         const void* result, cudaDataType computeType, size_t* bufferSize) {
  return with(handle, [&](Handle& found) {
    sparse::Call call;
    if (result == nullptr || bufferSize == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    if (const cusparseStatus_t status = dot(found, opX, vecX, vecY, computeType, call); status != CUSPARSE_STATUS_SUCCESS) return status;
    call.result = addressOf(result);
    if (const cusparseStatus_t status = consider(Function::dot, call, "cusparseSpVV_bufferSize"); status != CUSPARSE_STATUS_SUCCESS) return status;
    return tellBufferSize(bufferSize);
  });
}

// A result on the host is waited for.
cusparseStatus_t cusparseSpVV(cusparseHandle_t handle, cusparseOperation_t opX, cusparseConstSpVecDescr_t vecX, cusparseConstDnVecDescr_t vecY, void* result,
                              cudaDataType computeType, void*) {
  return with(handle, [&](Handle& found) {
    sparse::Call call;
    if (result == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    if (const cusparseStatus_t status = dot(found, opX, vecX, vecY, computeType, call); status != CUSPARSE_STATUS_SUCCESS) return status;
    if (found.scalarsInMemory) {
      call.result = addressOf(result);
      return send(found, Function::dot, call, "cusparseSpVV");
    }
    return askFor(found, Function::dot, call, "cusparseSpVV", result, sparse::bytesOf(call.computeType));
  });
}

}  // namespace impl
}  // namespace rouse::cusparse
