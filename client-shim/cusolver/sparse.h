// cuSOLVER's sparse part: what its handles and info objects stand for, and how calls are made. Nothing of it is on the server; factors lie in memory of the device that info
// objects have, or for functions of the host in the objects themselves.
#pragma once

#include <cusolverSp_LOWLEVEL_PREVIEW.h>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>

#include "client-shim/cusolver/handle.h"
#include "schemas/systems/check.h"

namespace rouse::cusolver {

struct SparseHandle {
  std::uint32_t device = 0;  // the thread's when it was made
  std::uint64_t stream = 0;  // cudaStream_t
  // Where the executor answers: one question at a time. Kept by the object when the handle is destroyed.
  std::mutex answerMutex;
  systems::Answer* answer = nullptr;
};

// csrcholInfo_t, csrqrInfo_t: what has been analysed, and the factor's memory.
struct Factor {
  systems::Call call;          // the matrix's size, type and base; of Q R all of it, and the shift
  std::int64_t elements = -1;  // of the factor; -1: not analysed
  bool hasMatrix = false;      // of Q R: what is to be factorised is known
  bool factorised = false;
  void* memory = nullptr;      // the program's, as cudaMalloc gives it
  std::uint64_t bytes = 0;
};

inline SparseHandle* findSparse(cusolverSpHandle_t handle) { return find<SparseHandle>(handle, client::HandleKind::sparseSolver); }
inline Factor* findFactor(csrqrInfo_t info) { return find<Factor>(info, client::HandleKind::csrqr); }
inline Factor* findFactor(csrcholInfo_t info) { return find<Factor>(info, client::HandleKind::csrchol); }

inline std::uint64_t addressOf(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

template <class T>
struct Numbers;
template <>
struct Numbers<float> {
  static constexpr systems::Type kType = systems::Type::f32;
  using Wide = double;
};
template <>
struct Numbers<double> {
  static constexpr systems::Type kType = systems::Type::f64;
  using Wide = double;
};
template <>
struct Numbers<cuComplex> {
  static constexpr systems::Type kType = systems::Type::c32;
  using Wide = std::complex<double>;
};
template <>
struct Numbers<cuDoubleComplex> {
  static constexpr systems::Type kType = systems::Type::c64;
  using Wide = std::complex<double>;
};
template <class T>
inline constexpr systems::Type kTypeOf = Numbers<T>::kType;
inline double wide(double value) { return value; }
inline std::complex<double> wide(cuComplex value) { return {value.x, value.y}; }
inline std::complex<double> wide(cuDoubleComplex value) { return {value.x, value.y}; }

// A matrix as programs name it.
struct Csr {
  int rows, cols, elements;
  cusparseMatDescr_t descriptor;
  const void* values;
  const int* offsets;
  const int* indices;
};
cusolverStatus_t describe(const Csr& from, systems::Type type, systems::Matrix& to);

// Checks and sends. What is empty is not sent.
cusolverStatus_t send(const SparseHandle& handle, systems::Function function, const systems::Call& call);
// The same without sending.
cusolverStatus_t consider(systems::Function function, const systems::Call& call);
// Sends it and waits for what it answers; of an empty call that is `none`.
cusolverStatus_t ask(SparseHandle& handle, systems::Function function, systems::Call& call, std::int64_t none, std::int64_t& number);

// No exception leaves the library. What is too large for 32-bit indices is too large for memory, too.
template <class Body>
cusolverStatus_t guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::exception&) {
    return CUSOLVER_STATUS_ALLOC_FAILED;
  }
}
// body(handle) of a handle that is one.
template <class Body>
cusolverStatus_t with(cusolverSpHandle_t handle, Body&& body) noexcept {
  return guarded([&] {
    SparseHandle* const found = findSparse(handle);
    return found != nullptr ? body(*found) : CUSOLVER_STATUS_NOT_INITIALIZED;
  });
}

// `reorder`. Numbers that are none stay what no order has, for the check to find.
inline systems::Order orderOf(int reorder) { return reorder >= 0 && reorder < 255 ? static_cast<systems::Order>(reorder) : static_cast<systems::Order>(255); }

// What programs are told that a call needs to work in. It is never nothing; the executor has its own.
inline constexpr std::size_t kWorkBytes = 512;

}  // namespace rouse::cusolver
