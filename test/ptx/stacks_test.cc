// Threads that need more stack than there is: the launch ends, and nobody's memory is touched but their own.
#include <array>
#include <catch2/catch.hpp>
#include <string>

#include "server/device/cpu/program.h"
#include "test/cpu/launcher.h"

namespace rouse::test {
namespace {

constexpr std::uint32_t kThreads = 16;

Error run(const std::string& text, bool loop, std::array<std::uint32_t, kThreads>& out) {
  auto program = cpu::Program::translate(".version 8.5\n.target sm_90\n.address_size 64\n" + text);
  if (!program) FAIL(program.error().message);
  auto code = (*program)->compile(0);
  if (!code) FAIL(code.error().message);
  cpu::Launch request = cpu::launchOf(*code, !loop);
  request.block = {kThreads, 1, 1};
  const std::array<std::uint64_t, 1> parameters{reinterpret_cast<std::uint64_t>(out.data())};
  return cpu::run(request, parameters);
}

const std::string kHead =
    ".visible .entry k(.param .u64 pout)\n{\n.reg .b32 %r<32>;\n.reg .b64 %q<32>, %out, %at;\n.reg .pred %p<8>;\n.reg .b32 %lane;\n"
    "ld.param.u64 %out, [pout];\nmov.u32 %lane, %tid.x;\nmul.wide.u32 %at, %lane, 4;\nadd.u64 %out, %out, %at;\n";

// Writes near the beginning of a frame that is larger than the guard below a stack.
const std::string kLargeFrame =
    ".func (.param .b32 o) large(.param .b64 p, .param .b32 v)\n{\n.reg .b32 %r<8>;\n.reg .b64 %q<8>;\n.local .align 16 .b8 own[40000];\n"
    "ld.param.b32 %r1, [v];\nmov.u64 %q2, own;\nmul.wide.u32 %q3, %r1, 4;\nadd.u64 %q2, %q2, %q3;\n"
    "st.volatile.local.u32 [%q2+512], 0xdeadbeef;\nld.volatile.local.u32 %r2, [%q2+512];\nst.param.b32 [o], %r2;\nret;\n}\n";

}  // namespace

TEST_CASE("what is called through a pointer, with the stack nearly used up, does not reach a neighbour's") {
  const std::string text =
      kLargeFrame + kHead +
      ".local .align 16 .b8 mine[20000];\n.param .b64 x;\n.param .b32 y;\n.param .b32 z;\n"
      "proto: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b32 _);\n"
      "mov.u64 %q1, mine;\nmov.u64 %q2, 0;\n"
      "fill:\nadd.u64 %q3, %q1, %q2;\nst.volatile.local.u32 [%q3], %lane;\nadd.u64 %q2, %q2, 4;\nsetp.lt.u64 %p1, %q2, 20000;\n@%p1 bra fill;\n"
      "bar.sync 0;\nld.global.u32 %r20, [%out];\ncvt.u64.u32 %q20, %r20;\nadd.u64 %q20, %q20, 18000;\nalloca.u64 %q21, %q20;\n"
      "st.volatile.local.u32 [%q21], %lane;\nst.param.b64 [x], %q1;\nst.param.b32 [y], %lane;\nmov.u64 %q9, large;\n"
      "setp.eq.u32 %p5, %lane, 0;\n@%p5 bra skip;\ncall (z), %q9, (x, y), proto;\nskip:\nbar.sync 0;\n"
      "mov.u64 %q2, 0;\nmov.u32 %r4, 0;\n"
      "test:\nadd.u64 %q3, %q1, %q2;\nld.volatile.local.u32 %r5, [%q3];\nsetp.ne.u32 %p2, %r5, %lane;\n@%p2 add.u32 %r4, %r4, 1;\n"
      "add.u64 %q2, %q2, 4;\nsetp.lt.u64 %p1, %q2, 20000;\n@%p1 bra test;\nst.global.u32 [%out], %r4;\nret;\n}\n";
  std::array<std::uint32_t, kThreads> out{};
  const Error error = run(text, false, out);
  INFO(error.message);
  // Either it fits, and everybody has what is theirs, or it does not.
  if (error.code == CudaError::success) CHECK(out == std::array<std::uint32_t, kThreads>{});
  else CHECK(error.code == CudaError::hardwareStackError);
}

TEST_CASE("a recursion of frames larger than the guard ends in a stack error") {
  const std::string deeper =
      ".func deeper(.param .b32 n)\n{\n.reg .b32 %r<4>;\n.reg .b64 %q<4>;\n.local .align 16 .b8 own[40000];\nld.param.b32 %r1, [n];\nmov.u64 %q1, own;\n"
      "st.volatile.local.u32 [%q1], %r1;\nadd.u32 %r1, %r1, 1;\n.param .b32 next;\nst.param.b32 [next], %r1;\ncall deeper, (next);\n"
      "ld.volatile.local.u32 %r2, [%q1];\nret;\n}\n";
  const std::string text = deeper + kHead + ".param .b32 first;\nst.param.b32 [first], 0;\ncall deeper, (first);\nst.global.u32 [%out], 1;\nret;\n}\n";
  for (const bool loop : {false, true}) {
    std::array<std::uint32_t, kThreads> out{};
    const Error error = run(text, loop, out);
    INFO(error.message);
    CHECK(error.code == CudaError::hardwareStackError);
  }
}

TEST_CASE("a kernel that asks for more than any stack has is not begun") {
  std::string body;
  for (int i = 0; i < 130; ++i) {
    const std::string name = "own" + std::to_string(i);
    body += ".local .align 4 .b8 " + name + "[524288];\nmov.u64 %q1, " + name +
            ";\nadd.u64 %q1, %q1, %at;\nst.volatile.local.u32 [%q1], %lane;\nld.volatile.local.u32 %r1, [%q1];\nadd.u32 %r2, %r2, %r1;\n";
  }
  const std::string text = kHead + "mov.u32 %r2, 0;\n" + body + "st.global.u32 [%out], %r2;\nret;\n}\n";
  for (const bool loop : {false, true}) {
    std::array<std::uint32_t, kThreads> out{};
    const Error error = run(text, loop, out);
    INFO(error.message);
    CHECK(error.code == CudaError::launchOutOfResources);
    CHECK(out == std::array<std::uint32_t, kThreads>{});
  }
}

// All alive at once, and a chain over them backwards: a frame of side-by-side threads that is larger than a loop's stack once was.
TEST_CASE("thousands of values that threads side by side keep are kept") {
  constexpr std::uint32_t kValues = 2500;
  std::string text = ".visible .entry k(.param .u64 pout)\n{\n.reg .b64 %v<" + std::to_string(kValues) +
                     ">, %out, %at, %x, %sum;\n.reg .b32 %lane, %r;\nld.param.u64 %out, [pout];\nmov.u32 %lane, %tid.x;\nmul.wide.u32 %at, %lane, 4;\n"
                     "add.u64 %out, %out, %at;\ncvt.u64.u32 %x, %lane;\nadd.u64 %x, %x, 77;\nmov.u64 %sum, 0;\n";
  const auto factor = [](std::uint32_t i) { return std::uint64_t{2 * i + 3} * 0x9e37'79b9'7f4a'7c15; };
  for (std::uint32_t i = 0; i < kValues; ++i)
    text += "mul.lo.u64 %v" + std::to_string(i) + ", %x, " + std::to_string(static_cast<std::int64_t>(factor(i))) + ";\n";
  for (std::uint32_t i = kValues; i-- > 0;) {
    const std::string v = "%v" + std::to_string(i);
    text += i % 2 == 0 ? "and.b64 %sum, %sum, " + v + ";\n" : "xor.b64 %sum, %sum, " + v + ";\n";
  }
  text += "xor.b64 %sum, %sum, %v0;\nxor.b64 %sum, %sum, %v1;\nshr.u64 %at, %sum, 32;\nxor.b64 %sum, %sum, %at;\ncvt.u32.u64 %r, %sum;\nst.global.u32 [%out], %r;\nret;\n}\n";
  std::array<std::uint32_t, kThreads> expected{};
  for (std::uint32_t lane = 0; lane < kThreads; ++lane) {
    std::uint64_t sum = 0;
    for (std::uint32_t i = kValues; i-- > 0;) sum = i % 2 == 0 ? sum & factor(i) * (lane + 77) : sum ^ factor(i) * (lane + 77);
    sum ^= factor(0) * (lane + 77);
    sum ^= factor(1) * (lane + 77);
    expected[lane] = static_cast<std::uint32_t>(sum ^ sum >> 32);
  }
  for (const bool loop : {false, true}) {
    std::array<std::uint32_t, kThreads> out{};
    const Error error = run(text, loop, out);
    INFO(error.message);
    CHECK(error.code == CudaError::success);
    CHECK(out == expected);
  }
}

}  // namespace rouse::test
