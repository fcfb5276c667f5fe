#include "test/ptx/large_kernel.h"

#include <algorithm>
#include <vector>

#include "test/cpu/launcher.h"

namespace rouse::test {
namespace {

// Every so many steps a value is kept to the end.
constexpr std::uint32_t kKept = 256;

}  // namespace

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

std::uint32_t expectedOfChain(std::uint32_t steps, std::uint32_t x) {
  std::vector<std::uint32_t> r(steps + 1);
  for (int round = 0; round < 2; ++round)
    for (std::uint32_t i = 1; i <= steps; ++i) r[i] = (x >> i % 31 & 1) != 0 ? r[i - 1] * 3 + (i % 101 == 0 ? r[i] : i) : r[i - 1] + 1;
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i <= steps; i += kKept) sum = (sum ^ r[i]) * 5;
  return sum;
}

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

namespace {

constexpr const char* kBegin = ".version 8.5\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 pout, .param .u32 px)\n{\n.reg .b32 %v, %w, %at;\n.reg .f32 %f, %g;\n"
                               ".reg .b64 %out;\n.reg .pred %p;\n.shared .align 4 .b8 s[4096];\nld.param.u64 %out, [pout];\nld.param.u32 %v, [px];\n";
constexpr const char* kEnd = "st.global.u32 [%out], %v;\nret;\n}\n";

}  // namespace

std::string rounds(std::uint32_t count) {
  std::string text = kBegin + std::string("mov.u32 %at, %tid.x;\nshl.b32 %at, %at, 2;\nmov.u32 %w, s;\nadd.u32 %at, %at, %w;\n");
  for (std::uint32_t k = 0; k < count; ++k)
    text += "st.shared.u32 [%at], %v;\nbar.sync 0;\nld.shared.u32 %w, [%at];\nbar.sync 0;\nmad.lo.u32 %v, %v, 3, %w;\nadd.u32 %v, %v, " + std::to_string(k) + ";\n";
  return text + kEnd;
}

std::uint32_t expectedOfRounds(std::uint32_t count, std::uint32_t x) {
  for (std::uint32_t k = 0; k < count; ++k) x = x * 4 + k;
  return x;
}

std::string choices(std::uint32_t count) {
  std::string text = kBegin;
  for (std::uint32_t k = 0; k < count; ++k) {
    text += "and.b32 %w, %v, 1023;\ncvt.rn.f32.u32 %f, %w;\nmov.f32 %g, 0f43fa0000;\nmax.f32 %f, %f, %g;\nsetp.gt.f32 %p, %f, 0f443b8000;\nselp.f32 %f, %g, %f, %p;\n"
            "cvt.rzi.u32.f32 %w, %f;\nmad.lo.u32 %v, %v, 5, %w;\nadd.u32 %v, %v, " + std::to_string(k) + ";\n";
  }
  return text + kEnd;
}

std::uint32_t expectedOfChoices(std::uint32_t count, std::uint32_t x) {
  for (std::uint32_t k = 0; k < count; ++k) {
    const std::uint32_t least = std::max<std::uint32_t>(x & 1023, 500);
    x = x * 5 + (least > 750 ? 500 : least) + k;
  }
  return x;
}

std::string products(std::uint32_t count) {
  std::string text = ".version 8.5\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 pout, .param .u32 px)\n{\n.shared .align 4 .b32 words[1024];\n"
                     ".reg .b32 %a<4>, %b<2>, %c<4>, %s<4>;\n.reg .b32 %x, %lane, %at, %base, %sum;\n.reg .b64 %out, %offset;\n"
                     "ld.param.u64 %out, [pout];\nld.param.u32 %x, [px];\nmov.u32 %lane, %tid.x;\nshl.b32 %at, %lane, 2;\nmov.u32 %base, words;\nadd.u32 %base, %base, %at;\n";
  for (std::uint32_t k = 0; k < 32; ++k)
    text += "mad.lo.u32 %x, %x, 1664525, %lane;\nst.shared.b32 [%base+" + std::to_string(128 * k) + "], %x;\n";
  text += "bar.sync 0;\n";
  for (int k = 0; k < 4; ++k) text += "mov.u32 %s" + std::to_string(k) + ", 0;\n";
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto word = [&](std::uint32_t k) { return "[%base+" + std::to_string(128 * ((i * 7 + k * 5) % 32)) + "];\n"; };
    for (std::uint32_t k = 0; k < 4; ++k) text += "ld.shared.b32 %a" + std::to_string(k) + ", " + word(k);
    for (std::uint32_t k = 0; k < 2; ++k) text += "ld.shared.b32 %b" + std::to_string(k) + ", " + word(k + 4);
    text += "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%c0, %c1, %c2, %c3}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%s0, %s1, %s2, %s3};\n";
    for (std::uint32_t k = 0; k < 4; ++k) text += "mad.lo.u32 %s" + std::to_string(k) + ", %c" + std::to_string((k + 1) % 4) + ", 5, %a" + std::to_string(k) + ";\n";
  }
  text += "xor.b32 %sum, %s0, %s1;\nmad.lo.u32 %sum, %sum, 3, %s2;\nxor.b32 %sum, %sum, %s3;\nmul.wide.u32 %offset, %lane, 4;\nadd.u64 %out, %out, %offset;\n";
  return text + "st.global.u32 [%out], %sum;\nret;\n}\n";
}

std::array<std::uint32_t, 32> runWarp(const cpu::KernelCode& code, bool asFibers, std::uint32_t x) {
  std::array<std::uint32_t, 32> got{};
  struct {
    std::uint32_t* out;
    std::uint32_t x;
  } const parameters{got.data(), x};
  cpu::Launch request = cpu::launchOf(code, asFibers);
  request.sharedBytes = code.staticSharedBytes;
  request.block = {32, 1, 1};
  cpu::mustRun(request, parameters);
  return got;
}

std::uint32_t run(const cpu::KernelCode& code, std::uint32_t x) {
  std::uint32_t got = 0;
  struct {
    std::uint32_t* out;
    std::uint32_t x;
  } const parameters{&got, x};
  cpu::Launch request;
  request.entry = code.entry;
  request.localBytes = code.localBytes;
  request.sharedBytes = code.staticSharedBytes;
  request.block = {1, 1, 1};
  request.workers = 1;
  cpu::mustRun(request, parameters);
  const std::uint32_t asFiber = got;
  request.loop = code.loop;
  cpu::mustRun(request, parameters);
  CHECK(got == asFiber);
  return got;
}

}  // namespace rouse::test
