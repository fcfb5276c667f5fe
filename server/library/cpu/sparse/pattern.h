// A sparse matrix as jobs have it: by rows, in memory of their own, whatever format it came in. Indices lie in the program's memory, where they may be
// anything, and may change while they are read: each is read once, then checked, then used.
#pragma once

#include <cstdint>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/sparse/check.h"
#include "server/library/cpu/sparse/numbers.h"

namespace rouse::library::cpu {

struct Pattern {
  std::int64_t rows = 0, cols = 0;
  std::vector<std::int64_t> offsets;  // of each row's first element, and the end
  std::vector<std::int64_t> columns;
  std::vector<std::int64_t> places;  // of the elements' values
  std::int64_t elements() const { return offsets.back(); }
};

// Where each of compressed lines begins, from 0 on, and the last ends: never before, and never behind `elements`.
Result<std::vector<std::int64_t>> readOffsets(const sparse::Sparse& matrix, std::int64_t lines, std::int64_t elements, std::int64_t entry,
                                              sparse::Function function);

// Of op(matrix), entry `entry` of the batch; elements of a row in the order in which they are stored. illegalAddress, in words: an index that is none.
Result<Pattern> readPattern(const sparse::Sparse& matrix, sparse::Operation op, std::int64_t entry, sparse::Function function);

// Values where `places` say, conjugated where op says so.
template <class N>
std::vector<N> readValues(const sparse::Sparse& matrix, const Pattern& pattern, sparse::Operation op, std::int64_t entry) {
  std::vector<N> values(pattern.places.size());
  const std::uint64_t first = matrix.values + static_cast<std::uint64_t>((matrix.batch > 1 ? entry : 0) * matrix.valuesStride) * sparse::bytesOf(matrix.type);
  withStored(matrix.type, [&]<class T>(T) {
    const T* const from = reinterpret_cast<const T*>(first);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = conjugatedIf(op == sparse::Operation::conjugate, widened<N>(from[pattern.places[i]]));
  });
  return values;
}

// What a call would need is more than a job may have (kMostJobBytes).
Error tooLarge(sparse::Function function, double bytes);
// Of an index that is none: "cusparseSpMV: column 7 of element 3; there are 5".
Error badIndex(sparse::Function function, const char* what, std::int64_t element, std::int64_t value, std::int64_t limit);

}  // namespace rouse::library::cpu
