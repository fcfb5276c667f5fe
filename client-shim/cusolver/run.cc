#include "client-shim/cusolver/run.h"

#include <algorithm>
#include <cstring>

#include "client-shim/cusolver/handle.h"
#include "client-shim/library/refuse.h"

namespace rouse::cusolver {

cusolverStatus_t toStatus(CudaError error) {
  switch (error) {
    case CudaError::success:
      return CUSOLVER_STATUS_SUCCESS;
    case CudaError::memoryAllocation:
      return CUSOLVER_STATUS_ALLOC_FAILED;
    case CudaError::invalidResourceHandle:
      return CUSOLVER_STATUS_INVALID_VALUE;
    case CudaError::notSupported:
      return CUSOLVER_STATUS_NOT_SUPPORTED;
    default:
      return CUSOLVER_STATUS_EXECUTION_FAILED;
  }
}

namespace {

cusolverStatus_t statusOf(const solver::Check& check, solver::Function function) {
  if (check.verdict == solver::Verdict::runs) return CUSOLVER_STATUS_SUCCESS;
  if (check.verdict == solver::Verdict::invalid) return CUSOLVER_STATUS_INVALID_VALUE;
  // Counted under the function's own name, so that whoever reads the counters sees what was missing.
  library::refuse(solver::info(function).name, check.what);
  return CUSOLVER_STATUS_NOT_SUPPORTED;
}

double readReal(solver::Type type, const void* at) {
  if (solver::realOf(type) == solver::Type::f64) {
    double value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  float value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// How many eigenvalues there will be, where that is known before. -1: when it has run.
std::int64_t countOf(const solver::Call& call) {
  if (call.selection == solver::Selection::all || call.n == 0) return call.n;
  return call.selection == solver::Selection::byIndex ? call.last - call.first + 1 : -1;
}

void tell(solver::Function function, std::int64_t count, void* answer) {
  const auto narrow = static_cast<std::int32_t>(count);
  if (solver::isWide(function)) std::memcpy(answer, &count, sizeof count);
  else std::memcpy(answer, &narrow, sizeof narrow);
}

// The host is told through memory that both sides see.
cusolverStatus_t fetch(const client::LibraryHost& library, Handle& object, solver::Function function, solver::Call& call, std::uint64_t bytes, void* answer) {
  const std::lock_guard lock(object.scratchMutex);
  if (object.scratchBytes < bytes) {
    // At least twice as much as before, so that what is left behind is no more than what is used.
    const std::size_t wanted = std::max<std::size_t>({static_cast<std::size_t>(bytes), 2 * object.scratchBytes, 128});
    void* const larger = library.allocateShared(wanted);
    if (larger == nullptr) return CUSOLVER_STATUS_ALLOC_FAILED;
    object.scratch = larger;
    object.scratchBytes = wanted;
  }
  call.answer = reinterpret_cast<std::uint64_t>(object.scratch);
  const CudaError error =
      library.submitAndWait(object.device, object.stream, solver::kLibrary, static_cast<std::uint32_t>(function), std::as_bytes(std::span(&call, 1)));
  if (error == CudaError::success) std::memcpy(answer, object.scratch, bytes);
  return toStatus(error);
}

// What is said of memory is not looked at: not all of it is given, and CuPy's geqrf_bufferSize says that columns lie closer than they are long.
cusolverStatus_t checkSize(cusolverDnHandle_t handle, solver::Function function, const solver::Call& call) {
  if (findHandle(handle) == nullptr) return CUSOLVER_STATUS_NOT_INITIALIZED;
  return statusOf(solver::checkSizes(function, call), function);
}

}  // namespace

solver::Call begin(solver::Function function) {
  const solver::FunctionInfo& info = solver::info(function);
  solver::Call call;
  call.aType = call.bType = call.cType = call.tauType = call.computeType = info.type;
  call.valuesType = solver::realOf(info.type);
  // Not every function that tells a size is given these.
  if (info.verb == solver::Verb::gesvd) call.job = call.otherJob = 'N';
  call.high = 1;
  return call;
}

bool take(cusolverDnParams_t params, solver::Call& call) {
  if (params == nullptr) return true;
  const Parameters* object = findParameters(params);
  if (object == nullptr) return false;
  for (unsigned function = 0; function < std::size(object->algorithms); ++function)
    call.algorithms = static_cast<std::uint8_t>(call.algorithms | static_cast<unsigned>(object->algorithms[function]) << 2 * function);
  return true;
}

namespace {

bool takeJacobi(const Jacobi* object, solver::Call& call) {
  if (object == nullptr) return false;
  call.tolerance = object->tolerance;
  call.sweeps = object->sweeps;
  call.sorts = object->sorts;
  return true;
}

}  // namespace

bool take(syevjInfo_t params, solver::Call& call) { return takeJacobi(findJacobi(params), call); }
bool take(gesvdjInfo_t params, solver::Call& call) { return takeJacobi(findJacobi(params), call); }

cusolverStatus_t run(cusolverDnHandle_t handle, solver::Function function, solver::Call& call, const HostSide& host) noexcept {
  Handle* object = findHandle(handle);
  if (object == nullptr) return CUSOLVER_STATUS_NOT_INITIALIZED;
  call.deterministic = static_cast<std::uint8_t>(object->deterministic);
  call.mathMode = static_cast<std::uint8_t>(object->mathMode);
  call.emulation = static_cast<std::uint8_t>(object->emulation);
  if (call.work == 0 || call.workBytes == 0) call.work = call.workBytes = 0;
  if (solver::isWide(function) && call.selection == solver::Selection::byValue) {
    if (host.low == nullptr || host.high == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
    call.low = readReal(call.aType, host.low);
    call.high = readReal(call.aType, host.high);
  } else if (call.selection != solver::Selection::byValue) {
    call.low = call.high = 0;
  }
  if (const cusolverStatus_t checked = statusOf(solver::check(function, call), function); checked != CUSOLVER_STATUS_SUCCESS) return checked;
  solver::Ranges ranges;
  if (!solver::ranges(function, call, ranges)) return CUSOLVER_STATUS_INVALID_VALUE;
  if (ranges.count == 0) return CUSOLVER_STATUS_SUCCESS;

  const client::LibraryHost& library = *client::libraryHost();
  if (call.selection != solver::Selection::none) {
    if (host.answer == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
    const std::int64_t count = countOf(call);
    if (count < 0) return fetch(library, *object, function, call, solver::answerBytes(function, call), host.answer);
    tell(function, count, host.answer);
  } else if (const std::uint64_t bytes = solver::answerBytes(function, call); bytes != 0 && host.answer != nullptr) {
    return fetch(library, *object, function, call, bytes, host.answer);
  }
  return toStatus(library.submit(object->device, object->stream, solver::kLibrary, static_cast<std::uint32_t>(function), std::as_bytes(std::span(&call, 1))));
}

cusolverStatus_t tellSize(cusolverDnHandle_t handle, solver::Function function, const solver::Call& call, int* elements) noexcept {
  if (const cusolverStatus_t checked = checkSize(handle, function, call); checked != CUSOLVER_STATUS_SUCCESS) return checked;
  if (elements == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  *elements = static_cast<int>(solver::workElements(function, call));
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t tellSize(cusolverDnHandle_t handle, solver::Function function, const solver::Call& call, std::size_t* onDevice, std::size_t* onHost) noexcept {
  if (const cusolverStatus_t checked = checkSize(handle, function, call); checked != CUSOLVER_STATUS_SUCCESS) return checked;
  if (onDevice == nullptr || onHost == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  *onDevice = solver::workElements(function, call);
  *onHost = 0;  // it is the executor's
  return CUSOLVER_STATUS_SUCCESS;
}

}  // namespace rouse::cusolver
