// How a run of granules divides into blocks of powers of two, each aligned to its size.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "memory/placement.h"

namespace rouse::memory {

// The fewest, none larger than Placement's large blocks, ascending: visit(extent).
template <class Visit>
void forEachAlignedPiece(Extent run, Visit&& visit) {
  for (std::uint32_t at = run.first, left = run.count; left != 0;) {
    const std::uint32_t aligned = at == 0 ? Placement::kLargeBlock : std::uint32_t{1} << std::countr_zero(at);
    const std::uint32_t count = std::min({Placement::kLargeBlock, aligned, std::bit_floor(left)});
    visit(Extent{at, count});
    at += count;
    left -= count;
  }
}

}  // namespace rouse::memory
