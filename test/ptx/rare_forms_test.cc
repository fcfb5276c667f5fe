// Forms that compilers do not emit and inline assembly may have: constant expressions, and modifiers that are hints or seldom seen.
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>

#include "server/device/cpu/program.h"
#include "test/ptx/runner.h"

namespace rouse::test {
namespace {

std::string text(const std::string& body, const std::string& before = "") {
  return ".version 8.5\n.target sm_90\n.address_size 64\n" + before +
         ".visible .entry k(.param .u64 pout)\n{\n.reg .b64 %out, %l<4>;\n.reg .b32 %x, %r<4>;\n.reg .f32 %f;\n.reg .pred %p;\nld.param.u64 %out, [pout];\n" + body +
         "\nst.global.u32 [%out], %x;\nret;\n}\n";
}

// What `body` leaves in %x; *%out holds `in` and the seven words behind it.
std::uint32_t run(const std::string& body, const std::string& before = "", std::uint32_t in = 0) {
  LoadedModule module(text(body, before));
  alignas(16) std::uint32_t words[8];
  for (std::uint32_t k = 0; k < 8; ++k) words[k] = in + k;
  module.launch("k", {1, 1, 1}, {1, 1, 1}, arguments(reinterpret_cast<std::uint64_t>(words)));
  return words[0];
}

std::uint32_t constant(const std::string& expression) { return run("mov.b32 %x, " + expression + ";"); }

std::uint64_t wide(const std::string& expression) {
  const std::string low = "mov.b64 %l0, " + expression + ";\ncvt.u32.u64 %x, %l0;", high = "mov.b64 %l0, " + expression + ";\nshr.u64 %l0, %l0, 32;\ncvt.u32.u64 %x, %l0;";
  return std::uint64_t{run(high)} << 32 | run(low);
}

std::string failure(const std::string& body) {
  const auto program = cpu::Program::translate(text(body));
  REQUIRE_FALSE(program.ok());
  return program.error().message;
}

}  // namespace

TEST_CASE("constant expressions have C's operators and precedence") {
  CHECK(constant("3+4*2") == 11);
  CHECK(constant("(3+4)*2") == 14);
  CHECK(constant("20-5-3") == 12);
  CHECK(constant("100/7/2") == 7);
  CHECK(constant("17 % 5") == 2);
  CHECK(constant("1<<4|1") == 17);
  CHECK(constant("1|2&3^1") == 3);
  CHECK(constant("7>>1") == 3);
  CHECK(constant("-(5)") == 0xfffffffb);
  CHECK(constant("- -5") == 5);
  CHECK(constant("~0") == 0xffffffff);
  CHECK(constant("!3+!0") == 1);
  CHECK(constant("7==7 && 2!=2 || 1") == 1);
  CHECK(constant("2<3") == 1);
  CHECK(constant("3<=2") == 0);
  CHECK(constant("3>2") == 1);
  CHECK(constant("2>=3") == 0);
  CHECK(constant("(7==7)?3:4") == 3);
  CHECK(constant("0?1:0?2:5") == 5);
  CHECK(constant("WARP_SZ*2") == 64);
}

TEST_CASE("constant expressions are signed in 64 bits unless an operand is not") {
  CHECK(wide("-1/2") == 0);
  CHECK(wide("-7/2") == static_cast<std::uint64_t>(-3));
  CHECK(wide("-7 % 2") == static_cast<std::uint64_t>(-1));
  CHECK(wide("-1U/2") == 0x7fffffffffffffff);
  CHECK(wide("(.u64)-8/2") == 0x7ffffffffffffffc);
  CHECK(wide("(.s64)0xfffffffffffffff8/2") == static_cast<std::uint64_t>(-4));
  CHECK(wide("-8>>1") == static_cast<std::uint64_t>(-4));
  CHECK(wide("(-8&-1)>>1") == 0x7ffffffffffffffc);
  CHECK(wide("-1<0") == 1);
  CHECK(wide("-1<0U") == 0);
  CHECK(wide("(-9223372036854775807-1)/-1") == 0x8000000000000000);
  CHECK(wide("1<<64") == 0);
  CHECK(wide("-1>>200") == ~std::uint64_t{0});
}

TEST_CASE("constant expressions in addresses, sizes and initial values") {
  CHECK(run("ld.global.u32 %x, [%out+4*(1+2)];", "", 100) == 103);
  CHECK(run("ld.global.u32 %x, [v+8/2];", ".global .align 4 .u32 v[1<<1] = {3, 10*2+1};\n") == 21);
  CHECK(run("ld.global.f32 %f, [v];\ncvt.rni.s32.f32 %x, %f;", ".global .align 4 .f32 v = -3*2;\n") == 0xfffffffa);
}

TEST_CASE("constant expressions that have no value are refused") {
  CHECK(failure("mov.b32 %x, 1/0;").find("division by zero") != std::string::npos);
  CHECK(failure("mov.b32 %x, 1 % (2-2);").find("division by zero") != std::string::npos);
  CHECK(failure("mov.b32 %x, 1+;").find("operand") != std::string::npos);
  CHECK(failure("mov.b32 %x, (1;").find("')'") != std::string::npos);
  CHECK(failure("mov.b32 %x, " + std::string(100'000, '(') + "1;").find("deeper") != std::string::npos);
  CHECK(failure("mov.b32 %x, " + std::string(100'000, '-') + "1;").find("deeper") != std::string::npos);
}

TEST_CASE("cp.async reads nothing where a predicate says that the source is ignored") {
  const std::string shared = ".shared .align 16 .b8 room[32];\n";
  for (const bool ignored : {false, true}) {
    const std::string body = "mov.u64 %l0, room;\ncvta.shared.u64 %l1, %l0;\nst.shared.u32 [%l0+4], 77;\nsetp.ne.u32 %p, 1, " + std::string(ignored ? "0" : "1") +
                             ";\ncp.async.ca.shared.global [%l0], [" + (ignored ? "0" : "%out") + "], 16, %p;\ncp.async.wait_all;\nld.shared.u32 %x, [%l0+4];";
    CHECK(run(body, shared, 50) == (ignored ? 0 : 51));
  }
}

TEST_CASE("cvt.pack of two bits") {
  // {a, b} behind what c has below: a saturates to 1 of -2..1, b to -2
  CHECK(run("cvt.pack.sat.s2.s32.b32 %x, 9, -9, 5;") == (5u << 4 | 1u << 2 | 2u));
  CHECK(run("cvt.pack.sat.u2.s32.b32 %x, 9, -9, 5;") == (5u << 4 | 3u << 2 | 0u));
}

TEST_CASE("what only tells the hardware how, or asks it for counts, changes nothing") {
  CHECK(run("ld.mmio.relaxed.sys.global.u32 %x, [%out];\nst.mmio.relaxed.sys.global.u32 [%out+4], %x;", "", 9) == 9);
  CHECK(run("ld.global.cs.nc.u32 %x, [%out];", "", 9) == 9);
  CHECK(run("createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %l0, [%out], 16, 32;\nld.global.L2::cache_hint.u32 %x, [%out], %l0;", "", 9) == 9);
  CHECK(run("createpolicy.cvt.L2.b64 %l0, %out;\nld.global.L2::cache_hint.u32 %x, [%out], %l0;", "", 9) == 9);
  CHECK(run("pmevent.mask 3;\nmov.u64 %l0, %pm1_64;\ncvt.u32.u64 %x, %l0;") == 0);
}

TEST_CASE("elements of arrays by their index") {
  const std::string values = ".global .align 16 .u32 v[4] = {3, 5, 7, 9};\n.global .align 16 .v2 .u32 pairs[2] = {{1, 2}, {3, 4}};\n.global .u32 rows[2][2] = {{1, 2}, {3, 4}};\n.global .u32 one = 8;\n";
  CHECK(run("ld.global.u32 %x, v[2];", values) == 7);
  CHECK(run("mov.u64 %l0, v[1+2];\nld.global.u32 %x, [%l0];", values) == 9);
  CHECK(run("mov.u64 %l0, v[-1];\nld.global.u32 %x, [%l0+8];", values) == 5);
  CHECK(run("ld.global.u32 %x, pairs[3];", values) == 4);
  CHECK(run("ld.global.u32 %x, rows[2];", values) == 3);
  CHECK(run("st.shared.u32 room[2], 6;\nld.shared.u32 %x, [room+8];", ".shared .align 16 .u32 room[4];\n") == 6);
  CHECK(run(".local .align 8 .b8 mine[16];\nst.local.u32 mine[4], 4;\nmov.u64 %l0, mine[4];\nld.local.u32 %x, [%l0];") == 4);
  CHECK(failure("ld.global.u32 %x, %out[2];").find("expected") != std::string::npos);
  CHECK(failure(".local .u32 mine;\nld.local.u32 %x, mine[0];").find("no array") != std::string::npos);
  CHECK(failure(".local .u32 mine[4];\nld.local.u32 %x, mine[%r0];").find("by a register") != std::string::npos);
}

TEST_CASE("vectors of one are what is in them, in loads and stores") {
  CHECK(run("ld.global.b32 { %x }, [ %out + 4 ];", "", 9) == 10);
  CHECK(run("setp.eq.u32 %p, 1, 1;\nmov.b32 %r0, 7;\n@%p st.global.b32 [ %out + 8 ], { %r0 };\nld.volatile.global.b32 {%x}, [%out+8];", "", 9) == 7);
  CHECK(run("st.global.b32 [%out+8], {5};\nldu.global.b32 {%x}, [%out+8];", "", 9) == 5);
  CHECK(run("ld.global.f32 {%f}, [v];\ncvt.rni.s32.f32 %x, %f;", ".global .align 4 .f32 v = 3.0;\n") == 3);
  CHECK(run("mov.b32 {%r0}, 6;\nmov.b32 %x, {%r0};") == 6);
  CHECK(failure("ld.global.v2.b32 {%x}, [%out];").find("a vector of 2") != std::string::npos);
  CHECK(failure("ld.global.b32 {%x, %r0}, [%out];").find("a register of .b32") != std::string::npos);
  CHECK(failure("ld.global.b32 {_}, [%out];").find("a register of .b32") != std::string::npos);
  CHECK(failure("atom.global.add.u32 %x, [%out], {%r0};").find("a register of .u32") != std::string::npos);
}

TEST_CASE("a block without others is a cluster of its own") {
  const std::string shared = ".shared .align 16 .b8 room[32];\n", address = "mov.u64 %l0, room;\ncvta.shared.u64 %l1, %l0;\nst.shared.u32 [%l0+4], 77;\n";
  CHECK(run(address + "mapa.u64 %l2, %l1, 0;\nld.u32 %x, [%l2+4];", shared) == 77);
  CHECK(run(address + "cvt.u32.u64 %r0, %l0;\nmapa.shared::cluster.u32 %r1, %r0, 0;\nsub.u32 %x, %r1, %r0;", shared) == 0);
  CHECK(run(address + "getctarank.u64 %x, %l1;", shared) == 0);
  CHECK(run(address + "cvt.u32.u64 %r0, %l0;\ngetctarank.shared::cluster.u32 %x, %r0;", shared) == 0);
  CHECK(run("mov.u32 %x, 5;\nbarrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\nbarrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;") == 5);
  const std::string head = ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k()\n.explicitcluster\n", tail = "\n{\nret;\n}\n";
  const auto compiled = [&](const std::string& directive) { return cpu::Program::translate(head + directive + tail); };
  const auto sized = compiled(".reqnctapercluster 2, 3, 2"), short1 = compiled(".reqnctapercluster 4"), open = compiled("");
  REQUIRE((sized.ok() && short1.ok() && open.ok()));
  CHECK((*sized)->description().kernels[0].cluster == ClusterShape{2, 3, 2});
  CHECK_FALSE((*sized)->description().kernels[0].clusterMustBeSet);
  CHECK((*short1)->description().kernels[0].cluster == ClusterShape{4, 1, 1});
  CHECK((*open)->description().kernels[0].cluster.none());
  CHECK((*open)->description().kernels[0].clusterMustBeSet);
  for (const char* wrong : {".reqnctapercluster 0", ".reqnctapercluster 1, 0, 1", ".reqnctapercluster 17", ".reqnctapercluster 3, 3, 2", ".reqnctapercluster 4294967297", ".reqnctapercluster 1, 1, 1, 1"})
    CHECK_FALSE(compiled(wrong).ok());
  CHECK(failure("barrier.cluster.sync;").find("barrier.cluster.sync") != std::string::npos);
}

TEST_CASE("isspacep.param tells a kernel's parameters") {
  CHECK(run("mov.b64 %l0, pout;\ncvta.param.u64 %l1, %l0;\nisspacep.param %p, %l1;\nselp.u32 %x, 1, 0, %p;") == 1);
  CHECK(run("isspacep.param %p, %out;\nselp.u32 %x, 1, 0, %p;") == 0);
}

TEST_CASE("registers of a block hide those of the same names outside, and no others") {
  CHECK(run("mov.b32 %r3, 40;\nmov.b32 %r1, 7;\n{\n.reg .b32 %r<3>;\nmov.b32 %r1, 2;\nadd.u32 %r2, %r1, %r3;\nmov.b32 %x, %r2;\n}\nadd.u32 %x, %x, %r1;") == 49);
  CHECK(run("mov.b32 %r3, 40;\n{\n.reg .b32 %r<2>;\n{\n.reg .b32 %r3;\nmov.b32 %r3, 5;\nmov.b32 %r1, %r3;\n}\nadd.u32 %x, %r1, %r3;\n}") == 45);
  CHECK(failure("{\n.reg .b32 %r<2>;\nmov.b32 %x, %r4;\n}").find("'%r4' is not declared") != std::string::npos);
}

TEST_CASE("vector registers: their elements by either names, all of them in moves, loads and stores") {
  const std::string vectors = ".reg .v2 .b32 v, w;\n.reg .v4 .u32 q;\n.reg .v2 .f32 g;\n";
  CHECK(run(vectors + "mov.b32 v.x, 3;\nmov.b32 v.y, 4;\nadd.u32 %x, v.x, v.y;") == 7);
  CHECK(run(vectors + "mov.b32 v.r, 3;\nmov.b32 v.g, 4;\nmad.lo.u32 %x, v.g, 10, v.x;") == 43);
  CHECK(run(vectors + "ld.global.v4.u32 q, [%out];\nsub.u32 %x, q.w, q.y;", "", 5) == 2);
  CHECK(run(vectors + "ld.global.v4.u32 q, [%out];\nmad.lo.u32 %x, q.b, 100, q.a;", "", 5) == 708);
  CHECK(run(vectors + "mov.b64 %l0, 0x700000005;\nmov.b64 v, %l0;\nmov.b64 w, %l0;\nmad.lo.u32 %x, v.y, 10, w.x;") == 75);
  CHECK(run(vectors + "mov.b32 v.x, 1;\nmov.b32 v.y, 2;\nmov.b64 %l0, v;\nshr.u64 %l0, %l0, 32;\ncvt.u32.u64 %x, %l0;") == 2);
  CHECK(run(vectors + "mov.f32 g.x, 0f40000000;\nmul.f32 g.y, g.x, g.x;\ncvt.rzi.u32.f32 %x, g.y;") == 4);
  CHECK(run(vectors + "{\n.reg .v2 .b32 v;\nmov.b32 v.x, 9;\n}\nmov.b32 v.x, 1;\nmov.b32 %x, v.x;") == 1);
  CHECK(failure(".reg .v2 .b32 v;\nmov.b32 %x, v.z;").find("an element of the vector") != std::string::npos);
  CHECK(failure(".reg .v2 .b32 v;\nmov.b32 %x, v.xy;").find("an element of the vector") != std::string::npos);
  CHECK(failure(".reg .v4 .b32 v;\nmov.b32 %x, v.b0;").find("an element of the vector") != std::string::npos);
  CHECK(failure(".reg .v2 .b32 v;\nmov.b32 %x, v;").find("expected") != std::string::npos);
  CHECK(failure(".reg .v2 .b32 v;\nmov.b64 %l0, {v, %x};").find("no vector within a vector") != std::string::npos);
  CHECK(failure(".reg .v2 .pred v;").find("a vector of predicates") != std::string::npos);
  CHECK(failure(".reg .v2 .b32 v<4>;").find("a range of vector registers") != std::string::npos);
  CHECK(failure(".reg .v2 .b32 v;\n@v mov.b32 %x, 1;").find("no predicate register") != std::string::npos);
}

TEST_CASE("vprintf may be declared without its result") {
  LoadedModule module(text("{ .param .b64 a; .param .b64 b;\nmov.b64 %l0, told;\ncvta.global.u64 %l0, %l0;\nst.param.b64 [a], %l0;\nst.param.b64 [b], 0;\ncall.uni vprintf, (a, b); }\nmov.b32 %x, 7;",
                           ".extern .func vprintf (.param .b64 format, .param .b64 values);\n.global .align 1 .b8 told[3] = {104, 105, 0};\n"));
  std::uint32_t word = 0;
  const Journal journal = module.launch("k", {1, 1, 1}, {1, 1, 1}, arguments(reinterpret_cast<std::uint64_t>(&word)));
  CHECK(journal.printed == "hi");
  CHECK(word == 7);
}

// As LLVM makes code with short pointers: an address of local memory is cut to 32 bits, goes through a loop as such, and is extended with zeros where it is to be generic.
TEST_CASE("local memory is reached by addresses of 32 bits") {
  const std::string locals = ".local .align 4 .b8 pad[12];\n.local .align 16 .b8 own[64];\n";
  CHECK(run(locals + "mov.u64 %l0, own;\ncvt.u32.u64 %r0, %l0;\nst.local.u32 [%r0+8], 41;\nld.local.u32 %x, [own+8];") == 41);
  CHECK(run(locals + "mov.u32 %r0, own;\nst.local.u32 [%r0], 42;\nmov.u32 %r1, pad;\nst.local.u32 [%r1+8], 1;\nld.local.u32 %x, [own];") == 42);
  CHECK(run(locals + "mov.u32 %r0, own;\nst.local.u32 [own+4], 43;\ncvt.u64.u32 %l0, %r0;\ncvta.local.u64 %l1, %l0;\nld.u32 %x, [%l1+4];") == 43);
  CHECK(run(locals + "mov.u64 %l0, own;\nmov.u32 %r0, own;\nst.local.u32 [own+4], 44;\ncvta.local.u64 %l1, %l0;\nld.u32 %x, [%l1+4];") == 44);
  CHECK(run(locals + "mov.u32 %r0, own;\nmov.u32 %r1, 0;\nfill: st.local.u32 [%r0], %r1;\nadd.u32 %r0, %r0, 4;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p, %r1, 16;\n@%p bra fill;\nld.local.u32 %x, [%r0+-4];") == 15);
  // Across a barrier.
  CHECK(run(locals + "mov.u32 %r0, own;\nst.local.u32 [%r0+4], 45;\nbar.sync 0;\nld.local.u32 %x, [%r0+4];") == 45);
}

TEST_CASE("constants are reached by addresses of 32 bits") {
  const auto word = [](const std::string& body) {
    LoadedModule module(text(body, ".const .align 4 .b32 other[2] = {5, 6};\n.const .align 4 .b32 table[4] = {10, 11, 12, 13};\n"));
    std::uint32_t stored = 0;
    module.launch("k", {1, 1, 1}, {1, 1, 1}, arguments(reinterpret_cast<std::uint64_t>(&stored)));
    return stored;
  };
  CHECK(word("mov.u32 %r0, table;\nld.const.u32 %x, [%r0+8];") == 12);
  CHECK(word("mov.u64 %l0, table;\ncvt.u32.u64 %r0, %l0;\nadd.u32 %r0, %r0, 4;\nld.const.u32 %x, [%r0];") == 11);
  CHECK(word("mov.u32 %r0, table;\ncvt.u64.u32 %l0, %r0;\ncvta.const.u64 %l1, %l0;\nld.u32 %x, [%l1+12];") == 13);
  CHECK(word("mov.u32 %r0, other;\nmov.u64 %l0, table;\ncvta.const.u64 %l1, %l0;\nld.u32 %x, [%l1];") == 10);
}

TEST_CASE("numbers may end with their decimal point") {
  CHECK(run("mov.f32 %f, 1.;\nmov.b32 %x, %f;") == 0x3f800000);
  CHECK(run("mov.f32 %f, -2.e1;\nmov.b32 %x, %f;") == 0xc1a00000);
  CHECK(run("mov.f32 %f, 0.;\nadd.f32 %f, %f, 3.;\nmov.b32 %x, %f;") == 0x40400000);
}

TEST_CASE("modules of 100 MiB of text are taken, as templates of many kinds make them") {
  const std::string large = text("mov.u32 %x, 1;") + std::string(std::size_t{100} << 20, '\n');
  CHECK(cpu::Program::translate(large).ok());
}

}  // namespace rouse::test
