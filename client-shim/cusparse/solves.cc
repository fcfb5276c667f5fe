// cuSPARSE: triangular systems. What an analysis finds on a GPU is found anew with each solve: it is the executor's.
#include "client-shim/cusparse/call.h"
#include "client-shim/cusparse/implementations.h"

namespace rouse::cusparse {
namespace {

using sparse::Function;

// Of a vector opB says nothing.
template <class Const, class Result>
cusparseStatus_t describe(const Handle& handle, cusparseOperation_t opA, cusparseOperation_t opB, const void* alpha, cusparseConstSpMatDescr_t matA, Const x,
                          Result y, cudaDataType computeType, int algorithm, const SolveDescriptor* descriptor, sparse::Call& call) {
  const SparseDescriptor* const a = findMatrix(matA);
  const DenseDescriptor* const from = findDense(x);
  const DenseDescriptor* const to = findDense(static_cast<Const>(y));
  if (a == nullptr || from == nullptr || to == nullptr || alpha == nullptr || descriptor == nullptr || algorithm != 0) return CUSPARSE_STATUS_INVALID_VALUE;
  call.a = operandOf(*a);
  call.x = operandOf(*from);
  call.y = operandOf(*to);
  call.opA = operationOf(opA);
  call.opB = operationOf(opB);
  call.computeType = typeOf(computeType);
  call.scalars = handle.scalarsInMemory ? sparse::Scalars::inMemory : sparse::Scalars::inCall;
  call.alpha = scalarOf(handle, alpha, call.computeType);
  return CUSPARSE_STATUS_SUCCESS;
}

enum class Use { tellsSize, analyses, solves };

template <class Const, class Result>
cusparseStatus_t solve(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void* alpha, cusparseConstSpMatDescr_t matA, Const x,
                       Result y, cudaDataType computeType, int algorithm, const void* descriptor, const char* name, Use use, std::size_t* size = nullptr) {
  return with(handle, [&](Handle& found) {
    auto* const state = find<SolveDescriptor>(descriptor, Kind::solve);
    sparse::Call call;
    if (const cusparseStatus_t status = describe(found, opA, opB, alpha, matA, x, y, computeType, algorithm, state, call); status != CUSPARSE_STATUS_SUCCESS)
      return status;
    if (use == Use::solves) {
      if (!state->analysed) return CUSPARSE_STATUS_INVALID_VALUE;
      if (state->hasNewValues) call.a.values = state->values;
      return send(found, Function::solve, call, name);
    }
    if (use == Use::tellsSize && size == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    if (const cusparseStatus_t status = consider(Function::solve, call, name); status != CUSPARSE_STATUS_SUCCESS) return status;
    if (use == Use::tellsSize) return tellBufferSize(size);
    state->analysed = true;
    state->hasNewValues = false;
    return CUSPARSE_STATUS_SUCCESS;
  });
}

// Values come anew with each solve, so that those of the matrix that it is called with are what counts, unless these are others. Of diagonals alone there is no
// telling where the rest is.
cusparseStatus_t update(cusparseHandle_t handle, const void* descriptor, void* newValues, bool diagonal, const char* name) {
  return with(handle, [&](Handle&) {
    auto* const state = find<SolveDescriptor>(descriptor, Kind::solve);
    if (state == nullptr || newValues == nullptr || !state->analysed) return CUSPARSE_STATUS_INVALID_VALUE;
    if (diagonal) return refuse(name, "new values of the diagonal alone");
    state->values = addressOf(newValues);
    state->hasNewValues = true;
    return CUSPARSE_STATUS_SUCCESS;
  });
}

}  // namespace

namespace impl {

cusparseStatus_t cusparseSpSV_bufferSize(cusparseHandle_t handle, cusparseOperation_t opA, const void* alpha, cusparseConstSpMatDescr_t matA,
                                         cusparseConstDnVecDescr_t vecX, cusparseDnVecDescr_t vecY, cudaDataType computeType, cusparseSpSVAlg_t alg,
                                         cusparseSpSVDescr_t spsvDescr, size_t* bufferSize) {
  return solve(handle, opA, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, matA, vecX, vecY, computeType, static_cast<int>(alg), spsvDescr, "cusparseSpSV_bufferSize",
               Use::tellsSize, bufferSize);
}
cusparseStatus_t cusparseSpSV_analysis(cusparseHandle_t handle, cusparseOperation_t opA, const void* alpha, cusparseConstSpMatDescr_t matA,
                                       cusparseConstDnVecDescr_t vecX, cusparseDnVecDescr_t vecY, cudaDataType computeType, cusparseSpSVAlg_t alg,
                                       cusparseSpSVDescr_t spsvDescr, void*) {
  return solve(handle, opA, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, matA, vecX, vecY, computeType, static_cast<int>(alg), spsvDescr, "cusparseSpSV_analysis",
               Use::analyses);
}
cusparseStatus_t cusparseSpSV_solve(cusparseHandle_t handle, cusparseOperation_t opA, const void* alpha, cusparseConstSpMatDescr_t matA,
                                    cusparseConstDnVecDescr_t vecX, cusparseDnVecDescr_t vecY, cudaDataType computeType, cusparseSpSVAlg_t alg,
                                    cusparseSpSVDescr_t spsvDescr) {
  return solve(handle, opA, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, matA, vecX, vecY, computeType, static_cast<int>(alg), spsvDescr, "cusparseSpSV_solve",
               Use::solves);
}
cusparseStatus_t cusparseSpSV_updateMatrix(cusparseHandle_t handle, cusparseSpSVDescr_t spsvDescr, void* newValues, cusparseSpSVUpdate_t updatePart) {
  return update(handle, spsvDescr, newValues, updatePart == CUSPARSE_SPSV_UPDATE_DIAGONAL, "cusparseSpSV_updateMatrix");
}

cusparseStatus_t cusparseSpSM_bufferSize(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void* alpha,
                                         cusparseConstSpMatDescr_t matA, cusparseConstDnMatDescr_t matB, cusparseDnMatDescr_t matC, cudaDataType computeType,
                                         cusparseSpSMAlg_t alg, cusparseSpSMDescr_t spsmDescr, size_t* bufferSize) {
  return solve(handle, opA, opB, alpha, matA, matB, matC, computeType, static_cast<int>(alg), spsmDescr, "cusparseSpSM_bufferSize", Use::tellsSize, bufferSize);
}
cusparseStatus_t cusparseSpSM_analysis(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void* alpha, cusparseConstSpMatDescr_t matA,
                                       cusparseConstDnMatDescr_t matB, cusparseDnMatDescr_t matC, cudaDataType computeType, cusparseSpSMAlg_t alg,
                                       cusparseSpSMDescr_t spsmDescr, void*) {
  return solve(handle, opA, opB, alpha, matA, matB, matC, computeType, static_cast<int>(alg), spsmDescr, "cusparseSpSM_analysis", Use::analyses);
}
cusparseStatus_t cusparseSpSM_solve(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void* alpha, cusparseConstSpMatDescr_t matA,
                                    cusparseConstDnMatDescr_t matB, cusparseDnMatDescr_t matC, cudaDataType computeType, cusparseSpSMAlg_t alg,
                                    cusparseSpSMDescr_t spsmDescr) {
  return solve(handle, opA, opB, alpha, matA, matB, matC, computeType, static_cast<int>(alg), spsmDescr, "cusparseSpSM_solve", Use::solves);
}
cusparseStatus_t cusparseSpSM_updateMatrix(cusparseHandle_t handle, cusparseSpSMDescr_t spsmDescr, void* newValues, cusparseSpSMUpdate_t updatePart) {
  return update(handle, spsmDescr, newValues, updatePart == CUSPARSE_SPSM_UPDATE_DIAGONAL, "cusparseSpSM_updateMatrix");
}

}  // namespace impl
}  // namespace rouse::cusparse
