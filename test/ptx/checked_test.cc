// Code that asks before each access, on the real runtime: every form of access is asked for with its own bounds, alignment and space, a thread that
// makes an invalid one ends alone, and what is reported says where.
#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <string>

#include "server/device/cpu/program.h"
#include "server/device/ptx/source_line.h"
#include "server/device/cpu/runtime/access_check.h"
#include "test/cpu/launcher.h"

namespace rouse::test {
namespace {

constexpr std::uint64_t kBytes = 64;        // of the one allocation
constexpr std::uint32_t kSharedBytes = 64;  // of a block

// Around the allocation there is memory that may not be accessed either, so that a test that fails does no harm.
struct Memory {
  alignas(4096) std::array<std::byte, 12288> bytes{};
  std::uint64_t base() const { return reinterpret_cast<std::uint64_t>(bytes.data()) + 4096; }
};

struct Outcome {
  Error error;
  std::string report;
  std::uint64_t count = 0;
};

// The kernel gets the allocation's address as %p, and an address behind all of it as %far.
std::string kernelAround(std::string_view body, std::string_view functions = "") {
  return ".version 8.5\n.target sm_90\n.address_size 64\n" + std::string(functions) +
         ".visible .entry k(.param .u64 pp)\n{\n.local .align 16 .b8 own[16];\n"
         ".reg .pred %c<4>;\n.reg .b16 %h<16>;\n.reg .b32 %r<32>;\n.reg .f32 %f<16>;\n.reg .b64 %q<16>;\n.reg .b64 %p, %far;\n"
         "ld.param.u64 %p, [pp];\nadd.u64 %far, %p, 512;\n" +
         std::string(body) + "\nret;\n}\n";
}

Outcome run(const std::string& text, cpu::Code code = cpu::Code::checked, std::uint32_t threads = 1, std::uint64_t most = 1000) {
  static Memory memory;
  auto translated = cpu::Program::translate(text);
  if (!translated) FAIL(translated.error().message);
  const std::shared_ptr<cpu::Program> program = std::move(*translated);
  auto compiled = program->compile(0, code);
  if (!compiled) FAIL(compiled.error().message);
  if (code == cpu::Code::checked) CHECK(compiled->loop == nullptr);
  std::atomic<std::uint64_t> count{0};
  auto allocations = std::make_shared<cpu::Allocations>();
  allocations->live.push_back({memory.base(), kBytes});
  allocations->freed.push_back({memory.base() + 1024, 32});
  auto check = std::make_shared<cpu::LaunchCheck>();
  check->allocations = allocations;
  check->site = [program](std::uint32_t site) { return program->site(site); };
  check->count = [&count, most] { return count.fetch_add(1) < most; };
  cpu::DeviceHeap heap;
  cpu::Output output;
  cpu::Launch request;
  request.entry = compiled->entry;
  request.localBytes = compiled->localBytes;
  request.block = {threads, 1, 1};
  request.workers = 1;
  request.sharedBytes = kSharedBytes;
  request.heap = &heap;
  request.output = &output;
  request.check = std::move(check);
  const std::array<std::uint64_t, 1> parameters{memory.base()};
  Outcome outcome{cpu::run(request, parameters), output.errors, 0};
  outcome.count = count.load();
  return outcome;
}

void isValid(std::string_view body, std::string_view functions = "") {
  INFO(body);
  const Outcome outcome = run(kernelAround(body, functions));
  INFO(outcome.report << outcome.error.message);
  CHECK(outcome.error.code == CudaError::success);
  CHECK(outcome.count == 0);
}

// `words`: what the report says, '|' between them.
void isInvalid(std::string_view body, std::string_view words, CudaError error = CudaError::illegalAddress, std::string_view functions = "") {
  INFO(body);
  const Outcome outcome = run(kernelAround(body, functions));
  INFO(outcome.report << outcome.error.message);
  CHECK(outcome.error.code == error);
  CHECK(outcome.count == 1);
  while (!words.empty()) {
    const std::size_t end = std::min(words.find('|'), words.size());
    INFO(words.substr(0, end));
    CHECK(outcome.report.find(words.substr(0, end)) != std::string::npos);
    words.remove_prefix(std::min(end + 1, words.size()));
  }
}

}  // namespace

TEST_CASE("loads and stores of each size are within, or not, to the byte") {
  for (const auto& [type, bytes, value] : {std::tuple{"u8", 1, "%h1"}, {"u16", 2, "%h1"}, {"u32", 4, "%r1"}, {"f32", 4, "%f1"}, {"u64", 8, "%q1"}}) {
    const std::string suffix = type, size = std::to_string(bytes);
    const std::string last = "[%p+" + std::to_string(kBytes - bytes) + "]", beyond = "[%p+" + std::to_string(kBytes) + "]";
    for (const char* space : {".global", ""}) {
      const std::string load = "ld" + std::string(space) + "." + suffix + " " + value + ", ", store = "st" + std::string(space) + "." + suffix + " ";
      isValid(load + "[%p];" + load + last + ";" + store + last + ", " + value + ";");
      isInvalid(load + beyond + ";", "Invalid __global__ read of size " + size + " byte|is 1 byte after the nearest allocation|of size 64 bytes");
      isInvalid(store + beyond + ", " + value + ";", "Invalid __global__ write of size " + size + " byte|PTX line 15: st");
      isInvalid(store + "[%p+-" + size + "], " + value + ";", "is " + size + " byte|before the nearest allocation");
    }
  }
  isValid("ld.volatile.global.u32 %r1, [%p+60]; st.release.gpu.global.u32 [%p+60], %r1; ld.acquire.gpu.global.u64 %q1, [%p+56];");
  isInvalid("ld.volatile.global.u32 %r1, [%p+64];", "Invalid __global__ read of size 4 bytes");
  isInvalid("st.release.gpu.global.u32 [%p+64], %r1;", "Invalid __global__ write of size 4 bytes");
  isInvalid("mov.u64 %q1, 0; ld.global.u32 %r1, [%q1];", "Access to 0x0 is out of bounds|before the nearest allocation");
  isInvalid("ld.global.u32 %r1, [%p+1028];", "is inside an allocation|of size 32 bytes that has been freed");
}

TEST_CASE("vectors are one access") {
  isValid("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%p+48]; st.global.v2.u64 [%p+48], {%q1, %q2}; ld.v4.u8 {%h1, %h2, %h3, %h4}, [%p+60];");
  isInvalid("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%p+64];", "read of size 16 bytes");
  isInvalid("add.u64 %q1, %p, 56; ld.global.v2.u32 {%r1, %r2}, [%q1+4];", "read of size 8 bytes|is misaligned", CudaError::misalignedAddress);
  isInvalid("st.global.v2.u64 [%p+-16], {%q1, %q2};", "write of size 16 bytes|is 16 bytes before");
}

TEST_CASE("atomic additions to vectors are one access") {
  isValid("red.global.add.v4.f32 [%p+48], {%f1, %f2, %f3, %f4}; atom.global.add.v2.f32 {%f1, %f2}, [%p+56], {%f3, %f4};");
  isInvalid("red.global.add.v4.f32 [%p+64], {%f1, %f2, %f3, %f4};", "Invalid __global__ atomic of size 16 bytes");
}

TEST_CASE("a thread that takes more of its stack than any has is not begun") {
  const Outcome outcome = run(kernelAround("alloca.u64 %q1, 0xfffffff0; st.local.u32 [%q1], %r1;"));
  INFO(outcome.report << outcome.error.message);
  CHECK(outcome.error.code == CudaError::launchOutOfResources);
  CHECK(outcome.count == 0);
}

TEST_CASE("what a thread takes of its stack is its own until it gives it back, or its function returns") {
  isValid("stacksave.u64 %q1; alloca.u64 %q2, 32, 16; st.local.u32 [%q2+28], %r1; cvta.local.u64 %q3, %q2; ld.u32 %r2, [%q3]; stackrestore.u64 %q1;"
          "alloca.u64 %q2, 8; st.local.u64 [%q2], %q1; st.local.u32 [own+12], %r1;");
  // Of a size that is known at run time only: others are a part of the function's frame, and stay.
  const std::string take = "ld.global.u64 %q4, [%p]; add.u64 %q4, %q4, 32; stacksave.u64 %q1; alloca.u64 %q2, %q4, 16; ";
  isValid(take + "st.local.u32 [%q2+28], %r1;");
  isInvalid("alloca.u64 %q2, 32, 16; st.local.u32 [%q2+32], %r1;", "Invalid __local__ write of size 4 bytes");
  isInvalid(take + "st.local.u32 [%q2+32], %r1;", "Invalid __local__ write of size 4 bytes");
  isInvalid(take + "stackrestore.u64 %q1; ld.local.u32 %r1, [%q2];", "Invalid __local__ read of size 4 bytes");
  isInvalid("call (%q2), f, (); ld.local.u32 %r1, [%q2];", "Invalid __local__ read of size 4 bytes", CudaError::illegalAddress,
            ".func (.param .u64 o) f()\n{\n.reg .b64 %q<2>;\nalloca.u64 %q1, 32;\nst.local.u32 [%q1], 7;\nst.param.u64 [o], %q1;\nret;\n}\n");
}

TEST_CASE("misaligned accesses are told at once, whatever they are") {
  isInvalid("ld.global.u32 %r1, [%p+2];", "read of size 4 bytes|is misaligned", CudaError::misalignedAddress);
  isInvalid("st.global.u16 [%p+1], %h1;", "write of size 2 bytes|is misaligned", CudaError::misalignedAddress);
  isInvalid("atom.global.add.u32 %r1, [%p+2], 1;", "atomic of size 4 bytes|is misaligned", CudaError::misalignedAddress);
  isInvalid("mov.u32 %r1, 2; ld.shared.u32 %r2, [%r1];", "Invalid __shared__ read of size 4 bytes|is misaligned", CudaError::misalignedAddress);
}

TEST_CASE("atomic operations") {
  isValid("atom.global.add.u64 %q1, [%p+56], 1; red.global.add.f32 [%p+60], %f1; atom.cas.b32 %r1, [%p+60], 0, 1; atom.global.exch.b64 %q1, [%p+56], 3;");
  for (const char* body : {"atom.global.add.u32 %r1, [%p+64], 1;", "red.global.max.s32 [%p+64], %r1;", "atom.cas.b32 %r1, [%p+64], 0, 1;",
                           "red.global.add.noftz.f16 [%p+64], %h1;", "atom.global.cas.b16 %h1, [%p+64], 0, 1;"}) {
    isInvalid(body, "Invalid __global__ atomic of size");
  }
  isInvalid("mov.u32 %r1, 64; atom.shared.add.u32 %r2, [%r1], 1;", "Invalid __shared__ atomic of size 4 bytes|the block has 64 bytes of shared memory");
}

TEST_CASE("shared memory has the block's size, by its own addresses and by generic ones") {
  isValid("mov.u32 %r1, 60; ld.shared.u32 %r2, [%r1]; st.shared.u32 [%r1], %r2; mov.u64 %q1, 0; cvta.shared.u64 %q2, %q1; ld.u32 %r3, [%q2+60]; st.u8 [%q2+63], %h1;");
  isInvalid("mov.u32 %r1, 64; ld.shared.u32 %r2, [%r1];", "Invalid __shared__ read of size 4 bytes|Access to 0x40 is out of bounds|the block has 64 bytes");
  isInvalid("mov.u32 %r1, 0; st.shared.u32 [%r1+-4], %r2;", "Invalid __shared__ write of size 4 bytes");
  isInvalid("mov.u64 %q1, 0; cvta.shared.u64 %q2, %q1; ld.u32 %r3, [%q2+64];", "Invalid __shared__ read of size 4 bytes");
}

TEST_CASE("copies, matrices and barrier objects") {
  isValid("mov.u32 %r1, 0; cp.async.ca.shared.global [%r1], [%p+48], 16; cp.async.ca.shared.global [%r1+60], [%p+60], 4;");
  isInvalid("mov.u32 %r1, 0; cp.async.ca.shared.global [%r1], [%p+64], 16;", "Invalid __global__ read of size 16 bytes|PTX line 15: cp.async");
  isInvalid("mov.u32 %r1, 64; cp.async.ca.shared.global [%r1], [%p], 8;", "Invalid __shared__ write of size 8 bytes");
  // What is not read, for its size, is not looked at.
  isValid("mov.u32 %r1, 0; mov.u32 %r2, 0; cp.async.ca.shared.global [%r1], [%far], 16, %r2; mov.u32 %r2, 8; cp.async.ca.shared.global [%r1], [%p+48], 16, %r2;");
  isInvalid("mov.u32 %r1, 0; mov.u32 %r2, 4; cp.async.ca.shared.global [%r1], [%far], 16, %r2;", "Invalid __global__ read of size 4 bytes");
  isValid("mov.u32 %r1, 56; mbarrier.init.shared.b64 [%r1], 1;");
  isInvalid("mov.u32 %r1, 64; mbarrier.init.shared.b64 [%r1], 1;", "Invalid __shared__ atomic of size 8 bytes");
  isValid("mov.u32 %r1, 56; mov.u32 %r2, 32; mov.u32 %r3, 0; mbarrier.init.shared.b64 [%r1], 1;"
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%p+32], %r2, [%r1];");
  isInvalid("mov.u32 %r1, 56; mov.u32 %r2, 32; mov.u32 %r3, 0; mbarrier.init.shared.b64 [%r1], 1;"
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%p+48], %r2, [%r1];",
            "Invalid __global__ read of size 32 bytes|reaches 16 bytes beyond the end");
}

TEST_CASE("a warp's matrices: rows that lanes name, and all lines of a tile") {
  const auto warp = [](std::string_view body) { return run(kernelAround(body), cpu::Code::checked, 32); };
  // Addresses that no lane brings are not looked at.
  Outcome outcome = warp("mov.u32 %r1, %laneid; and.b32 %r2, %r1, 3; shl.b32 %r2, %r2, 4; setp.gt.u32 %c1, %r1, 7; @%c1 mov.u32 %r2, 4096;"
                         "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r2];");
  CHECK(outcome.error.code == CudaError::success);
  outcome = warp("mov.u32 %r1, %laneid; shl.b32 %r2, %r1, 4; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r2];");
  INFO(outcome.report);
  CHECK(outcome.count == 4);  // of eight rows of 16 bytes, those beyond 64
  CHECK(outcome.report.find("Invalid __shared__ read of size 16 bytes") != std::string::npos);
  // 16 lines of 16 bytes and more, where there are 64 bytes: all lanes.
  outcome = warp("mov.u32 %r9, 16; wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%p], %r9;");
  INFO(outcome.report);
  CHECK(outcome.count == 32);
  CHECK(outcome.report.find("Invalid __global__ read of size 512 bytes") != std::string::npos);
}

TEST_CASE("local memory is that of functions that have not returned") {
  const std::string_view functions =
      ".func (.param .b64 out) leaves()\n{\n.local .align 8 .b8 gone[8];\n.reg .b64 %a;\nmov.u64 %a, gone;\ncvta.local.u64 %a, %a;\nst.param.b64 [out], %a;\nret;\n}\n"
      ".func (.param .b32 out) reads(.param .b64 in)\n{\n.local .align 8 .b8 mine[8];\n.reg .b64 %a, %m;\n.reg .b32 %x;\nld.param.b64 %a, [in];\nmov.u64 %m, mine;\n"
      "st.local.b32 [%m], 3;\nld.u32 %x, [%a];\nst.param.b32 [out], %x;\nret;\n}\n";
  const auto call = [](const char* argument) {
    return "{ .param .b64 in; .param .b32 out; st.param.b64 [in], " + std::string(argument) + "; call (out), reads, (in); ld.param.b32 %r1, [out]; }";
  };
  isValid("mov.u64 %q1, own; st.local.u32 [%q1+12], %r1; cvta.local.u64 %q2, %q1; st.u32 [%q2+12], %r1; st.local.u32 [own+12], %r1;");
  isInvalid("mov.u64 %q1, own; st.local.u32 [%q1+16], %r1;", "Invalid __local__ write of size 4 bytes|none of the thread's local variables");
  isInvalid("mov.u64 %q1, own; cvta.local.u64 %q2, %q1; ld.u32 %r1, [%q2+16];", "Invalid __local__ read of size 4 bytes");
  isInvalid("st.local.u32 [own+16], %r1;", "Invalid __local__ write of size 4 bytes");
  isValid("mov.u64 %q1, own; cvta.local.u64 %q2, %q1; add.u64 %q2, %q2, 12;" + call("%q2"), functions);
  isInvalid("mov.u64 %q1, own; cvta.local.u64 %q2, %q1; add.u64 %q2, %q2, 16;" + call("%q2"), "Invalid __local__ read|at reads|called from kernel test",
            CudaError::illegalAddress, functions);
  isInvalid("{ .param .b64 out; call (out), leaves; ld.param.b64 %q2, [out]; } ld.u32 %r1, [%q2];", "Invalid __local__ read of size 4 bytes",
            CudaError::illegalAddress, functions);
}

TEST_CASE("parameters may be read by generic addresses, and not written") {
  isValid("mov.b64 %q1, pp; cvta.param.u64 %q2, %q1; ld.u64 %q3, [%q2];");
  isInvalid("mov.b64 %q1, pp; cvta.param.u64 %q2, %q1; st.u64 [%q2], %q3;", "write of size 8 bytes");
}

TEST_CASE("the device heap, while it is allocated") {
  const std::string_view functions =
      ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 a);\n";
  const std::string block = "{ .param .b64 n; .param .b64 r; st.param.b64 [n], 20; call (r), malloc, (n); ld.param.b64 %q1, [r]; }";
  const std::string end = "{ .param .b64 a; st.param.b64 [a], %q1; call free, (a); }";
  isValid(block + "st.u32 [%q1+16], %r1; ld.global.u8 %h1, [%q1+19];" + end, functions);
  isInvalid(block + "st.u32 [%q1+20], %r1;", "is 1 byte after the nearest allocation|of size 20 bytes", CudaError::illegalAddress, functions);
  isInvalid(block + "st.u32 [%q1], %r1;" + end + "st.u32 [%q1], %r1;", "Invalid __global__ write of size 4 bytes", CudaError::illegalAddress, functions);
}

TEST_CASE("a thread that made an invalid access ends, and the others do not wait for it") {
  // Threads from 16 on are beyond the allocation; the others go on behind a barrier, and write.
  const std::string body =
      "mov.u32 %r1, %tid.x; mul.wide.u32 %q1, %r1, 4; add.u64 %q1, %p, %q1; ld.global.u32 %r2, [%q1]; bar.sync 0; st.global.u32 [%q1], %r1;";
  Outcome outcome = run(kernelAround(body), cpu::Code::checked, 64);
  INFO(outcome.report);
  CHECK(outcome.count == 48);
  CHECK(outcome.error.code == CudaError::illegalAddress);
  CHECK(outcome.error.message.find("thread [16,0,0]: invalid __global__ read of 4 bytes at 0x") != std::string::npos);
  CHECK(outcome.report.find("by thread (63,0,0) in block (0,0,0)") != std::string::npos);
  CHECK(outcome.report.find("write") == std::string::npos);
  // So many are told of, all are counted.
  outcome = run(kernelAround(body), cpu::Code::checked, 64, 2);
  CHECK(outcome.count == 48);
  CHECK(outcome.report.find("thread (17,0,0)") != std::string::npos);
  CHECK(outcome.report.find("thread (18,0,0)") == std::string::npos);
  // Other code asks nobody.
  outcome = run(kernelAround("ld.global.u32 %r1, [%p+64];"), cpu::Code::plain);
  CHECK(outcome.error.code == CudaError::success);
  CHECK(outcome.count == 0);
}

TEST_CASE("the nearest allocation") {
  const cpu::Allocations some{.live = {{100, 10}, {200, 10}}, .freed = {}};
  CHECK(some.at(100) == &some.live[0]);
  CHECK(some.at(109) == &some.live[0]);
  CHECK(some.at(110) == nullptr);
  CHECK(some.at(99) == nullptr);
  CHECK(some.nearest(0) == &some.live[0]);
  CHECK(some.nearest(150) == &some.live[0]);
  CHECK(some.nearest(160) == &some.live[1]);
  CHECK(some.nearest(1000) == &some.live[1]);
  CHECK(cpu::Allocations{}.nearest(5) == nullptr);
}

TEST_CASE("the source's line is that of the last directive of the function before the instruction") {
  const std::string text = ".version 8.5\n\t.file\t1 \"/a/b.cu\"\n\t.file 12 \"/a/c.h\", 3, 4\n.entry k()\n{\n\t.loc\t1 7 3\n\tfirst;\n\tsecond;\n\t.loc 12 9 0, function_name $x, inlined_at 1 8 2\n"
                           "{ // callseq 0, 0\nthird; // .loc 1 99 1\n} // callseq 0\n}\n.entry l()\n{\nfourth;\n}\n";
  const auto at = [&](const char* word) { return ptx::sourceLineAt(text, text.find(word)); };
  REQUIRE(at("first"));
  CHECK((at("first")->file == "/a/b.cu" && at("first")->line == 7));
  CHECK(at("second")->line == 7);
  CHECK(at("second")->inlinedFile.empty());
  CHECK((at("third")->file == "/a/c.h" && at("third")->line == 9));
  CHECK((at("third")->inlinedFile == "/a/b.cu" && at("third")->inlinedLine == 8));
  // What is inlined into what is inlined: in the end.
  const std::string nested = ".file 1 \"/a\"\n.file 2 \"/b\"\n.entry k()\n{\n\t.loc\t2 9 3, function_name $x, inlined_at 1 5 2\n\t.loc 2 20 1, function_name $y, inlined_at 2 9 3\n\tdeep;\n}\n";
  const auto deep = ptx::sourceLineAt(nested, nested.find("deep"));
  REQUIRE(deep);
  CHECK((deep->file == "/b" && deep->line == 20 && deep->inlinedFile == "/a" && deep->inlinedLine == 5));
  CHECK(!at("fourth"));
  CHECK(!ptx::sourceLineAt("", 5));
  CHECK(!ptx::sourceLineAt(".loc 1", 6));
}

}  // namespace rouse::test
