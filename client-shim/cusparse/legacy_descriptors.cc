// cuSPARSE: descriptors of its classic interface.
#include "client-shim/cusparse/call.h"
#include "client-shim/cusparse/implementations.h"
#include "client-shim/cusparse/pivots.h"

namespace rouse::cusparse {
namespace {

template <class Info>
cusparseStatus_t createInfo(Info* info) {
  return guarded([&] {
    if (info == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    auto* const made = take<InfoDescriptor>(Kind::info);
    made->analysed = made->boosts = false;
    made->tolerance = made->boost = nullptr;
    made->pivot = nullptr;
    made->mark = 0;
    *info = reinterpret_cast<Info>(made);
    return CUSPARSE_STATUS_SUCCESS;
  });
}

template <class Info>
cusparseStatus_t destroyInfo(Info info) {
  if (info == nullptr) return CUSPARSE_STATUS_SUCCESS;
  auto* const found = find<InfoDescriptor>(info, Kind::info);
  if (found == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  forgetPivot(*found);
  give(found);
  return CUSPARSE_STATUS_SUCCESS;
}

template <class Value>
cusparseStatus_t set(cusparseMatDescr_t descriptor, Value MatrixDescriptor::* member, Value value, int most) {
  MatrixDescriptor* const found = findMatrix(descriptor);
  if (found == nullptr || static_cast<int>(value) < 0 || static_cast<int>(value) > most) return CUSPARSE_STATUS_INVALID_VALUE;
  found->*member = value;
  return CUSPARSE_STATUS_SUCCESS;
}
template <class Value>
Value get(cusparseMatDescr_t descriptor, Value MatrixDescriptor::* member) {
  const MatrixDescriptor* const found = findMatrix(descriptor);
  return found != nullptr ? found->*member : Value{};
}

}  // namespace

namespace impl {

cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t* descrA) {
  return guarded([&] {
    if (descrA == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    auto* const made = take<MatrixDescriptor>(Kind::matrix);
    *made = MatrixDescriptor();
    made->kind = Kind::matrix;
    *descrA = reinterpret_cast<cusparseMatDescr_t>(made);
    return CUSPARSE_STATUS_SUCCESS;
  });
}
cusparseStatus_t cusparseDestroyMatDescr(cusparseMatDescr_t descrA) { return descrA == nullptr ? CUSPARSE_STATUS_SUCCESS : endOf(findMatrix(descrA)); }

cusparseStatus_t cusparseSetMatType(cusparseMatDescr_t descrA, cusparseMatrixType_t type) {
  return set(descrA, &MatrixDescriptor::type, type, CUSPARSE_MATRIX_TYPE_TRIANGULAR);
}
cusparseMatrixType_t cusparseGetMatType(const cusparseMatDescr_t descrA) { return get(descrA, &MatrixDescriptor::type); }
cusparseStatus_t cusparseSetMatFillMode(cusparseMatDescr_t descrA, cusparseFillMode_t fillMode) {
  return set(descrA, &MatrixDescriptor::fill, fillMode, CUSPARSE_FILL_MODE_UPPER);
}
cusparseFillMode_t cusparseGetMatFillMode(const cusparseMatDescr_t descrA) { return get(descrA, &MatrixDescriptor::fill); }
cusparseStatus_t cusparseSetMatDiagType(cusparseMatDescr_t descrA, cusparseDiagType_t diagType) {
  return set(descrA, &MatrixDescriptor::diagonal, diagType, CUSPARSE_DIAG_TYPE_UNIT);
}
cusparseDiagType_t cusparseGetMatDiagType(const cusparseMatDescr_t descrA) { return get(descrA, &MatrixDescriptor::diagonal); }
cusparseStatus_t cusparseSetMatIndexBase(cusparseMatDescr_t descrA, cusparseIndexBase_t base) {
  return set(descrA, &MatrixDescriptor::base, base, CUSPARSE_INDEX_BASE_ONE);
}
cusparseIndexBase_t cusparseGetMatIndexBase(const cusparseMatDescr_t descrA) { return get(descrA, &MatrixDescriptor::base); }

cusparseStatus_t cusparseCreateCsric02Info(csric02Info_t* info) { return createInfo(info); }
cusparseStatus_t cusparseDestroyCsric02Info(csric02Info_t info) { return destroyInfo(info); }
cusparseStatus_t cusparseCreateCsrilu02Info(csrilu02Info_t* info) { return createInfo(info); }
cusparseStatus_t cusparseDestroyCsrilu02Info(csrilu02Info_t info) { return destroyInfo(info); }
cusparseStatus_t cusparseCreateCsru2csrInfo(csru2csrInfo_t* info) { return createInfo(info); }
cusparseStatus_t cusparseDestroyCsru2csrInfo(csru2csrInfo_t info) { return destroyInfo(info); }
cusparseStatus_t cusparseCreateBsrsv2Info(bsrsv2Info_t* info) { return createInfo(info); }
cusparseStatus_t cusparseDestroyBsrsv2Info(bsrsv2Info_t info) { return destroyInfo(info); }
cusparseStatus_t cusparseCreateBsrsm2Info(bsrsm2Info_t* info) { return createInfo(info); }
cusparseStatus_t cusparseDestroyBsrsm2Info(bsrsm2Info_t info) { return destroyInfo(info); }

}  // namespace impl
}  // namespace rouse::cusparse
