// Orders and factors of sparse matrices: multiplied out again, they are what they were made of; what is singular is told by its place; factors are read back from
// memory as they were written, and what has become anything else is none.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "schemas/systems/check.h"
#include "schemas/systems/factors/cholesky.h"
#include "schemas/systems/factors/eigenvalue.h"
#include "schemas/systems/factors/lu.h"
#include "schemas/systems/factors/number.h"
#include "schemas/systems/factors/orders.h"
#include "schemas/systems/factors/qr.h"
#include "schemas/systems/factors/stored.h"

namespace rouse::systems {
namespace {

template <class N>
struct Sample {
  Pattern pattern;
  std::vector<N> values;
  void add(std::int32_t column, N value) {
    pattern.columns.push_back(column);
    values.push_back(value);
  }
  void endRow() { pattern.offsets.push_back(static_cast<std::int32_t>(pattern.columns.size())); }
};

template <class N>
N any(std::mt19937& random) {
  std::normal_distribution<double> some;
  if constexpr (std::is_same_v<N, double>) return some(random);
  else return N(some(random), some(random));
}

template <class N>
Sample<N> sample(std::mt19937& random, std::int32_t rows, std::int32_t cols, double share) {
  Sample<N> out;
  out.pattern.rows = rows;
  out.pattern.cols = cols;
  std::uniform_real_distribution<double> chance(0, 1);
  for (std::int32_t i = 0; i < rows; ++i) {
    for (std::int32_t j = cols; j-- > 0;)  // in no order that anybody could rely on
      if (i == j || chance(random) < share) out.add(j, any<N>(random));
    if (i % 5 == 3) out.add(i % cols, any<N>(random));  // a second one of its place
    out.endRow();
  }
  return out;
}
// B B^H + 1/2, whole, or its lower triangle alone.
template <class N>
Sample<N> positive(std::mt19937& random, std::int32_t n, double share, bool lower) {
  const Sample<N> b = sample<N>(random, n, n, share);
  std::vector<std::vector<N>> dense(place(n), std::vector<N>(place(n)));
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int32_t k = b.pattern.offsets[place(i)]; k < b.pattern.offsets[place(i) + 1]; ++k) dense[place(i)][place(b.pattern.columns[place(k)])] += b.values[place(k)];
  Sample<N> out;
  out.pattern.rows = out.pattern.cols = n;
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = 0; j < n; ++j) {
      N sum{i == j ? 0.5 : 0.0};
      for (std::int32_t k = 0; k < n; ++k) sum += dense[place(i)][place(k)] * conjugate(dense[place(j)][place(k)]);
      if (sum != N{} && (!lower || j <= i)) out.add(j, sum);
    }
    out.endRow();
  }
  return out;
}

template <class N>
std::vector<N> times(const Sample<N>& a, const std::vector<N>& x) {
  std::vector<N> out(place(a.pattern.rows));
  for (std::int32_t i = 0; i < a.pattern.rows; ++i)
    for (std::int32_t k = a.pattern.offsets[place(i)]; k < a.pattern.offsets[place(i) + 1]; ++k) out[place(i)] += a.values[place(k)] * x[place(a.pattern.columns[place(k)])];
  return out;
}
template <class N>
std::vector<N> anyVector(std::mt19937& random, std::int32_t n) {
  std::vector<N> x(place(n));
  for (N& each : x) each = any<N>(random);
  return x;
}
template <class N>
void near(const std::vector<N>& got, const std::vector<N>& wanted, double epsilon = 1e-7) {
  REQUIRE(got.size() == wanted.size());
  double most = 1, off = 0;
  for (std::size_t i = 0; i < got.size(); ++i) most = std::max(most, std::abs(wanted[i])), off = std::max(off, std::abs(got[i] - wanted[i]));
  CHECK(off <= epsilon * most);
}
bool isOrder(Indices order, std::int32_t n) {
  std::ranges::sort(order);
  Indices all(place(n));
  std::iota(all.begin(), all.end(), 0);
  return order == all;
}
// A grid's five-point stencil.
Sample<double> grid(std::int32_t side) {
  Sample<double> out;
  out.pattern.rows = out.pattern.cols = side * side;
  for (std::int32_t i = 0; i < side; ++i)
    for (std::int32_t j = 0; j < side; ++j) {
      const std::int32_t at = i * side + j;
      if (i > 0) out.add(at - side, -1);
      if (j > 0) out.add(at - 1, -1);
      out.add(at, 4.01);
      if (j + 1 < side) out.add(at + 1, -1);
      if (i + 1 < side) out.add(at + side, -1);
      out.endRow();
    }
  return out;
}
constexpr Order kOrders[] = {Order::none, Order::reverseCuthillMcKee, Order::minimumDegree, Order::nestedDissection};

}  // namespace

TEMPLATE_TEST_CASE("what a factor solves is the system that it was made of", "[systems]", double, Complex) {
  using N = TestType;
  std::mt19937 random(4);
  for (int round = 0; round < 60; ++round) {
    const auto n = static_cast<std::int32_t>(1 + random() % 40);
    const double share = round % 3 == 0 ? 0.02 : 0.2;
    const Order kind = kOrders[round % 4];
    CAPTURE(n, share, round % 4);
    Room room;
    const Sample<N> a = sample<N>(random, n, n, share), h = positive<N>(random, n, share, kind == Order::none);
    const std::vector<N> x = anyVector<N>(random, n);
    const Indices order = orderOfQr(kind, a.pattern, room);
    CHECK(isOrder(order, n));
    const std::vector<N> b = times(a, x);
    std::vector<N> side = b;
    const Qr<N> qr = factoriseQr(a.pattern, a.values, order, room);
    REQUIRE(qr.whole());
    CHECK(static_cast<std::int64_t>(qr.slots.size() + qr.rColumns.size()) == qrElements(a.pattern, order, room));
    // As good as the matrix lets it be: what is left over of b is next to nothing.
    near(times(a, solve(qr, side)), b, 1e-9);
    CHECK(pivotOf(qr, 0) == -1);
    const Lu<N> lu = factoriseLu(a.pattern, a.values, order, 1, room);
    near(times(a, solve(lu, b)), b, 1e-9);
    CHECK(pivotOf(lu, 0) == -1);
    near(times(a, solve(factoriseLu(a.pattern, a.values, order, 0.1, room), b)), b, 1e-6);

    const Indices ofH = orderOf(kind, h.pattern, room);
    const Cholesky<N> cholesky = factoriseCholesky(h.pattern, h.values, ofH, room);
    REQUIRE(cholesky.whole());
    CHECK((cholesky.failed == -1 && pivotOf(cholesky, 0) == -1));
    CHECK(cholesky.begin.back() == choleskyElements(h.pattern, ofH, room));
    // The whole matrix, of which the lower triangle may be all that was given.
    std::map<std::pair<std::int32_t, std::int32_t>, N> whole;
    for (std::int32_t i = 0; i < n; ++i)
      for (std::int32_t k = h.pattern.offsets[place(i)]; k < h.pattern.offsets[place(i) + 1]; ++k) {
        whole[{i, h.pattern.columns[place(k)]}] = h.values[place(k)];
        whole[{h.pattern.columns[place(k)], i}] = conjugate(h.values[place(k)]);
      }
    std::vector<N> right(place(n));
    for (const auto& [at, value] : whole) right[place(at.first)] += value * x[place(at.second)];
    solve(cholesky, right);
    near(right, x, 1e-6);
  }
}

TEMPLATE_TEST_CASE("more rows than columns: the nearest, and how far it is", "[systems]", double, Complex) {
  using N = TestType;
  std::mt19937 random(5);
  for (int round = 0; round < 30; ++round) {
    const auto cols = static_cast<std::int32_t>(1 + random() % 20), rows = cols + static_cast<std::int32_t>(random() % 20);
    Room room;
    const Sample<N> a = sample<N>(random, rows, cols, 0.2);
    const std::vector<N> b = anyVector<N>(random, rows);
    std::vector<N> rest = b;
    const Qr<N> qr = factoriseQr(a.pattern, a.values, orderOfQr(kOrders[round % 2 * 2], a.pattern, room), room, 1e-10);
    const std::vector<N> x = solve(qr, rest);
    std::vector<N> residual = times(a, x);
    double length = 0;
    for (std::size_t i = 0; i < b.size(); ++i) residual[i] -= b[i], length += square(residual[i]);
    CHECK(std::abs(std::sqrt(length) - distanceOf(qr, rest)) <= 1e-8 * (1 + std::sqrt(length)));
    // It is at right angles to all columns.
    std::vector<N> angles(place(cols));
    for (std::int32_t i = 0; i < rows; ++i)
      for (std::int32_t k = a.pattern.offsets[place(i)]; k < a.pattern.offsets[place(i) + 1]; ++k) angles[place(a.pattern.columns[place(k)])] += conjugate(a.values[place(k)]) * residual[place(i)];
    near(angles, std::vector<N>(angles.size()), 1e-8);
  }
}

TEST_CASE("columns that others make up are left out, and are where the matrix is singular", "[systems]") {
  Room room;
  Sample<double> a;  // the third column is the sum of the others, the fourth is empty
  a.pattern.rows = a.pattern.cols = 4;
  const double numbers[4][4] = {{1, 2, 3, 0}, {4, 5, 9, 0}, {7, 8, 15, 0}, {1, 0, 1, 0}};
  for (const auto& row : numbers) {
    for (std::int32_t j = 0; j < 3; ++j) a.add(j, row[j]);
    a.endRow();
  }
  const Indices order = orderOf(Order::none, a.pattern, room);
  const Qr<double> all = factoriseQr(a.pattern, a.values, order, room);
  CHECK(pivotOf(all, 1e-12) == 2);
  CHECK(pivotOf(factoriseLu(a.pattern, a.values, order, 1, room), 1e-12) == 2);
  const Qr<double> some = factoriseQr(a.pattern, a.values, order, room, 1e-12);
  CHECK((some.begin[2] == some.begin[3] && some.begin[3] == some.begin[4]));
  std::vector<double> b{3, 9, 15, 1};
  const std::vector<double> x = solve(some, b);
  near(x, {1, 1, 0, 0}, 1e-10);
  CHECK(distanceOf(some, b) < 1e-10);

  Sample<double> h;
  h.pattern.rows = h.pattern.cols = 3;
  const double triangle[3][3] = {{4, 0, 0}, {2, 5, 0}, {6, 5, 10}};  // the last is 10 - 9 - 1, which is 0
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j <= i; ++j) h.add(j, triangle[i][j]);
    h.endRow();
  }
  const Cholesky<double> end = factoriseCholesky(h.pattern, h.values, orderOf(Order::none, h.pattern, room), room);
  CHECK((end.failed == 2 && end.whole() && pivotOf(end, 0) == 2));
  CHECK(pivotOf(end, 2.0) == 0);
  CHECK(pivotOf(end, 1.9) == 2);
}

TEST_CASE("orders leave less to be filled in, and are the same each time", "[systems]") {
  Room room;
  const Sample<double> a = grid(40);
  const auto elements = [&](Order order) { return choleskyElements(a.pattern, orderOf(order, a.pattern, room), room); };
  const std::int64_t none = elements(Order::none), band = elements(Order::reverseCuthillMcKee), degree = elements(Order::minimumDegree);
  CAPTURE(none, band, degree);
  CHECK(band < none);
  CHECK(degree < none / 2);
  CHECK(minimumDegree(a.pattern, room) == minimumDegree(a.pattern, room));
  const auto ofQr = [&](Order order) { return qrElements(a.pattern, orderOfQr(order, a.pattern, room), room); };
  CHECK(ofQr(Order::minimumDegree) < ofQr(Order::reverseCuthillMcKee));
  CHECK(ofQr(Order::reverseCuthillMcKee) <= ofQr(Order::none));
  // A row with everything is the last, and nothing else is filled in.
  Sample<double> arrow;
  const std::int32_t n = 2000;
  arrow.pattern.rows = arrow.pattern.cols = n;
  for (std::int32_t j = 0; j < n; ++j) arrow.add(j, 1);
  arrow.endRow();
  for (std::int32_t i = 1; i < n; ++i) {
    arrow.add(0, 1);
    arrow.add(i, 1);
    arrow.endRow();
  }
  CHECK(choleskyElements(arrow.pattern, minimumDegree(arrow.pattern, room), room) == 2 * n - 1);
  // Parts that have nothing to do with each other, and nothing at all.
  Sample<double> parts;
  parts.pattern.rows = parts.pattern.cols = 6;
  for (std::int32_t i = 0; i < 6; ++i) {
    if (i < 4) parts.add(i ^ 1, 1);
    parts.endRow();
  }
  for (const Order order : kOrders) CHECK(isOrder(orderOf(order, parts.pattern, room), 6));
  CHECK(orderOf(Order::minimumDegree, Pattern{}, room).empty());
}

TEST_CASE("a diagonal without zeros, as far as there is one", "[systems]") {
  std::mt19937 random(6);
  Room room;
  for (int round = 0; round < 100; ++round) {
    const auto n = static_cast<std::int32_t>(1 + random() % 30);
    Sample<double> a;
    a.pattern.rows = a.pattern.cols = n;
    Indices hidden(place(n));
    std::iota(hidden.begin(), hidden.end(), 0);
    std::ranges::shuffle(hidden, random);
    for (std::int32_t i = 0; i < n; ++i) {
      a.add(hidden[place(i)], 1);
      for (std::int32_t j = 0; j < n; ++j)
        if (random() % 10 == 0) a.add(j, 1);
      a.endRow();
    }
    Indices rows;
    CHECK(zeroFreeDiagonal(a.pattern, rows, room) == n);
    REQUIRE(isOrder(rows, n));
    for (std::int32_t j = 0; j < n; ++j) {
      const auto first = a.pattern.columns.begin() + a.pattern.offsets[place(rows[place(j)])], end = a.pattern.columns.begin() + a.pattern.offsets[place(rows[place(j)]) + 1];
      CHECK(std::find(first, end, j) != end);
    }
  }
  Sample<double> less;  // two rows have nothing but the first column
  less.pattern.rows = less.pattern.cols = 3;
  less.add(0, 1), less.endRow(), less.add(0, 1), less.endRow(), less.add(1, 1), less.endRow();
  Indices rows;
  CHECK(zeroFreeDiagonal(less.pattern, rows, room) == 2);
  CHECK(rows == Indices{0, 2, 1});
}

TEST_CASE("the eigenvalue next to a shift, and the shift itself if it is one", "[systems]") {
  Room room;
  const Sample<double> a = grid(6);
  std::mt19937 random(7);
  // Of the grid: 4.01 - 2 cos(i pi / 7) - 2 cos(j pi / 7).
  const double pi = std::acos(-1.0), least = 4.01 - 4 * std::cos(pi / 7);
  const auto found = eigenvalueNextTo(0.0, a.pattern, a.values, anyVector<double>(random, 36), 100, 1e-10, room);
  CHECK(std::abs(found.value - least) < 1e-8);
  std::vector<double> scaled = found.vector;
  for (double& each : scaled) each *= found.value;
  near(times(a, found.vector), scaled, 1e-8);
  // It ends where nothing is gained any more.
  const auto end = eigenvalueNextTo(0.0, a.pattern, a.values, anyVector<double>(random, 36), 0x7fff'ffff, 0, room);
  CHECK(std::abs(end.value - least) < 1e-12);
  // What is left over grows first, on the way from the eigenvalue that the guess is near to.
  Sample<double> two;
  two.pattern.rows = two.pattern.cols = 2;
  two.add(0, 1), two.endRow(), two.add(1, 3.02), two.endRow();
  CHECK(std::abs(eigenvalueNextTo(2.0, two.pattern, two.values, {1e-6, 1}, 10'000, 1e-9, room).value - 1) < 1e-9);
  const auto exact = eigenvalueNextTo(least, a.pattern, a.values, anyVector<double>(random, 36), 100, 1e-10, room);
  CHECK(std::abs(exact.value - least) < 1e-8);
}

TEMPLATE_TEST_CASE("a factor in memory is itself, or none", "[systems]", double, Complex) {
  using N = TestType;
  std::mt19937 random(8);
  const std::int32_t n = 20;
  Room room;
  const Sample<N> a = sample<N>(random, n, n, 0.1), h = positive<N>(random, n, 0.1, false);
  const Indices order = minimumDegree(a.pattern, room);
  const Qr<N> qr = factoriseQr(a.pattern, a.values, order, room);
  const Cholesky<N> cholesky = factoriseCholesky(h.pattern, h.values, order, room);
  Call call;
  call.a.rows = call.a.cols = n;
  call.a.type = std::is_same_v<N, double> ? Type::f64 : Type::c64;
  const auto round = [&](const auto& factor, std::int64_t elements) {
    using Factor = std::remove_cvref_t<decltype(factor)>;
    std::vector<std::byte> memory(stateBytes(call, elements));
    save(factor, 7, memory);
    const auto read = load<Factor>(7, memory, room);
    REQUIRE(read.has_value());
    CHECK(read->order == factor.order);
    CHECK_FALSE(load<Factor>(8, memory, room).has_value());
    // Whatever is in it, what is made of it touches nothing but what it has.
    int none = 0;
    for (int times = 0; times < 3000; ++times) {
      std::vector<std::byte> other = memory;
      for (int changes = static_cast<int>(random() % 4); changes >= 0; --changes) {
        const std::int32_t values[] = {-1, 0, 1, 1000, 0x7fff'ffff, static_cast<std::int32_t>(random())};
        std::memcpy(other.data() + random() % (other.size() / 4) * 4, &values[random() % std::size(values)], 4);
      }
      if (const auto changed = load<Factor>(7, other, room)) {
        std::vector<N> x(place(n));
        if constexpr (std::is_same_v<Factor, Qr<N>>) {
          if (changed->rows == n) (void)solve(*changed, x);
        } else if (changed->n == n) {
          solve(*changed, x);
        }
        (void)pivotOf(*changed, 0);
      } else {
        ++none;
      }
    }
    CHECK(none > 0);
    CHECK_FALSE(load<Factor>(7, std::span(memory).first(100), room).has_value());
    CHECK_THROWS_AS(save(factor, 7, std::span(memory).first(100)), TooLarge);
  };
  round(qr, qrElements(a.pattern, order, room));
  round(cholesky, choleskyElements(h.pattern, order, room));
}

TEST_CASE("indices that are none, and too little room", "[systems]") {
  std::vector<std::int32_t> offsets{0, 2, 3}, columns{0, 1, 1};
  Matrix m;
  m.rows = m.cols = 2;
  m.elements = 3;
  m.offsets = reinterpret_cast<std::uint64_t>(offsets.data());
  m.indices = reinterpret_cast<std::uint64_t>(columns.data());
  Pattern pattern;
  Room room;
  REQUIRE_FALSE(read(m, pattern, room).has_value());
  CHECK((pattern.offsets == Indices{0, 2, 3} && pattern.columns == Indices{0, 1, 1}));
  const std::int32_t ends[] = {1, 3};
  REQUIRE_FALSE(read(m, pattern, room, ends).has_value());
  CHECK((pattern.offsets == Indices{0, 1, 2} && pattern.columns == Indices{0, 1}));
  const auto wrong = [&] { return std::string(read(m, pattern, room).value().what); };
  columns[1] = 2;
  CHECK(wrong() == "a column");
  columns[1] = -1;
  CHECK(wrong() == "a column");
  columns[1] = 1, offsets[1] = 4;
  CHECK(wrong() == "a row's offset");
  offsets[1] = 2, offsets[2] = 1;
  CHECK(wrong() == "a row's offset");
  offsets[2] = 3, offsets[0] = 1;
  CHECK(wrong() == "a row's offset");
  offsets = {1, 3, 4}, columns = {1, 2, 2}, m.base = 1;
  CHECK_FALSE(read(m, pattern, room).has_value());
  offsets[1] = static_cast<std::int32_t>(0x8000'0000u);
  CHECK(wrong() == "a row's offset");
  Room little(20);
  CHECK_THROWS_AS(read(m, pattern, little), TooLarge);
  const Sample<double> a = grid(30);
  Room some(200'000);
  CHECK_THROWS_AS(factoriseQr(a.pattern, a.values, orderOf(Order::none, a.pattern, room), some), TooLarge);
  Room none(20'000);
  CHECK_THROWS_AS(choleskyElements(a.pattern, orderOf(Order::none, a.pattern, room), none), TooLarge);
}

}  // namespace rouse::systems
