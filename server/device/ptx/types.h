// PTX's fundamental types (PTX ISA, "Types").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rouse::ptx {

enum class Type : std::uint8_t {
  none,
  pred,
  b8,
  u8,
  s8,
  b16,
  u16,
  s16,
  f16,
  bf16,
  b32,
  u32,
  s32,
  f32,
  f16x2,
  bf16x2,
  u16x2,
  s16x2,
  tf32,
  b64,
  u64,
  s64,
  f64,
  b128,
  e4m3x2,
  e5m2x2,
  e4m3,
  e5m2,
  s4,
  u4,
  b1,
  s2,
  u2,
  count
};

// Name without the dot; nullopt for a word that names no type.
std::optional<Type> typeNamed(std::string_view word);
std::string_view nameOf(Type);

// Width in bits; predicates are 1.
std::uint32_t bitsOf(Type);
inline std::uint32_t bytesOf(Type type) { return (bitsOf(type) + 7) / 8; }

bool isSigned(Type);  // s8 to s64
bool isFloat(Type);   // scalar floating point: f16, bf16, f32, f64
bool isMatrixElement(Type);  // what only matrices in registers, and packed words, are made of: s4, u4, b1, e4m3, e5m2, s2, u2

}  // namespace rouse::ptx
