// The ways of sparse calls: each makes the job for its functions.
#pragma once

#include "server/library/cpu/sparse/job.h"

namespace rouse::library::cpu {

using SparseJob = Result<std::unique_ptr<Job>>;

SparseJob makeSpmv(const sparse::Call& call);
SparseJob makeSpmm(const sparse::Call& call);
SparseJob makeSddmm(const sparse::Call& call);
SparseJob makeSparseSolve(const sparse::Call& call);
SparseJob makeSparseRows(sparse::Function function, const sparse::Call& call, const MappedMemory& memory);  // products and sums of sparse matrices
SparseJob makeSparseVector(sparse::Function function, const sparse::Call& call);
SparseJob makeToDense(const sparse::Call& call);
SparseJob makeFromDense(sparse::Function function, const sparse::Call& call);
SparseJob makeIndices(sparse::Function function, const sparse::Call& call);  // transpose, compress, expand, sort, identity
SparseJob makeBand(sparse::Function function, const sparse::Call& call);
SparseJob makeIncomplete(sparse::Function function, const sparse::Call& call);

// Elements and multiplications that a piece should take on, so that it is worth being one.
inline constexpr std::int64_t kPieceWork = 1 << 15;
// Rows of a piece, where all of them together have so much to do.
inline std::int64_t rowsOfPiece(std::int64_t rows, double work) {
  const double each = rows > 0 ? work / static_cast<double>(rows) + 1 : 1;
  const double some = static_cast<double>(kPieceWork) / each;
  return some < 1 ? 1 : static_cast<std::int64_t>(some);
}

}  // namespace rouse::library::cpu
