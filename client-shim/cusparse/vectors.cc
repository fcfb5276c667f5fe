// cuSPARSE's descriptors of vectors, sparse and dense.
#include "client-shim/cusparse/call.h"
#include "client-shim/cusparse/implementations.h"

namespace rouse::cusparse {
namespace {

template <class Descriptor>
cusparseStatus_t createSparse(Descriptor* descriptor, std::int64_t size, std::int64_t nnz, const void* indices, const void* values, cusparseIndexType_t idxType,
                              cusparseIndexBase_t idxBase, cudaDataType valueType) {
  return guarded([&] {
    if (descriptor == nullptr || size < 0 || nnz < 0 || nnz > size || (nnz > 0 && (indices == nullptr || values == nullptr))) return CUSPARSE_STATUS_INVALID_VALUE;
    if (idxBase != CUSPARSE_INDEX_BASE_ZERO && idxBase != CUSPARSE_INDEX_BASE_ONE) return CUSPARSE_STATUS_INVALID_VALUE;
    if (idxType != CUSPARSE_INDEX_16U && idxType != CUSPARSE_INDEX_32I && idxType != CUSPARSE_INDEX_64I) return CUSPARSE_STATUS_INVALID_VALUE;
    auto* const made = take<SparseDescriptor>(Kind::sparse);
    made->isVector = true;
    made->what = {};
    made->what.format = sparse::Format::vector;
    made->what.rows = size;
    made->what.cols = 1;
    made->what.nnz = nnz;
    made->what.indices = addressOf(indices);
    made->what.values = addressOf(values);
    made->what.indicesType = enumerationOf<sparse::Index>(idxType);
    made->what.base = static_cast<std::uint8_t>(idxBase);
    made->what.type = typeOf(valueType);
    made->what.batch = 1;
    *descriptor = reinterpret_cast<Descriptor>(made);
    return CUSPARSE_STATUS_SUCCESS;
  });
}

template <class Descriptor, class Pointer>
cusparseStatus_t getSparse(Descriptor descriptor, std::int64_t* size, std::int64_t* nnz, Pointer* indices, Pointer* values, cusparseIndexType_t* idxType,
                           cusparseIndexBase_t* idxBase, cudaDataType* valueType) {
  const SparseDescriptor* const found = findVector(descriptor);
  if (found == nullptr || size == nullptr || nnz == nullptr || indices == nullptr || values == nullptr || idxType == nullptr || idxBase == nullptr ||
      valueType == nullptr)
    return CUSPARSE_STATUS_INVALID_VALUE;
  *size = found->what.rows;
  *nnz = found->what.nnz;
  *indices = pointerOf(found->what.indices);
  *values = pointerOf(found->what.values);
  *idxType = static_cast<cusparseIndexType_t>(found->what.indicesType);
  *idxBase = static_cast<cusparseIndexBase_t>(found->what.base);
  *valueType = static_cast<cudaDataType>(found->what.type);
  return CUSPARSE_STATUS_SUCCESS;
}

template <class Descriptor>
cusparseStatus_t createDense(Descriptor* descriptor, std::int64_t size, const void* values, cudaDataType valueType) {
  return guarded([&] {
    if (descriptor == nullptr || size < 0 || (size > 0 && values == nullptr)) return CUSPARSE_STATUS_INVALID_VALUE;
    auto* const made = take<DenseDescriptor>(Kind::dense);
    made->isVector = true;
    made->what = {};
    made->what.values = addressOf(values);
    made->what.rows = made->what.spacing = size;
    made->what.cols = made->what.batch = 1;
    made->what.type = typeOf(valueType);
    made->what.order = sparse::Order::column;
    *descriptor = reinterpret_cast<Descriptor>(made);
    return CUSPARSE_STATUS_SUCCESS;
  });
}

template <class Descriptor, class Pointer>
cusparseStatus_t getDense(Descriptor descriptor, std::int64_t* size, Pointer* values, cudaDataType* valueType) {
  const DenseDescriptor* const found = findDense(descriptor);
  if (found == nullptr || size == nullptr || values == nullptr || valueType == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *size = found->what.rows;
  *values = pointerOf(found->what.values);
  *valueType = static_cast<cudaDataType>(found->what.type);
  return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace

namespace impl {

cusparseStatus_t cusparseCreateSpVec(cusparseSpVecDescr_t* spVecDescr, int64_t size, int64_t nnz, void* indices, void* values, cusparseIndexType_t idxType,
                                     cusparseIndexBase_t idxBase, cudaDataType valueType) {
  return createSparse(spVecDescr, size, nnz, indices, values, idxType, idxBase, valueType);
}
cusparseStatus_t cusparseCreateConstSpVec(cusparseConstSpVecDescr_t* spVecDescr, int64_t size, int64_t nnz, const void* indices, const void* values,
                                          cusparseIndexType_t idxType, cusparseIndexBase_t idxBase, cudaDataType valueType) {
  return createSparse(spVecDescr, size, nnz, indices, values, idxType, idxBase, valueType);
}
cusparseStatus_t cusparseDestroySpVec(cusparseConstSpVecDescr_t spVecDescr) { return endOf(findVector(spVecDescr)); }
cusparseStatus_t cusparseSpVecGet(cusparseSpVecDescr_t spVecDescr, int64_t* size, int64_t* nnz, void** indices, void** values, cusparseIndexType_t* idxType,
                                  cusparseIndexBase_t* idxBase, cudaDataType* valueType) {
  return getSparse(spVecDescr, size, nnz, indices, values, idxType, idxBase, valueType);
}
cusparseStatus_t cusparseConstSpVecGet(cusparseConstSpVecDescr_t spVecDescr, int64_t* size, int64_t* nnz, const void** indices, const void** values,
                                       cusparseIndexType_t* idxType, cusparseIndexBase_t* idxBase, cudaDataType* valueType) {
  return getSparse(spVecDescr, size, nnz, indices, values, idxType, idxBase, valueType);
}
cusparseStatus_t cusparseSpVecGetIndexBase(cusparseConstSpVecDescr_t spVecDescr, cusparseIndexBase_t* idxBase) {
  const SparseDescriptor* const found = findVector(spVecDescr);
  if (found == nullptr || idxBase == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *idxBase = static_cast<cusparseIndexBase_t>(found->what.base);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpVecGetValues(cusparseSpVecDescr_t spVecDescr, void** values) { return getValues(findVector(spVecDescr), values); }
cusparseStatus_t cusparseConstSpVecGetValues(cusparseConstSpVecDescr_t spVecDescr, const void** values) { return getValues(findVector(spVecDescr), values); }
cusparseStatus_t cusparseSpVecSetValues(cusparseSpVecDescr_t spVecDescr, void* values) { return setValues(findVector(spVecDescr), values); }

cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t* dnVecDescr, int64_t size, void* values, cudaDataType valueType) {
  return createDense(dnVecDescr, size, values, valueType);
}
cusparseStatus_t cusparseCreateConstDnVec(cusparseConstDnVecDescr_t* dnVecDescr, int64_t size, const void* values, cudaDataType valueType) {
  return createDense(dnVecDescr, size, values, valueType);
}
cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t dnVecDescr) { return endOf(findDense(dnVecDescr)); }
cusparseStatus_t cusparseDnVecGet(cusparseDnVecDescr_t dnVecDescr, int64_t* size, void** values, cudaDataType* valueType) {
  return getDense(dnVecDescr, size, values, valueType);
}
cusparseStatus_t cusparseConstDnVecGet(cusparseConstDnVecDescr_t dnVecDescr, int64_t* size, const void** values, cudaDataType* valueType) {
  return getDense(dnVecDescr, size, values, valueType);
}
cusparseStatus_t cusparseDnVecGetValues(cusparseDnVecDescr_t dnVecDescr, void** values) {
  return getValues(findDense(static_cast<cusparseConstDnVecDescr_t>(dnVecDescr)), values);
}
cusparseStatus_t cusparseConstDnVecGetValues(cusparseConstDnVecDescr_t dnVecDescr, const void** values) { return getValues(findDense(dnVecDescr), values); }
cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t dnVecDescr, void* values) {
  return setValues(findDense(static_cast<cusparseConstDnVecDescr_t>(dnVecDescr)), values);
}

}  // namespace impl
}  // namespace rouse::cusparse
