// cuSOLVER's sparse part on the device, step by step: a factor (csrchol, csrqr) that lies in memory of the program's which its info object takes, and what is solved by it.
#include <cuda_runtime_api.h>

#include "client-shim/cusolver/implementations_sparse_factors.h"
#include "client-shim/cusolver/sparse.h"

namespace rouse::cusolver {
namespace {

using systems::Function;
using systems::Method;

template <class Info>
cusolverStatus_t createFactor(Info* info, client::HandleKind kind, Method method) {
  return make<Factor>(info, kind, [&](Factor& object, std::uint32_t) {
    object = {};
    object.call.method = method;
  });
}
// Queued calls may use the memory still: it is given to nobody before they have ended.
template <class Info>
cusolverStatus_t destroyFactor(Info info, client::HandleKind kind) {
  return guarded([&] {
    const client::LibraryHost* const host = client::libraryHost();
    auto* const object = host != nullptr ? static_cast<Factor*>(host->dropHandle(reinterpret_cast<std::uint64_t>(info), kind)) : nullptr;
    if (object == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
    if (object->memory != nullptr) (void)cudaFree(object->memory);
    library::ObjectPool<Factor>::get().give(object);
    return CUSOLVER_STATUS_SUCCESS;
  });
}

// body(handle, factor) of those that are some.
template <class Info, class Body>
cusolverStatus_t withFactor(cusolverSpHandle_t handle, Info info, Body&& body) {
  return with(handle, [&](SparseHandle& found) {
    Factor* const factor = findFactor(info);
    return factor != nullptr ? body(found, *factor) : CUSOLVER_STATUS_INVALID_VALUE;
  });
}
// As large as the one that has been analysed.
bool isOf(const Factor& factor, const systems::Matrix& matrix) {
  const systems::Matrix& a = factor.call.a;
  return factor.elements >= 0 && a.rows == matrix.rows && a.cols == matrix.cols && a.elements == matrix.elements;
}

// Waits: how much memory the factor needs is found where the matrix is.
template <class Info>
cusolverStatus_t analyse(cusolverSpHandle_t handle, const Csr& matrix, Info info) {
  return withFactor(handle, info, [&](SparseHandle& found, Factor& factor) {
    systems::Call call;
    call.method = factor.call.method;
    if (const cusolverStatus_t status = describe(matrix, systems::Type::f64, call.a); status != CUSOLVER_STATUS_SUCCESS) return status;
    std::int64_t elements = 0;
    if (const cusolverStatus_t status = ask(found, Function::analyse, call, 0, elements); status != CUSOLVER_STATUS_SUCCESS) return status;
    factor.call = call;
    factor.elements = elements;
    factor.hasMatrix = factor.factorised = false;
    return CUSOLVER_STATUS_SUCCESS;
  });
}

std::uint64_t bytesOf(const Factor& factor, systems::Type type) {
  systems::Call call = factor.call;
  call.a.type = type;
  return systems::stateBytes(call, factor.elements);
}

template <class Info>
cusolverStatus_t tellSize(cusolverSpHandle_t handle, const Csr& matrix, systems::Type type, Info info, std::size_t* internal, std::size_t* work) {
  return withFactor(handle, info, [&](SparseHandle&, Factor& factor) {
    systems::Matrix described;
    if (internal == nullptr || work == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
    if (const cusolverStatus_t status = describe(matrix, type, described); status != CUSOLVER_STATUS_SUCCESS) return status;
    if (!isOf(factor, described)) return CUSOLVER_STATUS_INVALID_VALUE;
    *internal = bytesOf(factor, type);
    *work = kWorkBytes;
    return CUSOLVER_STATUS_SUCCESS;
  });
}

// What is to be factorised: of Q R at its set-up.
cusolverStatus_t setMatrix(Factor& factor, const Csr& matrix, systems::Type type, std::complex<double> shift) {
  systems::Matrix described;
  if (const cusolverStatus_t status = describe(matrix, type, described); status != CUSOLVER_STATUS_SUCCESS) return status;
  if (!isOf(factor, described)) return CUSOLVER_STATUS_INVALID_VALUE;
  factor.call.a = described;
  factor.call.shift[0] = shift.real();
  factor.call.shift[1] = shift.imag();
  factor.hasMatrix = true;
  factor.factorised = false;
  return CUSOLVER_STATUS_SUCCESS;
}

// Of the handle's device, whichever is the thread's. Null: there is none left.
void* takeMemory(std::uint32_t device, std::uint64_t bytes) {
  int current = 0;
  void* memory = nullptr;
  const bool taken = cudaGetDevice(&current) == cudaSuccess && cudaSetDevice(static_cast<int>(device)) == cudaSuccess && cudaMalloc(&memory, bytes) == cudaSuccess;
  (void)cudaSetDevice(current);
  if (taken) return memory;
  (void)cudaGetLastError();  // it is our caller's to report
  return nullptr;
}

cusolverStatus_t factorise(SparseHandle& handle, Factor& factor) {
  const std::uint64_t bytes = bytesOf(factor, factor.call.a.type);
  if (factor.bytes < bytes) {
    // The old one is used no more behind what is queued.
    if (factor.memory != nullptr) (void)cudaFree(factor.memory);
    factor.memory = nullptr;
    factor.bytes = 0;
    factor.memory = takeMemory(handle.device, bytes);
    if (factor.memory == nullptr) return CUSOLVER_STATUS_ALLOC_FAILED;
    factor.bytes = bytes;
  }
  factor.call.state = addressOf(factor.memory);
  factor.call.stateBytes = bytes;
  const cusolverStatus_t status = send(handle, Function::factorise, factor.call);
  factor.factorised = status == CUSOLVER_STATUS_SUCCESS;
  return status;
}

cusolverStatus_t solveBy(SparseHandle& handle, const Factor& factor, systems::Type type, int rows, int cols, const void* b, void* x) {
  systems::Call call = factor.call;
  if (!factor.factorised || type != call.a.type || rows != call.a.rows || cols != call.a.cols) return CUSOLVER_STATUS_INVALID_VALUE;
  call.right = addressOf(b);
  call.solution = addressOf(x);
  return send(handle, Function::solveFactorised, call);
}

template <class Info>
cusolverStatus_t tellPivot(cusolverSpHandle_t handle, Info info, systems::Type type, double tolerance, int* position) {
  return withFactor(handle, info, [&](SparseHandle& found, Factor& factor) {
    if (position == nullptr || !factor.factorised || type != factor.call.a.type) return CUSOLVER_STATUS_INVALID_VALUE;
    systems::Call call = factor.call;
    call.tolerance = tolerance;
    std::int64_t number = -1;
    const cusolverStatus_t status = call.a.cols == 0 ? CUSOLVER_STATUS_SUCCESS : ask(found, Function::pivot, call, -1, number);
    if (status == CUSOLVER_STATUS_SUCCESS) *position = static_cast<int>(number);
    return status;
  });
}

}  // namespace

namespace impl {

cusolverStatus_t cusolverSpCreateCsrqrInfo(csrqrInfo_t* info) { return createFactor(info, client::HandleKind::csrqr, Method::qr); }
cusolverStatus_t cusolverSpDestroyCsrqrInfo(csrqrInfo_t info) { return destroyFactor(info, client::HandleKind::csrqr); }
cusolverStatus_t cusolverSpCreateCsrcholInfo(csrcholInfo_t* info) { return createFactor(info, client::HandleKind::csrchol, Method::cholesky); }
cusolverStatus_t cusolverSpDestroyCsrcholInfo(csrcholInfo_t info) { return destroyFactor(info, client::HandleKind::csrchol); }

cusolverStatus_t cusolverSpXcsrqrAnalysis(cusolverSpHandle_t handle, int m, int n, int nnzA, const cusparseMatDescr_t descrA, const int* csrRowPtrA, const int* csrColIndA,
                                          csrqrInfo_t info) {
  return analyse(handle, {m, n, nnzA, descrA, nullptr, csrRowPtrA, csrColIndA}, info);
}
cusolverStatus_t cusolverSpXcsrcholAnalysis(cusolverSpHandle_t handle, int n, int nnzA, const cusparseMatDescr_t descrA, const int* csrRowPtrA, const int* csrColIndA,
                                            csrcholInfo_t info) {
  return analyse(handle, {n, n, nnzA, descrA, nullptr, csrRowPtrA, csrColIndA}, info);
}

#define ROUSE_CHOLESKY(letter, T, R)                                                                                                                                \
  cusolverStatus_t cusolverSp##letter##csrcholBufferInfo(cusolverSpHandle_t handle, int n, int nnzA, const cusparseMatDescr_t descrA, const T* csrValA,              \
                                                         const int* csrRowPtrA, const int* csrColIndA, csrcholInfo_t info, size_t* internalDataInBytes,             \
                                                         size_t* workspaceInBytes) {                                                                                \
    return tellSize(handle, {n, n, nnzA, descrA, csrValA, csrRowPtrA, csrColIndA}, kTypeOf<T>, info, internalDataInBytes, workspaceInBytes);                        \
  }                                                                                                                                                                 \
  cusolverStatus_t cusolverSp##letter##csrcholFactor(cusolverSpHandle_t handle, int n, int nnzA, const cusparseMatDescr_t descrA, const T* csrValA,                  \
                                                     const int* csrRowPtrA, const int* csrColIndA, csrcholInfo_t info, void*) {                                     \
    return withFactor(handle, info, [&](SparseHandle& found, Factor& factor) {                                                                                      \
      const cusolverStatus_t status = setMatrix(factor, {n, n, nnzA, descrA, csrValA, csrRowPtrA, csrColIndA}, kTypeOf<T>, 0);                                      \
      return status == CUSOLVER_STATUS_SUCCESS ? factorise(found, factor) : status;                                                                                 \
    });                                                                                                                                                             \
  }                                                                                                                                                                 \
  cusolverStatus_t cusolverSp##letter##csrcholZeroPivot(cusolverSpHandle_t handle, csrcholInfo_t info, R tol, int* position) {                                      \
    return tellPivot(handle, info, kTypeOf<T>, tol, position);                                                                                                      \
  }                                                                                                                                                                 \
  cusolverStatus_t cusolverSp##letter##csrcholSolve(cusolverSpHandle_t handle, int n, const T* b, T* x, csrcholInfo_t info, void*) {                                \
    return withFactor(handle, info, [&](SparseHandle& found, Factor& factor) { return solveBy(found, factor, kTypeOf<T>, n, n, b, x); });                           \
  }                                                                                                                                                                 \
  cusolverStatus_t cusolverSp##letter##csrcholDiag(cusolverSpHandle_t handle, csrcholInfo_t info, R* diag) {                                                        \
    return withFactor(handle, info, [&](SparseHandle& found, Factor& factor) {                                                                                      \
      if (!factor.factorised || factor.call.a.type != kTypeOf<T>) return CUSOLVER_STATUS_INVALID_VALUE;                                                             \
      systems::Call call = factor.call;                                                                                                                             \
      call.solution = addressOf(diag);                                                                                                                              \
      return send(found, Function::diagonal, call);                                                                                                                 \
    });                                                                                                                                                             \
  }
#define ROUSE_QR(letter, T, R)                                                                                                                                      \
  cusolverStatus_t cusolverSp##letter##csrqrBufferInfo(cusolverSpHandle_t handle, int m, int n, int nnzA, const cusparseMatDescr_t descrA, const T* csrValA,         \
                                                       const int* csrRowPtrA, const int* csrColIndA, csrqrInfo_t info, size_t* internalDataInBytes,                 \
                                                       size_t* workspaceInBytes) {                                                                                  \
    return tellSize(handle, {m, n, nnzA, descrA, csrValA, csrRowPtrA, csrColIndA}, kTypeOf<T>, info, internalDataInBytes, workspaceInBytes);                        \
  }                                                                                                                                                                 \
  cusolverStatus_t cusolverSp##letter##csrqrSetup(cusolverSpHandle_t handle, int m, int n, int nnzA, const cusparseMatDescr_t descrA, const T* csrValA,              \
                                                  const int* csrRowPtrA, const int* csrColIndA, T mu, csrqrInfo_t info) {                                           \
    return withFactor(handle, info, [&](SparseHandle&, Factor& factor) {                                                                                            \
      return setMatrix(factor, {m, n, nnzA, descrA, csrValA, csrRowPtrA, csrColIndA}, kTypeOf<T>, wide(mu));                                                        \
    });                                                                                                                                                             \
  }                                                                                                                                                                 \
  cusolverStatus_t cusolverSp##letter##csrqrFactor(cusolverSpHandle_t handle, int m, int n, int nnzA, T* b, T* x, csrqrInfo_t info, void*) {                        \
    return withFactor(handle, info, [&](SparseHandle& found, Factor& factor) {                                                                                      \
      const systems::Matrix& a = factor.call.a;                                                                                                                     \
      if (!factor.hasMatrix || a.type != kTypeOf<T> || a.rows != m || a.cols != n || a.elements != nnzA) return CUSOLVER_STATUS_INVALID_VALUE;                      \
      const cusolverStatus_t status = factorise(found, factor);                                                                                                     \
      return status == CUSOLVER_STATUS_SUCCESS && b != nullptr && x != nullptr ? solveBy(found, factor, kTypeOf<T>, m, n, b, x) : status;                           \
    });                                                                                                                                                             \
  }                                                                                                                                                                 \
  cusolverStatus_t cusolverSp##letter##csrqrZeroPivot(cusolverSpHandle_t handle, csrqrInfo_t info, R tol, int* position) {                                          \
    return tellPivot(handle, info, kTypeOf<T>, tol, position);                                                                                                      \
  }                                                                                                                                                                 \
  cusolverStatus_t cusolverSp##letter##csrqrSolve(cusolverSpHandle_t handle, int m, int n, T* b, T* x, csrqrInfo_t info, void*) {                                   \
    return withFactor(handle, info, [&](SparseHandle& found, Factor& factor) { return solveBy(found, factor, kTypeOf<T>, m, n, b, x); });                           \
  }
#define ROUSE_FACTORS(letter, T, R) \
  ROUSE_CHOLESKY(letter, T, R)      \
  ROUSE_QR(letter, T, R)
ROUSE_FACTORS(S, float, float)
ROUSE_FACTORS(D, double, double)
ROUSE_FACTORS(C, cuComplex, float)
ROUSE_FACTORS(Z, cuDoubleComplex, double)
#undef ROUSE_FACTORS
#undef ROUSE_QR
#undef ROUSE_CHOLESKY

}  // namespace impl
}  // namespace rouse::cusolver
