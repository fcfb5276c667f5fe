// G G^H = A in an order of its rows and columns. Of A the lower triangle in that order is read.
#pragma once

#include <cstdint>
#include <vector>

#include "schemas/systems/factors/pattern.h"

namespace rouse::systems {

// G's elements, without any number.
std::int64_t choleskyElements(const Pattern& matrix, const Indices& order, Room& room);

template <class N>
struct Cholesky {
  std::int32_t n = 0;
  std::int32_t failed = -1;  // the first column, in the order, in which A is not positive; there G ends
  Indices order;
  std::vector<std::int64_t> begin;  // of each of G's columns, and the end; the diagonal is the first of a column
  Indices rows;
  std::vector<N> values;

  // For writing and reading it: each of its parts.
  template <class Self, class Visit>
  static void parts(Self& self, Visit&& visit) {
    visit(self.n, self.failed, self.order, self.begin, self.rows, self.values);
  }
  // Whether what has been read is one.
  bool whole() const;
};

template <class N>
Cholesky<N> factoriseCholesky(const Pattern& matrix, const std::vector<N>& values, Indices order, Room& room);
// The first column at which A is not positive, or G's diagonal is at most the tolerance; -1: there is none.
template <class N>
std::int32_t pivotOf(const Cholesky<N>& factor, double tolerance);
// In place. Where G ends x is no number.
template <class N>
void solve(const Cholesky<N>& factor, std::vector<N>& x);

}  // namespace rouse::systems
