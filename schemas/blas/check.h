// What may be in a Call, and what memory it names. The client asks before it sends one, to answer as cuBLAS does at the call; the
// executor asks again, of what has come. Pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/base/named_range.h"
#include "schemas/blas/call.h"
#include "schemas/blas/functions.h"

namespace rouse::blas {

// Of a dimension, a count, an increment or a leading dimension: OpenBLAS and cuBLAS without _64 count in int.
inline constexpr std::int64_t kMostElements = 0x7fff'ffff;
// From the first byte of an operand to its last: what a window holds (memory::kMaxWindowBytes).
inline constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 40;
// cublas<t>matinvBatched takes no larger matrices.
inline constexpr std::int64_t kMostInverted = 32;
// Of a modified rotation (rotm).
inline constexpr std::uint32_t kRotationParameters = 5;

enum class Verdict : std::uint8_t {
  runs,
  empty,        // allowed, and there is nothing to do: no dimension that matters is above 0
  invalid,      // CUBLAS_STATUS_INVALID_VALUE
  unsupported,  // CUBLAS_STATUS_NOT_SUPPORTED: types or sizes that are not served
};

struct Check {
  Verdict verdict = Verdict::runs;
  const char* what = "";  // the parameter that is wrong, in words; literal
};

// Everything but addresses: enumerations, dimensions, leading dimensions, types. runs: operands() can be asked.
Check check(Function function, const Call& call);

using Range = NamedRange;

struct Operands {
  std::array<Range, 16> ranges;
  std::size_t count = 0;
  // Some of the addresses are in memory themselves: who runs the call reads and checks them.
  bool indirect = false;

  std::span<const Range> all() const { return {ranges.data(), count}; }
};

// Every piece of memory that the call names. `check()` has said runs. Of an empty operand nothing. False: one is longer than kMostBytes.
bool operands(Function function, const Call& call, Operands& found);

// One matrix or vector of a batch: what addresses() of it must hold, from its address on. Same names and order as operands() gives them.
struct Extent {
  const char* operand = "";
  std::uint64_t bytes = 0;
  std::uint32_t elementBytes = 0;
  bool written = false;
};
struct Extents {
  std::array<Extent, 3> items;
  std::array<const Operand*, 3> operands{};
  std::size_t count = 0;
};
bool extents(Function function, const Call& call, Extents& found);

std::uint32_t bytesOf(Type type);  // 0: it is none
constexpr bool isComplex(Type type) { return type == Type::c32 || type == Type::c64; }
constexpr bool isEightBitFloat(Type type) { return type == Type::e4m3 || type == Type::e5m2; }

bool hasAlpha(Verb verb);
bool hasBeta(Verb verb);
bool hasResult(Verb verb);
// Where the function's table leaves it open: what type the scalars have for this computeType and type of C.
Type scaleTypeOf(std::uint32_t computeType, Type c);
Type betaTypeOf(const FunctionInfo& info, const Call& call);
// Of rotg and rotmg: how many of Call::rotation are addresses, and how long what lies at each; others: none.
std::size_t rotationCount(Verb verb);
std::uint32_t rotationBytes(const FunctionInfo& info, const Call& call, std::size_t i);

}  // namespace rouse::blas
