// cuSOLVER's reflections on the CPU device: Q's columns are orthonormal, and what they take apart is the matrix again.
#include "test/libraries/solver_runs.h"

namespace rouse::solver {
namespace {

Exact upperOf(const Exact& a, std::int64_t rows) {
  Exact result(rows, a.columns);
  for (std::int64_t j = 0; j < a.columns; ++j)
    for (std::int64_t i = 0; i <= std::min(j, rows - 1); ++i) result(i, j) = a(i, j);
  return result;
}

}  // namespace

TEMPLATE_TEST_CASE("Q R: Q's columns are orthonormal, Q R the matrix, and Q is applied from both sides", "[solver]", float, double, std::complex<float>,
                   std::complex<double>) {
  using T = TestType;
  const std::int64_t shapes[][2] = {{1, 1}, {8, 8}, {50, 12}, {12, 50}, {70, 70}};
  for (const auto& [m, n] : shapes) {
    CAPTURE(m, n);
    const std::int64_t k = std::min(m, n);
    Memory memory;
    Matrices<T> a(memory, m, n, m + 2), tau(memory, k, 1, k), q(memory, m, m, m + 1), c(memory, m, 3, m + 3), d(memory, 3, m, 4);
    a.fillRandom(1);
    const Exact before = a.exact();
    std::vector<std::int32_t> info(1, -7);
    Call call = callOf<T>();
    call.m = m, call.n = n, call.a = a.matrix(), call.tau = tau.address(), call.info = memory.add(info);
    run(functionOf<T>("geqrf"), call, memory);
    CHECK(info[0] == 0);
    CHECK((a.onlyWrote() && tau.onlyWrote()));
    const Exact factors = a.exact();
    // The same by the function for any type.
    Matrices<T> again(memory, m, n, m + 2);
    again.fill(before);
    Call wide = call;
    wide.a = again.matrix();
    run(functionOf("Xgeqrf"), wide, memory);
    CHECK(distance(again.exact(), factors) == 0);

    q.fill(Exact(m, m));
    for (std::int64_t j = 0; j < k; ++j)
      for (std::int64_t i = 0; i < m; ++i) q.at(i, j) = a.at(i, j);
    Call making = call;
    making.n = m, making.k = k, making.a = q.matrix();
    run(functionOf<T>("orgqr", "ungqr"), making, memory);
    CHECK(info[0] == 0);
    const Exact whole = q.exact();
    const double tolerance = 300 * kEpsilon<T>;
    CHECK(distance(adjoint(whole) * whole, identity(m)) < tolerance);
    CHECK(distance(firstColumns(whole, k) * upperOf(factors, k), before) < tolerance);

    for (const bool turned : {false, true}) {
      Call applying = call;
      applying.k = k, applying.n = 3, applying.c = c.matrix(), applying.transpose = !turned ? Transpose::none : Transpose::conjugated;
      c.fillRandom(2);
      const Exact left = c.exact();
      const Exact by = turned ? adjoint(whole) : whole;
      run(functionOf<T>("ormqr", "unmqr"), applying, memory);
      CHECK(distance(c.exact(), by * left) < tolerance);
      CHECK(c.onlyWrote());
      applying.side = Side::right, applying.m = 3, applying.n = m, applying.c = d.matrix();
      d.fillRandom(3);
      const Exact right = d.exact();
      run(functionOf<T>("ormqr", "unmqr"), applying, memory);
      CHECK(distance(d.exact(), right * by) < tolerance);
      CHECK(distance(a.exact(), factors) == 0);
    }
  }
}

TEMPLATE_TEST_CASE("two diagonals: what is between Q and P", "[solver]", float, double, std::complex<float>, std::complex<double>) {
  using T = TestType;
  const std::int64_t m = 40, n = 23;
  Memory memory;
  Matrices<T> a(memory, m, n, m + 1), tauQ(memory, n, 1, n), tauP(memory, n, 1, n), q(memory, m, n, m), p(memory, n, n, n);
  Matrices<real<T>> diagonal(memory, n, 1, n), beside(memory, n - 1, 1, n - 1);
  a.fillRandom(1);
  const Exact before = a.exact();
  std::vector<std::int32_t> info(1, -7);
  Call call = callOf<T>();
  call.m = m, call.n = n, call.a = a.matrix(), call.values = diagonal.address(), call.offDiagonal = beside.address(), call.tau = tauQ.address();
  call.otherTau = tauP.address(), call.info = memory.add(info);
  run(functionOf<T>("gebrd"), call, memory);
  CHECK(info[0] == 0);
  CHECK((diagonal.onlyWrote() && beside.onlyWrote() && tauP.onlyWrote()));
  q.fill(a.exact());
  Call left = callOf<T>();
  left.m = m, left.n = n, left.k = n, left.a = q.matrix(), left.tau = tauQ.address(), left.info = call.info;
  run(functionOf<T>("orgbr", "ungbr"), left, memory);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) p.at(i, j) = a.at(i, j);
  Call right = callOf<T>();
  right.side = Side::right, right.m = right.n = n, right.k = m, right.a = p.matrix(), right.tau = tauP.address(), right.info = call.info;
  run(functionOf<T>("orgbr", "ungbr"), right, memory);
  Exact middle(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    middle(i, i) = Wide(diagonal.at(i));
    if (i + 1 < n) middle(i, i + 1) = Wide(beside.at(i));
  }
  CHECK(distance(q.exact() * middle * p.exact(), before) < 300 * kEpsilon<T>);
  CHECK(distance(adjoint(q.exact()) * q.exact(), identity(n)) < 300 * kEpsilon<T>);
}

TEMPLATE_TEST_CASE("three diagonals: what is between Q and its conjugate transpose", "[solver]", float, double, std::complex<float>, std::complex<double>) {
  using T = TestType;
  const std::int64_t n = 37;
  for (const Triangle uplo : {Triangle::lower, Triangle::upper}) {
    Memory memory;
    Matrices<T> a(memory, n, n, n + 2), tau(memory, n - 1, 1, n - 1), q(memory, n, n, n), c(memory, n, 4, n), d(memory, 2, n, 2);
    Matrices<real<T>> diagonal(memory, n, 1, n), beside(memory, n - 1, 1, n - 1);
    a.fillRandom(8);
    Exact before = a.exact();
    for (std::int64_t j = 0; j < n; ++j) {
      before(j, j) = before(j, j).real();
      for (std::int64_t i = 0; i < j; ++i) before(i, j) = std::conj(before(j, i));
    }
    a.fill(before);
    std::vector<std::int32_t> info(1, -7);
    Call call = callOf<T>();
    call.n = n, call.uplo = uplo, call.a = a.matrix(), call.values = diagonal.address(), call.offDiagonal = beside.address(), call.tau = tau.address();
    call.info = memory.add(info);
    run(functionOf<T>("sytrd", "hetrd"), call, memory);
    CHECK(info[0] == 0);
    CHECK(a.onlyWrote([&](auto i, auto j) { return uplo == Triangle::upper ? i <= j : i >= j; }));
    q.fill(a.exact());
    Call making = call;
    making.a = q.matrix();
    run(functionOf<T>("orgtr", "ungtr"), making, memory);
    Exact middle(n, n);
    for (std::int64_t i = 0; i < n; ++i) {
      middle(i, i) = Wide(diagonal.at(i));
      if (i + 1 < n) middle(i, i + 1) = middle(i + 1, i) = Wide(beside.at(i));
    }
    const Exact whole = q.exact();
    CHECK(distance(whole * middle * adjoint(whole), before) < 500 * kEpsilon<T>);
    Call applying = call;
    applying.m = n, applying.n = 4, applying.c = c.matrix(), applying.transpose = Transpose::conjugated;
    c.fillRandom(5);
    const Exact left = c.exact();
    run(functionOf<T>("ormtr", "unmtr"), applying, memory);
    CHECK(distance(c.exact(), adjoint(whole) * left) < 500 * kEpsilon<T>);
    applying.side = Side::right, applying.m = 2, applying.n = n, applying.c = d.matrix(), applying.transpose = Transpose::none;
    d.fillRandom(6);
    const Exact right = d.exact();
    run(functionOf<T>("ormtr", "unmtr"), applying, memory);
    CHECK(distance(d.exact(), right * whole) < 500 * kEpsilon<T>);
  }
}

TEST_CASE("reflections of no numbers end", "[solver]") {
  const std::int64_t n = 60;
  for (const double wrong : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), std::numeric_limits<double>::denorm_min()}) {
    Memory memory;
    Matrices<double> a(memory, n, n, n), tau(memory, n, 1, n);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i) a.at(i, j) = wrong;
    std::vector<std::int32_t> info(1, -7);
    Call call = callOf<double>();
    call.m = call.n = n, call.a = a.matrix(), call.tau = tau.address(), call.info = memory.add(info);
    run(functionOf("Dgeqrf"), call, memory);
    CHECK(info[0] == 0);
  }
}

}  // namespace rouse::solver
