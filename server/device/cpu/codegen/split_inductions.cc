// An address that a loop moves on is kept by each thread, though all move it by the same: what is the same for all is counted apart, so
// that what differs between threads is the start, which need not be kept.
#include "server/device/cpu/codegen/passes.h"
#include "server/device/cpu/codegen/uniformity.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>

namespace rouse::cpu::codegen {
namespace {

// What is added to `phi` each time, if that is all that happens to it; 64 bits for addresses.
llvm::Value* stepOf(llvm::PHINode* phi, llvm::Value* next, const llvm::Loop& loop) {
  llvm::Value* step = nullptr;
  if (auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(next); sum != nullptr && sum->getOpcode() == llvm::Instruction::Add) {
    step = sum->getOperand(0) == phi ? sum->getOperand(1) : sum->getOperand(1) == phi ? sum->getOperand(0) : nullptr;
  } else if (auto* moved = llvm::dyn_cast<llvm::GetElementPtrInst>(next)) {
    if (moved->getPointerOperand() == phi && moved->getNumIndices() == 1 && moved->getSourceElementType()->isIntegerTy(8) &&
        moved->getOperand(1)->getType()->isIntegerTy(64)) {
      step = moved->getOperand(1);
    }
  }
  if (step == nullptr || step == phi) return nullptr;
  auto* const instruction = llvm::dyn_cast<llvm::Instruction>(step);
  return instruction != nullptr && loop.contains(instruction) ? nullptr : step;
}

}  // namespace

void splitInductions(llvm::Function& function, const Uniformity& uniformity) {
  const llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    llvm::BasicBlock* const latch = loop->getLoopLatch();
    llvm::SmallVector<llvm::PHINode*, 8> phis;
    for (llvm::PHINode& phi : loop->getHeader()->phis()) phis.push_back(&phi);
    for (llvm::PHINode* phi : phis) {
      if (latch == nullptr || phi->getNumIncomingValues() != 2 || phi->getBasicBlockIndex(latch) < 0) continue;
      const auto back = static_cast<unsigned>(phi->getBasicBlockIndex(latch));
      llvm::Value* const start = phi->getIncomingValue(1 - back);
      llvm::Value* const step = stepOf(phi, phi->getIncomingValue(back), *loop);
      if (step == nullptr || uniformity.isUniform(start) || !uniformity.isUniform(step)) continue;
      llvm::IRBuilder<> b(loop->getHeader(), loop->getHeader()->begin());
      llvm::PHINode* const moved = b.CreatePHI(step->getType(), 2);
      b.SetInsertPoint(loop->getHeader(), loop->getHeader()->getFirstInsertionPt());
      llvm::Value* const sum =
          phi->getType()->isPointerTy() ? b.CreateGEP(b.getInt8Ty(), start, moved) : b.CreateAdd(start, moved);
      b.SetInsertPoint(latch->getTerminator());
      llvm::Value* const next = b.CreateAdd(moved, step);
      moved->addIncoming(llvm::Constant::getNullValue(step->getType()), phi->getIncomingBlock(1 - back));
      moved->addIncoming(next, latch);
      phi->replaceAllUsesWith(sum);
      phi->eraseFromParent();
    }
  }
}

}  // namespace rouse::cpu::codegen
