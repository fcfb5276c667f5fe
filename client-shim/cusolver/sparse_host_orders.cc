// cuSOLVER's sparse part on the host: orders of rows and columns (csrsym…, csrzfd), matrices put into them (csrperm), and whether one is symmetric (csrissym).
#include <algorithm>

#include "client-shim/cusolver/implementations_sparse_host_orders.h"
#include "client-shim/cusolver/sparse_host.h"
#include "schemas/systems/factors/number.h"
#include "schemas/systems/factors/orders.h"

namespace rouse::cusolver {
namespace {

using systems::Pattern;
using systems::place;

cusolverStatus_t tellOrder(cusolverSpHandle_t handle, systems::Order order, const Csr& matrix, int* p) {
  return with(handle, [&](SparseHandle&) {
    Pattern pattern;
    systems::Matrix described;
    if (const cusolverStatus_t status = readMatrix(matrix, systems::Type::f64, pattern, described); status != CUSOLVER_STATUS_SUCCESS) return status;
    if (matrix.rows > 0 && p == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
    systems::Room room;
    std::ranges::copy(systems::orderOf(order, pattern, room), p);
    return CUSOLVER_STATUS_SUCCESS;
  });
}

template <class T>
cusolverStatus_t tellZeroFree(cusolverSpHandle_t handle, const Csr& matrix, int* p, int* found) {
  using N = typename Numbers<T>::Wide;
  return with(handle, [&](SparseHandle&) {
    Pattern pattern, some;
    std::vector<N> values;
    if (const cusolverStatus_t status = readMatrix(matrix, kTypeOf<T>, pattern, values); status != CUSOLVER_STATUS_SUCCESS) return status;
    if (found == nullptr || (matrix.rows > 0 && p == nullptr)) return CUSOLVER_STATUS_INVALID_VALUE;
    // Without elements that are 0.
    some.rows = pattern.rows;
    some.cols = pattern.cols;
    for (std::int32_t row = 0; row < pattern.rows; ++row) {
      for (std::int32_t i = pattern.offsets[place(row)]; i < pattern.offsets[place(row) + 1]; ++i)
        if (values[place(i)] != N{}) some.columns.push_back(pattern.columns[place(i)]);
      some.offsets.push_back(static_cast<std::int32_t>(some.columns.size()));
    }
    systems::Indices rows;
    systems::Room room;
    *found = systems::zeroFreeDiagonal(some, rows, room);
    std::ranges::copy(rows, p);
    return CUSOLVER_STATUS_SUCCESS;
  });
}

bool isOrder(const int* order, int n) {
  std::vector<bool> seen(place(n));
  for (int i = 0; i < n; ++i) {
    if (order[i] < 0 || order[i] >= n || seen[place(order[i])]) return false;
    seen[place(order[i])] = true;
  }
  return true;
}

// Rows and columns as p and q have them; a row's columns go up. `map` goes along with the elements.
cusolverStatus_t permute(cusolverSpHandle_t handle, const Csr& matrix, int* offsets, int* indices, const int* p, const int* q, int* map) {
  return with(handle, [&](SparseHandle&) {
    Pattern pattern;
    systems::Matrix described;
    if (const cusolverStatus_t status = readMatrix(matrix, systems::Type::f64, pattern, described); status != CUSOLVER_STATUS_SUCCESS) return status;
    if ((matrix.rows > 0 && p == nullptr) || (matrix.cols > 0 && q == nullptr) || (pattern.elements() > 0 && map == nullptr)) return CUSOLVER_STATUS_INVALID_VALUE;
    if (!isOrder(p, matrix.rows) || !isOrder(q, matrix.cols)) return CUSOLVER_STATUS_INVALID_VALUE;
    const systems::Indices where = systems::inverse({q, q + matrix.cols});
    const systems::Indices before(map, map + pattern.elements());
    std::vector<std::pair<std::int32_t, std::int32_t>> row;
    std::int32_t to = 0;
    for (std::int32_t i = 0; i < matrix.rows; ++i) {
      row.clear();
      for (std::int32_t k = pattern.offsets[place(p[i])]; k < pattern.offsets[place(p[i]) + 1]; ++k) row.emplace_back(where[place(pattern.columns[place(k)])], k);
      std::ranges::sort(row);
      offsets[i] = to + described.base;
      for (const auto& [column, k] : row) {
        indices[to] = column + described.base;
        map[to++] = before[place(k)];
      }
    }
    offsets[matrix.rows] = to + described.base;
    return CUSOLVER_STATUS_SUCCESS;
  });
}

// Whether each element has one across the diagonal.
bool isSymmetric(const Pattern& pattern) {
  systems::Room room;
  std::vector<std::int32_t> places;
  const Pattern other = systems::transposed(pattern, places, room);
  const auto rowOf = [](const Pattern& of, std::int32_t row) {
    systems::Indices columns(of.columns.begin() + of.offsets[place(row)], of.columns.begin() + of.offsets[place(row) + 1]);
    std::ranges::sort(columns);
    return columns;
  };
  for (std::int32_t row = 0; row < pattern.rows; ++row)
    if (rowOf(pattern, row) != rowOf(other, row)) return false;
  return true;
}

}  // namespace

namespace impl {

cusolverStatus_t cusolverSpXcsrissymHost(cusolverSpHandle_t handle, int m, int nnzA, const cusparseMatDescr_t descrA, const int* csrRowPtrA, const int* csrEndPtrA,
                                         const int* csrColIndA, int* issym) {
  return with(handle, [&](SparseHandle&) {
    Pattern pattern;
    systems::Matrix described;
    if (issym == nullptr || (m > 0 && csrEndPtrA == nullptr)) return CUSOLVER_STATUS_INVALID_VALUE;
    const cusolverStatus_t status = readMatrix({m, m, nnzA, descrA, nullptr, csrRowPtrA, csrColIndA}, systems::Type::f64, pattern, described, csrEndPtrA);
    if (status == CUSOLVER_STATUS_SUCCESS) *issym = isSymmetric(pattern) ? 1 : 0;
    return status;
  });
}

cusolverStatus_t cusolverSpXcsrsymrcmHost(cusolverSpHandle_t handle, int n, int nnzA, const cusparseMatDescr_t descrA, const int* csrRowPtrA, const int* csrColIndA, int* p) {
  return tellOrder(handle, systems::Order::reverseCuthillMcKee, {n, n, nnzA, descrA, nullptr, csrRowPtrA, csrColIndA}, p);
}
cusolverStatus_t cusolverSpXcsrsymmdqHost(cusolverSpHandle_t handle, int n, int nnzA, const cusparseMatDescr_t descrA, const int* csrRowPtrA, const int* csrColIndA, int* p) {
  return tellOrder(handle, systems::Order::minimumDegree, {n, n, nnzA, descrA, nullptr, csrRowPtrA, csrColIndA}, p);
}
cusolverStatus_t cusolverSpXcsrsymamdHost(cusolverSpHandle_t handle, int n, int nnzA, const cusparseMatDescr_t descrA, const int* csrRowPtrA, const int* csrColIndA, int* p) {
  return tellOrder(handle, systems::Order::minimumDegree, {n, n, nnzA, descrA, nullptr, csrRowPtrA, csrColIndA}, p);
}

cusolverStatus_t cusolverSpXcsrperm_bufferSizeHost(cusolverSpHandle_t handle, int m, int n, int nnzA, const cusparseMatDescr_t descrA, const int*, const int*, const int*,
                                                   const int*, size_t* bufferSizeInBytes) {
  return with(handle, [&](SparseHandle&) {
    systems::Matrix described;
    if (bufferSizeInBytes == nullptr || m < 0 || n < 0 || nnzA < 0) return CUSOLVER_STATUS_INVALID_VALUE;
    if (const cusolverStatus_t status = describe({m, n, nnzA, descrA, nullptr, nullptr, nullptr}, systems::Type::f64, described); status != CUSOLVER_STATUS_SUCCESS) return status;
    *bufferSizeInBytes = kWorkBytes;
    return CUSOLVER_STATUS_SUCCESS;
  });
}
cusolverStatus_t cusolverSpXcsrpermHost(cusolverSpHandle_t handle, int m, int n, int nnzA, const cusparseMatDescr_t descrA, int* csrRowPtrA, int* csrColIndA, const int* p,
                                        const int* q, int* map, void*) {
  return permute(handle, {m, n, nnzA, descrA, nullptr, csrRowPtrA, csrColIndA}, csrRowPtrA, csrColIndA, p, q, map);
}

#define ROUSE_ZERO_FREE(letter, T)                                                                                                                            \
  cusolverStatus_t cusolverSp##letter##csrzfdHost(cusolverSpHandle_t handle, int n, int nnz, const cusparseMatDescr_t descrA, const T* csrValA,                \
                                                  const int* csrRowPtrA, const int* csrColIndA, int* P, int* numnz) {                                         \
    return tellZeroFree<T>(handle, {n, n, nnz, descrA, csrValA, csrRowPtrA, csrColIndA}, P, numnz);                                                           \
  }
ROUSE_ZERO_FREE(S, float)
ROUSE_ZERO_FREE(D, double)
ROUSE_ZERO_FREE(C, cuComplex)
ROUSE_ZERO_FREE(Z, cuDoubleComplex)
#undef ROUSE_ZERO_FREE

}  // namespace impl
}  // namespace rouse::cusolver
