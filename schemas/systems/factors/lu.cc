#include "schemas/systems/factors/lu.h"

#include <algorithm>
#include <cmath>

#include "schemas/systems/factors/number.h"

namespace rouse::systems {
namespace {

// Which of L's columns a column needs, those that others need first: what can be reached from its elements, in the graph of L.
class Reach {
 public:
  explicit Reach(std::int32_t n) : seen_(place(n), -1), next_(place(n)) {}
  void begin(std::int32_t column) {
    column_ = column;
    found.clear();
  }
  // From a row of A's. rowsOf(row, first, end): what of L's rows its column has, if the row is a pivot's.
  template <class Edges>
  void from(std::int32_t row, const Indices& lRows, Edges&& edges) {
    if (seen_[place(row)] == column_) return;
    path_.assign(1, row);
    seen_[place(row)] = column_;
    next_[place(row)] = edges(row).first;
    while (!path_.empty()) {
      const std::int32_t last = path_.back();
      const std::int64_t end = edges(last).second;
      std::int64_t& at = next_[place(last)];
      while (at < end && seen_[place(lRows[place(at)])] == column_) ++at;
      if (at == end) {
        found.push_back(last);
        path_.pop_back();
        continue;
      }
      const std::int32_t to = lRows[place(at++)];
      seen_[place(to)] = column_;
      next_[place(to)] = edges(to).first;
      path_.push_back(to);
    }
  }
  Indices found;  // the last is needed first

 private:
  Indices seen_, path_;
  std::vector<std::int64_t> next_;
  std::int32_t column_ = -1;
};

}  // namespace

template <class N>
Lu<N> factoriseLu(const Pattern& matrix, const std::vector<N>& values, Indices order, double threshold, Room& room) {
  Lu<N> out;
  const std::int32_t n = out.n = matrix.rows;
  out.order = std::move(order);
  room.take(static_cast<std::uint64_t>(n) * 64);
  Indices places, pivotOfRow(place(n), -1);
  const Pattern columns = transposed(matrix, places, room);
  Reach reach(n);
  std::vector<N> sums(place(n));
  // While it is made L has A's rows.
  const auto edges = [&](std::int32_t row) {
    const std::int32_t pivot = pivotOfRow[place(row)];
    return pivot < 0 ? std::pair<std::int64_t, std::int64_t>(0, 0) : std::pair(out.lBegin[place(pivot)], out.lBegin[place(pivot) + 1]);
  };
  std::int32_t unused = 0;
  for (std::int32_t k = 0; k < n; ++k) {
    const std::int32_t column = out.order[place(k)];
    reach.begin(k);
    for (std::int32_t i = columns.offsets[place(column)]; i < columns.offsets[place(column) + 1]; ++i) {
      reach.from(columns.columns[place(i)], out.lRows, edges);
      sums[place(columns.columns[place(i)])] += values[place(places[place(i)])];
    }
    std::int32_t chosen = -1;
    double most = 0;
    for (auto row = reach.found.rbegin(); row != reach.found.rend(); ++row) {
      const std::int32_t pivot = pivotOfRow[place(*row)];
      const N value = sums[place(*row)];
      if (pivot < 0) {
        // Its sum is whole only at the end.
        continue;
      }
      append(out.uRows, pivot, room);
      append(out.uValues, value, room);
      for (std::int64_t i = out.lBegin[place(pivot)]; i < out.lBegin[place(pivot) + 1]; ++i) sums[place(out.lRows[place(i)])] -= out.lValues[place(i)] * value;
    }
    for (const std::int32_t row : reach.found)
      if (pivotOfRow[place(row)] < 0) {
        const double size = std::abs(sums[place(row)]);
        if (chosen < 0 || size > most || (size == most && row < chosen)) chosen = row, most = size;
      }
    // A's own diagonal is as good as another that is not much larger.
    if (chosen >= 0 && pivotOfRow[place(column)] < 0 && column != chosen && std::ranges::find(reach.found, column) != reach.found.end() &&
        std::abs(sums[place(column)]) >= threshold * most && most > 0)
      chosen = column;
    if (chosen < 0) {
      while (pivotOfRow[place(unused)] >= 0) ++unused;
      chosen = unused;
    }
    const N diagonal = sums[place(chosen)];
    append(out.uRows, k, room);
    append(out.uValues, diagonal, room);
    for (const std::int32_t row : reach.found) {
      if (pivotOfRow[place(row)] < 0 && row != chosen && sums[place(row)] != N{}) {
        append(out.lRows, row, room);
        append(out.lValues, sums[place(row)] / diagonal, room);
      }
      sums[place(row)] = N{};
    }
    pivotOfRow[place(chosen)] = k;
    out.rows.push_back(chosen);
    out.lBegin.push_back(static_cast<std::int64_t>(out.lRows.size()));
    out.uBegin.push_back(static_cast<std::int64_t>(out.uRows.size()));
  }
  for (std::int32_t& row : out.lRows) row = pivotOfRow[place(row)];
  return out;
}

template <class N>
std::int32_t pivotOf(const Lu<N>& factor, double tolerance) {
  for (std::int32_t k = 0; k < factor.n; ++k)
    if (!(std::abs(factor.uValues[place(factor.uBegin[place(k) + 1] - 1)]) > std::max(tolerance, 0.0))) return k;
  return -1;
}

template <class N>
std::vector<N> solve(const Lu<N>& factor, const std::vector<N>& b) {
  std::vector<N> y(place(factor.n)), x(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = b[place(factor.rows[i])];
  for (std::int32_t k = 0; k < factor.n; ++k)
    for (std::int64_t i = factor.lBegin[place(k)]; i < factor.lBegin[place(k) + 1]; ++i) y[place(factor.lRows[place(i)])] -= factor.lValues[place(i)] * y[place(k)];
  for (std::int32_t k = factor.n - 1; k >= 0; --k) {
    const std::int64_t last = factor.uBegin[place(k) + 1] - 1;
    const N value = y[place(k)] /= factor.uValues[place(last)];
    for (std::int64_t i = factor.uBegin[place(k)]; i < last; ++i) y[place(factor.uRows[place(i)])] -= factor.uValues[place(i)] * value;
  }
  for (std::size_t i = 0; i < x.size(); ++i) x[place(factor.order[i])] = y[i];
  return x;
}

#define ROUSE_LU(N)                                                                                    \
  template Lu<N> factoriseLu(const Pattern&, const std::vector<N>&, Indices, double, Room&);           \
  template std::int32_t pivotOf(const Lu<N>&, double);                                                 \
  template std::vector<N> solve(const Lu<N>&, const std::vector<N>&);
ROUSE_LU(double)
ROUSE_LU(Complex)
#undef ROUSE_LU

}  // namespace rouse::systems
