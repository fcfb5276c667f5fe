#include "client-shim/cusolver/sparse.h"

#include <span>

#include "client-shim/cusolver/run.h"
#include "client-shim/library/sparse_matrix_descriptor.h"

namespace rouse::cusolver {
namespace {

cusolverStatus_t checkAll(systems::Function function, const systems::Call& call) {
  if (systems::check(function, call).verdict == systems::Verdict::invalid) return CUSOLVER_STATUS_INVALID_VALUE;
  systems::Ranges ranges;
  return systems::ranges(function, call, ranges) ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_INVALID_VALUE;
}
bool isEmpty(systems::Function function, const systems::Call& call) { return systems::check(function, call).verdict == systems::Verdict::empty; }
std::span<const std::byte> bytesOf(const systems::Call& call) { return std::as_bytes(std::span(&call, 1)); }

}  // namespace

cusolverStatus_t describe(const Csr& from, systems::Type type, systems::Matrix& to) {
  const library::MatrixDescriptor* const descriptor = library::findMatrixDescriptor(from.descriptor);
  if (descriptor == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  if (descriptor->type != CUSPARSE_MATRIX_TYPE_GENERAL) return CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
  to.rows = from.rows;
  to.cols = from.cols;
  to.elements = from.elements;
  to.offsets = addressOf(from.offsets);
  to.indices = addressOf(from.indices);
  to.values = addressOf(from.values);
  to.type = type;
  to.base = static_cast<std::uint8_t>(descriptor->base);
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t consider(systems::Function function, const systems::Call& call) {
  return systems::check(function, call).verdict == systems::Verdict::invalid ? CUSOLVER_STATUS_INVALID_VALUE : CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t send(const SparseHandle& handle, systems::Function function, const systems::Call& call) {
  if (isEmpty(function, call)) return CUSOLVER_STATUS_SUCCESS;
  if (const cusolverStatus_t checked = checkAll(function, call); checked != CUSOLVER_STATUS_SUCCESS) return checked;
  return toStatus(client::libraryHost()->submit(handle.device, handle.stream, systems::kLibrary, static_cast<std::uint32_t>(function), bytesOf(call)));
}

cusolverStatus_t ask(SparseHandle& handle, systems::Function function, systems::Call& call, std::int64_t none, std::int64_t& number) {
  number = none;
  if (isEmpty(function, call)) return CUSOLVER_STATUS_SUCCESS;
  const client::LibraryHost& host = *client::libraryHost();
  const std::lock_guard lock(handle.answerMutex);
  if (handle.answer == nullptr) handle.answer = static_cast<systems::Answer*>(host.allocateShared(sizeof(systems::Answer)));
  if (handle.answer == nullptr) return CUSOLVER_STATUS_ALLOC_FAILED;
  call.answer = addressOf(handle.answer);
  if (const cusolverStatus_t checked = checkAll(function, call); checked != CUSOLVER_STATUS_SUCCESS) return checked;
  handle.answer->number = systems::kUnanswered;
  const CudaError error = host.submitAndWait(handle.device, handle.stream, systems::kLibrary, static_cast<std::uint32_t>(function), bytesOf(call));
  if (error != CudaError::success) return toStatus(error);
  number = handle.answer->number;
  return number == systems::kUnanswered ? CUSOLVER_STATUS_EXECUTION_FAILED : CUSOLVER_STATUS_SUCCESS;
}

}  // namespace rouse::cusolver
