// What a double and a complex double have in common.
#pragma once

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

inline std::size_t place(std::int64_t index) { return static_cast<std::size_t>(index); }

}  // namespace rouse::systems
