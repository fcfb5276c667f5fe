// P A Q = L U, with rows exchanged for the largest element of a column, or for the diagonal's where that is large enough.
#pragma once

#include <cstdint>
#include <vector>

#include "schemas/systems/factors/pattern.h"

namespace rouse::systems {

template <class N>
struct Lu {
  std::int32_t n = 0;
  Indices rows, order;  // A's row and column of each of U's
  // By columns. Of L without the diagonal, which is 1; of U the diagonal is the last of a column. Rows are those of L and U.
  std::vector<std::int64_t> lBegin{0}, uBegin{0};
  Indices lRows, uRows;
  std::vector<N> lValues, uValues;
};

// `threshold`: the diagonal is taken where it is at least so much of the largest.
template <class N>
Lu<N> factoriseLu(const Pattern& matrix, const std::vector<N>& values, Indices order, double threshold, Room& room);
// The first column of U whose diagonal is at most the tolerance; -1: there is none.
template <class N>
std::int32_t pivotOf(const Lu<N>& factor, double tolerance);
template <class N>
std::vector<N> solve(const Lu<N>& factor, const std::vector<N>& b);

}  // namespace rouse::systems
