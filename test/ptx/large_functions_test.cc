// Functions of very many blocks and registers, as nvcc makes of templates that are inlined into each other: what they compute, and that their
// compilation takes time in proportion to what they are.
#include <pthread.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/device/cpu/program.h"
#include "test/ptx/large_kernel.h"

namespace rouse::test {
namespace {

struct Compiled {
  std::unique_ptr<cpu::Program> program;
  cpu::KernelCode code;
  double seconds;  // of the processor
};

double processorTime() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

Compiled compile(const std::string& text, bool sideBySide = true) {
  const double start = processorTime();
  auto program = cpu::Program::translate(text, {.sideBySide = sideBySide});
  REQUIRE(program);
  auto code = (*program)->compile(0);
  REQUIRE(code);
  return {std::move(*program), *code, processorTime() - start};
}

void mustCompute(const Compiled& compiled, std::uint32_t steps) {
  for (const std::uint32_t x : {0u, ~0u, 0x1234'5678u, 0x5555'5555u}) CHECK(run(compiled.code, x) == expectedOfChain(steps, x));
}

}  // namespace

TEST_CASE("a function that is one line of tens of thousands of registers is compiled in seconds") {
  constexpr std::uint32_t kSteps = 30'000, kDistance = 256;
  const Compiled compiled = compile(line(kSteps, kDistance));
  INFO(compiled.seconds << " s");
  CHECK(compiled.seconds < 60);  // one pass alone took that, and four times as much for twice as many
  for (const std::uint32_t x : {0u, 0x1234'5678u}) CHECK(run(compiled.code, x) == expectedOfLine(kSteps, kDistance, x));
}

// As of an unrolled hash: each operation needs the one before it.
TEST_CASE("a chain of ten thousand operations is compiled in seconds") {
  constexpr std::uint32_t kSteps = 10'000;
  const Compiled compiled = compile(line(kSteps, 1));
  INFO(compiled.seconds << " s");
  CHECK(compiled.seconds < 60);  // one pass alone took that
  CHECK(run(compiled.code, 5) == expectedOfLine(kSteps, 1, 5));
}

// Sums of bfloats that round once are some sixty operations each. One thread after another takes 15 times as long.
TEST_CASE("tens of thousands of operations in one line are in vectors") {
  std::string text = ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 pout)\n{\n.reg .b64 %out, %at;\n.reg .b32 %r;\n.reg .b16 %h<4>;\n"
                     "ld.param.u64 %out, [pout];\nmov.u32 %r, %tid.x;\nmul.wide.u32 %at, %r, 2;\nadd.u64 %at, %out, %at;\n";
  const auto h = [](unsigned i) { return "%h" + std::to_string(i % 4); };
  for (unsigned i = 0; i < 4; ++i) text += "ld.global.b16 " + h(i) + ", [%at];\n";
  for (unsigned i = 0; i < 400; ++i) text += "fma.rn.bf16 " + h(i) + ", " + h(i + 1) + ", " + h(i + 2) + ", " + h(i) + ";\n";
  const Compiled compiled = compile(text + "st.global.b16 [%at], %h0;\nret;\n}\n");
  INFO(compiled.seconds << " s");
  CHECK(compiled.seconds < 60);
  CHECK(compiled.code.lanes == static_cast<bool>(__builtin_cpu_supports("avx2")));
}

// Loops over threads around what lies between two barriers, however many: as fibers a barrier takes 40 times as long.
TEST_CASE("a kernel of hundreds of barriers is compiled as loops, in time that grows with them") {
  const Compiled some = compile(rounds(50)), many = compile(rounds(200));
  INFO(some.seconds << " s and " << many.seconds << " s");
  CHECK(many.code.loop != nullptr);
  CHECK(many.seconds < 8 * some.seconds);
  CHECK(run(many.code, 5) == expectedOfRounds(200, 5));
}

// As llama.cpp's products of quantised matrices are, and its attention. As fibers they take 25 times as long.
TEST_CASE("hundreds of products of matrices in one line are in vectors") {
  const Compiled compiled = compile(products(600));
  INFO(compiled.seconds << " s");
  CHECK(compiled.seconds < 60);
  const auto fibers = runWarp(compiled.code, true, 12345);
  if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl") || std::getenv("ROUSE_CPU_LEVEL") != nullptr) return;
  CHECK(compiled.code.loop != nullptr);
  CHECK(runWarp(compiled.code, false, 12345) == fibers);
  CHECK(std::ranges::any_of(fibers, [](std::uint32_t word) { return word != 0; }));
}

// The loop over threads around one long line of code is not made one of vectors.
TEST_CASE("one line of thousands of choices is compiled in seconds") {
  for (const std::uint32_t count : {1'000u, 12'000u}) {
    const Compiled compiled = compile(choices(count));
    INFO(count << ": " << compiled.seconds << " s");
    CHECK(compiled.seconds < 60);
    CHECK(run(compiled.code, 5) == expectedOfChoices(count, 5));
  }
}

TEST_CASE("how deep the compiler recurses is no matter of its caller's stack") {
  constexpr std::uint32_t kSteps = 3'000;
  auto program = cpu::Program::translate(line(kSteps, 1));
  REQUIRE(program);
  std::optional<Result<cpu::KernelCode>> code;
  std::function<void()> work = [&] { code = (*program)->compile(0); };
  pthread_attr_t small;
  REQUIRE(pthread_attr_init(&small) == 0);
  REQUIRE(pthread_attr_setstacksize(&small, std::size_t{256} << 10) == 0);
  pthread_t thread{};
  const auto begin = [](void* opaque) -> void* {
    (*static_cast<std::function<void()>*>(opaque))();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &small, begin, &work) == 0);
  REQUIRE(pthread_join(thread, nullptr) == 0);
  REQUIRE((code && *code));
  CHECK(run(**code, 5) == expectedOfLine(kSteps, 1, 5));
}

TEST_CASE("a function of thousands of blocks computes what one of a few does") {
  for (const std::uint32_t steps : {50u, 300u, 1200u}) {
    INFO(steps);
    mustCompute(compile(chain(steps)), steps);
  }
}

// A sorting network: each thread has numbers that it exchanges, thousands of times, by what is less.
TEST_CASE("comparisons of halves take no longer than four times those of floats") {
  const auto network = [](const std::string& type, unsigned bytes) {
    constexpr unsigned kNumbers = 24, kRounds = 24;
    const std::string bits = std::to_string(8 * bytes), each = std::to_string(kNumbers * bytes);
    std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 pout, .param .u32 px)\n{\n.reg .pred %p;\n.reg .b64 %a;\n.reg .b32 %r;\n.reg .b" + bits + " %v<" +
                       std::to_string(kNumbers + 1) + ">;\nld.param.u64 %a, [pout];\nmov.u32 %r, %tid.x;\nmad.wide.u32 %a, %r, " + each + ", %a;\n";
    const auto reg = [](unsigned k) { return "%v" + std::to_string(k); };
    for (unsigned k = 0; k < kNumbers; ++k) text += "ld.global.b" + bits + " " + reg(k) + ", [%a+" + std::to_string(k * bytes) + "];\n";
    for (unsigned round = 0; round < kRounds; ++round) {
      for (unsigned k = round % 2; k + 1 < kNumbers; k += 2)
        text += "setp.lt." + type + " %p, " + reg(k + 1) + ", " + reg(k) + ";\nselp.b" + bits + " " + reg(kNumbers) + ", " + reg(k + 1) + ", " + reg(k) + ", %p;\nselp.b" + bits + " " + reg(k + 1) + ", " +
                reg(k) + ", " + reg(k + 1) + ", %p;\nmov.b" + bits + " " + reg(k) + ", " + reg(kNumbers) + ";\n";
    }
    for (unsigned k = 0; k < kNumbers; ++k) text += "st.global.b" + bits + " [%a+" + std::to_string(k * bytes) + "], " + reg(k) + ";\n";
    return text + "ret;\n}\n";
  };
  const Compiled floats = compile(network("f32", 4)), halves = compile(network("f16", 2));
  INFO(floats.seconds << " s and " << halves.seconds << " s");
  CHECK(halves.seconds < 4 * floats.seconds);
}

TEST_CASE("four times the blocks and registers take no sixteen times as long") {
  // The smaller one goes side by side, and the larger one does not: in less time than a quarter of it would.
  const Compiled small = compile(chain(1000), false), large = compile(chain(4000), false);
  INFO(small.seconds << " s and " << large.seconds << " s");
  CHECK(large.seconds < 12 * small.seconds);
  mustCompute(large, 4000);
}

}  // namespace rouse::test
