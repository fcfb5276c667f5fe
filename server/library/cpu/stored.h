// Where the elements of a matrix lie of which a triangle, a band or both are stored. In each way a column's elements lie one behind the other: the way says where
// the column's row 0 would lie, and which rows there are. Column-major, as BLAS has them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "schemas/blas/call.h"

namespace rouse::library::cpu {

struct Rows {
  std::int64_t first, end;
};

template <class T>
class Stored {
 public:
  // A triangle with its own leading dimension; without gaps; or `beside` diagonals of it.
  static Stored triangle(std::uint64_t address, blas::Triangle uplo, std::int64_t n, std::int64_t spacing) { return {address, Way::whole, uplo, n, n, spacing, n, n}; }
  static Stored packed(std::uint64_t address, blas::Triangle uplo, std::int64_t n) { return {address, Way::packed, uplo, n, n, 0, n, n}; }
  static Stored diagonals(std::uint64_t address, blas::Triangle uplo, std::int64_t n, std::int64_t beside, std::int64_t spacing) {
    const bool upper = uplo == blas::Triangle::upper;
    return {address, Way::band, uplo, n, n, spacing, upper ? 0 : beside, upper ? beside : 0};
  }
  // Of an m × n matrix the diagonals around the main one.
  static Stored band(std::uint64_t address, std::int64_t m, std::int64_t n, std::int64_t below, std::int64_t above, std::int64_t spacing) {
    return {address, Way::general, blas::Triangle::lower, m, n, spacing, below, above};
  }

  T& operator()(std::int64_t row, std::int64_t column) const { return base_[origin(column) + row]; }
  // Index of column's row 0 from the beginning, which may be before it.
  std::int64_t origin(std::int64_t column) const {
    switch (way_) {
      case Way::whole:
        return column * spacing_;
      case Way::packed:
        return lower_ ? column * columns_ - halfOf(column) : halfOf(column);
      default:
        return column * spacing_ + above_ - column;
    }
  }
  Rows rows(std::int64_t column) const {
    if (way_ == Way::general) return {std::max<std::int64_t>(0, column - above_), std::min(rows_, column + below_ + 1)};
    return lower_ ? Rows{column, std::min(rows_, column + below_ + 1)} : Rows{std::max<std::int64_t>(0, column - above_), column + 1};
  }
  // Of a triangle: without the diagonal.
  Rows beside(std::int64_t column) const {
    const Rows all = rows(column);
    return lower_ ? Rows{column + 1, all.end} : Rows{all.first, column};
  }
  // Columns that have elements in these rows, if the matrix is what is stored of it, or also the mirror image of that.
  Rows columnsOf(Rows rows, bool mirrored) const {
    const std::int64_t before = mirrored ? std::max(below_, above_) : below_, behind = mirrored ? before : above_;
    return {std::max<std::int64_t>(0, rows.first - before), std::min(columns_, rows.end + behind)};
  }

 private:
  enum class Way : std::uint8_t { whole, packed, band, general };
  Stored(std::uint64_t address, Way way, blas::Triangle uplo, std::int64_t rows, std::int64_t columns, std::int64_t spacing, std::int64_t below, std::int64_t above)
      : base_(reinterpret_cast<T*>(address)), way_(way), lower_(uplo == blas::Triangle::lower), rows_(rows), columns_(columns), spacing_(spacing), below_(below), above_(above) {}
  // j (j + 1) / 2: what j columns of a packed triangle have.
  static std::int64_t halfOf(std::int64_t j) { return j * (j + 1) / 2; }

  T* base_;
  Way way_;
  bool lower_;
  std::int64_t rows_, columns_, spacing_, below_, above_;
};

}  // namespace rouse::library::cpu
