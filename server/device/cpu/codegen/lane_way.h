// The way through a function that most vectors of neighbours take as a whole: within an array's bounds, `if (i >= n) return;`, and off its edges, `if (x == 0 || x == n - 1) ...`. Whether all lanes
// go it can be asked of the first one's numbers before anything is done; those that do need no masks, and no branches. Worth a function of its own where the processor has no masks (lanes.h) and
// threads do little beside their accesses.
#pragma once

#include "server/device/cpu/codegen/lane_shapes.h"

namespace rouse::cpu::codegen {

class LaneWay {
 public:
  // Of a function as LaneShapes takes it, with one end. The way with most accesses to neighbouring elements is taken for the one that most go.
  LaneWay(llvm::Function&, Beside);

  bool isWorth() const { return isWorth_; }
  // The function as if threads went that way only, which is in one block then; in its module.
  llvm::Function* addAlone() const;
  // i1(arguments of the function), in its module: whether all lanes that begin with the thread go that way, and none of their numbers wraps where it is extended to 64 bits.
  llvm::Function* addTest(const llvm::Twine& name) const;

 private:
  bool choose();
  std::uint64_t worthOf(const llvm::BasicBlock&) const;
  bool isAccess(const llvm::Instruction&) const;
  bool canTell(const llvm::Value* condition, unsigned depth = 0) const;
  bool isBound(const llvm::ICmpInst&) const;
  bool isAnywhere(const llvm::Value*, unsigned depth = 0) const;

  llvm::Function& function_;
  const Beside beside_;
  const LaneShapes shapes_;
  std::vector<const llvm::BasicBlock*> blocks_;  // of the way
  bool isWorth_ = false;
};

}  // namespace rouse::cpu::codegen
