// cuSOLVER's sparse part on the host: systems (csrlsv…), the nearest solution of more equations (csrlsqvqr), and eigenvalues (csreigvsi).
#include <algorithm>
#include <limits>

#include "client-shim/cusolver/implementations_sparse_host_solves.h"
#include "client-shim/cusolver/sparse_host.h"
#include "schemas/systems/factors/cholesky.h"
#include "schemas/systems/factors/eigenvalue.h"
#include "schemas/systems/factors/lu.h"
#include "schemas/systems/factors/number.h"
#include "schemas/systems/factors/orders.h"
#include "schemas/systems/factors/qr.h"

namespace rouse::cusolver {
namespace {

enum class By { qr, cholesky, lu };

template <class T>
cusolverStatus_t solveOnHost(cusolverSpHandle_t handle, By by, const Csr& matrix, const T* b, double tolerance, int reorder, T* x, int* singularity) {
  using N = typename Numbers<T>::Wide;
  return with(handle, [&](SparseHandle&) {
    systems::Pattern pattern;
    std::vector<N> values;
    if (singularity == nullptr || orderOf(reorder) > systems::Order::nestedDissection || !(tolerance == tolerance)) return CUSOLVER_STATUS_INVALID_VALUE;
    if (matrix.rows > 0 && (b == nullptr || x == nullptr)) return CUSOLVER_STATUS_INVALID_VALUE;
    if (const cusolverStatus_t status = readMatrix(matrix, kTypeOf<T>, pattern, values); status != CUSOLVER_STATUS_SUCCESS) return status;
    systems::Room room;
    systems::Indices order = by == By::qr ? systems::orderOfQr(orderOf(reorder), pattern, room) : systems::orderOf(orderOf(reorder), pattern, room);
    std::vector<N> right = readVector(b, matrix.rows);
    if (by == By::cholesky) {
      const auto factor = systems::factoriseCholesky(pattern, values, std::move(order), room);
      systems::solve(factor, right);
      writeVector(x, right);
      *singularity = systems::pivotOf(factor, tolerance);
    } else if (by == By::qr) {
      const auto factor = systems::factoriseQr(pattern, values, std::move(order), room);
      writeVector(x, systems::solve(factor, right));
      *singularity = systems::pivotOf(factor, tolerance);
    } else {
      const auto factor = systems::factoriseLu(pattern, values, std::move(order), 1, room);
      writeVector(x, systems::solve(factor, right));
      *singularity = systems::pivotOf(factor, tolerance);
    }
    return CUSOLVER_STATUS_SUCCESS;
  });
}

// p: A's columns in the order of R's: those that the rank counts first.
template <class T, class R>
cusolverStatus_t solveNearest(cusolverSpHandle_t handle, const Csr& matrix, const T* b, double tolerance, int* rank, T* x, int* p, R* distance) {
  using N = typename Numbers<T>::Wide;
  return with(handle, [&](SparseHandle&) {
    systems::Pattern pattern;
    std::vector<N> values;
    if (rank == nullptr || distance == nullptr || matrix.rows < matrix.cols || !(tolerance == tolerance)) return CUSOLVER_STATUS_INVALID_VALUE;
    if ((matrix.rows > 0 && b == nullptr) || (matrix.cols > 0 && (x == nullptr || p == nullptr))) return CUSOLVER_STATUS_INVALID_VALUE;
    if (const cusolverStatus_t status = readMatrix(matrix, kTypeOf<T>, pattern, values); status != CUSOLVER_STATUS_SUCCESS) return status;
    systems::Room room;
    std::vector<N> right = readVector(b, matrix.rows);
    const auto factor = systems::factoriseQr(pattern, values, systems::orderOf(systems::Order::none, pattern, room), room, std::max(tolerance, 0.0));
    writeVector(x, systems::solve(factor, right));
    *distance = static_cast<R>(systems::distanceOf(factor, right));
    std::vector<int> columns, others;
    for (int k = 0; k < matrix.cols; ++k) (factor.begin[systems::place(k)] < factor.begin[systems::place(k) + 1] ? columns : others).push_back(factor.order[systems::place(k)]);
    *rank = static_cast<int>(columns.size());
    std::ranges::copy(others, std::ranges::copy(columns, p).out);
    return CUSOLVER_STATUS_SUCCESS;
  });
}

template <class T>
cusolverStatus_t findEigenvalueOnHost(cusolverSpHandle_t handle, const Csr& matrix, T near, const T* x0, int iterations, double tolerance, T* value, T* x) {
  using N = typename Numbers<T>::Wide;
  return with(handle, [&](SparseHandle&) {
    systems::Pattern pattern;
    std::vector<N> values;
    if (value == nullptr || iterations < 1 || !(tolerance == tolerance) || (matrix.rows > 0 && (x0 == nullptr || x == nullptr))) return CUSOLVER_STATUS_INVALID_VALUE;
    if (const cusolverStatus_t status = readMatrix(matrix, kTypeOf<T>, pattern, values); status != CUSOLVER_STATUS_SUCCESS) return status;
    if (matrix.rows == 0) return CUSOLVER_STATUS_SUCCESS;
    systems::Room room;
    const auto found = systems::eigenvalueNextTo<N>(wide(near), pattern, values, readVector(x0, matrix.rows), iterations, tolerance, room);
    writeVector(x, found.vector);
    writeVector(value, {found.value});
    return CUSOLVER_STATUS_SUCCESS;
  });
}

}  // namespace

namespace impl {

#define ROUSE_SOLVE(letter, T, R, name, by)                                                                                                                          \
  cusolverStatus_t cusolverSp##letter##name##Host(cusolverSpHandle_t handle, int m, int nnz, const cusparseMatDescr_t descrA, const T* csrVal, const int* csrRowPtr,  \
                                                  const int* csrColInd, const T* b, R tol, int reorder, T* x, int* singularity) {                                     \
    return solveOnHost(handle, by, {m, m, nnz, descrA, csrVal, csrRowPtr, csrColInd}, b, tol, reorder, x, singularity);                                              \
  }
#define ROUSE_SOLVES(letter, T, R)                                                                                                                                   \
  ROUSE_SOLVE(letter, T, R, csrlsvlu, By::lu)                                                                                                                        \
  ROUSE_SOLVE(letter, T, R, csrlsvqr, By::qr)                                                                                                                        \
  ROUSE_SOLVE(letter, T, R, csrlsvchol, By::cholesky)                                                                                                                \
  cusolverStatus_t cusolverSp##letter##csrlsqvqrHost(cusolverSpHandle_t handle, int m, int n, int nnz, const cusparseMatDescr_t descrA, const T* csrValA,             \
                                                     const int* csrRowPtrA, const int* csrColIndA, const T* b, R tol, int* rankA, T* x, int* p, R* min_norm) {        \
    return solveNearest(handle, {m, n, nnz, descrA, csrValA, csrRowPtrA, csrColIndA}, b, tol, rankA, x, p, min_norm);                                                \
  }                                                                                                                                                                  \
  cusolverStatus_t cusolverSp##letter##csreigvsiHost(cusolverSpHandle_t handle, int m, int nnz, const cusparseMatDescr_t descrA, const T* csrValA,                    \
                                                     const int* csrRowPtrA, const int* csrColIndA, T mu0, const T* x0, int maxite, R tol, T* mu, T* x) {              \
    return findEigenvalueOnHost(handle, {m, m, nnz, descrA, csrValA, csrRowPtrA, csrColIndA}, mu0, x0, maxite, tol, mu, x);                                          \
  }
ROUSE_SOLVES(S, float, float)
ROUSE_SOLVES(D, double, double)
ROUSE_SOLVES(C, cuComplex, float)
ROUSE_SOLVES(Z, cuDoubleComplex, double)
#undef ROUSE_SOLVES
#undef ROUSE_SOLVE

}  // namespace impl
}  // namespace rouse::cusolver
