// What may be in a call, and what memory it names. The client asks before it sends one, to answer as cuSOLVER does at the call; the executor asks again, of
// what has come. Indices and factors in the device's memory are not looked at here: who reads them checks each. Pure; any thread.
#pragma once

#include <cstdint>

#include "schemas/base/named_range.h"
#include "schemas/systems/call.h"

namespace rouse::systems {

enum class Verdict : std::uint8_t {
  runs,
  empty,    // success, and nothing to do
  invalid,  // CUSOLVER_STATUS_INVALID_VALUE
};
struct Check {
  Verdict verdict = Verdict::runs;
  const char* what = "";  // in words; literal
};

// Everything but addresses. runs: ranges() can be asked.
Check check(Function function, const Call& call);

using Range = NamedRange;
using Ranges = NamedRanges<8>;
// False: one is null, begins at no multiple of its elements' parts, or ends behind the last address.
bool ranges(Function function, const Call& call, Ranges& found);

const char* nameOf(Function function, const Call& call);  // for messages; literal

std::uint32_t bytesOf(Type type);  // 0: it is none
bool isComplex(Type type);

// How much memory a factor of so many elements needs, or on a GPU a copy of the matrix. Elements: at most what a 64-bit length can be of.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 48;
std::uint64_t stateBytes(const Call& call, std::int64_t elements);

}  // namespace rouse::systems
