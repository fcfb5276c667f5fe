// Lanes of a warp that are fibers meet nowhere by themselves. Where a program relies on its warps going in step, each lane steps (rouse_cpu_step): it waits until its mates have come as far as they
// can, and then those at the least place in the program go first, so that lanes in a branch, or in a loop, come to where the others wait before anybody goes on. GPUs without independent threads do
// so; see Diamos et al., "SIMD Re-Convergence at Thread Frontiers", MICRO 2011. Here each step gets its place; side by side, lanes are in step, so all this is done behind what is made of them.
//
// Places are in an order of the blocks in which what comes behind a loop is behind all that is in it, and else a block is behind those that lead there. Functions that were not inlined continue
// their callers' places: ThreadContext::place is that of the call.
//
// Fibers need more steps than there are around stores: before a load that finds what others have stored since (else a lane that had nothing to store would not wait for the one that has), before
// stores to shared memory in functions whose lanes go in step at fences (else a lane overwrites what others have not yet read), on the way back in loops with steps that some lanes pass by (else those
// would be at a lesser place than lanes of the round before), at fences for the whole device, and before loads of what lanes have added up in turns (turned_places.h).
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>

#include "server/device/cpu/codegen/passes.h"
#include "server/device/cpu/codegen/turned_places.h"
#include "server/device/cpu/codegen/uniformity.h"
#include "server/device/cpu/codegen/warp_calls.h"

namespace rouse::cpu::codegen {
namespace {

constexpr llvm::StringLiteral kStep = "rouse_cpu_step", kFenceStep = "rouse_cpu_fence_step";

bool isStepCall(const llvm::Instruction& instruction) { return isCallOf(instruction, kStep) || isCallOf(instruction, kFenceStep); }

bool isHardStep(const llvm::Instruction& instruction) { return isCallOf(instruction, kStep); }

// A step at a fence for the block's threads.
bool isFenced(const llvm::Instruction& instruction) {
  if (!isCallOf(instruction, kStep)) return false;
  const auto* const fence = llvm::dyn_cast_or_null<llvm::FenceInst>(instruction.getNextNode());
  return fence != nullptr && fence->getSyncScopeID() == llvm::SyncScope::SingleThread;
}

// __threadfence() and the one for the whole system.
bool isDeviceFence(const llvm::Instruction& instruction) {
  const auto* const fence = llvm::dyn_cast<llvm::FenceInst>(&instruction);
  return fence != nullptr && fence->getSyncScopeID() == llvm::SyncScope::System && fence->getOrdering() == llvm::AtomicOrdering::SequentiallyConsistent;
}

// Behind which a warp's lanes go on together.
bool isMeeting(const llvm::Instruction& instruction) {
  if (isStepCall(instruction) || isCallOf(instruction, "rouse_cpu_barrier") || isCallOf(instruction, "rouse_cpu_barrier_reduce") || isCallOf(instruction, "rouse_cpu_cluster_wait")) return true;
  const auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  return call != nullptr && warpOperation(*call) && *warpOperation(*call) != WarpCall::active && *warpOperation(*call) != WarpCall::match;
}

// All of the warp.
bool isMeetingOfAll(const llvm::Instruction& instruction) {
  if (!isMeeting(instruction) || isCallOf(instruction, kFenceStep)) return false;
  const auto& call = llvm::cast<llvm::CallInst>(instruction);
  const auto operation = warpOperation(call);
  return !operation || *operation == WarpCall::step || *operation == WarpCall::matrix || isOfWholeWarp(call);
}

bool isYield(const llvm::Instruction& instruction) { return isCallOf(instruction, kYield); }

// Whether a lane may have stored something since all of its warp met, as far as can be seen on the only way there.
bool hasStoredBefore(const llvm::Instruction& fence) {
  constexpr int kMostBlocks = 32;
  const llvm::Instruction* at = fence.getPrevNode();
  const llvm::BasicBlock* block = fence.getParent();
  for (int count = 0; count < kMostBlocks; ++count) {
    for (; at != nullptr; at = at->getPrevNode()) {
      if (isMeetingOfAll(*at)) return false;
      if (at->mayWriteToMemory() && !llvm::isa<llvm::FenceInst, llvm::LoadInst>(at) && !isYield(*at)) return true;
    }
    block = block->getSinglePredecessor();
    if (block == nullptr) return true;
    at = &block->back();
  }
  return true;
}

bool has(const llvm::BasicBlock& block, bool (*is)(const llvm::Instruction&)) { return llvm::any_of(block, is); }

// Blocks that can be reached, in the order of places. A loop's ways out are gone first, so that in the end, the other way round, what is behind it comes behind all of it.
std::vector<llvm::BasicBlock*> inOrder(llvm::Function& function, const llvm::LoopInfo& loops) {
  struct Visit {
    llvm::BasicBlock* block;
    llvm::SmallVector<llvm::BasicBlock*, 4> next;
  };
  std::vector<llvm::BasicBlock*> order;
  llvm::SmallPtrSet<const llvm::BasicBlock*, 32> seen;
  std::vector<Visit> way;
  const auto visit = [&](llvm::BasicBlock* block) {
    if (!seen.insert(block).second) return;
    // The first of the program last, where it does not matter otherwise.
    llvm::SmallVector<llvm::BasicBlock*, 4> next(llvm::successors(block));
    std::stable_sort(next.begin(), next.end(), [&](const llvm::BasicBlock* a, const llvm::BasicBlock* b) { return loops.getLoopDepth(a) > loops.getLoopDepth(b); });
    way.push_back({block, std::move(next)});
  };
  visit(&function.getEntryBlock());
  while (!way.empty()) {
    if (way.back().next.empty()) {
      order.push_back(way.back().block);
      way.pop_back();
    } else {
      visit(way.back().next.pop_back_val());
    }
  }
  std::ranges::reverse(order);
  return order;
}

class Placing {
 public:
  Placing(llvm::Module& module, llvm::Function* body) : module_(module), body_(body), b_(module.getContext()) {
    for (llvm::Function& function : module) {
      if (body == nullptr && !function.isDeclaration()) functions_.insert(&function);
    }
    if (body != nullptr) functions_.insert(body);
    for (unsigned k = 0; k < functions_.size(); ++k) {
      for (const llvm::Instruction& instruction : llvm::instructions(*functions_[k])) {
        const auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        if (call == nullptr || call->getCalledFunction() == nullptr) continue;
        if (!call->getCalledFunction()->isDeclaration()) functions_.insert(call->getCalledFunction());
        meets_ |= warpOperation(*call) && *warpOperation(*call) != WarpCall::step;
      }
    }
  }

  void run() {
    for (llvm::Function* function : functions_) add(*function);
    for (bool more = !stepping_.empty(); more;) {
      more = false;
      for (llvm::Function* function : functions_) {
        if (stepping_.contains(function) || !llvm::any_of(llvm::instructions(*function), [&](const llvm::Instruction& i) { return isCallOfStepping(i); })) continue;
        more = stepping_.insert(function);
      }
    }
    for (llvm::Function* function : stepping_) place(*function);
  }

 private:
  // Since a lane last stepped or met the others.
  struct Since {
    bool stored = true, loaded = true;
  };

  void add(llvm::Function& function);
  void stepThrough(llvm::BasicBlock& block, Since& since, bool mayLoad, bool fenced);
  void stepOnWayBack(const llvm::Loop& loop, const llvm::LoopInfo& loops, const llvm::DominatorTree& dominators);
  void place(llvm::Function& function);
  bool isCallOfStepping(const llvm::Instruction& instruction) const {
    const auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    return call != nullptr && call->getCalledFunction() != nullptr && stepping_.contains(call->getCalledFunction());
  }
  void stepBefore(llvm::Instruction& instruction, llvm::StringRef name) {
    b_.SetInsertPoint(&instruction);
    const auto callee = module_.getOrInsertFunction(name, llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getInt64Ty()}, false));
    b_.CreateCall(callee, {instruction.getFunction()->getArg(0), b_.getInt64(0)});
  }

  llvm::Module& module_;
  const llvm::Function* const body_;
  llvm::IRBuilder<> b_;
  bool meets_ = false;  // lanes of warps exchange values by operations
  llvm::SetVector<llvm::Function*> functions_, stepping_;  // those that fibers run, and that step
};

// The steps that only fibers need.
void Placing::add(llvm::Function& function) {
  bool steps = false, fenced = false;
  llvm::SmallVector<llvm::Instruction*, 8> fences;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    steps |= isStepCall(instruction);
    fenced |= isFenced(instruction);
    if (meets_ && isDeviceFence(instruction) && hasStoredBefore(instruction)) fences.push_back(&instruction);
  }
  for (llvm::Instruction* fence : fences) stepBefore(*fence, kFenceStep);
  if (steps || meets_) {
    const auto turned = loadsOfTurnedPlaces(function, isMeetingOfAll);
    for (llvm::LoadInst* load : turned) stepBefore(*load, kStep);
    steps |= !turned.empty();
  }
  if (steps || !fences.empty()) stepping_.insert(&function);
  if (!steps) return;
  const llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  llvm::DenseMap<const llvm::BasicBlock*, Since> atEnd;
  for (llvm::BasicBlock* block : inOrder(function, loops)) {
    // Rounds that only poll are let be: they let the others run.
    const llvm::Loop* const loop = loops.getLoopFor(block);
    const auto inLoop = [&](auto which) { return llvm::any_of(loop->blocks(), [&](const llvm::BasicBlock* b) { return has(*b, which); }); };
    const bool mayLoad = loop == nullptr || !inLoop(isYield) || inLoop(isStepCall);
    const llvm::BasicBlock* const before = block->getSinglePredecessor();
    Since since = before != nullptr && atEnd.contains(before) ? atEnd[before] : Since{};
    stepThrough(*block, since, mayLoad, fenced);
    atEnd[block] = since;
  }
  for (const llvm::Loop* loop : loops.getLoopsInPreorder()) stepOnWayBack(*loop, loops, dominators);
}

// Where lanes do not all meet once a round behind the last of a loop's steps, or at it. Who is in a loop that waits may have what the others wait for.
void Placing::stepOnWayBack(const llvm::Loop& loop, const llvm::LoopInfo& loops, const llvm::DominatorTree& dominators) {
  llvm::SmallVector<llvm::BasicBlock*, 4> latches;
  loop.getLoopLatches(latches);
  const auto isOnEachWay = [&](const llvm::BasicBlock* block) {
    return loops.getLoopFor(block) == &loop && llvm::all_of(latches, [&](const llvm::BasicBlock* latch) { return dominators.dominates(block, latch); });
  };
  const auto order = inOrder(*loop.getHeader()->getParent(), loops);
  const auto last = std::find_if(order.rbegin(), order.rend(), [&](const llvm::BasicBlock* block) { return loop.contains(block) && has(*block, isMeetingOfAll); });
  if (llvm::none_of(loop.blocks(), [](const llvm::BasicBlock* block) { return has(*block, isHardStep); }) || isOnEachWay(*last)) return;
  // Not who steps in each round of an inner loop (histograms by tagged words): they come out of it by themselves, and those that are out must not begin it again meanwhile.
  const bool polls = llvm::any_of(loop.blocks(), [&](const llvm::BasicBlock* block) {
    const llvm::Loop* const around = loops.getLoopFor(block);
    return has(*block, isYield) && (around == &loop || llvm::none_of(around->blocks(), [](const llvm::BasicBlock* b) { return has(*b, isHardStep); }));
  });
  for (llvm::BasicBlock* latch : latches) stepBefore(*latch->getTerminator(), polls ? kFenceStep : kStep);
}

void Placing::stepThrough(llvm::BasicBlock& block, Since& since, bool mayLoad, bool fenced) {
  const llvm::Function& function = *block.getParent();
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
    if (isMeeting(instruction)) {
      since = {false, false};
    } else if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      if (isStep(*load) && since.stored && mayLoad) {
        stepBefore(*load, kStep);
        since = {false, false};
      }
      since.loaded |= isStep(*load) || (fenced && isOfShared(load->getPointerOperand(), function));
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      if (isStep(*store)) {
        since.stored = true;
      } else if (fenced && isOfShared(store->getPointerOperand(), function)) {
        if (since.loaded) stepBefore(*store, kStep);
        if (since.loaded) since = {false, false};
        since.stored = true;
      }
    } else if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction); call != nullptr && !llvm::isa<llvm::IntrinsicInst>(call)) {
      const llvm::Function* const callee = call->getCalledFunction();
      if (callee == nullptr || !callee->isDeclaration()) since = {};
    }
  }
}

void Placing::place(llvm::Function& function) {
  const llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  llvm::Value *base = nullptr, *unit = nullptr;
  const auto field = [&](std::size_t offset) { return b_.CreateConstInBoundsGEP1_32(b_.getInt8Ty(), function.getArg(0), static_cast<unsigned>(offset)); };
  if (&function == body_) {
    base = b_.getInt64(0);
    unit = b_.getInt64(kPlaceUnit);
  } else {
    b_.SetInsertPoint(&*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
    base = b_.CreateLoad(b_.getInt64Ty(), field(offsetof(ThreadContext, place)));
    unit = b_.CreateLoad(b_.getInt64Ty(), field(offsetof(ThreadContext, placeUnit)));
  }
  std::uint64_t count = 0;
  const auto next = [&] { return b_.CreateAdd(base, b_.CreateMul(unit, b_.getInt64(count = std::min(count + 1, kPlacesPerUnit - 1)))); };
  const auto tell = [&](llvm::Value* place, llvm::Value* partial) {
    b_.CreateStore(place, field(offsetof(ThreadContext, place)));
    b_.CreateStore(partial, field(offsetof(ThreadContext, placeUnit)));
  };
  for (llvm::BasicBlock* block : inOrder(function, loops)) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(*block)) {
      auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call == nullptr) continue;
      b_.SetInsertPoint(call);
      if (isStepCall(instruction)) {
        call->setArgOperand(1, next());
      } else if (isCallOfStepping(instruction) || (call->isIndirectCall() && call->arg_size() != 0)) {
        tell(next(), b_.CreateUDiv(unit, b_.getInt64(kPlacesPerUnit)));
        b_.SetInsertPoint(call->getNextNode());
        tell(base, unit);
      }
    }
  }
}

}  // namespace

void placeSteps(llvm::Module& module, llvm::Function* body) { Placing(module, body).run(); }

}  // namespace rouse::cpu::codegen
