// Sums of all lanes of a warp, made by exchanges between lanes whose numbers differ in one bit (shfl.sync.bfly): all lanes have the same one.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

namespace rouse::cpu::codegen {

class Butterflies {
 public:
  // Whether there are any, of whole warps.
  explicit Butterflies(const llvm::Function&);

  explicit operator bool() const { return any_; }
  // Of the bits `all` of lanes' numbers those that make no difference to what lanes have: lanes whose numbers differ in nothing else have the same. Of lanes that are all there.
  // `isUniform`: whether lanes whose numbers differ in `all` have an operand alike anyway (not asked of the instruction itself, of which this may be the only reason). `isConverged`: whether all lanes come to a block at once, or none.
  unsigned alike(const llvm::Instruction&, unsigned all, llvm::function_ref<bool(const llvm::Value*)> isUniform, llvm::function_ref<bool(const llvm::BasicBlock*)> isConverged);
  // What was asked so far, since answers become worse with what is known of others.
  void forget() { known_.clear(); }

 private:
  bool any_ = false;
  llvm::DenseMap<const llvm::Instruction*, unsigned> known_;
};

}  // namespace rouse::cpu::codegen
