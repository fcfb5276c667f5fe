// What a thread has to keep while it waits, and what of it can be had again more cheaply.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SetVector.h>

#include "server/device/cpu/codegen/module_emitter.h"

namespace rouse::cpu::codegen {

using LiveSet = llvm::SetVector<llvm::Instruction*>;

// For each of `blocks`, the values that were computed before it and are needed in it or behind it. Stack variables and
// what the function's first block computes are not among them.
std::vector<LiveSet> liveAt(llvm::Function&, llvm::ArrayRef<llvm::BasicBlock*> blocks);

// Computes values again from the function's arguments: from fields of thread and block, kernel parameters and constants, by a few
// instructions without side effects.
class Recomputation {
 public:
  // Whether that is possible, where the value has been computed before.
  bool offers(llvm::Instruction*);
  // Builds it. Instances that `made` has are used, and what is built is added to it.
  llvm::Value* build(llvm::Instruction*, llvm::IRBuilder<>&, llvm::DenseMap<llvm::Value*, llvm::Value*>& made);

 private:
  static constexpr unsigned kNever = ~0u;
  unsigned cost(llvm::Instruction*);  // in instructions; kNever
  bool isOfBlock(llvm::Instruction*);  // of one that it offers: whether it is the same for all threads of a block, and computed once

  llvm::DenseMap<llvm::Instruction*, unsigned> costs_;
  llvm::DenseMap<llvm::Instruction*, bool> ofBlock_;
};

}  // namespace rouse::cpu::codegen
