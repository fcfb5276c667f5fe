// Transforms with memory of their own, run as the CPU device runs them, and what they are by definition.
#pragma once

#include <algorithm>
#include <complex>
#include <cstring>
#include <memory>
#include <numbers>
#include <random>
#include <vector>

#include "schemas/fft/check.h"
#include "server/library/cpu/convert.h"
#include "server/library/cpu/prepare.h"
#include "test/libraries/pieces.h"

namespace rouse::fft {

using Number = std::complex<long double>;

inline double decodePart(Type real, const std::byte* at) {
  const auto as = [&]<class T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (real) {
    case Type::f64: return as(double{});
    case Type::f16: return library::cpu::halfToFloat(as(std::uint16_t{}));
    case Type::bf16: return library::cpu::bfloatToFloat(as(std::uint16_t{}));
    default: return as(float{});
  }
}
inline void encodePart(Type real, double value, std::byte* at) {
  const auto put = [&](auto number) { std::memcpy(at, &number, sizeof number); };
  switch (real) {
    case Type::f64: return put(value);
    case Type::f16: return put(library::cpu::floatToHalf(static_cast<float>(value)));
    case Type::bf16: return put(library::cpu::floatToBfloat(static_cast<float>(value)));
    default: return put(static_cast<float>(value));
  }
}

// visit(number of the element in the batch's order, bytes from the side's first element).
template <class Visit>
void eachElement(const Transform& transform, bool output, Visit&& visit) {
  const Layout layout = layoutOf(transform, output);
  const std::int64_t bytes = bytesOf(output ? transform.outType : transform.inType);
  std::int64_t size[kMostRank] = {1, 1, 1}, stride[kMostRank] = {};
  for (std::uint32_t axis = 0; axis < transform.rank; ++axis) {
    size[axis] = sizeOf(transform, output, axis);
    stride[axis] = size[axis] > 1 ? strideOf(layout, transform.rank, axis) : 0;
  }
  std::size_t number = 0;
  for (std::int64_t b = 0; b < transform.batch; ++b)
    for (std::int64_t i = 0; i < size[0]; ++i)
      for (std::int64_t j = 0; j < size[1]; ++j)
        for (std::int64_t k = 0; k < size[2]; ++k)
          visit(number++, (b * (transform.batch > 1 ? layout.distance : 0) + i * stride[0] + j * stride[1] + k * stride[2]) * bytes);
}

inline std::vector<Number> readAll(const Transform& transform, bool output, const std::byte* base) {
  const Type type = output ? transform.outType : transform.inType, real = realOf(type);
  std::vector<Number> all;
  eachElement(transform, output, [&](std::size_t, std::int64_t at) {
    all.emplace_back(decodePart(real, base + at), isComplex(type) ? decodePart(real, base + at + bytesOf(real)) : 0.0);
  });
  return all;
}

// By definition, one dimension after the other.
inline std::vector<Number> transformed(const Transform& transform, const std::vector<Number>& input) {
  std::int64_t dims[kMostRank] = {1, 1, 1};
  for (std::uint32_t axis = 0; axis < transform.rank; ++axis) dims[axis] = transform.dims[axis];
  const std::int64_t whole = dims[0] * dims[1] * dims[2], last = dims[transform.rank - 1];
  const bool realIn = !isComplex(transform.inType), realOut = !isComplex(transform.outType);
  const std::int64_t half = last / 2 + 1;
  std::vector<Number> results;
  for (std::int64_t b = 0; b < transform.batch; ++b) {
    std::vector<Number> signal(static_cast<std::size_t>(whole));
    const auto at = [&](std::int64_t row, std::int64_t k) -> Number& { return signal[static_cast<std::size_t>(row * last + k)]; };
    const std::int64_t rows = whole / last, inLast = realOut ? half : last;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t k = 0; k < inLast; ++k) at(row, k) = input[static_cast<std::size_t>((b * rows + row) * inLast + k)];
    const auto along = [&](std::uint32_t axis) {
      const std::int64_t n = dims[axis], inner = axis == 0 ? dims[1] * dims[2] : axis == 1 ? dims[2] : 1;
      std::vector<Number> line(static_cast<std::size_t>(n)), roots(static_cast<std::size_t>(n));
      for (std::int64_t k = 0; k < n; ++k) {
        const long double angle = 2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / static_cast<long double>(n);
        roots[static_cast<std::size_t>(k)] = std::polar(1.0L, static_cast<long double>(static_cast<int>(transform.direction)) * angle);
      }
      for (std::int64_t first = 0; first < whole; ++first) {
        if (first / inner % n != 0) continue;
        for (std::int64_t k = 0; k < n; ++k) {
          Number sum = 0;
          for (std::int64_t i = 0; i < n; ++i) sum += signal[static_cast<std::size_t>(first + i * inner)] * roots[static_cast<std::size_t>(i * k % n)];
          line[static_cast<std::size_t>(k)] = sum;
        }
        for (std::int64_t k = 0; k < n; ++k) signal[static_cast<std::size_t>(first + k * inner)] = line[static_cast<std::size_t>(k)];
      }
    };
    for (std::uint32_t axis = 0; axis + 1 < transform.rank; ++axis) along(axis);
    if (realOut) {
      // The other half is conjugate to what is given, whose ends are real.
      for (std::int64_t row = 0; row < rows; ++row) {
        at(row, 0) = at(row, 0).real();
        if (last % 2 == 0) at(row, last / 2) = at(row, last / 2).real();
        for (std::int64_t k = half; k < last; ++k) at(row, k) = std::conj(at(row, last - k));
      }
    }
    along(transform.rank - 1);
    const std::int64_t outLast = realIn ? half : last;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t k = 0; k < outLast; ++k) results.push_back(realOut ? Number(at(row, k).real()) : at(row, k));
  }
  return results;
}

class NoMemory final : public library::MappedMemory {
 public:
  bool contains(AddressRange) const override { return true; }
};
inline auto prepare(const Transform& transform) {
  return library::cpu::prepare(kLibrary, kTransformFunction, std::as_bytes(std::span(&transform, 1)), NoMemory());
}

// A side's memory, exactly as long as what it names, between bytes that nobody may write.
class Memory {
 public:
  static constexpr std::size_t kAround = 64;
  static constexpr std::byte kFill{0xA5};
  explicit Memory(std::uint64_t bytes) : bytes_(kAround * 2 + bytes, kFill) {}
  std::byte* data() { return bytes_.data() + kAround; }
  std::vector<std::byte>& all() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

inline double epsilonOf(Type execution) {
  switch (realOf(execution)) {
    case Type::f64: return 2.3e-16;
    case Type::f16: return 9.8e-4;
    case Type::bf16: return 7.9e-3;
    default: return 1.2e-7;
  }
}

}  // namespace rouse::fft
