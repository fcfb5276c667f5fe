// cuSPARSE: descriptors of its analyses and of sparse products, which hold little here.
#include "client-shim/cusparse/descriptors.h"

#include "client-shim/cusparse/call.h"
#include "client-shim/cusparse/implementations.h"

namespace rouse::cusparse {
namespace {

template <class Object, class Descriptor>
cusparseStatus_t create(Descriptor* descriptor, Kind kind, const Object& fresh) {
  return guarded([&] {
    if (descriptor == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    auto* const made = take<Object>(kind);
    *made = fresh;
    made->kind = kind;
    *descriptor = reinterpret_cast<Descriptor>(made);
    return CUSPARSE_STATUS_SUCCESS;
  });
}

template <class Object>
cusparseStatus_t destroy(const void* descriptor, Kind kind) {
  if (descriptor == nullptr) return CUSPARSE_STATUS_SUCCESS;
  auto* const found = find<Object>(descriptor, kind);
  if (found == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  give(found);
  return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace

namespace impl {

cusparseStatus_t cusparseSpSV_createDescr(cusparseSpSVDescr_t* descr) { return create(descr, Kind::solve, SolveDescriptor()); }
cusparseStatus_t cusparseSpSV_destroyDescr(cusparseSpSVDescr_t descr) { return destroy<SolveDescriptor>(descr, Kind::solve); }
cusparseStatus_t cusparseSpSM_createDescr(cusparseSpSMDescr_t* descr) { return create(descr, Kind::solve, SolveDescriptor()); }
cusparseStatus_t cusparseSpSM_destroyDescr(cusparseSpSMDescr_t descr) { return destroy<SolveDescriptor>(descr, Kind::solve); }
cusparseStatus_t cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t* descr) { return create(descr, Kind::product, ProductDescriptor()); }
cusparseStatus_t cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t descr) { return destroy<ProductDescriptor>(descr, Kind::product); }

}  // namespace impl
}  // namespace rouse::cusparse
