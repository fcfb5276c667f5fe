#include "client-shim/cublas/run.h"

#include <cstring>
#include <mutex>

#include "client-shim/library/host.h"
#include "client-shim/library/refuse.h"

namespace rouse::cublas {
namespace {

constexpr std::size_t kScratchBytes = 128, kScratchSlot = 16;

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

// The caller holds its mutex.
std::byte* scratchOf(const client::LibraryHost& host, Handle& object) {
  if (object.scratch == nullptr) object.scratch = host.allocateShared(kScratchBytes);
  return static_cast<std::byte*>(object.scratch);
}

cublasStatus_t fetch(const client::LibraryHost& host, Handle& object, blas::Function function, blas::Call& call, void* result) {
  const std::lock_guard lock(object.scratchMutex);
  if (scratchOf(host, object) == nullptr) return CUBLAS_STATUS_ALLOC_FAILED;
  call.result = reinterpret_cast<std::uint64_t>(object.scratch);
  const CudaError error = host.submitAndWait(object.device, object.stream, blas::kLibrary, static_cast<std::uint32_t>(function),
                                             std::as_bytes(std::span(&call, 1)));
  if (error == CudaError::success) std::memcpy(result, object.scratch, blas::bytesOf(call.resultType));
  return toStatus(error);
}

// rotg and rotmg in the program's memory: there and back through what both sides see.
cublasStatus_t rotate(const client::LibraryHost& host, Handle& object, blas::Function function, blas::Call& call, void* const (&program)[5]) {
  const blas::FunctionInfo& info = blas::info(function);
  const std::size_t count = blas::rotationCount(info.verb);
  const std::lock_guard lock(object.scratchMutex);
  std::byte* const scratch = scratchOf(host, object);
  if (scratch == nullptr) return CUBLAS_STATUS_ALLOC_FAILED;
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(scratch + i * kScratchSlot, program[i], blas::rotationBytes(info, call, i));
    call.rotation[i] = reinterpret_cast<std::uint64_t>(scratch + i * kScratchSlot);
  }
  const CudaError error = host.submitAndWait(object.device, object.stream, blas::kLibrary, static_cast<std::uint32_t>(function),
                                             std::as_bytes(std::span(&call, 1)));
  if (error != CudaError::success) return toStatus(error);
  for (std::size_t i = 0; i < count; ++i) {
    if (info.verb == blas::Verb::rotmg && i == 3) continue;  // y1 is only read
    std::memcpy(program[i], scratch + i * kScratchSlot, blas::rotationBytes(info, call, i));
  }
  return CUBLAS_STATUS_SUCCESS;
}

// Others' results do not depend on how it is set, and no memory is named for nothing.
bool mayEmulate(const Handle& object, const blas::Call& call) {
  constexpr unsigned kModes = 0xf;
  const auto mode = static_cast<unsigned>(object.mathMode) & kModes;
  return mode == CUBLAS_FP32_EMULATED_BF16X9_MATH || mode == CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH || call.computeType == CUBLAS_COMPUTE_32F_EMULATED_16BFX9 ||
         call.computeType == CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT;
}

// Of the functions that tell the program which parameter is wrong: its place, counted from the first behind the handle; 0: none.
int wrongParameter(blas::Verb verb, const blas::Call& call) {
  using blas::Verb;
  int place = 0;
  const auto parameter = [&](int at, bool right) {
    if (place == 0 && !right) place = at;
  };
  const auto least = [](std::int64_t rows) { return rows > 1 ? rows : 1; };
  if (verb == Verb::geqrf) {
    parameter(1, call.m >= 0);
    parameter(2, call.n >= 0);
    parameter(4, call.a.spacing >= least(call.m));
    parameter(7, call.batch >= 0);
    return place;
  }
  const bool gels = verb == Verb::gels;
  parameter(1, gels ? call.transa == blas::Transpose::none : call.transa <= blas::Transpose::conjugated);
  parameter(2, (gels ? call.m : call.n) >= 0);
  if (gels) parameter(3, call.n >= 0 && call.n <= call.m);
  const int next = gels ? 4 : 3;
  const std::int64_t rows = gels ? call.m : call.n;
  parameter(next, call.k >= 0);
  parameter(next + 2, call.a.spacing >= least(rows));
  if (gels) parameter(8, call.c.spacing >= least(rows));
  else parameter(8, call.b.spacing >= least(rows));
  parameter(gels ? 11 : 10, call.batch >= 0);
  return place;
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
  const bool inMemory = object->pointerMode == CUBLAS_POINTER_MODE_DEVICE, rotation = blas::rotationCount(info.verb) != 0;
  call.scalars = inMemory || rotation ? blas::Scalars::inMemory : blas::Scalars::byValue;
  call.atomics = static_cast<std::uint8_t>(object->atomics);
  call.mathMode = static_cast<std::uint32_t>(object->mathMode);
  call.multiprocessors = object->multiprocessors;
  if (mayEmulate(*object, call)) call.emulation = object->emulation;
  call.workspace = object->workspace;
  call.workspaceBytes = object->workspaceBytes;
  if (info.verb == blas::Verb::gemm && info.scaleType == blas::Type::any) call.scaleType = blas::scaleTypeOf(call.computeType, call.cType);

  const bool tellsPlace = info.verb == blas::Verb::getrs || info.verb == blas::Verb::geqrf || info.verb == blas::Verb::gels;
  if (tellsPlace) {
    if (host.info == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *host.info = -wrongParameter(info.verb, call);
  }
  const blas::Check checked = blas::check(function, call);
  if (checked.verdict == blas::Verdict::invalid) return CUBLAS_STATUS_INVALID_VALUE;
  if (checked.verdict == blas::Verdict::unsupported) return refuse(function, checked.what);
  if (checked.verdict == blas::Verdict::empty) return CUBLAS_STATUS_SUCCESS;
  const bool results = blas::hasResult(info.verb);
  if (!takeScalar(blas::hasAlpha(info.verb), host.alpha, call.scaleType, inMemory, call.alpha) ||
      !takeScalar(blas::hasBeta(info.verb), host.beta, blas::betaTypeOf(info, call), inMemory, call.beta) ||
      (results && host.result == nullptr))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (info.verb == blas::Verb::rotm) {
    if (host.parameters == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    if (inMemory) call.rotation[0] = reinterpret_cast<std::uint64_t>(host.parameters);
    else std::memcpy(call.rotation, host.parameters, blas::kRotationParameters * blas::bytesOf(call.scaleType));
  }
  for (std::size_t i = 0; i < blas::rotationCount(info.verb); ++i) call.rotation[i] = reinterpret_cast<std::uint64_t>(host.rotation[i]);
  // Anything but null, until it is known.
  if (results) call.result = reinterpret_cast<std::uint64_t>(host.result);
  blas::Operands operands;
  if (!blas::operands(function, call, operands)) return CUBLAS_STATUS_INVALID_VALUE;
  for (const blas::Range& range : operands.all())
    if (range.address == 0) return CUBLAS_STATUS_INVALID_VALUE;

  const client::LibraryHost& library = *client::libraryHost();
  if (rotation && !inMemory) return rotate(library, *object, function, call, host.rotation);
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
