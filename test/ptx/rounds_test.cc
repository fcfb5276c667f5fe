// Loops by which threads divide work are gone through round by round, all threads of a block together.
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "server/device/cpu/program.h"
#include "test/cpu/launcher.h"

namespace rouse::test {
namespace {

constexpr std::uint32_t kThreads = 64, kRounds = 5, kMost = kThreads * kRounds + 7;

const std::string kPlus = "add.u32 %i, %i, %step;\n";

// out[i] = how many elements came before i, in `type`; `carried`: what else a round leaves to the next; `next`: where that is.
std::string kernel(const std::string& type, std::uint32_t bytes, const std::string& carried = "", const std::string& next = kPlus) {
  return ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 counter, .param .u32 n)\n{\n"
         ".reg .b64 %out, %counter, %at;\n.reg .b32 %i, %n, %step, %order, %sum, %room, %more;\n.reg .pred %p, %q;\n"
         "ld.param.u64 %out, [out];\nld.param.u64 %counter, [counter];\nld.param.u32 %n, [n];\n"
         "mov.u32 %i, %tid.x;\nmov.u32 %step, %ntid.x;\nmov.u32 %sum, 0;\nsetp.ge.u32 %p, %i, %n;\n@%p bra END;\n"
         "AGAIN:\natom.global.add.u32 %order, [%counter], 1;\nmad.wide.u32 %at, %i, " +
         std::to_string(bytes) + ", %out;\nst.global." + type + " [%at], %order;\n" + carried + next +
         "setp.lt.u32 %p, %i, %n;\n@%p bra AGAIN;\nEND:\nst.global.u32 [%counter+4], %sum;\nret;\n}\n";
}

struct Parameters {
  void* out;
  std::uint32_t* counter;
  std::uint32_t n;
};

// Whether all elements of a round came before all of the next.
template <class T>
bool inRounds(const std::string& text, std::uint32_t n) {
  const auto program = cpu::Program::translate(text, {.sideBySide = true});
  if (!program) FAIL(program.error().message);
  const auto code = (*program)->compile(0);
  if (!code) FAIL(code.error().message);
  REQUIRE(code->loop != nullptr);
  std::vector<T> out(kMost);
  std::uint32_t counter[2] = {};
  cpu::Launch request = cpu::launchOf(*code);
  request.block = {kThreads, 1, 1};
  cpu::mustRun(request, Parameters{out.data(), counter, n});
  REQUIRE(counter[0] == n);
  std::vector<bool> seen(n);
  bool in = true;
  for (std::uint32_t i = 0; i < n; ++i) {
    REQUIRE(std::uint32_t{out[i]} < n);
    seen[out[i]] = true;
    in = in && out[i] / kThreads == i / kThreads;
  }
  for (std::uint32_t i = 0; i < n; ++i) REQUIRE(seen[i]);
  return in;
}

}  // namespace

TEST_CASE("elements of less than a word are gone through in rounds") {
  for (const std::uint32_t n : {1u, 63u, 64u, 65u, kThreads * kRounds, kMost}) {
    INFO(n);
    CHECK(inRounds<std::uint16_t>(kernel("u16", 2), n));
  }
}

TEST_CASE("words go in rounds, and what stops at the largest number") {
  // i = i > 0x7fffffff - step ? 0x7fffffff : i + step
  const std::string bounded = "sub.u32 %room, 2147483647, %step;\nsetp.gt.u32 %q, %i, %room;\nadd.u32 %more, %i, %step;\nselp.u32 %i, 2147483647, %more, %q;\n";
  for (const std::uint32_t n : {1u, 64u, 65u, kMost}) {
    INFO(n);
    CHECK(inRounds<std::uint32_t>(kernel("u32", 4), n));
    CHECK(inRounds<std::uint16_t>(kernel("u16", 2, "", bounded), n));
  }
}

// One after the other: programs add up in order for themselves, and what they keep would come and go with each round.
TEST_CASE("what keeps more than where it is, is gone through thread by thread") {
  CHECK_FALSE(inRounds<std::uint16_t>(kernel("u16", 2, "add.u32 %sum, %sum, %order;\n"), kMost));
}

}  // namespace rouse::test
