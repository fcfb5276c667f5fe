// What a double and a complex double have in common.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <type_traits>

namespace rouse::systems {

using Complex = std::complex<double>;

inline double conjugate(double value) { return value; }
inline Complex conjugate(Complex value) { return std::conj(value); }
inline double realOf(double value) { return value; }
inline double realOf(Complex value) { return value.real(); }
inline double square(double value) { return value * value; }
inline double square(Complex value) { return std::norm(value); }

// How long a vector is, whatever its elements' sizes; `of`: its elements by their numbers.
template <class Of>
double lengthOf(std::size_t count, Of&& of) {
  double most = 0, sum = 0;
  for (std::size_t i = 0; i < count; ++i) most = std::max(most, std::abs(of(i)));
  if (!(most > 0) || !std::isfinite(most)) return most;
  for (std::size_t i = 0; i < count; ++i) sum += square(of(i) / most);
  return most * std::sqrt(sum);
}

inline std::size_t place(std::int64_t index) { return static_cast<std::size_t>(index); }

}  // namespace rouse::systems
