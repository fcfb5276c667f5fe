// Which operands a call has, and what shape each is of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/solver/functions.h"

namespace rouse::solver {

std::uint32_t bytesOf(Type type);  // 0: it is none
constexpr bool isComplex(Type type) { return type == Type::c32 || type == Type::c64; }
constexpr Type realOf(Type type) { return type == Type::c32 ? Type::f32 : type == Type::c64 ? Type::f64 : type; }
// Of the matrices.
inline Type typeOf(Function function, const Call& call) { return info(function).type == Type::any ? call.aType : info(function).type; }
inline bool isWide(Function function) { return info(function).type == Type::any; }

// A batch of matrices, or of vectors, which are matrices of one column.
struct Operand {
  const char* name = "";  // literal
  std::uint64_t address = 0;
  std::int64_t rows = 0, columns = 0, spacing = 0;
  std::int64_t count = 1, stride = 0;  // of the batch
  std::uint32_t bytes = 0;             // of an element
  std::uint32_t partBytes = 0;         // of a complex one's parts
  bool written = false;
  bool arrays = false;    // `address` is that of `count` addresses
  bool optional = false;  // address 0: it is not there
};

inline constexpr std::size_t kMostOperands = 8;
struct Operands {
  std::array<Operand, kMostOperands> items;
  std::size_t count = 0;
  std::span<const Operand> all() const& { return {items.data(), count}; }
  std::span<const Operand> all() const&& = delete;
};

// Of a call whose enumerations and dimensions have been checked.
Operands operandsOf(Function function, const Call& call);

// Whether the vectors of a singular value decomposition are wanted, and how many columns U and V then have.
struct SingularVectors {
  std::int64_t left = 0, right = 0;  // 0: none
};
SingularVectors singularVectors(Function function, const Call& call);

}  // namespace rouse::solver
