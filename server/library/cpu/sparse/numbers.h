// Numbers of sparse calls: stored in any of their types, computed as double or complex double, so that each operation is written twice at most, and sums of
// 16- and 32-bit numbers lose nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "schemas/sparse/check.h"
#include "server/library/cpu/number.h"

namespace rouse::library::cpu {

// visit(T{}) with what stores the type. The type has been checked.
template <class Visit>
void withStored(sparse::Type type, Visit&& visit) {
  switch (type) {
    case sparse::Type::i8: return visit(std::int8_t{});
    case sparse::Type::i32: return visit(std::int32_t{});
    case sparse::Type::f16: return visit(Half{});
    case sparse::Type::bf16: return visit(Bfloat{});
    case sparse::Type::f32: return visit(float{});
    case sparse::Type::f64: return visit(double{});
    case sparse::Type::c32: return visit(c32{});
    case sparse::Type::c64: return visit(c64{});
    case sparse::Type::none: break;
  }
}
// Among the types that N computes.
template <class N, class T>
inline constexpr bool kComputes = kComplex<N> == kComplex<computed_t<T>>;

template <class N, class T>
N widened(const T& element) {
  if constexpr (kComputes<N, T>) return N(get(element));
  else return N{};
}
template <class N, class T>
void narrowTo(T& element, const N& value) {
  if constexpr (!kComputes<N, T>) return;
  else if constexpr (std::is_integral_v<T>) {
    constexpr double kMost = 9.2e18;
    element = value == value ? static_cast<T>(static_cast<std::int64_t>(std::clamp<double>(value, -kMost, kMost))) : T{};
  } else if constexpr (kComplex<computed_t<T>>) {
    put(element, computed_t<T>(static_cast<real_t<computed_t<T>>>(value.real()), static_cast<real_t<computed_t<T>>>(value.imag())));
  } else {
    put(element, static_cast<computed_t<T>>(value));
  }
}

// visit(N{}): double, or complex double.
template <class Visit>
void withComputed(sparse::Type type, Visit&& visit) {
  if (sparse::isComplex(type)) visit(c64{});
  else visit(double{});
}

// One number at any multiple of its parts.
template <class N>
N load(sparse::Type type, std::uint64_t address, std::int64_t place) {
  N value{};
  withStored(type, [&]<class T>(T) { value = widened<N>(reinterpret_cast<const T*>(address)[place]); });
  return value;
}
template <class N>
void store(sparse::Type type, std::uint64_t address, std::int64_t place, const N& value) {
  withStored(type, [&]<class T>(T) { narrowTo(reinterpret_cast<T*>(address)[place], value); });
}
template <class N>
N scalarOf(const sparse::Call& call, const sparse::Scalar& scalar) {
  return load<N>(call.computeType, call.scalars == sparse::Scalars::inMemory ? scalar.words[0] : reinterpret_cast<std::uint64_t>(&scalar), 0);
}

// Of indices: 32 or 64 bits.
inline std::int64_t loadIndex(sparse::Index type, std::uint64_t address, std::int64_t place) {
  if (type == sparse::Index::i32) {
    std::int32_t value;
    std::memcpy(&value, reinterpret_cast<const std::byte*>(address) + place * 4, sizeof value);
    return value;
  }
  std::int64_t value;
  std::memcpy(&value, reinterpret_cast<const std::byte*>(address) + place * 8, sizeof value);
  return value;
}
// What begins with `base` from 0 on. The least number, of which nothing can be taken, becomes the greatest: it is no index either way.
inline std::int64_t fromZero(std::int64_t index, std::int64_t base) { return static_cast<std::int64_t>(static_cast<std::uint64_t>(index) - static_cast<std::uint64_t>(base)); }
inline void storeIndex(sparse::Index type, std::uint64_t address, std::int64_t place, std::int64_t value) {
  if (type == sparse::Index::i32) {
    const auto narrow = static_cast<std::int32_t>(value);
    std::memcpy(reinterpret_cast<std::byte*>(address) + place * 4, &narrow, sizeof narrow);
  } else {
    std::memcpy(reinterpret_cast<std::byte*>(address) + place * 8, &value, sizeof value);
  }
}

// What the program waits for, or asks for later.
inline void tell(const sparse::Call& call, std::int64_t number) {
  const sparse::Answer answer{number, call.answerMark};
  if (call.answer != 0) std::memcpy(reinterpret_cast<void*>(call.answer), &answer, sizeof answer);
}

// Elements of a dense operand of a batch.
struct DensePlace {
  explicit DensePlace(const sparse::Dense& matrix, std::int64_t entry = 0)
      : type(matrix.type),
        address(matrix.values + static_cast<std::uint64_t>((matrix.batch > 1 ? entry : 0) * matrix.stride) * sparse::bytesOf(matrix.type)),
        byRow(matrix.order == sparse::Order::row ? matrix.spacing : 1),
        byColumn(matrix.order == sparse::Order::row ? 1 : matrix.spacing) {}
  // Rows and columns exchanged.
  void transpose() { std::swap(byRow, byColumn); }
  std::int64_t at(std::int64_t row, std::int64_t column) const { return row * byRow + column * byColumn; }

  sparse::Type type;
  std::uint64_t address;
  std::int64_t byRow, byColumn;
};

template <class N>
N conjugatedIf(bool conjugated, const N& value) {
  return conjugated ? conjugate(value) : value;
}

}  // namespace rouse::library::cpu
