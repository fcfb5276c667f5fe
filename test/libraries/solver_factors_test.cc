// cuSOLVER's factorisations on the CPU device: what they are multiplied, what is solved with them, and what programs should not give.
#include "test/libraries/solver_runs.h"

namespace rouse::solver {
namespace {

constexpr Triangle kTriangles[] = {Triangle::lower, Triangle::upper};

bool within(Triangle uplo, std::int64_t i, std::int64_t j) { return uplo == Triangle::upper ? i <= j : i >= j; }

// Hermitian, its eigenvalues above 1.
template <class T>
Exact positive(std::int64_t n, unsigned seed) {
  Memory none;
  Matrices<T> random(none, n, n, n);
  random.fillRandom(seed);
  const Exact half = random.exact();
  Exact product = half * adjoint(half);
  for (std::int64_t i = 0; i < n; ++i) product(i, i) = product(i, i).real() + static_cast<long double>(n);
  return product;
}
// One triangle of a matrix.
Exact triangle(const Exact& a, Triangle uplo, bool unit = false) {
  Exact result(a.rows, a.columns);
  for (std::int64_t j = 0; j < a.columns; ++j)
    for (std::int64_t i = 0; i < a.rows; ++i)
      if (within(uplo, i, j)) result(i, j) = unit && i == j ? Wide(1) : a(i, j);
  return result;
}
Exact exchanged(Exact a, const std::vector<std::int32_t>& pivots) {
  for (std::size_t i = 0; i < pivots.size(); ++i)
    for (std::int64_t j = 0; j < a.columns; ++j) std::swap(a(static_cast<std::int64_t>(i), j), a(pivots[i] - 1, j));
  return a;
}

}  // namespace

TEMPLATE_TEST_CASE("Cholesky: L L' is the matrix, and what is solved and inverted with it", "[solver]", float, double, std::complex<float>, std::complex<double>) {
  using T = TestType;
  for (const Triangle uplo : kTriangles)
    for (const std::int64_t n : {1, 2, 7, 33, 100}) {
      CAPTURE(n, static_cast<int>(uplo));
      Memory memory;
      const std::int64_t columns = n % 2 == 0 ? 1 : 3;
      Matrices<T> a(memory, n, n, n + 3), b(memory, n, columns, n + 1);
      std::vector<std::int32_t> info(1, -7);
      const Exact exact = positive<T>(n, static_cast<unsigned>(n));
      a.fill(exact);
      const Exact rounded = a.exact();
      b.fillRandom(5);
      const Exact right = b.exact();
      Call call = callOf<T>();
      call.n = n, call.uplo = uplo, call.a = a.matrix(), call.info = memory.add(info);
      run(functionOf<T>("potrf"), call, memory);
      CHECK(info[0] == 0);
      CHECK(a.onlyWrote([&](auto i, auto j) { return within(uplo, i, j); }));
      const Exact factor = triangle(a.exact(), uplo);
      const double size = 4.0 * static_cast<double>(n), tolerance = kEpsilon<T> * size * size;
      CHECK(distance(uplo == Triangle::lower ? factor * adjoint(factor) : adjoint(factor) * factor, rounded) < tolerance);

      call.b = b.matrix(), call.k = columns;
      info[0] = -7;
      run(functionOf<T>("potrs"), call, memory);
      CHECK(info[0] == 0);
      CHECK(b.onlyWrote());
      CHECK(distance(rounded * b.exact(), right) < tolerance);

      run(functionOf<T>("potri"), call, memory);
      Exact inverse = triangle(a.exact(), uplo);
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < n; ++i)
          if (!within(uplo, i, j)) inverse(i, j) = std::conj(inverse(j, i));
      CHECK(info[0] == 0);
      CHECK(distance(rounded * inverse, identity(n)) < tolerance);
    }
}

TEST_CASE("Cholesky of what is not positive, or no number, says where it ended", "[solver]") {
  const std::int64_t n = 12;
  for (const Triangle uplo : kTriangles)
    for (const double wrong : {-1.0, 0.0, std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
      Memory memory;
      Matrices<double> a(memory, n, n, n);
      std::vector<std::int32_t> info(1, -7);
      a.fill(identity(n));
      a.at(4, 4) = wrong;
      Call call = callOf<double>();
      call.n = n, call.uplo = uplo, call.a = a.matrix(), call.info = memory.add(info);
      run(functionOf("Dpotrf"), call, memory);
      CHECK(info[0] == 5);
    }
}

TEST_CASE("nothing: info is 0", "[solver]") {
  Memory memory;
  std::vector<std::int32_t> info(1);
  for (const FunctionInfo& each : kFunctions) {
    if (each.type != Type::f64 || each.verb == Verb::laswp || each.verb == Verb::potrfBatched) continue;
    CAPTURE(each.name);
    Call call = callOf<double>();
    call.info = memory.ranges.empty() ? memory.add(info) : reinterpret_cast<std::uint64_t>(info.data());
    call.a.spacing = call.b.spacing = call.c.spacing = 1;
    call.problem = 1;
    if (each.verb == Verb::gesvd) call.job = call.otherJob = 'A';
    if (each.verb == Verb::syevdx || each.verb == Verb::sygvdx) call.selection = Selection::all;
    info[0] = -7;
    run(static_cast<Function>(&each - kFunctions.data()), call, memory);
    CHECK(info[0] == 0);
  }
}

TEMPLATE_TEST_CASE("triangles: inverses, and products with themselves", "[solver]", float, double, std::complex<float>, std::complex<double>) {
  using T = TestType;
  const std::int64_t n = 20;
  for (const Triangle uplo : kTriangles)
    for (const Diagonal diagonal : {Diagonal::stored, Diagonal::unit}) {
      Memory memory;
      Matrices<T> a(memory, n, n, n + 2);
      std::vector<std::int32_t> info(1, -7);
      Exact exact(n, n);
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < n; ++i) exact(i, j) = Wide(i == j ? 2.0L : 0.3L / static_cast<long double>(1 + i + 2 * j));
      a.fill(exact);
      const Exact before = triangle(a.exact(), uplo, diagonal == Diagonal::unit);
      Call call = callOf<T>();
      call.n = n, call.uplo = uplo, call.diagonal = diagonal, call.a = a.matrix(), call.info = memory.add(info);
      run(functionOf("Xtrtri"), call, memory);
      CHECK(info[0] == 0);
      CHECK(distance(before * triangle(a.exact(), uplo, diagonal == Diagonal::unit), identity(n)) < 100 * kEpsilon<T>);
      a.fill(exact);
      run(functionOf<T>("lauum"), call, memory);
      const Exact factor = triangle(exact, uplo);
      const Exact product = uplo == Triangle::upper ? factor * adjoint(factor) : adjoint(factor) * factor;
      CHECK(distance(triangle(a.exact(), uplo), triangle(product, uplo)) < 200 * kEpsilon<T>);
    }
}

TEST_CASE("a triangle with a 0 on its diagonal has no inverse", "[solver]") {
  Memory memory;
  Matrices<float> a(memory, 5, 5, 5);
  std::vector<std::int32_t> info(1, -7);
  a.fill(identity(5));
  a.at(2, 2) = 0;
  Call call = callOf<float>();
  call.n = 5, call.a = a.matrix(), call.info = memory.add(info);
  run(functionOf("Xtrtri"), call, memory);
  CHECK(info[0] == 3);
}

TEMPLATE_TEST_CASE("L U: with rows exchanged it is the matrix, of any shape", "[solver]", float, double, std::complex<float>, std::complex<double>) {
  using T = TestType;
  const std::int64_t shapes[][2] = {{1, 1}, {3, 3}, {40, 40}, {30, 17}, {17, 30}, {1, 9}, {9, 1}};
  for (const auto& [m, n] : shapes)
    for (const bool wide : {false, true}) {
      CAPTURE(m, n, wide);
      const std::int64_t least = std::min(m, n);
      Memory memory;
      Matrices<T> a(memory, m, n, m + 2);
      a.fillRandom(7);
      const Exact before = a.exact();
      std::vector<std::int32_t> info(1, -7), pivots(static_cast<std::size_t>(least), -1);
      std::vector<std::int64_t> wides(static_cast<std::size_t>(least), -1);
      Call call = callOf<T>();
      call.m = m, call.n = n, call.a = a.matrix(), call.info = memory.add(info), call.pivots = wide ? memory.add(wides) : memory.add(pivots);
      run(wide ? functionOf("Xgetrf") : functionOf<T>("getrf"), call, memory);
      CHECK(info[0] == 0);
      CHECK(a.onlyWrote());
      if (wide) pivots.assign(wides.begin(), wides.end());
      Exact lower(m, least), upper(least, n);
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < m; ++i) {
          if (i == j) lower(i, j) = 1;
          if (i > j && j < least) lower(i, j) = Wide(a.at(i, j));
          if (i <= j) upper(i, j) = Wide(a.at(i, j));
        }
      CHECK(distance(lower * upper, exchanged(before, pivots)) < 100 * kEpsilon<T>);
    }
}

TEMPLATE_TEST_CASE("systems are solved with L U, and with its transposes", "[solver]", float, double, std::complex<float>, std::complex<double>) {
  using T = TestType;
  const std::int64_t n = 25;
  for (const std::int64_t columns : {1, 4})
    for (const Transpose transpose : {Transpose::none, Transpose::transposed, Transpose::conjugated})
      for (const bool exchanging : {true, false}) {
        Memory memory;
        Matrices<T> a(memory, n, n, n + 1), b(memory, n, columns, n + 5);
        a.fill(positive<T>(n, 3));
        const Exact before = a.exact();
        b.fillRandom(9);
        const Exact right = b.exact();
        std::vector<std::int32_t> info(1, -7), pivots(static_cast<std::size_t>(n));
        Call call = callOf<T>();
        call.m = call.n = n, call.a = a.matrix(), call.info = memory.add(info), call.pivots = exchanging ? memory.add(pivots) : 0;
        run(functionOf<T>("getrf"), call, memory);
        call.m = 0, call.k = columns, call.transpose = transpose, call.b = b.matrix();
        run(functionOf<T>("getrs"), call, memory);
        CHECK(info[0] == 0);
        const Exact& turned = transpose == Transpose::none ? before : transpose == Transpose::transposed ? transposed(before) : adjoint(before);
        CHECK(distance(turned * b.exact(), right) < 2000 * kEpsilon<T>);
      }
}

TEST_CASE("a singular matrix's L U says where", "[solver]") {
  Memory memory;
  Matrices<double> a(memory, 6, 6, 6);
  a.fillRandom(2);
  for (std::int64_t i = 0; i < 6; ++i) a.at(i, 3) = a.at(i, 1) * 2;
  std::vector<std::int32_t> info(1, -7), pivots(6);
  Call call = callOf<double>();
  call.m = call.n = 6, call.a = a.matrix(), call.info = memory.add(info), call.pivots = memory.add(pivots);
  for (std::int64_t i = 0; i < 6; ++i) a.at(i, 1) = 0, a.at(i, 3) = 0;
  run(functionOf("Dgetrf"), call, memory);
  CHECK(info[0] == 2);
  for (std::int64_t i = 0; i < 6; ++i)
    for (std::int64_t j = 0; j < 6; ++j) a.at(i, j) = std::numeric_limits<double>::quiet_NaN();
  run(functionOf("Dgetrf"), call, memory);
  for (const std::int32_t pivot : pivots) CHECK((pivot >= 1 && pivot <= 6));
}

TEST_CASE("pivots that are no rows are an error, and nothing is written", "[solver]") {
  const std::int64_t n = 5;
  const std::int64_t wrong = GENERATE(0, -1, 6, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min());
  const std::string name = GENERATE("Dgetrs", "Xgetrs", "Dlaswp", "Xsytrs", "Dsytri");
  CAPTURE(name, wrong);
  Memory memory;
  Matrices<double> a(memory, n, n, n), b(memory, n, 1, n);
  a.fill(identity(n));
  b.fillRandom(1);
  std::vector<std::int32_t> info(1, -7), pivots{1, 2, 3, 4, 5};
  std::vector<std::int64_t> wides{1, 2, 3, 4, 5};
  const Function function = functionOf(name);
  Call call = callOf<double>();
  call.n = n, call.k = 1, call.a = a.matrix(), call.b = b.matrix(), call.info = memory.add(info);
  call.pivots = isWide(function) ? memory.add(wides) : memory.add(pivots);
  call.first = 1, call.last = n, call.increment = 1;
  REQUIRE(prepare(function, call, memory).ok());
  pivots[2] = static_cast<std::int32_t>(wrong), wides[2] = wrong;
  const auto job = prepare(function, call, memory);
  REQUIRE_FALSE(job.ok());
  CHECK(job.error().code == CudaError::illegalAddress);
  CHECK(job.error().message.find("pivot 2 is " + std::to_string(wrong)) != std::string::npos);
  CHECK(info[0] == -7);
  CHECK((a.unchanged() && b.unchanged()));
}

TEST_CASE("pivots beyond 32 bits are no rows", "[solver]") {
  Memory memory;
  Matrices<double> a(memory, 2, 2, 2), b(memory, 2, 1, 2);
  std::vector<std::int32_t> info(1);
  std::vector<std::int64_t> pivots{1, (std::int64_t{1} << 32) + 2};
  Call call = callOf<double>();
  call.n = 2, call.k = 1, call.a = a.matrix(), call.b = b.matrix(), call.info = memory.add(info), call.pivots = memory.add(pivots);
  CHECK_FALSE(prepare(functionOf("Xgetrs"), call, memory).ok());
  CHECK_FALSE(prepare(functionOf("Xsytrs"), call, memory).ok());
  pivots[1] = std::numeric_limits<std::int64_t>::min();
  CHECK_FALSE(prepare(functionOf("Xgetrs"), call, memory).ok());
  CHECK_FALSE(prepare(functionOf("Xsytrs"), call, memory).ok());
}

TEST_CASE("rows are exchanged in pivots' order and against it, none that is not the program's", "[solver]") {
  const std::int64_t n = 3, rows = 7;
  Memory memory;
  Matrices<float> a(memory, rows, n, rows + 2);
  a.fillRandom(4);
  const Exact before = a.exact();
  std::vector<std::int32_t> pivots{0, 0, 5, 7, 4};
  Call call = callOf<float>();
  call.n = n, call.a = a.matrix(), call.first = 3, call.last = 5, call.increment = 1, call.pivots = memory.add(pivots);
  run(functionOf("Slaswp"), call, memory);
  Exact expected = before;
  const auto exchange = [&](std::int64_t one, std::int64_t other) {
    for (std::int64_t j = 0; j < n; ++j) std::swap(expected(one, j), expected(other, j));
  };
  exchange(2, 4), exchange(3, 6), exchange(4, 3);
  CHECK(distance(a.exact(), expected) == 0);
  CHECK(a.onlyWrote());
  call.increment = -1;
  run(functionOf("Slaswp"), call, memory);
  CHECK(distance(a.exact(), before) == 0);
  // Row 8 is below the columns' spacing, and behind the memory in the last of them.
  pivots[3] = 8;
  const auto job = prepare(functionOf("Slaswp"), call, memory);
  REQUIRE_FALSE(job.ok());
  CHECK(job.error().message == "cusolverDnSlaswp: row 8 is not memory of the program's on this device");
}

TEMPLATE_TEST_CASE("symmetric matrices that are not positive: L D L' solves and inverts", "[solver]", float, double, std::complex<float>, std::complex<double>) {
  using T = TestType;
  for (const Triangle uplo : kTriangles)
    for (const std::int64_t n : {1, 2, 9, 70}) {
      CAPTURE(n, static_cast<int>(uplo));
      Memory memory;
      const std::int64_t columns = n % 2 == 0 ? 1 : 2;
      Matrices<T> a(memory, n, n, n + 1), b(memory, n, columns, n);
      a.fillRandom(static_cast<unsigned>(n));
      Exact exact = a.exact();
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < j; ++i) exact(i, j) = exact(j, i);
      a.fill(exact);
      b.fillRandom(6);
      const Exact right = b.exact();
      std::vector<std::int32_t> info(1, -7), pivots(static_cast<std::size_t>(n));
      Call call = callOf<T>();
      call.n = n, call.uplo = uplo, call.a = a.matrix(), call.info = memory.add(info), call.pivots = memory.add(pivots);
      run(functionOf<T>("sytrf"), call, memory);
      CHECK(info[0] == 0);
      CHECK(a.onlyWrote([&](auto i, auto j) { return within(uplo, i, j); }));
      std::vector<std::int64_t> wides(pivots.begin(), pivots.end());
      Call solving = call;
      solving.b = b.matrix(), solving.k = columns, solving.pivots = memory.add(wides);
      run(functionOf("Xsytrs"), solving, memory);
      CHECK(info[0] == 0);
      CHECK(distance(exact * b.exact(), right) < 50000 * kEpsilon<T>);
      run(functionOf<T>("sytri"), call, memory);
      Exact inverse = a.exact();
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < n; ++i)
          if (!within(uplo, i, j)) inverse(i, j) = inverse(j, i);
      CHECK(distance(exact * inverse, identity(n)) < 50000 * kEpsilon<T>);
    }
}

TEST_CASE("half a block of L D L' is an error", "[solver]") {
  Memory memory;
  Matrices<double> a(memory, 4, 4, 4);
  a.fill(identity(4));
  std::vector<std::int32_t> info(1, -7), pivots{1, -2, -2, 4};
  Call call = callOf<double>();
  call.n = 4, call.a = a.matrix(), call.info = memory.add(info), call.pivots = memory.add(pivots);
  CHECK(prepare(functionOf("Dsytri"), call, memory).ok());
  for (const std::vector<std::int32_t>& wrong : {std::vector<std::int32_t>{-1, 2, 3, 4}, {1, -2, 3, 4}, {1, 2, 3, -4}, {-2, -2, -2, 4}, {1, -9, -9, 4}}) {
    std::ranges::copy(wrong, pivots.begin());
    const auto job = prepare(functionOf("Dsytri"), call, memory);
    REQUIRE_FALSE(job.ok());
    CHECK(job.error().code == CudaError::illegalAddress);
  }
}

TEST_CASE("a batch's matrices lie where their addresses say, which are the program's", "[solver]") {
  const std::int64_t n = 6, count = 40;
  Memory memory;
  Matrices<double> a(memory, n, n, n, count), b(memory, n, 1, n, count);
  std::vector<std::uint64_t> as, bs;
  std::vector<Exact> before;
  for (std::int64_t e = 0; e < count; ++e) {
    before.push_back(positive<double>(n, static_cast<unsigned>(e)));
    as.push_back(a.address(e)), bs.push_back(b.address(e));
  }
  b.fillRandom(1);
  std::vector<Exact> right;
  for (std::int64_t e = 0; e < count; ++e) a.fill(before[static_cast<std::size_t>(e)], e), right.push_back(b.exact(e));
  std::vector<std::int32_t> infos(count, -7), one(1, -7);
  Call call = callOf<double>();
  call.n = n, call.batch = count, call.a = {.address = memory.add(as), .spacing = n}, call.info = memory.add(infos);
  a.at(3, 3, 7) = -1;
  run(functionOf("DpotrfBatched"), call, memory, 3);
  for (std::int64_t e = 0; e < count; ++e) CHECK(infos[static_cast<std::size_t>(e)] == (e == 7 ? 4 : 0));
  call.b = {.address = memory.add(bs), .spacing = n}, call.k = 1, call.info = memory.add(one);
  run(functionOf("DpotrsBatched"), call, memory);
  CHECK(one[0] == 0);
  for (std::int64_t e = 0; e < count; ++e)
    if (e != 7) CHECK(distance(before[static_cast<std::size_t>(e)] * b.exact(e), right[static_cast<std::size_t>(e)]) < 1e-12);
  for (const std::uint64_t wrong : {std::uint64_t{0}, as[4] + 8, as[count - 1] + 8, ~std::uint64_t{7}}) {
    as[5] = wrong;
    const auto job = prepare(functionOf("DpotrfBatched"), call, memory);
    if (wrong == as[4] + 8) {
      CHECK(job.ok());  // within the program's, and so its own affair
      continue;
    }
    REQUIRE_FALSE(job.ok());
    CHECK(job.error().code == CudaError::illegalAddress);
    CHECK(job.error().message.find("cusolverDnDpotrfBatched: A[5]: ") == 0);
  }
}

}  // namespace rouse::solver
