// A GPU's threads all make progress; the CPU's run one after another. A loop that waits for another thread's store must
// let that thread run. Such a loop ends on a value that comes from a volatile, ordered or atomic access in the loop, or
// from any load in a loop with a fence. So does a loop that waits for the clock: on a GPU time passes for all threads at once.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "server/device/cpu/codegen/loop_slice.h"
#include "server/device/cpu/codegen/passes.h"
#include "server/device/cpu/codegen/polls.h"
#include "server/device/cpu/codegen/rounds.h"
#include "server/device/cpu/codegen/uniformity.h"

namespace rouse::cpu::codegen {
namespace {

constexpr llvm::StringLiteral kClock = "rouse_cpu_clock";
constexpr llvm::StringLiteral kUncached = "rouse.uncached";

bool isStepCall(const llvm::Instruction& instruction) { return isCallOf(instruction, "rouse_cpu_step"); }

// Behind which a thread finds what others have stored before.
bool isMeeting(const llvm::Instruction& instruction) {
  return isStepCall(instruction) || isCallOf(instruction, "rouse_cpu_barrier") || isCallOf(instruction, "rouse_cpu_barrier_reduce") ||
         isCallOf(instruction, "rouse_cpu_cluster_wait") || isCallOf(instruction, "rouse_cpu_warp_sync");
}

// Which functions that were not inlined may find what other threads have stored meanwhile.
class Observers {
 public:
  // `hasFence`: whether who calls it has a fence, so that it need not be said of a load.
  bool observes(llvm::Function& function, bool hasFence) {
    if (function.isDeclaration()) return function.getName() == kClock;
    if (hasFence) return !function.doesNotAccessMemory();
    const auto [found, added] = known_.try_emplace(&function, false);
    if (!added) return found->second;
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      if (!observes(instruction)) continue;
      known_[&function] = true;
      return true;
    }
    return false;
  }

 private:
  bool observes(const llvm::Instruction& instruction) {
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return load->isVolatile() || load->isAtomic() || load->hasMetadata(kUncached);
    if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
      llvm::Function* const callee = call->getCalledFunction();
      return callee == nullptr ? !call->hasFnAttr(kObservesNobody) : observes(*callee, false);
    }
    return llvm::isa<llvm::AtomicRMWInst>(instruction) || llvm::isa<llvm::AtomicCmpXchgInst>(instruction) || llvm::isa<llvm::FenceInst>(instruction);
  }

  llvm::DenseMap<const llvm::Function*, bool> known_;
};

// The same bits.
llvm::Value* withoutCasts(llvm::Value* value) {
  for (;;) {
    if (auto* cast = llvm::dyn_cast<llvm::CastInst>(value); cast != nullptr && cast->isNoopCast(cast->getDataLayout())) {
      value = cast->getOperand(0);
    } else if (auto* frozen = llvm::dyn_cast<llvm::FreezeInst>(value)) {
      value = frozen->getOperand(0);
    } else {
      return value;
    }
  }
}

bool isPartOf(llvm::Value* value, const llvm::AtomicCmpXchgInst* swap, unsigned part) {
  const auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(withoutCasts(value));
  return extract != nullptr && extract->getAggregateOperand() == swap && extract->getIndices()[0] == part;
}

// What the swap found the last time, and nothing made of it.
bool expectsWhatItFound(const llvm::Loop& loop, llvm::AtomicCmpXchgInst* swap) {
  const auto* const phi = llvm::dyn_cast<llvm::PHINode>(withoutCasts(swap->getCompareOperand()));
  if (phi == nullptr || phi->getParent() != loop.getHeader()) return false;
  for (unsigned k = 0; k < phi->getNumIncomingValues(); ++k) {
    if (loop.contains(phi->getIncomingBlock(k)) && !isPartOf(phi->getIncomingValue(k), swap, 0)) return false;
  }
  return true;
}

// Whether a thread leaves the loop here if its swap was done, whatever else.
bool leavesWhenDone(const llvm::Loop& loop, const llvm::BasicBlock* exiting, llvm::AtomicCmpXchgInst* swap) {
  const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(exiting->getTerminator());
  if (branch == nullptr || !branch->isConditional()) return false;
  const bool leavesIf = !loop.contains(branch->getSuccessor(0));
  if (isPartOf(branch->getCondition(), swap, 1)) return leavesIf;
  const auto* const compare = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
  if (compare == nullptr || !compare->isEquality()) return false;
  llvm::Value* const expected = withoutCasts(swap->getCompareOperand());
  for (const unsigned k : {0u, 1u}) {
    if (isPartOf(compare->getOperand(k), swap, 0) && withoutCasts(compare->getOperand(1 - k)) == expected)
      return leavesIf == (compare->getPredicate() == llvm::CmpInst::ICMP_EQ);
  }
  return false;
}

// A compare-and-swap that expects what it found itself the last time, in a loop that ends with it, is done when nobody comes between: it waits for no
// one. One that expects something else, such as a lock that is free, does, and so does one that goes on after it.
bool isRetry(const llvm::Loop& loop, ControlFlow& flow, llvm::AtomicCmpXchgInst* swap) {
  if (!expectsWhatItFound(loop, swap)) return false;
  llvm::SmallVector<llvm::BasicBlock*, 8> exiting;
  llvm::SmallVector<llvm::BasicBlock*, 4> latches;
  loop.getExitingBlocks(exiting);
  loop.getLoopLatches(latches);
  return llvm::any_of(exiting, [&](const llvm::BasicBlock* block) {
    const bool isInEachRound = llvm::all_of(latches, [&](const llvm::BasicBlock* latch) { return flow.dominators.dominates(block, latch); });
    return isInEachRound && leavesWhenDone(loop, block, swap);
  });
}

// Whether a thread leaves the loop here if it finds what it has just stored, each round: whoever is the last to store does, so it waits for nobody (lanes of a warp that count in volatile memory, before
// there were atomic operations on shared memory).
bool leavesWithItsOwn(const llvm::Loop& loop, ControlFlow& flow, const llvm::BasicBlock* exiting) {
  const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(exiting->getTerminator());
  const auto* const compare = branch == nullptr || !branch->isConditional() ? nullptr : llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
  if (compare == nullptr || !compare->isEquality()) return false;
  if (!loop.contains(branch->getSuccessor(0)) != (compare->getPredicate() == llvm::CmpInst::ICMP_EQ)) return false;
  llvm::SmallVector<llvm::BasicBlock*, 4> latches;
  loop.getLoopLatches(latches);
  if (!llvm::all_of(latches, [&](const llvm::BasicBlock* latch) { return flow.dominators.dominates(exiting, latch); })) return false;
  for (const unsigned k : {0u, 1u}) {
    const auto* const load = llvm::dyn_cast<llvm::LoadInst>(withoutCasts(compare->getOperand(k)));
    if (load == nullptr || load->isAtomic() || !loop.contains(load) || !flow.dominators.dominates(load->getParent(), exiting)) continue;
    // The next one before it that changes memory.
    const llvm::Instruction* before = load->getPrevNode();
    while (before != nullptr && (!before->mayWriteToMemory() || isStepCall(*before) || llvm::isa<llvm::LoadInst>(before))) before = before->getPrevNode();
    const auto* const store = llvm::dyn_cast_or_null<llvm::StoreInst>(before);
    if (store != nullptr && isAlike(store->getPointerOperand(), load->getPointerOperand()) && withoutCasts(store->getOperand(0)) == withoutCasts(compare->getOperand(1 - k))) return true;
  }
  return false;
}

// Whether a thread that stays in the loop for as long as what it counts is below a limit (or above, counting down) comes to it alone: so do those that fetch
// their next task. One that adds nothing, or takes back what it has added while there is too much (a semaphore), waits for others.
bool countsTowards(const llvm::Loop& loop, ControlFlow& flow, const llvm::BasicBlock* exiting, llvm::AtomicRMWInst* fetch) {
  const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(exiting->getTerminator());
  const auto* const compare = branch == nullptr || !branch->isConditional() ? nullptr : llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
  const auto* const step = llvm::dyn_cast<llvm::ConstantInt>(fetch->getValOperand());
  const bool adds = fetch->getOperation() == llvm::AtomicRMWInst::Add;
  // What is taken back in the same round never adds up.
  for (const llvm::BasicBlock* block : loop.blocks()) {
    for (const llvm::Instruction& instruction : *block) {
      const auto* const other = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction);
      if (other != nullptr && other != fetch && other->getPointerOperand()->stripPointerCasts() == fetch->getPointerOperand()->stripPointerCasts()) return false;
    }
  }
  if (compare == nullptr || compare->isEquality() || step == nullptr || step->isZero() || (!adds && fetch->getOperation() != llvm::AtomicRMWInst::Sub)) return false;
  const bool first = LoopSlice(loop, flow, compare->getOperand(0)).instructions().contains(fetch);
  const bool second = LoopSlice(loop, flow, compare->getOperand(1)).instructions().contains(fetch);
  if (first == second) return false;
  llvm::CmpInst::Predicate stays = loop.contains(branch->getSuccessor(0)) ? compare->getPredicate() : compare->getInversePredicate();
  if (second) stays = llvm::CmpInst::getSwappedPredicate(stays);
  return adds != step->isNegative() ? llvm::ICmpInst::isLT(stays) || llvm::ICmpInst::isLE(stays) : llvm::ICmpInst::isGT(stays) || llvm::ICmpInst::isGE(stays);
}

// Whether each round comes to a barrier of the whole block: the block's other threads go on there, and nobody else stores to its shared memory.
bool meetsEachRound(const llvm::Loop& loop, ControlFlow& flow) {
  llvm::SmallVector<llvm::BasicBlock*, 4> latches;
  loop.getLoopLatches(latches);
  return llvm::any_of(loop.blocks(), [&](const llvm::BasicBlock* block) {
    return llvm::all_of(latches, [&](const llvm::BasicBlock* latch) { return flow.dominators.dominates(block, latch); }) &&
           llvm::any_of(*block, [](const llvm::Instruction& instruction) {
             if (!isCallOf(instruction, "rouse_cpu_barrier")) return false;
             const auto* const count = llvm::dyn_cast<llvm::ConstantInt>(llvm::cast<llvm::CallInst>(instruction).getArgOperand(2));
             return count != nullptr && count->isZero();
           });
  });
}

// Whether each round loads from another place, so many bytes on: a walk along a list, or a search in one, finds what there is, and waits for nobody.
bool movesOn(const llvm::Loop& loop, const ControlFlow& flow, const llvm::LoadInst& load) {
  // Of a loop within, rounds of the outer one come back.
  if (flow.loops.getLoopFor(load.getParent()) != &loop || loop.getLoopLatch() == nullptr) return false;
  return llvm::any_of(loop.getHeader()->phis(), [&](const llvm::PHINode& phi) {
    const auto* const step = llvm::dyn_cast_or_null<llvm::ConstantInt>(stepOf(&phi, loop));
    return step != nullptr && !step->isZero() && growthOf(load.getPointerOperand(), phi, loop, load.getFunction()->getDataLayout()).value_or(0) != 0;
  });
}

// Loops of one function that wait.
class Spins {
 public:
  Spins(llvm::Function& function, Observers& observers) : flow_(function), observers_(observers) {}

  const ControlFlow& flow() const { return flow_; }
  bool isSpin(const llvm::Loop& loop);

 private:
  // What of its surroundings a loop's exits are judged by.
  struct Surroundings {
    bool hasFence = false;
    bool meets = false;    // each round comes to a barrier of the whole block: its other threads go on there, and nobody else stores to its shared memory
    bool handsOn = false;  // some thread polls other blocks, and others meet it: what it saw may come in whichever way
  };
  bool handsOn(const llvm::Loop& loop, const llvm::Instruction& instruction, bool hasFence);
  bool observesOthers(const llvm::Loop& loop, const llvm::BasicBlock* exiting, llvm::Instruction* instruction, const Surroundings& around);

  ControlFlow flow_;
  Observers& observers_;
};

// Whether the instruction finds what other blocks may write, and others of the block may come to know.
bool Spins::handsOn(const llvm::Loop& loop, const llvm::Instruction& instruction, bool hasFence) {
  if (const llvm::Value* const pointer = placeOf(instruction); pointer != nullptr && isOfShared(pointer, *instruction.getFunction())) return false;
  if (isPoll(instruction)) return true;
  bool finds = false;
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    finds = hasFence && !isConstantLoad(*load) && !llvm::isa<llvm::AllocaInst>(load->getPointerOperand()->stripInBoundsOffsets());
  } else if (const auto* swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
    finds = !isRetry(*flow_.loops.getLoopFor(swap->getParent()), flow_, const_cast<llvm::AtomicCmpXchgInst*>(swap));
  } else if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
    // One that counts gives each its own task.
    finds = update->getOperation() != llvm::AtomicRMWInst::Add && update->getOperation() != llvm::AtomicRMWInst::Sub && !update->isFloatingPointOperation();
  } else if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
    llvm::Function* const callee = call->getCalledFunction();
    return callee == nullptr ? !call->hasFnAttr(kObservesNobody) : !callee->isDeclaration() && observers_.observes(*callee, hasFence);
  }
  return finds && isHandedOn(loop, flow_, instruction);
}

bool Spins::observesOthers(const llvm::Loop& loop, const llvm::BasicBlock* exiting, llvm::Instruction* instruction, const Surroundings& around) {
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
    if (isConstantLoad(*load) || llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(load->getPointerOperand(), 0))) return false;
    if (around.handsOn) return true;
    if (movesOn(loop, flow_, *load)) return false;
    if (around.meets && isOfShared(load->getPointerOperand(), *load->getFunction())) return false;
    return load->isVolatile() || load->isAtomic() || around.hasFence;
  }
  if (auto* swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(instruction)) return !isRetry(loop, flow_, swap);
  if (auto* fetch = llvm::dyn_cast<llvm::AtomicRMWInst>(instruction)) return around.handsOn || !countsTowards(loop, flow_, exiting, fetch);
  if (auto* call = llvm::dyn_cast<llvm::CallInst>(instruction)) {
    // A call that was not inlined may load anything; the runtime's functions and intrinsics wait for themselves.
    llvm::Function* const callee = call->getCalledFunction();
    if (callee == nullptr) return around.hasFence || !call->hasFnAttr(kObservesNobody);
    return observers_.observes(*callee, around.hasFence);
  }
  return false;
}

bool mayBeFence(const llvm::Instruction& instruction) { return llvm::isa<llvm::FenceInst>(instruction); }

// Whether there may be anything in it that others have stored: in most loops there is nothing.
bool mayFind(const llvm::Instruction& instruction) {
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return load->isVolatile() || load->isAtomic();
  if (llvm::isa<llvm::AtomicRMWInst>(instruction) || llvm::isa<llvm::AtomicCmpXchgInst>(instruction) || mayBeFence(instruction)) return true;
  const auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  return call != nullptr && (call->getCalledFunction() == nullptr || !call->getCalledFunction()->isDeclaration() || isCallOf(instruction, kClock));
}

bool Spins::isSpin(const llvm::Loop& loop) {
  Surroundings around{.meets = meetsEachRound(loop, flow_)};
  bool meet = false, finds = false;
  for (const llvm::BasicBlock* block : loop.blocks()) {
    for (const llvm::Instruction& instruction : *block) {
      around.hasFence |= mayBeFence(instruction);
      meet |= isMeeting(instruction);
      finds |= mayFind(instruction);
    }
  }
  if (!finds) return false;
  for (const llvm::BasicBlock* block : loop.blocks()) {
    if (!meet || around.handsOn) break;
    around.handsOn = llvm::any_of(*block, [&](const llvm::Instruction& instruction) { return handsOn(loop, instruction, around.hasFence); });
  }
  llvm::SmallVector<llvm::BasicBlock*, 8> exiting;
  loop.getExitingBlocks(exiting);
  for (llvm::BasicBlock* block : exiting) {
    llvm::Value* const condition = conditionOf(block);
    if (condition == nullptr || leavesWithItsOwn(loop, flow_, block)) continue;
    const LoopSlice slice(loop, flow_, condition);
    for (llvm::Instruction* instruction : slice.instructions()) {
      if (!slice.isOwn(instruction) && observesOthers(loop, block, instruction, around)) return true;
    }
  }
  return false;
}

// Whether lanes store in step in the loop: what each finds behind it depends on which have stored. A step alone (CUB's look-back fences in each round) orders loads, of which
// it does not matter who comes first.
bool storesInStep(const llvm::Loop& loop) {
  const auto has = [&](auto which) { return llvm::any_of(loop.blocks(), [&](const llvm::BasicBlock* block) { return llvm::any_of(*block, which); }); };
  return has(isStepCall) && has([](const llvm::Instruction& instruction) { return llvm::isa<llvm::StoreInst>(instruction); });
}

bool yieldIn(llvm::Function& function, Observers& observers) {
  if (function.isDeclaration()) return false;
  Spins spins(function, observers);
  struct Back {
    llvm::BasicBlock* header;
    llvm::SmallVector<llvm::BasicBlock*, 4> latches;
    bool steps;  // lanes store in step in it: also those that leave it have their turn, or they would be ahead
  };
  llvm::SmallVector<Back, 4> found;
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> polling;
  for (llvm::Loop* loop : spins.flow().loops.getLoopsInPreorder()) {
    if (!spins.isSpin(*loop)) continue;
    polling.insert(loop->block_begin(), loop->block_end());
    found.push_back({loop->getHeader(), {}, storesInStep(*loop)});
    loop->getLoopLatches(found.back().latches);
  }
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    if (load != nullptr && load->hasMetadata(kUncached) && !polling.contains(load->getParent())) load->setVolatile(false);
  }
  llvm::IRBuilder<> b(function.getContext());
  const auto yieldBefore = [&](llvm::Instruction* place) {
    b.SetInsertPoint(place);
    const llvm::FunctionCallee yield = function.getParent()->getOrInsertFunction(kYield, llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false));
    b.CreateCall(yield, {function.getArg(0)});
  };
  for (Back& back : found) {
    if (back.steps) {
      for (llvm::BasicBlock* latch : back.latches) yieldBefore(latch->getTerminator());
    } else {
      // On the way back, which is one for all: who leaves the loop goes on at once, since it may be what the others wait for.
      yieldBefore(llvm::SplitBlockPredecessors(back.header, back.latches, ".again")->getTerminator());
    }
  }
  return !found.empty();
}

}  // namespace

bool isCallOf(const llvm::Instruction& instruction, llvm::StringRef name) {
  const auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  return call != nullptr && call->getCalledFunction() != nullptr && call->getCalledFunction()->getName() == name;
}

void markUncached(llvm::LoadInst& load) {
  if (load.isVolatile()) return;
  load.setVolatile(true);
  load.setMetadata(kUncached, llvm::MDNode::get(load.getContext(), {}));
}

bool yieldInSpinLoops(llvm::Module& module) {
  bool found = false;
  Observers observers;
  for (llvm::Function& function : module) found |= yieldIn(function, observers);
  return found;
}

bool isWaitingFunction(llvm::StringRef name) {
  return name == "rouse_cpu_barrier" || name == "rouse_cpu_barrier_arrive" || name == "rouse_cpu_barrier_reduce" || name == "rouse_cpu_cluster_arrive" || name == "rouse_cpu_cluster_wait" ||
         name == "rouse_cpu_warp_sync" || name == "rouse_cpu_shuffle" || name == "rouse_cpu_vote" ||
         name == "rouse_cpu_match" || name == "rouse_cpu_redux" || name == "rouse_cpu_matrix" ||
         name == "rouse_cpu_matrix_part" || name == "rouse_cpu_activemask" || name == "rouse_cpu_step" || name == kYield || name == "rouse_cpu_yield_while";
}

bool mayWait(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    if (function.isDeclaration() && isWaitingFunction(function.getName()) && !function.use_empty()) return true;
  }
  return false;
}

}  // namespace rouse::cpu::codegen
