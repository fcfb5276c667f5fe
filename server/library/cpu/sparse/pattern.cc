#include "server/library/cpu/sparse/pattern.h"

#include <cstdio>
#include <string>
#include <utility>

#include "server/library/job.h"

namespace rouse::library::cpu {
namespace {

using sparse::Format;
using sparse::Function;
using sparse::Sparse;

// Elements one after the other, as they are stored.
struct Elements {
  std::vector<std::int64_t> rows, columns, places;
  void add(std::int64_t row, std::int64_t column, std::int64_t place) {
    rows.push_back(row);
    columns.push_back(column);
    places.push_back(place);
  }
};

// Where a batch's entry has its indices, and its offsets.
std::uint64_t indicesOf(const Sparse& m, std::int64_t entry) {
  return m.indices + static_cast<std::uint64_t>((m.batch > 1 ? entry : 0) * m.indicesStride) * sparse::bytesOf(m.indicesType);
}
std::uint64_t offsetsOf(const Sparse& m, std::int64_t entry) {
  const std::int64_t stride = m.format == Format::coo ? m.indicesStride : m.offsetsStride;
  return m.offsets + static_cast<std::uint64_t>((m.batch > 1 ? entry : 0) * stride) * sparse::bytesOf(m.offsetsType);
}

// Of a block's element.
std::int64_t inBlock(const Sparse& m, std::int64_t i, std::int64_t j) { return m.order == sparse::Order::row ? i * m.blockCols + j : j * m.blockRows + i; }

// Every element in the order in which they are stored. `offsets`: of compressed lines. Empty: it has been done.
std::string readElements(const Sparse& m, std::int64_t entry, Function function, const std::vector<std::int64_t>& offsets, Elements& all) {
  const std::uint64_t rows = offsetsOf(m, entry), indices = indicesOf(m, entry);
  const auto index = [&](std::int64_t element) { return loadIndex(m.indicesType, indices, element); };
  const auto bad = [&](const char* what, std::int64_t element, std::int64_t value, std::int64_t limit) {
    return badIndex(function, what, element, value, limit).message;
  };
  const auto lines = static_cast<std::int64_t>(offsets.size()) - 1;
  const auto begin = [&](std::int64_t line) { return offsets[static_cast<std::size_t>(line)]; };
  switch (m.format) {
    case Format::csr: case Format::csc: {
      const bool ofRows = m.format == Format::csr;
      const std::int64_t limit = ofRows ? m.cols : m.rows;
      for (std::int64_t line = 0; line < lines; ++line)
        for (std::int64_t i = begin(line); i < begin(line + 1); ++i) {
          const std::int64_t other = fromZero(index(i), m.base);
          if (other < 0 || other >= limit) return bad("an index", i, other, limit);
          if (ofRows) all.add(line, other, i);
          else all.add(other, line, i);
        }
      return {};
    }
    case Format::coo:
      for (std::int64_t i = 0; i < m.nnz; ++i) {
        const std::int64_t row = fromZero(loadIndex(m.offsetsType, rows, i), m.base), column = fromZero(index(i), m.base);
        if (row < 0 || row >= m.rows) return bad("a row", i, row, m.rows);
        if (column < 0 || column >= m.cols) return bad("a column", i, column, m.cols);
        all.add(row, column, i);
      }
      return {};
    case Format::bsr: {
      const std::int64_t limit = m.cols / m.blockCols;
      std::vector<std::int64_t> blocks;
      for (std::int64_t line = 0; line < lines; ++line) {
        blocks.clear();
        for (std::int64_t b = begin(line); b < begin(line + 1); ++b) {
          blocks.push_back(fromZero(index(b), m.base));
          if (blocks.back() < 0 || blocks.back() >= limit) return bad("a block's column", b, blocks.back(), limit);
        }
        for (std::int64_t i = 0; i < m.blockRows; ++i)
          for (std::size_t b = 0; b < blocks.size(); ++b)
            for (std::int64_t j = 0; j < m.blockCols; ++j)
              all.add(line * m.blockRows + i, blocks[b] * m.blockCols + j,
                      (begin(line) + static_cast<std::int64_t>(b)) * m.blockRows * m.blockCols + inBlock(m, i, j));
      }
      return {};
    }
    case Format::slicedEll:
      for (std::int64_t slice = 0; slice < lines; ++slice) {
        const std::int64_t length = begin(slice + 1) - begin(slice);
        if (length % m.width != 0) return bad("a slice's length", slice, length, m.width);
        for (std::int64_t r = 0; r < m.width && slice * m.width + r < m.rows; ++r)
          for (std::int64_t k = 0; k < length / m.width; ++k) {
            const std::int64_t place = begin(slice) + k * m.width + r, stored = index(place), column = fromZero(stored, m.base);
            if (stored == -1) continue;  // padding
            if (column < 0 || column >= m.cols) return bad("a column", place, column, m.cols);
            all.add(slice * m.width + r, column, place);
          }
      }
      return {};
    default:
      return "a format that is not served";
  }
}

// Of formats that have them: how many lines are compressed, and what they may end behind.
std::pair<std::int64_t, std::int64_t> linesOf(const Sparse& m) {
  switch (m.format) {
    case Format::csr: return {m.rows, m.nnz};
    case Format::csc: return {m.cols, m.nnz};
    case Format::bsr: return {m.rows / m.blockRows, m.nnz};
    case Format::slicedEll: return {(m.rows + m.width - 1) / m.width, m.stored};
    default: return {0, 0};
  }
}

// Elements put together by rows, those of a row in their order.
Pattern byRows(Elements& all, std::int64_t rows, std::int64_t cols) {
  Pattern pattern;
  pattern.rows = rows;
  pattern.cols = cols;
  pattern.offsets.assign(static_cast<std::size_t>(rows) + 1, 0);
  bool sorted = true;
  for (std::size_t i = 0; i < all.rows.size(); ++i) {
    ++pattern.offsets[static_cast<std::size_t>(all.rows[i]) + 1];
    sorted = sorted && (i == 0 || all.rows[i - 1] <= all.rows[i]);
  }
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) pattern.offsets[row + 1] += pattern.offsets[row];
  if (sorted) {
    pattern.columns = std::move(all.columns);
    pattern.places = std::move(all.places);
    return pattern;
  }
  pattern.columns.resize(all.rows.size());
  pattern.places.resize(all.rows.size());
  std::vector<std::int64_t> next(pattern.offsets.begin(), pattern.offsets.end() - 1);
  for (std::size_t i = 0; i < all.rows.size(); ++i) {
    const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(all.rows[i])]++);
    pattern.columns[to] = all.columns[i];
    pattern.places[to] = all.places[i];
  }
  return pattern;
}

}  // namespace

Error tooLarge(Function function, double bytes) {
  char text[200];
  std::snprintf(text, sizeof text, "%s on the CPU device: %.0f bytes of working memory for as long as it runs; at most %llu", sparse::nameOf(function), bytes,
                static_cast<unsigned long long>(kMostJobBytes));
  return {CudaError::notSupported, text};
}

Error badIndex(Function function, const char* what, std::int64_t element, std::int64_t value, std::int64_t limit) {
  return {CudaError::illegalAddress, std::string(sparse::nameOf(function)) + ": " + what + ", number " + std::to_string(element) + ", is " + std::to_string(value) +
                                         " of " + std::to_string(limit)};
}

Result<std::vector<std::int64_t>> readOffsets(const Sparse& matrix, std::int64_t lines, std::int64_t elements, std::int64_t entry, Function function) {
  const std::uint64_t address = offsetsOf(matrix, entry);
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(lines) + 1);
  for (std::int64_t line = 0; line <= lines; ++line) {
    const std::int64_t offset = fromZero(loadIndex(matrix.offsetsType, address, line), matrix.base);
    if (offset < (line == 0 ? 0 : offsets[static_cast<std::size_t>(line) - 1]) || offset > elements) return badIndex(function, "an offset", line, offset, elements);
    offsets[static_cast<std::size_t>(line)] = offset;
  }
  return offsets;
}

Result<Pattern> readPattern(const Sparse& matrix, sparse::Operation op, std::int64_t entry, Function function) {
  const sparse::Extents extents = sparse::extentsOf(matrix);
  // Elements twice while they are put in order, and their values.
  const double bytes = 64.0 * static_cast<double>(extents.values) + 24.0 * static_cast<double>(sparse::rowsOf(matrix, op));
  if (bytes > static_cast<double>(kMostJobBytes)) return tooLarge(function, bytes);
  const auto [lines, elements] = linesOf(matrix);
  std::vector<std::int64_t> offsets{0};
  if (lines != 0) {
    auto read = readOffsets(matrix, lines, elements, entry, function);
    if (!read) return read.error();
    offsets = std::move(*read);
  }
  Elements all;
  const auto count = static_cast<std::size_t>(extents.values);
  all.rows.reserve(count);
  all.columns.reserve(count);
  all.places.reserve(count);
  if (std::string wrong = readElements(matrix, entry, function, offsets, all); !wrong.empty()) return Error{CudaError::illegalAddress, std::move(wrong)};
  if (op != sparse::Operation::none) std::swap(all.rows, all.columns);
  return byRows(all, sparse::rowsOf(matrix, op), sparse::colsOf(matrix, op));
}

}  // namespace rouse::library::cpu
