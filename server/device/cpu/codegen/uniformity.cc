#include "server/device/cpu/codegen/uniformity.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IntrinsicInst.h>

#include "server/device/cpu/codegen/passes.h"

namespace rouse::cpu::codegen {
namespace {

// More blocks than this are not looked at (their post-dominators take the square of it in bits).
constexpr std::size_t kMostBlocks = 3000;

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

Uniformity::Uniformity(llvm::Function& function, const llvm::SmallPtrSetImpl<llvm::Instruction*>& barriers) {
  for (llvm::Instruction* barrier : barriers) withBarrier_.insert(barrier->getParent());
  if (function.size() > kMostBlocks) {
    uniformBarriers_ = false;
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : block) divergent_.insert(&instruction);
    }
    return;
  }
  findPostDominators(function);
  findBehindPolls(function, barriers);
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      if (isSource(instruction)) mark(&instruction);
    }
  }
  while (!work_.empty()) {
    const llvm::Instruction* const next = work_.pop_back_val();
    for (const llvm::User* user : next->users()) {
      const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
      if (instruction == nullptr) continue;
      if (instruction->isTerminator()) {
        if (instruction->getNumSuccessors() > 1) spread(instruction->getParent());
      } else {
        mark(instruction);
      }
    }
  }
}

// Ends that are none (a trap ends all threads) do not count: blocks from which only those can be reached have no entry.
void Uniformity::findPostDominators(llvm::Function& function) {
  llvm::SmallVector<const llvm::BasicBlock*, 64> order;
  for (const llvm::BasicBlock& block : function) {
    numbers_[&block] = static_cast<unsigned>(order.size());
    order.push_back(&block);
  }
  const auto size = static_cast<unsigned>(order.size());
  llvm::SmallVector<const llvm::BasicBlock*, 64> work;
  for (const llvm::BasicBlock* block : order) {
    if (llvm::isa<llvm::ReturnInst>(block->getTerminator())) work.push_back(block);
  }
  while (!work.empty()) {
    const llvm::BasicBlock* const block = work.pop_back_val();
    llvm::BitVector all(size, true);
    if (!postDominators_.try_emplace(block, std::move(all)).second) continue;
    for (const llvm::BasicBlock* before : llvm::predecessors(block)) work.push_back(before);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (auto at = order.rbegin(); at != order.rend(); ++at) {
      const auto found = postDominators_.find(*at);
      if (found == postDominators_.end()) continue;
      llvm::BitVector now(size, !llvm::isa<llvm::ReturnInst>((*at)->getTerminator()));
      for (const llvm::BasicBlock* next : llvm::successors(*at)) {
        if (const auto those = postDominators_.find(next); those != postDominators_.end()) now &= those->second;
      }
      now.set(numbers_[*at]);
      if (now == found->second) continue;
      found->second = std::move(now);
      changed = true;
    }
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
    if (isField(load->getPointerOperand(), function.getArg(0), offset, layout)) return offset != offsetof(ThreadContext, block);
    if (load->isVolatile() || load->isAtomic()) return true;
    // Between two barriers nobody writes what others read, but behind a cut (Cutter::separateOverwrites), or where threads poll.
    if (isOfShared(load->getPointerOperand(), function)) return behindPolls_.contains(load);
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
  const auto after = postDominators_.find(block);
  llvm::SmallVector<const llvm::BasicBlock*, 16> work(llvm::successors(block));
  while (!work.empty()) {
    const llvm::BasicBlock* const next = work.pop_back_val();
    if (!postDominators_.contains(next)) continue;
    if (next != block && after != postDominators_.end() && after->second.test(numbers_.lookup(next))) {
      *join = next;
      continue;
    }
    if (!found.insert(next).second) continue;
    work.append(llvm::succ_begin(next), llvm::succ_end(next));
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
  }
  if (join != nullptr) markPhis(join);
}

bool Uniformity::decidesBarriers(llvm::BasicBlock* block) const {
  const llvm::BasicBlock* join = nullptr;
  for (const llvm::BasicBlock* reached : region(block, &join)) {
    if (withBarrier_.contains(reached)) return true;
  }
  return false;
}

}  // namespace rouse::cpu::codegen
