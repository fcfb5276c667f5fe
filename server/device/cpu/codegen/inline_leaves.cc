// Functions that only compute go into those that call them. nvcc leaves some of its own out of line (`__internal_accurate_pow`), of which LLVM takes a function with
// two calls of it for better off as it is: true of a thread alone, but side by side a call is made by one lane after the other, and a kernel that is mostly such calls is not put side by side at all.
#include <llvm/Analysis/CFG.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "server/device/cpu/codegen/passes.h"

namespace rouse::cpu::codegen {
namespace {

constexpr std::size_t kLargestLeaf = 400;  // of what goes in; double-precision powers have some 150
constexpr std::size_t kMostAdded = 2500;        // to one function
constexpr unsigned kMostRounds = 3;             // functions that have become such by what went into them

bool onlyComputes(const llvm::Instruction& instruction) {
  if (instruction.isAtomic() || instruction.isVolatile() || llvm::isa<llvm::AllocaInst>(instruction)) return false;
  const auto* const call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return call == nullptr || (llvm::isa<llvm::CallInst>(call) && !call->isInlineAsm() && (llvm::isa<llvm::IntrinsicInst>(call) || call->doesNotAccessMemory()));
}

// Without loops: what is rarely come to and goes on for long, such as the reduction of large angles, is better called.
bool isLeaf(const llvm::Function& function) {
  if (function.isDeclaration() || function.hasFnAttribute(llvm::Attribute::NoInline) || function.getInstructionCount() > kLargestLeaf) return false;
  if (!llvm::all_of(llvm::instructions(function), onlyComputes)) return false;
  llvm::SmallVector<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>, 4> back;
  llvm::FindFunctionBackedges(function, back);
  return back.empty();
}

}  // namespace

bool inlineLeaves(llvm::Module& module) {
  bool changed = false;
  llvm::DenseMap<const llvm::Function*, std::size_t> added;
  for (unsigned round = 0; round < kMostRounds; ++round) {
    llvm::SmallPtrSet<const llvm::Function*, 8> leaves;
    for (const llvm::Function& function : module) {
      if (isLeaf(function)) leaves.insert(&function);
    }
    llvm::SmallVector<llvm::CallInst*, 16> calls;
    for (llvm::Function& function : module) {
      for (llvm::Instruction& instruction : llvm::instructions(function)) {
        auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        if (call != nullptr && leaves.contains(call->getCalledFunction())) calls.push_back(call);
      }
    }
    bool went = false;
    for (llvm::CallInst* call : calls) {
      std::size_t& sum = added[call->getFunction()];
      const std::size_t size = call->getCalledFunction()->getInstructionCount();
      if (sum + size > kMostAdded) continue;
      llvm::InlineFunctionInfo info;
      if (!llvm::InlineFunction(*call, info).isSuccess()) continue;
      sum += size;
      went = true;
    }
    if (!went) break;
    changed = true;
  }
  return changed;
}

}  // namespace rouse::cpu::codegen
