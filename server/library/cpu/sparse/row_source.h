// Rows of a matrix, some elements at a time: of compressed rows read where they lie, each index checked as it comes, else of a pattern that has been made of the
// matrix. Any thread, each with a buffer of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "server/library/cpu/sparse/pattern.h"
#include "server/library/job.h"

namespace rouse::library::cpu {

template <class N>
class RowSource {
 public:
  // Elements of a row that are looked at together.
  static constexpr std::int64_t kTogether = 1024;
  struct Buffer {
    std::vector<std::int64_t> columns = std::vector<std::int64_t>(kTogether), places = columns;
    std::vector<N> values = std::vector<N>(kTogether);
  };

  RowSource(const sparse::Sparse& matrix, sparse::Operation op, sparse::Function function)
      : matrix_(matrix), op_(op), function_(function), direct_(matrix.format == sparse::Format::csr && op == sparse::Operation::none) {}

  // Of a batch's entry.
  Status begin(std::int64_t entry) {
    const std::int64_t of = matrix_.batch > 1 ? entry : 0;
    offsets_ = matrix_.offsets + static_cast<std::uint64_t>(of * matrix_.offsetsStride) * sparse::bytesOf(matrix_.offsetsType);
    indices_ = matrix_.indices + static_cast<std::uint64_t>(of * matrix_.indicesStride) * sparse::bytesOf(matrix_.indicesType);
    values_ = matrix_.values + static_cast<std::uint64_t>(of * matrix_.valuesStride) * sparse::bytesOf(matrix_.type);
    if (direct_ || (entry > 0 && matrix_.batch == 1)) return {};
    auto pattern = readPattern(matrix_, op_, entry, function_);
    if (!pattern) return pattern.error();
    pattern_ = std::move(*pattern);
    return {};
  }

  std::int64_t rows() const { return sparse::rowsOf(matrix_, op_); }
  double elements() const { return static_cast<double>(direct_ ? matrix_.nnz : pattern_.elements()); }

  // visit(columns, values, places, how many): in the order of the elements. Throws Failure where an index is none.
  template <class Visit>
  void row(std::int64_t row, Buffer& buffer, Visit&& visit) const {
    const std::int64_t from = offset(row), to = offset(row + 1);
    if (to < from) throw Failure(badIndex(function_, "an offset", row + 1, to, from));
    for (std::int64_t first = from; first < to; first += kTogether) {
      const std::int64_t count = std::min(kTogether, to - first);
      if (direct_) read(first, count, buffer);
      const std::int64_t* const columns = direct_ ? buffer.columns.data() : pattern_.columns.data() + first;
      const std::int64_t* const places = direct_ ? buffer.places.data() : pattern_.places.data() + first;
      withStored(matrix_.type, [&]<class T>(T) {
        const T* const stored = reinterpret_cast<const T*>(values_);
        for (std::int64_t i = 0; i < count; ++i)
          buffer.values[static_cast<std::size_t>(i)] = conjugatedIf(op_ == sparse::Operation::conjugate, widened<N>(stored[places[i]]));
      });
      visit(columns, buffer.values.data(), places, count);
    }
  }

 private:
  std::int64_t offset(std::int64_t row) const {
    if (!direct_) return pattern_.offsets[static_cast<std::size_t>(row)];
    const std::int64_t offset = fromZero(loadIndex(matrix_.offsetsType, offsets_, row), matrix_.base);
    if (offset < 0 || offset > matrix_.nnz) throw Failure(badIndex(function_, "an offset", row, offset, matrix_.nnz));
    return offset;
  }
  void read(std::int64_t first, std::int64_t count, Buffer& buffer) const {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t column = fromZero(loadIndex(matrix_.indicesType, indices_, first + i), matrix_.base);
      if (static_cast<std::uint64_t>(column) >= static_cast<std::uint64_t>(matrix_.cols))
        throw Failure(badIndex(function_, "a column", first + i, column, matrix_.cols));
      buffer.columns[static_cast<std::size_t>(i)] = column;
      buffer.places[static_cast<std::size_t>(i)] = first + i;
    }
  }

  const sparse::Sparse matrix_;
  const sparse::Operation op_;
  const sparse::Function function_;
  const bool direct_;
  std::uint64_t offsets_ = 0, indices_ = 0, values_ = 0;
  Pattern pattern_;
};

}  // namespace rouse::library::cpu
