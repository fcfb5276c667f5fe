// Matrix products. A product is cut into tiles of C, each with the whole of k, so that how it is cut changes no bit that depends on who
// computes what. Small types are widened panel by panel, summed up as float (8-bit integers: as double, exactly), and rounded once.
#include <algorithm>
#include <vector>

#include "server/library/cpu/batch.h"
#include "server/library/cpu/cblas_calls.h"

namespace rouse::library::cpu {
namespace {

constexpr std::int64_t kTile = 512;
constexpr std::int64_t kDepth = 512;  // of the panels

struct Tile {
  std::int64_t row, column, rows, columns;
};

Tile tileOf(const blas::Call& call, std::int64_t number) {
  const std::int64_t down = blocksOf(call.m, kTile);
  const std::int64_t row = number % down * kTile, column = number / down * kTile;
  return {row, column, std::min(kTile, call.m - row), std::min(kTile, call.n - column)};
}

// Where the part of op(A) that begins at (row, column) is in A.
template <class T>
const T* at(std::uint64_t address, blas::Transpose transpose, std::int64_t spacing, std::int64_t row, std::int64_t column) {
  const auto* base = reinterpret_cast<const T*>(address);
  return transpose == blas::Transpose::none ? base + row + column * spacing : base + column + row * spacing;
}

template <class T>
void multiply(const Batch& batch, const Places& places, Tile tile) {
  const blas::Call& call = batch.call;
  gemm(toCblas(call.transa), toCblas(call.transb), toInt(tile.rows), toInt(tile.columns), toInt(call.k), as<T>(batch.alpha),
       at<T>(places.a, call.transa, call.a.spacing, tile.row, 0), toInt(call.a.spacing),
       at<T>(places.b, call.transb, call.b.spacing, 0, tile.column), toInt(call.b.spacing), as<T>(batch.beta),
       reinterpret_cast<T*>(places.c) + tile.row + tile.column * call.c.spacing, toInt(call.c.spacing));
}

void widen(blas::Type type, const void* from, float* to, std::int64_t count) {
  const auto n = static_cast<std::size_t>(count);
  if (type == blas::Type::f16) return halvesToFloats(static_cast<const std::uint16_t*>(from), to, n);
  if (type == blas::Type::bf16) return bfloatsToFloats(static_cast<const std::uint16_t*>(from), to, n);
  if (type == blas::Type::f32) {
    std::memcpy(to, from, n * sizeof(float));
    return;
  }
  const auto* bytes = static_cast<const std::int8_t*>(from);
  for (std::size_t i = 0; i < n; ++i) to[i] = bytes[i];
}

void widen(blas::Type, const void* from, double* to, std::int64_t count) {
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

// Columns of C from sums.
void finish(const Batch& batch, std::byte* to, const float* sums, std::int64_t count, std::vector<float>& row) {
  const auto alpha = as<float>(batch.alpha), beta = as<float>(batch.beta);
  const blas::Type type = batch.call.cType;
  row.resize(static_cast<std::size_t>(count));
  if (beta != 0) {
    widen(type, to, row.data(), count);
    for (std::int64_t i = 0; i < count; ++i) row[i] = alpha * sums[i] + beta * row[i];
  } else {
    for (std::int64_t i = 0; i < count; ++i) row[i] = alpha * sums[i];
  }
  const auto n = static_cast<std::size_t>(count);
  if (type == blas::Type::f16) floatsToHalves(row.data(), reinterpret_cast<std::uint16_t*>(to), n);
  else if (type == blas::Type::bf16) floatsToBfloats(row.data(), reinterpret_cast<std::uint16_t*>(to), n);
  else std::memcpy(to, row.data(), n * sizeof(float));
}

void finish(const Batch& batch, std::byte* to, const double* sums, std::int64_t count, std::vector<double>&) {
  if (batch.call.cType == blas::Type::i32) {
    auto* out = reinterpret_cast<std::int32_t*>(to);
    const auto alpha = static_cast<std::int64_t>(batch.alpha.real()), beta = static_cast<std::int64_t>(batch.beta.real());
    for (std::int64_t i = 0; i < count; ++i) {
      const auto product = static_cast<std::uint64_t>(alpha) * static_cast<std::uint64_t>(static_cast<std::int64_t>(sums[i]));
      const std::uint64_t before = beta == 0 ? 0 : static_cast<std::uint64_t>(beta) * static_cast<std::uint64_t>(std::int64_t{out[i]});
      out[i] = static_cast<std::int32_t>(product + before);  // wraps
    }
    return;
  }
  auto* out = reinterpret_cast<float*>(to);
  const auto alpha = as<float>(batch.alpha), beta = as<float>(batch.beta);
  for (std::int64_t i = 0; i < count; ++i)
    out[i] = alpha * static_cast<float>(sums[i]) + (beta == 0 ? 0.0f : beta * out[i]);
}

template <class Wide>
void multiplyWidened(const Batch& batch, const Places& places, Tile tile) {
  const blas::Call& call = batch.call;
  const bool straightA = call.transa == blas::Transpose::none, straightB = call.transb == blas::Transpose::none;
  const std::int64_t depth = std::min(std::max<std::int64_t>(call.k, 1), kDepth);
  std::vector<Wide> a(static_cast<std::size_t>(tile.rows * depth)), b(static_cast<std::size_t>(tile.columns * depth)),
      sums(static_cast<std::size_t>(tile.rows * tile.columns)), row;
  const std::uint32_t element = blas::bytesOf(call.aType);
  const auto* fromA = reinterpret_cast<const std::byte*>(places.a);
  const auto* fromB = reinterpret_cast<const std::byte*>(places.b);
  for (std::int64_t k = 0; k < call.k; k += depth) {
    const std::int64_t deep = std::min(depth, call.k - k);
    const std::int64_t firstA = straightA ? tile.row + k * call.a.spacing : k + tile.row * call.a.spacing;
    const std::int64_t firstB = straightB ? k + tile.column * call.b.spacing : tile.column + k * call.b.spacing;
    widenPanel(call.aType, fromA + static_cast<std::uint64_t>(firstA) * element, call.a.spacing, straightA ? tile.rows : deep,
               straightA ? deep : tile.rows, a.data());
    widenPanel(call.bType, fromB + static_cast<std::uint64_t>(firstB) * element, call.b.spacing, straightB ? deep : tile.columns,
               straightB ? tile.columns : deep, b.data());
    gemm(straightA ? CblasNoTrans : CblasTrans, straightB ? CblasNoTrans : CblasTrans, toInt(tile.rows), toInt(tile.columns), toInt(deep),
         Wide{1}, a.data(), toInt(straightA ? tile.rows : deep), b.data(), toInt(straightB ? deep : tile.columns), Wide{k == 0 ? 0.0f : 1.0f},
         sums.data(), toInt(tile.rows));
  }
  const std::uint32_t out = blas::bytesOf(call.cType);
  for (std::int64_t column = 0; column < tile.columns; ++column) {
    std::byte* to = reinterpret_cast<std::byte*>(places.c) + static_cast<std::uint64_t>(tile.row + (tile.column + column) * call.c.spacing) * out;
    finish(batch, to, sums.data() + column * tile.rows, tile.rows, row);
  }
}

}  // namespace

std::unique_ptr<Job> makeGemm(Batch batch) {
  const blas::Call& call = batch.call;
  const auto tiles = static_cast<std::uint64_t>(blocksOf(call.m, kTile) * blocksOf(call.n, kTile));
  const std::uint64_t pieces = tiles * batch.count();
  return makePieces(pieces, [tiles, batch = std::move(batch)](std::uint64_t piece) {
    const Places places = batch.places(piece / tiles);
    const Tile tile = tileOf(batch.call, static_cast<std::int64_t>(piece % tiles));
    const bool direct = batch.call.aType == batch.call.cType &&
                        withBasic(batch.call.aType, [&]<class T>(T) { multiply<T>(batch, places, tile); });
    if (direct) return;
    if (batch.call.aType == blas::Type::i8) multiplyWidened<double>(batch, places, tile);
    else multiplyWidened<float>(batch, places, tile);
  });
}

}  // namespace rouse::library::cpu
