// Systems of equations of cuSPARSE's on the CPU device: triangles, few diagonals, incomplete factorisations.
#include <catch2/catch.hpp>
#include <cmath>

#include "test/libraries/sparse_runs.h"

namespace rouse::sparse {

TEST_CASE("triangles: either one, unit diagonals, every operation", "[sparse]") {
  std::mt19937 random(4);
  for (const Style& style : kStyles)
    for (const Type type : {Type::f32, Type::f64, Type::c64})
      for (const Operation op : kOperations)
        for (const Triangle triangle : {Triangle::lower, Triangle::upper})
          for (const bool unit : {false, true}) {
            const std::int64_t n = 12, columns = 3;
            Matrix matrix = anyMatrix(random, n, n, 0.3, type);
            for (std::int64_t i = 0; i < n; ++i) matrix[{i, i}] = 9.0 + static_cast<double>(i);
            const auto a = store(matrix, n, n, type, style);
            DenseStored x(n, columns, type), y(n, columns, type, Order::row);
            x.fill(random);
            Call call;
            call.a = a->what;
            call.a.triangle = triangle;
            call.a.unitDiagonal = unit;
            call.x = x.what;
            call.y = y.what;
            call.opA = op;
            call.computeType = type;
            setScalar(call.alpha, type, 2);
            CAPTURE(int(style.format), int(type), int(op), int(triangle), unit);
            REQUIRE(runAll(Function::solve, call, 2) == "");
            Matrix used;
            for (const auto& [place, value] : matrix) {
              const bool diagonal = place.first == place.second, in = triangle == Triangle::lower ? place.first > place.second : place.first < place.second;
              if (diagonal || in) used[place] = diagonal && unit ? Number(1) : value;
            }
            used = turned(used, op);
            for (std::int64_t j = 0; j < columns; ++j) {
              std::vector<Number> product(static_cast<std::size_t>(n));
              double largest = 1;
              for (const auto& [place, value] : used) {
                product[static_cast<std::size_t>(place.first)] += value * y.get(place.second, j);
                largest = std::max(largest, std::abs(value * y.get(place.second, j)));
              }
              for (std::int64_t i = 0; i < n; ++i)
                CHECK(std::abs(product[static_cast<std::size_t>(i)] - 2.0 * x.get(i, j)) <= largest * (type == Type::f32 ? 1e-5 : 1e-13));
            }
          }
}

TEST_CASE("pivots of a triangle", "[sparse]") {
  Matrix matrix;
  for (std::int64_t i = 0; i < 6; ++i) matrix[{i, i}] = i == 3 ? 0.0 : 1.0;
  const auto a = store(matrix, 6, 6, Type::f64, {Format::csr, Index::i32, Index::i32, 1});
  DenseStored x(6, 1, Type::f64), y(6, 1, Type::f64);
  Call call;
  Answer answer{kUnanswered};
  call.a = a->what;
  call.x = x.what;
  call.y = y.what;
  call.computeType = Type::f64;
  setScalar(call.alpha, Type::f64, 1);
  call.answer = reinterpret_cast<std::uint64_t>(&answer);
  REQUIRE(runAll(Function::solve, call) == "");
  CHECK(answer.number == 4);
  call.a.unitDiagonal = 1;
  REQUIRE(runAll(Function::solve, call) == "");
  CHECK(answer.number == -1);
}

TEST_CASE("systems with three and five diagonals", "[sparse]") {
  std::mt19937 random(9);
  std::uniform_real_distribution<double> any(-1, 1);
  for (const bool five : {false, true})
    for (const int layout : {0, 1, 2})  // one matrix, one system behind the other, one between the others
      for (const bool pivots : {true, false})
        for (const std::int64_t rows : {1, 2, 3, 40}) {
          if (five && layout != 2) continue;
          const std::int64_t systems = 3, spacing = layout == 2 ? systems : 1, stride = layout == 1 ? rows + 2 : 1;
          const auto length = static_cast<std::size_t>((rows - 1) * spacing + (systems - 1) * stride + 1);
          std::vector<std::vector<double>> diagonals(5, std::vector<double>(length));
          for (auto& diagonal : diagonals)
            for (double& each : diagonal) each = any(random);
          // With exchanges the main diagonal may be anything.
          for (double& each : diagonals[2]) each = pivots && rows > 1 ? each * 0.01 : each + 5;
          std::vector<double> x(std::max(length, static_cast<std::size_t>(rows * systems)));
          for (double& each : x) each = any(random);
          const std::vector<double> right = x;
          Call call;
          call.computeType = Type::f64;
          for (int d = five ? 0 : 1; d < (five ? 5 : 4); ++d) call.band.diagonals[d] = addressOf(diagonals[static_cast<std::size_t>(d)]);
          call.band.rows = rows;
          call.band.pivots = pivots;
          call.band.spacing = spacing;
          if (layout == 0) {
            call.band.oneMatrix = 1;
            call.band.systems = 1;
            call.x = {.values = addressOf(x), .rows = rows, .cols = systems, .spacing = rows, .batch = 1, .type = Type::f64, .order = Order::column};
          } else {
            call.band.systems = static_cast<std::int32_t>(systems);
            call.band.stride = stride;
            call.result = addressOf(x);
          }
          CAPTURE(five, layout, pivots, rows);
          REQUIRE(runAll(five ? Function::pentadiagonal : Function::tridiagonal, call, 3) == "");
          for (std::int64_t s = 0; s < systems; ++s)
            for (std::int64_t i = 0; i < rows; ++i) {
              const auto at = [&](std::int64_t row) { return static_cast<std::size_t>(layout == 0 ? s * rows + row : row * spacing + s * stride); };
              const auto of = [&](std::int64_t row) { return static_cast<std::size_t>(row * spacing + (layout == 0 ? 0 : s * stride)); };
              double sum = 0, largest = 1;
              for (std::int64_t d = five ? -2 : -1; d <= (five ? 2 : 1); ++d)
                if (i + d >= 0 && i + d < rows) {
                  sum += diagonals[static_cast<std::size_t>(d + 2)][of(i)] * x[at(i + d)];
                  largest = std::max(largest, std::abs(x[at(i + d)]));
                }
              CHECK(std::abs(sum - right[at(i)]) <= 1e-12 * largest);
            }
        }
}

TEST_CASE("incomplete factorisations are the whole ones where nothing is left out", "[sparse]") {
  std::mt19937 random(10);
  const std::int64_t n = 8;
  for (const int base : {0, 1}) {
    Matrix matrix = anyMatrix(random, n, n, 1, Type::c64);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j <= i; ++j) matrix[{i, j}] = i == j ? Number(40.0 + static_cast<double>(i)) : std::conj(matrix[{j, i}]);
    for (const Function function : {Function::lu, Function::cholesky}) {
      const auto a = store(matrix, n, n, Type::c64, {Format::csr, Index::i32, Index::i32, base});
      Answer answer{kUnanswered};
      Call call;
      call.a = a->what;
      call.computeType = Type::c64;
      call.answer = reinterpret_cast<std::uint64_t>(&answer);
      REQUIRE(runAll(function, call) == "");
      CHECK(answer.number == -1);
      const Matrix got = load(*a);
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          Number sum = 0;
          for (std::int64_t k = 0; k <= std::min(i, j); ++k)
            sum += function == Function::lu ? (k == i ? Number(1) : got.at({i, k})) * got.at({k, j}) : got.at({i, k}) * std::conj(got.at({j, k}));
          near(sum, matrix.at({i, j}), 1e-13);
          // A Cholesky factorisation leaves the other triangle alone.
          if (function == Function::cholesky && j > i) CHECK(got.at({i, j}) == matrix.at({i, j}));
        }
    }
  }
}

TEST_CASE("incomplete factorisations leave out what has no place, and find pivots", "[sparse]") {
  const double values[4][4] = {{4, 1, 0, 2}, {1, 5, 1, 0}, {0, 2, 6, 1}, {3, 0, 1, 7}};
  Matrix matrix;
  for (std::int64_t i = 0; i < 4; ++i)
    for (std::int64_t j = 0; j < 4; ++j)
      if (values[i][j] != 0) matrix[{i, j}] = values[i][j];
  const auto a = store(matrix, 4, 4, Type::f64, {});
  Call call;
  call.a = a->what;
  call.computeType = Type::f64;
  REQUIRE(runAll(Function::lu, call) == "");
  double full[4][4];
  std::memcpy(full, values, sizeof full);
  for (int i = 1; i < 4; ++i)
    for (int k = 0; k < i; ++k) {
      if (full[i][k] == 0) continue;
      full[i][k] /= full[k][k];
      for (int j = k + 1; j < 4; ++j)
        if (values[i][j] != 0) full[i][j] -= full[i][k] * full[k][j];
    }
  for (const auto& [place, value] : load(*a)) near(value, full[place.first][place.second], 1e-15);

  Matrix singular = matrix;
  singular[{0, 0}] = 0.0;
  const auto b = store(singular, 4, 4, Type::f64, {Format::csr, Index::i32, Index::i32, 1});
  Answer answer{kUnanswered};
  call.a = b->what;
  call.answer = reinterpret_cast<std::uint64_t>(&answer);
  REQUIRE(runAll(Function::lu, call) == "");
  CHECK(answer.number == 1);
  const auto boosted = store(singular, 4, 4, Type::f64, {});
  call.a = boosted->what;
  call.boosted = 1;
  setScalar(call.alpha, Type::f64, 1e-3);
  setScalar(call.beta, Type::f64, 4);
  REQUIRE(runAll(Function::lu, call) == "");
  CHECK(answer.number == -1);
  CHECK(load(*boosted).at({0, 0}) == Number(4));
  singular.erase({2, 2});
  singular[{0, 0}] = 4.0;
  const auto missing = store(singular, 4, 4, Type::f64, {});
  Call cholesky;
  cholesky.a = missing->what;
  cholesky.computeType = Type::f64;
  cholesky.answer = call.answer;
  REQUIRE(runAll(Function::cholesky, cholesky) == "");
  CHECK(answer.number == 2);
}

}  // namespace rouse::sparse
