// Cuts a step (step_function.h) where its threads wait, and where all of them choose between barriers.
#pragma once

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallSet.h>

#include <vector>

#include "server/device/cpu/codegen/uniformity.h"

namespace rouse::cpu::codegen {

struct Cut {
  llvm::BasicBlock* exit;              // ends here
  llvm::BasicBlock* resume;            // goes on here
  llvm::CallInst* arrival = nullptr;   // of a reduction: marks its predicate, in `exit`
  bool polls = false;                  // threads come here, and go on, each in its own time
};

class Cutter {
 public:
  explicit Cutter(llvm::Function& step) : step_(step), module_(*step.getParent()), b(step.getContext()) {}

  // Those of all threads, by a number that is known. False if the kernel waits in any other way, but for lanes of warps.
  bool findBarriers();
  bool hasWarpCalls() const { return warpCalls_; }
  // Whether it has loops that wait for what others store (yieldInSpinLoops).
  bool polls() const { return !polls_.empty() || pollsInLanes_; }
  const llvm::SmallPtrSetImpl<llvm::Instruction*>& barriers() const { return barriers_; }
  bool reduces() const { return reduces_; }
  // Has whole warps go through it in step as if they exchanged values by warp operations.
  void goInStep() { warpCalls_ = true; }
  bool hasSeveralNumbers() const { return ids_.size() > 1; }

  // A barrier more, where threads may store to shared memory what others have loaded since the last one, or load what others have stored: a GPU's warps come to both at about the same
  // time, so programs do without (a leader that fetches the block's next task; a pipeline of neighbours; a block of one warp).
  bool separateOverwrites(const Uniformity&);
  // Whether threads load what others have stored where no barrier can be added: only in whole warps side by side do they find it.
  bool crosses() const { return crosses_; }
  // A barrier at the end of each round of a loop by which threads divide work (rounds.h); false where there is none.
  bool separateRounds();
  // A barrier more before threads may go on to poll, so that as little as possible is done by threads that poll.
  void separatePolls(const Uniformity&);
  // Blocks that branch, and so decide between barriers.
  using Branching = llvm::SmallVector<llvm::BasicBlock*, 16>;
  Branching branching(const Uniformity&);
  // Whether who has polled comes to a place where all would wait for all that has no barrier in the program: those that still poll may wait for what it does behind that.
  bool holdUpPolls(const Branching&, const Uniformity&) const;
  // Where all threads take each of them alike.
  void cutBranches(const Branching&);
  // Where threads may take them each its own way: what all do before it is the same. Their cuts come first.
  void cutBranchesApart(const Branching&);
  // The ends of rounds in which who goes round may come to no barrier: what is left of a loop with barriers is none in any segment. Their cuts come first.
  void cutRounds();
  // Blocks of their own for threads that end early; before anything is cut.
  void separateEarlyEnds(const Uniformity&);
  // Has those that are left then go on in a segment of their own: there all of them are together again. `branching`: what is cut anyway.
  void cutEarlyEnds(const Branching& branching);
  // Has whole warps poll where their lanes wait for each other behind the loop, and so for those that still poll: the other blocks run meanwhile, of this one nobody.
  // Taken for granted, not known: that they poll for nothing that this block's other warps, or lanes that have left the loops around, store before the next barrier; but not where such
  // a lane stores to the very place.
  void pollInLanes();
  // Where threads poll, at the end of each round. Behind those of branches.
  void cutPolls();
  // Blocks are split from here on; values stay what they are.
  void cutBarriers();
  const std::vector<Cut>& cuts() const { return cuts_; }
  // Blocks through which threads go to their end while others go on to barriers.
  const std::vector<llvm::BasicBlock*>& earlyEnds() const { return earlyEnds_; }

 private:
  using BehindPolls = llvm::SmallPtrSet<const llvm::Instruction*, 32>;
  BehindPolls behindPolls(const Uniformity&) const;
  llvm::CallInst* addBarrier(llvm::Instruction* before);
  void cutEdges(llvm::BasicBlock*);
  void cut(llvm::Instruction* at);
  void reduce(llvm::CallInst*, Cut&);

  llvm::Function& step_;
  llvm::Module& module_;
  llvm::IRBuilder<> b;
  llvm::SmallPtrSet<llvm::Instruction*, 16> barriers_;
  llvm::SmallSet<std::uint64_t, 4> ids_;
  llvm::SmallVector<llvm::CallInst*, 8> polls_;
  llvm::SmallPtrSet<const llvm::Instruction*, 8> added_;  // of the barriers
  bool reduces_ = false, warpCalls_ = false, pollsInLanes_ = false, crosses_ = false;
  std::vector<Cut> cuts_;
  std::vector<llvm::BasicBlock*> earlyEnds_;
  llvm::SmallSetVector<llvm::BasicBlock*, 4> leaving_;  // by which all that are left come to choose whether they end
};

}  // namespace rouse::cpu::codegen
