// A square matrix as L U, by rows exchanged or not, and what is solved with that. Blocked by halves: most of the work is products.
#pragma once

#include <cstdint>
#include <utility>

#include "server/library/cpu/cblas_calls.h"

namespace rouse::library::cpu {

template <class T>
double sizeOf(const T& element) {
  if constexpr (kComplex<T>) return std::abs(static_cast<double>(element.real())) + std::abs(static_cast<double>(element.imag()));
  else return std::abs(static_cast<double>(element));
}

template <class T>
void exchangeRows(T* a, std::int64_t spacing, std::int64_t columns, std::int64_t one, std::int64_t other) {
  if (one == other) return;
  for (std::int64_t j = 0; j < columns; ++j) std::swap(a[one + j * spacing], a[other + j * spacing]);
}

// rows × columns, rows >= columns. pivots: null, or as many as there are columns, which are counted from 1 and from this matrix's first row. Returns the first
// column, from 1, whose diagonal element of U is 0; 0: none.
template <class T>
std::int64_t factorise(T* a, std::int64_t rows, std::int64_t columns, std::int64_t spacing, std::int32_t* pivots) {
  constexpr std::int64_t kNarrow = 8;
  std::int64_t singular = 0;
  if (columns <= kNarrow) {
    for (std::int64_t j = 0; j < columns; ++j) {
      T* column = a + j * spacing;
      if (pivots != nullptr) {
        std::int64_t best = j;
        for (std::int64_t i = j + 1; i < rows; ++i)
          if (sizeOf(column[i]) > sizeOf(column[best])) best = i;
        pivots[j] = static_cast<std::int32_t>(best + 1);
        exchangeRows(a, spacing, columns, j, best);
      }
      const T pivot = column[j];
      if (pivot == T{0}) {
        if (singular == 0) singular = j + 1;
        continue;  // what is below it is 0, too, or there are no pivots: L's column stays as it is
      }
      for (std::int64_t i = j + 1; i < rows; ++i) column[i] = column[i] / pivot;
      for (std::int64_t l = j + 1; l < columns; ++l) {
        T* other = a + l * spacing;
        const T factor = other[j];
        for (std::int64_t i = j + 1; i < rows; ++i) other[i] -= factor * column[i];
      }
    }
    return singular;
  }
  const std::int64_t left = columns / 2, right = columns - left;
  T* const beside = a + left * spacing;
  singular = factorise(a, rows, left, spacing, pivots);
  if (pivots != nullptr)
    for (std::int64_t j = 0; j < left; ++j) exchangeRows(beside, spacing, right, j, pivots[j] - 1);
  trsm(CblasLeft, CblasLower, CblasNoTrans, CblasUnit, toInt(left), toInt(right), T{1}, a, toInt(spacing), beside, toInt(spacing));
  gemm(CblasNoTrans, CblasNoTrans, toInt(rows - left), toInt(right), toInt(left), T{-1}, a + left, toInt(spacing), beside, toInt(spacing), T{1}, beside + left,
       toInt(spacing));
  const std::int64_t below = factorise(beside + left, rows - left, right, spacing, pivots != nullptr ? pivots + left : nullptr);
  if (singular == 0 && below != 0) singular = left + below;
  if (pivots != nullptr) {
    for (std::int64_t j = left; j < columns; ++j) {
      pivots[j] += static_cast<std::int32_t>(left);
      exchangeRows(a, spacing, left, j, pivots[j] - 1);
    }
  }
  return singular;
}

// b = A^-1 b, or of A's transpose. pivots: null, or n of 1 to n.
template <class T>
void solve(CBLAS_TRANSPOSE transpose, const T* a, std::int64_t n, std::int64_t spacing, const std::int32_t* pivots, T* b, std::int64_t columns, std::int64_t bSpacing) {
  const auto triangle = [&](CBLAS_UPLO uplo, CBLAS_DIAG diagonal) {
    trsm(CblasLeft, uplo, transpose, diagonal, toInt(n), toInt(columns), T{1}, a, toInt(spacing), b, toInt(bSpacing));
  };
  if (transpose == CblasNoTrans) {
    if (pivots != nullptr)
      for (std::int64_t i = 0; i < n; ++i) exchangeRows(b, bSpacing, columns, i, pivots[i] - 1);
    triangle(CblasLower, CblasUnit);
    triangle(CblasUpper, CblasNonUnit);
    return;
  }
  triangle(CblasUpper, CblasNonUnit);
  triangle(CblasLower, CblasUnit);
  if (pivots != nullptr)
    for (std::int64_t i = n - 1; i >= 0; --i) exchangeRows(b, bSpacing, columns, i, pivots[i] - 1);
}

// The first diagonal element of U, from 1, that is 0; 0: none.
template <class T>
std::int64_t singularAt(const T* u, std::int64_t n, std::int64_t spacing) {
  for (std::int64_t i = 0; i < n; ++i)
    if (u[i + i * spacing] == T{0}) return i + 1;
  return 0;
}

}  // namespace rouse::library::cpu
