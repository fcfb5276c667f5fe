#include "server/device/cpu/codegen/device_runtime.h"

#include <algorithm>

namespace rouse::cpu::codegen {
namespace {

constexpr std::string_view kNames[] = {"cudaCGGetIntrinsicHandle", "cudaCGSynchronize"};

// A grid's handle is the address of its workspace (abi.h, BlockContext::gridWorkspace), 0 unless it was launched
// cooperatively. The barrier is what cooperative groups compile to: one thread of each block adds to the word behind
// the size, the first block's so much that the last to come turns the upper bit, and waits for that.
constexpr std::string_view kText = R"(
.version 7.0
.target sm_70
.address_size 64

.weak .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope)
{
  .reg .pred %p;
  .reg .b32 %r<4>;
  .reg .b64 %d<2>;
  ld.param.u32 %r1, [scope];
  mov.u32 %r2, %envreg1;
  mov.u32 %r3, %envreg2;
  mov.b64 %d1, {%r3, %r2};
  setp.ne.u32 %p, %r1, 1;
  @%p mov.u64 %d1, 0;
  st.param.b64 [handle], %d1;
  ret;
}

.weak .func (.param .b32 error) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)
{
  .reg .pred %p<4>;
  .reg .b32 %r<12>;
  .reg .b64 %d<3>;
  ld.param.u64 %d1, [handle];
  mov.u32 %r1, 1;
  setp.eq.u64 %p1, %d1, 0;
  @%p1 bra said;
  bar.sync 0;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %tid.y;
  or.b32 %r1, %r1, %r2;
  mov.u32 %r2, %tid.z;
  or.b32 %r1, %r1, %r2;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra met;
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ctaid.y;
  or.b32 %r3, %r3, %r4;
  mov.u32 %r4, %ctaid.z;
  or.b32 %r3, %r3, %r4;
  mov.u32 %r5, %nctaid.x;
  mov.u32 %r6, %nctaid.y;
  mul.lo.u32 %r5, %r5, %r6;
  mov.u32 %r6, %nctaid.z;
  mul.lo.u32 %r5, %r5, %r6;
  sub.u32 %r5, 0x80000001, %r5;
  setp.eq.u32 %p2, %r3, 0;
  selp.u32 %r7, %r5, 1, %p2;
  membar.gl;
  atom.global.add.u32 %r8, [%d1+4], %r7;
waits:
  ld.volatile.global.u32 %r9, [%d1+4];
  xor.b32 %r10, %r8, %r9;
  setp.ge.s32 %p3, %r10, 0;
  @%p3 bra waits;
  membar.gl;
met:
  bar.sync 0;
  mov.u32 %r1, 0;
said:
  st.param.b32 [error], %r1;
  ret;
}
)";

}  // namespace

std::string_view deviceRuntimeFor(const ptx::Module& module) {
  const auto asks = [](const ptx::Function& function) {
    return !function.isDefined && std::ranges::find(kNames, function.name) != std::end(kNames);
  };
  return std::ranges::any_of(module.functions, asks) ? kText : std::string_view();
}

}  // namespace rouse::cpu::codegen
