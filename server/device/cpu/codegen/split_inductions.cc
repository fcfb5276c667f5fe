// An address that a loop moves on is kept by each thread, though all move it by the same: what is the same for all is counted apart, so
// that what differs between threads is the start, which need not be kept.
#include "server/device/cpu/codegen/passes.h"
#include "server/device/cpu/codegen/rounds.h"
#include "server/device/cpu/codegen/uniformity.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>

namespace rouse::cpu::codegen {
void splitInductions(llvm::Function& function, const Uniformity& uniformity) {
  const llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    llvm::BasicBlock* const latch = loop->getLoopLatch();
    llvm::SmallVector<llvm::PHINode*, 8> phis;
    for (llvm::PHINode& phi : loop->getHeader()->phis()) phis.push_back(&phi);
    for (llvm::PHINode* phi : phis) {
      llvm::Value* const step = stepOf(phi, *loop);
      if (step == nullptr) continue;
      const auto back = static_cast<unsigned>(phi->getBasicBlockIndex(latch));
      llvm::Value* const start = phi->getIncomingValue(1 - back);
      if (uniformity.isUniform(start) || !uniformity.isUniform(step)) continue;
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
