// A GPU's threads all make progress; the CPU's run one after another. A loop that waits for another thread's store must
// let that thread run. Such a loop ends on a value that comes from a volatile, ordered or atomic access in the loop, or
// from any load in a loop with a fence.
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>

#include "server/device/cpu/codegen/passes.h"

namespace rouse::cpu::codegen {
namespace {

constexpr llvm::StringLiteral kYield = "rouse_cpu_yield";

// The loop's values that `value` is computed from, phis and control of selects included.
class Slice {
 public:
  Slice(const llvm::Loop& loop, llvm::Value* value) : loop_(loop) { add(value); }
  const llvm::SmallPtrSetImpl<llvm::Instruction*>& instructions() const { return seen_; }

 private:
  void add(llvm::Value* value) {
    llvm::SmallVector<llvm::Value*, 16> work{value};
    while (!work.empty()) {
      auto* instruction = llvm::dyn_cast<llvm::Instruction>(work.pop_back_val());
      if (instruction == nullptr || !loop_.contains(instruction) || !seen_.insert(instruction).second) continue;
      work.append(instruction->op_begin(), instruction->op_end());
      // A phi also depends on the branches that choose its predecessor.
      if (auto* phi = llvm::dyn_cast<llvm::PHINode>(instruction)) {
        for (llvm::BasicBlock* block : phi->blocks()) {
          if (!loop_.contains(block)) continue;
          if (auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
              branch != nullptr && branch->isConditional()) {
            work.push_back(branch->getCondition());
          }
        }
      }
    }
  }

  const llvm::Loop& loop_;
  llvm::SmallPtrSet<llvm::Instruction*, 32> seen_;
};

// A compare-and-swap that expects what it read itself the last time succeeds when nobody comes between: it waits for no
// one.
bool isRetry(const llvm::Loop& loop, llvm::AtomicCmpXchgInst* swap) {
  const Slice expected(loop, swap->getCompareOperand());
  return expected.instructions().contains(swap);
}

bool observesOthers(const llvm::Loop& loop, llvm::Instruction* instruction, bool hasFence) {
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
    if (load->hasMetadata(llvm::LLVMContext::MD_invariant_load)) return false;
    return load->isVolatile() || load->isAtomic() || hasFence;
  }
  if (auto* swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(instruction)) return !isRetry(loop, swap);
  if (llvm::isa<llvm::AtomicRMWInst>(instruction)) return true;
  if (auto* call = llvm::dyn_cast<llvm::CallInst>(instruction)) {
    // A call that was not inlined may load anything; the runtime's functions and intrinsics wait for themselves.
    const llvm::Function* callee = call->getCalledFunction();
    return callee == nullptr || (!callee->isDeclaration() && !callee->doesNotAccessMemory());
  }
  return false;
}

bool mayBeFence(const llvm::Instruction& instruction) { return llvm::isa<llvm::FenceInst>(instruction); }

bool isSpin(const llvm::Loop& loop) {
  bool hasFence = false;
  for (llvm::BasicBlock* block : loop.blocks()) {
    for (const llvm::Instruction& instruction : *block) hasFence |= mayBeFence(instruction);
  }
  llvm::SmallVector<llvm::BasicBlock*, 8> exiting;
  loop.getExitingBlocks(exiting);
  for (llvm::BasicBlock* block : exiting) {
    llvm::Value* condition = nullptr;
    if (auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
        branch != nullptr && branch->isConditional()) {
      condition = branch->getCondition();
    } else if (auto* choice = llvm::dyn_cast<llvm::SwitchInst>(block->getTerminator())) {
      condition = choice->getCondition();
    }
    if (condition == nullptr) continue;
    const Slice slice(loop, condition);
    for (llvm::Instruction* instruction : slice.instructions()) {
      if (observesOthers(loop, instruction, hasFence)) return true;
    }
  }
  return false;
}

bool yieldIn(llvm::Function& function) {
  if (function.isDeclaration()) return false;
  const llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  bool found = false;
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (!isSpin(*loop)) continue;
    found = true;
    llvm::SmallVector<llvm::BasicBlock*, 4> latches;
    loop->getLoopLatches(latches);
    for (llvm::BasicBlock* latch : latches) {
      llvm::IRBuilder<> b(latch->getTerminator());
      const llvm::FunctionCallee yield = function.getParent()->getOrInsertFunction(
          kYield, llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false));
      b.CreateCall(yield, {function.getArg(0)});
    }
  }
  return found;
}

}  // namespace

bool yieldInSpinLoops(llvm::Module& module) {
  bool found = false;
  for (llvm::Function& function : module) found |= yieldIn(function);
  return found;
}

bool isWaitingFunction(llvm::StringRef name) {
  return name == "rouse_cpu_barrier" || name == "rouse_cpu_barrier_arrive" || name == "rouse_cpu_barrier_reduce" ||
         name == "rouse_cpu_warp_sync" || name == "rouse_cpu_shuffle" || name == "rouse_cpu_vote" ||
         name == "rouse_cpu_match" || name == "rouse_cpu_redux" || name == "rouse_cpu_matrix" ||
         name == "rouse_cpu_matrix_part" || name == "rouse_cpu_activemask" || name == kYield;
}

bool mayWait(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    if (function.isDeclaration() && isWaitingFunction(function.getName()) && !function.use_empty()) return true;
  }
  return false;
}

}  // namespace rouse::cpu::codegen
