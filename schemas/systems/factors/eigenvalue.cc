#include "schemas/systems/factors/eigenvalue.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "schemas/systems/factors/number.h"
#include "schemas/systems/factors/orders.h"
#include "schemas/systems/factors/qr.h"

namespace rouse::systems {
namespace {

template <class N>
double lengthOf(const std::vector<N>& x) {
  return systems::lengthOf(x.size(), [&](std::size_t i) { return x[i]; });
}

// Steps after which an iteration ends whose vector has changed by no more meanwhile.
constexpr int kMostIdle = 100;
constexpr double kLeastChange = 1e-13;

}  // namespace

template <class N>
void subtract(Pattern& matrix, std::vector<N>& values, N shift, Room& room) {
  room.take((static_cast<std::uint64_t>(matrix.elements()) + static_cast<std::uint64_t>(matrix.rows)) * (sizeof(N) + 4) + static_cast<std::uint64_t>(matrix.rows) * 4);
  if (std::int64_t{matrix.elements()} + matrix.rows > 0x7fff'ffff) throw TooLarge();
  Pattern out;
  out.rows = matrix.rows;
  out.cols = matrix.cols;
  std::vector<N> numbers;
  for (std::int32_t row = 0; row < matrix.rows; ++row) {
    for (std::int32_t i = matrix.offsets[place(row)]; i < matrix.offsets[place(row) + 1]; ++i) {
      out.columns.push_back(matrix.columns[place(i)]);
      numbers.push_back(values[place(i)]);
    }
    if (row < matrix.cols) {
      // Elements of one place are added up by whoever reads them.
      out.columns.push_back(row);
      numbers.push_back(-shift);
    }
    out.offsets.push_back(static_cast<std::int32_t>(out.columns.size()));
  }
  matrix = std::move(out);
  values = std::move(numbers);
}

template <class N>
Eigenvalue<N> eigenvalueNextTo(N shift, const Pattern& matrix, const std::vector<N>& values, std::vector<N> x, std::int32_t steps, double tolerance, Room& room) {
  Pattern shifted = matrix;
  std::vector<N> numbers = values;
  subtract(shifted, numbers, shift, room);
  double most = 0;
  for (const N& each : numbers) most = std::max(most, std::abs(each));
  Qr<N> factor = factoriseQr(shifted, numbers, minimumDegreeOfColumns(shifted, room), room);
  // At an eigenvalue itself there is nothing to divide by: what is next to nothing does.
  const double least = std::max(most, std::numeric_limits<double>::min()) * std::numeric_limits<double>::epsilon();
  for (std::int32_t i = 0; i < factor.cols; ++i)
    if (const std::int64_t first = factor.rBegin[place(i)]; first < factor.rBegin[place(i) + 1] && std::abs(factor.rValues[place(first)]) < least) factor.rValues[place(first)] = N(least);
  const auto times = [&](const std::vector<N>& by) {
    std::vector<N> out(by.size());
    for (std::int32_t row = 0; row < matrix.rows; ++row)
      for (std::int32_t i = matrix.offsets[place(row)]; i < matrix.offsets[place(row) + 1]; ++i) out[place(row)] += values[place(i)] * by[place(matrix.columns[place(i)])];
    return out;
  };
  Eigenvalue<N> found{shift, std::move(x)};
  int idle = 0;
  for (std::int32_t step = 0; step < steps; ++step) {
    std::vector<N> before = found.vector;
    found.vector = solve(factor, found.vector);
    const double length = lengthOf(found.vector);
    for (N& each : found.vector) each /= length;
    std::vector<N> product = times(found.vector);
    found.value = N{};
    for (std::size_t i = 0; i < product.size(); ++i) found.value += conjugate(found.vector[i]) * product[i];
    for (std::size_t i = 0; i < product.size(); ++i) product[i] -= found.value * found.vector[i];
    if (!(lengthOf(product) > tolerance)) break;
    // The vector stays as it is, whatever is asked for. What is left over says less: it may grow for long on the way from one eigenvalue to another.
    N along{};
    for (std::size_t i = 0; i < before.size(); ++i) along += conjugate(before[i]) * found.vector[i];
    for (std::size_t i = 0; i < before.size(); ++i) before[i] = found.vector[i] - along * before[i];
    idle = lengthOf(before) > kLeastChange ? 0 : idle + 1;
    if (idle == kMostIdle) break;
  }
  return found;
}

#define ROUSE_EIGENVALUE(N)                                         \
  template void subtract(Pattern&, std::vector<N>&, N, Room&);      \
  template Eigenvalue<N> eigenvalueNextTo(N, const Pattern&, const std::vector<N>&, std::vector<N>, std::int32_t, double, Room&);
ROUSE_EIGENVALUE(double)
ROUSE_EIGENVALUE(Complex)
#undef ROUSE_EIGENVALUE

}  // namespace rouse::systems
