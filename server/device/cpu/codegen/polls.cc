#include "server/device/cpu/codegen/polls.h"

#include "server/device/cpu/codegen/uniformity.h"

namespace rouse::cpu::codegen {

bool isPoll(const llvm::Instruction& instruction) {
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
    return !isConstantLoad(*load) && (load->isVolatile() || load->isAtomic());
  if (const auto* swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) return swap->getCompareOperand() == swap->getNewValOperand();
  const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction);
  if (update == nullptr) return false;
  const auto* by = llvm::dyn_cast<llvm::Constant>(update->getValOperand());
  if (by == nullptr || !by->isNullValue()) return false;
  switch (update->getOperation()) {
    case llvm::AtomicRMWInst::Add:
    case llvm::AtomicRMWInst::Sub:
    case llvm::AtomicRMWInst::Or:
    case llvm::AtomicRMWInst::Xor:
      return true;
    default:
      return false;
  }
}

llvm::Value* placeOf(const llvm::Instruction& access) {
  if (const auto* swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&access)) return const_cast<llvm::Value*>(swap->getPointerOperand());
  if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&access)) return const_cast<llvm::Value*>(update->getPointerOperand());
  return const_cast<llvm::Value*>(llvm::getLoadStorePointerOperand(&access));
}

}  // namespace rouse::cpu::codegen
