#include "server/device/cpu/runtime/matrix_sparse.h"

namespace rouse::cpu {
namespace {

constexpr std::uint32_t kRows = 16, kBitsOfRow = 16;

// Bits of the metadata for one row, from the lanes of its group of four; `part` counts sixteens.
class RowBits {
 public:
  RowBits(const MatrixOperation& operation, const std::uint32_t* words, std::uint32_t row, std::uint32_t bitsInAll) : group_(words + row % 8 * 4), high_(row / 8) {
    // Elements of 16 bits and more: a lane has 16 bits of each of its two rows. Smaller ones: a lane has 32 bits of one, beside it is the other's.
    halves_ = bitsOf(operation.a) >= 16;
    first_ = operation.selector * (halves_ ? bitsInAll / kBitsOfRow : 2);
  }

  std::uint32_t operator()(std::uint32_t bit, std::uint32_t count) const {
    const std::uint32_t mask = (1U << count) - 1;
    if (halves_) return group_[(first_ + bit / kBitsOfRow) % 4] >> (high_ * kBitsOfRow + bit % kBitsOfRow) & mask;
    return group_[(first_ + bit / 32 * 2 + high_) % 4] >> bit % 32 & mask;
  }

 private:
  const std::uint32_t* group_;
  std::uint32_t high_, first_;
  bool halves_;
};

}  // namespace

SparseColumns sparseColumns(const MatrixOperation& operation, const std::uint32_t* words) {
  SparseColumns made;
  made.rows = kRows;
  made.count = operation.k / 2;
  const std::uint32_t bits = bitsOf(operation.a);
  // Of tf32 one of two, said in four bits, of which one tells; of four bits two pairs of four; else two of four.
  const std::uint32_t together = bits == 4 ? 2 : 1, bitsOfChoice = bits == 32 ? 4 : 2;
  for (std::uint32_t row = 0; row < kRows; ++row) {
    const RowBits metadata(operation, words, row, made.count / together * bitsOfChoice);
    for (std::uint32_t i = 0; i < made.count; ++i) {
      const std::uint32_t choice = metadata(i / together * bitsOfChoice, bitsOfChoice);
      const std::uint32_t column = bits == 32 ? 2 * i + (choice >> 3) : (i / together / 2 * 4 + choice) * together + i % together;
      made.of[row][i] = static_cast<std::uint8_t>(column);
    }
  }
  return made;
}

}  // namespace rouse::cpu
