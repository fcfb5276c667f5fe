// All threads of a block in three nested loops around the kernel's body (abi.h, BlockLoop).
#include "server/device/cpu/codegen/passes.h"
#include "server/device/cpu/codegen/thread_loops.h"

namespace rouse::cpu::codegen {

void addBlockLoop(llvm::Module& module, llvm::Function& body, llvm::StringRef name) {
  llvm::IRBuilder<> b(&makeLoopFunction(module, name)->getEntryBlock());
  ThreadLoops loops(b);
  loops.forAll([&] { b.CreateCall(&body, {loops.thread(), loops.parameters()})->addFnAttr(llvm::Attribute::AlwaysInline); });
  loops.noteMisaligned();
  b.CreateRetVoid();
}

}  // namespace rouse::cpu::codegen
