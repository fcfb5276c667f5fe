// Matrix operations of a warp whose registers lie by word, then by lane: 32 words beside each other are those of a tile, by rows.
#include <array>
#include <cstring>

#include "server/device/cpu/runtime/matrix.h"
#include "server/device/cpu/runtime/matrix_in_shared.h"
#include "server/device/cpu/runtime/matrix_tiling.h"
#include "server/device/cpu/runtime/matrix_vectors.h"

namespace rouse::cpu {
namespace {

std::byte* rowOf(const std::uint32_t* words, std::uint32_t lane) {
  const std::uint64_t low = words[kMatrixAddress * kLanes + lane], high = words[(kMatrixAddress + 1) * kLanes + lane];
  return reinterpret_cast<std::byte*>(high << 32 | low);  // NOLINT(performance-no-int-to-ptr): a kernel's address
}

template <std::uint32_t unitWords>
void gatherTiles(const Tiling& tiling, const std::uint32_t* words, std::uint32_t* image) {
  forUnits(tiling, [&](std::uint32_t row, std::uint32_t across, std::uint32_t unit) {
    const std::uint32_t* const from = words + unit * unitWords * kLanes;
    for (std::uint32_t r = 0; r < 8; ++r) {
      std::uint32_t* const to = image + (8 * row + r) * tiling.rowWords() + 4 * across * unitWords;
      for (std::uint32_t c = 0; c < 4; ++c)
        for (std::uint32_t w = 0; w < unitWords; ++w) to[c * unitWords + w] = from[w * kLanes + 4 * r + c];
    }
  });
}

template <std::uint32_t unitWords>
void spreadTiles(const Tiling& tiling, const std::uint32_t* image, std::uint32_t* words) {
  forUnits(tiling, [&](std::uint32_t row, std::uint32_t across, std::uint32_t unit) {
    std::uint32_t* const to = words + unit * unitWords * kLanes;
    for (std::uint32_t r = 0; r < 8; ++r) {
      const std::uint32_t* const from = image + (8 * row + r) * tiling.rowWords() + 4 * across * unitWords;
      for (std::uint32_t c = 0; c < 4; ++c)
        for (std::uint32_t w = 0; w < unitWords; ++w) to[w * kLanes + 4 * r + c] = from[c * unitWords + w];
    }
  });
}

void gather(const Tiling& tiling, const std::uint32_t* words, std::uint32_t* image) {
  if (tiling.unitWords == 1) return gatherTiles<1>(tiling, words, image);
  return tiling.unitWords == 2 ? gatherTiles<2>(tiling, words, image) : gatherTiles<4>(tiling, words, image);
}

void spread(const Tiling& tiling, const std::uint32_t* image, std::uint32_t* words) {
  if (tiling.unitWords == 1) return spreadTiles<1>(tiling, image, words);
  return tiling.unitWords == 2 ? spreadTiles<2>(tiling, image, words) : spreadTiles<4>(tiling, image, words);
}

void multiply(const MatrixOperation& operation, std::uint32_t* words) {
  if (hasMatrixVectors() && multiplyInVectors(operation, words)) return;
  // As many words a lane as its registers have room for.
  alignas(16) std::uint32_t a[(kMatrixB - kMatrixA) * kLanes], b[(kMatrixWords - kMatrixB) * kLanes], c[kMatrixA * kLanes];
  gather(tilingOf(operation, MatrixRole::a, operation.a), words + kMatrixA * kLanes, a);
  gather(tilingOf(operation, MatrixRole::b, operation.b), words + kMatrixB * kLanes, b);
  gather(tilingOf(operation, MatrixRole::accumulator, operation.c), words, c);
  multiplyMatrices(operation, a, b, c, c, words + kMatrixSparsity * kLanes);
  spread(tilingOf(operation, MatrixRole::accumulator, operation.d), c, words);
}

void loadRows(const MatrixOperation& operation, std::uint32_t* words) {
  // All are read before a register changes: a fault leaves the registers as they were.
  alignas(64) std::uint32_t units[4 * kLanes];
  for (std::uint32_t lane = 0; lane < 8 * operation.count; ++lane) std::memcpy(units + 4 * lane, rowOf(words, lane), kMatrixRowBytes);
  for (std::uint32_t i = 0; i < operation.count; ++i) {
    if (operation.aColumns) transposeUnit(units + i * kLanes, units + i * kLanes);
    std::memcpy(words + i * kLanes, units + i * kLanes, sizeof(std::uint32_t) * kLanes);
  }
}

void storeRows(const MatrixOperation& operation, const std::uint32_t* words) {
  for (std::uint32_t i = 0; i < operation.count; ++i) {
    alignas(64) std::uint32_t unit[kLanes];
    operation.aColumns ? transposeUnit(words + i * kLanes, unit) : void(std::memcpy(unit, words + i * kLanes, sizeof unit));
    for (std::uint32_t row = 0; row < 8; ++row) std::memcpy(rowOf(words, 8 * i + row), unit + 4 * row, kMatrixRowBytes);
  }
}

// Each lane's by itself.
void runApart(const MatrixOperation& operation, const WarpRegisters& registers) {
  std::array<std::array<std::uint32_t, kMatrixWords>, kLanes> own;
  LaneRegisters lanes{};
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    lanes[lane] = own[lane].data();
    for (std::uint32_t word = 0; word < kMatrixWords; ++word) own[lane][word] = registers.words[word * kLanes + lane];
  }
  runMatrixOperation(operation, lanes);
  // Results are there, and nowhere else.
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    for (std::uint32_t word = 0; word < kMatrixA; ++word) registers.words[word * kLanes + lane] = own[lane][word];
  }
}

// Between memory, whose lines are `stride` elements apart, and an image by rows of the whole matrix.
template <bool isStore>
void move(std::byte* memory, std::byte* part, std::size_t bytes) {
  isStore ? std::memcpy(memory, part, bytes) : std::memcpy(part, memory, bytes);
}

struct Image {
  std::uint32_t* words;
  std::uint32_t rows, rowBytes;
};

template <bool isStore>
void moveRows(const Image& image, std::byte* memory, std::uint64_t stride) {
  for (std::uint32_t row = 0; row < image.rows; ++row)
    move<isStore>(memory + row * stride, reinterpret_cast<std::byte*>(image.words) + row * image.rowBytes, image.rowBytes);
}

// Lines in memory are the image's columns.
template <bool isStore, class Element>
void moveColumns(const Image& image, std::byte* memory, std::uint64_t stride) {
  const std::uint32_t columns = image.rowBytes / sizeof(Element);
  for (std::uint32_t column = 0; column < columns; ++column)
    for (std::uint32_t row = 0; row < image.rows; ++row)
      move<isStore>(memory + column * stride + row * sizeof(Element),
                    reinterpret_cast<std::byte*>(image.words) + row * image.rowBytes + column * sizeof(Element), sizeof(Element));
}

template <bool isStore>
void moveColumns(std::uint32_t bits, const Image& image, std::byte* memory, std::uint64_t stride) {
  if (bits == 8) return moveColumns<isStore, std::uint8_t>(image, memory, stride);
  if (bits == 16) return moveColumns<isStore, std::uint16_t>(image, memory, stride);
  return bits == 32 ? moveColumns<isStore, std::uint32_t>(image, memory, stride) : moveColumns<isStore, std::uint64_t>(image, memory, stride);
}

// All lanes name one matrix.
bool areSame(std::byte* const* bases, const std::uint32_t* strides) {
  std::uint64_t differ = 0;
  for (std::uint32_t lane = 0; lane < kLanes; ++lane)
    differ |= (reinterpret_cast<std::uintptr_t>(bases[lane]) ^ reinterpret_cast<std::uintptr_t>(bases[0])) | (strides[lane] ^ strides[0]);
  return differ == 0;
}

// Units whose rows are 16 bytes of memory.
template <bool isStore>
void moveUnits(const Tiling& tiling, std::uint32_t* words, std::byte* memory, std::uint64_t stride) {
  forUnits(tiling, [&](std::uint32_t rows, std::uint32_t across, std::uint32_t unit) {
    for (std::uint64_t r = 0; r < 8; ++r)
      move<isStore>(memory + (8 * rows + r) * stride + std::uint64_t{across} * 16, reinterpret_cast<std::byte*>(words + unit * kLanes + 4 * r), 16);
  });
}

// Units of 8 rows by 8 elements of 16 bits, whose columns are lines in memory.
void moveHalfColumns(const Tiling& tiling, bool isStore, std::uint32_t* words, std::byte* memory, std::uint64_t stride) {
  forUnits(tiling, [&](std::uint32_t rows, std::uint32_t across, std::uint32_t unit) {
    alignas(64) std::uint32_t lines[kLanes];
    std::byte* const first = memory + 8 * across * stride + std::uint64_t{rows} * 16;
    if (isStore) transposeUnit(words + unit * kLanes, lines);
    for (std::uint32_t line = 0; line < 8; ++line)
      isStore ? std::memcpy(first + line * stride, lines + 4 * line, 16) : std::memcpy(lines + 4 * line, first + line * stride, 16);
    if (!isStore) transposeUnit(lines, words + unit * kLanes);
  });
}

template <bool isStore>
void moveImage(const MatrixOperation& operation, const Tiling& tiling, bool contiguous, std::uint32_t* words, std::byte* memory, std::uint64_t stride) {
  if (contiguous && tiling.unitWords == 1) return moveUnits<isStore>(tiling, words, memory, stride);
  alignas(64) std::uint32_t image[kMatrixWords / 2 * kLanes];
  const Image whole{image, 8 * tiling.rows, 4 * tiling.rowWords()};
  if (isStore) gather(tiling, words, image);
  contiguous ? moveRows<isStore>(whole, memory, stride) : moveColumns<isStore>(bitsOf(operation.a), whole, memory, stride);
  if (!isStore) spread(tiling, image, words);
}

}  // namespace

void transposeUnit(const std::uint32_t* from, std::uint32_t* to) {
  if (hasMatrixVectors()) return transposeInVectors(from, to);
  std::uint32_t made[kLanes];
  const auto half = [&](std::uint32_t row, std::uint32_t column) { return from[4 * row + column / 2] >> (column % 2 * 16) & 0xffff; };
  for (std::uint32_t row = 0; row < 8; ++row)
    for (std::uint32_t pair = 0; pair < 4; ++pair) made[4 * row + pair] = half(2 * pair, row) | half(2 * pair + 1, row) << 16;
  std::memcpy(to, made, sizeof made);
}

std::uint32_t runMatrixOperation(const MatrixOperation& operation, const WarpRegisters& registers) {
  std::uint32_t misaligned = 0;
  for (std::uint32_t lane = 0; lane < kLanes && bringsRow(operation, lane); ++lane)
    misaligned |= registers.words[kMatrixAddress * kLanes + lane] & (kMatrixRowBytes - 1);
  switch (operation.quadPairs ? MatrixVerb::transpose : operation.verb) {
    case MatrixVerb::multiply:
      multiply(operation, registers.words);
      break;
    case MatrixVerb::multiplyShared:
      multiplyShared(operation, registers);
      break;
    case MatrixVerb::loadRows:
      loadRows(operation, registers.words);
      break;
    case MatrixVerb::storeRows:
      storeRows(operation, registers.words);
      break;
    default:
      runApart(operation, registers);
  }
  return misaligned;
}

void moveMatrixParts(const MatrixOperation& operation, const WarpRegisters& registers, std::byte* const* bases, const std::uint32_t* strides) {
  const bool isStore = operation.verb == MatrixVerb::store;
  const std::uint32_t bits = bitsOf(operation.a);
  const bool contiguous = (operation.role == MatrixRole::b) == operation.aColumns;
  // Lines of less than a byte an element are packed.
  if (areSame(bases, strides) && (contiguous || bits >= 8)) {
    const Tiling tiling = tilingOf(operation, operation.role, operation.a);
    const std::uint64_t stride = std::uint64_t{strides[0]} * bits / 8;
    if (!contiguous && bits == 16) return moveHalfColumns(tiling, isStore, registers.words, bases[0], stride);
    return isStore ? moveImage<true>(operation, tiling, contiguous, registers.words, bases[0], stride)
                   : moveImage<false>(operation, tiling, contiguous, registers.words, bases[0], stride);
  }
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    alignas(8) std::uint32_t own[kMatrixWords];
    for (std::uint32_t word = 0; isStore && word < kMatrixA; ++word) own[word] = registers.words[word * kLanes + lane];
    moveMatrixPart(operation, lane, own, bases[lane], strides[lane]);
    for (std::uint32_t word = 0; !isStore && word < operation.partWords(); ++word) registers.words[word * kLanes + lane] = own[word];
  }
}

}  // namespace rouse::cpu
