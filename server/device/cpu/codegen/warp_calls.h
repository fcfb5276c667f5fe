// Calls of the runtime by which the lanes of a warp exchange values (abi.h).
#pragma once

#include <optional>

#include "server/device/cpu/codegen/module_emitter.h"

namespace rouse::cpu::codegen {

enum class WarpCall : std::uint8_t { sync, shuffle, vote, match, reduce, active, step, matrix };

// Of those; with the lanes that take part, in the member mask, but for matrices: all of the warp.
std::optional<WarpCall> warpOperation(const llvm::CallInst&);
bool exchangesInWarps(const llvm::Module&);  // whether there is one

// The lanes that take part, as the program says; null where it says nothing.
const llvm::Value* memberMask(const llvm::CallInst&);
// Whether all lanes of the warp take part.
bool isOfWholeWarp(const llvm::CallInst&);

// Volatile accesses to what may be shared memory, of functions whose warps exchange values by them (rouse_cpu_step). Lanes side by side do each of
// them together, so they need not be volatile there.
void markStep(llvm::Instruction&);
bool isStep(const llvm::Instruction&);

// Values that are the same in all lanes of a warp, if whole warps go together all the way (what replaces one is not said to be).
void markSameInWarp(llvm::Instruction&);
bool isSameInWarp(const llvm::Instruction&);
// Loads by which each thread takes back what it has kept of such a value.
void markOfWarp(llvm::LoadInst&);
bool isOfWarp(const llvm::LoadInst&);

// Whether it is a load or a store that is neither volatile nor ordered, but for what all lanes do together.
bool isPlainAccess(const llvm::Instruction&);

}  // namespace rouse::cpu::codegen
