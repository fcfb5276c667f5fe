// cusparseMatDescr_t: what cuSPARSE's functions make and change, and cuSOLVER's read. Objects of cuSPARSE's lie behind pointers of programs', which may have ended them.
#pragma once

#include <cusparse.h>

#include <cstdint>

namespace rouse::library {

// What an object is as long as it lives; then it is `none`, or another object's of its type.
enum class SparseKind : std::uint32_t { none = 0, handle = 0x52736801, sparse, dense, solve, product, matrix, info };

struct MatrixDescriptor {
  SparseKind kind = SparseKind::none;
  cusparseMatrixType_t type = CUSPARSE_MATRIX_TYPE_GENERAL;
  cusparseFillMode_t fill = CUSPARSE_FILL_MODE_LOWER;
  cusparseDiagType_t diagonal = CUSPARSE_DIAG_TYPE_NON_UNIT;
  cusparseIndexBase_t base = CUSPARSE_INDEX_BASE_ZERO;
};

// Of an object that a program's handle names. Null: it is none, or has been ended.
template <class Object>
Object* findSparse(const void* handle, SparseKind kind) {
  auto* const object = static_cast<Object*>(const_cast<void*>(handle));
  return object != nullptr && object->kind == kind ? object : nullptr;
}
inline MatrixDescriptor* findMatrixDescriptor(cusparseMatDescr_t matrix) { return findSparse<MatrixDescriptor>(matrix, SparseKind::matrix); }

}  // namespace rouse::library
