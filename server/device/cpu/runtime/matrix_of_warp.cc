// Matrix operations of a warp whose registers lie by word, then by lane: 32 words beside each other are those of a tile, by rows.
#include <array>
#include <cstring>

#include "server/device/cpu/runtime/matrix.h"
#include "server/device/cpu/runtime/matrix_tiling.h"

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
  // As many words a lane as its registers have room for.
  alignas(16) std::uint32_t a[(kMatrixB - kMatrixA) * kLanes], b[(kMatrixWords - kMatrixB) * kLanes], c[kMatrixA * kLanes];
  gather(tilingOf(operation, MatrixRole::a, operation.a), words + kMatrixA * kLanes, a);
  gather(tilingOf(operation, MatrixRole::b, operation.b), words + kMatrixB * kLanes, b);
  gather(tilingOf(operation, MatrixRole::accumulator, operation.c), words, c);
  multiplyMatrices(operation, a, b, c, c);
  spread(tilingOf(operation, MatrixRole::accumulator, operation.d), c, words);
}

// What goes as it lies: rows that are not transposed.
void loadRows(const MatrixOperation& operation, std::uint32_t* words) {
  for (std::uint32_t lane = 0; lane < 8 * operation.count; ++lane)
    std::memcpy(words + lane / 8 * kLanes + lane % 8 * 4, rowOf(words, lane), kMatrixRowBytes);
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

}  // namespace

std::uint32_t runMatrixOperation(const MatrixOperation& operation, const WarpRegisters& registers) {
  std::uint32_t misaligned = 0;
  for (std::uint32_t lane = 0; lane < kLanes && bringsRow(operation, lane); ++lane)
    misaligned |= registers.words[kMatrixAddress * kLanes + lane] & (kMatrixRowBytes - 1);
  if (operation.verb == MatrixVerb::multiply && !operation.quadPairs) {
    multiply(operation, registers.words);
  } else if (operation.verb == MatrixVerb::loadRows && !operation.aColumns) {
    loadRows(operation, registers.words);
  } else {
    runApart(operation, registers);
  }
  return misaligned;
}

void moveMatrixParts(const MatrixOperation& operation, const WarpRegisters& registers, std::byte* const* bases, const std::uint32_t* strides) {
  const Tiling tiling = tilingOf(operation, operation.role, operation.a);
  const std::uint64_t bits = bitsOf(operation.a);
  const bool contiguous = (operation.role == MatrixRole::b) == operation.aColumns;
  bool together = contiguous && tiling.unitWords == 1;
  for (std::uint32_t lane = 1; lane < kLanes && together; ++lane) together = bases[lane] == bases[0] && strides[lane] == strides[0];
  const bool isStore = operation.verb == MatrixVerb::store;
  if (together) {
    // Four lanes have 16 bytes of a row.
    return forUnits(tiling, [&](std::uint32_t rows, std::uint32_t across, std::uint32_t unit) {
      for (std::uint64_t r = 0; r < 8; ++r) {
        std::byte* const memory = bases[0] + (8 * rows + r) * strides[0] * bits / 8 + std::uint64_t{across} * 16;
        std::uint32_t* const words = registers.words + unit * kLanes + 4 * r;
        isStore ? std::memcpy(memory, words, 16) : std::memcpy(words, memory, 16);
      }
    });
  }
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    alignas(8) std::uint32_t own[kMatrixWords];
    for (std::uint32_t word = 0; isStore && word < kMatrixA; ++word) own[word] = registers.words[word * kLanes + lane];
    moveMatrixPart(operation, lane, own, bases[lane], strides[lane]);
    for (std::uint32_t word = 0; !isStore && word < operation.partWords(); ++word) registers.words[word * kLanes + lane] = own[word];
  }
}

}  // namespace rouse::cpu
