#include "server/device/cpu/runtime/context_switch.h"

#include <cstdint>

// System V ABI, 3.2.1: rbx, rbp, r12–r15 and rsp belong to the caller. The control words of x87 and SSE do too, but
// neither generated code nor the runtime changes them.
asm(R"(
.text
.p2align 4
.globl rouse_switch_stack
.hidden rouse_switch_stack
.type rouse_switch_stack, @function
rouse_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
.globl rouse_restore_stack
.hidden rouse_restore_stack
.type rouse_restore_stack, @function
rouse_restore_stack:
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size rouse_switch_stack, .-rouse_switch_stack

.p2align 4
.globl rouse_enter_stack
.hidden rouse_enter_stack
.type rouse_enter_stack, @function
rouse_enter_stack:
  .cfi_startproc
  .cfi_undefined rip
  movq %r12, %rdi
  callq *%r13
  ud2
  .cfi_endproc
.size rouse_enter_stack, .-rouse_enter_stack
.section .note.GNU-stack,"",@progbits
.text
)");

namespace rouse::cpu {

void* prepareStack(void* top, void (*entry)(void*), void* argument) {
  // rouse_enter_stack is reached by `ret`, which must leave the pointer a multiple of 16, so that its call aligns the
  // callee.
  auto* words = reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::uint64_t>(top) & ~std::uint64_t{15});
  words -= 3;
  words[0] = reinterpret_cast<std::uint64_t>(&rouse_enter_stack);
  words -= 6;
  words[0] = 0;                                          // r15
  words[1] = 0;                                          // r14
  words[2] = reinterpret_cast<std::uint64_t>(entry);     // r13
  words[3] = reinterpret_cast<std::uint64_t>(argument);  // r12
  words[4] = 0;                                          // rbx
  words[5] = 0;                                          // rbp: ends chains of frame pointers
  return words;
}

}  // namespace rouse::cpu
