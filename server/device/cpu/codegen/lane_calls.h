// Calls of what is no part of a function that runs side by side.
#pragma once

#include "server/device/cpu/codegen/module_emitter.h"

namespace rouse::cpu::codegen {

// Calls that are made one lane after the other: of the runtime's functions for one thread (printf, malloc), of the module's that were not inlined, through pointers. None of
// those waits for other threads: functions that do are inlined before (inlineWaiting), and pointers to such leave a kernel to fibers.
bool isMadeByLane(const llvm::CallInst&);
// Of those, what programs rarely do: what stands around it is worth being done side by side, even where nobody must be.
bool isRarelyMade(const llvm::CallInst&);
// What ends the launch, and tells which thread did.
bool endsLaunch(const llvm::Instruction&);
// Whether it is told which thread calls.
bool takesThread(const llvm::CallInst&);

}  // namespace rouse::cpu::codegen
