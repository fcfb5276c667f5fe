// What may be in a call, and what memory it names. The client asks before it sends one, to answer as cuSPARSE does at the call; the executor asks again, of
// what has come. Indices in the device's memory are not looked at here: who reads them checks each. Pure; any thread.
#pragma once

#include <cstdint>

#include "schemas/base/named_range.h"
#include "schemas/sparse/call.h"

namespace rouse::sparse {

// From the first byte of an operand to its last: what a window holds (memory::kMaxWindowBytes).
inline constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 40;
// Rows, columns, elements: so many times a number's bytes is no more than what can be counted in 64 bits.
inline constexpr std::int64_t kMostCount = std::int64_t{1} << 48;
// gtsv and gpsv: systems that are as many, and as long, as cuSPARSE's `int`s say.
inline constexpr std::int64_t kMostInt = 0x7fff'ffff;

enum class Verdict : std::uint8_t {
  runs,
  empty,         // success, and nothing to do
  invalidValue,  // CUSPARSE_STATUS_INVALID_VALUE
  unsupported,   // CUSPARSE_STATUS_NOT_SUPPORTED
};

struct Check {
  Verdict verdict = Verdict::runs;
  const char* what = "";  // in words; literal
};

// Everything but addresses, and that no operand is longer than kMostBytes. runs: the functions below can be asked.
Check check(Function function, const Call& call);

using Range = NamedRange;
// indirect: how long a sum's result is is told by its offsets when it runs; where it is written is not among these.
using Ranges = NamedRanges<20>;
// From each operand's first byte to its last. False: one begins at no multiple of its elements' parts, is null, or ends behind the last address.
bool ranges(Function function, const Call& call, Ranges& found);

const char* nameOf(Function function);  // of cuSPARSE's function; literal

std::uint32_t bytesOf(Type type);  // 0: it is none
std::uint32_t bytesOf(Index type);
bool isComplex(Type type);
std::uint32_t alignmentOf(Type type);  // the parts of a complex number, and real numbers themselves

// How many numbers of each kind one of a batch has.
struct Extents {
  std::int64_t offsets = 0, indices = 0, values = 0;
};
// Of a matrix that has been checked.
Extents extentsOf(const Sparse& matrix);

inline std::int64_t rowsOf(const Sparse& matrix, Operation op) { return op == Operation::none ? matrix.rows : matrix.cols; }
inline std::int64_t colsOf(const Sparse& matrix, Operation op) { return op == Operation::none ? matrix.cols : matrix.rows; }
inline std::int64_t rowsOf(const Dense& matrix, Operation op) { return op == Operation::none ? matrix.rows : matrix.cols; }
inline std::int64_t colsOf(const Dense& matrix, Operation op) { return op == Operation::none ? matrix.cols : matrix.rows; }

// Whether a scalar is 0 that the call itself has: what it multiplies is not read then.
bool isZero(const Call& call, const Scalar& scalar);

// Parts of a call that its function has, in operands.cc.
struct Uses {
  bool a = false, b = false, c = false, x = false, y = false, band = false;
  bool alpha = false, beta = false, answer = false, result = false;
};
Uses usesOf(Function function);

}  // namespace rouse::sparse
