#include "schemas/systems/factors/cholesky.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "schemas/systems/factors/number.h"

namespace rouse::systems {
namespace {

// The lower triangle by rows in the order, and the tree of G's columns: a column's parent is the first row below its diagonal.
class Triangle {
 public:
  Triangle(const Pattern& matrix, const Indices& order, Room& room) : matrix_(matrix), order_(order), where_(inverse(order)), parent_(order.size(), -1), mark_(order.size(), -1) {
    room.take(static_cast<std::uint64_t>(matrix.rows) * 16 + static_cast<std::uint64_t>(matrix.elements()) * 8 + 64);
    columns_.resize(place(matrix.elements()));
    places_.resize(columns_.size());
    offsets_.assign(order.size() + 1, 0);
    std::int64_t count = 0;
    for (std::int32_t row = 0; row < matrix.rows; ++row) {
      const std::int32_t old = order[place(row)];
      for (std::int32_t i = matrix.offsets[place(old)]; i < matrix.offsets[place(old) + 1]; ++i) {
        const std::int32_t column = where_[place(matrix.columns[place(i)])];
        if (column > row) continue;
        columns_[place(count)] = column;
        places_[place(count++)] = i;
      }
      offsets_[place(row) + 1] = static_cast<std::int32_t>(count);
    }
    // Who has no parent yet below each element is a child of the row's.
    Indices ancestor(order.size(), -1);
    for (std::int32_t row = 0; row < matrix.rows; ++row)
      for (std::int32_t i = offsets_[place(row)]; i < offsets_[place(row) + 1]; ++i)
        for (std::int32_t node = columns_[place(i)]; node >= 0 && node < row;) {
          const std::int32_t next = ancestor[place(node)];
          ancestor[place(node)] = row;
          if (next < 0) parent_[place(node)] = row;
          node = next;
        }
  }

  // visit(column) for each column before the row in which G's row has an element, children before their parents.
  template <class Visit>
  void row(std::int32_t row, Visit&& visit) {
    found_.clear();
    mark_[place(row)] = row;
    for (std::int32_t i = offsets_[place(row)]; i < offsets_[place(row) + 1]; ++i) {
      const std::size_t first = found_.size();
      for (std::int32_t node = columns_[place(i)]; mark_[place(node)] != row; node = parent_[place(node)]) {
        mark_[place(node)] = row;
        found_.push_back(node);
      }
      std::reverse(found_.begin() + static_cast<std::ptrdiff_t>(first), found_.end());
    }
    // Paths were found from their ends: the last one's beginning is the deepest of all.
    for (auto node = found_.rbegin(); node != found_.rend(); ++node) visit(*node);
  }

  // visit(column, place) of the matrix's own elements.
  template <class Visit>
  void elements(std::int32_t row, Visit&& visit) const {
    for (std::int32_t i = offsets_[place(row)]; i < offsets_[place(row) + 1]; ++i) visit(columns_[place(i)], places_[place(i)]);
  }

 private:
  const Pattern& matrix_;
  const Indices& order_;
  const Indices where_;
  Indices offsets_, columns_, places_, parent_, mark_, found_;
};

// As if there were a factor: what has no room for it need not be counted to its end.
std::vector<std::int64_t> columnsOf(Triangle& triangle, std::int32_t n, Room room) {
  std::vector<std::int64_t> begin(place(n) + 1, 0);
  for (std::int32_t row = 0; row < n; ++row) {
    ++begin[place(row) + 1];
    std::uint64_t elements = 1;
    triangle.row(row, [&](std::int32_t column) {
      ++begin[place(column) + 1];
      ++elements;
    });
    room.take(elements * (sizeof(double) + sizeof(std::int32_t)));
  }
  for (std::int32_t i = 0; i < n; ++i) begin[place(i) + 1] += begin[place(i)];
  return begin;
}

}  // namespace

std::int64_t choleskyElements(const Pattern& matrix, const Indices& order, Room& room) {
  Triangle triangle(matrix, order, room);
  return columnsOf(triangle, matrix.rows, room).back();
}

template <class N>
Cholesky<N> factoriseCholesky(const Pattern& matrix, const std::vector<N>& values, Indices order, Room& room) {
  Cholesky<N> out;
  const std::int32_t n = out.n = matrix.rows;
  out.order = std::move(order);
  Triangle triangle(matrix, out.order, room);
  out.begin = columnsOf(triangle, n, room);
  const auto elements = static_cast<std::uint64_t>(out.begin.back());
  room.take(elements * (sizeof(N) + sizeof(std::int32_t)) + static_cast<std::uint64_t>(n) * 2 * sizeof(N));
  out.rows.resize(elements);
  out.values.resize(elements);
  std::vector<std::int64_t> next(out.begin.begin(), out.begin.end() - 1);
  std::vector<N> sums(place(n));
  // Row by row: those before it have what is to be taken away.
  for (std::int32_t row = 0; row < n; ++row) {
    double own = 0;
    triangle.elements(row, [&](std::int32_t column, std::int32_t at) {
      if (column == row) own += realOf(values[place(at)]);
      else sums[place(column)] += values[place(at)];
    });
    triangle.row(row, [&](std::int32_t column) {
      const std::int64_t first = out.begin[place(column)];
      const N element = sums[place(column)] / realOf(out.values[place(first)]);
      sums[place(column)] = N{};
      std::int64_t& end = next[place(column)];
      for (std::int64_t i = first + 1; i < end; ++i) sums[place(out.rows[place(i)])] -= conjugate(out.values[place(i)]) * element;
      own -= square(element);
      out.rows[place(end)] = row;
      out.values[place(end++)] = element;
    });
    if (!(own > 0) || !std::isfinite(own)) {
      out.failed = row;
      // What has not been reached is none of G.
      for (std::int32_t column = 0; column < n; ++column)
        for (std::int64_t i = next[place(column)]; i < out.begin[place(column) + 1]; ++i) out.rows[place(i)] = column;
      return out;
    }
    const std::int64_t first = next[place(row)]++;
    out.rows[place(first)] = row;
    out.values[place(first)] = N(std::sqrt(own));
  }
  return out;
}

template <class N>
bool Cholesky<N>::whole() const {
  if (n < 0 || failed < -1 || failed >= n || order.size() != place(n) || begin.size() != place(n) + 1 || rows.size() != values.size()) return false;
  if (begin.front() != 0 || begin.back() != static_cast<std::int64_t>(rows.size())) return false;
  for (std::size_t i = 0; i < place(n); ++i)
    if (order[i] < 0 || order[i] >= n || begin[i + 1] <= begin[i]) return false;
  return std::ranges::all_of(rows, [&](std::int32_t row) { return row >= 0 && row < n; });
}

template <class N>
std::int32_t pivotOf(const Cholesky<N>& factor, double tolerance) {
  const std::int32_t end = factor.failed < 0 ? factor.n : factor.failed;
  for (std::int32_t i = 0; i < end; ++i)
    if (!(realOf(factor.values[place(factor.begin[place(i)])]) > std::max(tolerance, 0.0))) return i;
  return factor.failed;
}

template <class N>
void solve(const Cholesky<N>& factor, std::vector<N>& x) {
  if (factor.failed >= 0) {
    std::ranges::fill(x, N(std::numeric_limits<double>::quiet_NaN()));
    return;
  }
  std::vector<N> y(place(factor.n));
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = x[place(factor.order[i])];
  const auto begin = [&](std::int32_t column) { return factor.begin[place(column)]; };
  for (std::int32_t column = 0; column < factor.n; ++column) {
    const N value = y[place(column)] /= realOf(factor.values[place(begin(column))]);
    for (std::int64_t i = begin(column) + 1; i < begin(column + 1); ++i) y[place(factor.rows[place(i)])] -= factor.values[place(i)] * value;
  }
  for (std::int32_t column = factor.n - 1; column >= 0; --column) {
    N sum = y[place(column)];
    for (std::int64_t i = begin(column) + 1; i < begin(column + 1); ++i) sum -= conjugate(factor.values[place(i)]) * y[place(factor.rows[place(i)])];
    y[place(column)] = sum / realOf(factor.values[place(begin(column))]);
  }
  for (std::size_t i = 0; i < y.size(); ++i) x[place(factor.order[i])] = y[i];
}

#define ROUSE_CHOLESKY(N)                                                                                   \
  template struct Cholesky<N>;                                                                              \
  template Cholesky<N> factoriseCholesky(const Pattern&, const std::vector<N>&, Indices, Room&);            \
  template std::int32_t pivotOf(const Cholesky<N>&, double);                                                \
  template void solve(const Cholesky<N>&, std::vector<N>&);
ROUSE_CHOLESKY(double)
ROUSE_CHOLESKY(Complex)
#undef ROUSE_CHOLESKY

}  // namespace rouse::systems
