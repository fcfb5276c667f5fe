#include "server/device/cpu/codegen/uniformity.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IntrinsicInst.h>

#include "server/device/cpu/codegen/context_fields.h"
#include "server/device/cpu/codegen/passes.h"

namespace rouse::cpu::codegen {
namespace {

// More blocks than this are not looked at (their post-dominators take the square of it in bits).
constexpr std::size_t kMostBlocks = 3000;

// All is found out once more for those that are found at a time.
constexpr std::size_t kMostEarlyEnds = 16;

// A constant place in what an argument points to.
bool isField(const llvm::Value* pointer, const llvm::Argument* base, std::int64_t& offset, const llvm::DataLayout& layout) {
  llvm::APInt sum(64, 0);
  const llvm::Value* const found = pointer->stripAndAccumulateConstantOffsets(layout, sum, true);
  offset = sum.getSExtValue();
  return found == base;
}

}  // namespace

bool isConstantLoad(const llvm::LoadInst& load) { return load.hasMetadata(llvm::LLVMContext::MD_invariant_load) || load.hasMetadata(kPromisedConstant); }

bool isOfShared(const llvm::Value* pointer, const llvm::Function& function) {
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  const auto* const shared = llvm::dyn_cast<llvm::LoadInst>(llvm::getUnderlyingObject(pointer, 0));
  if (shared == nullptr) return false;
  llvm::APInt at(64, 0);
  const auto* const block = llvm::dyn_cast<llvm::LoadInst>(shared->getPointerOperand()->stripAndAccumulateConstantOffsets(layout, at, true));
  std::int64_t offset = 0;
  return block != nullptr && at.getSExtValue() == offsetof(BlockContext, shared) && isField(block->getPointerOperand(), function.getArg(0), offset, layout) &&
         offset == offsetof(ThreadContext, block);
}

Uniformity::Uniformity(llvm::Function& function, const llvm::SmallPtrSetImpl<llvm::Instruction*>& barriers, Early early, Loads loads)
    : loads_(loads) {
  for (llvm::Instruction* barrier : barriers) withBarrier_.insert(barrier->getParent());
  if (function.size() > kMostBlocks) {
    uniformBarriers_ = false;
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : block) divergent_.insert(&instruction);
    }
    return;
  }
  findBehindPolls(function, barriers);
  if (early == Early::mayEnd) findEndings(function);
  for (std::size_t before = 0;; before = earlyEnds_.size()) {
    compute(function, barriers);
    if (earlyEnds_.size() == before) return;
    divergent_.clear();
    apart_.clear();
    postDominators_.clear();
    together_.clear();
    numbers_.clear();
    uniformBarriers_ = true;
  }
}

// Branches by which some may end early are left for last: once it is certain that threads go apart there, they lead nowhere for those that are left, and all is found out anew.
void Uniformity::compute(llvm::Function& function, const llvm::SmallPtrSetImpl<llvm::Instruction*>& barriers) {
  findPostDominators(function);
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      if (isSource(instruction)) mark(&instruction);
    }
  }
  llvm::SmallSetVector<const llvm::BasicBlock*, 4> leaving;
  while (!work_.empty()) {
    const llvm::Instruction* const next = work_.pop_back_val();
    for (const llvm::User* user : next->users()) {
      const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
      if (instruction == nullptr) continue;
      if (!instruction->isTerminator()) {
        mark(instruction);
      } else if (instruction->getNumSuccessors() > 1) {
        mayEndEarly(instruction->getParent()) ? void(leaving.insert(instruction->getParent())) : spread(instruction->getParent());
      }
    }
  }
  for (const llvm::BasicBlock* block : leaving) {
    for (const llvm::BasicBlock* next : llvm::successors(block)) {
      if (endings_.contains(next)) earlyEnds_.insert({block, next});
    }
  }
}

// Blocks that all who come to them end behind, without a barrier between.
void Uniformity::findEndings(llvm::Function& function) {
  const auto before = [&](llvm::SmallVector<const llvm::BasicBlock*, 64> work) {
    llvm::SmallPtrSet<const llvm::BasicBlock*, 16> found;
    while (!work.empty()) {
      const llvm::BasicBlock* const block = work.pop_back_val();
      if (found.insert(block).second) work.append(llvm::pred_begin(block), llvm::pred_end(block));
    }
    return found;
  };
  llvm::SmallVector<const llvm::BasicBlock*, 64> ends;
  for (const llvm::BasicBlock& block : function) {
    if (llvm::isa<llvm::ReturnInst>(block.getTerminator())) ends.push_back(&block);
  }
  const auto toBarrier = before({withBarrier_.begin(), withBarrier_.end()});
  for (const llvm::BasicBlock* block : before(ends)) {
    if (!toBarrier.contains(block)) endings_.insert(block);
  }
}

// Whether a branch leads some threads to their end and others to a barrier, which is not said of it yet.
bool Uniformity::mayEndEarly(const llvm::BasicBlock* block) {
  if (endings_.contains(block) || earlyEnds_.size() >= kMostEarlyEnds) return false;
  const auto ends = [&](const llvm::BasicBlock* next) { return endings_.contains(next); };
  return llvm::any_of(llvm::successors(block), [&](const llvm::BasicBlock* next) { return ends(next) && !isEarly(block, next); }) && !llvm::all_of(llvm::successors(block), ends);
}

// Ends that are none (a trap ends all threads) do not count: blocks from which only those can be reached have no entry. Nor do those by which some threads end early:
// where there are no others, those that are left are together at each barrier.
void Uniformity::findPostDominators(llvm::Function& function) {
  llvm::SmallVector<const llvm::BasicBlock*, 64> order;
  for (const llvm::BasicBlock& block : function) {
    numbers_[&block] = static_cast<unsigned>(order.size());
    order.push_back(&block);
  }
  const auto size = static_cast<unsigned>(order.size());
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> last;
  const auto walk = [&] {
    llvm::SmallVector<const llvm::BasicBlock*, 64> work(last.begin(), last.end());
    while (!work.empty()) {
      const llvm::BasicBlock* const block = work.pop_back_val();
      llvm::BitVector all(size, true);
      if (!postDominators_.try_emplace(block, std::move(all)).second) continue;
      for (const llvm::BasicBlock* before : llvm::predecessors(block)) {
        if (!isEarly(before, block)) work.push_back(before);
      }
    }
  };
  for (const llvm::BasicBlock* block : order) {
    if (llvm::isa<llvm::ReturnInst>(block->getTerminator())) last.insert(block);
  }
  walk();
  llvm::SmallVector<const llvm::BasicBlock*, 64> early;
  for (const Edge& edge : earlyEnds_) early.push_back(edge.first);
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> seen;
  while (!early.empty()) {
    const llvm::BasicBlock* const block = early.pop_back_val();
    if (postDominators_.contains(block) || !seen.insert(block).second) continue;
    if (withBarrier_.contains(block)) last.insert(block);
    early.append(llvm::pred_begin(block), llvm::pred_end(block));
  }
  if (!seen.empty()) {
    postDominators_.clear();
    walk();
  }
  const auto behind = [&](const llvm::BasicBlock* block) {
    llvm::BitVector all(size, true);
    for (const llvm::BasicBlock* next : llvm::successors(block)) {
      if (isEarly(block, next)) continue;
      if (const auto those = postDominators_.find(next); those != postDominators_.end()) all &= those->second;
    }
    return all;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto at = order.rbegin(); at != order.rend(); ++at) {
      const auto found = postDominators_.find(*at);
      if (found == postDominators_.end()) continue;
      llvm::BitVector now = last.contains(*at) ? llvm::BitVector(size) : behind(*at);
      now.set(numbers_[*at]);
      if (now == found->second) continue;
      found->second = std::move(now);
      changed = true;
    }
  }
  for (const llvm::BasicBlock* block : last) {
    if (!llvm::isa<llvm::ReturnInst>(block->getTerminator())) together_[block] = behind(block);
  }
}

// Who has polled goes on while others still do, and what it stores under a lock, or in its turn, the next one loads: with no barrier between.
void Uniformity::findBehindPolls(llvm::Function& function, const llvm::SmallPtrSetImpl<llvm::Instruction*>& barriers) {
  llvm::SmallPtrSet<llvm::BasicBlock*, 16> seen;
  llvm::SmallVector<llvm::BasicBlock*, 16> work;
  const auto walk = [&](llvm::BasicBlock* block, llvm::BasicBlock::iterator from) {
    for (auto at = from; at != block->end(); ++at) {
      if (barriers.contains(&*at)) return;
      if (llvm::isa<llvm::LoadInst>(*at)) behindPolls_.insert(&*at);
    }
    work.append(llvm::succ_begin(block), llvm::succ_end(block));
  };
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      if (isCallOf(instruction, kYield)) walk(&block, instruction.getIterator());
    }
  }
  while (!work.empty()) {
    llvm::BasicBlock* const block = work.pop_back_val();
    if (seen.insert(block).second) walk(block, block->begin());
  }
}

bool Uniformity::isSource(const llvm::Instruction& instruction) const {
  const llvm::Function& function = *instruction.getFunction();
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    const llvm::DataLayout& layout = function.getParent()->getDataLayout();
    std::int64_t offset = 0;
    if (const auto field = threadField(load->getPointerOperand(), function)) return field != offsetof(ThreadContext, block);
    if (isPerhapsOfThread(load->getPointerOperand(), function)) return true;
    if (load->isAtomic()) return true;
    const bool isShared = isOfShared(load->getPointerOperand(), function);
    if (load->isVolatile() && (loads_ == Loads::known || !isShared)) return true;
    // Between two barriers nobody writes what others read, but behind a cut (Cutter::separateOverwrites), or where threads poll.
    if (isShared) return behindPolls_.contains(load);
    if (loads_ == Loads::promised) return behindPolls_.contains(load);
    return !isConstantLoad(*load) && !isField(load->getPointerOperand(), function.getArg(1), offset, layout);
  }
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
    if (call->getType()->isVoidTy()) return false;
    const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(call);
    if (intrinsic != nullptr && intrinsic->doesNotAccessMemory()) return false;
    // With all threads, its result is everybody's.
    return !isCallOf(instruction, "rouse_cpu_barrier_reduce");
  }
  return instruction.mayReadFromMemory() || llvm::isa<llvm::AllocaInst>(instruction);
}

void Uniformity::mark(const llvm::Value* value) {
  const auto* instruction = llvm::cast<llvm::Instruction>(value);
  if (isCallOf(*instruction, "rouse_cpu_barrier_reduce")) return;
  if (divergent_.insert(value).second) work_.push_back(instruction);
}

llvm::SmallPtrSet<const llvm::BasicBlock*, 16> Uniformity::region(const llvm::BasicBlock* block, const llvm::BasicBlock** join) const {
  *join = nullptr;
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> found;
  llvm::BitVector after = together_.lookup(block);
  if (after.empty()) {
    after = postDominators_.lookup(block);
    if (!after.empty()) after.reset(numbers_.lookup(block));
  }
  llvm::SmallVector<const llvm::BasicBlock*, 16> work;
  const auto goOn = [&](const llvm::BasicBlock* from) {
    for (const llvm::BasicBlock* next : llvm::successors(from)) {
      if (!isEarly(from, next)) work.push_back(next);
    }
  };
  goOn(block);
  // One way that is left leads nobody apart.
  if (!work.empty() && !earlyEnds_.empty() && llvm::all_equal(work)) return found;
  while (!work.empty()) {
    const llvm::BasicBlock* const next = work.pop_back_val();
    if (!postDominators_.contains(next)) continue;
    if (!after.empty() && after.test(numbers_.lookup(next))) {
      *join = next;
      continue;
    }
    if (found.insert(next).second) goOn(next);
  }
  return found;
}

void Uniformity::spread(const llvm::BasicBlock* branching) {
  const llvm::BasicBlock* join = nullptr;
  const auto blocks = region(branching, &join);
  const auto markPhis = [&](const llvm::BasicBlock* block) {
    for (const llvm::PHINode& phi : block->phis()) mark(&phi);
  };
  for (const llvm::BasicBlock* block : blocks) {
    markPhis(block);
    apart_.insert(block);
    if (withBarrier_.contains(block)) uniformBarriers_ = false;
    markEnding(block);
  }
  markEnding(branching);
  if (join == nullptr) return;
  // Not where all that went apart here bring the same.
  for (const llvm::PHINode& phi : join->phis()) {
    const llvm::Value* brought = nullptr;
    for (unsigned k = 0; k < phi.getNumIncomingValues(); ++k) {
      if (phi.getIncomingBlock(k) != branching && !blocks.contains(phi.getIncomingBlock(k))) continue;
      if (brought != nullptr && brought != phi.getIncomingValue(k)) mark(&phi);
      brought = phi.getIncomingValue(k);
    }
  }
}

// What lies behind early ends, if that is where threads end from here.
void Uniformity::markEnding(const llvm::BasicBlock* branching) {
  llvm::SmallVector<const llvm::BasicBlock*, 16> work;
  for (const llvm::BasicBlock* next : llvm::successors(branching)) {
    if (isEarly(branching, next)) work.push_back(next);
  }
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> seen;
  while (!work.empty()) {
    const llvm::BasicBlock* const block = work.pop_back_val();
    if (!seen.insert(block).second) continue;
    for (const llvm::PHINode& phi : block->phis()) mark(&phi);
    apart_.insert(block);
    work.append(llvm::succ_begin(block), llvm::succ_end(block));
  }
}

bool Uniformity::decidesBarriers(llvm::BasicBlock* block) const {
  const llvm::BasicBlock* join = nullptr;
  for (const llvm::BasicBlock* reached : region(block, &join)) {
    if (withBarrier_.contains(reached)) return true;
  }
  return false;
}

}  // namespace rouse::cpu::codegen
