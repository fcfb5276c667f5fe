// Real CUDA C++, compiled by nvcc at both ends of optimization, against plain C++.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <numeric>

#include "test/ptx/cuda_source.h"
#include "test/ptx/runner.h"

using namespace rouse::test;

namespace {

struct Pair {
  int first;
  double second;
  char tail[13];
};

}  // namespace

TEST_CASE("saxpy runs on both paths") {
  const auto variant = GENERATE(kOptimized, kDebug);
  const auto path = GENERATE(Path::entry, Path::loop);
  LoadedModule module(cudaSource("basics", variant));
  std::vector<float> x(1000), y(1000), expected(1000);
  for (int i = 0; i < 1000; ++i) {
    x[i] = static_cast<float>(i) * 0.1f;
    y[i] = static_cast<float>(1000 - i);
    expected[i] = variant == kDebug ? 2.5f * x[i] + y[i] : std::fma(x[i], 2.5f, y[i]);
  }
  module.launch("saxpy", {8}, {128}, arguments(1000, 2.5f, x.data(), y.data()), 0, path);
  CHECK(y == expected);
}

TEST_CASE("grid-stride loops and atomic sums run in block loops") {
  const auto variant = GENERATE(kOptimized, kDebug);
  LoadedModule module(cudaSource("basics", variant));
  std::vector<float> x(777);
  std::iota(x.begin(), x.end(), 1.0f);
  float sum = 0;
  module.launch("strideSum", {2}, {32}, arguments(x.data(), &sum, 777), 0, Path::loop);
  CHECK(sum == 777.0f * 778.0f / 2);

  std::vector<unsigned> values(1000), bins(16), expected(16);
  for (unsigned i = 0; i < 1000; ++i) ++expected[(values[i] = i * i) & 15];
  const Journal journal =
      module.launch("histogram", {3}, {64}, arguments(values.data(), bins.data(), 1000), 0, Path::loop);
  CHECK(bins == expected);
  CHECK(journal.yields == 0);
}

TEST_CASE("shared memory, static and dynamic") {
  const auto variant = GENERATE(kOptimized, kDebug);
  LoadedModule module(cudaSource("basics", variant));
  std::vector<int> in(64), out(64), expected(64);
  for (int i = 0; i < 64; ++i) expected[i] = (in[i] = i * i - 7) * 4;
  const Journal journal = module.launch("sharedCopy", {1}, {64}, arguments(in.data(), out.data()), 64 * sizeof(int));
  CHECK(out == expected);
  CHECK(journal.barriers == 64);
  auto code = module.program().compile(module.kernel("sharedCopy"));
  REQUIRE(code.ok());
  CHECK(code->staticSharedBytes == 256);
  // And without a barrier, in a loop for each part.
  std::fill(out.begin(), out.end(), 0);
  CHECK(module.launch("sharedCopy", {1}, {64}, arguments(in.data(), out.data()), 64 * sizeof(int), Path::loop).barriers == 0);
  CHECK(out == expected);
}

TEST_CASE("function pointers, constants, addresses of variables, printf") {
  const auto variant = GENERATE(kOptimized, kDebug);
  LoadedModule module(cudaSource("basics", variant));
  std::vector<float> x(16, 1.5f);
  Journal journal = module.launch("indirect", {1}, {16}, arguments(x.data(), 0));
  CHECK(x == std::vector<float>(16, 4.0f));
  CHECK(journal.printed == "indirect %d\n");
  module.launch("indirect", {1}, {16}, arguments(x.data(), 1));
  for (const float value : x) CHECK(value == Approx(std::exp(4.0f) + 2).epsilon(1e-6));
  int counter = 0;
  std::memcpy(&counter, module.variable("counter"), sizeof counter);
  CHECK(counter == 37);
}

TEST_CASE("structures by value, recursion") {
  const auto variant = GENERATE(kOptimized, kDebug);
  LoadedModule module(cudaSource("basics", variant));
  const Pair pair{41, 1.25, "hello, world"};
  std::vector<Pair> out(3);
  module.launch("structures", {1}, {3}, arguments(pair, out.data()));
  for (const Pair& result : out) {
    CHECK(result.first == 42);
    CHECK(result.second == 2.5);
    CHECK(std::string(result.tail, 12) == "hello, world");
    CHECK(result.tail[12] == 1);
  }
  std::vector<unsigned long long> factorials(16);
  module.launch("recursion", {1}, {16}, arguments(factorials.data()));
  CHECK(factorials[15] == 1307674368000ull);
}

TEST_CASE("thread and block positions in three dimensions") {
  const auto variant = GENERATE(kOptimized, kDebug);
  const auto path = GENERATE(Path::entry, Path::loop);
  LoadedModule module(cudaSource("basics", variant));
  std::vector<unsigned> out(5 * 3 * 2 * 2 * 3 * 4), expected;
  for (unsigned bz = 0; bz < 4; ++bz)
    for (unsigned by = 0; by < 3; ++by)
      for (unsigned bx = 0; bx < 2; ++bx)
        for (unsigned z = 0; z < 2; ++z)
          for (unsigned y = 0; y < 3; ++y)
            for (unsigned x = 0; x < 5; ++x) expected.push_back(x | y << 4 | z << 8 | bx << 12 | by << 16 | bz << 20);
  module.launch("positions", {2, 3, 4}, {5, 3, 2}, arguments(out.data()), 0, path);
  CHECK(out == expected);
}

TEST_CASE("local arrays and switches") {
  const auto variant = GENERATE(kOptimized, kDebug);
  const auto path = GENERATE(Path::entry, Path::loop);
  LoadedModule module(cudaSource("basics", variant));
  std::vector<int> in(16), out(20), expected(20);
  std::iota(in.begin(), in.end(), 3);
  for (int t = 0; t < 20; ++t) {
    int values[16];
    for (int i = 0; i < 16; ++i) values[(i * 7) & 15] = in[i] + t;
    unsigned sum = 0;
    for (const int value : values) sum = sum * 3 + static_cast<unsigned>(value);
    expected[t] = static_cast<int>(sum);
  }
  module.launch("localArray", {1}, {20}, arguments(in.data(), out.data(), 16), 0, path);
  CHECK(out == expected);

  std::vector<int> selectors{0, 1, 2, 3, 4, 5, 6, -1}, chosen(8);
  module.launch("choose", {1}, {8}, arguments(selectors.data(), chosen.data()), 0, path);
  CHECK(chosen == std::vector<int>{11, -5, 6, 8, ~7, 99, -1, -1});
}

TEST_CASE("only loops that wait for others yield") {
  const auto variant = GENERATE(kOptimized, kDebug);
  LoadedModule module(cudaSource("basics", variant));
  auto waiting = module.program().compile(module.kernel("waitForFlag"));
  REQUIRE(waiting.ok());
  CHECK(waiting->mayPoll == (variant == kOptimized));
  int flag = 0;
  std::vector<int> out(4);
  module.launch("waitForFlag", {1}, {4}, arguments(&flag, out.data()));
  CHECK(out == std::vector<int>(4, 1));

  unsigned long long product = 1;
  const Path path = variant == kOptimized ? Path::loop : Path::entry;
  module.launch("multiplyAll", {1}, {10}, arguments(&product), 0, path);
  CHECK(product == 59049);
}

TEST_CASE("misaligned accesses are noted, misaligned atomics and traps stop") {
  const auto variant = GENERATE(kOptimized, kDebug);
  LoadedModule module(cudaSource("basics", variant));
  alignas(16) char bytes[32] = {};
  CHECK(module.launch("misaligned", {1}, {1}, arguments(bytes + 0, 4)).misalignedBits == 0);
  CHECK(module.launch("misaligned", {1}, {1}, arguments(bytes + 0, 6)).misalignedBits == 2);
  CHECK(module.launch("misaligned", {1}, {8}, arguments(bytes + 0, 1), 0, Path::loop).misalignedBits == 1);
  CHECK_FALSE(module.launch("misalignedAtomic", {1}, {1}, arguments(bytes + 0, 8)).misaligned);
  CHECK(module.launch("misalignedAtomic", {1}, {1}, arguments(bytes + 0, 9)).misaligned);
  CHECK(module.launch("stop", {1}, {1}, {}).trapped);
}

TEST_CASE("a loop of nothing without an end is told") {
  LoadedModule module(R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry stay(.param .u32 leaves)
{
  .reg .u32 %r<2>;
  .reg .pred %p<2>;
  ld.param.u32 %r1, [leaves];
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra LEAVES;
STAYS:
  bra.uni STAYS;
LEAVES:
  ret;
})");
  for (const Path path : {Path::entry, Path::loop}) {
    CHECK_FALSE(module.launch("stay", {1}, {1}, arguments(1), 0, path).endless);
    CHECK(module.launch("stay", {1}, {1}, arguments(0), 0, path).endless);
  }
}
