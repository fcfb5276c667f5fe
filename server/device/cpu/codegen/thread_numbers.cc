// Numbers of threads that are loaded by an address which may be that of something else: LLVM makes one load of two that meet (`v = lane; if (p) v = *q;`). Side by side a thread's
// number is known as such only where it is loaded as such.
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "server/device/cpu/codegen/passes.h"

namespace rouse::cpu::codegen {

bool isOfThread(const llvm::Value* pointer, const llvm::Function& function) {
  llvm::APInt offset(64, 0);
  return pointer->getType()->isPointerTy() && pointer->stripAndAccumulateConstantOffsets(function.getParent()->getDataLayout(), offset, true) == function.getArg(0);
}

void separateNumbers(llvm::Function& function) {
  llvm::SmallVector<llvm::LoadInst*, 4> loads;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    const auto* const choice = load == nullptr || !load->isSimple() ? nullptr : llvm::dyn_cast<llvm::SelectInst>(load->getPointerOperand());
    if (choice != nullptr && isOfThread(choice->getTrueValue(), function) != isOfThread(choice->getFalseValue(), function)) loads.push_back(load);
  }
  for (llvm::LoadInst* load : loads) {
    auto* const choice = llvm::cast<llvm::SelectInst>(load->getPointerOperand());
    const bool isOwnIfTrue = isOfThread(choice->getTrueValue(), function);
    llvm::IRBuilder<> b(load);
    llvm::Value* const own = b.CreateLoad(load->getType(), isOwnIfTrue ? choice->getTrueValue() : choice->getFalseValue());
    llvm::Value* const isOther = isOwnIfTrue ? b.CreateNot(choice->getCondition()) : choice->getCondition();
    llvm::BasicBlock* const head = load->getParent();
    llvm::Instruction* const then = llvm::SplitBlockAndInsertIfThen(b.CreateFreeze(isOther), load->getIterator(), false);
    llvm::Instruction* const other = load->clone();
    other->setOperand(0, isOwnIfTrue ? choice->getFalseValue() : choice->getTrueValue());
    other->insertBefore(then->getIterator());
    auto* const both = llvm::PHINode::Create(load->getType(), 2, "", load->getParent()->begin());
    both->addIncoming(own, head);
    both->addIncoming(other, then->getParent());
    load->replaceAllUsesWith(both);
    load->eraseFromParent();
  }
}

}  // namespace rouse::cpu::codegen
