// Q R = A with A's columns in an order, by reflections (Householder), of matrices with at least as many rows as columns. Q is kept as what reflects: a right side goes
// through all of them, and R is solved.
#pragma once

#include <cstdint>
#include <vector>

#include "schemas/systems/factors/pattern.h"

namespace rouse::systems {

// Elements of R and of what reflects, without any number.
std::int64_t qrElements(const Pattern& matrix, const Indices& order, Room& room);

template <class N>
struct Qr {
  std::int32_t rows = 0, cols = 0;
  Indices order;                     // R's column: A's
  std::vector<std::int64_t> begin;   // of each reflection, and the end: the rows of A that it is of, the first is R's row
  Indices slots;
  std::vector<N> vectors, scales;    // a scale for each reflection
  std::vector<std::int64_t> rBegin;  // of each of R's rows, and the end; the diagonal is the first. A row that has none is of a column that was left out
  Indices rColumns;
  std::vector<N> rValues;

  template <class Self, class Visit>
  static void parts(Self& self, Visit&& visit) {
    visit(self.rows, self.cols, self.order, self.begin, self.slots, self.vectors, self.scales, self.rBegin, self.rColumns, self.rValues);
  }
  bool whole() const;
};

// `least`: columns whose rest is no longer than it are left out, so that R has a rank; below 0: none is.
template <class N>
Qr<N> factoriseQr(const Pattern& matrix, const std::vector<N>& values, Indices order, Room& room, double least = -1);
// The first column of R whose diagonal is at most the tolerance; -1: there is none.
template <class N>
std::int32_t pivotOf(const Qr<N>& factor, double tolerance);
// b becomes Q^H b. x: of all columns; 0 for those that were left out. Where the diagonal is 0 x is no number.
template <class N>
std::vector<N> solve(const Qr<N>& factor, std::vector<N>& b);
// Of what solve() has left in b: how long it is where no row of R reaches, which is how far A x is from b.
template <class N>
double distanceOf(const Qr<N>& factor, const std::vector<N>& b);

}  // namespace rouse::systems
