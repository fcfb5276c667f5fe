#include "server/device/cpu/codegen/update_loop.h"

namespace rouse::cpu::codegen {

llvm::Value* updateInLoop(llvm::IRBuilderBase& b, const UpdateLoop& update, llvm::function_ref<llvm::Value*(llvm::Value* seen)> change) {
  llvm::BasicBlock* const before = b.GetInsertBlock();
  const auto block = [&](const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, before->getParent()); };
  llvm::BasicBlock *const loop = block("atomic"), *const done = block("atomic.done");
  const llvm::Align align(update.bits->getBitWidth() / 8);
  llvm::LoadInst* const first = b.CreateAlignedLoad(update.bits, update.pointer, align);
  first->setAtomic(llvm::AtomicOrdering::Monotonic, update.scope);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode* const seen = b.CreatePHI(update.bits, 2);
  seen->addIncoming(first, before);
  llvm::Value* const next = change(seen);
  if (update.leavesUnchanged) {
    llvm::BasicBlock* const changes = block("atomic.changes");
    b.CreateCondBr(b.CreateICmpEQ(next, seen), done, changes);
    b.SetInsertPoint(changes);
  }
  llvm::Value* const pair = b.CreateAtomicCmpXchg(update.pointer, seen, next, align, update.ordering, llvm::AtomicOrdering::Monotonic, update.scope);
  seen->addIncoming(b.CreateExtractValue(pair, 0), b.GetInsertBlock());
  b.CreateCondBr(b.CreateExtractValue(pair, 1), done, loop);
  b.SetInsertPoint(done);
  return seen;
}

}  // namespace rouse::cpu::codegen
