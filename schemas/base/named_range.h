// Memory that a call of any library names: what for, where, and whether it is written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "schemas/base/range.h"

namespace rouse {

struct NamedRange {
  const char* operand = "";  // literal
  std::uint64_t address = 0, bytes = 0;
  bool written = false;
  bool onHost = false;  // it must be memory of the host's, which the executor itself writes

  constexpr AddressRange range() const { return {address, bytes}; }
};

// At most so many, which a call's kind bounds.
template <std::size_t most>
struct NamedRanges {
  std::array<NamedRange, most> ranges;
  std::uint32_t count = 0;
  bool indirect = false;  // one of them holds addresses, or offsets, of what else is written: who runs the call reads and checks those
};

}  // namespace rouse
