// Calls on the CPU device, without the device: addresses that lie in memory are checked when they are read, and what a call gives does not
// depend on the order of its pieces. What is computed is the business of test/programs/blas_*.cu.
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "schemas/blas/lt_matmul.h"
#include "server/library/cpu/convert.h"
#include "server/library/cpu/prepare.h"
#include "test/libraries/jobs.h"

namespace rouse::library {
namespace {

std::vector<float> randoms(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> all(count);
  for (float& each : all) each = std::uniform_real_distribution<float>(-1, 1)(random);
  return all;
}

float one() { return 1; }
blas::Scalar scalar(float value) {
  blas::Scalar made;
  std::memcpy(made.words, &value, sizeof value);
  return made;
}

}  // namespace

TEST_CASE("an address in an array that is not the program's is an error, and nothing runs", "[libraries]") {
  Memory memory;
  std::vector<float> a = randoms(64, 1), b = randoms(64, 2), c(64, 7.0f);
  std::vector<std::uint64_t> as{memory.add(a), memory.add(a)}, bs{memory.add(b), memory.add(b)}, cs{memory.add(c), 0};
  blas::Call call;
  call.m = call.n = call.k = 8;
  call.batch = 2;
  call.batching = blas::Batching::arrays;
  call.a = {.address = memory.add(as), .spacing = 8};
  call.b = {.address = memory.add(bs), .spacing = 8};
  call.c = {.address = memory.add(cs), .spacing = 8};
  call.alpha = scalar(one());
  constexpr auto kFunction = blas::Function::cublasSgemmBatched;
  SECTION("null") { cs[1] = 0; }
  SECTION("outside") { cs[1] = reinterpret_cast<std::uint64_t>(&memory); }
  SECTION("its end outside") { cs[1] = cs[0] + 4; }
  SECTION("wrapping") { cs[1] = ~std::uint64_t{0} - 3; }
  auto job = prepare(kFunction, call, memory);
  REQUIRE(!job.ok());
  CHECK(job.error().code == CudaError::illegalAddress);
  CHECK(job.error().message.find("cublasSgemmBatched: C[1]: [0x") == 0);
  CHECK(c == std::vector<float>(64, 7.0f));
}

TEST_CASE("a batch whose addresses need more memory than a job may have is refused, before any is read", "[libraries]") {
  blas::Call call;
  call.m = call.n = call.k = 8;
  call.batch = 0x7fff'ffff;
  call.batching = blas::Batching::arrays;
  call.a = call.b = call.c = {.address = 8, .spacing = 8};
  call.alpha = scalar(one());
  auto job = prepare(blas::Function::cublasSgemmBatched, call, Memory());
  REQUIRE(!job.ok());
  CHECK(job.error().code == CudaError::notSupported);
  CHECK(job.error().message == "cublasSgemmBatched on the CPU device: a batch of 2147483647; at most 107374182");
}

// As in BLAS. CuPy's Lanczos method adds nothing times a row that nobody has written yet.
TEST_CASE("nothing times a vector is nothing, whatever is in it", "[libraries]") {
  for (const auto function : {blas::Function::cublasSaxpy_v2, blas::Function::cublasCaxpy_v2}) {
    Memory memory;
    std::vector<float> x(32, std::numeric_limits<float>::quiet_NaN()), y = randoms(32, 5);
    const std::vector<float> before = y;
    blas::Call call;
    call.n = 16;
    call.x = {.address = memory.add(x), .spacing = 1};
    call.y = {.address = memory.add(y), .spacing = 1};
    for (const float alpha : {0.0f, -0.0f, 1.0f}) {
      call.alpha = scalar(alpha);
      auto job = prepare(function, call, memory);
      REQUIRE(job.ok());
      runAll(**job);
      CHECK((y == before) == (alpha == 0));
    }
  }
}

TEST_CASE("pieces in any order give the same bytes", "[libraries]") {
  const std::int64_t m = 1100, n = 700, k = 40;
  Memory memory;
  std::vector<float> a = randoms(m * k, 3), b = randoms(k * n, 4), c(m * n), expected;
  blas::Call call;
  call.m = m, call.n = n, call.k = k;
  call.a = {.address = memory.add(a), .spacing = m};
  call.b = {.address = memory.add(b), .spacing = k};
  call.c = {.address = memory.add(c), .spacing = m};
  call.alpha = scalar(one());
  for (unsigned round = 0; round < 3; ++round) {
    auto job = prepare(blas::Function::cublasSgemm_v2, call, memory);
    REQUIRE(job.ok());
    std::vector<std::uint64_t> order((*job)->pieces());
    std::iota(order.begin(), order.end(), 0);
    CHECK(order.size() > 4);
    std::shuffle(order.begin(), order.end(), std::mt19937(round));
    std::fill(c.begin(), c.end(), -1.0f);
    for (const std::uint64_t piece : order) (*job)->run(piece);
    if (round == 0) expected = c;
    CHECK(c == expected);
  }
  double sum = 0;
  for (std::int64_t l = 0; l < k; ++l) sum += double(a[17 + l * m]) * b[l + 33 * k];
  CHECK(expected[17 + 33 * m] == Approx(sum).margin(1e-5));
}

TEMPLATE_TEST_CASE("nothing is read behind a vector, whatever its increment", "[libraries]", std::complex<float>, std::complex<double>) {
  using T = TestType;
  // What begins and ends where memory does.
  constexpr std::size_t kPage = 4096;
  auto* const area = static_cast<std::byte*>(::mmap(nullptr, 3 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(area != MAP_FAILED);
  REQUIRE(::mprotect(area + kPage, kPage, PROT_READ | PROT_WRITE) == 0);
  for (const std::int64_t m : {10, 11, 12, 13})
    for (const auto& [n, increment] : {std::pair{1, 1}, {2, 1}, {7, 1}, {12, 1}, {7, 3}, {12, 3}, {7, -1}, {12, -1}, {1, -2}, {7, -2}}) {
      CAPTURE(m, n, increment);
      const std::int64_t reach = (n - 1) * std::abs(increment) + 1;
      T* const x = reinterpret_cast<T*>(increment > 0 ? area + 2 * kPage - static_cast<std::size_t>(reach) * sizeof(T) : area + kPage);
      std::vector<T> a(static_cast<std::size_t>(m * n)), y(static_cast<std::size_t>(m), T(3));
      for (std::size_t i = 0; i < a.size(); ++i) a[i] = T(static_cast<float>(i % 5) - 2, static_cast<float>(i % 3) - 1);
      for (std::int64_t i = 0; i < n; ++i) x[increment > 0 ? i * increment : (i - n + 1) * increment] = T(static_cast<float>(i + 1), static_cast<float>(1 - i));
      blas::Call call;
      const blas::Type type = sizeof(T) == 8 ? blas::Type::c32 : blas::Type::c64;
      call.aType = call.xType = call.yType = call.scaleType = type;
      call.m = m, call.n = n;
      Memory memory;
      call.a = {.address = memory.add(a), .spacing = m};
      call.x = {.address = reinterpret_cast<std::uint64_t>(x), .spacing = increment};
      call.y = {.address = memory.add(y), .spacing = 1};
      const T alpha(2, 1), beta(0, 1);
      std::memcpy(call.alpha.words, &alpha, sizeof alpha);
      std::memcpy(call.beta.words, &beta, sizeof beta);
      auto job = prepare(sizeof(T) == 8 ? blas::Function::cublasCgemv_v2 : blas::Function::cublasZgemv_v2, call, memory);
      REQUIRE(job.ok());
      runAll(**job);
      for (std::int64_t i = 0; i < m; ++i) {
        T sum{};
        for (std::int64_t j = 0; j < n; ++j) sum += a[static_cast<std::size_t>(i + j * m)] * T(static_cast<float>(j + 1), static_cast<float>(1 - j));
        CHECK(y[static_cast<std::size_t>(i)] == alpha * sum + beta * T(3));
      }
    }
  ::munmap(area, 3 * kPage);
}

TEST_CASE("bytes that are no call are refused", "[libraries]") {
  Memory memory;
  const blas::Call call;
  CHECK(!cpu::prepare(9, 0, std::as_bytes(std::span(&call, 1)), memory).ok());
  CHECK(!cpu::prepare(blas::kLibrary, 0, std::as_bytes(std::span(&call, 1)).first(8), memory).ok());
  CHECK(!cpu::prepare(blas::kLtLibrary, 0, std::as_bytes(std::span(&call, 1)), memory).ok());
}

TEST_CASE("halves: every one to float and back, and rounding to nearest even", "[libraries]") {
  std::vector<std::uint16_t> all(65536), back(65536);
  std::iota(all.begin(), all.end(), 0);
  std::vector<float> wide(65536);
  cpu::halvesToFloats(all.data(), wide.data(), all.size());
  cpu::floatsToHalves(wide.data(), back.data(), wide.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool nan = (all[i] & 0x7fff) > 0x7c00;
    CHECK((nan ? back[i] == 0x7fff : back[i] == all[i]));
    const float single = cpu::halfToFloat(all[i]);
    CHECK((nan ? single != single : single == wide[i]));
    CHECK(cpu::floatToHalf(wide[i]) == back[i]);
  }
  // Between two neighbours, with instructions and without: the same.
  std::mt19937 random(9);
  std::vector<float> values(4096);
  for (float& each : values) each = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
  std::vector<std::uint16_t> fast(values.size());
  cpu::floatsToHalves(values.data(), fast.data(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(fast[i] == cpu::floatToHalf(values[i]));
  CHECK(cpu::floatToHalf(2049.0f) == cpu::floatToHalf(2048.0f));
  CHECK(cpu::floatToHalf(2051.0f) == cpu::floatToHalf(2052.0f));
  CHECK(cpu::floatToHalf(65520.0f) == 0x7c00);
  CHECK(cpu::floatToBfloat(1.00390625f) == 0x3f80);
  CHECK(cpu::floatToBfloat(1.01171875f) == 0x3f82);
}

TEST_CASE("8-bit floats: every one to float and back, rounding to nearest even, and no infinities", "[libraries]") {
  struct Format {
    void (*widen)(const std::uint8_t*, float*, std::size_t);
    void (*narrow)(const float*, std::uint8_t*, std::size_t);
    std::uint8_t one, largest;
    float largestValue, smallest;
  };
  for (const Format& f : {Format{cpu::e4m3sToFloats, cpu::floatsToE4m3s, 0x38, 0x7e, 448, 0x1p-9f}, Format{cpu::e5m2sToFloats, cpu::floatsToE5m2s, 0x3c, 0x7b, 57344, 0x1p-16f}}) {
    std::vector<std::uint8_t> codes(256), back(256);
    std::iota(codes.begin(), codes.end(), std::uint8_t{0});
    std::vector<float> values(256);
    f.widen(codes.data(), values.data(), 256);
    f.narrow(values.data(), back.data(), 256);
    for (std::size_t i = 0; i < 256; ++i) {
      CAPTURE(i);
      if ((i & 0x7f) <= f.largest) CHECK(back[i] == i);
      else if (std::isinf(values[i])) CHECK(back[i] == ((i & 0x80) | f.largest));
      else CHECK((std::isnan(values[i]) && back[i] == 0x7f));
      CHECK((values[i] == -values[i ^ 0x80] || std::isnan(values[i])));
    }
    CHECK(values[f.largest] == f.largestValue);
    CHECK(values[1] == f.smallest);
    CHECK(values[f.one] == 1);
    CHECK(std::isinf(values[0x7c]) == (f.largest == 0x7b));
    const auto one = [&](float value) {
      std::uint8_t code = 0;
      f.narrow(&value, &code, 1);
      return code;
    };
    // Between neighbours: the nearer, and in the middle that with an even code.
    for (std::uint8_t code = 0; code < f.largest; ++code) {
      CAPTURE(int(code));
      const float low = values[code], high = values[code + 1u], middle = (low + high) / 2;
      CHECK(one(middle) == code + code % 2);
      CHECK(one(std::nextafter(middle, 0.0f)) == code);
      CHECK(one(std::nextafter(middle, 1e9f)) == code + 1);
      CHECK(one(-middle) == (0x80 | (code + code % 2)));
    }
    CHECK(one(f.largestValue * 1.5f) == f.largest);
    CHECK(one(-1e30f) == (0x80 | f.largest));
    CHECK(one(std::numeric_limits<float>::denorm_min()) == 0);
    CHECK(one(-0.0f) == 0x80);
  }
}

TEST_CASE("8-bit floats: the largest value of all pieces is there when the last is done", "[libraries]") {
  const std::int64_t m = 1040, n = 600, k = 16;
  Memory memory;
  std::vector<std::uint8_t> a(m * k), b(n * k), d(m * n);
  for (std::int64_t i = 0; i < m; ++i) a[static_cast<std::size_t>(i * k)] = 0x38;  // 1
  for (std::int64_t j = 0; j < n; ++j) b[static_cast<std::size_t>(j * k)] = static_cast<std::uint8_t>(j % 0x30);
  b[static_cast<std::size_t>(577 * k)] = 0xc4;  // -3
  std::vector<float> scales{2, 0.5f, 4}, most{-1};
  blas::LtMatmul call;
  call.a = {.address = memory.add(a), .rows = k, .columns = m, .spacing = k, .type = blas::Type::e4m3};
  call.b = {.address = memory.add(b), .rows = k, .columns = n, .spacing = k, .type = blas::Type::e4m3};
  call.c = {.address = 0, .rows = m, .columns = n, .spacing = m, .type = blas::Type::bf16};
  call.d = {.address = memory.add(d), .rows = m, .columns = n, .spacing = m, .type = blas::Type::e4m3};
  call.transa = blas::Transpose::transposed;
  call.computeType = 68;
  call.alpha = scalar(one());
  call.aScale = memory.add(scales), call.bScale = call.aScale + 4, call.dScale = call.aScale + 8;
  call.amax = memory.add(most);
  auto job = cpu::prepare(blas::kLtLibrary, 0, std::as_bytes(std::span(&call, 1)), memory);
  REQUIRE(job.ok());
  REQUIRE((*job)->pieces() == 6);
  for (std::uint64_t piece = (*job)->pieces(); piece-- > 0;) (*job)->run(piece);
  CHECK(most[0] == -1);
  CHECK(!(*job)->advance());
  CHECK(most[0] == 3);              // before D's scale
  CHECK(d[577 * m + 1039] == 0xd4);  // -12
  CHECK(d[3 * m] == 0x0c);          // 3 of the smallest, times 4
}

}  // namespace rouse::library
