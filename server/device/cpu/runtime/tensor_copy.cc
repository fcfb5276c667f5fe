#include "server/device/cpu/runtime/tensor_copy.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "server/device/cpu/runtime/tensor_map.h"

namespace rouse::cpu {
namespace {

constexpr std::uint32_t kPiece = 16;  // bytes that swizzling moves as one

// Bits 4 and up of an address are exchanged by those from bit 7 on (CUDA C++ Programming Guide, "TMA Swizzle").
std::byte* swizzled(std::byte* at, std::uint32_t reach) {
  if (reach == 0) return at;
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  return reinterpret_cast<std::byte*>(address ^ ((address >> 7 & (reach / kPiece - 1)) << 4));
}

// One row of a tile: elements [first, last) of it lie within the tensor, in a row at `global`, where element 0 would.
struct Row {
  std::uint64_t global = 0;
  std::byte* shared = nullptr;
  std::uint32_t first = 0, last = 0;
};

template <class Visit>
void eachRow(const TensorTile& tile, const std::int32_t* coordinates, std::byte* shared, Visit visit) {
  const std::uint32_t rowBytes = tile.counts[0] * bytesOf(tile.element);
  const std::uint32_t pitch = std::max(rowBytes, tile.swizzleBytes);
  const std::int64_t x = coordinates[0], width = static_cast<std::int64_t>(tile.dims[0]);
  const std::int64_t count = tile.counts[0];
  const auto first = static_cast<std::uint32_t>(std::clamp<std::int64_t>(-x, 0, count));
  const auto last = static_cast<std::uint32_t>(std::clamp<std::int64_t>(width - x, first, count));
  std::uint32_t at[wire::kMaxTensorRank] = {};
  for (;;) {
    Row row{tile.address + static_cast<std::uint64_t>(x) * tile.strides[0], shared, first, last};
    for (std::uint32_t d = 1; d < tile.rank; ++d) {
      const std::int64_t index = coordinates[d] + std::int64_t{at[d]} * tile.steps[d];
      if (index < 0 || index >= static_cast<std::int64_t>(tile.dims[d])) row.last = row.first = 0;
      row.global += static_cast<std::uint64_t>(index) * tile.strides[d];
    }
    visit(row);
    shared += pitch;
    std::uint32_t d = 1;
    while (d < tile.rank && ++at[d] == tile.counts[d]) at[d++] = 0;
    if (d >= tile.rank) return;
  }
}

// NaNs with all of their bits set but the sign: the value of CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA is nowhere said.
void fillPiece(const TensorTile& tile, std::byte (&piece)[kPiece]) {
  std::memset(piece, tile.fillsWithNan ? 0xff : 0, kPiece);
  if (!tile.fillsWithNan) return;
  const std::uint32_t bytes = bytesOf(tile.element);
  for (std::uint32_t k = bytes; k <= kPiece; k += bytes) piece[k - 1] = std::byte{0x7f};
}

// Element by element, each a single atomic operation.
template <class Word, class Combine>
void combineRow(const Row& row, std::uint32_t reach, Combine combine) {
  auto* const global = reinterpret_cast<Word*>(row.global);
  for (std::uint32_t k = row.first; k < row.last; ++k) {
    const std::uint32_t offset = k * sizeof(Word);
    Word value;
    std::memcpy(&value, swizzled(row.shared + offset / kPiece * kPiece, reach) + offset % kPiece, sizeof value);
    Word before = __atomic_load_n(global + k, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(global + k, &before, combine(before, value), true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
  }
}

// Values of type T, kept in Word.
template <class T, class Word>
bool reduceNumbers(const Row& row, std::uint32_t reach, TensorReduction reduction, T (*read)(Word), Word (*write)(T)) {
  switch (reduction) {
    case TensorReduction::add:
      combineRow<Word>(row, reach, [&](Word a, Word b) { return write(static_cast<T>(read(a) + read(b))); });
      return true;
    case TensorReduction::min:
      combineRow<Word>(row, reach, [&](Word a, Word b) { return read(b) < read(a) ? b : a; });
      return true;
    case TensorReduction::max:
      combineRow<Word>(row, reach, [&](Word a, Word b) { return read(a) < read(b) ? b : a; });
      return true;
    default:
      return false;
  }
}

template <class T>
bool reduceIntegers(const Row& row, std::uint32_t reach, TensorReduction reduction) {
  using Word = std::make_unsigned_t<T>;
  switch (reduction) {
    case TensorReduction::add:
      combineRow<Word>(row, reach, [](Word a, Word b) { return static_cast<Word>(a + b); });
      return true;
    case TensorReduction::bitAnd:
      combineRow<Word>(row, reach, [](Word a, Word b) { return static_cast<Word>(a & b); });
      return true;
    case TensorReduction::bitOr:
      combineRow<Word>(row, reach, [](Word a, Word b) { return static_cast<Word>(a | b); });
      return true;
    case TensorReduction::bitXor:
      combineRow<Word>(row, reach, [](Word a, Word b) { return static_cast<Word>(a ^ b); });
      return true;
    case TensorReduction::inc:
      if (sizeof(T) != 4 || std::is_signed_v<T>) return false;
      combineRow<Word>(row, reach, [](Word a, Word b) { return static_cast<Word>(a >= b ? 0 : a + 1); });
      return true;
    case TensorReduction::dec:
      if (sizeof(T) != 4 || std::is_signed_v<T>) return false;
      combineRow<Word>(row, reach, [](Word a, Word b) { return static_cast<Word>(a == 0 || a > b ? b : a - 1); });
      return true;
    default:
      return reduceNumbers<T, Word>(row, reach, reduction, [](Word word) { return static_cast<T>(word); }, [](T value) { return static_cast<Word>(value); });
  }
}

float ofBfloat(std::uint16_t word) { return std::bit_cast<float>(static_cast<std::uint32_t>(word) << 16); }
// To the nearest, ties to even.
std::uint16_t toBfloat(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return 0x7fff;
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Which there are of which elements: PTX ISA, "cp.reduce.async.bulk.tensor".
bool reduceRow(TensorElement element, std::uint32_t reach, const Row& row, TensorReduction reduction) {
  switch (element) {
    case TensorElement::u32:
      return reduceIntegers<std::uint32_t>(row, reach, reduction);
    case TensorElement::s32:
      return reduceIntegers<std::int32_t>(row, reach, reduction);
    case TensorElement::u64:
      return reduceIntegers<std::uint64_t>(row, reach, reduction);
    case TensorElement::s64:
      return reduceIntegers<std::int64_t>(row, reach, reduction);
    case TensorElement::f16:
      return reduceNumbers<_Float16, std::uint16_t>(row, reach, reduction, [](std::uint16_t word) { return std::bit_cast<_Float16>(word); },
                                                    [](_Float16 value) { return std::bit_cast<std::uint16_t>(value); });
    case TensorElement::bf16:
      return reduceNumbers<float, std::uint16_t>(row, reach, reduction, &ofBfloat, &toBfloat);
    case TensorElement::f32:
      return reduction == TensorReduction::add && reduceNumbers<float, std::uint32_t>(row, reach, reduction, [](std::uint32_t word) { return std::bit_cast<float>(word); },
                                                                                    [](float value) { return std::bit_cast<std::uint32_t>(value); });
    case TensorElement::f64:
      return reduction == TensorReduction::add && reduceNumbers<double, std::uint64_t>(row, reach, reduction, [](std::uint64_t word) { return std::bit_cast<double>(word); },
                                                                                     [](double value) { return std::bit_cast<std::uint64_t>(value); });
    default:
      return false;
  }
}

std::optional<TensorTile> tileOf(const wire::TensorMap* map, std::uint32_t dimensions) {
  auto tile = decodeTensorMap(*map);
  if (tile && tile->rank != dimensions) tile.reset();
  return tile;
}

}  // namespace

std::uint32_t loadTile(const wire::TensorMap* map, std::uint32_t dimensions, const std::int32_t* coordinates, std::byte* shared) {
  const auto tile = tileOf(map, dimensions);
  if (!tile) return 0;
  const std::uint32_t size = bytesOf(tile->element), rowBytes = tile->counts[0] * size;
  std::byte fill[kPiece];
  fillPiece(*tile, fill);
  std::uint32_t rows = 0;
  eachRow(*tile, coordinates, shared, [&](const Row& row) {
    ++rows;
    const std::uint32_t first = row.first * size, last = row.last * size;
    const auto* const global = reinterpret_cast<const std::byte*>(row.global);
    if (tile->swizzleBytes == 0 && first == 0 && last == rowBytes) {
      std::memcpy(row.shared, global, rowBytes);
      return;
    }
    for (std::uint32_t at = 0; at < rowBytes; at += kPiece) {
      std::byte piece[kPiece];
      std::memcpy(piece, fill, kPiece);
      const std::uint32_t from = std::max(at, first), to = std::min(at + kPiece, last);
      if (from < to) std::memcpy(piece + (from - at), global + from, to - from);
      std::memcpy(swizzled(row.shared + at, tile->swizzleBytes), piece, kPiece);
    }
  });
  return rows * rowBytes;
}

TileStored storeTile(const wire::TensorMap* map, std::uint32_t dimensions, const std::int32_t* coordinates, const std::byte* shared, TensorReduction reduction) {
  const auto tile = tileOf(map, dimensions);
  if (!tile) return TileStored::noMap;
  const std::uint32_t size = bytesOf(tile->element);
  bool known = true;
  eachRow(*tile, coordinates, const_cast<std::byte*>(shared), [&](const Row& row) {
    if (reduction != TensorReduction::none) {
      known &= reduceRow(tile->element, tile->swizzleBytes, row, reduction);
      return;
    }
    const std::uint32_t first = row.first * size, last = row.last * size;
    auto* const global = reinterpret_cast<std::byte*>(row.global);
    for (std::uint32_t at = first / kPiece * kPiece; at < last; at += kPiece) {
      const std::uint32_t from = std::max(at, first), to = std::min(at + kPiece, last);
      std::memcpy(global + from, swizzled(row.shared + at, tile->swizzleBytes) + (from - at), to - from);
    }
  });
  return known ? TileStored::stored : TileStored::noReduction;
}

bool reduceBulk(std::byte* to, const std::byte* from, std::uint32_t bytes, TensorElement element, TensorReduction reduction) {
  return reduceRow(element, 0, {reinterpret_cast<std::uintptr_t>(to), const_cast<std::byte*>(from), 0, bytes / bytesOf(element)}, reduction);
}

}  // namespace rouse::cpu
