// A call with all that is read before it begins, and what its verbs are done by: each matrix of a batch by itself.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "schemas/solver/check.h"
#include "server/library/cpu/number.h"

namespace rouse::library::cpu::solving {

struct Task {
  solver::Function function{};
  solver::Call call;
  std::vector<std::uint64_t> a, b;   // of a batch of arrays
  std::vector<std::int32_t> pivots;  // of what has been factorised, or of rows to exchange
  solver::Verb verb() const { return solver::info(function).verb; }
};

// Each does its verbs' matrix number `entry`. Any thread; may throw std::bad_alloc.
void runFactors(const Task& task, std::uint64_t entry);         // potr…, trtri, lauum, getr…, laswp, sytrf, sytrs, sytri
void runReflections(const Task& task, std::uint64_t entry);     // geqrf, org…, orm…, gebrd, sytrd
void runEigenvalues(const Task& task, std::uint64_t entry);     // syev…, sygv…, geev
void runSingularValues(const Task& task, std::uint64_t entry);  // gesvd…

// What a matrix needs to work in, about: it is what a call is refused or done one by one for, no account.
double workingBytes(const Task& task);

// visit(T{}) with the matrices' type.
template <class Visit>
void withType(const Task& task, Visit&& visit) {
  switch (solver::typeOf(task.function, task.call)) {
    case solver::Type::f32:
      return visit(float{});
    case solver::Type::f64:
      return visit(double{});
    case solver::Type::c32:
      return visit(c32{});
    default:
      return visit(c64{});
  }
}

template <class T>
T* at(std::uint64_t address, std::int64_t elements = 0) {
  return reinterpret_cast<T*>(address + static_cast<std::uint64_t>(elements) * sizeof(T));
}

inline char letter(solver::Triangle uplo) { return uplo == solver::Triangle::upper ? 'U' : 'L'; }
inline char letter(solver::Side side) { return side == solver::Side::left ? 'L' : 'R'; }
// Real matrices have no other transpose.
template <class T>
char letter(solver::Transpose transpose) {
  return transpose == solver::Transpose::none ? 'N' : kComplex<T> ? 'C' : 'T';
}

inline void tell(const Task& task, std::uint64_t entry, std::int64_t info) {
  const auto narrow = static_cast<std::int32_t>(info);
  std::memcpy(reinterpret_cast<std::byte*>(task.call.info) + entry * sizeof narrow, &narrow, sizeof narrow);
}

// A matrix of the job's own, without gaps between its columns. OpenBLAS's products of complex matrices with vectors read one element behind the vector, which in a
// matrix's row is one column: so there is one more.
template <class T>
std::vector<T> matrixOf(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kBehind = 16;
  return std::vector<T>(static_cast<std::size_t>(rows * columns + rows + kBehind));
}
// What indices are made from lies where no program writes meanwhile.
template <class T>
std::vector<T> copied(const T* from, std::int64_t rows, std::int64_t columns, std::int64_t spacing) {
  std::vector<T> own = matrixOf<T>(rows, columns);
  for (std::int64_t j = 0; j < columns; ++j) std::copy_n(from + j * spacing, rows, own.data() + j * rows);
  return own;
}
template <class T>
void copyBack(const std::vector<T>& own, T* to, std::int64_t rows, std::int64_t columns, std::int64_t spacing) {
  for (std::int64_t j = 0; j < columns; ++j) std::copy_n(own.data() + j * rows, rows, to + j * spacing);
}
// Only of that triangle: the other is not the call's.
template <class T>
void copyTriangleBack(const std::vector<T>& own, T* to, std::int64_t n, std::int64_t spacing, solver::Triangle uplo) {
  for (std::int64_t j = 0; j < n; ++j) {
    const std::int64_t first = uplo == solver::Triangle::upper ? 0 : j, last = uplo == solver::Triangle::upper ? j + 1 : n;
    std::copy(own.begin() + j * n + first, own.begin() + j * n + last, to + j * spacing + first);
  }
}
template <class T>
constexpr T notANumber() {
  constexpr auto kNone = std::numeric_limits<real_t<T>>::quiet_NaN();
  if constexpr (kComplex<T>) return T(kNone, kNone);
  else return kNone;
}

template <class T>
bool isFinite(T value) {
  return std::isfinite(std::real(value)) && std::isfinite(std::imag(value));
}
// Iterations over others need not end.
template <class T>
bool allFinite(const std::vector<T>& own) {
  return std::ranges::all_of(own, isFinite<T>);
}
template <class T>
bool triangleFinite(const std::vector<T>& own, std::int64_t n, solver::Triangle uplo) {
  for (std::int64_t j = 0; j < n; ++j) {
    const auto column = own.begin() + j * n;
    const bool upper = uplo == solver::Triangle::upper;
    if (!std::all_of(upper ? column : column + j, upper ? column + j + 1 : column + n, isFinite<T>)) return false;
  }
  return true;
}

}  // namespace rouse::library::cpu::solving
