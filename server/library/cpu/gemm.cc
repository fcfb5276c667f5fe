// Matrix products. A product is cut into tiles of C, each with the whole of k, so that how it is cut changes no bit that depends on who
// computes what. Small types are widened panel by panel, summed up as float (8-bit integers: as double, exactly), and rounded once.
#include <algorithm>
#include <vector>

#include "server/library/cpu/batch.h"
#include "server/library/cpu/cblas_calls.h"
#include "server/library/cpu/tile.h"

namespace rouse::library::cpu {
namespace {

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
  std::vector<Wide> sums, row;
  sumTile<Wide>({places.a, call.a.spacing, call.aType, call.transa == blas::Transpose::none},
                {places.b, call.b.spacing, call.bType, call.transb == blas::Transpose::none}, call.k, tile, sums);
  const std::uint32_t out = blas::bytesOf(call.cType);
  for (std::int64_t column = 0; column < tile.columns; ++column) {
    std::byte* to = reinterpret_cast<std::byte*>(places.c) + static_cast<std::uint64_t>(tile.row + (tile.column + column) * call.c.spacing) * out;
    finish(batch, to, sums.data() + column * tile.rows, tile.rows, row);
  }
}

}  // namespace

std::unique_ptr<Job> makeGemm(Batch batch) {
  const blas::Call& call = batch.call;
  const std::uint64_t tiles = tilesOf(call.m, call.n);
  const std::uint64_t pieces = tiles * batch.count();
  return makePieces(pieces, [tiles, batch = std::move(batch)](std::uint64_t piece) {
    const Places places = batch.places(piece / tiles);
    const Tile tile = tileOf(batch.call.m, batch.call.n, piece % tiles);
    const bool direct = batch.call.aType == batch.call.cType &&
                        withBasic(batch.call.aType, [&]<class T>(T) { multiply<T>(batch, places, tile); });
    if (direct) return;
    if (batch.call.aType == blas::Type::i8) multiplyWidened<double>(batch, places, tile);
    else multiplyWidened<float>(batch, places, tile);
  });
}

}  // namespace rouse::library::cpu
