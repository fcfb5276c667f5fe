// What happens to a module between emission and machine code, in this order.
#pragma once

#include <cstdint>

#include "server/device/cpu/codegen/module_emitter.h"

namespace llvm {
class TargetMachine;
}

namespace rouse::cpu::codegen {

// How much work a module is worth: large ones get less, so that compile time stays bounded.
enum class Effort : std::uint8_t { least, less, full };
Effort effortFor(const llvm::Module&);

// Inlines and promotes, so that loops, addresses and calls show what they are.
void simplify(llvm::Module&, llvm::TargetMachine&, Effort);

// Rewrites addresses that are computed as integers to pointer arithmetic, which LLVM's analyses understand.
void recoverPointers(llvm::Function&);

// Lets other threads run in loops that may wait for another thread's store. True if there was one.
bool yieldInSpinLoops(llvm::Module&);

// Whether the code may wait for other threads of the block.
bool mayWait(const llvm::Module&);

// Adds a function that runs the kernel's body for all threads of a block: BlockLoop in abi.h.
void addBlockLoop(llvm::Module&, llvm::Function& body, llvm::StringRef name);

// The group of accesses that threads of a block make independently of each other; made at its first use if `create`.
llvm::MDNode* accessGroup(llvm::Module&, bool create = false);

void optimize(llvm::Module&, llvm::TargetMachine&, Effort);

}  // namespace rouse::cpu::codegen
