// cuBLASLt: matrices from one order and type to another.
#include <cstring>

#include "client-shim/cublaslt/calls.h"
#include "client-shim/cublaslt/implementations.h"
#include "client-shim/library/refuse.h"
#include "schemas/blas/lt_transform.h"

namespace rouse::cublaslt::impl {
namespace {

cublasStatus_t refuseTransform(const char* what) {
  library::refuse("cublasLtMatrixTransform", what);
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

// A or B, which need not be there. False: its layout is missing, or no layout.
bool takeFactor(const void* address, cublasLtMatrixLayout_t desc, const Layout*& layout) {
  layout = layoutOf(desc);
  return address == nullptr || layout != nullptr;
}

}  // namespace

cublasStatus_t cublasLtMatrixTransform(cublasLtHandle_t lightHandle, cublasLtMatrixTransformDesc_t transformDesc, const void* alpha, const void* A,
                                       cublasLtMatrixLayout_t Adesc, const void* beta, const void* B, cublasLtMatrixLayout_t Bdesc, void* C,
                                       cublasLtMatrixLayout_t Cdesc, cudaStream_t stream) {
  const library::HandleBase* handle = findHandle(lightHandle);
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const TransformDesc* desc = transformOf(transformDesc);
  const Layout *a = nullptr, *b = nullptr, *c = layoutOf(Cdesc);
  if (desc == nullptr || c == nullptr || C == nullptr || !takeFactor(A, Adesc, a) || !takeFactor(B, Bdesc, b)) return CUBLAS_STATUS_INVALID_VALUE;
  if (desc->pointerMode != CUBLASLT_POINTER_MODE_HOST && desc->pointerMode != CUBLASLT_POINTER_MODE_DEVICE) return refuseTransform("scalars that are vectors");
  blas::LtTransform call;
  call.c = matrixOf(*c, C);
  call.batch = c->batch;
  call.scaleType = narrow<blas::Type>(desc->scaleType);
  call.transa = narrow<blas::Transpose>(desc->transa);
  call.transb = narrow<blas::Transpose>(desc->transb);
  call.scalars = desc->pointerMode == CUBLASLT_POINTER_MODE_DEVICE ? blas::Scalars::inMemory : blas::Scalars::byValue;
  if (A != nullptr) call.a = matrixOf(*a, A);
  if (B != nullptr) call.b = matrixOf(*b, B);
  for (const Layout* layout : {A != nullptr ? a : c, B != nullptr ? b : c, c}) {
    if (layout->batch != c->batch) return CUBLAS_STATUS_INVALID_VALUE;
    if (layout->batchMode != CUBLASLT_BATCH_MODE_STRIDED) return refuseTransform("a batch of addresses");
    if (layout->planeOffset != 0) return refuseTransform("planes of complex numbers");
  }
  switch (const blas::Check checked = blas::check(call); checked.verdict) {
    case blas::Verdict::invalid:
      return CUBLAS_STATUS_INVALID_VALUE;
    case blas::Verdict::unsupported:
      return refuseTransform(checked.what);
    case blas::Verdict::empty:
      return CUBLAS_STATUS_SUCCESS;
    case blas::Verdict::runs:
      break;
  }
  const auto scalar = [&](bool used, const void* from, blas::Scalar& to) {
    if (from == nullptr) return !used;
    if (call.scalars == blas::Scalars::inMemory) to.words[0] = reinterpret_cast<std::uint64_t>(from);
    else std::memcpy(to.words, from, blas::bytesOf(call.scaleType));
    return true;
  };
  if (!scalar(A != nullptr, alpha, call.alpha) || !scalar(B != nullptr, beta, call.beta)) return CUBLAS_STATUS_INVALID_VALUE;
  blas::Operands operands;
  if (!blas::operands(call, operands)) return CUBLAS_STATUS_INVALID_VALUE;
  return submit(*handle, stream, blas::kLtTransformFunction, operands, std::as_bytes(std::span(&call, 1)));
}

}  // namespace rouse::cublaslt::impl
