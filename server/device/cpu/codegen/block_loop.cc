// All threads of a block in three nested loops around the kernel's body (abi.h, BlockLoop).
#include <llvm/Transforms/Utils/Cloning.h>

#include "server/device/cpu/codegen/lanes.h"
#include "server/device/cpu/codegen/passes.h"
#include "server/device/cpu/codegen/thread_loops.h"

namespace rouse::cpu::codegen {

void addBlockLoop(llvm::Module& module, llvm::Function& body, llvm::StringRef name, llvm::TargetMachine* target) {
  llvm::ValueToValueMapTy map;
  llvm::Function* const inlined = llvm::CloneFunction(&body, map);
  inlined->setLinkage(llvm::GlobalValue::InternalLinkage);
  dropNoAlias(*inlined);
  llvm::Function* const function = makeLoopFunction(module, name);
  llvm::IRBuilder<> b(&function->getEntryBlock());
  ThreadLoops loops(b);
  if (llvm::Function* const lanes = target == nullptr ? nullptr : sideBySide(*inlined, kNeighbours, *target)) {
    allowLanes(*function);
    loops.forAllBy(kNeighbours, [&](llvm::Value* count) {
      b.CreateCall(lanes, {loops.thread(), loops.parameters(), count})->addFnAttr(llvm::Attribute::AlwaysInline);
    });
    inlined->eraseFromParent();
  } else {
    loops.forAll([&] { b.CreateCall(inlined, {loops.thread(), loops.parameters()})->addFnAttr(llvm::Attribute::AlwaysInline); });
  }
  loops.noteMisaligned();
  b.CreateRetVoid();
}

}  // namespace rouse::cpu::codegen
