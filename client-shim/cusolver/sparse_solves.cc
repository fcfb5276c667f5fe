// cuSOLVER's sparse part on the device: systems (csrlsvqr, csrlsvchol), batches of them (csrqrsvBatched), and eigenvalues (csreigvsi).
#include "client-shim/cusolver/implementations_sparse_solves.h"
#include "client-shim/cusolver/sparse.h"

namespace rouse::cusolver {
namespace {

using systems::Function;
using systems::Method;

// Waits: the host is told where the matrix is singular.
cusolverStatus_t solveSystem(cusolverSpHandle_t handle, Method method, const Csr& matrix, systems::Type type, const void* b, double tolerance, int reorder, void* x, int* singularity) {
  return with(handle, [&](SparseHandle& found) {
    systems::Call call;
    if (singularity == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
    if (const cusolverStatus_t status = describe(matrix, type, call.a); status != CUSOLVER_STATUS_SUCCESS) return status;
    call.method = method;
    call.order = orderOf(reorder);
    call.tolerance = tolerance;
    call.right = addressOf(b);
    call.solution = addressOf(x);
    std::int64_t number = -1;
    const cusolverStatus_t status = ask(found, Function::solve, call, -1, number);
    if (status == CUSOLVER_STATUS_SUCCESS) *singularity = static_cast<int>(number);
    return status;
  });
}

cusolverStatus_t findEigenvalue(cusolverSpHandle_t handle, const Csr& matrix, systems::Type type, std::complex<double> near, const void* x0, int iterations, double tolerance,
                                void* value, void* x) {
  return with(handle, [&](SparseHandle& found) {
    systems::Call call;
    if (const cusolverStatus_t status = describe(matrix, type, call.a); status != CUSOLVER_STATUS_SUCCESS) return status;
    call.shift[0] = near.real();
    call.shift[1] = near.imag();
    call.right = addressOf(x0);
    call.solution = addressOf(x);
    call.value = addressOf(value);
    call.iterations = iterations;
    call.tolerance = tolerance;
    return send(found, Function::eigenvalue, call);
  });
}

// A batch is one command with all that it is made of, so that there is nothing to be kept of its analysis but that there has been one.
cusolverStatus_t describeBatch(const Csr& matrix, systems::Type type, int batch, systems::Call& call) {
  if (const cusolverStatus_t status = describe(matrix, type, call.a); status != CUSOLVER_STATUS_SUCCESS) return status;
  call.method = Method::qr;
  call.batch = batch;
  return consider(Function::solve, call);
}
cusolverStatus_t tellBatchSize(cusolverSpHandle_t handle, const Csr& matrix, systems::Type type, int batch, csrqrInfo_t info, std::size_t* internal, std::size_t* work) {
  return with(handle, [&](SparseHandle&) {
    systems::Call call;
    if (findFactor(info) == nullptr || internal == nullptr || work == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
    if (const cusolverStatus_t status = describeBatch(matrix, type, batch, call); status != CUSOLVER_STATUS_SUCCESS) return status;
    *internal = *work = kWorkBytes;
    return CUSOLVER_STATUS_SUCCESS;
  });
}
cusolverStatus_t solveBatch(cusolverSpHandle_t handle, const Csr& matrix, systems::Type type, const void* b, void* x, int batch, csrqrInfo_t info) {
  return with(handle, [&](SparseHandle& found) {
    systems::Call call;
    if (findFactor(info) == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
    if (const cusolverStatus_t status = describeBatch(matrix, type, batch, call); status != CUSOLVER_STATUS_SUCCESS) return status;
    call.right = addressOf(b);
    call.solution = addressOf(x);
    return send(found, Function::solve, call);
  });
}

}  // namespace

namespace impl {

cusolverStatus_t cusolverSpXcsrqrAnalysisBatched(cusolverSpHandle_t handle, int m, int n, int nnzA, const cusparseMatDescr_t descrA, const int* csrRowPtrA, const int* csrColIndA,
                                                 csrqrInfo_t info) {
  std::size_t ignored = 0;
  return tellBatchSize(handle, {m, n, nnzA, descrA, nullptr, csrRowPtrA, csrColIndA}, systems::Type::f64, 1, info, &ignored, &ignored);
}

#define ROUSE_SOLVE(letter, T, R, name, method)                                                                                                                  \
  cusolverStatus_t cusolverSp##letter##name(cusolverSpHandle_t handle, int m, int nnz, const cusparseMatDescr_t descrA, const T* csrVal, const int* csrRowPtr,    \
                                            const int* csrColInd, const T* b, R tol, int reorder, T* x, int* singularity) {                                       \
    return solveSystem(handle, method, {m, m, nnz, descrA, csrVal, csrRowPtr, csrColInd}, kTypeOf<T>, b, tol, reorder, x, singularity);                          \
  }
#define ROUSE_SOLVES(letter, T, R)                                                                                                                               \
  ROUSE_SOLVE(letter, T, R, csrlsvqr, Method::qr)                                                                                                                \
  ROUSE_SOLVE(letter, T, R, csrlsvchol, Method::cholesky)                                                                                                        \
  cusolverStatus_t cusolverSp##letter##csreigvsi(cusolverSpHandle_t handle, int m, int nnz, const cusparseMatDescr_t descrA, const T* csrValA,                    \
                                                 const int* csrRowPtrA, const int* csrColIndA, T mu0, const T* x0, int maxite, R eps, T* mu, T* x) {              \
    return findEigenvalue(handle, {m, m, nnz, descrA, csrValA, csrRowPtrA, csrColIndA}, kTypeOf<T>, wide(mu0), x0, maxite, eps, mu, x);                          \
  }                                                                                                                                                              \
  cusolverStatus_t cusolverSp##letter##csrqrBufferInfoBatched(cusolverSpHandle_t handle, int m, int n, int nnz, const cusparseMatDescr_t descrA, const T* csrVal, \
                                                              const int* csrRowPtr, const int* csrColInd, int batchSize, csrqrInfo_t info,                       \
                                                              size_t* internalDataInBytes, size_t* workspaceInBytes) {                                           \
    return tellBatchSize(handle, {m, n, nnz, descrA, csrVal, csrRowPtr, csrColInd}, kTypeOf<T>, batchSize, info, internalDataInBytes, workspaceInBytes);         \
  }                                                                                                                                                              \
  cusolverStatus_t cusolverSp##letter##csrqrsvBatched(cusolverSpHandle_t handle, int m, int n, int nnz, const cusparseMatDescr_t descrA, const T* csrValA,        \
                                                      const int* csrRowPtrA, const int* csrColIndA, const T* b, T* x, int batchSize, csrqrInfo_t info, void*) {   \
    return solveBatch(handle, {m, n, nnz, descrA, csrValA, csrRowPtrA, csrColIndA}, kTypeOf<T>, b, x, batchSize, info);                                          \
  }
ROUSE_SOLVES(S, float, float)
ROUSE_SOLVES(D, double, double)
ROUSE_SOLVES(C, cuComplex, float)
ROUSE_SOLVES(Z, cuDoubleComplex, double)
#undef ROUSE_SOLVES
#undef ROUSE_SOLVE

}  // namespace impl
}  // namespace rouse::cusolver
