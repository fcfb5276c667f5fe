// A sparse matrix A of 16 rows as a warp has it for mma.sp and wgmma.mma_async.sp: which columns the elements of each row are in, at random, and the metadata of each lane that say so.
#pragma once

#include <array>
#include <random>
#include <vector>

#include "test/ptx/matrix_warp.h"

namespace rouse::test {

struct SparseRows {
  std::array<std::vector<unsigned>, 16> columns;  // by row, upwards; k / 2 of them
  std::array<std::uint32_t, kLanes> metadata{};
};

// `selector`: whose metadata count; other lanes have anything.
SparseRows randomSparseRows(Element, unsigned k, unsigned selector, std::mt19937_64&);
// How many selectors there are.
unsigned selectorsOf(Element, unsigned k);

}  // namespace rouse::test
