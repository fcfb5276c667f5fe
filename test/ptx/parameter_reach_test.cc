// Which kernels are found to reach only what their parameters lead to, and which are not, by what makes the difference.
#include "server/device/ptx/parameter_reach.h"

#include <catch2/catch.hpp>
#include <string>

#include "server/device/ptx/failure.h"
#include "server/device/ptx/parser.h"

namespace rouse::ptx {
namespace {

const std::string kBegin = R"(.version 8.0
.target sm_80
.address_size 64
.global .align 8 .u64 table[4];
.const .align 8 .u64 places[4];
.extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 values);
)";

// A kernel of two pointers, a number of 64 bits, one of 32, and a structure of 64 bytes: %p, %q, %n, %i.
std::string kernel(const std::string& body, const std::string& name = "k") {
  return ".visible .entry " + name + R"((.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 d, .param .align 8 .b8 s[64])
{
  .reg .pred %t<4>; .reg .b16 %h<4>; .reg .b32 %r<16>; .reg .f32 %f<4>; .reg .b64 %x<32>; .reg .f64 %e<4>; .reg .b64 %p, %q, %n; .reg .b32 %i;
  .shared .align 8 .b8 tile[256];
  .local .align 8 .b8 own[64];
  ld.param.u64 %p, [a];
  ld.param.u64 %q, [b];
  ld.param.u64 %n, [c];
  ld.param.u32 %i, [d];
)" + body + "\n  ret;\n}\n";
}

bool reaches(const std::string& body) {
  try {
    return kernelsThatReachOnlyParameters(parse(kBegin + kernel(body))).contains("k");
  } catch (const Failure& failure) {
    FAIL(failure.error().message << ": " << body);
    return false;
  }
}

}  // namespace

TEST_CASE("parameters lead where they point, however far from there") {
  CHECK(reaches("ld.global.f32 %f0, [%p]; st.global.f32 [%q+8], %f0;"));
  // p[i], and as nvcc makes it of a 32-bit index
  CHECK(reaches("cvta.to.global.u64 %x0, %p; mul.wide.s32 %x1, %i, 4; add.s64 %x2, %x0, %x1; ld.global.f32 %f0, [%x2+-4];"));
  // An index of 64 bits that was found in memory
  CHECK(reaches("ld.global.u64 %x0, [%p]; shl.b64 %x1, %x0, 2; add.s64 %x2, %q, %x1; ld.global.u32 %r0, [%x2];"));
  CHECK(reaches("ld.global.u64 %x0, [%p]; mad.lo.s64 %x2, %x0, %n, %q; atom.global.add.u32 %r0, [%x2], 1;"));
  // By a loop that moves a pointer, and the other way around
  CHECK(reaches("mov.u64 %x0, %p; $again: ld.global.u32 %r0, [%x0]; add.s64 %x0, %x0, 4; setp.ne.u32 %t0, %r0, 0; @%t0 bra $again;"));
  CHECK(reaches("$again: add.s64 %x1, %x0, 4; mov.u64 %x0, %x1; ld.param.u64 %x0, [a]; ld.global.u32 %r0, [%x0]; setp.ne.u32 %t0, %r0, 0; @%t0 bra $again;"));
  // One or the other; none
  CHECK(reaches("setp.eq.u32 %t0, %i, 0; selp.b64 %x0, %p, %q, %t0; red.global.add.u32 [%x0], 1;"));
  CHECK(reaches("setp.eq.u32 %t0, %i, 0; selp.b64 %x0, %p, 0, %t0; st.global.u32 [%x0], 1;"));
  // A range of them; a distance
  CHECK(reaches("add.s64 %x0, %p, %n; max.u64 %x1, %x0, %q; ld.global.u32 %r0, [%x1];"));
  CHECK(reaches("sub.s64 %x0, %p, %q; add.s64 %x1, %q, %x0; ld.global.u32 %r0, [%x1];"));
  // Rounded
  CHECK(reaches("add.s64 %x0, %p, 15; and.b64 %x1, %x0, -16; ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%x1];"));
  CHECK(reaches("or.b64 %x0, %p, 4; ld.global.u32 %r0, [%x0];"));
  CHECK(reaches("mul.wide.u32 %x0, %i, 16; or.b64 %x1, %x0, 8; add.s64 %x2, %p, %x1; ld.global.u32 %r0, [%x2];"));
  CHECK(reaches("ld.global.u64 %x0, [%p]; shl.b64 %x1, %x0, 2; and.b64 %x2, %x1, 252; add.s64 %x3, %q, %x2; ld.global.u32 %r0, [%x3];"));
  CHECK(reaches("mul.lo.s64 %x0, %n, -4; add.s64 %x1, %p, %x0; ld.global.u32 %r0, [%x1];"));
  // In a structure, chosen by a number
  CHECK(reaches("ld.param.v2.u64 {%x0, %x1}, [s+16]; ld.global.u32 %r0, [%x0]; st.global.u32 [%x1], %r0;"));
  CHECK(reaches("mov.b64 %x0, s; mul.wide.u32 %x1, %i, 8; add.s64 %x2, %x0, %x1; ld.param.u64 %x3, [%x2]; ld.global.u32 %r0, [%x3];"));
  CHECK(reaches("cp.async.ca.shared.global [%r0], [%p], 16; cp.async.wait_all;"));
  CHECK(reaches("prefetch.global.L2 [%p];"));
}

TEST_CASE("shared and local memory and variables are a kernel's own") {
  CHECK(reaches("st.shared.u32 [tile+4], %i; ld.local.u64 %x0, [own]; ld.global.u64 %x1, [table]; ld.const.u64 %x2, [places+8];"));
  CHECK(reaches("mov.u64 %x0, table; cvta.global.u64 %x1, %x0; mul.wide.u32 %x2, %i, 8; add.s64 %x3, %x1, %x2; ld.u64 %x4, [%x3];"));
  CHECK(reaches("mov.u64 %x0, own; cvta.local.u64 %x1, %x0; st.u64 [%x1], %p;"));
  CHECK(reaches("ld.shared.u64 %x0, [tile]; st.global.u64 [%p], %x0;"));
}

TEST_CASE("an address that was found in memory may lead anywhere") {
  CHECK_FALSE(reaches("ld.global.u64 %x0, [%p]; ld.global.u32 %r0, [%x0];"));
  CHECK_FALSE(reaches("ld.global.u64 %x0, [%p]; add.s64 %x1, %x0, %n; ld.global.u32 %r0, [%x1];"));
  // Which of the two is the pointer does not show.
  CHECK_FALSE(reaches("ld.global.u64 %x0, [%p]; add.s64 %x1, %q, %x0; ld.global.u8 %r0, [%x1];"));
  CHECK_FALSE(reaches("ld.const.u64 %x0, [places]; st.global.u32 [%x0], 0;"));
  CHECK_FALSE(reaches("ld.global.u64 %x0, [table]; st.global.u32 [%x0], 0;"));
  CHECK_FALSE(reaches("ld.shared.u64 %x0, [tile]; st.global.u32 [%x0], 0;"));
  CHECK_FALSE(reaches("ld.local.u64 %x0, [own]; st.global.u32 [%x0], 0;"));
  CHECK_FALSE(reaches("ld.u64 %x0, [%p]; st.u32 [%x0], 0;"));
  CHECK_FALSE(reaches("ld.global.v2.u64 {%x0, %x1}, [%p]; st.global.u32 [%x1], 0;"));
  CHECK_FALSE(reaches("ldu.global.u64 %x0, [%p]; st.global.u32 [%x0], 0;"));
  CHECK_FALSE(reaches("atom.global.exch.b64 %x0, [%p], 0; st.global.u32 [%x0], 0;"));
  CHECK_FALSE(reaches("ld.global.f64 %e0, [%p]; mov.b64 %x0, %e0; ld.global.u32 %r0, [%x0];"));
  // In pieces
  CHECK_FALSE(reaches("ld.global.v2.u32 {%r0, %r1}, [%p]; mov.b64 %x0, {%r0, %r1}; ld.global.u32 %r2, [%x0];"));
  CHECK_FALSE(reaches("mov.b64 {%r0, %r1}, %p; mov.b64 %x0, {%r0, %r1}; ld.global.u32 %r2, [%x0];"));
  // On one of two ways, also where it comes later
  CHECK_FALSE(reaches("setp.eq.u32 %t0, %i, 0; ld.global.u64 %x1, [%q]; selp.b64 %x0, %p, %x1, %t0; ld.global.u32 %r0, [%x0];"));
  CHECK_FALSE(reaches("mov.u64 %x0, %p; $again: ld.global.u64 %x1, [%x0]; mov.u64 %x0, %x1; setp.ne.u64 %t0, %x1, 0; @%t0 bra $again;"));
  CHECK_FALSE(reaches("setp.eq.u32 %t0, %i, 0; mov.u64 %x0, %p; @%t0 ld.global.u64 %x0, [%p]; ld.global.u32 %r0, [%x0];"));
  // Asynchronously copied from
  CHECK_FALSE(reaches("ld.global.u64 %x0, [%p]; cp.async.ca.shared.global [%r0], [%x0], 16;"));
}

TEST_CASE("an address that was made by other operations than sums may lead anywhere") {
  // Tags, and what is left of an address without them
  CHECK_FALSE(reaches("ld.global.u64 %x0, [%p]; shl.b64 %x1, %x0, 16; shr.u64 %x2, %x1, 16; ld.global.u32 %r0, [%x2];"));
  CHECK_FALSE(reaches("ld.global.u64 %x0, [%p]; shl.b64 %x1, %x0, 16; shr.u64 %x2, %x1, 16; add.s64 %x3, %x2, %n; ld.global.u32 %r0, [%x3];"));
  CHECK_FALSE(reaches("ld.global.u64 %x0, [%p]; and.b64 %x1, %x0, -8; ld.global.u32 %r0, [%x1];"));
  CHECK_FALSE(reaches("and.b64 %x0, %p, 281474976710655; ld.global.u32 %r0, [%x0];"));
  CHECK_FALSE(reaches("and.b64 %x0, %p, %n; ld.global.u32 %r0, [%x0];"));
  CHECK_FALSE(reaches("or.b64 %x0, %p, 1152921504606846976; ld.global.u32 %r0, [%x0];"));
  CHECK_FALSE(reaches("xor.b64 %x0, %p, %q; ld.global.u32 %r0, [%x0];"));
  CHECK_FALSE(reaches("shr.u64 %x0, %p, 8; shl.b64 %x1, %x0, 8; ld.global.u32 %r0, [%x1];"));
  CHECK_FALSE(reaches("mul.lo.s64 %x0, %p, 8; ld.global.u32 %r0, [%x0];"));
  CHECK_FALSE(reaches("not.b64 %x0, %p; ld.global.u32 %r0, [%x0];"));
  // Halves, found in memory, and a number that may be a parameter's
  for (const std::string upper : {"shl.b64 %x2, %x1, 32;", "mul.lo.s64 %x2, %x1, 4294967296;", "shl.b64 %x2, %x1, %r2;", "shl.b64 %x3, %x1, 16; shl.b64 %x2, %x3, 16;"})
    CHECK_FALSE(reaches("ld.global.v2.u32 {%r0, %r1}, [%p]; cvt.u64.u32 %x0, %r0; cvt.u64.u32 %x1, %r1; " + upper + " or.b64 %x4, %x2, %x0; add.s64 %x5, %x4, %n; ld.global.u32 %r2, [%x5];"));
  CHECK_FALSE(reaches("ld.global.v2.u32 {%r0, %r1}, [%p]; cvt.u64.u32 %x0, %r0; cvt.u64.u32 %x1, %r1; mad.lo.s64 %x4, %x1, 4294967296, %x0; add.s64 %x5, %x4, %n; ld.global.u32 %r2, [%x5];"));
  CHECK_FALSE(reaches("ld.global.u64 %x0, [%p]; and.b64 %x1, %x0, 4294967295; and.b64 %x2, %x0, -4294967296; or.b64 %x3, %x1, %x2; add.s64 %x4, %x3, %n; ld.global.u32 %r0, [%x4];"));
  // Of nothing that is an address
  CHECK_FALSE(reaches("ld.global.u32 %r0, [4096];"));
  CHECK_FALSE(reaches("cvt.u64.u32 %x0, %i; ld.global.u32 %r0, [%x0];"));
  CHECK_FALSE(reaches("ld.global.u32 %r0, [%x9];"));
}

TEST_CASE("calls, textures and bulk copies may lead anywhere, a failed assert does not") {
  CHECK(reaches(R"({ .param .b64 a0; .param .b64 a1; .param .b32 a2; .param .b64 a3; .param .b64 a4;
    call.uni __assertfail, (a0, a1, a2, a3, a4); } st.global.u32 [%p], 1;)"));
  CHECK_FALSE(reaches(R"({ .param .b64 a0; .param .b64 a1; .param .b32 r; call.uni (r), vprintf, (a0, a1); } st.global.u32 [%p], 1;)"));
  CHECK_FALSE(reaches("tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%n, {%f0, %f1}];"));
  CHECK_FALSE(reaches("suld.b.1d.b32.trap %r0, [%n, {%i}];"));
  CHECK_FALSE(reaches("cp.async.bulk.global.shared::cta.bulk_group [%p], [%r0], 16;"));
  const std::string function = ".func f(.param .b64 to) { .reg .b64 %x; ld.param.u64 %x, [to]; st.u32 [%x], 1; ret; }\n";
  const std::string calls = kernel("{ .param .b64 a0; st.param.b64 [a0], %p; call.uni f, (a0); }");
  CHECK(kernelsThatReachOnlyParameters(parse(kBegin + function + calls)).empty());
}

TEST_CASE("each kernel of a module is looked at by itself, and a text that takes long is left") {
  const auto some = kernelsThatReachOnlyParameters(parse(kBegin + kernel("st.global.u32 [%p], 1;", "one") +
                                                         kernel("ld.global.u64 %x0, [%p]; st.global.u32 [%x0], 1;", "two") + kernel("", "three")));
  CHECK(some.size() == 2);
  CHECK(some.contains("one"));
  CHECK(some.contains("three"));
  // What comes last is what the others are made of.
  const auto backwards = [](unsigned count) {
    std::string text = ".visible .entry k(.param .u64 a) { .reg .b64 %x<" + std::to_string(count + 1) + ">; ld.global.u32 _, [%x0];\n";
    for (unsigned k = 0; k < count; ++k) text += "mov.u64 %x" + std::to_string(k) + ", %x" + std::to_string(k + 1) + ";\n";
    return kernelsThatReachOnlyParameters(parse(kBegin + text + "ld.param.u64 %x" + std::to_string(count) + ", [a];\nret; }\n")).size();
  };
  CHECK(backwards(8) == 1);
  CHECK(backwards(200) == 0);
}

}  // namespace rouse::ptx
