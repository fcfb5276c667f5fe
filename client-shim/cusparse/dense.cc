// cuSPARSE's descriptors of dense matrices.
#include "client-shim/cusparse/call.h"
#include "client-shim/cusparse/implementations.h"

namespace rouse::cusparse {
namespace {

template <class Descriptor>
cusparseStatus_t create(Descriptor* descriptor, std::int64_t rows, std::int64_t cols, std::int64_t ld, const void* values, cudaDataType valueType,
                        cusparseOrder_t order) {
  return guarded([&] {
    if (descriptor == nullptr || rows < 0 || cols < 0 || (order != CUSPARSE_ORDER_COL && order != CUSPARSE_ORDER_ROW)) return CUSPARSE_STATUS_INVALID_VALUE;
    if (ld < (order == CUSPARSE_ORDER_COL ? rows : cols) || (rows > 0 && cols > 0 && values == nullptr)) return CUSPARSE_STATUS_INVALID_VALUE;
    auto* const made = take<DenseDescriptor>(Kind::dense);
    made->isVector = false;
    made->what = {};
    made->what.values = addressOf(values);
    made->what.rows = rows;
    made->what.cols = cols;
    made->what.spacing = ld;
    made->what.batch = 1;
    made->what.type = typeOf(valueType);
    made->what.order = enumerationOf<sparse::Order>(order);
    *descriptor = reinterpret_cast<Descriptor>(made);
    return CUSPARSE_STATUS_SUCCESS;
  });
}

template <class Pointer>
cusparseStatus_t get(cusparseConstDnMatDescr_t descriptor, std::int64_t* rows, std::int64_t* cols, std::int64_t* ld, Pointer* values, cudaDataType* type,
                     cusparseOrder_t* order) {
  const DenseDescriptor* const found = findDense(descriptor);
  if (found == nullptr || rows == nullptr || cols == nullptr || ld == nullptr || values == nullptr || type == nullptr || order == nullptr)
    return CUSPARSE_STATUS_INVALID_VALUE;
  *rows = found->what.rows;
  *cols = found->what.cols;
  *ld = found->what.spacing;
  *values = pointerOf(found->what.values);
  *type = static_cast<cudaDataType>(found->what.type);
  *order = static_cast<cusparseOrder_t>(found->what.order);
  return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace

namespace impl {

cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t* dnMatDescr, int64_t rows, int64_t cols, int64_t ld, void* values, cudaDataType valueType,
                                     cusparseOrder_t order) {
  return create(dnMatDescr, rows, cols, ld, values, valueType, order);
}
cusparseStatus_t cusparseCreateConstDnMat(cusparseConstDnMatDescr_t* dnMatDescr, int64_t rows, int64_t cols, int64_t ld, const void* values, cudaDataType valueType,
                                          cusparseOrder_t order) {
  return create(dnMatDescr, rows, cols, ld, values, valueType, order);
}
cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t dnMatDescr) {
  return endOf(findDense(dnMatDescr));
}
cusparseStatus_t cusparseDnMatGet(cusparseDnMatDescr_t dnMatDescr, int64_t* rows, int64_t* cols, int64_t* ld, void** values, cudaDataType* type,
                                  cusparseOrder_t* order) {
  return get(dnMatDescr, rows, cols, ld, values, type, order);
}
cusparseStatus_t cusparseConstDnMatGet(cusparseConstDnMatDescr_t dnMatDescr, int64_t* rows, int64_t* cols, int64_t* ld, const void** values, cudaDataType* type,
                                       cusparseOrder_t* order) {
  return get(dnMatDescr, rows, cols, ld, values, type, order);
}
cusparseStatus_t cusparseDnMatGetValues(cusparseDnMatDescr_t dnMatDescr, void** values) {
  return getValues(findDense(static_cast<cusparseConstDnMatDescr_t>(dnMatDescr)), values);
}
cusparseStatus_t cusparseConstDnMatGetValues(cusparseConstDnMatDescr_t dnMatDescr, const void** values) { return getValues(findDense(dnMatDescr), values); }
cusparseStatus_t cusparseDnMatSetValues(cusparseDnMatDescr_t dnMatDescr, void* values) {
  return setValues(findDense(static_cast<cusparseConstDnMatDescr_t>(dnMatDescr)), values);
}

cusparseStatus_t cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t dnMatDescr, int batchCount, int64_t batchStride) {
  DenseDescriptor* const found = findDense(static_cast<cusparseConstDnMatDescr_t>(dnMatDescr));
  if (found == nullptr || batchCount < 1 || batchStride < 0) return CUSPARSE_STATUS_INVALID_VALUE;
  found->what.batch = batchCount;
  found->what.stride = batchStride;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDnMatGetStridedBatch(cusparseConstDnMatDescr_t dnMatDescr, int* batchCount, int64_t* batchStride) {
  const DenseDescriptor* const found = findDense(dnMatDescr);
  if (found == nullptr || batchCount == nullptr || batchStride == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *batchCount = found->what.batch;
  *batchStride = found->what.stride;
  return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace impl
}  // namespace rouse::cusparse
