// Half, bfloat16 and 8-bit floats to float and back, rounded to nearest, ties to even.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace rouse::library::cpu {

float halfToFloat(std::uint16_t half);
std::uint16_t floatToHalf(float value);
inline float bfloatToFloat(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
inline std::uint16_t floatToBfloat(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fff'ffff) > 0x7f80'0000) return 0x7fff;  // NaN, as __float2bfloat16 gives it
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// Runs of neighbouring elements: with the processor's own instructions where it has them; same bits.
void halvesToFloats(const std::uint16_t* from, float* to, std::size_t count);
void floatsToHalves(const float* from, std::uint16_t* to, std::size_t count);
void bfloatsToFloats(const std::uint16_t* from, float* to, std::size_t count);
void floatsToBfloats(const float* from, std::uint16_t* to, std::size_t count);

// 8-bit floats (OFP8): E4M3 has no infinity, and goes to 448; E5M2 goes to 57344. What is beyond, infinities too, becomes the largest finite number, as cuBLAS
// and cvt.satfinite give it; NaN becomes 0x7f.
void e4m3sToFloats(const std::uint8_t* from, float* to, std::size_t count);
void e5m2sToFloats(const std::uint8_t* from, float* to, std::size_t count);
void floatsToE4m3s(const float* from, std::uint8_t* to, std::size_t count);
void floatsToE5m2s(const float* from, std::uint8_t* to, std::size_t count);

}  // namespace rouse::library::cpu
