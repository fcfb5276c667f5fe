// Where the elements of matrices are: in lanes, and in memory. What is done with them is in matrix_arithmetic.cc.
#include "server/device/cpu/runtime/matrix.h"
#include "server/device/cpu/runtime/matrix_in_shared.h"
#include "server/device/cpu/runtime/matrix_tiling.h"

#include <algorithm>
#include <cstring>

namespace rouse::cpu {
namespace {

constexpr std::uint32_t kQuads = 4;                // products of a quad-pair operation

// A lane that is not there.
constexpr std::uint64_t kNobody[kMatrixWords / 2] = {};

const std::uint32_t* wordsOf(const LaneRegisters& lanes, std::uint32_t lane) {
  return lanes[lane] != nullptr ? lanes[lane] : reinterpret_cast<const std::uint32_t*>(kNobody);
}

template <std::uint32_t unitWords>
void gatherUnits(const Tiling& tiling, const LaneRegisters& lanes, std::uint32_t at, std::uint32_t* image) {
  forUnits(tiling, [&](std::uint32_t row, std::uint32_t across, std::uint32_t unit) {
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      std::uint32_t* const to = image + (8 * row + lane / 4) * tiling.rowWords() + (4 * across + lane % 4) * unitWords;
      std::memcpy(to, wordsOf(lanes, lane) + at + unit * unitWords, 4 * unitWords);
    }
  });
}

template <std::uint32_t unitWords>
void spreadUnits(const Tiling& tiling, const std::uint32_t* image, const LaneRegisters& lanes) {
  forUnits(tiling, [&](std::uint32_t row, std::uint32_t across, std::uint32_t unit) {
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      if (lanes[lane] == nullptr) continue;
      const std::uint32_t* const from = image + (8 * row + lane / 4) * tiling.rowWords() + (4 * across + lane % 4) * unitWords;
      std::memcpy(lanes[lane] + unit * unitWords, from, 4 * unitWords);
    }
  });
}

// The lanes' words from `at` on, as a matrix by rows.
void gather(const Tiling& tiling, const LaneRegisters& lanes, std::uint32_t at, std::uint32_t* image) {
  if (tiling.unitWords == 1) return gatherUnits<1>(tiling, lanes, at, image);
  return tiling.unitWords == 2 ? gatherUnits<2>(tiling, lanes, at, image) : gatherUnits<4>(tiling, lanes, at, image);
}

void spread(const Tiling& tiling, const std::uint32_t* image, const LaneRegisters& lanes) {
  if (tiling.unitWords == 1) return spreadUnits<1>(tiling, image, lanes);
  return tiling.unitWords == 2 ? spreadUnits<2>(tiling, image, lanes) : spreadUnits<4>(tiling, image, lanes);
}

std::uint16_t halfAt(const std::uint32_t* words, std::uint32_t index) {
  return static_cast<std::uint16_t>(words[index / 2] >> (index % 2 * 16));
}

void setHalf(std::uint32_t* words, std::uint32_t index, std::uint16_t value) {
  std::uint32_t& word = words[index / 2];
  word = index % 2 == 0 ? (word & 0xffff'0000) | value : (word & 0xffff) | std::uint32_t{value} << 16;
}

// mma.m8n8k4 of f16 (PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16 floating point type"): lanes 4 q to 4 q + 3 and those 16
// higher have product q; the higher ones rows 4 to 7 of A and C, columns 4 to 7 of B.
struct QuadLane {
  std::uint32_t number, high;  // 0 to 3; 4 in the upper half

  std::uint32_t a(bool columns, std::uint32_t i) const { return columns ? (i + high) * 4 + number : (number + high) * 4 + i; }
  // In B by columns.
  std::uint32_t b(bool columns, std::uint32_t i) const { return columns ? (number + high) * 4 + i : (i + high) * 4 + number; }
  std::uint32_t c(MatrixElement element, std::uint32_t i) const {
    if (element == MatrixElement::f16) return (number + high) * 8 + i;
    return ((number & 1) + (i & 2) + high) * 8 + (i & 4) + (number & 2) + (i & 1);
  }
};

void multiplyQuadPairs(const MatrixOperation& operation, const LaneRegisters& lanes) {
  MatrixOperation product = operation;
  product.quadPairs = false;
  for (std::uint32_t quad = 0; quad < kQuads; ++quad) {
    std::uint32_t a[16], b[16], c[64], d[64];
    const auto forLanes = [&](auto verb) {
      for (std::uint32_t i = 0; i < 8; ++i) {
        const QuadLane place{i % 4, i & 4};
        verb(place, place.high * 4 + quad * 4 + place.number);
      }
    };
    forLanes([&](const QuadLane& place, std::uint32_t lane) {
      const std::uint32_t* const words = wordsOf(lanes, lane);
      for (std::uint32_t i = 0; i < 4; ++i) {
        setHalf(a, place.a(operation.aColumns, i), halfAt(words + kMatrixA, i));
        setHalf(b, place.b(operation.bColumns, i), halfAt(words + kMatrixB, i));
      }
      for (std::uint32_t i = 0; i < 8; ++i) {
        const std::uint32_t at = place.c(operation.c, i);
        if (operation.c == MatrixElement::f16) {
          setHalf(c, at, halfAt(words, i));
        } else {
          c[at] = words[i];
        }
      }
    });
    multiplyMatrices(product, a, b, c, d, nullptr);
    forLanes([&](const QuadLane& place, std::uint32_t lane) {
      if (lanes[lane] == nullptr) return;
      for (std::uint32_t i = 0; i < 8; ++i) {
        const std::uint32_t at = place.c(operation.d, i);
        if (operation.d == MatrixElement::f16) {
          setHalf(lanes[lane], i, halfAt(d, at));
        } else {
          lanes[lane][i] = d[at];
        }
      }
    });
  }
}

void multiply(const MatrixOperation& operation, const LaneRegisters& lanes) {
  if (operation.quadPairs) return multiplyQuadPairs(operation, lanes);
  // As many words a lane as its registers have room for.
  alignas(16) std::uint32_t a[(kMatrixB - kMatrixA) * kLanes], b[(kMatrixWords - kMatrixB) * kLanes], c[kMatrixA * kLanes];
  gather(tilingOf(operation, MatrixRole::a, operation.a), lanes, kMatrixA, a);
  gather(tilingOf(operation, MatrixRole::b, operation.b), lanes, kMatrixB, b);
  gather(tilingOf(operation, MatrixRole::accumulator, operation.c), lanes, 0, c);
  std::uint32_t sparsity[kLanes];
  for (std::uint32_t lane = 0; operation.sparse && lane < kLanes; ++lane) sparsity[lane] = wordsOf(lanes, lane)[kMatrixSparsity];
  multiplyMatrices(operation, a, b, c, c, sparsity);
  spread(tilingOf(operation, MatrixRole::accumulator, operation.d), c, lanes);
}

// Eight rows of eight 16-bit elements.
struct Matrix8x8 {
  std::uint32_t words[8][4];
  std::uint16_t at(std::uint32_t row, std::uint32_t column) const { return halfAt(words[row], column); }
};

// What a lane has of the matrix, or of its transpose.
std::uint32_t wordOf(const Matrix8x8& matrix, bool transposed, std::uint32_t lane) {
  const std::uint32_t row = lane / 4, column = lane % 4 * 2;
  if (!transposed) return matrix.words[row][lane % 4];
  return matrix.at(column, row) | std::uint32_t{matrix.at(column + 1, row)} << 16;
}

std::byte* addressOf(const std::uint32_t* registers) {
  std::byte* address;
  std::memcpy(&address, registers + kMatrixAddress, sizeof address);
  return address;
}

// Lanes 8 i to 8 i + 7 bring the addresses of the rows of matrix i.
void loadRows(const MatrixOperation& operation, const LaneRegisters& lanes) {
  Matrix8x8 matrices[4] = {};
  for (std::uint32_t lane = 0; lane < 8 * operation.count; ++lane) {
    if (lanes[lane] != nullptr) std::memcpy(matrices[lane / 8].words[lane % 8], addressOf(lanes[lane]), kMatrixRowBytes);
  }
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    if (lanes[lane] == nullptr) continue;
    for (std::uint32_t i = 0; i < operation.count; ++i) lanes[lane][i] = wordOf(matrices[i], operation.aColumns, lane);
  }
}

Matrix8x8 gathered(const LaneRegisters& lanes, std::uint32_t word, bool transposed) {
  Matrix8x8 matrix, result;
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) matrix.words[lane / 4][lane % 4] = wordsOf(lanes, lane)[word];
  if (!transposed) return matrix;
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) result.words[lane / 4][lane % 4] = wordOf(matrix, true, lane);
  return result;
}

void storeRows(const MatrixOperation& operation, const LaneRegisters& lanes) {
  for (std::uint32_t i = 0; i < operation.count; ++i) {
    const Matrix8x8 matrix = gathered(lanes, i, operation.aColumns);
    for (std::uint32_t row = 0; row < 8; ++row) {
      if (lanes[8 * i + row] != nullptr) std::memcpy(addressOf(lanes[8 * i + row]), matrix.words[row], kMatrixRowBytes);
    }
  }
}

void transpose(const LaneRegisters& lanes) {
  const Matrix8x8 matrix = gathered(lanes, 0, true);
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    if (lanes[lane] != nullptr) lanes[lane][0] = matrix.words[lane / 4][lane % 4];
  }
}

}  // namespace

void runMatrixOperation(const MatrixOperation& operation, const LaneRegisters& lanes) {
  switch (operation.verb) {
    case MatrixVerb::multiply:
      return multiply(operation, lanes);
    case MatrixVerb::multiplyShared:
      return multiplyShared(operation, lanes);
    case MatrixVerb::loadRows:
      return loadRows(operation, lanes);
    case MatrixVerb::storeRows:
      return storeRows(operation, lanes);
    case MatrixVerb::transpose:
      return transpose(lanes);
    case MatrixVerb::load:
    case MatrixVerb::store:
      return;  // each lane for itself
  }
}

bool bringsRow(const MatrixOperation& operation, std::uint32_t lane) {
  return (operation.verb == MatrixVerb::loadRows || operation.verb == MatrixVerb::storeRows) && lane < 8 * operation.count;
}

void moveMatrixPart(const MatrixOperation& operation, std::uint32_t lane, std::uint32_t* registers, std::byte* base,
                    std::uint32_t stride) {
  const Tiling tiling = tilingOf(operation, operation.role, operation.a);
  const std::uint64_t bits = bitsOf(operation.a);
  const std::uint64_t elements = 32 * tiling.unitWords / bits;  // of a unit
  // B's tiles lie along its columns.
  const bool contiguous = (operation.role == MatrixRole::b) == operation.aColumns;
  const bool isStore = operation.verb == MatrixVerb::store;
  const auto move = [&](std::byte* memory, std::byte* part, std::size_t bytes) {
    isStore ? std::memcpy(memory, part, bytes) : std::memcpy(part, memory, bytes);
  };
  forUnits(tiling, [&](std::uint32_t rows, std::uint32_t across, std::uint32_t unit) {
    auto* const part = reinterpret_cast<std::byte*>(registers + unit * tiling.unitWords);
    const std::uint64_t row = 8 * rows + lane / 4;
    const std::uint64_t first = (4 * across + lane % 4) * elements;
    if (contiguous) return move(base + (row * stride + first) * bits / 8, part, 4 * tiling.unitWords);
    for (std::uint64_t i = 0; i < elements; ++i)
      move(base + ((first + i) * stride + row) * bits / 8, part + i * bits / 8, bits / 8);
  });
}

}  // namespace rouse::cpu
