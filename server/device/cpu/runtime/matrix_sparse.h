// Which of the k columns the elements of a sparse A are in, as mma.sp has it (PTX ISA, "Warp-level matrix instructions for sparse matrices").
#pragma once

#include <cstdint>

#include "server/device/cpu/matrix_form.h"

namespace rouse::cpu {

struct SparseColumns {
  std::uint32_t rows = 0, count = 0;  // 16; of elements that a row has, half of k
  std::uint8_t of[16][64];            // by row, then by element, each less than k
};

// Metadata are a word of each lane. Of four lanes beside each other, which have rows g and g + 8, `selector` says which one or two bring theirs, where they are not needed from all.
// What is no valid choice (two elements in one column) chooses some column as well.
SparseColumns sparseColumns(const MatrixOperation&, const std::uint32_t* words);

}  // namespace rouse::cpu
