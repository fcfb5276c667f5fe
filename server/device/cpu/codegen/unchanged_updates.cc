// Atomic updates that change nothing: zeros added to floats, values that are no greater than the greatest so far. The processor has no instruction for these operations; they are made in loops that compare and swap, which
// wants the cache line alone, and waits for it where several blocks update one place. What would put back what is there need not be put back: that an update was made in that moment is true of its load.
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/LowerAtomic.h>

#include "server/device/cpu/codegen/passes.h"

namespace rouse::cpu::codegen {
namespace {

// Others than those that order nothing else are left: whoever is to see what was stored before would have to see this one's store.
bool mayLeave(const llvm::AtomicRMWInst& update) {
  if (update.getOrdering() != llvm::AtomicOrdering::Monotonic || update.isVolatile() || update.getType()->isVectorTy()) return false;
  switch (update.getOperation()) {
    case llvm::AtomicRMWInst::FAdd:
    case llvm::AtomicRMWInst::Max:
    case llvm::AtomicRMWInst::Min:
    case llvm::AtomicRMWInst::UMax:
    case llvm::AtomicRMWInst::UMin: return true;
    default: return false;
  }
}

void expand(llvm::AtomicRMWInst* update) {
  llvm::BasicBlock* const before = update->getParent();
  llvm::BasicBlock* const done = before->splitBasicBlock(update->getIterator(), "updated");
  llvm::IRBuilder<> b(before->getContext());
  llvm::BasicBlock* const found = llvm::BasicBlock::Create(b.getContext(), "found", before->getParent(), done);
  llvm::BasicBlock* const changes = llvm::BasicBlock::Create(b.getContext(), "changes", before->getParent(), done);
  llvm::Type* const type = update->getType();
  llvm::Type* const bits = b.getIntNTy(static_cast<unsigned>(type->getScalarSizeInBits()));

  before->getTerminator()->eraseFromParent();
  b.SetInsertPoint(before);
  llvm::LoadInst* const first = b.CreateAlignedLoad(bits, update->getPointerOperand(), update->getAlign());
  first->setAtomic(llvm::AtomicOrdering::Monotonic, update->getSyncScopeID());
  b.CreateBr(found);

  b.SetInsertPoint(found);
  llvm::PHINode* const seen = b.CreatePHI(bits, 2);
  seen->addIncoming(first, before);
  llvm::Value* const value = b.CreateBitCast(seen, type);
  llvm::Value* const next = b.CreateBitCast(llvm::buildAtomicRMWValue(update->getOperation(), b, value, update->getValOperand()), bits);
  b.CreateCondBr(b.CreateICmpEQ(next, seen), done, changes);

  b.SetInsertPoint(changes);
  llvm::Value* const swap = b.CreateAtomicCmpXchg(update->getPointerOperand(), seen, next, update->getAlign(), llvm::AtomicOrdering::Monotonic,
                                                  llvm::AtomicOrdering::Monotonic, update->getSyncScopeID());
  seen->addIncoming(b.CreateExtractValue(swap, 0), changes);
  b.CreateCondBr(b.CreateExtractValue(swap, 1), done, found);

  update->replaceAllUsesWith(value);
  update->eraseFromParent();
}

}  // namespace

void leaveUnchanged(llvm::Module& module) {
  llvm::SmallVector<llvm::AtomicRMWInst*, 16> updates;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction); update != nullptr && mayLeave(*update)) updates.push_back(update);
    }
  }
  for (llvm::AtomicRMWInst* update : updates) expand(update);
}

}  // namespace rouse::cpu::codegen
