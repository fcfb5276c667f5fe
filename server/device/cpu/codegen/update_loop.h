// Atomic updates for which the processor has no instruction: compare-and-swap until nobody came between.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace rouse::cpu::codegen {

struct UpdateLoop {
  llvm::Value* pointer;
  llvm::IntegerType* bits;  // as which it is compared; its size is the pointer's alignment
  llvm::AtomicOrdering ordering = llvm::AtomicOrdering::Monotonic;
  llvm::SyncScope::ID scope = llvm::SyncScope::System;
  bool leavesUnchanged = false;  // what would put back what is there stores nothing
};

// From where the builder is to behind the loop, in new blocks. `change`: what is to be there, of what is. What was there, as bits.
llvm::Value* updateInLoop(llvm::IRBuilderBase&, const UpdateLoop&, llvm::function_ref<llvm::Value*(llvm::Value* seen)> change);

}  // namespace rouse::cpu::codegen
