// cuSPARSE: products of two sparse matrices. How many elements a product has is counted by the executor, and waited for; the product itself is one command.
#include "client-shim/cusparse/call.h"
#include "client-shim/cusparse/implementations.h"

namespace rouse::cusparse {
namespace {

using sparse::Function;

struct Operands {
  SparseDescriptor* a;
  SparseDescriptor* b;
  SparseDescriptor* c;
  ProductDescriptor* state;
};

// Whatever of the four is none: null.
Operands find(cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b, cusparseSpMatDescr_t c, cusparseSpGEMMDescr_t state) {
  return {findMatrix(a), findMatrix(b), findMatrix(static_cast<cusparseConstSpMatDescr_t>(c)), cusparse::find<ProductDescriptor>(state, Kind::product)};
}
bool complete(const Operands& all) { return all.a != nullptr && all.b != nullptr && all.c != nullptr && all.state != nullptr; }

sparse::Call countOf(const Operands& all, cusparseOperation_t opA, cusparseOperation_t opB) {
  sparse::Call call;
  call.a = operandOf(*all.a);
  call.b = operandOf(*all.b);
  call.opA = operationOf(opA);
  call.opB = operationOf(opB);
  return call;
}

// What can be said before anything is counted: of the whole product, with the elements that its result has by then.
cusparseStatus_t considered(const Operands& all, cusparseOperation_t opA, cusparseOperation_t opB, sparse::Type computeType, const char* name) {
  sparse::Call call = countOf(all, opA, opB);
  call.c = operandOf(*all.c);
  call.c.nnz = 0;
  call.computeType = computeType;
  return consider(Function::product, call, name);
}

// The result's elements become known.
cusparseStatus_t count(Handle& handle, const Operands& all, cusparseOperation_t opA, cusparseOperation_t opB, const char* name) {
  sparse::Call call = countOf(all, opA, opB);
  std::int64_t elements = 0;
  if (const cusparseStatus_t status = ask(handle, Function::productCount, call, name, elements); status != CUSPARSE_STATUS_SUCCESS) return status;
  if (all.c->what.indicesType == sparse::Index::i32 && elements > sparse::kMostInt) return CUSPARSE_STATUS_INSUFFICIENT_RESOURCES;
  all.c->what.nnz = elements;
  all.state->elements = elements;
  all.state->counted = true;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t multiply(const Handle& handle, const Operands& all, cusparseOperation_t opA, cusparseOperation_t opB, const void* alpha, const void* beta,
                          sparse::Type computeType, int algorithm, const char* name) {
  sparse::Call call = countOf(all, opA, opB);
  call.c = operandOf(*all.c);
  if (!all.state->counted || call.c.nnz != all.state->elements || algorithm < 0 || algorithm > 255) return CUSPARSE_STATUS_INVALID_VALUE;
  if (!setScalars(handle, alpha, beta, computeType, call)) return CUSPARSE_STATUS_INVALID_VALUE;
  call.algorithm = static_cast<std::uint8_t>(algorithm);
  return send(handle, Function::product, call, name);
}

sparse::Scalar oneOf(sparse::Type type) {
  switch (type) {
    case sparse::Type::f16: return {{0x3c00, 0}};
    case sparse::Type::bf16: return {{0x3f80, 0}};
    case sparse::Type::f32: case sparse::Type::c32: return {{0x3f80'0000, 0}};
    default: return {{0x3ff0'0000'0000'0000, 0}};
  }
}

}  // namespace

namespace impl {

cusparseStatus_t cusparseSpGEMM_workEstimation(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void* alpha,
                                               cusparseConstSpMatDescr_t matA, cusparseConstSpMatDescr_t matB, const void* beta, cusparseSpMatDescr_t matC,
                                               cudaDataType computeType, cusparseSpGEMMAlg_t alg, cusparseSpGEMMDescr_t spgemmDescr, size_t* bufferSize1,
                                               void* externalBuffer1) {
  return with(handle, [&](Handle& found) {
    const Operands all = find(matA, matB, matC, spgemmDescr);
    if (!complete(all) || alpha == nullptr || beta == nullptr || bufferSize1 == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    const cusparseStatus_t status = considered(all, opA, opB, typeOf(computeType), "cusparseSpGEMM_workEstimation");
    if (status != CUSPARSE_STATUS_SUCCESS) return status;
    if (externalBuffer1 == nullptr) return tellBufferSize(bufferSize1);
    all.state->by = &found;
    all.state->a = operandOf(*all.a);
    all.state->b = operandOf(*all.b);
    all.state->algorithm = static_cast<std::uint8_t>(alg);
    return CUSPARSE_STATUS_SUCCESS;
  });
}

// Of what has been estimated last. It is counted when it is asked for, and waited for.
cusparseStatus_t cusparseSpGEMM_getNumProducts(cusparseSpGEMMDescr_t spgemmDescr, int64_t* num_prods) {
  return guarded([&] {
    const auto* const state = cusparse::find<ProductDescriptor>(spgemmDescr, Kind::product);
    if (state == nullptr || num_prods == nullptr || cusparse::find<Handle>(state->by, Kind::handle) == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    sparse::Call call;
    call.a = state->a;
    call.b = state->b;
    call.algorithm = state->algorithm;
    return ask(*state->by, Function::productWork, call, "cusparseSpGEMM_getNumProducts", *num_prods);
  });
}

// Known on the node only, and bounded here by what the executor may use.
cusparseStatus_t cusparseSpGEMM_estimateMemory(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void* alpha,
                                               cusparseConstSpMatDescr_t matA, cusparseConstSpMatDescr_t matB, const void* beta, cusparseSpMatDescr_t matC,
                                               cudaDataType computeType, cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t spgemmDescr, float chunk_fraction,
                                               size_t* bufferSize3, void* externalBuffer3, size_t* bufferSize2) {
  return with(handle, [&](Handle&) {
    const Operands all = find(matA, matB, matC, spgemmDescr);
    if (!complete(all) || alpha == nullptr || beta == nullptr || bufferSize3 == nullptr || !(chunk_fraction > 0 && chunk_fraction <= 1))
      return CUSPARSE_STATUS_INVALID_VALUE;
    const cusparseStatus_t status = considered(all, opA, opB, typeOf(computeType), "cusparseSpGEMM_estimateMemory");
    if (status != CUSPARSE_STATUS_SUCCESS) return status;
    return externalBuffer3 == nullptr ? tellBufferSize(bufferSize3) : tellBufferSize(bufferSize2);
  });
}

cusparseStatus_t cusparseSpGEMM_compute(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void* alpha,
                                        cusparseConstSpMatDescr_t matA, cusparseConstSpMatDescr_t matB, const void* beta, cusparseSpMatDescr_t matC,
                                        cudaDataType computeType, cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t spgemmDescr, size_t* bufferSize2,
                                        void* externalBuffer2) {
  return with(handle, [&](Handle& found) {
    const Operands all = find(matA, matB, matC, spgemmDescr);
    if (!complete(all) || alpha == nullptr || beta == nullptr || bufferSize2 == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    const cusparseStatus_t status = considered(all, opA, opB, typeOf(computeType), "cusparseSpGEMM_compute");
    if (status != CUSPARSE_STATUS_SUCCESS) return status;
    return externalBuffer2 == nullptr ? tellBufferSize(bufferSize2) : count(found, all, opA, opB, "cusparseSpGEMM_compute");
  });
}

cusparseStatus_t cusparseSpGEMM_copy(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void* alpha, cusparseConstSpMatDescr_t matA,
                                     cusparseConstSpMatDescr_t matB, const void* beta, cusparseSpMatDescr_t matC, cudaDataType computeType, cusparseSpGEMMAlg_t alg,
                                     cusparseSpGEMMDescr_t spgemmDescr) {
  return with(handle, [&](Handle& found) {
    const Operands all = find(matA, matB, matC, spgemmDescr);
    if (!complete(all)) return CUSPARSE_STATUS_INVALID_VALUE;
    return multiply(found, all, opA, opB, alpha, beta, typeOf(computeType), static_cast<int>(alg), "cusparseSpGEMM_copy");
  });
}

cusparseStatus_t cusparseSpGEMMreuse_workEstimation(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, cusparseConstSpMatDescr_t matA,
                                                    cusparseConstSpMatDescr_t matB, cusparseSpMatDescr_t matC, cusparseSpGEMMAlg_t,
                                                    cusparseSpGEMMDescr_t spgemmDescr, size_t* bufferSize1, void* externalBuffer1) {
  return with(handle, [&](Handle&) {
    const Operands all = find(matA, matB, matC, spgemmDescr);
    if (!complete(all) || bufferSize1 == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    const cusparseStatus_t status = considered(all, opA, opB, all.a->what.type, "cusparseSpGEMMreuse_workEstimation");
    return status != CUSPARSE_STATUS_SUCCESS || externalBuffer1 != nullptr ? status : tellBufferSize(bufferSize1);
  });
}

cusparseStatus_t cusparseSpGEMMreuse_nnz(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, cusparseConstSpMatDescr_t matA,
                                         cusparseConstSpMatDescr_t matB, cusparseSpMatDescr_t matC, cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t spgemmDescr,
                                         size_t* bufferSize2, void* externalBuffer2, size_t* bufferSize3, void* externalBuffer3, size_t* bufferSize4,
                                         void* externalBuffer4) {
  return with(handle, [&](Handle& found) {
    const Operands all = find(matA, matB, matC, spgemmDescr);
    if (!complete(all) || bufferSize2 == nullptr || bufferSize3 == nullptr || bufferSize4 == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    const cusparseStatus_t status = considered(all, opA, opB, all.a->what.type, "cusparseSpGEMMreuse_nnz");
    if (status != CUSPARSE_STATUS_SUCCESS) return status;
    if (externalBuffer2 != nullptr && externalBuffer3 != nullptr && externalBuffer4 != nullptr) return count(found, all, opA, opB, "cusparseSpGEMMreuse_nnz");
    *bufferSize2 = *bufferSize3 = kBufferBytes;
    return tellBufferSize(bufferSize4);
  });
}

// The result's pattern: a product that adds nothing to what its values are.
cusparseStatus_t cusparseSpGEMMreuse_copy(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, cusparseConstSpMatDescr_t matA,
                                          cusparseConstSpMatDescr_t matB, cusparseSpMatDescr_t matC, cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t spgemmDescr,
                                          size_t* bufferSize5, void* externalBuffer5) {
  return with(handle, [&](Handle& found) {
    const Operands all = find(matA, matB, matC, spgemmDescr);
    if (!complete(all) || bufferSize5 == nullptr || !all.state->counted) return CUSPARSE_STATUS_INVALID_VALUE;
    const sparse::Type type = all.a->what.type;
    if (const cusparseStatus_t status = considered(all, opA, opB, type, "cusparseSpGEMMreuse_copy"); status != CUSPARSE_STATUS_SUCCESS) return status;
    if (externalBuffer5 == nullptr) return tellBufferSize(bufferSize5);
    Handle byValue;
    byValue.device = found.device;
    byValue.stream = found.stream;
    const sparse::Scalar zero, one = oneOf(type);
    return multiply(byValue, all, opA, opB, &zero, &one, type, 0, "cusparseSpGEMMreuse_copy");
  });
}

cusparseStatus_t cusparseSpGEMMreuse_compute(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void* alpha,
                                             cusparseConstSpMatDescr_t matA, cusparseConstSpMatDescr_t matB, const void* beta, cusparseSpMatDescr_t matC,
                                             cudaDataType computeType, cusparseSpGEMMAlg_t alg, cusparseSpGEMMDescr_t spgemmDescr) {
  return with(handle, [&](Handle& found) {
    const Operands all = find(matA, matB, matC, spgemmDescr);
    if (!complete(all)) return CUSPARSE_STATUS_INVALID_VALUE;
    return multiply(found, all, opA, opB, alpha, beta, typeOf(computeType), static_cast<int>(alg), "cusparseSpGEMMreuse_compute");
  });
}

}  // namespace impl
}  // namespace rouse::cusparse
