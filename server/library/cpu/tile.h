// A product's tiles: parts of the result, each with the whole depth, so that how it is cut changes no bit that depends on who computes
// what. Small types are widened panel by panel and summed up as float (8-bit integers: as double, exactly).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "server/library/cpu/batch.h"
#include "server/library/cpu/cblas_calls.h"
#include "server/library/cpu/convert.h"

namespace rouse::library::cpu {

inline constexpr std::int64_t kTile = 512;
inline constexpr std::int64_t kDepth = 512;  // of the panels

struct Tile {
  std::int64_t row, column, rows, columns;
};

inline std::uint64_t tilesOf(std::int64_t m, std::int64_t n) { return static_cast<std::uint64_t>(blocksOf(m, kTile) * blocksOf(n, kTile)); }
inline Tile tileOf(std::int64_t m, std::int64_t n, std::uint64_t number) {
  const std::int64_t down = blocksOf(m, kTile), index = static_cast<std::int64_t>(number);
  const std::int64_t row = index % down * kTile, column = index / down * kTile;
  return {row, column, std::min(kTile, m - row), std::min(kTile, n - column)};
}

// A factor as it lies: `straight` as its columns lie, else transposed.
struct Factor {
  std::uint64_t address;
  std::int64_t spacing;
  blas::Type type;
  bool straight;
};

inline void widen(blas::Type type, const void* from, float* to, std::int64_t count) {
  const auto n = static_cast<std::size_t>(count);
  if (type == blas::Type::f16) return halvesToFloats(static_cast<const std::uint16_t*>(from), to, n);
  if (type == blas::Type::bf16) return bfloatsToFloats(static_cast<const std::uint16_t*>(from), to, n);
  if (type == blas::Type::f32) {
    std::memcpy(to, from, n * sizeof(float));
    return;
  }
  if (type == blas::Type::e4m3) return e4m3sToFloats(static_cast<const std::uint8_t*>(from), to, n);
  if (type == blas::Type::e5m2) return e5m2sToFloats(static_cast<const std::uint8_t*>(from), to, n);
  const auto* bytes = static_cast<const std::int8_t*>(from);
  for (std::size_t i = 0; i < n; ++i) to[i] = bytes[i];
}

inline void widen(blas::Type type, const void* from, double* to, std::int64_t count) {
  if (type == blas::Type::f64) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(double));
    return;
  }
  const auto* bytes = static_cast<const std::int8_t*>(from);
  for (std::int64_t i = 0; i < count; ++i) to[i] = bytes[i];
}

// rows × columns of a matrix, without gaps.
template <class Wide>
void widenPanel(blas::Type type, const std::byte* from, std::int64_t spacing, std::int64_t rows, std::int64_t columns, Wide* to) {
  const std::uint32_t element = blas::bytesOf(type);
  for (std::int64_t column = 0; column < columns; ++column)
    widen(type, from + static_cast<std::uint64_t>(column * spacing) * element, to + column * rows, rows);
}

// The tile of A times B, column by column without gaps.
template <class Wide>
void sumTile(const Factor& fa, const Factor& fb, std::int64_t depths, Tile tile, std::vector<Wide>& sums) {
  const std::int64_t depth = std::min(std::max<std::int64_t>(depths, 1), kDepth);
  std::vector<Wide> a(static_cast<std::size_t>(tile.rows * depth)), b(static_cast<std::size_t>(tile.columns * depth));
  sums.assign(static_cast<std::size_t>(tile.rows * tile.columns), Wide{});
  const auto place = [](const Factor& f, std::int64_t element) {
    return reinterpret_cast<const std::byte*>(f.address) + static_cast<std::uint64_t>(element) * blas::bytesOf(f.type);
  };
  for (std::int64_t k = 0; k < depths; k += depth) {
    const std::int64_t deep = std::min(depth, depths - k);
    widenPanel(fa.type, place(fa, fa.straight ? tile.row + k * fa.spacing : k + tile.row * fa.spacing), fa.spacing, fa.straight ? tile.rows : deep,
               fa.straight ? deep : tile.rows, a.data());
    widenPanel(fb.type, place(fb, fb.straight ? k + tile.column * fb.spacing : tile.column + k * fb.spacing), fb.spacing,
               fb.straight ? deep : tile.columns, fb.straight ? tile.columns : deep, b.data());
    gemm(fa.straight ? CblasNoTrans : CblasTrans, fb.straight ? CblasNoTrans : CblasTrans, toInt(tile.rows), toInt(tile.columns), toInt(deep),
         Wide{1}, a.data(), toInt(fa.straight ? tile.rows : deep), b.data(), toInt(fb.straight ? deep : tile.columns), Wide{1}, sums.data(),
         toInt(tile.rows));
  }
}

}  // namespace rouse::library::cpu
