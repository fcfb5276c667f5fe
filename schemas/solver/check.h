// What may be in a Call, and what memory it names. The client asks before it sends one, to answer as cuSOLVER does at the call; the executor asks again, of
// what has come. Pure; any thread.
#pragma once

#include <cstdint>

#include "schemas/base/named_range.h"
#include "schemas/solver/shapes.h"

namespace rouse::solver {

// Of a dimension, a count, a leading dimension: LAPACK counts in int, and so does cuSOLVER but in its functions for any type.
inline constexpr std::int64_t kMostElements = 0x7fff'ffff;
// From the first byte of an operand to its last: what a window holds (memory::kMaxWindowBytes).
inline constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 40;
// gesvdjBatched takes no larger matrices.
inline constexpr std::int64_t kMostBatchedSide = 32;

enum class Verdict : std::uint8_t {
  runs,
  invalid,      // CUSOLVER_STATUS_INVALID_VALUE
  unsupported,  // CUSOLVER_STATUS_NOT_SUPPORTED
};

struct Check {
  Verdict verdict = Verdict::runs;
  const char* what = "";  // in words; literal
};

// Everything but addresses: enumerations, dimensions, leading dimensions, types. runs: operandsOf() and ranges() can be asked.
Check check(Function function, const Call& call);
// The same without leading dimensions, which not every function that tells a size is given.
Check checkSizes(Function function, const Call& call);

using Range = NamedRange;
using Ranges = NamedRanges<kMostOperands + 2>;
// From each operand's first byte to its last, the work area, and where the host is told. Of an empty operand nothing. False: one begins at no multiple of its
// elements' parts, is not there, or ends behind the last address.
bool ranges(Function function, const Call& call, Ranges& found);

// What the host is told in Call::answer, in bytes; 0: the function tells it nothing.
std::uint64_t answerBytes(Function function, const Call& call);
// What programs are told that a call needs to work in, in elements, or bytes of a function for any type: at least 1. What NVIDIA's library really takes is known on
// the node only; the executor adds what is missing.
std::uint64_t workElements(Function function, const Call& call);

}  // namespace rouse::solver
