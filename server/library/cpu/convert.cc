#include "server/library/cpu/convert.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <limits>

namespace rouse::library::cpu {
namespace {

__attribute__((target("avx,f16c"))) void widen(const std::uint16_t* from, float* to, std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  for (; i < count; ++i) to[i] = halfToFloat(from[i]);
}

__attribute__((target("avx,f16c"))) void narrow(const float* from, std::uint16_t* to, std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256 values = _mm256_loadu_ps(from + i);
    // NaNs become one NaN (floatToHalf).
    if (_mm256_movemask_ps(_mm256_cmp_ps(values, values, _CMP_UNORD_Q)) != 0) {
      for (std::size_t j = i; j < i + 8; ++j) to[j] = floatToHalf(from[j]);
      continue;
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT));
  }
  for (; i < count; ++i) to[i] = floatToHalf(from[i]);
}

bool converts() {
  static const bool can = __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c");
  return can;
}

struct EightBits {
  int fraction, bias;
  std::uint32_t largest;  // finite
};
constexpr EightBits kE4m3{3, 7, 0x7e}, kE5m2{2, 15, 0x7b};

constexpr float powerOf2(int exponent) { return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23); }

template <EightBits format>
constexpr std::array<float, 256> valuesOf() {
  std::array<float, 256> values{};
  for (std::uint32_t bits = 0; bits < 256; ++bits) {
    const std::uint32_t magnitude = bits & 0x7f, exponent = magnitude >> format.fraction, fraction = magnitude & ((1u << format.fraction) - 1);
    float value = std::numeric_limits<float>::quiet_NaN();
    if (magnitude <= format.largest) {
      const std::uint32_t units = exponent == 0 ? fraction : fraction | 1u << format.fraction;
      value = static_cast<float>(units) * powerOf2(static_cast<int>(std::max(exponent, 1u)) - format.bias - format.fraction);
    } else if (format.fraction == 2 && fraction == 0) {
      value = std::numeric_limits<float>::infinity();
    }
    values[bits] = (bits & 0x80) != 0 ? -value : value;
  }
  return values;
}

template <EightBits format>
void fromEightBits(const std::uint8_t* from, float* to, std::size_t count) {
  static constexpr std::array<float, 256> kValues = valuesOf<format>();
  for (std::size_t i = 0; i < count; ++i) to[i] = kValues[from[i]];
}

template <EightBits format>
std::uint8_t toEightBits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fff'ffff;
  if (magnitude > 0x7f80'0000) return 0x7f;
  constexpr std::uint32_t kNormal = std::bit_cast<std::uint32_t>(powerOf2(1 - format.bias));
  constexpr int kShift = 23 - format.fraction;
  std::uint32_t rounded;
  if (magnitude < kNormal) {
    // As floatToHalf has them: the sum's last bit counts as the format's smallest number.
    constexpr float kSteps = powerOf2(24 - format.bias - format.fraction);
    rounded = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + kSteps) - std::bit_cast<std::uint32_t>(kSteps);
  } else {
    rounded = (magnitude + (1u << (kShift - 1)) - 1 + ((magnitude >> kShift) & 1) - (static_cast<std::uint32_t>(127 - format.bias) << 23)) >> kShift;
  }
  return static_cast<std::uint8_t>(bits >> 24 & 0x80) | static_cast<std::uint8_t>(std::min(rounded, format.largest));
}

template <EightBits format>
void toEightBits(const float* from, std::uint8_t* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = toEightBits<format>(from[i]);
}

}  // namespace

float halfToFloat(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1f, mantissa = half & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f80'0000 | (mantissa << 13) | (mantissa != 0 ? 0x40'0000u : 0u));
  if (exponent == 0) {
    const float value = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

std::uint16_t floatToHalf(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const std::uint32_t magnitude = bits & 0x7fff'ffff;
  if (magnitude > 0x7f80'0000) return 0x7fff;  // NaN, as __float2half gives it
  if (magnitude >= 0x4780'0000) return static_cast<std::uint16_t>(sign | 0x7c00);  // 65536 and more
  if (magnitude < 0x3880'0000) {
    // Below 2^-14: adding 0.5 leaves the subnormal's bits at the end, rounded by the hardware.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f00'0000));
  }
  const std::uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1) - (112u << 23);
  return static_cast<std::uint16_t>(sign | (rounded >> 13));
}

void halvesToFloats(const std::uint16_t* from, float* to, std::size_t count) {
  if (converts()) return widen(from, to, count);
  for (std::size_t i = 0; i < count; ++i) to[i] = halfToFloat(from[i]);
}

void floatsToHalves(const float* from, std::uint16_t* to, std::size_t count) {
  if (converts()) return narrow(from, to, count);
  for (std::size_t i = 0; i < count; ++i) to[i] = floatToHalf(from[i]);
}

void bfloatsToFloats(const std::uint16_t* from, float* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = bfloatToFloat(from[i]);
}

void floatsToBfloats(const float* from, std::uint16_t* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = floatToBfloat(from[i]);
}

void e4m3sToFloats(const std::uint8_t* from, float* to, std::size_t count) { fromEightBits<kE4m3>(from, to, count); }
void e5m2sToFloats(const std::uint8_t* from, float* to, std::size_t count) { fromEightBits<kE5m2>(from, to, count); }
void floatsToE4m3s(const float* from, std::uint8_t* to, std::size_t count) { toEightBits<kE4m3>(from, to, count); }
void floatsToE5m2s(const float* from, std::uint8_t* to, std::size_t count) { toEightBits<kE5m2>(from, to, count); }

}  // namespace rouse::library::cpu
