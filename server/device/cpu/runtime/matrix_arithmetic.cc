// D = A * B + C for matrices of up to 32 by 32 by 256: converted to double or 32-bit integers, multiplied row by row in vectors along
// n, once for processors with AVX2 and FMA and once for all. Both give the same: products are exact, so that fusing a product with its
// sum changes nothing, and the order of sums is that of k.
#include <bit>
#include <cmath>
#include <cstring>

#include "server/device/cpu/runtime/matrix.h"
#include "server/device/cpu/runtime/matrix_sparse.h"

#define ROUSE_INLINE __attribute__((always_inline)) inline

namespace rouse::cpu {
namespace {

using Doubles = double __attribute__((vector_size(32)));
using Integers = std::int32_t __attribute__((vector_size(32)));

constexpr std::uint32_t kMostFactors = 1024;  // elements of A: 16 by 64 of s4; of B: 128 by 8 of s4, where A is sparse
constexpr std::uint32_t kMostSums = 256;

// Subnormals are scaled like all others; infinities and NaN get the exponent that the scaled number lacks.
ROUSE_INLINE float fromHalf(std::uint32_t half) {
  const float scaled = std::bit_cast<float>((half & 0x7fff) << 13) * 0x1p112f;
  const std::uint32_t special = (half & 0x7c00) == 0x7c00 ? 0x7f80'0000 : 0;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | special | (half & 0x8000) << 16);
}

// Four exponent bits of bias 7, three of fraction; no infinity, all ones is NaN (PTX ISA, "Alternate Floating-Point Data Formats").
ROUSE_INLINE float fromE4m3(std::uint32_t byte) {
  if ((byte & 0x7f) == 0x7f) return std::bit_cast<float>(0x7fff'ffffu);
  return fromHalf((byte & 0x80) << 8 | (byte & 0x7f) << 7) * 0x1p8f;
}

// Rounded once, to nearest even.
ROUSE_INLINE std::uint16_t toHalf(double value) {
  if (value != value) return 0x7fff;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 48 & 0x8000);
  const double size = std::fabs(value);
  if (size >= 65520) return sign | 0x7c00;
  // Below the normal range in units of 2^-24, which is what the bits count; adding 2^52 rounds to whole ones.
  if (size < 0x1p-14) return sign | static_cast<std::uint16_t>(size * 0x1p24 + 0x1p52 - 0x1p52);
  const std::uint64_t magnitude = bits & ~(std::uint64_t{1} << 63);
  const std::uint64_t rounded = (magnitude + 0x1ff'ffff'ffff + (magnitude >> 42 & 1)) >> 42;
  return sign | static_cast<std::uint16_t>(rounded - (std::uint64_t{1023 - 15} << 10));
}

ROUSE_INLINE std::uint32_t toSingle(double value) {
  return value != value ? 0x7fff'ffff : std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

ROUSE_INLINE std::uint32_t part(const std::uint32_t* words, std::uint32_t bits, std::uint32_t index) {
  const std::uint32_t perWord = 32 / bits;
  return words[index / perWord] >> (index % perWord * bits) & ((1u << bits) - 1);
}

ROUSE_INLINE void toDoubles(MatrixElement element, const std::uint32_t* words, std::uint32_t count, double* to) {
  const auto each = [&](auto convert) {
    for (std::uint32_t i = 0; i < count; ++i) to[i] = convert(i);
  };
  switch (element) {
    case MatrixElement::f16:
      return each([&](std::uint32_t i) { return fromHalf(part(words, 16, i)); });
    case MatrixElement::bf16:
      return each([&](std::uint32_t i) { return std::bit_cast<float>(part(words, 16, i) << 16); });
    case MatrixElement::tf32:
      return each([&](std::uint32_t i) { return std::bit_cast<float>(words[i] & 0xffff'e000); });
    case MatrixElement::f32:
      return each([&](std::uint32_t i) { return std::bit_cast<float>(words[i]); });
    case MatrixElement::e4m3:
      return each([&](std::uint32_t i) { return fromE4m3(part(words, 8, i)); });
    case MatrixElement::e5m2:
      return each([&](std::uint32_t i) { return fromHalf(part(words, 8, i) << 8); });
    default:
      std::memcpy(to, words, count * sizeof *to);
  }
}

ROUSE_INLINE void fromDoubles(MatrixElement element, const double* from, std::uint32_t count, std::uint32_t* words) {
  switch (element) {
    case MatrixElement::f16:
      for (std::uint32_t i = 0; i < count; i += 2) words[i / 2] = toHalf(from[i]) | std::uint32_t{toHalf(from[i + 1])} << 16;
      return;
    case MatrixElement::f32:
      for (std::uint32_t i = 0; i < count; ++i) words[i] = toSingle(from[i]);
      return;
    default:
      std::memcpy(words, from, count * sizeof *from);
  }
}

ROUSE_INLINE void toIntegers(MatrixElement element, const std::uint32_t* words, std::uint32_t count, std::int32_t* to) {
  const std::uint32_t bits = bitsOf(element);
  const bool isSigned = element == MatrixElement::s8 || element == MatrixElement::s4;
  const std::uint32_t sign = isSigned ? 1u << (bits - 1) : 0;
  for (std::uint32_t i = 0; i < count; ++i)
    to[i] = static_cast<std::int32_t>(part(words, bits, i) ^ sign) - static_cast<std::int32_t>(sign);
}

// B comes by columns and goes by rows.
template <class Number>
ROUSE_INLINE void byRows(const Number* columns, std::uint32_t n, std::uint32_t k, Number* rows) {
  for (std::uint32_t i = 0; i < k; ++i)
    for (std::uint32_t j = 0; j < n; ++j) rows[i * n + j] = columns[j * k + i];
}

// sums += a * b, four rows at a time, n = width vectors.
template <class Vector, class Number, std::uint32_t width>
ROUSE_INLINE void accumulate(const Number* a, const Number* b, Number* sums, std::uint32_t m, std::uint32_t k) {
  constexpr std::uint32_t lanes = sizeof(Vector) / sizeof(Number);
  constexpr std::uint32_t n = width * lanes;
  constexpr std::uint32_t rows = width <= 2 ? 4 : width <= 4 ? 2 : 1;
  for (std::uint32_t row = 0; row < m; row += rows) {
    Vector sum[rows][width];
    std::memcpy(sum, sums + row * n, sizeof sum);
    for (std::uint32_t i = 0; i < k; ++i) {
      Vector factors[width];
      std::memcpy(factors, b + i * n, sizeof factors);
      for (std::uint32_t r = 0; r < rows; ++r)
        for (std::uint32_t v = 0; v < width; ++v) sum[r][v] += a[(row + r) * k + i] * factors[v];
    }
    std::memcpy(sums + row * n, sum, sizeof sum);
  }
}

// The same where A is sparse, row by row. n is 8.
template <class Vector, class Number>
ROUSE_INLINE void accumulateChosen(const Number* a, const Number* b, const SparseColumns& columns, Number* sums) {
  constexpr std::uint32_t width = 8 * sizeof(Number) / sizeof(Vector);
  for (std::uint32_t row = 0; row < columns.rows; ++row) {
    Vector sum[width];
    std::memcpy(sum, sums + row * 8, sizeof sum);
    for (std::uint32_t i = 0; i < columns.count; ++i) {
      Vector factors[width];
      std::memcpy(factors, b + columns.of[row][i] * 8, sizeof factors);
      for (std::uint32_t v = 0; v < width; ++v) sum[v] += a[row * columns.count + i] * factors[v];
    }
    std::memcpy(sums + row * 8, sum, sizeof sum);
  }
}

ROUSE_INLINE void multiplyDoubles(const MatrixOperation& operation, const std::uint32_t* a, const std::uint32_t* b,
                                  const std::uint32_t* c, std::uint32_t* d, const std::uint32_t* sparsity) {
  const auto [m, n, k] = std::array{operation.m, operation.n, operation.k};
  // B by columns, then the sums: this is a fiber's stack.
  double left[kMostFactors / 2], right[kMostFactors / 2], sums[kMostFactors / 2];
  double* const columns = sums;
  toDoubles(operation.a, a, m * operation.aColumnsStored(), left);
  toDoubles(operation.b, b, n * k, columns);
  byRows(columns, n, k, right);
  toDoubles(operation.c, c, m * n, sums);
  if (operation.a == MatrixElement::f64) {
    // Products are not exact: fused, whether the processor can or the C library must.
    for (std::uint32_t row = 0; row < m; ++row)
      for (std::uint32_t i = 0; i < k; ++i)
        for (std::uint32_t j = 0; j < n; ++j) sums[row * n + j] = std::fma(left[row * k + i], right[i * n + j], sums[row * n + j]);
  } else if (operation.sparse) {
    accumulateChosen<Doubles>(left, right, sparseColumns(operation, sparsity), sums);
  } else if (n == 8) {
    accumulate<Doubles, double, 2>(left, right, sums, m, k);
  } else if (n == 16) {
    accumulate<Doubles, double, 4>(left, right, sums, m, k);
  } else {
    accumulate<Doubles, double, 8>(left, right, sums, m, k);
  }
  fromDoubles(operation.d, sums, m * n, d);
}

ROUSE_INLINE void addTo(const std::uint32_t* c, const std::int32_t* sums, std::uint32_t count, bool saturate, std::uint32_t* d) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t sum = c[i] + static_cast<std::uint32_t>(sums[i]);
    // Overflow: both have the sign that the sum has not.
    const bool overflows = ((c[i] ^ sum) & (static_cast<std::uint32_t>(sums[i]) ^ sum)) >> 31 != 0;
    d[i] = saturate && overflows ? 0x7fff'ffff + (c[i] >> 31) : sum;
  }
}

// The sum of products fits 32 bits: 64 of s4, 32 of s8 or u8.
ROUSE_INLINE void multiplyIntegers(const MatrixOperation& operation, const std::uint32_t* a, const std::uint32_t* b,
                                   const std::uint32_t* c, std::uint32_t* d, const std::uint32_t* sparsity) {
  const auto [m, n, k] = std::array{operation.m, operation.n, operation.k};
  std::int32_t left[kMostFactors], columns[kMostFactors], right[kMostFactors], sums[kMostSums] = {};
  toIntegers(operation.a, a, m * operation.aColumnsStored(), left);
  toIntegers(operation.b, b, n * k, columns);
  byRows(columns, n, k, right);
  if (operation.sparse) {
    accumulateChosen<Integers>(left, right, sparseColumns(operation, sparsity), sums);
  } else if (n == 8) {
    accumulate<Integers, std::int32_t, 1>(left, right, sums, m, k);
  } else if (n == 16) {
    accumulate<Integers, std::int32_t, 2>(left, right, sums, m, k);
  } else {
    accumulate<Integers, std::int32_t, 4>(left, right, sums, m, k);
  }
  addTo(c, sums, m * n, operation.saturate, d);
}

ROUSE_INLINE void multiplyBits(const MatrixOperation& operation, const std::uint32_t* a, const std::uint32_t* b,
                               const std::uint32_t* c, std::uint32_t* d) {
  const std::uint32_t words = operation.k / 32;
  for (std::uint32_t row = 0; row < operation.m; ++row) {
    for (std::uint32_t column = 0; column < operation.n; ++column) {
      std::uint32_t sum = c[row * operation.n + column];
      for (std::uint32_t i = 0; i < words; ++i) {
        const std::uint32_t x = a[row * words + i], y = b[column * words + i];
        sum += static_cast<std::uint32_t>(std::popcount(operation.exclusive ? x ^ y : x & y));
      }
      d[row * operation.n + column] = sum;
    }
  }
}

ROUSE_INLINE void multiplyAny(const MatrixOperation& operation, const std::uint32_t* a, const std::uint32_t* b,
                              const std::uint32_t* c, std::uint32_t* d, const std::uint32_t* sparsity) {
  if (operation.d != MatrixElement::s32) return multiplyDoubles(operation, a, b, c, d, sparsity);
  if (operation.a != MatrixElement::b1) return multiplyIntegers(operation, a, b, c, d, sparsity);
  multiplyBits(operation, a, b, c, d);
}

using Multiply = void(const MatrixOperation&, const std::uint32_t*, const std::uint32_t*, const std::uint32_t*, std::uint32_t*, const std::uint32_t*);

void multiplyPlain(const MatrixOperation& operation, const std::uint32_t* a, const std::uint32_t* b, const std::uint32_t* c,
                   std::uint32_t* d, const std::uint32_t* sparsity) {
  multiplyAny(operation, a, b, c, d, sparsity);
}

__attribute__((target("avx2,fma,popcnt"))) void multiplyWide(const MatrixOperation& operation, const std::uint32_t* a,
                                                             const std::uint32_t* b, const std::uint32_t* c, std::uint32_t* d,
                                                             const std::uint32_t* sparsity) {
  multiplyAny(operation, a, b, c, d, sparsity);
}

Multiply* chosen() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt") ? multiplyWide
                                                                                                            : multiplyPlain;
}

}  // namespace

void multiplyMatrices(const MatrixOperation& operation, const std::uint32_t* a, const std::uint32_t* b, const std::uint32_t* c,
                      std::uint32_t* d, const std::uint32_t* sparsity) {
  static Multiply* const multiply = chosen();
  multiply(operation, a, b, c, d, sparsity);
}

}  // namespace rouse::cpu
