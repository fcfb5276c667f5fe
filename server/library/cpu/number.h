// Elements as the CPU device computes with them: real and complex, and the small types that are stored as one and computed as another.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "schemas/blas/call.h"
#include "server/library/cpu/convert.h"

namespace rouse::library::cpu {

using c32 = std::complex<float>;
using c64 = std::complex<double>;

struct Half {
  std::uint16_t bits;
};
struct Bfloat {
  std::uint16_t bits;
};

// What an element is computed as.
template <class T>
struct Computed {
  using type = T;
};
template <>
struct Computed<Half> {
  using type = float;
};
template <>
struct Computed<Bfloat> {
  using type = float;
};
template <class T>
using computed_t = typename Computed<T>::type;

template <class T>
computed_t<T> get(const T& element) {
  return element;
}
inline float get(const Half& element) { return halfToFloat(element.bits); }
inline float get(const Bfloat& element) { return bfloatToFloat(element.bits); }
template <class T>
void put(T& element, const computed_t<T>& value) {
  element = value;
}
inline void put(Half& element, float value) { element.bits = floatToHalf(value); }
inline void put(Bfloat& element, float value) { element.bits = floatToBfloat(value); }

template <class T>
struct Real {
  using type = T;
};
template <class T>
struct Real<std::complex<T>> {
  using type = T;
};
template <class T>
using real_t = typename Real<T>::type;
template <class T>
inline constexpr bool kComplex = !std::is_same_v<T, real_t<T>>;

template <class T>
T conjugate(T value) {
  if constexpr (kComplex<T>) return std::conj(value);
  return value;
}

// A scalar of any of the types, exactly: 32-bit integers and halves are doubles, too.
using Number = std::complex<double>;
Number readNumber(blas::Type type, const void* at);
template <class T>
T as(Number number) {
  if constexpr (kComplex<T>) return T(static_cast<real_t<T>>(number.real()), static_cast<real_t<T>>(number.imag()));
  else return static_cast<T>(number.real());
}

// How many blocks a length is cut into.
inline constexpr std::int64_t blocksOf(std::int64_t length, std::int64_t block) { return (length + block - 1) / block; }

// A vector by its logical elements, whichever way it lies in memory (BLAS: a negative increment begins with the last).
template <class T>
class Vector {
 public:
  Vector(std::uint64_t address, std::int64_t length, std::int64_t spacing)
      : first_(reinterpret_cast<T*>(address) + (spacing < 0 ? (length - 1) * -spacing : 0)), spacing_(spacing) {}
  T& operator[](std::int64_t i) const { return first_[i * spacing_]; }

 private:
  T* first_;
  std::int64_t spacing_;
};

// Where a part of a vector begins, as BLAS names it: its lowest address.
template <class T>
T* part(std::uint64_t address, std::int64_t length, std::int64_t spacing, std::int64_t first, std::int64_t count) {
  return reinterpret_cast<T*>(address) + (spacing < 0 ? (length - first - count) * -spacing : first * spacing);
}

}  // namespace rouse::library::cpu
