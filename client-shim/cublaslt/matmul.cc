// cuBLASLt: products, and the heuristics before them, which are answered here: there is one way, and it needs no workspace.
#include <cstring>

#include "client-shim/cublaslt/algorithms.h"
#include "client-shim/cublaslt/calls.h"
#include "client-shim/cublaslt/implementations.h"
#include "client-shim/library/refuse.h"

namespace rouse::cublaslt {
namespace {

constexpr const char* kConfigured = "an algorithm's tiles, stages, splits, shapes or options";

struct Layouts {
  const Layout *a, *b, *c, *d;
};

// What the descriptors say, without addresses and scalars. `why`: of what is not served.
cublasStatus_t describe(cublasLtMatmulDesc_t computeDesc, cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc, cublasLtMatrixLayout_t Cdesc,
                        cublasLtMatrixLayout_t Ddesc, blas::LtMatmul& call, const char** why) {
  const MatmulDesc* desc = matmulOf(computeDesc);
  const Layouts layouts{layoutOf(Adesc), layoutOf(Bdesc), layoutOf(Cdesc), layoutOf(Ddesc)};
  if (desc == nullptr || layouts.a == nullptr || layouts.b == nullptr || layouts.c == nullptr || layouts.d == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  const auto no = [&](const char* text) {
    *why = text;
    return CUBLAS_STATUS_NOT_SUPPORTED;
  };
  call.a = matrixOf(*layouts.a, nullptr);
  call.b = matrixOf(*layouts.b, nullptr);
  call.c = matrixOf(*layouts.c, nullptr);
  call.d = matrixOf(*layouts.d, nullptr);
  call.batch = layouts.d->batch;
  for (const Layout* layout : {layouts.a, layouts.b, layouts.c, layouts.d}) {
    if (layout->batch != layouts.d->batch) return CUBLAS_STATUS_INVALID_VALUE;
    if (layout->batchMode != CUBLASLT_BATCH_MODE_STRIDED) return no("a batch of addresses");
    if (layout->planeOffset != 0) return no("planes of complex numbers");
  }
  if (desc->others != 0) return no("an attribute of the product: scales of the auxiliary matrix or from the result, strides of vectors, or emulation");
  if (desc->cScaling != CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F || desc->dScaling != CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F)
    return no("a scale mode of the result: blocks");
  if (desc->pointerMode != CUBLASLT_POINTER_MODE_HOST && desc->pointerMode != CUBLASLT_POINTER_MODE_DEVICE) return no("scalars that are vectors");
  if (desc->transc != CUBLAS_OP_N) return no("a transposed C");
  if (desc->fillMode != CUBLAS_FILL_MODE_FULL) return no("a triangle of the result");
  call.scalars = desc->pointerMode == CUBLASLT_POINTER_MODE_DEVICE ? blas::Scalars::inMemory : blas::Scalars::byValue;
  call.computeType = desc->computeType;
  call.scaleType = narrow<blas::Type>(desc->scaleType);
  call.transa = narrow<blas::Transpose>(desc->transa);
  call.transb = narrow<blas::Transpose>(desc->transb);
  call.epilogue = desc->epilogue;
  call.multiprocessors = desc->multiprocessors;
  call.fastAccumulation = static_cast<std::uint8_t>(desc->fastAccumulation);
  call.aScale = desc->aScale;
  call.bScale = desc->bScale;
  call.cScale = desc->cScale;
  call.dScale = desc->dScale;
  call.amax = desc->amax;
  call.aScaling = narrow<blas::ScaleMode>(desc->aScaling);
  call.bScaling = narrow<blas::ScaleMode>(desc->bScaling);
  call.biasType = desc->biasType == -1 ? blas::usualBiasType(call) : narrow<blas::Type>(desc->biasType);
  call.auxType = desc->auxType == -1 ? call.d.type : narrow<blas::Type>(desc->auxType);
  if ((desc->epilogue & blas::kEpilogueBias) != 0) {
    call.bias = desc->bias;
    call.biasStride = desc->biasStride;
  }
  if ((desc->epilogue & blas::kEpilogueAux) != 0) {
    call.aux = desc->aux;
    call.auxSpacing = desc->auxSpacing;
    call.auxStride = desc->auxStride;
  }
  const blas::Check checked = blas::check(call);
  *why = checked.what;
  switch (checked.verdict) {
    case blas::Verdict::invalid:
      return CUBLAS_STATUS_INVALID_VALUE;
    case blas::Verdict::unsupported:
      return CUBLAS_STATUS_NOT_SUPPORTED;
    case blas::Verdict::runs:
    case blas::Verdict::empty:
      break;
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

namespace impl {

cublasStatus_t cublasLtMatmul(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t computeDesc, const void* alpha, const void* A,
                              cublasLtMatrixLayout_t Adesc, const void* B, cublasLtMatrixLayout_t Bdesc, const void* beta, const void* C,
                              cublasLtMatrixLayout_t Cdesc, void* D, cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t* algo,
                              void* workspace, size_t workspaceSizeInBytes, cudaStream_t stream) {
  const library::HandleBase* handle = findHandle(lightHandle);
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (algo != nullptr && !isAlgorithm(*algo)) return CUBLAS_STATUS_INVALID_VALUE;
  if (algo != nullptr && !isServed(*algo)) {
    library::refuse("cublasLtMatmul", kConfigured);
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  blas::LtMatmul call;
  const char* why = "";
  if (const cublasStatus_t status = describe(computeDesc, Adesc, Bdesc, Cdesc, Ddesc, call, &why); status != CUBLAS_STATUS_SUCCESS) {
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) library::refuse("cublasLtMatmul", why);
    return status;
  }
  if (alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const auto scalar = [&](const void* from, blas::Scalar& to) {
    if (call.scalars == blas::Scalars::inMemory) to.words[0] = reinterpret_cast<std::uint64_t>(from);
    else std::memcpy(to.words, from, blas::bytesOf(call.scaleType));
  };
  scalar(alpha, call.alpha);
  scalar(beta, call.beta);
  call.a.address = reinterpret_cast<std::uint64_t>(A);
  call.b.address = reinterpret_cast<std::uint64_t>(B);
  call.c.address = reinterpret_cast<std::uint64_t>(C);
  call.d.address = reinterpret_cast<std::uint64_t>(D);
  // A C that is not read may be anything. For a D of 8-bit floats it is described as wider, and PyTorch names D's memory as C, which need not be so long.
  const bool unread = call.scalars == blas::Scalars::byValue && call.beta.words[0] == 0 && call.beta.words[1] == 0;
  if (unread && blas::isEightBitFloat(call.d.type)) call.c.address = 0;
  if (workspace != nullptr && workspaceSizeInBytes != 0) {
    call.workspace = reinterpret_cast<std::uint64_t>(workspace);
    call.workspaceBytes = workspaceSizeInBytes;
  }
  switch (const blas::Check checked = blas::check(call); checked.verdict) {
    case blas::Verdict::empty:
      return CUBLAS_STATUS_SUCCESS;
    case blas::Verdict::unsupported:  // as far as addresses matter
      library::refuse("cublasLtMatmul", checked.what);
      return CUBLAS_STATUS_NOT_SUPPORTED;
    case blas::Verdict::invalid:
      return CUBLAS_STATUS_INVALID_VALUE;
    case blas::Verdict::runs:
      break;
  }
  blas::Operands operands;
  if (!blas::operands(call, operands)) return CUBLAS_STATUS_INVALID_VALUE;
  return submit(*handle, stream, blas::kLtMatmulFunction, operands, std::as_bytes(std::span(&call, 1)));
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t operationDesc, cublasLtMatrixLayout_t Adesc,
                                       cublasLtMatrixLayout_t Bdesc, cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
                                       const cublasLtMatmulAlgo_t* algo, cublasLtMatmulHeuristicResult_t* result) {
  if (findHandle(lightHandle) == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (algo == nullptr || result == nullptr || !isAlgorithm(*algo)) return CUBLAS_STATUS_INVALID_VALUE;
  if (!isServed(*algo)) return CUBLAS_STATUS_NOT_SUPPORTED;
  blas::LtMatmul call;
  const char* why = "";
  if (const cublasStatus_t status = describe(operationDesc, Adesc, Bdesc, Cdesc, Ddesc, call, &why); status != CUBLAS_STATUS_SUCCESS) return status;
  *result = {};
  result->algo = *algo;
  result->state = CUBLAS_STATUS_SUCCESS;
  result->wavesCount = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t operationDesc, cublasLtMatrixLayout_t Adesc,
                                              cublasLtMatrixLayout_t Bdesc, cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
                                              cublasLtMatmulPreference_t preference, int requestedAlgoCount,
                                              cublasLtMatmulHeuristicResult_t heuristicResultsArray[], int* returnAlgoCount) {
  if (findHandle(lightHandle) == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (returnAlgoCount == nullptr || heuristicResultsArray == nullptr || requestedAlgoCount <= 0 || preferenceOf(preference) == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  *returnAlgoCount = 0;
  const cublasLtMatmulAlgo_t algo = freshAlgorithm();
  const cublasStatus_t status =
      impl::cublasLtMatmulAlgoCheck(lightHandle, operationDesc, Adesc, Bdesc, Cdesc, Ddesc, &algo, heuristicResultsArray);
  if (status == CUBLAS_STATUS_SUCCESS) *returnAlgoCount = 1;
  return status;
}

}  // namespace impl
}  // namespace rouse::cublaslt
