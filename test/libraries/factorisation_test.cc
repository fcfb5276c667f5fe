// Factorisations on the CPU device with what programs should not give: pivots that are no rows, matrices that are not theirs, NaNs, one matrix twice; and against sums in
// long double. Rotations of halves, which not every library of NVIDIA's makes.
#include <catch2/catch.hpp>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "server/library/cpu/number.h"
#include "test/libraries/jobs.h"

namespace rouse::library {
namespace {

using Doubles = std::vector<double>;

Doubles uniform(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Doubles all(count);
  for (double& each : all) each = std::uniform_real_distribution<double>(-1, 1)(random);
  return all;
}

// n × n matrices of doubles, one behind the other, all in `memory`.
struct Matrices {
  Matrices(Memory& memory, std::int64_t n, std::int64_t count, unsigned seed) : n(n), values(uniform(static_cast<std::size_t>(n * n * count), seed)) {
    const std::uint64_t first = memory.add(values);
    for (std::int64_t e = 0; e < count; ++e) addresses.push_back(first + static_cast<std::uint64_t>(e * n * n) * sizeof(double));
    array = memory.add(addresses);
  }
  Matrices(const Matrices&) = delete;
  blas::Operand operand() const { return {.address = array, .spacing = n}; }
  double& at(std::int64_t e, std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(e * n * n + i + j * n)]; }
  std::int64_t n;
  Doubles values;
  std::vector<std::uint64_t> addresses;
  std::uint64_t array;
};

blas::Call batchOf(std::int64_t n, std::int64_t count) {
  blas::Call call;
  call.n = n;
  call.batch = count;
  call.batching = blas::Batching::arrays;
  call.aType = call.bType = call.cType = call.xType = blas::Type::f64;
  return call;
}

}  // namespace

TEST_CASE("pivots that are no rows are an error, and nothing is written", "[libraries]") {
  const std::int64_t n = 5, count = 3;
  Memory memory;
  Matrices a(memory, n, count, 1), b(memory, n, count, 2);
  std::vector<std::int32_t> pivots(n * count, 1), infos(count, -7);
  blas::Call call = batchOf(n, count);
  call.a = a.operand();
  call.pivots = memory.add(pivots);
  const std::int32_t wrong = GENERATE(0, -1, 6, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min());
  pivots[2 * n + 3] = wrong;
  auto function = blas::Function::cublasDgetrsBatched;
  SECTION("solver") {
    call.b = b.operand();
    call.k = n;
  }
  SECTION("inverse") {
    call.c = b.operand();
    call.infos = memory.add(infos);
    function = blas::Function::cublasDgetriBatched;
  }
  const Doubles before = b.values;
  REQUIRE(blas::check(function, call).verdict == blas::Verdict::runs);
  const auto job = prepare(function, call, memory);
  REQUIRE(!job.ok());
  CHECK(job.error().code == CudaError::illegalAddress);
  CHECK(job.error().message == std::string(blas::info(function).name) + ": pivot 3 of matrix 2 is " + std::to_string(wrong) + "; they are 1 to 5");
  CHECK(b.values == before);
  CHECK(infos == std::vector<std::int32_t>(count, -7));
}

TEST_CASE("any pivots that are rows only exchange rows", "[libraries]") {
  const std::int64_t n = 6;
  Memory memory;
  Matrices a(memory, n, 1, 3), b(memory, n, 1, 4);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) a.at(0, i, j) = i == j;  // L and U are ones
  std::vector<std::int32_t> pivots{3, 1, 6, 6, 2, 1};
  blas::Call call = batchOf(n, 1);
  call.a = a.operand();
  call.b = b.operand();
  call.k = n;
  call.pivots = memory.add(pivots);
  Doubles expected = b.values;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) std::swap(expected[static_cast<std::size_t>(i + j * n)], expected[static_cast<std::size_t>(pivots[static_cast<std::size_t>(i)] - 1 + j * n)]);
  const Doubles before = b.values;
  auto job = prepare(blas::Function::cublasDgetrsBatched, call, memory);
  REQUIRE(job.ok());
  runAll(**job);
  CHECK(b.values == expected);
  call.transa = blas::Transpose::transposed;
  job = prepare(blas::Function::cublasDgetrsBatched, call, memory);
  REQUIRE(job.ok());
  runAll(**job);
  CHECK(b.values == before);
}

TEST_CASE("a matrix of a batch that is not the program's is an error, and so is an end that is not", "[libraries]") {
  const std::int64_t n = 4;
  Memory memory;
  Matrices a(memory, n, 2, 5), tau(memory, n, 2, 6);
  std::vector<std::int32_t> infos(2);
  SECTION("null") { a.addresses[1] = 0; }
  SECTION("elsewhere") { a.addresses[1] = reinterpret_cast<std::uint64_t>(&memory); }
  SECTION("too near to the end") { a.addresses[1] += sizeof(double); }
  SECTION("wrapping") { a.addresses[1] = ~std::uint64_t{0} - 7; }
  const Doubles before = a.values;
  blas::Call call = batchOf(n, 2);
  call.a = a.operand();
  call.infos = memory.add(infos);
  auto job = prepare(blas::Function::cublasDgetrfBatched, call, memory);
  REQUIRE(!job.ok());
  CHECK(job.error().code == CudaError::illegalAddress);
  CHECK(job.error().message.find("cublasDgetrfBatched: A[1]: [0x") == 0);
  call.infos = 0;
  call.m = n;
  call.x = {.address = tau.array, .spacing = 1};
  job = prepare(blas::Function::cublasDgeqrfBatched, call, memory);
  REQUIRE(!job.ok());
  CHECK(job.error().message.find("cublasDgeqrfBatched: A[1]: [0x") == 0);
  CHECK(a.values == before);
}

TEST_CASE("a batch that needs more memory than a job may have is refused, before any is read", "[libraries]") {
  blas::Call call = batchOf(1 << 20, 1 << 20);
  call.a = call.b = {.address = 8, .spacing = 1 << 20};
  call.k = 1;
  call.pivots = 8;
  auto job = prepare(blas::Function::cublasDgetrsBatched, call, Memory());
  REQUIRE(!job.ok());
  CHECK(job.error().code == CudaError::notSupported);
  CHECK(job.error().message == "cublasDgetrsBatched on the CPU device: 1099511627776 pivots; at most 1073741824");
  call = batchOf(2, 0x7fff'ffff);
  call.a = {.address = 8, .spacing = 2};
  call.infos = 8;
  job = prepare(blas::Function::cublasDgetrfBatched, call, Memory());
  REQUIRE(!job.ok());
  CHECK(job.error().message == "cublasDgetrfBatched on the CPU device: a batch of 2147483647; at most 107374182");
}

TEST_CASE("NaNs and infinities end, with pivots that are rows", "[libraries]") {
  const std::int64_t n = 40, count = 3;
  Memory memory;
  Matrices a(memory, n, count, 7), tau(memory, n, count, 8);
  std::vector<std::int32_t> pivots(n * count), infos(count);
  for (std::size_t i = 0; i < a.values.size(); ++i)
    if (i % 7 == 0) a.values[i] = i % 2 == 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  const Doubles before = a.values;
  blas::Call call = batchOf(n, count);
  call.a = a.operand();
  call.pivots = memory.add(pivots);
  call.infos = memory.add(infos);
  auto job = prepare(blas::Function::cublasDgetrfBatched, call, memory);
  REQUIRE(job.ok());
  runAll(**job);
  for (std::int64_t i = 0; i < n * count; ++i) CHECK((pivots[static_cast<std::size_t>(i)] > i % n && pivots[static_cast<std::size_t>(i)] <= n));
  a.values = before;
  call.pivots = call.infos = 0;
  call.m = n;
  call.x = {.address = tau.array, .spacing = 1};
  job = prepare(blas::Function::cublasDgeqrfBatched, call, memory);
  REQUIRE(job.ok());
  runAll(**job);
}

TEST_CASE("what a batch gives does not depend on the order of its pieces, and L U is the matrix", "[libraries]") {
  const std::int64_t n = 30, count = 100;
  Memory memory;
  Matrices a(memory, n, count, 9);
  std::vector<std::int32_t> pivots(n * count), infos(count);
  blas::Call call = batchOf(n, count);
  call.a = a.operand();
  call.pivots = memory.add(pivots);
  call.infos = memory.add(infos);
  const Doubles before = a.values;
  Doubles made;
  std::vector<std::int32_t> order;
  for (unsigned round = 0; round < 3; ++round) {
    a.values.assign(before.begin(), before.end());
    auto job = prepare(blas::Function::cublasDgetrfBatched, call, memory);
    REQUIRE(job.ok());
    CHECK((*job)->pieces() > 4);
    CHECK((*job)->pieces() < static_cast<std::uint64_t>(count));
    runAll(**job, round);
    if (round == 0) made = a.values, order = pivots;
    CHECK(a.values == made);
    CHECK(pivots == order);
  }
  CHECK(infos == std::vector<std::int32_t>(count, 0));
  for (std::int64_t e = 0; e < count; e += 33) {
    std::vector<std::int64_t> rows(n);
    for (std::int64_t i = 0; i < n; ++i) rows[static_cast<std::size_t>(i)] = i;
    for (std::int64_t i = 0; i < n; ++i) std::swap(rows[static_cast<std::size_t>(i)], rows[static_cast<std::size_t>(order[static_cast<std::size_t>(e * n + i)] - 1)]);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i) {
        long double sum = 0;
        for (std::int64_t l = 0; l <= std::min(i, j); ++l) sum += (l == i ? 1.0L : static_cast<long double>(a.at(e, i, l))) * a.at(e, l, j);
        CHECK(static_cast<double>(sum) == Approx(before[static_cast<std::size_t>(e * n * n + rows[static_cast<std::size_t>(i)] + j * n)]).margin(1e-13));
      }
  }
}

TEST_CASE("one matrix twice in a batch spoils only itself", "[libraries]") {
  const std::int64_t n = 12;
  Memory memory;
  Matrices a(memory, n, 3, 10);
  a.addresses[1] = a.addresses[0];
  std::vector<std::int32_t> pivots(n * 3), infos(3);
  blas::Call call = batchOf(n, 3);
  call.a = a.operand();
  call.pivots = memory.add(pivots);
  call.infos = memory.add(infos);
  auto job = prepare(blas::Function::cublasDgetrfBatched, call, memory);
  REQUIRE(job.ok());
  runAll(**job);
  for (const std::int32_t pivot : pivots) CHECK((pivot >= 1 && pivot <= n));
}

TEST_CASE("a wide matrix is reflected by as many columns as it has rows", "[libraries]") {
  const std::int64_t m = 3, n = 9000;  // more than one slice
  Memory memory;
  Doubles a = uniform(static_cast<std::size_t>(m * n), 11), tau(m);
  const Doubles before = a;
  std::vector<std::uint64_t> as{memory.add(a)}, taus{memory.add(tau)};
  blas::Call call = batchOf(n, 1);
  call.m = m;
  call.a = {.address = memory.add(as), .spacing = m};
  call.x = {.address = memory.add(taus), .spacing = 1};
  REQUIRE(blas::check(blas::Function::cublasDgeqrfBatched, call).verdict == blas::Verdict::runs);
  auto job = prepare(blas::Function::cublasDgeqrfBatched, call, memory);
  REQUIRE(job.ok());
  runAll(**job);
  for (std::int64_t j = 0; j < n; j += 17) {
    long double column[m] = {};
    for (std::int64_t i = 0; i <= std::min(j, m - 1); ++i) column[i] = a[static_cast<std::size_t>(i + j * m)];
    for (std::int64_t l = m - 1; l >= 0; --l) {
      const auto v = [&](std::int64_t i) { return i == l ? 1.0L : static_cast<long double>(a[static_cast<std::size_t>(i + l * m)]); };
      long double sum = 0;
      for (std::int64_t i = l; i < m; ++i) sum += v(i) * column[i];
      for (std::int64_t i = l; i < m; ++i) column[i] -= v(i) * sum * tau[static_cast<std::size_t>(l)];
    }
    for (std::int64_t i = 0; i < m; ++i) CHECK(static_cast<double>(column[i]) == Approx(before[static_cast<std::size_t>(i + j * m)]).margin(1e-14));
  }
}

TEST_CASE("rotations are made of halves, and of numbers whose squares are none", "[libraries]") {
  Memory memory;
  std::vector<std::uint16_t> halves{cpu::floatToHalf(3), cpu::floatToHalf(-4), 0, 0};
  const std::uint64_t first = memory.add(halves);
  blas::Call call;
  call.xType = call.scaleType = blas::Type::f16;
  call.executionType = blas::Type::f32;
  call.scalars = blas::Scalars::inMemory;
  for (std::uint64_t i = 0; i < 4; ++i) call.rotation[i] = first + 2 * i;
  REQUIRE(blas::check(blas::Function::cublasRotgEx, call).verdict == blas::Verdict::runs);
  auto job = prepare(blas::Function::cublasRotgEx, call, memory);
  REQUIRE(job.ok());
  runAll(**job);
  CHECK(cpu::halfToFloat(halves[0]) == -5);
  CHECK(cpu::halfToFloat(halves[2]) == Approx(-0.6).margin(1e-3));
  CHECK(cpu::halfToFloat(halves[3]) == Approx(0.8).margin(1e-3));

  Doubles values{3e300, 4e300, 0, 0};
  call.xType = call.scaleType = blas::Type::f64;
  const std::uint64_t doubles = memory.add(values);
  for (std::uint64_t i = 0; i < 4; ++i) call.rotation[i] = doubles + 8 * i;
  job = prepare(blas::Function::cublasDrotg_v2, call, memory);
  REQUIRE(job.ok());
  runAll(**job);
  CHECK(values[0] == Approx(5e300));
  CHECK(values[2] == Approx(0.6));

  // A first factor below 0 makes everything 0, as in BLAS's own definition.
  Doubles below{-1, 2, 3, 4, 7, 7, 7, 7, 7};
  call.aType = call.bType = call.yType = blas::Type::f64;
  for (std::uint64_t i = 0, at = memory.add(below); i < 5; ++i) call.rotation[i] = at + 8 * i;
  job = prepare(blas::Function::cublasDrotmg_v2, call, memory);
  REQUIRE(job.ok());
  runAll(**job);
  CHECK(below == Doubles{0, 0, 0, 4, -1, 0, 0, 0, 0});

  // Of factors that no scaling brings into range it ends all the same.
  for (const double factor : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(), 5e-324, 1e308, -1e308}) {
    Doubles modified{factor, factor, 1, 1, 0, 0, 0, 0, 0};
    const std::uint64_t at = memory.add(modified);
    for (std::uint64_t i = 0; i < 5; ++i) call.rotation[i] = at + 8 * i;
    job = prepare(blas::Function::cublasDrotmg_v2, call, memory);
    REQUIRE(job.ok());
    runAll(**job);
  }
}

}  // namespace rouse::library
