// Which values are the same for all threads of a block, and whether all threads come to the same barriers.
//
// A value is uniform if all threads that compute it at the same time (after as many barriers, in as many rounds of each loop) get the same. A branch
// whose condition is not splits the threads until they are together again, at the nearest block that all come to (its immediate post-dominator);
// phis on the way and there are not uniform (after Karrenberg, Hack: "Improving Performance of OpenCL on CPUs", CC 2012, coarser).
#pragma once

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallPtrSet.h>

#include "server/device/cpu/codegen/module_emitter.h"

namespace rouse::cpu::codegen {

// Of loads of what the program promises not to store to while the kernel runs (ld.global.nc). Unlike what is invariant they are made where they stand: behind a
// barrier the promise may have been broken.
constexpr llvm::StringLiteral kPromisedConstant = "rouse.constant";
// Whether nobody stores to what is loaded while the kernel runs, by the program's promise or else.
bool isConstantLoad(const llvm::LoadInst&);

// Whether the address is in the block's shared memory; false where that is not known.
bool isOfShared(const llvm::Value* pointer, const llvm::Function&);

// Whether threads may end while others go on to barriers: then what is said of all threads is said of those that are left.
enum class Early : std::uint8_t { never, mayEnd };

// Whether loads of one address by all threads are taken to find the same, though others might store there meanwhile: none that says so, volatile ones from shared memory (but behind polls), or all
// but of volatile global memory. CUDA has no __syncthreads() in branches of which not all threads take the same (CUDA C++ Programming Guide, 10.6): where nothing else tells that a
// program keeps to that, it is taken at its word.
enum class Loads : std::uint8_t { known, shared, promised };

class Uniformity {
 public:
  // `function` takes a ThreadContext and parameters first; `barriers`: the calls that are some.
  Uniformity(llvm::Function& function, const llvm::SmallPtrSetImpl<llvm::Instruction*>& barriers, Early early = Early::never, Loads loads = Loads::known);

  bool isUniform(const llvm::Value* value) const { return !divergent_.contains(value); }
  // Whether all threads come to every barrier, each as often as the others. False where that is not known.
  bool barriersAreUniform() const { return uniformBarriers_; }
  // Whether all threads that are left come to it together.
  bool isCommon(const llvm::BasicBlock* block) const { return !apart_.contains(block); }
  // Whether there is a barrier between the block's end and where its successors meet again.
  bool decidesBarriers(llvm::BasicBlock* block) const;
  // Ways by which some threads come to their end, and to no barrier any more, while others go on to one.
  using Edge = std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>;
  const llvm::SmallSetVector<Edge, 4>& earlyEnds() const { return earlyEnds_; }

 private:
  bool isEarly(const llvm::BasicBlock* from, const llvm::BasicBlock* to) const { return earlyEnds_.contains({from, to}); }
  void findEndings(llvm::Function&);
  bool mayEndEarly(const llvm::BasicBlock* branching);
  void compute(llvm::Function&, const llvm::SmallPtrSetImpl<llvm::Instruction*>& barriers);
  void markEnding(const llvm::BasicBlock* branching);
  void findPostDominators(llvm::Function&);
  void findBehindPolls(llvm::Function&, const llvm::SmallPtrSetImpl<llvm::Instruction*>& barriers);
  bool isSource(const llvm::Instruction&) const;
  void mark(const llvm::Value*);
  void spread(const llvm::BasicBlock* branching);
  // Blocks behind `block` up to where its successors meet; the latter as `join`, null if there is none.
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> region(const llvm::BasicBlock* block, const llvm::BasicBlock** join) const;

  const Loads loads_;
  llvm::DenseMap<const llvm::BasicBlock*, llvm::BitVector> postDominators_;  // of blocks from which the end can be reached
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> endings_;  // of those, from which no barrier can; none where threads never end early
  llvm::SmallSetVector<Edge, 4> earlyEnds_;
  llvm::DenseMap<const llvm::BasicBlock*, llvm::BitVector> together_;  // of those among them whose barrier counts as an end: what all come to behind it
  llvm::DenseMap<const llvm::BasicBlock*, unsigned> numbers_;
  llvm::SmallPtrSet<const llvm::BasicBlock*, 8> withBarrier_;
  llvm::SmallPtrSet<const llvm::Instruction*, 16> behindPolls_;  // loads that threads come to from polling, each in its own time
  llvm::DenseSet<const llvm::Value*> divergent_;
  llvm::SmallVector<const llvm::Instruction*, 64> work_;
  bool uniformBarriers_ = true;
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> apart_;  // those that only some threads may come to
};

}  // namespace rouse::cpu::codegen
