// What decides about a value in a loop: what it is computed from, which way led there, and what was kept in variables meanwhile.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>

#include "server/device/cpu/codegen/module_emitter.h"

namespace rouse::cpu::codegen {

// Of a function.
class ControlFlow {
 public:
  explicit ControlFlow(llvm::Function& function) : dominators(function), loops(dominators), function_(function) {}

  // Whether who comes to `from` comes to `through` before it ends: a postdominator, but for ends that are none, such as a trap.
  bool comesThrough(const llvm::BasicBlock* from, const llvm::BasicBlock* through);

  const llvm::Function& function() const { return function_; }

  const llvm::DominatorTree dominators;
  const llvm::LoopInfo loops;

 private:
  using Blocks = llvm::SmallPtrSet<const llvm::BasicBlock*, 16>;

  llvm::Function& function_;
  llvm::DenseMap<const llvm::BasicBlock*, std::unique_ptr<Blocks>> around_;  // from where there is a way to an end around the block
};

// Whether both are computed alike, from the same: addresses are made where they are used, so one place has several; what constant loads give is the same.
bool isAlike(const llvm::Value* a, const llvm::Value* b, unsigned depth = 0);

// What decides where to from the block; null where there is one way.
llvm::Value* conditionOf(llvm::BasicBlock* block);

class LoopSlice {
 public:
  LoopSlice(const llvm::Loop& loop, ControlFlow& flow, llvm::Value* value);
  // Those of the loop.
  const llvm::SmallPtrSetImpl<llvm::Instruction*>& instructions() const { return seen_; }
  // Whether it is a load of what a lane of the same warp has stored in the same round: what was stored there is of the slice instead.
  bool isOwn(const llvm::Instruction* load) const { return own_.contains(load); }

 private:
  // `phi`: whose value it is about, if one's.
  void addControls(llvm::BasicBlock* block, const llvm::BasicBlock* top, const llvm::PHINode* phi = nullptr);
  bool bringsSame(const llvm::BasicBlock* branch, const llvm::PHINode&) const;
  void addKept(const llvm::Value* variable);
  void addOwn(const llvm::LoadInst& load);
  void addHanded(const llvm::LoadInst& load);

  const llvm::Loop& loop_;
  ControlFlow& flow_;
  llvm::SmallPtrSet<llvm::Instruction*, 32> seen_;
  llvm::SmallPtrSet<const llvm::Value*, 4> variables_;
  llvm::SmallPtrSet<const llvm::Instruction*, 4> own_;
  llvm::SmallVector<llvm::Value*, 16> work_;
};

// Whether what the instruction yields comes into memory or to other threads in the loop, or decides whether something does.
bool isHandedOn(const llvm::Loop& loop, ControlFlow& flow, const llvm::Instruction& instruction);

}  // namespace rouse::cpu::codegen
