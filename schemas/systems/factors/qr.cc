#include "schemas/systems/factors/qr.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "schemas/systems/factors/number.h"

namespace rouse::systems {
namespace {

// Rows that begin with the same column, as a dense matrix of all columns that any of them has. One reflection later its first row is R's, and the others begin
// with a column further right: that one's front takes them in.
template <class N>
struct Front {
  Indices rows, columns;
  std::vector<N> values;  // row by row
  std::uint64_t bytes() const { return values.size() * sizeof(N) + (rows.size() + columns.size()) * sizeof(std::int32_t); }
};
template <class N>
using Fronts = std::vector<std::unique_ptr<Front<N>>>;

// Rows, and fronts, by the column that they begin with.
template <class N>
class Waiting {
 public:
  Waiting(const Pattern& matrix, const Indices& where) : first_(place(matrix.cols), -1), next_(place(matrix.rows), -1), fronts_(place(matrix.cols)) {
    for (std::int32_t row = matrix.rows - 1; row >= 0; --row) {
      std::int32_t least = matrix.cols;
      for (std::int32_t i = matrix.offsets[place(row)]; i < matrix.offsets[place(row) + 1]; ++i) least = std::min(least, where[place(matrix.columns[place(i)])]);
      if (least < matrix.cols) next_[place(row)] = std::exchange(first_[place(least)], row);
    }
  }
  template <class Visit>
  void rows(std::int32_t column, Visit&& visit) const {
    for (std::int32_t row = first_[place(column)]; row >= 0; row = next_[place(row)]) visit(row);
  }
  Fronts<N> fronts(std::int32_t column) { return std::move(fronts_[place(column)]); }
  void add(std::unique_ptr<Front<N>> front) { fronts_[place(front->columns.front())].push_back(std::move(front)); }

 private:
  Indices first_, next_;
  std::vector<Fronts<N>> fronts_;
};

// What is there of a front's rows and columns, and where columns are in it.
template <class N>
class Assembly {
 public:
  Assembly(const Pattern& matrix, const Indices& where) : matrix_(matrix), where_(where), waiting_(matrix, where), at_(place(matrix.cols), -1) {}

  // All that begins with the column; `numbers`: with its values.
  template <class Value>
  std::unique_ptr<Front<N>> gather(std::int32_t column, bool numbers, Room& room, Value&& value) {
    auto out = std::make_unique<Front<N>>();
    const auto has = [&](std::int32_t each) {
      if (at_[place(each)] >= 0) return;
      at_[place(each)] = 0;
      out->columns.push_back(each);
    };
    const Fronts<N> fronts = waiting_.fronts(column);
    waiting_.rows(column, [&](std::int32_t row) {
      out->rows.push_back(row);
      for (std::int32_t i = matrix_.offsets[place(row)]; i < matrix_.offsets[place(row) + 1]; ++i) has(where_[place(matrix_.columns[place(i)])]);
    });
    const std::size_t own = out->rows.size();
    for (const auto& front : fronts) {
      out->rows.insert(out->rows.end(), front->rows.begin(), front->rows.end());
      std::ranges::for_each(front->columns, has);
    }
    std::ranges::sort(out->columns);
    const std::size_t width = out->columns.size();
    room.take((numbers ? out->rows.size() * width * sizeof(N) : 0) + (out->rows.size() + width) * sizeof(std::int32_t));
    if (numbers) {
      for (std::size_t i = 0; i < width; ++i) at_[place(out->columns[i])] = static_cast<std::int32_t>(i);
      out->values.resize(out->rows.size() * width);
      for (std::size_t i = 0; i < own; ++i)
        for (std::int32_t k = matrix_.offsets[place(out->rows[i])]; k < matrix_.offsets[place(out->rows[i]) + 1]; ++k)
          out->values[i * width + place(at_[place(where_[place(matrix_.columns[place(k)])])])] += value(k);
      std::size_t row = own;
      for (const auto& front : fronts)
        for (std::size_t i = 0; i < front->rows.size(); ++i, ++row)
          for (std::size_t j = 0; j < front->columns.size(); ++j) out->values[row * width + place(at_[place(front->columns[j])])] = front->values[i * front->columns.size() + j];
    }
    for (const auto& front : fronts) room.giveBack(front->bytes());
    for (const std::int32_t each : out->columns) at_[place(each)] = -1;
    return out;
  }
  // Without its first row, if that is R's, and its first column: for the column that it begins with then.
  void pass(std::unique_ptr<Front<N>> front, bool firstRow, Room& room) {
    const std::size_t width = front->columns.size(), from = firstRow ? 0 : 1;
    room.giveBack(front->bytes());
    if (width < 2 || front->rows.size() <= from) return;
    if (!front->values.empty()) {
      std::size_t to = 0;
      for (std::size_t i = from; i < front->rows.size(); ++i)
        for (std::size_t j = 1; j < width; ++j) front->values[to++] = front->values[i * width + j];
      front->values.resize(to);
    }
    front->rows.erase(front->rows.begin(), front->rows.begin() + static_cast<std::ptrdiff_t>(from));
    front->columns.erase(front->columns.begin());
    room.take(front->bytes());
    waiting_.add(std::move(front));
  }

 private:
  const Pattern& matrix_;
  const Indices& where_;
  Waiting<N> waiting_;
  Indices at_;
};

void takeFixed(const Pattern& matrix, Room& room) { room.take((static_cast<std::uint64_t>(matrix.rows) + static_cast<std::uint64_t>(matrix.cols)) * 80); }

// Of the front's first column.
template <class N>
double lengthOf(const Front<N>& front) {
  return systems::lengthOf(front.rows.size(), [&](std::size_t i) { return front.values[i * front.columns.size()]; });
}

// The front's first column becomes (beta, 0, 0, …), and the vector lies in it. What it is reflected with is 1 - scale v v^H.
template <class N>
N reflect(Front<N>& front, std::vector<N>& row) {
  const std::size_t width = front.columns.size(), rows = front.rows.size();
  std::vector<N>& values = front.values;
  const double length = lengthOf(front);
  if (length == 0) return N{};
  const N alpha = values[0];
  const double beta = realOf(alpha) > 0 ? -length : length;
  const N scale = (beta - conjugate(alpha)) / beta, below = N(1) / (alpha - beta);
  for (std::size_t i = 1; i < rows; ++i) values[i * width] *= below;
  values[0] = N(1);
  row.assign(width, N{});
  for (std::size_t i = 0; i < rows; ++i) {
    const N element = conjugate(values[i * width]);
    for (std::size_t j = 1; j < width; ++j) row[j] += element * values[i * width + j];
  }
  for (std::size_t j = 1; j < width; ++j) row[j] *= scale;
  for (std::size_t i = 0; i < rows; ++i) {
    const N element = values[i * width];
    for (std::size_t j = 1; j < width; ++j) values[i * width + j] -= element * row[j];
  }
  row[0] = N(beta);
  return scale;
}

}  // namespace

std::int64_t qrElements(const Pattern& matrix, const Indices& order, Room& room) {
  takeFixed(matrix, room);
  const Indices where = inverse(order);
  Assembly<double> assembly(matrix, where);
  std::int64_t elements = 0;
  for (std::int32_t column = 0; column < matrix.cols; ++column) {
    auto front = assembly.gather(column, false, room, [](std::int32_t) { return 0.0; });
    if (front->rows.empty()) continue;
    const std::size_t some = front->rows.size() + front->columns.size();
    room.take(some * (sizeof(double) + sizeof(std::int32_t)));  // as if there were a factor: what has no room for it need not be counted to its end
    elements += static_cast<std::int64_t>(some);
    assembly.pass(std::move(front), false, room);
  }
  return elements;
}

template <class N>
Qr<N> factoriseQr(const Pattern& matrix, const std::vector<N>& values, Indices order, Room& room, double least) {
  takeFixed(matrix, room);
  Qr<N> out;
  out.rows = matrix.rows;
  out.cols = matrix.cols;
  out.order = std::move(order);
  const Indices where = inverse(out.order);
  Assembly<N> assembly(matrix, where);
  out.begin.assign(1, 0);
  out.rBegin.assign(1, 0);
  std::vector<N> row;
  for (std::int32_t column = 0; column < matrix.cols; ++column) {
    auto front = assembly.gather(column, true, room, [&](std::int32_t i) { return values[place(i)]; });
    const std::size_t width = front->columns.size();
    const bool leftOut = front->rows.empty() || (least >= 0 && !(lengthOf(*front) > least));
    N scale{};
    if (!leftOut) {
      scale = reflect(*front, row);
      for (std::size_t i = 0; i < front->rows.size(); ++i) {
        append(out.slots, front->rows[i], room);
        append(out.vectors, scale == N{} ? N{} : front->values[i * width], room);
      }
      for (std::size_t j = 0; j < width; ++j) {
        append(out.rColumns, front->columns[j], room);
        append(out.rValues, j == 0 ? scale == N{} ? N{} : row[0] : front->values[j], room);
      }
    }
    out.scales.push_back(scale);
    out.begin.push_back(static_cast<std::int64_t>(out.slots.size()));
    out.rBegin.push_back(static_cast<std::int64_t>(out.rColumns.size()));
    assembly.pass(std::move(front), leftOut, room);
  }
  return out;
}

template <class N>
bool Qr<N>::whole() const {
  const auto lines = [&](const std::vector<std::int64_t>& offsets, std::size_t end) {
    return offsets.size() == place(cols) + 1 && offsets.front() == 0 && std::ranges::is_sorted(offsets) && offsets.back() == static_cast<std::int64_t>(end);
  };
  const auto within = [](const Indices& all, std::int32_t limit) { return std::ranges::all_of(all, [&](std::int32_t each) { return each >= 0 && each < limit; }); };
  if (rows < 0 || cols < 0 || order.size() != place(cols) || scales.size() != place(cols) || slots.size() != vectors.size() || rColumns.size() != rValues.size()) return false;
  if (!lines(begin, slots.size()) || !lines(rBegin, rColumns.size()) || !within(order, cols) || !within(slots, rows) || !within(rColumns, cols)) return false;
  for (std::size_t i = 0; i < place(cols); ++i)
    if ((begin[i] == begin[i + 1]) != (rBegin[i] == rBegin[i + 1])) return false;
  return true;
}

template <class N>
std::int32_t pivotOf(const Qr<N>& factor, double tolerance) {
  for (std::int32_t i = 0; i < factor.cols; ++i) {
    const std::int64_t first = factor.rBegin[place(i)];
    if (first == factor.rBegin[place(i) + 1] || !(std::abs(factor.rValues[place(first)]) > std::max(tolerance, 0.0))) return i;
  }
  return -1;
}

template <class N>
std::vector<N> solve(const Qr<N>& factor, std::vector<N>& b) {
  std::vector<N> y(place(factor.cols)), x(y.size());
  for (std::int32_t k = 0; k < factor.cols; ++k) {
    const std::int64_t first = factor.begin[place(k)], end = factor.begin[place(k) + 1];
    if (first == end) continue;
    N sum{};
    for (std::int64_t i = first; i < end; ++i) sum += conjugate(factor.vectors[place(i)]) * b[place(factor.slots[place(i)])];
    sum *= factor.scales[place(k)];
    for (std::int64_t i = first; i < end; ++i) b[place(factor.slots[place(i)])] -= factor.vectors[place(i)] * sum;
    // No later reflection has this row.
    y[place(k)] = b[place(factor.slots[place(first)])];
  }
  for (std::int32_t k = factor.cols - 1; k >= 0; --k) {
    const std::int64_t first = factor.rBegin[place(k)], end = factor.rBegin[place(k) + 1];
    if (first == end) {
      y[place(k)] = N{};
      continue;
    }
    N sum = y[place(k)];
    for (std::int64_t i = first + 1; i < end; ++i) sum -= factor.rValues[place(i)] * y[place(factor.rColumns[place(i)])];
    y[place(k)] = sum / factor.rValues[place(first)];
  }
  for (std::size_t i = 0; i < x.size(); ++i) x[place(factor.order[i])] = y[i];
  return x;
}

template <class N>
double distanceOf(const Qr<N>& factor, const std::vector<N>& b) {
  std::vector<bool> reached(b.size());
  for (std::int32_t k = 0; k < factor.cols; ++k)
    if (factor.begin[place(k)] < factor.begin[place(k) + 1]) reached[place(factor.slots[place(factor.begin[place(k)])])] = true;
  return systems::lengthOf(b.size(), [&](std::size_t i) { return reached[i] ? N{} : b[i]; });
}

#define ROUSE_QR(N)                                                                                         \
  template struct Qr<N>;                                                                                    \
  template Qr<N> factoriseQr(const Pattern&, const std::vector<N>&, Indices, Room&, double);                \
  template std::int32_t pivotOf(const Qr<N>&, double);                                                      \
  template std::vector<N> solve(const Qr<N>&, std::vector<N>&);                                             \
  template double distanceOf(const Qr<N>&, const std::vector<N>&);
ROUSE_QR(double)
ROUSE_QR(Complex)
#undef ROUSE_QR

}  // namespace rouse::systems
