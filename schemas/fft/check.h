// What may be in a transform, and what memory it names. The client asks before it sends one, to answer as cuFFT does at the call; the executor asks again,
// of what has come. Pure; any thread.
#pragma once

#include <cstdint>

#include "schemas/base/named_range.h"
#include "schemas/fft/transform.h"

namespace rouse::fft {

// From the first byte of a side to its last: what a window holds (memory::kMaxWindowBytes).
inline constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 40;

enum class Verdict : std::uint8_t {
  runs,
  invalidSize,   // CUFFT_INVALID_SIZE
  invalidType,   // CUFFT_INVALID_TYPE
  invalidValue,  // CUFFT_INVALID_VALUE
  unsupported,   // CUFFT_NOT_SUPPORTED
};

struct Check {
  Verdict verdict = Verdict::runs;
  const char* what = "";  // in words; literal
};

// Everything but addresses: enumerations, sizes, strides, and that no side is longer than kMostBytes. runs: the functions below can be asked.
Check check(const Transform& transform);

using Range = NamedRange;
using Ranges = NamedRanges<3>;
// From each side's first byte to its last, and the work area. A complex input of a real output is named as written: NVIDIA's library works in it.
// False: one begins at no multiple of its elements' parts, or ends behind the last address.
bool ranges(const Transform& transform, Ranges& found);

std::uint32_t bytesOf(Type type);  // 0: it is none
bool isComplex(Type type);         // of a type that is one
// The parts of a complex number, and real numbers themselves.
Type realOf(Type type);

// cuFFT transforms by primes up to this one directly; of larger ones it makes longer transforms (Bluestein).
inline constexpr std::int64_t kMostRadix = 127;
// What programs are told that a plan needs to work in: the spectrum once, or four times where a dimension has a larger prime. What NVIDIA's library really
// takes is known on the node only; the executor adds what is missing.
std::uint64_t workBytesOf(const Transform& transform);

inline bool isInPlace(const Transform& transform) { return transform.input == transform.output; }
// How many elements a side has of dimension `axis`: of the last one of a complex side that goes with a real one, half of them and one.
std::int64_t sizeOf(const Transform& transform, bool output, std::uint32_t axis);
// Of either side, packed or not. Of a packed transform in place the real side's rows have room for the complex side's.
Layout layoutOf(const Transform& transform, bool output);
// Elements from one to the next along an axis. Of an axis with one element it may be more than there is.
std::int64_t strideOf(const Layout& layout, std::uint32_t rank, std::uint32_t axis);

}  // namespace rouse::fft
