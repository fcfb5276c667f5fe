// Several units in one text, as programs that are compiled in parts have them: what they know of each other, and what they must not.
#include <catch2/catch.hpp>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "server/device/cpu/program.h"
#include "test/ptx/runner.h"

namespace rouse::test {
namespace {

std::string unit(const std::string& body) { return ".version 8.5\n.target sm_80\n.address_size 64\n" + body; }

// A kernel that stores what `body` leaves in %x.
std::string kernel(const std::string& name, const std::string& body) {
  return ".visible .entry " + name + "(.param .u64 pout)\n{\n.reg .b64 %out, %a;\n.reg .b32 %x;\nld.param.u64 %out, [pout];\n" + body +
         "st.global.u32 [%out], %x;\nret;\n}\n";
}

std::string calls(const std::string& function) {
  return "{\n.param .b32 result;\ncall.uni (result), " + function + ", ();\nld.param.b32 %x, [result];\n}\n";
}

std::string declared(const std::string& linkage, const std::string& name) { return linkage + " .func (.param .b32 out) " + name + "();\n"; }

std::string defined(const std::string& linkage, const std::string& name, const std::string& value) {
  return linkage + " .func (.param .b32 out) " + name + "()\n{\n.reg .b32 %v;\nmov.u32 %v, " + value + ";\nst.param.b32 [out], %v;\nret;\n}\n";
}

std::uint32_t run(const std::string& text, const std::string& name = "k") {
  LoadedModule module(text);
  std::uint32_t out = 0;
  module.launch(name, {1, 1, 1}, {1, 1, 1}, arguments(reinterpret_cast<std::uint64_t>(&out)));
  return out;
}

std::string failure(const std::string& text) {
  const auto program = cpu::Program::translate(text);
  REQUIRE_FALSE(program.ok());
  return program.error().message;
}

TEST_CASE("a unit calls a function that another one defines, before or behind it") {
  const std::string caller = unit(declared(".extern", "f") + kernel("k", calls("f")));
  const std::string callee = unit(defined(".visible", "f", "7"));
  CHECK(run(caller + callee) == 7);
  CHECK(run(callee + caller) == 7);
}

TEST_CASE("what a unit keeps for itself may have the name of another's") {
  const auto own = [](const std::string& name, const std::string& value, const std::string& variable) {
    return unit(".global .u32 v = " + variable + ";\n" + defined("", "f", value) +
                kernel(name, calls("f") + "{\n.reg .b32 %y;\nld.global.u32 %y, [v];\nadd.u32 %x, %x, %y;\n}\n"));
  };
  const std::string both = own("k", "1", "10") + own("other", "2", "20");
  CHECK(run(both, "k") == 11);
  CHECK(run(both, "other") == 22);
  // Nor is it found by those that ask for one.
  CHECK(failure(unit(declared(".extern", "f") + kernel("k", calls("f"))) + unit(defined("", "f", "7"))).find("'f' is not defined") != std::string::npos);
  CHECK(failure(unit(".extern .global .u32 v;\n" + kernel("k", "ld.global.u32 %x, [v];\n")) + unit(".global .u32 v = 3;\n")).find("extern variable 'v'") !=
        std::string::npos);
}

TEST_CASE("a variable and a constant of another unit, and addresses of both in initial values") {
  const std::string user = unit(".extern .global .u32 v;\n.extern .const .u32 c;\n.visible .global .u64 p = v;\n" +
                                kernel("k", "ld.global.u64 %a, [p];\nld.u32 %x, [%a];\n{\n.reg .b32 %y;\nld.const.u32 %y, [c];\nadd.u32 %x, %x, %y;\n}\n"));
  const std::string owner = unit(".visible .global .u32 v = 40;\n.visible .const .u32 c = 2;\n");
  CHECK(run(user + owner) == 42);
  CHECK(run(owner + user) == 42);
}

TEST_CASE("of weak definitions the first is kept, and one that is not weak goes before them") {
  const std::string first = unit(defined(".weak", "f", "1") + ".weak .global .u32 v = 100;\n" +
                                 kernel("k", calls("f") + "{\n.reg .b32 %y;\nld.global.u32 %y, [v];\nadd.u32 %x, %x, %y;\n}\n"));
  const std::string second = unit(defined(".weak", "f", "2") + ".weak .global .u32 v = 200;\n");
  const std::string strong = unit(defined(".visible", "f", "3") + ".visible .global .u32 v = 300;\n");
  CHECK(run(first + second) == 101);
  CHECK(run(first + second + strong) == 303);
  CHECK(run(strong + second + first) == 303);
  // Templates' kernels: once, whoever brings them.
  const std::string of = unit(".weak" + kernel("k", "mov.u32 %x, 5;\n").substr(8));
  CHECK(run(of + of) == 5);
}

TEST_CASE("of common variables the largest is there") {
  const std::string small = unit(".common .global .b32 v[2];\n" + kernel("k", "mov.u64 %a, v;\nst.global.u32 [%a+60], 9;\nld.global.u32 %x, [%a+60];\n"));
  const std::string large = unit(".common .global .b32 v[16];\n");
  for (const std::string& text : {small + large, large + small}) {
    const auto program = cpu::Program::translate(text);
    REQUIRE(program.ok());
    REQUIRE((*program)->description().variables.size() == 1);
    CHECK((*program)->description().variables[0].bytes == 64);
    CHECK(run(text) == 9);
  }
}

TEST_CASE("a variable that several units declare is aligned as the strictest asks for") {
  // Behind 16 bytes of the second unit's own; both ask where it lies.
  const std::string first = unit(".extern .shared .align 4 .b8 s[];\n" + kernel("k", "mov.u32 %x, s;\n"));
  const std::string second = unit(".extern .shared .align 1024 .b8 s[];\n.shared .align 4 .b8 own[16];\n" +
                                  kernel("other", "{\n.reg .b32 %y;\nmov.u32 %y, own;\nst.shared.u32 [%y], 1;\nmov.u32 %x, s;\n}\n"));
  for (const std::string& both : {first + second, second + first}) {
    LoadedModule module(both);
    std::uint32_t out = ~0u;
    module.launch("other", {1, 1, 1}, {1, 1, 1}, arguments(reinterpret_cast<std::uint64_t>(&out)));
    CHECK(out % 1024 == 0);
  }
  const std::string narrow = unit(".common .global .align 4 .b8 v[64];\n" + kernel("k", "{\n.reg .b64 %p;\nmov.u64 %p, v;\ncvt.u32.u64 %x, %p;\n}\n"));
  const std::string wide = unit(".common .global .align 256 .b8 v[32];\n.global .u32 before = 1;\n");
  CHECK(run(narrow + wide) % 256 == 0);
  CHECK(run(wide + narrow) % 256 == 0);
}

TEST_CASE("a variable that units declare in different state spaces is named") {
  const std::string reads = unit(".extern .const .u32 v;\n" + kernel("k", "ld.const.u32 %x, [v];\n"));
  const std::string defines = unit(".visible .global .u32 v = 3;\n");
  CHECK(failure(reads + defines).find("'v' is declared in another state space") != std::string::npos);
  CHECK(failure(defines + reads).find("'v' is declared in another state space") != std::string::npos);
}

TEST_CASE("many units after a large one are parsed in time that is theirs") {
  std::string text = unit("");
  for (int i = 0; i < 100'000; ++i) text += ".global .u32 v" + std::to_string(i) + ";\n";
  for (int i = 0; i < 20'000; ++i) text += "\n.version 8.5\n.target sm_80\n";
  const std::clock_t start = std::clock();
  CHECK(cpu::Program::translate(text).ok());
  CHECK(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC < 5);  // once 20 times as long as without the units
}

TEST_CASE("what is defined twice, or otherwise than declared, is named") {
  CHECK(failure(unit(defined(".visible", "f", "1")) + unit(defined(".visible", "f", "2"))).find("'f' is defined twice, first in line 4") != std::string::npos);
  CHECK(failure(unit(".visible .global .u32 v = 1;\n") + unit(".visible .global .u32 v = 2;\n")).find("'v' is defined twice, first in line 4") !=
        std::string::npos);
  CHECK(failure(unit(".visible .global .u32 f = 1;\n") + unit(defined(".visible", "f", "2"))).find("'f' is declared twice") != std::string::npos);
  CHECK(failure(unit(".extern .func (.param .b32 out) f(.param .b32 in);\n") + unit(defined(".visible", "f", "2"))).find("different parameters") !=
        std::string::npos);
  // Two kernels of one name: the host could not tell them apart.
  CHECK(failure(unit(kernel("k", "mov.u32 %x, 1;\n").substr(9)) + unit(kernel("k", "mov.u32 %x, 2;\n").substr(9))).find("defined twice") != std::string::npos);
  CHECK(failure(unit(declared("", "f")) + unit("") + unit(declared("", "f") + kernel("k", calls("f")))).find("'f' is not defined") != std::string::npos);
  CHECK(failure(unit("") + ".version 8.5\n.target sm_80\n.address_size 32\n").find("64 bits") != std::string::npos);
}

TEST_CASE("where an instruction comes from is told by its own unit's files") {
  const auto with = [](const std::string& file, const std::string& name) {
    return unit(".visible .entry " + name + "()\n{\n.reg .b32 %x;\n.loc 1 33 1\nmov.u32 %x, 1;\nret;\n}\n.file 1 \"" + file + "\"\n");
  };
  const std::string text = with("first.cu", "a") + with("second.cu", "b");
  const auto program = cpu::Program::translate(text);
  REQUIRE(program.ok());
  const std::size_t first = text.find("mov.u32"), second = text.rfind("mov.u32");
  CHECK((*program)->site(static_cast<std::uint32_t>(first)).file == "first.cu");
  CHECK((*program)->site(static_cast<std::uint32_t>(second)).file == "second.cu");
  CHECK((*program)->site(static_cast<std::uint32_t>(second)).fileLine == 33);
}

}  // namespace
}  // namespace rouse::test
