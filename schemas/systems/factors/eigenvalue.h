// The eigenvalue next to a shift, by inverse iteration.
#pragma once

#include "schemas/systems/factors/pattern.h"

namespace rouse::systems {

template <class N>
struct Eigenvalue {
  N value{};
  std::vector<N> vector;  // of length 1
};

// A - shift without it on the diagonal, where each row has an element then.
template <class N>
void subtract(Pattern& matrix, std::vector<N>& values, N shift, Room& room);

// Ends where |A x - value x| is at most the tolerance, where x changes no more, or after so many steps.
template <class N>
Eigenvalue<N> eigenvalueNextTo(N shift, const Pattern& matrix, const std::vector<N>& values, std::vector<N> x, std::int32_t steps, double tolerance, Room& room);

}  // namespace rouse::systems
