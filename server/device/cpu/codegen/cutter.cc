#include "server/device/cpu/codegen/cutter.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "server/device/cpu/codegen/loop_slice.h"
#include "server/device/cpu/codegen/overwrites.h"
#include "server/device/cpu/codegen/passes.h"
#include "server/device/cpu/codegen/rounds.h"
#include "server/device/cpu/codegen/step_function.h"
#include "server/device/cpu/codegen/warp_calls.h"

namespace rouse::cpu::codegen {
bool Cutter::findBarriers() {
  for (llvm::Instruction& instruction : llvm::instructions(step_)) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call == nullptr) continue;
    const llvm::Function* const callee = call->getCalledFunction();
    if (callee == nullptr || !callee->isDeclaration() || !isWaitingFunction(callee->getName())) continue;
    if (warpOperation(*call)) {
      warpCalls_ = true;
      continue;
    }
    if (callee->getName() == kYield) {
      polls_.push_back(call);
      continue;
    }
    const bool reduces = callee->getName() == "rouse_cpu_barrier_reduce";
    if (!reduces && callee->getName() != "rouse_cpu_barrier") return false;
    const auto* id = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(1));
    const auto* count = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(2));
    if (id == nullptr || count == nullptr || !count->isZero()) return false;
    ids_.insert(id->getZExtValue());
    reduces_ |= reduces;
    barriers_.insert(call);
  }
  return true;
}

llvm::CallInst* Cutter::addBarrier(llvm::Instruction* before) {
  const llvm::FunctionCallee wait = module_.getOrInsertFunction("rouse_cpu_barrier", b.getVoidTy(), b.getPtrTy(), b.getInt32Ty(), b.getInt32Ty());
  b.SetInsertPoint(before);
  llvm::CallInst* const barrier = b.CreateCall(wait, {step_.getArg(kThread), b.getInt32(0), b.getInt32(0)});
  barriers_.insert(barrier);
  return barrier;
}

bool Cutter::separateOverwrites(const Uniformity& uniformity) {
  const bool hasPlain = llvm::any_of(barriers_, [](const llvm::Instruction* barrier) { return isCallOf(*barrier, "rouse_cpu_barrier"); });
  if ((!hasPlain && (warpCalls_ || !barriers_.empty())) || step_.size() > Overwrites::kMostBlocks) return false;
  Overwrites overwrites(step_, uniformity, barriers_, warpCalls_);
  const auto& places = overwrites.find(behindPolls(uniformity));
  crosses_ = overwrites.crosses();
  for (llvm::Instruction* place : places) addBarrier(place);
  if (polls()) return !places.empty();
  for (llvm::Instruction* place : overwrites.apart()) addBarrier(meetWithin(place));
  return !places.empty() || !overwrites.apart().empty();
}

bool Cutter::separateRounds() {
  if (!barriers_.empty() || !polls_.empty() || warpCalls_) return false;
  const auto ends = endsOfRounds(step_);
  // Behind what tells whether there is another round: who has done the last needs to keep nothing.
  for (const auto& [latch, header] : ends) addBarrier(llvm::SplitEdge(latch, header)->getTerminator());
  return !ends.empty();
}

// Whoever has polled may have what the others poll for: it must not wait for them until it comes to a barrier of the program's.
Cutter::BehindPolls Cutter::behindPolls(const Uniformity& uniformity) const {
  BehindPolls found;
  llvm::SmallVector<const llvm::BasicBlock*, 16> work;
  const auto pass = [&](llvm::BasicBlock::const_iterator from, const llvm::BasicBlock* block) {
    for (auto at = from; at != block->end(); ++at) {
      if (barriers_.contains(const_cast<llvm::Instruction*>(&*at)) && !added_.contains(&*at)) return;
      found.insert(&*at);
    }
    work.append(llvm::succ_begin(block), llvm::succ_end(block));
  };
  for (const llvm::CallInst* poll : polls_) {
    if (!uniformity.isCommon(poll->getParent())) pass(std::next(poll->getIterator()), poll->getParent());
  }
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> seen;
  while (!work.empty()) {
    const llvm::BasicBlock* const block = work.pop_back_val();
    if (seen.insert(block).second) pass(block->begin(), block);
  }
  return found;
}

void Cutter::separatePolls(const Uniformity& uniformity) {
  const llvm::DominatorTree dominators(step_);
  llvm::SmallSetVector<llvm::BasicBlock*, 4> places;
  for (llvm::CallInst* poll : polls_) {
    if (uniformity.isCommon(poll->getParent())) continue;  // all of them, around a barrier
    auto* node = dominators.getNode(poll->getParent());
    while (node != nullptr && !uniformity.isCommon(node->getBlock())) node = node->getIDom();
    if (node != nullptr) places.insert(node->getBlock());
  }
  for (llvm::BasicBlock* place : places) added_.insert(addBarrier(place->getTerminator()));
}

bool Cutter::holdUpPolls(const Branching& branching, const Uniformity& uniformity) const {
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> decisive(branching.begin(), branching.end()), seen;
  llvm::SmallVector<const llvm::BasicBlock*, 16> work;
  const auto passes = [&](llvm::BasicBlock::const_iterator from, const llvm::BasicBlock* block, bool& held) {
    for (auto at = from; at != block->end(); ++at) {
      if (!barriers_.contains(const_cast<llvm::Instruction*>(&*at))) continue;
      held |= added_.contains(&*at);
      return;
    }
    held |= decisive.contains(block);
    work.append(llvm::succ_begin(block), llvm::succ_end(block));
  };
  bool held = false;
  for (const llvm::CallInst* poll : polls_) {
    // Those that all come to together, once between barriers, hold up nobody.
    if (!uniformity.isCommon(poll->getParent())) passes(std::next(poll->getIterator()), poll->getParent(), held);
  }
  while (!work.empty() && !held) {
    const llvm::BasicBlock* const block = work.pop_back_val();
    if (seen.insert(block).second) passes(block->begin(), block, held);
  }
  return held;
}

void Cutter::cut(llvm::Instruction* at) {
  llvm::BasicBlock* const exit = at->getParent();
  llvm::BasicBlock* const entry = llvm::SplitBlock(exit, at);
  for (Cut& other : cuts_) {
    if (other.exit == exit) other.exit = entry;  // that comes behind this one in the block
  }
  cuts_.push_back({exit, entry});
}

Cutter::Branching Cutter::branching(const Uniformity& uniformity) {
  Branching found;
  for (llvm::BasicBlock& block : step_) {
    if (block.getTerminator()->getNumSuccessors() > 1 && uniformity.decidesBarriers(&block)) found.push_back(&block);
  }
  return found;
}

void Cutter::cutEdges(llvm::BasicBlock* block) {
  llvm::SmallSetVector<llvm::BasicBlock*, 4> next(llvm::succ_begin(block), llvm::succ_end(block));
  for (llvm::BasicBlock* successor : next) {
    if (llvm::is_contained(earlyEnds_, successor)) continue;
    // A switch may come to one block several times.
    if (llvm::count(llvm::successors(block), successor) == 1) cut(llvm::SplitEdge(block, successor)->getTerminator());
  }
}

void Cutter::cutBranches(const Branching& branching) {
  for (llvm::BasicBlock* block : branching) cutEdges(block);
}

void Cutter::separateEarlyEnds(const Uniformity& uniformity) {
  for (const auto& [from, to] : uniformity.earlyEnds()) {
    auto* const block = const_cast<llvm::BasicBlock*>(from);
    auto* const next = const_cast<llvm::BasicBlock*>(to);
    // A switch may come to one block several times.
    llvm::BasicBlock* const end = llvm::BasicBlock::Create(step_.getContext(), "ends", &step_, next);
    llvm::BranchInst::Create(next, end);
    for (llvm::PHINode& phi : next->phis()) {
      llvm::Value* const value = phi.getIncomingValueForBlock(block);
      phi.removeIncomingValueIf([&](unsigned k) { return phi.getIncomingBlock(k) == block; }, false);
      phi.addIncoming(value, end);
    }
    block->getTerminator()->replaceSuccessorWith(next, end);
    earlyEnds_.push_back(end);
    if (uniformity.isCommon(from)) leaving_.insert(block);
  }
}

void Cutter::cutEarlyEnds(const Branching& branching) {
  for (llvm::BasicBlock* block : leaving_) {
    if (!llvm::is_contained(branching, block)) cutEdges(block);
  }
}

void Cutter::cutBranchesApart(const Branching& branching) {
  for (llvm::BasicBlock* block : branching) {
    cut(block->getTerminator());
    cutEdges(cuts_.back().resume);
  }
}

void Cutter::cutRounds() {
  const llvm::DominatorTree dominators(step_);
  const llvm::LoopInfo loops(dominators);
  llvm::SmallVector<std::pair<llvm::BasicBlock*, llvm::BasicBlock*>, 8> ends;
  for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
    llvm::SmallVector<llvm::BasicBlock*, 4> latches;
    loop->getLoopLatches(latches);
    if (llvm::none_of(barriers_, [&](const llvm::Instruction* barrier) { return loop->contains(barrier); })) continue;
    for (llvm::BasicBlock* latch : latches) {
      const auto isMet = [&](const llvm::Instruction* barrier) { return loop->contains(barrier) && dominators.dominates(barrier->getParent(), latch); };
      if (llvm::none_of(barriers_, isMet) && llvm::count(llvm::successors(latch), loop->getHeader()) == 1) ends.emplace_back(latch, loop->getHeader());
    }
  }
  for (const auto& [latch, header] : ends) cut(llvm::SplitEdge(latch, header)->getTerminator());
}

namespace {

bool changesMemory(const llvm::Instruction& instruction) {
  return llvm::isa<llvm::StoreInst>(instruction) || llvm::isa<llvm::AtomicRMWInst>(instruction) || llvm::isa<llvm::AtomicCmpXchgInst>(instruction);
}

// Whether it is a call of the module's, or through a pointer, which may do anything.
bool isOpaque(const llvm::CallInst& call) { return call.getCalledFunction() == nullptr || !call.getCalledFunction()->isDeclaration(); }

// Whether nothing is done in the loop but to look at what is no shared memory, and to exchange values.
bool onlyLooks(const llvm::Loop& loop) {
  for (const llvm::BasicBlock* block : loop.blocks()) {
    for (const llvm::Instruction& instruction : *block) {
      const auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      const bool isKnown = call == nullptr || llvm::isa<llvm::IntrinsicInst>(call) || warpOperation(*call) || isCallOf(instruction, kYield);
      if (changesMemory(instruction) || !isKnown) return false;
      if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction); load != nullptr && isOfShared(load->getPointerOperand(), *load->getFunction())) return false;
    }
  }
  return true;
}

// Whether whoever leaves the loop exchanges values with those that still poll before it stores anything, whichever way it goes: it may come to the loop again before.
bool meetsBehind(const llvm::Loop& loop) {
  constexpr std::size_t kMostBlocks = 64;
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> seen(loop.block_begin(), loop.block_end());
  const std::size_t own = seen.size();
  llvm::SmallVector<llvm::BasicBlock*, 8> work;
  loop.getExitBlocks(work);
  while (!work.empty()) {
    llvm::BasicBlock* const block = work.pop_back_val();
    if (llvm::isa<llvm::UnreachableInst>(block->getTerminator()) || !seen.insert(block).second) continue;
    if (seen.size() > own + kMostBlocks) return false;
    const auto met = llvm::find_if(*block, [](const llvm::Instruction& instruction) {
      const auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      return changesMemory(instruction) || llvm::isa<llvm::ReturnInst>(instruction) || (call != nullptr && (warpOperation(*call) || isOpaque(*call)));
    });
    if (met == block->end()) {
      work.append(llvm::succ_begin(block), llvm::succ_end(block));
      continue;
    }
    const auto* const call = llvm::dyn_cast<llvm::CallInst>(&*met);
    if (call == nullptr || isOpaque(*call) || memberMask(*call) == nullptr) return false;
  }
  return true;
}

bool meets(const llvm::Instruction& instruction, const llvm::SmallPtrSetImpl<llvm::Instruction*>& barriers) {
  const auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  return call != nullptr && (barriers.contains(const_cast<llvm::CallInst*>(call)) || (warpOperation(*call) && memberMask(*call) != nullptr));
}

// Whether it changes what the loop looks at, or may.
bool isLookedAt(const llvm::Instruction& instruction, const llvm::Loop& loop) {
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) return isOpaque(*call);
  if (!changesMemory(instruction)) return false;
  const llvm::Value* const place = llvm::isa<llvm::StoreInst>(instruction) ? llvm::getPointerOperand(&instruction) : instruction.getOperand(0);
  return llvm::any_of(loop.blocks(), [&](const llvm::BasicBlock* block) {
    return llvm::any_of(*block, [&](const llvm::Instruction& other) { return llvm::isa<llvm::LoadInst>(other) && isAlike(llvm::getPointerOperand(&other), place); });
  });
}

// Whether a lane that goes another way than into the loop does so there before it meets the others: they wait for that (`if (lane == 31) flag = 1; else while (flag == 0);`).
bool storesBeside(const llvm::Loop& loop, const llvm::SmallPtrSetImpl<llvm::Instruction*>& barriers) {
  const auto isMeeting = [&](const llvm::Instruction& instruction) { return meets(instruction, barriers); };
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> before, seen;
  llvm::SmallVector<const llvm::BasicBlock*, 16> work;
  const auto addBefore = [&](const llvm::BasicBlock* block) {
    for (const llvm::BasicBlock* next : llvm::predecessors(block)) {
      if (!loop.contains(next)) work.push_back(next);
    }
  };
  addBefore(loop.getHeader());
  while (!work.empty()) {
    const llvm::BasicBlock* const block = work.pop_back_val();
    if (before.insert(block).second && llvm::none_of(*block, isMeeting)) addBefore(block);
  }
  for (const llvm::BasicBlock* block : before) work.append(llvm::succ_begin(block), llvm::succ_end(block));
  while (!work.empty()) {
    const llvm::BasicBlock* const block = work.pop_back_val();
    if (before.contains(block) || loop.contains(block) || !seen.insert(block).second) continue;
    const auto meeting = llvm::find_if(*block, isMeeting);
    if (std::any_of(block->begin(), meeting, [&](const llvm::Instruction& instruction) { return isLookedAt(instruction, loop); })) return true;
    if (meeting == block->end()) work.append(llvm::succ_begin(block), llvm::succ_end(block));
  }
  return false;
}

}  // namespace

void Cutter::pollInLanes() {
  const llvm::DominatorTree dominators(step_);
  const llvm::LoopInfo loops(dominators);
  llvm::SmallPtrSet<const llvm::Loop*, 4> found;
  for (llvm::CallInst* poll : polls_) {
    const llvm::Loop* const loop = loops.getLoopFor(poll->getParent());
    if (loop != nullptr && onlyLooks(*loop) && meetsBehind(*loop) && !storesBeside(*loop, barriers_)) found.insert(loop);
  }
  // Each round of a loop around such a one comes through it, and waits there.
  const auto isAround = [&](const llvm::Loop* loop, const llvm::CallInst* poll) {
    return llvm::any_of(found, [&](const llvm::Loop* inner) { return loop->contains(inner) && dominators.dominates(inner->getHeader(), poll->getParent()); });
  };
  const llvm::FunctionCallee let = module_.getOrInsertFunction(kLetOthers, b.getVoidTy(), b.getPtrTy());
  llvm::erase_if(polls_, [&](llvm::CallInst* poll) {
    const llvm::Loop* const loop = loops.getLoopFor(poll->getParent());
    if (loop == nullptr || (!found.contains(loop) && !(onlyLooks(*loop) && isAround(loop, poll)))) return false;
    b.SetInsertPoint(poll);
    llvm::Value* const field = b.CreateConstInBoundsGEP1_32(b.getInt8Ty(), step_.getArg(kThread), static_cast<unsigned>(offsetof(ThreadContext, block)));
    b.CreateCall(let, {b.CreateLoad(b.getPtrTy(), field)});
    poll->eraseFromParent();
    pollsInLanes_ = true;
    return true;
  });
}

void Cutter::cutPolls() {
  for (llvm::CallInst* poll : polls_) {
    cut(poll);
    cuts_.back().polls = true;
    poll->eraseFromParent();
  }
}

void Cutter::cutBarriers() {
  llvm::SmallVector<llvm::CallInst*, 16> calls;
  for (llvm::Instruction& instruction : llvm::instructions(step_)) {
    if (barriers_.contains(&instruction)) calls.push_back(llvm::cast<llvm::CallInst>(&instruction));
  }
  for (llvm::CallInst* call : calls) {
    cut(call);
    if (call->getCalledFunction()->getName() == "rouse_cpu_barrier_reduce") reduce(call, cuts_.back());
    call->eraseFromParent();
  }
}

// What a reduction yields is computed from the number of threads whose predicate holds; that it holds for all from that of those for whom it does not: who has ended does not count.
void Cutter::reduce(llvm::CallInst* call, Cut& at) {
  const auto operation = llvm::cast<llvm::ConstantInt>(call->getArgOperand(3))->getZExtValue();
  const bool ofAll = operation == 1;
  b.SetInsertPoint(at.exit->getTerminator());
  const llvm::FunctionCallee marker = module_.getOrInsertFunction("rouse.split.arrival", b.getVoidTy(), b.getInt32Ty());
  llvm::Value* const predicate = call->getArgOperand(4);
  at.arrival = b.CreateCall(marker, {ofAll ? b.CreateZExt(b.CreateICmpEQ(predicate, b.getInt32(0)), b.getInt32Ty()) : predicate});
  b.SetInsertPoint(call);
  llvm::Value* const reduced = step_.getArg(kReduced);
  llvm::Value* result = reduced;
  if (operation != 0) {
    const auto how = ofAll ? llvm::CmpInst::ICMP_EQ : llvm::CmpInst::ICMP_NE;
    result = b.CreateZExt(b.CreateICmp(how, reduced, b.getInt32(0)), b.getInt32Ty());
  }
  // Which is not computed again from the argument: that will be another reduction's by then.
  call->replaceAllUsesWith(b.CreateFreeze(result));
}

}  // namespace rouse::cpu::codegen
