// What single instructions give, by values: what the ISA says, and where it leaves that open or GPUs do otherwise, what these give.
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "server/device/cpu/program.h"
#include "test/cpu/launcher.h"

namespace rouse::test {
namespace {

struct Values {
  std::uint64_t x, y, z, wanted;
};

// %x, %y and %z are sources of 64 bits, %a, %b and %c their low words, %h and %i the low halves of %x and %y; into %r.
struct Golden {
  const char* text;
  std::vector<Values> values;
};

// Whole vectors, and a part of one.
constexpr std::uint32_t kThreads = 43;

std::string kernel(const std::string& text) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 pvalues)\n{\n"
         ".reg .b64 %x, %y, %z, %r, %at, %by;\n.reg .b32 %a, %b, %c, %t;\n.reg .b16 %h, %i;\n.reg .f32 %f;\n.reg .f64 %d;\n.reg .pred %p;\n"
         "ld.param.u64 %at, [pvalues];\nmov.u32 %t, %tid.x;\nmul.wide.u32 %by, %t, 32;\nadd.u64 %at, %at, %by;\n"
         "ld.global.v2.u64 {%x, %y}, [%at];\nld.global.u64 %z, [%at+16];\n"
         "cvt.u32.u64 %a, %x;\ncvt.u32.u64 %b, %y;\ncvt.u32.u64 %c, %z;\ncvt.u16.u64 %h, %x;\ncvt.u16.u64 %i, %y;\n" +
         text + "\nst.global.u64 [%at+24], %r;\nret;\n}\n";
}

void check(const Golden& golden) {
  INFO(golden.text);
  for (const bool sideBySide : {true, false}) {
    const auto program = cpu::Program::translate(kernel(golden.text), {.sideBySide = sideBySide});
    if (!program) FAIL(program.error().message);
    const auto code = (*program)->compile(0);
    if (!code) FAIL(code.error().message);
    REQUIRE(code->loop != nullptr);
    for (const bool loop : {true, false}) {
      INFO((!loop ? "fibers" : sideBySide ? "vectors" : "loops"));
      std::vector<Values> values;
      while (values.size() < kThreads) values.push_back(golden.values[values.size() % golden.values.size()]);
      for (Values& each : values) each.wanted = ~each.wanted;
      cpu::Launch request = cpu::launchOf(*code, !loop);
      request.block = {kThreads, 1, 1};
      cpu::mustRun(request, values.data());
      for (std::uint32_t k = 0; k < kThreads; ++k) {
        const Values& wanted = golden.values[k % golden.values.size()];
        INFO(std::hex << "of " << wanted.x << ", " << wanted.y << ", " << wanted.z << ": " << values[k].wanted << ", not " << wanted.wanted);
        CHECK(values[k].wanted == wanted.wanted);
      }
    }
  }
}

// By zero the ISA leaves open. GPUs give all ones, as quotient and as remainder.
const Golden kDivisions[] = {
    {"div.u16 %h, %h, %i; cvt.u64.u16 %r, %h;",
     {{0x64, 7, 0, 0xe}, {0x64, 0, 0, 0xffff}, {0, 0, 0, 0xffff}, {0xffff, 0, 0, 0xffff}, {0x8000, 0xffff, 0, 0}, {7, 0x8000, 0, 0}}},
    {"rem.u16 %h, %h, %i; cvt.u64.u16 %r, %h;",
     {{0x64, 7, 0, 2}, {0x64, 0, 0, 0xffff}, {0, 0, 0, 0xffff}, {0xffff, 0, 0, 0xffff}, {0x8000, 0xffff, 0, 0x8000}, {7, 0x8000, 0, 7}}},
    {"div.s16 %h, %h, %i; cvt.u64.u16 %r, %h;",
     {{0xff9c, 7, 0, 0xfff2}, {0x64, 0, 0, 0xffff}, {0, 0, 0, 0xffff}, {0xffff, 0, 0, 0xffff}, {0x8000, 0xffff, 0, 0x8000}, {0x8000, 0, 0, 0xffff}, {0x8000, 1, 0, 0x8000}, {7, 0xffff, 0, 0xfff9}}},
    {"rem.s16 %h, %h, %i; cvt.u64.u16 %r, %h;",
     {{0xff9c, 7, 0, 0xfffe}, {0x64, 0, 0, 0xffff}, {0, 0, 0, 0xffff}, {0xffff, 0, 0, 0xffff}, {0x8000, 0xffff, 0, 0}, {0x8000, 0, 0, 0xffff}, {0x8000, 1, 0, 0}, {7, 0xffff, 0, 0}}},
    {"div.u32 %a, %a, %b; cvt.u64.u32 %r, %a;",
     {{0x64, 7, 0, 0xe}, {0x64, 0, 0, 0xffffffff}, {0, 0, 0, 0xffffffff}, {0xffffffff, 0, 0, 0xffffffff}, {0x80000000, 0xffffffff, 0, 0}, {7, 0x80000000, 0, 0}}},
    {"rem.u32 %a, %a, %b; cvt.u64.u32 %r, %a;",
     {{0x64, 7, 0, 2}, {0x64, 0, 0, 0xffffffff}, {0, 0, 0, 0xffffffff}, {0xffffffff, 0, 0, 0xffffffff}, {0x80000000, 0xffffffff, 0, 0x80000000}, {7, 0x80000000, 0, 7}}},
    {"div.s32 %a, %a, %b; cvt.u64.u32 %r, %a;",
     {{0xffffff9c, 7, 0, 0xfffffff2}, {0x64, 0, 0, 0xffffffff}, {0, 0, 0, 0xffffffff}, {0xffffffff, 0, 0, 0xffffffff}, {0x80000000, 0xffffffff, 0, 0x80000000}, {0x80000000, 0, 0, 0xffffffff}, {0x80000000, 1, 0, 0x80000000}, {7, 0xffffffff, 0, 0xfffffff9}}},
    {"rem.s32 %a, %a, %b; cvt.u64.u32 %r, %a;",
     {{0xffffff9c, 7, 0, 0xfffffffe}, {0x64, 0, 0, 0xffffffff}, {0, 0, 0, 0xffffffff}, {0xffffffff, 0, 0, 0xffffffff}, {0x80000000, 0xffffffff, 0, 0}, {0x80000000, 0, 0, 0xffffffff}, {0x80000000, 1, 0, 0}, {7, 0xffffffff, 0, 0}}},
    {"div.u64 %r, %x, %y;",
     {{0x64, 7, 0, 0xe}, {0x64, 0, 0, 0xffffffffffffffff}, {0, 0, 0, 0xffffffffffffffff}, {0xffffffffffffffff, 0, 0, 0xffffffffffffffff}, {0x8000000000000000, 0xffffffffffffffff, 0, 0}, {7, 0x8000000000000000, 0, 0}}},
    {"rem.u64 %r, %x, %y;",
     {{0x64, 7, 0, 2}, {0x64, 0, 0, 0xffffffffffffffff}, {0, 0, 0, 0xffffffffffffffff}, {0xffffffffffffffff, 0, 0, 0xffffffffffffffff}, {0x8000000000000000, 0xffffffffffffffff, 0, 0x8000000000000000}, {7, 0x8000000000000000, 0, 7}}},
    {"div.s64 %r, %x, %y;",
     {{0xffffffffffffff9c, 7, 0, 0xfffffffffffffff2}, {0x64, 0, 0, 0xffffffffffffffff}, {0, 0, 0, 0xffffffffffffffff}, {0xffffffffffffffff, 0, 0, 0xffffffffffffffff}, {0x8000000000000000, 0xffffffffffffffff, 0, 0x8000000000000000}, {0x8000000000000000, 0, 0, 0xffffffffffffffff}, {0x8000000000000000, 1, 0, 0x8000000000000000}, {7, 0xffffffffffffffff, 0, 0xfffffffffffffff9}}},
    {"rem.s64 %r, %x, %y;",
     {{0xffffffffffffff9c, 7, 0, 0xfffffffffffffffe}, {0x64, 0, 0, 0xffffffffffffffff}, {0, 0, 0, 0xffffffffffffffff}, {0xffffffffffffffff, 0, 0, 0xffffffffffffffff}, {0x8000000000000000, 0xffffffffffffffff, 0, 0}, {0x8000000000000000, 0, 0, 0xffffffffffffffff}, {0x8000000000000000, 1, 0, 0}, {7, 0xffffffffffffffff, 0, 0}}},
};

// Operands of 64-bit ones beyond 255 the ISA does not allow. ptxas makes shifts of them for sm_80 to sm_100, which take all of the operand.
const Golden kBitFields[] = {
    {"bfe.u64 %r, %x, %b, %c;",
     {{0x8123456789abcdef, 4, 0xc, 0xcde}, {0x8123456789abcdef, 0x3c, 3, 0}, {0x8123456789abcdef, 0x3c, 0x28, 8}, {0x8123456789abcdef, 0x3f, 1, 1}, {0x8123456789abcdef, 0x40, 1, 0}, {0x8123456789abcdef, 0, 0x40, 0x8123456789abcdef}, {0x8123456789abcdef, 8, 0, 0}, {0x8123456789abcdef, 0xff, 0xff, 0}, {0x8123456789abcdef, 0x100, 8, 0}, {0x8123456789abcdef, 0x80000000, 4, 0}, {0x8123456789abcdef, 4, 0x100, 0x8123456789abcde}, {0x8123456789abcdef, 4, 0x80000000, 0x8123456789abcde}, {0x8123456789abcdef, 1, 0xffffffff, 0x4091a2b3c4d5e6f7}}},
    {"bfe.s64 %r, %x, %b, %c;",
     {{0x8123456789abcdef, 4, 0xc, 0xfffffffffffffcde}, {0x8123456789abcdef, 0x3c, 3, 0}, {0x8123456789abcdef, 0x3c, 0x28, 0xfffffffffffffff8}, {0x8123456789abcdef, 0x3f, 1, 0xffffffffffffffff}, {0x8123456789abcdef, 0x40, 1, 0xffffffffffffffff}, {0x8123456789abcdef, 0, 0x40, 0x8123456789abcdef}, {0x8123456789abcdef, 8, 0, 0}, {0x8123456789abcdef, 0xff, 0xff, 0xffffffffffffffff}, {0x8123456789abcdef, 0x100, 8, 0xffffffffffffffff}, {0x8123456789abcdef, 0x80000000, 4, 0xffffffffffffffff}, {0x8123456789abcdef, 4, 0x100, 0xf8123456789abcde}, {0x8123456789abcdef, 4, 0x80000000, 0xf8123456789abcde}, {0x8123456789abcdef, 1, 0xffffffff, 0xc091a2b3c4d5e6f7}}},
    {"bfe.u32 %a, %a, %b, %c; cvt.u64.u32 %r, %a;",
     {{0x89abcdef, 4, 0xc, 0xcde}, {0x89abcdef, 0x1c, 3, 0}, {0x89abcdef, 0x1c, 0x28, 8}, {0x89abcdef, 0x1f, 1, 1}, {0x89abcdef, 0x20, 1, 0}, {0x89abcdef, 0, 0x20, 0x89abcdef}, {0x89abcdef, 8, 0, 0}, {0x89abcdef, 0xff, 0xff, 0}, {0x89abcdef, 0x100, 8, 0xef}, {0x89abcdef, 0x80000004, 4, 0xe}, {0x89abcdef, 4, 0x100, 0}}},
    {"bfe.s32 %a, %a, %b, %c; cvt.u64.u32 %r, %a;",
     {{0x89abcdef, 4, 0xc, 0xfffffcde}, {0x89abcdef, 0x1c, 3, 0}, {0x89abcdef, 0x1c, 0x28, 0xfffffff8}, {0x89abcdef, 0x1f, 1, 0xffffffff}, {0x89abcdef, 0x20, 1, 0xffffffff}, {0x89abcdef, 0, 0x20, 0x89abcdef}, {0x89abcdef, 8, 0, 0}, {0x89abcdef, 0xff, 0xff, 0xffffffff}, {0x89abcdef, 0x100, 8, 0xffffffef}, {0x89abcdef, 0x80000004, 4, 0xfffffffe}, {0x89abcdef, 4, 0x100, 0}}},
    {"mov.u64 %y, 0x1111222233334444; bfi.b64 %r, %x, %y, %b, %c;",
     {{0x8123456789abcdef, 4, 8, 0x1111222233334ef4}, {0x8123456789abcdef, 0x3c, 8, 0xf111222233334444}, {0x8123456789abcdef, 0x40, 8, 0x1111222233334444}, {0x8123456789abcdef, 8, 0x40, 0x23456789abcdef44}, {0x8123456789abcdef, 0x100, 8, 0x1111222233334444}, {0x8123456789abcdef, 0, 0x100, 0x8123456789abcdef}, {0x8123456789abcdef, 8, 0x80000000, 0x23456789abcdef44}}},
};

// As the instructions do it that ptxas makes for sm_80 to sm_100: not as the ISA says where a sum is too large for u32, or an upper half merged.
const Golden kVideo[] = {
    {"vadd.u32.u32.u32.sat %a, %a, %b; cvt.u64.u32 %r, %a;",
     {{0x7fffffff, 0x80000000, 0x1234abcd, 0xffffffff}, {0xffffffff, 1, 0x90000001, 0}, {5, 7, 0xfffffffe, 0xc}, {0x80000003, 0x80000001, 0x80000000, 4}, {2, 0x1f, 7, 0x21}}},
    {"vadd.s32.s32.s32.sat %a, %a, %b; cvt.u64.u32 %r, %a;",
     {{0x7fffffff, 0x80000000, 0x1234abcd, 0xffffffff}, {0xffffffff, 1, 0x90000001, 0}, {5, 7, 0xfffffffe, 0xc}, {0x80000003, 0x80000001, 0x80000000, 0x80000000}, {2, 0x1f, 7, 0x21}}},
    {"vsub.u32.u32.u32.sat %a.h0, %a, %b, %c; cvt.u64.u32 %r, %a;",
     {{0x7fffffff, 0x80000000, 0x1234abcd, 0x1234ffff}, {0xffffffff, 1, 0x90000001, 0x9000ffff}, {5, 7, 0xfffffffe, 0xffffffff}, {0x80000003, 0x80000001, 0x80000000, 0x80000002}, {2, 0x1f, 7, 0xffff}}},
    {"vsub.s32.s32.s32.sat %a.b1, %a, %b, %c; cvt.u64.u32 %r, %a;",
     {{0x7fffffff, 0x80000000, 0x1234abcd, 0x12347fcd}, {0xffffffff, 1, 0x90000001, 0x90007f01}, {5, 7, 0xfffffffe, 0xffff7ffe}, {0x80000003, 0x80000001, 0x80000000, 0x80000200}, {2, 0x1f, 7, 0x7f07}}},
    {"vmin.s32.s32.s32 %a.h1, %a, %b, %c; cvt.u64.u32 %r, %a;",
     {{0x7fffffff, 0x80000000, 0x1234abcd, 0x8000abcd}, {0xffffffff, 1, 0x90000001, 0xffff0001}, {5, 7, 0xfffffffe, 0xfffe}, {0x80000003, 0x80000001, 0x80000000, 0x80000000}, {2, 0x1f, 7, 7}}},
    {"vmin.u32.u32.s32.min %a, %a, %b, %c; cvt.u64.u32 %r, %a;",
     {{0x7fffffff, 0x80000000, 0x1234abcd, 0x1234abcd}, {0xffffffff, 1, 0x90000001, 1}, {5, 7, 0xfffffffe, 5}, {0x80000003, 0x80000001, 0x80000000, 0x80000000}, {2, 0x1f, 7, 2}}},
    {"vadd.u32.u32.u32.max %a, %a, %b, %c; cvt.u64.u32 %r, %a;",
     {{0x7fffffff, 0x80000000, 0x1234abcd, 0xffffffff}, {0xffffffff, 1, 0x90000001, 0x90000001}, {5, 7, 0xfffffffe, 0xfffffffe}, {0x80000003, 0x80000001, 0x80000000, 0x80000000}, {2, 0x1f, 7, 0x21}}},
    {"vabsdiff.s32.u32.u32.max %a, %a, %b, %c; cvt.u64.u32 %r, %a;",
     {{0x7fffffff, 0x80000000, 0x1234abcd, 0x1234abcd}, {0xffffffff, 1, 0x90000001, 0xfffffffe}, {5, 7, 0xfffffffe, 2}, {0x80000003, 0x80000001, 0x80000000, 2}, {2, 0x1f, 7, 0x1d}}},
    {"vshl.u32.u32.u32.sat.clamp %a, %a, %b; cvt.u64.u32 %r, %a;",
     {{0x7fffffff, 0x80000000, 0x1234abcd, 0}, {0xffffffff, 1, 0x90000001, 0xffffffff}, {5, 7, 0xfffffffe, 0x280}, {0x80000003, 0x80000001, 0x80000000, 0}, {2, 0x1f, 7, 0xffffffff}}},
    {"vshl.s32.s32.u32.sat.wrap %a, %a, %b; cvt.u64.u32 %r, %a;",
     {{0x7fffffff, 0x80000000, 0x1234abcd, 0x7fffffff}, {0xffffffff, 1, 0x90000001, 0xfffffffe}, {5, 7, 0xfffffffe, 0x280}, {0x80000003, 0x80000001, 0x80000000, 0x80000000}, {2, 0x1f, 7, 0x7fffffff}}},
    {"vshl.u32.u32.u32.sat.clamp %a.h0, %a, %b, %c; cvt.u64.u32 %r, %a;",
     {{0x7fffffff, 0x80000000, 0x1234abcd, 0x12340000}, {0xffffffff, 1, 0x90000001, 0x9000ffff}, {5, 7, 0xfffffffe, 0xffff0280}, {0x80000003, 0x80000001, 0x80000000, 0x80000000}, {2, 0x1f, 7, 0xffff}}},
    {"vshl.u32.u32.u32.wrap.min %a, %a, %b, %c; cvt.u64.u32 %r, %a;",
     {{0x7fffffff, 0x80000000, 0x1234abcd, 0x1234abcd}, {0xffffffff, 1, 0x90000001, 0x90000001}, {5, 7, 0xfffffffe, 0x280}, {0x80000003, 0x80000001, 0x80000000, 0x80000000}, {2, 0x1f, 7, 7}}},
    {"vset.s32.u32.lt.max %a, %a, %b, %c; cvt.u64.u32 %r, %a;",
     {{0x7fffffff, 0x80000000, 0x1234abcd, 0x1234abcd}, {0xffffffff, 1, 0x90000001, 1}, {5, 7, 0xfffffffe, 1}, {0x80000003, 0x80000001, 0x80000000, 1}, {2, 0x1f, 7, 7}}},
    {"vmad.u32.u32.u32.shr7 %a, %a, %b, %c; cvt.u64.u32 %r, %a;",
     {{0x7fffffff, 0x80000000, 0x1234abcd, 0x1246957}, {0xffffffff, 1, 0x90000001, 0xff200000}, {5, 7, 0xfffffffe, 0}, {0x80000003, 0x80000001, 0x80000000, 0xfb000000}, {2, 0x1f, 7, 0}}},
    {"vmad.u32.u32.u32.po.sat.shr15 %a, %a, %b, %c; cvt.u64.u32 %r, %a;",
     {{0x7fffffff, 0x80000000, 0x1234abcd, 0xffffffff}, {0xffffffff, 1, 0x90000001, 0xffffffff}, {5, 7, 0xfffffffe, 0}, {0x80000003, 0x80000001, 0x80000000, 0xffffffff}, {2, 0x1f, 7, 0}}},
    {"vmad.u32.u32.u32.sat %a, %a, %b, %c; cvt.u64.u32 %r, %a;",
     {{0x7fffffff, 0x80000000, 0x1234abcd, 0}, {0xffffffff, 1, 0x90000001, 0}, {5, 7, 0xfffffffe, 0x21}, {0x80000003, 0x80000001, 0x80000000, 0xffffffff}, {2, 0x1f, 7, 0x45}}},
    {"vmad.u32.s32.s32.sat %a, %a, %b, %c; cvt.u64.u32 %r, %a;",
     {{0x7fffffff, 0x80000000, 0x1234abcd, 0x80000000}, {0xffffffff, 1, 0x90000001, 0x90000000}, {5, 7, 0xfffffffe, 0x21}, {0x80000003, 0x80000001, 0x80000000, 0x7fffffff}, {2, 0x1f, 7, 0x45}}},
};

const Golden kProperties[] = {
    {"mov.b32 %f, %a; testp.finite.f32 %p, %f; selp.u64 %r, 1, 0, %p;",
     {{0, 0, 0, 1}, {0x80000000, 0, 0, 1}, {0x3f800000, 0, 0, 1}, {1, 0, 0, 1}, {0x807fffff, 0, 0, 1}, {0x800000, 0, 0, 1}, {0x7f800000, 0, 0, 0}, {0x7fc00000, 0, 0, 0}}},
    {"mov.b32 %f, %a; testp.infinite.f32 %p, %f; selp.u64 %r, 1, 0, %p;",
     {{0, 0, 0, 0}, {0x80000000, 0, 0, 0}, {0x3f800000, 0, 0, 0}, {1, 0, 0, 0}, {0x807fffff, 0, 0, 0}, {0x800000, 0, 0, 0}, {0x7f800000, 0, 0, 1}, {0x7fc00000, 0, 0, 0}}},
    {"mov.b32 %f, %a; testp.number.f32 %p, %f; selp.u64 %r, 1, 0, %p;",
     {{0, 0, 0, 1}, {0x80000000, 0, 0, 1}, {0x3f800000, 0, 0, 1}, {1, 0, 0, 1}, {0x807fffff, 0, 0, 1}, {0x800000, 0, 0, 1}, {0x7f800000, 0, 0, 1}, {0x7fc00000, 0, 0, 0}}},
    {"mov.b32 %f, %a; testp.notanumber.f32 %p, %f; selp.u64 %r, 1, 0, %p;",
     {{0, 0, 0, 0}, {0x80000000, 0, 0, 0}, {0x3f800000, 0, 0, 0}, {1, 0, 0, 0}, {0x807fffff, 0, 0, 0}, {0x800000, 0, 0, 0}, {0x7f800000, 0, 0, 0}, {0x7fc00000, 0, 0, 1}}},
    {"mov.b32 %f, %a; testp.normal.f32 %p, %f; selp.u64 %r, 1, 0, %p;",
     {{0, 0, 0, 1}, {0x80000000, 0, 0, 1}, {0x3f800000, 0, 0, 1}, {1, 0, 0, 0}, {0x807fffff, 0, 0, 0}, {0x800000, 0, 0, 1}, {0x7f800000, 0, 0, 0}, {0x7fc00000, 0, 0, 0}}},
    {"mov.b32 %f, %a; testp.subnormal.f32 %p, %f; selp.u64 %r, 1, 0, %p;",
     {{0, 0, 0, 0}, {0x80000000, 0, 0, 0}, {0x3f800000, 0, 0, 0}, {1, 0, 0, 1}, {0x807fffff, 0, 0, 1}, {0x800000, 0, 0, 0}, {0x7f800000, 0, 0, 0}, {0x7fc00000, 0, 0, 0}}},
    {"mov.b64 %d, %x; testp.normal.f64 %p, %d; selp.u64 %r, 1, 0, %p;",
     {{0, 0, 0, 1}, {0x8000000000000000, 0, 0, 1}, {0x3ff0000000000000, 0, 0, 1}, {1, 0, 0, 0}, {0x10000000000000, 0, 0, 1}, {0x7ff0000000000000, 0, 0, 0}, {0x7ff8000000000000, 0, 0, 0}}},
};

// ptxas leaves the guard out, of testp alone: %p is of all threads what the property is. %y is the guard, %z what %p is before.
const Golden kGuardedProperties[] = {
    {".reg .pred %g; setp.ne.u32 %g, %b, 0; setp.ne.u32 %p, %c, 0; mov.b32 %f, %a; @%g testp.finite.f32 %p, %f; selp.u64 %r, 1, 0, %p;",
     {{0x3f800000, 1, 0, 1}, {0x3f800000, 0, 0, 1}, {0x3f800000, 0, 1, 1}, {0x7f800000, 1, 1, 0}, {0x7f800000, 0, 1, 0}, {0x7f800000, 0, 0, 0}}},
    {".reg .pred %g; setp.ne.u32 %g, %b, 0; setp.ne.u32 %p, %c, 0; mov.b32 %f, %a; @!%g testp.subnormal.f32 %p, %f; selp.u64 %r, 1, 0, %p;",
     {{1, 0, 0, 1}, {1, 1, 0, 1}, {1, 1, 1, 1}, {0, 0, 1, 0}, {0, 1, 1, 0}, {0, 1, 0, 0}}},
    {"setp.ne.u32 %p, %b, 0; mov.b32 %f, %a; @%p testp.notanumber.f32 %p, %f; selp.u64 %r, 1, 0, %p;",
     {{0x7fc00000, 1, 0, 1}, {0x7fc00000, 0, 0, 1}, {0x3f800000, 1, 0, 0}, {0x3f800000, 0, 0, 0}}},
    {".reg .pred %g; setp.ne.u32 %g, %b, 0; setp.ne.u32 %p, %c, 0; mov.b64 %d, %x; @%g testp.normal.f64 %p, %d; selp.u64 %r, 1, 0, %p;",
     {{0x3ff0000000000000, 0, 0, 1}, {0x3ff0000000000000, 1, 0, 1}, {1, 0, 1, 0}, {1, 1, 1, 0}}},
    // others keep theirs
    {".reg .pred %g; setp.ne.u32 %g, %b, 0; setp.ne.u32 %p, %c, 0; mov.b32 %f, %a; @%g setp.gt.f32 %p, %f, 0f00000000; selp.u64 %r, 1, 0, %p;",
     {{0x3f800000, 1, 0, 1}, {0x3f800000, 0, 0, 0}, {0x3f800000, 0, 1, 1}, {0xbf800000, 1, 1, 0}, {0xbf800000, 0, 1, 1}}},
};

}  // namespace

TEST_CASE("quotients and remainders, also by zero") {
  for (const Golden& each : kDivisions) check(each);
}

TEST_CASE("bit fields, also beyond the value") {
  for (const Golden& each : kBitFields) check(each);
}

TEST_CASE("scalar video instructions, saturated, merged and scaled") {
  for (const Golden& each : kVideo) check(each);
}

TEST_CASE("zeros are normal numbers, subnormal ones are not") {
  for (const Golden& each : kProperties) check(each);
}

TEST_CASE("properties are tested whatever the guard") {
  for (const Golden& each : kGuardedProperties) check(each);
}

}  // namespace rouse::test
