// Functions of very many blocks and registers, as nvcc makes of templates that are inlined into each other: what they compute, and that their
// compilation takes time in proportion to what they are.
#include <pthread.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/device/cpu/program.h"
#include "test/cpu/launcher.h"

namespace rouse::test {
namespace {

// Every so many steps a value is kept to the end.
constexpr std::uint32_t kKept = 256;

// Twice through a chain of steps: each goes one of two ways by a bit of the argument, and both write its register. `r0` starts at zero without being
// written; from a step's register of the round before comes what a loop carries.
std::string chain(std::uint32_t steps) {
  std::string text = ".version 8.5\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 pout, .param .u32 px)\n{\n.reg .b32 %r<" +
                     std::to_string(steps + 1) + ">;\n.reg .b32 %x, %bit, %sum, %round;\n.reg .b64 %out;\n.reg .pred %p;\n" +
                     "ld.param.u64 %out, [pout];\nld.param.u32 %x, [px];\nmov.u32 %round, 0;\nagain:\n";
  for (std::uint32_t i = 1; i <= steps; ++i) {
    const std::string own = "%r" + std::to_string(i), before = "%r" + std::to_string(i - 1), label = std::to_string(i);
    text += "shr.u32 %bit, %x, " + std::to_string(i % 31) + ";\nand.b32 %bit, %bit, 1;\nsetp.eq.u32 %p, %bit, 0;\n@%p bra even" + label + ";\nmad.lo.u32 " +
            own + ", " + before + ", 3, " + (i % 101 == 0 ? own : label) + ";\nbra next" + label + ";\neven" + label + ":\nadd.u32 " + own + ", " + before +
            ", 1;\nnext" + label + ":\n";
  }
  text += "add.u32 %round, %round, 1;\nsetp.lt.u32 %p, %round, 2;\n@%p bra again;\nmov.u32 %sum, 0;\n";
  for (std::uint32_t i = 0; i <= steps; i += kKept) text += "xor.b32 %sum, %sum, %r" + std::to_string(i) + ";\nmul.lo.u32 %sum, %sum, 5;\n";
  return text + "st.global.u32 [%out], %sum;\nret;\n}\n";
}

std::uint32_t expected(std::uint32_t steps, std::uint32_t x) {
  std::vector<std::uint32_t> r(steps + 1);
  for (int round = 0; round < 2; ++round)
    for (std::uint32_t i = 1; i <= steps; ++i) r[i] = (x >> i % 31 & 1) != 0 ? r[i - 1] * 3 + (i % 101 == 0 ? r[i] : i) : r[i - 1] + 1;
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i <= steps; i += kKept) sum = (sum ^ r[i]) * 5;
  return sum;
}

struct Compiled {
  std::unique_ptr<cpu::Program> program;
  cpu::KernelCode code;
  double seconds;  // of the processor
};

double processorTime() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

Compiled compile(const std::string& text) {
  const double start = processorTime();
  auto program = cpu::Program::translate(text);
  REQUIRE(program);
  auto code = (*program)->compile(0);
  REQUIRE(code);
  return {std::move(*program), *code, processorTime() - start};
}

std::uint32_t run(const Compiled& compiled, std::uint32_t x) {
  cpu::Launch request;
  request.entry = compiled.code.entry;
  request.localBytes = compiled.code.localBytes;
  request.block = {1, 1, 1};
  request.workers = 1;
  std::uint32_t got = 0;
  struct {
    std::uint32_t* out;
    std::uint32_t x;
  } const parameters{&got, x};
  cpu::mustRun(request, parameters);
  return got;
}

void mustCompute(const Compiled& compiled, std::uint32_t steps) {
  for (const std::uint32_t x : {0u, ~0u, 0x1234'5678u, 0x5555'5555u}) CHECK(run(compiled, x) == expected(steps, x));
}

// One line, without branches, of as many registers as steps, gone through twice: each step takes from the one `distance` before it.
std::string line(std::uint32_t steps, std::uint32_t distance) {
  std::string text = ".version 8.5\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 pout, .param .u32 px)\n{\n.reg .b32 %r<" +
                     std::to_string(steps + 1) + ">;\n.reg .b32 %round;\n.reg .b64 %out;\n.reg .pred %p;\n" +
                     "ld.param.u64 %out, [pout];\nld.param.u32 %r0, [px];\nmov.u32 %round, 0;\nagain:\n";
  for (std::uint32_t i = 1; i <= steps; ++i) {
    const std::string registers = " %r" + std::to_string(i) + ", %r" + std::to_string(i - std::min(i, distance)) + ", ";
    text += i / distance % 2 == 0 ? "mul.hi.u32" + registers + "0x9e3779b9;\n" : "sub.u32" + registers + std::to_string(7 * i) + ";\n";
  }
  for (std::uint32_t i = 0; i < distance && i < steps; ++i) text += "xor.b32 %r0, %r0, %r" + std::to_string(steps - i) + ";\n";
  return text + "add.u32 %round, %round, 1;\nsetp.lt.u32 %p, %round, 2;\n@%p bra again;\nst.global.u32 [%out], %r0;\nret;\n}\n";
}

std::uint32_t expectedOfLine(std::uint32_t steps, std::uint32_t distance, std::uint32_t x) {
  std::vector<std::uint32_t> r(steps + 1);
  r[0] = x;
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t i = 1; i <= steps; ++i) {
      const std::uint32_t from = r[i - std::min(i, distance)];
      r[i] = i / distance % 2 == 0 ? static_cast<std::uint32_t>(from * 0x9e3779b9ull >> 32) : from - 7 * i;
    }
    for (std::uint32_t i = 0; i < distance && i < steps; ++i) r[0] ^= r[steps - i];
  }
  return r[0];
}

}  // namespace

TEST_CASE("a function that is one line of tens of thousands of registers is compiled in seconds") {
  constexpr std::uint32_t kSteps = 30'000, kDistance = 256;
  const Compiled compiled = compile(line(kSteps, kDistance));
  INFO(compiled.seconds << " s");
  CHECK(compiled.seconds < 60);  // one pass alone took that, and four times as much for twice as many
  for (const std::uint32_t x : {0u, 0x1234'5678u}) CHECK(run(compiled, x) == expectedOfLine(kSteps, kDistance, x));
}

// As of an unrolled hash: each operation needs the one before it.
TEST_CASE("a chain of ten thousand operations is compiled in seconds") {
  constexpr std::uint32_t kSteps = 10'000;
  const Compiled compiled = compile(line(kSteps, 1));
  INFO(compiled.seconds << " s");
  CHECK(compiled.seconds < 60);  // one pass alone took that
  CHECK(run(compiled, 5) == expectedOfLine(kSteps, 1, 5));
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
  CHECK(run({std::move(*program), **code, 0}, 5) == expectedOfLine(kSteps, 1, 5));
}

TEST_CASE("a function of thousands of blocks computes what one of a few does") {
  for (const std::uint32_t steps : {50u, 300u, 1200u}) {
    INFO(steps);
    mustCompute(compile(chain(steps)), steps);
  }
}

TEST_CASE("four times the blocks and registers take no sixteen times as long") {
  const Compiled small = compile(chain(1000)), large = compile(chain(4000));
  INFO(small.seconds << " s and " << large.seconds << " s");
  CHECK(large.seconds < 12 * small.seconds);
  mustCompute(large, 4000);
}

}  // namespace rouse::test
