// How calls are made: what a handle adds to one, what is checked before it is sent, and what cuSPARSE's statuses are.
#pragma once

#include <cusparse.h>

#include <new>

#include "client-shim/cusparse/descriptors.h"
#include "client-shim/library/host.h"
#include "schemas/sparse/check.h"

namespace rouse::cusparse {

cusparseStatus_t toStatus(CudaError error);
// What the check says of a call that is made; `function` is counted where it is not supported. empty is success.
cusparseStatus_t toStatus(const sparse::Check& check, const char* function);
cusparseStatus_t refuse(const char* function, const char* why);

// A scalar by where the handle's pointer mode says that it is.
sparse::Scalar scalarOf(const Handle& handle, const void* scalar, sparse::Type type);
// Both, the place, and the type. False: one is null.
bool setScalars(const Handle& handle, const void* alpha, const void* beta, sparse::Type type, sparse::Call& call);

// Checks and sends. What is empty is not sent.
cusparseStatus_t send(const Handle& handle, sparse::Function function, const sparse::Call& call, const char* name);
// The same without sending: of functions that tell sizes and prepare, which answer wrong arguments as the call itself does.
cusparseStatus_t consider(sparse::Function function, const sparse::Call& call, const char* name);
// Sends it and waits for the number that it answers; of an empty call 0.
cusparseStatus_t ask(Handle& handle, sparse::Function function, sparse::Call& call, const char* name, std::int64_t& number);

// Sends it, and waits for what it writes where `result` is the program's own memory.
cusparseStatus_t askFor(Handle& handle, sparse::Function function, sparse::Call& call, const char* name, void* result, std::size_t bytes);

// No exception leaves the library.
template <class Body>
cusparseStatus_t guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return CUSPARSE_STATUS_ALLOC_FAILED;
  } catch (...) {
    return CUSPARSE_STATUS_INTERNAL_ERROR;
  }
}

// body(handle) of a handle that is one.
template <class Body>
cusparseStatus_t with(cusparseHandle_t handle, Body&& body) noexcept {
  return guarded([&] {
    Handle* const found = findHandle(handle);
    return found != nullptr ? body(*found) : CUSPARSE_STATUS_NOT_INITIALIZED;
  });
}

// What programs are told that a call needs to work in. It is never nothing, since some take a null buffer for a question; what NVIDIA's library needs is known on the node, where the
// executor adds what is missing.
inline constexpr std::size_t kBufferBytes = 512;
template <class Size>
cusparseStatus_t tellBufferSize(Size* size) {
  if (size == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *size = static_cast<Size>(kBufferBytes);
  return CUSPARSE_STATUS_SUCCESS;
}

// What descriptors of operands have in common; null: there is no such descriptor.
template <class Object, class Pointer>
cusparseStatus_t getValues(const Object* found, Pointer* values) {
  if (found == nullptr || values == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *values = pointerOf(found->what.values);
  return CUSPARSE_STATUS_SUCCESS;
}
template <class Object>
cusparseStatus_t setValues(Object* found, void* values) {
  if (found == nullptr || values == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  found->what.values = addressOf(values);
  return CUSPARSE_STATUS_SUCCESS;
}
template <class Object>
cusparseStatus_t endOf(Object* found) {
  if (found == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  give(found);
  return CUSPARSE_STATUS_SUCCESS;
}
// As a call has it: of one matrix strides say nothing.
inline sparse::Dense operandOf(const DenseDescriptor& descriptor) {
  sparse::Dense operand = descriptor.what;
  if (operand.batch == 1) operand.stride = 0;
  return operand;
}
inline sparse::Sparse operandOf(const SparseDescriptor& descriptor) {
  sparse::Sparse operand = descriptor.what;
  if (operand.batch == 1) operand.offsetsStride = operand.indicesStride = operand.valuesStride = 0;
  return operand;
}

// A matrix of the classic interface: compressed rows, 32-bit indices.
template <class T>
inline constexpr sparse::Type kTypeOf = sparse::Type::none;
template <>
inline constexpr sparse::Type kTypeOf<float> = sparse::Type::f32;
template <>
inline constexpr sparse::Type kTypeOf<double> = sparse::Type::f64;
template <>
inline constexpr sparse::Type kTypeOf<cuComplex> = sparse::Type::c32;
template <>
inline constexpr sparse::Type kTypeOf<cuDoubleComplex> = sparse::Type::c64;

sparse::Sparse csrOf(std::int64_t rows, std::int64_t cols, std::int64_t nnz, const int* offsets, const int* indices, const void* values, sparse::Type type,
                     int base);
// False: there is no such descriptor, or it describes no general matrix.
bool takeAttributes(cusparseMatDescr_t descriptor, sparse::Sparse& matrix);

}  // namespace rouse::cusparse
