// Incomplete factorisations: L and U, or L, with elements where the matrix has some. A row needs those before it, so there is one piece.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "server/library/cpu/batch.h"
#include "server/library/cpu/sparse/jobs.h"
#include "server/library/cpu/sparse/pattern.h"

namespace rouse::library::cpu {
namespace {

using sparse::Call;
using sparse::Function;

constexpr std::int64_t kNowhere = -1;

template <class N>
class Incomplete {
 public:
  Incomplete(Function function, const Call& call, Pattern pattern)
      : function_(function), call_(call), pattern_(std::move(pattern)), values_(readValues<N>(call.a, pattern_, sparse::Operation::none, 0)),
        inOrder_(values_.size()), diagonal_(static_cast<std::size_t>(pattern_.rows), kNowhere), where_(static_cast<std::size_t>(pattern_.cols), kNowhere) {
    if (call.boosted == 0) return;
    Call tolerance = call;
    tolerance.computeType = sparse::Type::f64;
    tolerance_ = scalarOf<double>(tolerance, call.alpha);
    boost_ = scalarOf<N>(call, call.beta);
  }

  void run() {
    sortRows();
    for (std::int64_t row = 0; row < pattern_.rows; ++row) {
      for (std::int64_t i = begin(row); i < begin(row + 1); ++i) where(column(i)) = ordered(i);
      if (function_ == Function::lu) eliminate(row);
      else reduce(row);
      for (std::int64_t i = begin(row); i < begin(row + 1); ++i) where(column(i)) = kNowhere;
    }
    withStored(call_.a.type, [&]<class T>(T) {
      T* const to = reinterpret_cast<T*>(call_.a.values);
      for (std::size_t i = 0; i < values_.size(); ++i)
        if (changed(i)) narrowTo(to[pattern_.places[i]], values_[i]);
    });
    tell(call_, pivot_ == kNowhere ? -1 : pivot_ + call_.a.base);
  }

 private:
  // Of a row's elements in the order of their columns: number `i` of all.
  std::int64_t ordered(std::int64_t i) const { return inOrder_[static_cast<std::size_t>(i)]; }
  std::int64_t column(std::int64_t i) const { return pattern_.columns[static_cast<std::size_t>(ordered(i))]; }
  N& value(std::int64_t i) { return values_[static_cast<std::size_t>(ordered(i))]; }
  std::int64_t begin(std::int64_t row) const { return pattern_.offsets[static_cast<std::size_t>(row)]; }
  std::int64_t& where(std::int64_t column) { return where_[static_cast<std::size_t>(column)]; }

  void sortRows() {
    std::iota(inOrder_.begin(), inOrder_.end(), 0);
    rowOf_.resize(values_.size());
    for (std::int64_t row = 0; row < pattern_.rows; ++row) {
      const auto first = inOrder_.begin() + begin(row), end = inOrder_.begin() + begin(row + 1);
      std::stable_sort(first, end, [&](std::int64_t a, std::int64_t b) {
        return pattern_.columns[static_cast<std::size_t>(a)] < pattern_.columns[static_cast<std::size_t>(b)];
      });
      for (std::int64_t i = begin(row); i < begin(row + 1); ++i) {
        rowOf_[static_cast<std::size_t>(i)] = row;
        if (column(i) == row) diagonal_[static_cast<std::size_t>(row)] = i;
      }
    }
  }
  // The upper triangle is no business of a Cholesky factorisation's.
  bool changed(std::size_t i) const { return function_ == Function::lu || pattern_.columns[i] <= rowOf_[i]; }

  void note(std::int64_t row) {
    if (pivot_ == kNowhere) pivot_ = row;
  }

  void eliminate(std::int64_t row) {
    for (std::int64_t i = begin(row); i < begin(row + 1) && column(i) < row; ++i) {
      const std::int64_t above = column(i), pivot = diagonal_[static_cast<std::size_t>(above)];
      if (pivot == kNowhere) continue;
      const N factor = value(i) /= value(pivot);
      for (std::int64_t k = pivot + 1; k < begin(above + 1); ++k)
        if (const std::int64_t place = where(column(k)); place != kNowhere) values_[static_cast<std::size_t>(place)] -= factor * value(k);
    }
    const std::int64_t own = diagonal_[static_cast<std::size_t>(row)];
    if (own == kNowhere) return note(row);
    if (call_.boosted != 0 && std::abs(value(own)) <= tolerance_) value(own) = boost_;
    if (value(own) == N{}) note(row);
  }

  // Row `row` of L from those above it: what two of them have in common is in the order of columns.
  void reduce(std::int64_t row) {
    const std::int64_t own = diagonal_[static_cast<std::size_t>(row)];
    N square{};
    for (std::int64_t i = begin(row); i < begin(row + 1) && column(i) < row; ++i) {
      const std::int64_t above = column(i), pivot = diagonal_[static_cast<std::size_t>(above)];
      if (pivot == kNowhere) continue;
      N sum = value(i);
      for (std::int64_t k = begin(above); k < pivot; ++k)
        if (const std::int64_t place = where(column(k)); place != kNowhere) sum -= values_[static_cast<std::size_t>(place)] * conjugate(value(k));
      value(i) = sum / value(pivot);
      square += value(i) * conjugate(value(i));
    }
    if (own == kNowhere) return note(row);
    const N rest = value(own) - square;
    if (!(std::real(rest) > 0)) note(row);
    value(own) = N(std::sqrt(std::real(rest)));
  }

  const Function function_;
  const Call& call_;
  Pattern pattern_;
  std::vector<N> values_;
  std::vector<std::int64_t> inOrder_, rowOf_, diagonal_, where_;
  double tolerance_ = 0;
  N boost_{};
  std::int64_t pivot_ = kNowhere;
};

}  // namespace

SparseJob makeIncomplete(Function function, const Call& call) {
  auto read = readPattern(call.a, sparse::Operation::none, 0, function);
  if (!read) return read.error();
  return makePieces(1, [=, pattern = std::move(*read)](std::uint64_t) {
    if (sparse::isComplex(call.computeType)) Incomplete<c64>(function, call, pattern).run();
    else Incomplete<double>(function, call, pattern).run();
  });
}

}  // namespace rouse::library::cpu
