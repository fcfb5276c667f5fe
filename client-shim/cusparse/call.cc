#include "client-shim/cusparse/call.h"

#include <cstring>
#include <span>
#include <string_view>

#include "client-shim/library/refuse.h"

namespace rouse::cusparse {
namespace {

std::span<const std::byte> bytesOf(const sparse::Call& call) { return std::as_bytes(std::span(&call, 1)); }

sparse::Check checkAll(sparse::Function function, const sparse::Call& call) {
  const sparse::Check checked = sparse::check(function, call);
  if (checked.verdict != sparse::Verdict::runs) return checked;
  if (sparse::Ranges ranges; !sparse::ranges(function, call, ranges)) return {sparse::Verdict::invalidValue, "an address"};
  return checked;
}

// Of what the executor answers.
constexpr std::size_t kShared = 16;

// `place` becomes the address of the handle's shared memory, which has `before` and then what the executor wrote. Of an empty call `value` stays.
cusparseStatus_t waitFor(Handle& handle, sparse::Function function, sparse::Call& call, const char* name, std::uint64_t& place, const void* before, void* value,
                         std::size_t bytes) {
  const client::LibraryHost& host = *client::libraryHost();
  const std::lock_guard lock(handle.answerMutex);
  if (handle.answer == nullptr) handle.answer = host.allocateShared(kShared);
  if (handle.answer == nullptr) return CUSPARSE_STATUS_ALLOC_FAILED;
  place = addressOf(handle.answer);
  const sparse::Check checked = checkAll(function, call);
  if (checked.verdict != sparse::Verdict::runs || bytes > kShared) return toStatus(checked, name);
  std::memcpy(handle.answer, before, bytes);
  const CudaError error = host.submitAndWait(handle.device, handle.stream, sparse::kLibrary, static_cast<std::uint32_t>(function), bytesOf(call));
  if (error == CudaError::success) std::memcpy(value, handle.answer, bytes);
  return toStatus(error);
}

}  // namespace

cusparseStatus_t toStatus(CudaError error) {
  switch (error) {
    case CudaError::success:
      return CUSPARSE_STATUS_SUCCESS;
    case CudaError::memoryAllocation:
      return CUSPARSE_STATUS_ALLOC_FAILED;
    case CudaError::invalidResourceHandle:
      return CUSPARSE_STATUS_INVALID_VALUE;
    case CudaError::notSupported:
      return CUSPARSE_STATUS_NOT_SUPPORTED;
    default:
      return CUSPARSE_STATUS_EXECUTION_FAILED;
  }
}

cusparseStatus_t refuse(const char* function, const char* why) {
  library::refuse(std::string_view(function), why);
  return CUSPARSE_STATUS_NOT_SUPPORTED;
}

cusparseStatus_t toStatus(const sparse::Check& check, const char* function) {
  switch (check.verdict) {
    case sparse::Verdict::runs: case sparse::Verdict::empty:
      return CUSPARSE_STATUS_SUCCESS;
    case sparse::Verdict::invalidValue:
      return CUSPARSE_STATUS_INVALID_VALUE;
    case sparse::Verdict::unsupported:
      break;
  }
  return refuse(function, check.what);
}

sparse::Scalar scalarOf(const Handle& handle, const void* scalar, sparse::Type type) {
  sparse::Scalar out;
  if (handle.scalarsInMemory) out.words[0] = addressOf(scalar);
  else std::memcpy(out.words, scalar, sparse::bytesOf(type));
  return out;
}

bool setScalars(const Handle& handle, const void* alpha, const void* beta, sparse::Type type, sparse::Call& call) {
  if (alpha == nullptr || beta == nullptr) return false;
  call.computeType = type;
  call.scalars = handle.scalarsInMemory ? sparse::Scalars::inMemory : sparse::Scalars::inCall;
  call.alpha = scalarOf(handle, alpha, type);
  call.beta = scalarOf(handle, beta, type);
  return true;
}

cusparseStatus_t send(const Handle& handle, sparse::Function function, const sparse::Call& call, const char* name) {
  const sparse::Check checked = checkAll(function, call);
  if (checked.verdict != sparse::Verdict::runs) return toStatus(checked, name);
  return toStatus(client::libraryHost()->submit(handle.device, handle.stream, sparse::kLibrary, static_cast<std::uint32_t>(function), bytesOf(call)));
}

cusparseStatus_t consider(sparse::Function function, const sparse::Call& call, const char* name) { return toStatus(sparse::check(function, call), name); }

cusparseStatus_t ask(Handle& handle, sparse::Function function, sparse::Call& call, const char* name, std::int64_t& number) {
  const sparse::Answer none{sparse::kUnanswered};
  sparse::Answer answer;
  const cusparseStatus_t status = waitFor(handle, function, call, name, call.answer, &none, &answer, sizeof answer);
  number = answer.number;
  return status == CUSPARSE_STATUS_SUCCESS && number < 0 ? CUSPARSE_STATUS_EXECUTION_FAILED : status;
}

cusparseStatus_t askFor(Handle& handle, sparse::Function function, sparse::Call& call, const char* name, void* result, std::size_t bytes) {
  std::byte number[kShared] = {};
  const cusparseStatus_t status = waitFor(handle, function, call, name, call.result, number, number, bytes);
  if (status == CUSPARSE_STATUS_SUCCESS) std::memcpy(result, number, bytes);
  return status;
}

sparse::Sparse csrOf(std::int64_t rows, std::int64_t cols, std::int64_t nnz, const int* offsets, const int* indices, const void* values, sparse::Type type,
                     int base) {
  sparse::Sparse matrix;
  matrix.format = sparse::Format::csr;
  matrix.rows = rows;
  matrix.cols = cols;
  matrix.nnz = nnz;
  matrix.offsets = addressOf(offsets);
  matrix.indices = addressOf(indices);
  matrix.values = addressOf(values);
  matrix.offsetsType = matrix.indicesType = sparse::Index::i32;
  matrix.type = type;
  matrix.base = static_cast<std::uint8_t>(base);
  matrix.batch = 1;
  return matrix;
}

bool takeAttributes(cusparseMatDescr_t descriptor, sparse::Sparse& matrix) {
  const MatrixDescriptor* const found = findMatrix(descriptor);
  if (found == nullptr) return false;
  matrix.base = static_cast<std::uint8_t>(found->base);
  matrix.triangle = static_cast<sparse::Triangle>(found->fill);
  matrix.unitDiagonal = static_cast<std::uint8_t>(found->diagonal);
  return true;
}

}  // namespace rouse::cusparse
