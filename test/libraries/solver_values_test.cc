// cuSOLVER's eigenvalues and singular values on the CPU device: vectors are orthonormal and the matrix is made of them, in every form that the functions have; what is
// no number; and that results do not depend on who does what.
#include "test/libraries/solver_runs.h"

namespace rouse::solver {
namespace {

template <class T>
Exact hermitian(std::int64_t n, unsigned seed) {
  Memory none;
  Matrices<T> random(none, n, n, n);
  random.fillRandom(seed);
  Exact a = random.exact();
  for (std::int64_t j = 0; j < n; ++j) {
    a(j, j) = a(j, j).real();
    for (std::int64_t i = 0; i < j; ++i) a(i, j) = std::conj(a(j, i));
  }
  return a;
}
template <class R>
std::vector<Wide> numbers(Matrices<R>& values, std::int64_t count, std::int64_t e = 0) {
  std::vector<Wide> all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back(Wide(values.at(i, 0, e)));
  return all;
}
bool ascending(const std::vector<Wide>& values) { return std::ranges::is_sorted(values, {}, [](Wide each) { return each.real(); }); }
bool descending(const std::vector<Wide>& values) { return std::ranges::is_sorted(values, std::ranges::greater{}, [](Wide each) { return each.real(); }); }

}  // namespace

TEMPLATE_TEST_CASE("eigenvalues of Hermitian matrices, by every function", "[solver]", float, double, std::complex<float>, std::complex<double>) {
  using T = TestType;
  const std::vector<Function> functions{functionOf<T>("syevd", "heevd"), functionOf<T>("syevj", "heevj"), functionOf("Xsyevd")};
  for (const Function function : functions)
    for (const Triangle uplo : {Triangle::lower, Triangle::upper})
      for (const std::int64_t n : {1, 2, 10, 65}) {
        CAPTURE(n, static_cast<int>(uplo));
        Memory memory;
        Matrices<T> a(memory, n, n, n + 2);
        Matrices<real<T>> w(memory, n, 1, n);
        a.fill(hermitian<T>(n, 11));
        const Exact before = a.exact();
        // The other triangle is not looked at.
        for (std::int64_t j = 0; j < n; ++j)
          for (std::int64_t i = 0; i < n; ++i)
            if (uplo == Triangle::upper ? i > j : i < j) a.at(i, j) = std::numeric_limits<real<T>>::quiet_NaN();
        std::vector<std::int32_t> info(1, -7);
        Call call = callOf<T>();
        call.n = n, call.uplo = uplo, call.job = kVectorsToo, call.a = a.matrix(), call.values = w.address(), call.info = memory.add(info);
        Matrices<T> copy(memory, n, n, n + 2);
        for (std::int64_t j = 0; j < n; ++j)
          for (std::int64_t i = 0; i < n; ++i) copy.at(i, j) = a.at(i, j);
        run(function, call, memory);
        CHECK(info[0] == 0);
        CHECK((a.onlyWrote() && w.onlyWrote()));
        const std::vector<Wide> values = numbers(w, n);
        CHECK(ascending(values));
        const Exact vectors = a.exact();
        CHECK(distance(before * vectors, scaledColumns(vectors, values)) < 1000 * kEpsilon<T>);
        CHECK(distance(adjoint(vectors) * vectors, identity(n)) < 500 * kEpsilon<T>);
        call.job = kValuesOnly, call.a = copy.matrix();
        run(function, call, memory);
        for (std::int64_t i = 0; i < n; ++i) CHECK(std::abs(Wide(w.at(i)) - values[static_cast<std::size_t>(i)]) < 500 * kEpsilon<T>);
      }
}

TEMPLATE_TEST_CASE("some eigenvalues, by their numbers or within bounds", "[solver]", float, double, std::complex<float>, std::complex<double>) {
  using T = TestType;
  const std::int64_t n = 21;
  for (const Function function : {functionOf<T>("syevdx", "heevdx"), functionOf("Xsyevdx")}) {
    Memory memory;
    Matrices<T> a(memory, n, n, n);
    Matrices<real<T>> w(memory, n, 1, n);
    const Exact before = hermitian<T>(n, 4);
    std::vector<std::int32_t> info(1, -7);
    std::vector<std::int64_t> answer(1, -7);
    Call call = callOf<T>();
    call.n = n, call.job = kVectorsToo, call.a = a.matrix(), call.values = w.address(), call.info = memory.add(info), call.answer = memory.add(answer);
    call.selection = Selection::all;
    a.fill(before);
    const auto told = [&] { return isWide(function) ? answer[0] : static_cast<std::int64_t>(reinterpret_cast<const std::int32_t&>(answer[0])); };
    run(function, call, memory);
    CHECK(told() == n);
    const std::vector<Wide> all = numbers(w, n);
    call.selection = Selection::byIndex, call.first = 3, call.last = 7;
    a.fill(before), w.fillRandom(1);
    run(function, call, memory);
    CHECK(told() == 5);
    CHECK(w.onlyWrote([](auto i, auto) { return i < 5; }));
    for (std::size_t i = 0; i < 5; ++i) CHECK(Wide(w.at(static_cast<std::int64_t>(i))) == all[i + 2]);
    const Exact vectors = firstColumns(a.exact(), 5);
    CHECK(distance(before * vectors, scaledColumns(vectors, numbers(w, 5))) < 1000 * kEpsilon<T>);
    // Above the first bound, up to the second.
    call.selection = Selection::byValue, call.low = static_cast<double>(all[4].real()), call.high = static_cast<double>(all[9].real());
    a.fill(before), w.fillRandom(1);
    run(function, call, memory);
    CHECK(told() == 5);
    for (std::size_t i = 0; i < 5; ++i) CHECK(Wide(w.at(static_cast<std::int64_t>(i))) == all[i + 5]);
  }
}

TEMPLATE_TEST_CASE("batches of eigenvalues are those of each, whoever does them", "[solver]", float, std::complex<double>) {
  using T = TestType;
  const std::int64_t n = 9, count = 60;
  for (const Function function : {functionOf<T>("syevjBatched", "heevjBatched"), functionOf("XsyevBatched")}) {
    std::vector<std::vector<T>> results;
    for (const unsigned order : {0u, 1u, 2u}) {
      Memory memory;
      Matrices<T> a(memory, n, n, n + 1, count);
      Matrices<real<T>> w(memory, n, 1, n, count);
      std::vector<Exact> before;
      for (std::int64_t e = 0; e < count; ++e) {
        a.fill(hermitian<T>(n, static_cast<unsigned>(e)), e);
        before.push_back(a.exact(e));
      }
      std::vector<std::int32_t> infos(count, -7);
      Call call = callOf<T>();
      call.n = n, call.batch = count, call.job = kVectorsToo, call.a = a.matrix(), call.a.stride = 0, call.values = w.address(), call.info = memory.add(infos);
      run(function, call, memory, order);
      CHECK(a.onlyWrote());
      for (std::int64_t e = 0; e < count; ++e) {
        CHECK(infos[static_cast<std::size_t>(e)] == 0);
        CHECK(distance(before[static_cast<std::size_t>(e)] * a.exact(e), scaledColumns(a.exact(e), numbers(w, n, e))) < 200 * kEpsilon<T>);
      }
      results.push_back(a.all());
    }
    CHECK((results[0] == results[1] && results[0] == results[2]));
  }
}

TEMPLATE_TEST_CASE("eigenvalues of two matrices, of all three kinds", "[solver]", float, double, std::complex<float>, std::complex<double>) {
  using T = TestType;
  const std::int64_t n = 16;
  for (const Function function : {functionOf<T>("sygvd", "hegvd"), functionOf<T>("sygvj", "hegvj"), functionOf<T>("sygvdx", "hegvdx")})
    for (const std::uint8_t problem : {1, 2, 3}) {
      CAPTURE(static_cast<int>(problem));
      Memory memory;
      Matrices<T> a(memory, n, n, n), b(memory, n, n, n + 1);
      Matrices<real<T>> w(memory, n, 1, n);
      a.fill(hermitian<T>(n, 4));
      Exact positive = hermitian<T>(n, 5);
      positive = positive * adjoint(positive);
      for (std::int64_t i = 0; i < n; ++i) positive(i, i) = positive(i, i).real() + 4;
      b.fill(positive);
      const Exact first = a.exact(), second = b.exact();
      std::vector<std::int32_t> info(1, -7);
      Call call = callOf<T>();
      call.n = n, call.job = kVectorsToo, call.problem = problem, call.a = a.matrix(), call.b = b.matrix(), call.values = w.address(), call.info = memory.add(info);
      if (solver::info(function).verb == Verb::sygvdx) call.selection = Selection::all;
      run(function, call, memory);
      CHECK(info[0] == 0);
      CHECK(b.onlyWrote([](auto i, auto j) { return i >= j; }));
      const Exact x = a.exact();
      const std::vector<Wide> values = numbers(w, n);
      const double tolerance = 3000 * kEpsilon<T>;
      if (problem == 1) CHECK(distance(first * x, scaledColumns(second * x, values)) < tolerance);
      if (problem == 2) CHECK(distance(first * (second * x), scaledColumns(x, values)) < tolerance);
      if (problem == 3) CHECK(distance(second * (first * x), scaledColumns(x, values)) < tolerance);
      // The second is not positive: where.
      a.fill(first), b.fill(second);
      b.at(2, 2) = -1;
      run(function, call, memory);
      CHECK(info[0] == n + 3);
    }
}

TEMPLATE_TEST_CASE("eigenvalues of any square matrix", "[solver]", float, double, std::complex<float>, std::complex<double>) {
  using T = TestType;
  using C = std::complex<real<T>>;
  for (const std::int64_t n : {1, 2, 8, 30})
    for (const bool complexes : {true, false}) {
      if (kIsComplex<T> && !complexes) continue;
      Memory memory;
      Matrices<T> a(memory, n, n, n + 1), v(memory, n, n, n + 2);
      Matrices<C> w(memory, n, 1, n);
      Matrices<real<T>> parts(memory, 2 * n, 1, 2 * n);
      a.fillRandom(static_cast<unsigned>(n));
      const Exact before = a.exact();
      std::vector<std::int32_t> info(1, -7);
      Call call = callOf<T>();
      call.n = n, call.otherJob = kVectorsToo, call.a = a.matrix(), call.c = v.matrix(), call.b.spacing = 1, call.info = memory.add(info);
      call.valuesType = complexes ? kType<C> : kType<real<T>>, call.values = complexes ? w.address() : parts.address();
      run(functionOf("Xgeev"), call, memory);
      CHECK(info[0] == 0);
      CHECK(v.onlyWrote());
      Exact vectors(n, n);
      std::vector<Wide> values;
      for (std::int64_t j = 0; j < n; ++j) values.push_back(complexes ? Wide(w.at(j)) : Wide(parts.at(j), parts.at(n + j)));
      // LAPACK's form of a real matrix's vectors: real and imaginary parts beside each other.
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < n; ++i) {
          const long double imaginary = values[static_cast<std::size_t>(j)].imag();
          if (kIsComplex<T> || imaginary == 0) vectors(i, j) = Wide(v.at(i, j));
          else if (imaginary > 0) vectors(i, j) = {static_cast<long double>(std::real(v.at(i, j))), static_cast<long double>(std::real(v.at(i, j + 1)))};
          else vectors(i, j) = {static_cast<long double>(std::real(v.at(i, j - 1))), -static_cast<long double>(std::real(v.at(i, j)))};
        }
      CHECK(distance(before * vectors, scaledColumns(vectors, values)) < 1000 * kEpsilon<T>);
      for (std::int64_t j = 0; j < n; ++j) {
        long double length = 0;
        for (std::int64_t i = 0; i < n; ++i) length += std::norm(vectors(i, j));
        CHECK(std::abs(static_cast<double>(length) - 1) < 100 * kEpsilon<T>);
      }
    }
}

TEMPLATE_TEST_CASE("singular values by QR, as the letters say", "[solver]", float, double, std::complex<float>, std::complex<double>) {
  using T = TestType;
  const std::int64_t m = 30, n = 19;
  for (const Function function : {functionOf<T>("gesvd"), functionOf("Xgesvd")})
    for (const char left : {'A', 'S', 'O', 'N'})
      for (const char right : {'A', 'S', 'O', 'N'}) {
        if (left == 'O' && right == 'O') continue;
        CAPTURE(left, right);
        Memory memory;
        const std::int64_t columns = left == 'A' ? m : n;
        Matrices<T> a(memory, m, n, m + 1), u(memory, m, columns, m + 2), vt(memory, n, n, n + 1);
        Matrices<real<T>> s(memory, n, 1, n);
        a.fillRandom(3);
        const Exact before = a.exact();
        std::vector<std::int32_t> info(1, -7);
        Call call = callOf<T>();
        call.m = m, call.n = n, call.job = static_cast<std::uint8_t>(left), call.otherJob = static_cast<std::uint8_t>(right), call.a = a.matrix(), call.values = s.address();
        call.b = u.matrix(), call.c = vt.matrix(), call.info = memory.add(info);
        run(function, call, memory);
        CHECK(info[0] == 0);
        const std::vector<Wide> values = numbers(s, n);
        CHECK(descending(values));
        CHECK((left == 'A' || left == 'S' ? u.onlyWrote() : u.unchanged()));
        CHECK((right == 'A' || right == 'S' ? vt.onlyWrote() : vt.unchanged()));
        const bool hasU = left != 'N', hasV = right != 'N';
        const Exact all = left == 'O' ? a.exact() : u.exact();
        Exact v = vt.exact();
        if (right == 'O')
          for (std::int64_t j = 0; j < n; ++j)
            for (std::int64_t i = 0; i < n; ++i) v(i, j) = Wide(a.at(i, j));
        if (hasU) CHECK(distance(adjoint(all) * all, identity(all.columns)) < 500 * kEpsilon<T>);
        if (hasV) CHECK(distance(v * adjoint(v), identity(n)) < 500 * kEpsilon<T>);
        if (hasU && hasV) CHECK(distance(scaledColumns(firstColumns(all, n), values) * v, before) < 500 * kEpsilon<T>);
        // Without vectors, from what the matrix does to itself.
        long double squares = 0, sum = 0;
        for (const Wide each : before.values) squares += std::norm(each);
        for (const Wide each : values) sum += std::norm(each);
        CHECK(std::abs(static_cast<double>(std::sqrt(squares) - std::sqrt(sum))) < 500 * kEpsilon<T>);
      }
}

TEMPLATE_TEST_CASE("singular values by Jacobi and its like: V, whole or economical", "[solver]", float, double, std::complex<float>, std::complex<double>) {
  using T = TestType;
  const std::int64_t shapes[][2] = {{1, 1}, {20, 12}, {12, 20}, {16, 16}};
  for (const Function function : {functionOf<T>("gesvdj"), functionOf("Xgesvdp")})
    for (const auto& [m, n] : shapes)
      for (const std::uint8_t economy : {0, 1})
        for (const std::uint8_t job : {kValuesOnly, kVectorsToo}) {
          CAPTURE(m, n, static_cast<int>(economy));
          const std::int64_t least = std::min(m, n);
          Memory memory;
          Matrices<T> a(memory, m, n, m + 1), u(memory, m, economy != 0 ? least : m, m + 2), v(memory, n, economy != 0 ? least : n, n + 1);
          Matrices<real<T>> s(memory, least, 1, least);
          a.fillRandom(3);
          const Exact before = a.exact();
          std::vector<std::int32_t> info(1, -7);
          std::vector<double> answer(1, -7);
          Call call = callOf<T>();
          call.m = m, call.n = n, call.job = job, call.economy = economy, call.a = a.matrix(), call.values = s.address(), call.b = u.matrix(), call.c = v.matrix();
          call.info = memory.add(info), call.answer = isWide(function) ? memory.add(answer) : 0;
          run(function, call, memory);
          CHECK(info[0] == 0);
          const std::vector<Wide> values = numbers(s, least);
          CHECK(descending(values));
          if (isWide(function)) CHECK(answer[0] == 0);
          if (job == kValuesOnly) {
            CHECK((u.unchanged() && v.unchanged()));
            continue;
          }
          CHECK((u.onlyWrote() && v.onlyWrote()));
          const Exact left = u.exact(), right = v.exact();
          CHECK(distance(adjoint(left) * left, identity(left.columns)) < 500 * kEpsilon<T>);
          CHECK(distance(adjoint(right) * right, identity(right.columns)) < 500 * kEpsilon<T>);
          CHECK(distance(scaledColumns(firstColumns(left, least), values) * adjoint(firstColumns(right, least)), before) < 500 * kEpsilon<T>);
        }
}

TEMPLATE_TEST_CASE("batches of singular values, whole and the first of them", "[solver]", double, std::complex<float>) {
  using T = TestType;
  const std::int64_t m = 14, n = 9, count = 23;
  std::vector<std::vector<T>> results;
  for (const unsigned order : {0u, 5u}) {
    Memory memory;
    Matrices<T> a(memory, m, n, m + 1, count), u(memory, m, m, m, count), v(memory, n, n, n + 3, count);
    Matrices<real<T>> s(memory, n, 1, n, count);
    a.fillRandom(5);
    std::vector<Exact> before;
    for (std::int64_t e = 0; e < count; ++e) before.push_back(a.exact(e));
    std::vector<std::int32_t> infos(count, -7);
    Call call = callOf<T>();
    call.m = m, call.n = n, call.batch = count, call.job = kVectorsToo, call.a = a.matrix(), call.b = u.matrix(), call.c = v.matrix(), call.values = s.address();
    call.info = memory.add(infos);
    run(functionOf<T>("gesvdjBatched"), call, memory, order);
    for (std::int64_t e = 0; e < count; ++e) {
      CHECK(infos[static_cast<std::size_t>(e)] == 0);
      CHECK(distance(scaledColumns(firstColumns(u.exact(e), n), numbers(s, n, e)) * adjoint(v.exact(e)), before[static_cast<std::size_t>(e)]) < 200 * kEpsilon<T>);
    }
    results.push_back(u.all());

    const std::int64_t rank = 4;
    Matrices<T> some(memory, m, rank, m, count, m * rank + 5), beside(memory, n, rank, n, count, n * rank + 2);
    Matrices<real<T>> few(memory, rank, 1, rank, count, rank + 3);
    a.fillRandom(5);
    std::vector<double> norms(count, -7);
    Call approximate = call;
    approximate.k = rank, approximate.b = some.matrix(), approximate.c = beside.matrix(), approximate.values = few.address(), approximate.valuesStride = rank + 3;
    approximate.answer = memory.add(norms);
    run(functionOf<T>("gesvdaStridedBatched"), approximate, memory, order);
    CHECK((a.unchanged() && some.onlyWrote() && few.onlyWrote() && beside.onlyWrote()));
    for (std::int64_t e = 0; e < count; ++e) {
      for (std::int64_t i = 0; i < rank; ++i) CHECK(few.at(i, 0, e) == s.at(i, 0, e));
      const Exact product = scaledColumns(some.exact(e), numbers(few, rank, e)) * adjoint(beside.exact(e));
      long double sum = 0;
      for (std::size_t i = 0; i < product.values.size(); ++i) sum += std::norm(product.values[i] - before[static_cast<std::size_t>(e)].values[i]);
      CHECK(std::abs(static_cast<double>(std::sqrt(sum)) - norms[static_cast<std::size_t>(e)]) < 200 * kEpsilon<T>);
    }
  }
  CHECK(results[0] == results[1]);
}

TEST_CASE("of what is no number there are no values, which info says", "[solver]") {
  const std::int64_t n = 12;
  for (const FunctionInfo& each : kFunctions) {
    if (each.type != Type::f64 && each.type != Type::any) continue;
    const bool eigen = each.verb == Verb::syevd || each.verb == Verb::syevdx || each.verb == Verb::syevj || each.verb == Verb::syevBatched || each.verb == Verb::sygvd ||
                       each.verb == Verb::sygvj || each.verb == Verb::geev;
    const bool singular = each.verb == Verb::gesvd || each.verb == Verb::gesvdj || each.verb == Verb::gesvdjBatched || each.verb == Verb::gesvda || each.verb == Verb::gesvdp;
    if (!eigen && !singular) continue;
    for (const double wrong : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), std::numeric_limits<double>::denorm_min()}) {
      CAPTURE(each.name, wrong);
      const bool number = std::isfinite(wrong);
      Memory memory;
      Matrices<double> a(memory, n, n, n), b(memory, n, n, n), c(memory, n, n, n), w(memory, 2 * n, 1, 2 * n);
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < n; ++i) a.at(i, j) = number ? wrong : 1, b.at(i, j) = i == j, c.at(i, j) = 0;
      a.at(5, 4) = wrong;
      std::vector<std::int32_t> info(1, -7);
      Call call = callOf<double>();
      call.m = call.n = n, call.job = kVectorsToo, call.otherJob = kVectorsToo, call.problem = 1, call.a = a.matrix(), call.b = b.matrix(), call.c = c.matrix();
      call.values = w.address(), call.info = memory.add(info);
      if (each.verb == Verb::gesvd) call.job = call.otherJob = 'A';
      if (each.verb == Verb::geev) call.job = kValuesOnly;
      if (each.verb == Verb::gesvda) call.k = n, call.valuesStride = n;
      if (each.verb == Verb::syevdx) call.selection = Selection::all;
      run(static_cast<Function>(&each - kFunctions.data()), call, memory);
      CHECK((info[0] > 0) == !number);
      CHECK(std::isnan(w.at(0)) == !number);
      CHECK(std::isfinite(w.at(n - 1)) == number);
    }
  }
}

TEST_CASE("what would work in more memory than there is for a job is refused by name", "[solver]") {
  Memory memory;
  memory.ranges.push_back({0, ~std::uint64_t{0} - 1});
  std::vector<std::int32_t> info(1);
  Call call = callOf<double>();
  call.n = 20000, call.job = kVectorsToo, call.a = {.address = 1 << 20, .spacing = 20000, .stride = 0}, call.values = std::uint64_t{1} << 50;
  call.info = reinterpret_cast<std::uint64_t>(info.data());
  const auto job = prepare(functionOf("Dsyevd"), call, memory);
  REQUIRE_FALSE(job.ok());
  CHECK(job.error().code == CudaError::notSupported);
  CHECK(job.error().message.find("cusolverDnDsyevd on the CPU device: it would work in ") == 0);
}

}  // namespace rouse::solver
