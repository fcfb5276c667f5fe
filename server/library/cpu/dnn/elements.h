// Elements in memory, and rows of them, as numbers that are computed with, and back.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include "schemas/dnn/check.h"
#include "server/library/cpu/number.h"

namespace rouse::library::cpu {

struct Boolean {
  std::uint8_t bits;
};

template <class Visit>
void withType(dnn::Type type, Visit&& visit) {
  switch (type) {
    case dnn::Type::f32: return visit(float{});
    case dnn::Type::f64: return visit(double{});
    case dnn::Type::f16: return visit(Half{});
    case dnn::Type::bf16: return visit(Bfloat{});
    case dnn::Type::i8: return visit(std::int8_t{});
    case dnn::Type::u8: return visit(std::uint8_t{});
    case dnn::Type::i32: return visit(std::int32_t{});
    case dnn::Type::i64: return visit(std::int64_t{});
    case dnn::Type::boolean: return visit(Boolean{});
  }
}

template <class T, class E>
T widened(E element) {
  if constexpr (std::is_same_v<E, Half> || std::is_same_v<E, Bfloat>) return static_cast<T>(get(element));
  else if constexpr (std::is_same_v<E, Boolean>) return element.bits != 0 ? T{1} : T{0};
  else return static_cast<T>(element);
}

template <class E, class T>
E narrowed(T value) {
  if constexpr (std::is_same_v<E, Half>) return {floatToHalf(static_cast<float>(value))};
  else if constexpr (std::is_same_v<E, Bfloat>) return {floatToBfloat(static_cast<float>(value))};
  else if constexpr (std::is_same_v<E, Boolean>) return {static_cast<std::uint8_t>(value != 0)};
  else if constexpr (std::is_floating_point_v<E>) return static_cast<E>(value);
  else {
    // The largest that the type holds may be rounded up on the way to T.
    constexpr T kLow = static_cast<T>(std::numeric_limits<E>::min()), kHigh = static_cast<T>(std::numeric_limits<E>::max());
    const T whole = std::nearbyint(value);
    if (whole >= kHigh) return std::numeric_limits<E>::max();
    return whole > kLow ? static_cast<E>(whole) : whole == whole ? std::numeric_limits<E>::min() : E{0};
  }
}

template <class E, class T>
void load(const E* from, std::int64_t fromStride, T* to, std::int64_t toStride, std::int64_t count) {
  if (fromStride == 1 && toStride == 1) {
    if constexpr (std::is_same_v<E, T>) std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
    else if constexpr (std::is_same_v<E, Half> && std::is_same_v<T, float>) halvesToFloats(&from->bits, to, static_cast<std::size_t>(count));
    else
      for (std::int64_t i = 0; i < count; ++i) to[i] = widened<T>(from[i]);
  } else if (fromStride == 0) {
    const T value = widened<T>(*from);
    for (std::int64_t i = 0; i < count; ++i) to[i * toStride] = value;
  } else if (fromStride == 2 && toStride == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = widened<T>(from[i * 2]);
  } else if (toStride == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = widened<T>(from[i * fromStride]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i * toStride] = widened<T>(from[i * fromStride]);
  }
}

template <class E, class T>
void store(E* to, std::int64_t toStride, const T* from, std::int64_t fromStride, std::int64_t count, T alpha, T beta) {
  if (beta == 0) {
    if (toStride == 1 && fromStride == 1 && alpha == 1) {
      if constexpr (std::is_same_v<E, T>) std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
      else if constexpr (std::is_same_v<E, Half> && std::is_same_v<T, float>) floatsToHalves(from, &to->bits, static_cast<std::size_t>(count));
      else
        for (std::int64_t i = 0; i < count; ++i) to[i] = narrowed<E>(from[i]);
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) to[i * toStride] = narrowed<E>(alpha * from[i * fromStride]);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    E& element = to[i * toStride];
    element = narrowed<E>(alpha * from[i * fromStride] + beta * widened<T>(element));
  }
}

}  // namespace rouse::library::cpu
