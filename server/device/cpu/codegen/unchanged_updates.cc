// Atomic updates that change nothing: zeros added to floats, values that are no greater than the greatest so far. The processor has no instruction for these operations; they are made in loops that compare and swap, which
// wants the cache line alone, and waits for it where several blocks update one place. What would put back what is there need not be put back: that an update was made in that moment is true of its load.
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/LowerAtomic.h>

#include "server/device/cpu/codegen/passes.h"
#include "server/device/cpu/codegen/update_loop.h"

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
  llvm::BasicBlock* const behind = before->splitBasicBlock(update->getIterator());
  before->getTerminator()->eraseFromParent();
  llvm::IRBuilder<> b(before);
  llvm::Type* const type = update->getType();
  const UpdateLoop loop{.pointer = update->getPointerOperand(), .bits = b.getIntNTy(static_cast<unsigned>(type->getScalarSizeInBits())), .scope = update->getSyncScopeID(), .leavesUnchanged = true};
  llvm::Value* const seen = updateInLoop(b, loop, [&](llvm::Value* bits) {
    return b.CreateBitCast(llvm::buildAtomicRMWValue(update->getOperation(), b, b.CreateBitCast(bits, type), update->getValOperand()), bits->getType());
  });
  llvm::Value* const old = b.CreateBitCast(seen, type);
  b.CreateBr(behind);
  update->replaceAllUsesWith(old);
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
