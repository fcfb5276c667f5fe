// What is about indices: compressed and expanded rows, transposed matrices, sorts, permutations. All is read before anything is written.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "server/library/cpu/batch.h"
#include "server/library/cpu/sparse/jobs.h"
#include "server/library/cpu/sparse/pattern.h"

namespace rouse::library::cpu {
namespace {

using sparse::Call;
using sparse::Function;
using sparse::Index;

std::unique_ptr<Job> whole(auto run) {
  return makePieces(1, [run = std::move(run)](std::uint64_t) { run(); });
}

Status bounded(Function function, double bytes) {
  if (bytes > static_cast<double>(kMostJobBytes)) return tooLarge(function, bytes);
  return {};
}

SparseJob makeTranspose(const Call& call) {
  auto read = readPattern(call.a, sparse::Operation::transpose, 0, Function::transpose);
  if (!read) return read.error();
  return whole([=, pattern = std::move(*read)] {
    for (std::size_t column = 0; column < pattern.offsets.size(); ++column)
      storeIndex(Index::i32, call.c.offsets, static_cast<std::int64_t>(column), pattern.offsets[column] + call.c.base);
    for (std::size_t i = 0; i < pattern.columns.size(); ++i) storeIndex(Index::i32, call.c.indices, static_cast<std::int64_t>(i), pattern.columns[i] + call.c.base);
    if (call.c.values == 0 || call.a.values == 0) return;
    withStored(call.a.type, [&]<class T>(T) {
      const T* const from = reinterpret_cast<const T*>(call.a.values);
      T* const to = reinterpret_cast<T*>(call.c.values);
      for (std::size_t i = 0; i < pattern.places.size(); ++i) to[i] = from[pattern.places[i]];
    });
  });
}

SparseJob makeCompress(const Call& call) {
  if (const Status fits = bounded(Function::compress, 8.0 * static_cast<double>(call.a.rows)); !fits) return fits.error();
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(call.a.rows) + 1, 0);
  for (std::int64_t i = 0; i < call.a.nnz; ++i) {
    const std::int64_t row = fromZero(loadIndex(Index::i32, call.a.offsets, i), call.a.base);
    if (row < 0 || row >= call.a.rows) return badIndex(Function::compress, "a row", i, row, call.a.rows);
    ++offsets[static_cast<std::size_t>(row) + 1];
  }
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  return whole([=, offsets = std::move(offsets)] {
    for (std::size_t row = 0; row < offsets.size(); ++row) storeIndex(Index::i32, call.c.offsets, static_cast<std::int64_t>(row), offsets[row] + call.c.base);
  });
}

SparseJob makeExpand(const Call& call) {
  if (const Status fits = bounded(Function::expand, 8.0 * static_cast<double>(call.a.rows)); !fits) return fits.error();
  auto read = readOffsets(call.a, call.a.rows, call.a.nnz, 0, Function::expand);
  if (!read) return read.error();
  return whole([=, offsets = std::move(*read)] {
    for (std::size_t row = 0; row + 1 < offsets.size(); ++row)
      for (std::int64_t i = offsets[row]; i < offsets[row + 1]; ++i) storeIndex(Index::i32, call.c.offsets, i, static_cast<std::int64_t>(row) + call.c.base);
  });
}

// An element on its way: what it is sorted by, what else it has, and its place in the permutation.
struct Sorted {
  std::int32_t major, minor, permuted;
};

void writeSorted(const Call& call, std::vector<Sorted>& all, std::int64_t first) {
  std::ranges::stable_sort(all, [](const Sorted& a, const Sorted& b) { return a.major != b.major ? a.major < b.major : a.minor < b.minor; });
  const bool coo = call.a.format == sparse::Format::coo;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::int64_t to = first + static_cast<std::int64_t>(i);
    const bool turned = call.byColumn != 0;
    if (coo) storeIndex(Index::i32, call.a.offsets, to, turned ? all[i].minor : all[i].major);
    storeIndex(Index::i32, call.a.indices, to, turned ? all[i].major : all[i].minor);
    if (call.result != 0) storeIndex(Index::i32, call.result, to, all[i].permuted);
  }
}
Sorted readSorted(const Call& call, std::int64_t i) {
  const auto at = [&](std::uint64_t address) { return static_cast<std::int32_t>(loadIndex(Index::i32, address, i)); };
  Sorted element{call.a.format == sparse::Format::coo ? at(call.a.offsets) : 0, at(call.a.indices), call.result != 0 ? at(call.result) : 0};
  if (call.byColumn != 0) std::swap(element.major, element.minor);
  return element;
}

// Indices are put in order, and are no addresses: any will do.
SparseJob makeSort(const Call& call) {
  if (const Status fits =
          bounded(Function::sort, 2.0 * sizeof(Sorted) * static_cast<double>(call.a.nnz) + 8.0 * static_cast<double>(call.a.rows + call.a.cols));
      !fits)
    return fits.error();
  std::vector<std::int64_t> offsets{0, call.a.nnz};
  if (call.a.format != sparse::Format::coo) {
    auto read = readOffsets(call.a, call.a.format == sparse::Format::csr ? call.a.rows : call.a.cols, call.a.nnz, 0, Function::sort);
    if (!read) return read.error();
    offsets = std::move(*read);
  }
  return whole([=, offsets = std::move(offsets)] {
    std::vector<Sorted> line;
    for (std::size_t at = 0; at + 1 < offsets.size(); ++at) {
      line.clear();
      for (std::int64_t i = offsets[at]; i < offsets[at + 1]; ++i) line.push_back(readSorted(call, i));
      writeSorted(call, line, offsets[at]);
    }
  });
}

}  // namespace

SparseJob makeIndices(Function function, const Call& call) {
  switch (function) {
    case Function::transpose: return makeTranspose(call);
    case Function::compress: return makeCompress(call);
    case Function::expand: return makeExpand(call);
    case Function::sort: return makeSort(call);
    default:
      return whole([=] {
        for (std::int64_t i = 0; i < call.count; ++i) storeIndex(Index::i32, call.result, i, i);
      });
  }
}

}  // namespace rouse::library::cpu
