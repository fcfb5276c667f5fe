// Loops of nothing: nvcc makes one (`L: bra L;`) of a loop whose step it does not know to be none, where each round would do nothing then, as of
// `for (i = warp; i < n; i += blockDim.x / 32)`. Nobody ever comes to it, and it must not be what decides how all others are run: who comes there does not come back, as with a trap.
#include <llvm/IR/IRBuilder.h>

#include "server/device/cpu/codegen/passes.h"

namespace rouse::cpu::codegen {

void endAtEndlessLoops(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) {
      auto* const branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
      if (branch == nullptr || branch->isConditional() || branch->getSuccessor(0) != &block || &block.front() != branch) continue;
      llvm::IRBuilder<> b(branch);
      const llvm::FunctionCallee endless = module.getOrInsertFunction("rouse_cpu_endless", llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false));
      b.CreateCall(endless, {function.getArg(0)});
      b.CreateUnreachable();
      branch->eraseFromParent();
    }
  }
}

}  // namespace rouse::cpu::codegen
