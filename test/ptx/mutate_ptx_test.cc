// What the fuzzers change PTX into: the same for the same seed, within its limit, and not all of it refused at the first line.
#include "test/ptx/mutate_ptx.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "server/device/ptx/check_module.h"
#include "server/device/ptx/failure.h"
#include "server/device/ptx/parser.h"

namespace rouse::test {
namespace {

constexpr std::string_view kKernel =
    ".version 8.5\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 p)\n{\n"
    ".reg .pred %p<2>;\n.reg .b32 %r<8>;\n.reg .b64 %q<4>;\n"
    "ld.param.u64 %q1, [p];\nmov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 7;\n@%p1 bra L1;\nadd.s32 %r2, %r1, 3;\nst.global.u32 [%q1], %r2;\nL1:\nret;\n}\n";

bool accepted(const std::string& text) {
  try {
    ptx::Module module = ptx::parse(text);
    ptx::checkModule(module);
    return true;
  } catch (const ptx::Failure&) {
    return false;
  }
}

}  // namespace

TEST_CASE("mutations of PTX: deterministic, bounded, different, and many of them still PTX") {
  REQUIRE(accepted(std::string(kKernel)));
  std::set<std::string> texts;
  int good = 0;
  for (std::uint32_t seed = 1; seed <= 2000; ++seed) {
    const std::string text = mutatePtx(kKernel, seed, 4096);
    REQUIRE(text == mutatePtx(kKernel, seed, 4096));
    REQUIRE(text.size() <= 4096);
    REQUIRE(mutatePtx(kKernel, seed, 100).size() <= 100);
    texts.insert(text);
    good += accepted(text);
  }
  CHECK(texts.size() > 1500);
  CHECK(good > 100);
  CHECK(good < 1900);
}

TEST_CASE("mutations of nothing, and of what is not PTX, are texts, too") {
  for (const std::string& text : {std::string(), std::string("\0\xff;{{}", 6), std::string(";"), std::string("\"")}) {
    for (std::uint32_t seed = 1; seed <= 200; ++seed) {
      REQUIRE(mutatePtx(text, seed, 1000).size() <= 1000);
      REQUIRE(crossPtx(text, kKernel, seed, 1000).size() <= 1000);
      REQUIRE(crossPtx(kKernel, text, seed, 1000) == crossPtx(kKernel, text, seed, 1000));
    }
  }
}

}  // namespace rouse::test
