// The one piece of machine code: leaving one stack for another. x86-64, System V ABI.
#pragma once

#if !defined(__x86_64__)
#error "The CPU device runs on x86-64: port context_switch.cc and fault_registers.h for another processor"
#endif

extern "C" {

// Saves the callee-saved registers on the current stack and its pointer in *save, then continues where `load` was
// saved.
void rouse_switch_stack(void** save, void* load);

// The second half of rouse_switch_stack: what a signal handler lets a thread continue at, with the stack pointer set to
// a saved one, to leave a stack that cannot be continued.
void rouse_restore_stack(void);

// First code on a fresh stack; see prepareStack.
void rouse_enter_stack(void);

}  // extern "C"

namespace rouse::cpu {

// Lays out a fresh stack that ends below `top` so that switching to the result calls entry(argument), which never
// returns.
void* prepareStack(void* top, void (*entry)(void*), void* argument);

}  // namespace rouse::cpu
