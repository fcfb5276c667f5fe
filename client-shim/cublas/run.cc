#include "client-shim/cublas/run.h"

#include <cstring>
#include <mutex>

#include "client-shim/library/host.h"
#include "client-shim/library/refuse.h"

namespace rouse::cublas {
namespace {

constexpr std::size_t kScratchBytes = 64;

cublasStatus_t toStatus(CudaError error) {
  switch (error) {
    case CudaError::success:
      return CUBLAS_STATUS_SUCCESS;
    case CudaError::memoryAllocation:
      return CUBLAS_STATUS_ALLOC_FAILED;
    case CudaError::invalidResourceHandle:
      return CUBLAS_STATUS_INVALID_VALUE;
    default:
      return CUBLAS_STATUS_EXECUTION_FAILED;
  }
}

// Counted under the function's own name, so that whoever reads the counters sees what was missing.
cublasStatus_t refuse(blas::Function function, const char* what) {
  library::refuse(blas::info(function).name, what);
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

// False: a null pointer, or a type that is none.
bool takeScalar(bool used, const void* from, blas::Type type, bool inMemory, blas::Scalar& to) {
  if (!used) return true;
  if (from == nullptr || blas::bytesOf(type) == 0) return false;
  if (inMemory) to.words[0] = reinterpret_cast<std::uint64_t>(from);
  else std::memcpy(to.words, from, blas::bytesOf(type));
  return true;
}

cublasStatus_t fetch(const client::LibraryHost& host, Handle& object, blas::Function function, blas::Call& call, void* result) {
  const std::lock_guard lock(object.scratchMutex);
  if (object.scratch == nullptr) object.scratch = host.allocateShared(kScratchBytes);
  if (object.scratch == nullptr) return CUBLAS_STATUS_ALLOC_FAILED;
  call.result = reinterpret_cast<std::uint64_t>(object.scratch);
  const CudaError error = host.submitAndWait(object.device, object.stream, blas::kLibrary, static_cast<std::uint32_t>(function),
                                             std::as_bytes(std::span(&call, 1)));
  if (error == CudaError::success) std::memcpy(result, object.scratch, blas::bytesOf(call.resultType));
  return toStatus(error);
}

}  // namespace

blas::Call begin(blas::Function function) {
  const blas::FunctionInfo& info = blas::info(function);
  const auto fixed = [](blas::Type type) { return type == blas::Type::any ? blas::Type{} : type; };
  blas::Call call;
  call.aType = fixed(info.aType);
  call.bType = fixed(info.bType);
  call.cType = fixed(info.cType);
  call.xType = fixed(info.xType);
  call.yType = fixed(info.yType);
  call.scaleType = fixed(info.scaleType);
  call.resultType = fixed(info.resultType);
  call.batching = info.batching;
  return call;
}

cublasStatus_t run(cublasHandle_t handle, blas::Function function, blas::Call& call, const HostSide& host) noexcept {
  Handle* object = findHandle(handle);
  if (object == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const blas::FunctionInfo& info = blas::info(function);
  const bool inMemory = object->pointerMode == CUBLAS_POINTER_MODE_DEVICE;
  call.scalars = inMemory ? blas::Scalars::inMemory : blas::Scalars::byValue;
  call.atomics = static_cast<std::uint8_t>(object->atomics);
  call.mathMode = static_cast<std::uint32_t>(object->mathMode);
  call.multiprocessors = object->multiprocessors;
  call.workspace = object->workspace;
  call.workspaceBytes = object->workspaceBytes;
  if (info.verb == blas::Verb::gemm && info.scaleType == blas::Type::any) call.scaleType = blas::scaleTypeOf(call.computeType, call.cType);

  const blas::Check checked = blas::check(function, call);
  if (checked.verdict == blas::Verdict::invalid) return CUBLAS_STATUS_INVALID_VALUE;
  if (checked.verdict == blas::Verdict::unsupported) return refuse(function, checked.what);
  if (checked.verdict == blas::Verdict::empty) return CUBLAS_STATUS_SUCCESS;
  const bool results = blas::hasResult(info.verb);
  if (!takeScalar(blas::hasAlpha(info.verb), host.alpha, call.scaleType, inMemory, call.alpha) ||
      !takeScalar(blas::hasBeta(info.verb), host.beta, blas::betaTypeOf(info, call), inMemory, call.beta) ||
      (results && host.result == nullptr))
    return CUBLAS_STATUS_INVALID_VALUE;
  // Anything but null, until it is known.
  if (results) call.result = reinterpret_cast<std::uint64_t>(host.result);
  blas::Operands operands;
  if (!blas::operands(function, call, operands)) return CUBLAS_STATUS_INVALID_VALUE;
  for (const blas::Range& range : operands.all())
    if (range.address == 0) return CUBLAS_STATUS_INVALID_VALUE;

  const client::LibraryHost& library = *client::libraryHost();
  if (results && !inMemory) {
    const bool onlyResult = operands.count == (call.workspaceBytes != 0 ? 2u : 1u);
    if (onlyResult) {  // of nothing: 0
      std::memset(host.result, 0, blas::bytesOf(call.resultType));
      return CUBLAS_STATUS_SUCCESS;
    }
    return fetch(library, *object, function, call, host.result);
  }
  return toStatus(library.submit(object->device, object->stream, blas::kLibrary, static_cast<std::uint32_t>(function),
                                 std::as_bytes(std::span(&call, 1))));
}

}  // namespace rouse::cublas
