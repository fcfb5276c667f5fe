// What pointers point to in the contexts (abi.h) of a function's thread, which is its first argument, and of its block.
#pragma once

#include <optional>

#include "server/device/cpu/codegen/module_emitter.h"

namespace rouse::cpu::codegen {

// The offset of the field; nothing where it points elsewhere.
std::optional<std::size_t> threadField(const llvm::Value* pointer, const llvm::Function&);
std::optional<std::size_t> blockField(const llvm::Value* pointer, const llvm::Function&);
// Whether it may be one of the thread's fields or something else, as it comes.
bool isPerhapsOfThread(const llvm::Value* pointer, const llvm::Function&);

// Of loads of a thread's number or something else, makes two. LLVM makes one of two that meet (`v = threadIdx.x; if (p) v = *q;`), but what is asked about threads' numbers is asked of loads of them.
void separateNumbers(llvm::Function&);

}  // namespace rouse::cpu::codegen
