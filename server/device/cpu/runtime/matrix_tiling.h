// How matrices are spread over the lanes of a warp (matrix_form.h).
#pragma once

#include <algorithm>
#include <cstdint>

#include "server/device/cpu/matrix_form.h"

namespace rouse::cpu {

inline constexpr std::uint32_t kLanes = 32;

// How a matrix is cut into tiles of 8 rows by 4 units, each unit one lane's. Units come in the order of matrix_form.h.
struct Tiling {
  std::uint32_t rows;       // tiles
  std::uint32_t across;     // tiles
  std::uint32_t group;      // tiles of rows whose units come first
  std::uint32_t unitWords;  // 32-bit words: 1, 2 or 4
  std::uint32_t rowWords() const { return across * 4 * unitWords; }
};

inline Tiling tilingOf(const MatrixOperation& operation, MatrixRole role, MatrixElement element) {
  const std::uint32_t bits = bitsOf(element);
  const std::uint32_t m = operation.m / 8;
  if (role == MatrixRole::accumulator) return {m, operation.n / 8, std::min(m, 2u), std::max(bits / 16, 1u)};
  const std::uint32_t unitWords = bits == 64 ? 2 : 1;
  const std::uint32_t k = role == MatrixRole::a ? operation.aColumnsStored() : operation.k;
  const std::uint32_t along = k * bits / (128 * unitWords);
  if (role == MatrixRole::a) return {m, along, std::min(m, 2u), unitWords};
  return {operation.n / 8, along, 1, unitWords};
}

// Calls verb(tile of rows, tile across, number of the unit).
template <class Verb>
void forUnits(const Tiling& tiling, Verb verb) {
  std::uint32_t unit = 0;
  for (std::uint32_t first = 0; first < tiling.rows; first += tiling.group)
    for (std::uint32_t across = 0; across < tiling.across; ++across)
      for (std::uint32_t row = first; row < first + tiling.group; ++row) verb(row, across, unit++);
}

}  // namespace rouse::cpu
