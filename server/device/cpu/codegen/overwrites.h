// Stores to shared memory over what other threads load, with no barrier between: a leader that fetches the block's next task behind the loop that all read
// the last one for; each thread's result over what its neighbour reads. CUDA leaves open who comes first; the warps of a GPU come to both at about the same time, so such
// programs work there. Threads that are done one after the other, or sixteen at a time, would do all of theirs first.
#pragma once

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/Dominators.h>

#include <map>

#include "server/device/cpu/codegen/lane_shapes.h"
#include "server/device/cpu/codegen/uniformity.h"

namespace rouse::cpu::codegen {

class Overwrites {
 public:
  static constexpr std::size_t kMostBlocks = 400;  // larger functions are left as they are

  // Of a step (step_function.h) that is not cut yet, whose threads all come to the same barriers.
  // `inStep`: whether whole warps go through it in step, so that lanes find what others have stored.
  Overwrites(llvm::Function& step, const Uniformity& uniformity, const llvm::SmallPtrSetImpl<llvm::Instruction*>& barriers, bool inStep);

  // Where all threads are together, behind loads and before a store over what they have loaded, or behind stores and before a load of what they have stored: what a barrier in front of would part. `held`: in front of
  // which all must not meet.
  const llvm::SmallSetVector<llvm::Instruction*, 8>& find(const llvm::SmallPtrSetImpl<const llvm::Instruction*>& held);
  // The same within branches that only some threads take, of what find() has not found a place for: to be parted by meetWithin().
  const llvm::SmallSetVector<llvm::Instruction*, 8>& apart() const { return apart_; }
  // Whether some load what others have stored where all are nowhere together between: only threads side by side find it.
  bool crosses() const { return crosses_; }

 private:
  using Addresses = llvm::SmallSetVector<const llvm::Value*, 8>;  // in the order in which they were found: what is compiled is always the same
  struct Seen {
    Addresses loaded, stored;
    Addresses asked;  // loaded from global memory, or from a barrier object, if some write there
  };

  void findAsked();
  bool isSetBack(const llvm::Instruction&, const Seen&) const;

  bool isHit(const llvm::StoreInst&, const llvm::Value* own, const llvm::Value* loaded) const;
  bool isTaken(const llvm::LoadInst&, const llvm::Value* own, const llvm::Value* stored) const;
  bool isNeighbours(const llvm::Value* own, const llvm::Value* other, bool ofAll) const;
  Shape shapeOf(const llvm::Value* address) const;
  bool isOfRound(const llvm::LoadInst&, const llvm::Value* number) const;
  bool isStoredBySome(const llvm::LoadInst&, const llvm::Value* address) const;
  bool isLeft(const llvm::LoadInst&, const llvm::Value* own, const llvm::Value* stored) const;
  bool hits(const llvm::Instruction&, const Seen&) const;
  bool isCutAnyway(const llvm::BasicBlock*) const;
  bool isLate(const llvm::Instruction& access, const Seen&) const;
  void noteApart(llvm::Instruction& access, llvm::Instruction* branching);
  llvm::Instruction* placeOf(llvm::Instruction&) const;
  template <class Note>
  void walk(llvm::BasicBlock&, Seen&, Note note) const;
  void flow();

  llvm::Function& step_;
  const Uniformity& uniformity_;
  const llvm::SmallPtrSetImpl<llvm::Instruction*>& barriers_;
  const llvm::DominatorTree dominators_;
  const LaneShapes shapes_, ofWarps_;
  const bool inStep_;
  const llvm::LoopInfo loops_;
  llvm::DenseMap<const llvm::Instruction*, Addresses> shared_;  // loads from shared memory and stores to it: addresses there that may be theirs
  // Loads of a place that is the same for all, and what some write there.
  llvm::DenseMap<const llvm::Instruction*, const llvm::Value*> asked_, setBack_;
  std::map<const llvm::BasicBlock*, Seen> before_;  // what has been loaded and stored since the last barrier where a block begins
  llvm::SmallSetVector<llvm::Instruction*, 8> places_, apart_;
  bool crosses_ = false;
};

// Takes a branch apart in front of an instruction in its first block, so that all threads meet there: those that are not in it go around each of the two. Where they meet,
// all threads are at the instruction that is returned.
llvm::Instruction* meetWithin(llvm::Instruction*);

}  // namespace rouse::cpu::codegen
