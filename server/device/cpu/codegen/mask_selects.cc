// LLVM 19's code generator for AVX-512 does not come to an end with `or` or `xor` of two masks that it takes for integers: one rewriting moves the
// operation to the integers (hoistLogicOpWithSameOpcodeHands), the other back to the masks (combineBitcastToBoolVector; llvm-project issue 123333, mended in
// 20 by calling it later). Masks become integers where one condition selects one of two constants, or of two that are integers already. A select by as many
// copies of the condition is not taken for one, until that does no harm any more.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

#include "server/device/cpu/codegen/passes.h"

namespace rouse::cpu::codegen {
namespace {

// Deeper ones are taken for integers: that costs an instruction.
constexpr unsigned kDeepest = 8;

bool isMask(const llvm::Type* type) {
  const auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector != nullptr && vector->getElementType()->isIntegerTy(1);
}

bool isInteger(const llvm::Value* mask, unsigned depth = 0) {
  if (depth > kDeepest || llvm::isa<llvm::Constant>(mask)) return true;
  const auto both = [&](const llvm::Value* a, const llvm::Value* b) { return isInteger(a, depth + 1) && isInteger(b, depth + 1); };
  if (const auto* cast = llvm::dyn_cast<llvm::BitCastInst>(mask)) return cast->getSrcTy()->isIntegerTy();
  if (const auto* freeze = llvm::dyn_cast<llvm::FreezeInst>(mask)) return isInteger(freeze->getOperand(0), depth + 1);
  if (const auto* select = llvm::dyn_cast<llvm::SelectInst>(mask))
    return select->getCondition()->getType()->isIntegerTy() && both(select->getTrueValue(), select->getFalseValue());
  if (const auto* logic = llvm::dyn_cast<llvm::BinaryOperator>(mask)) return both(logic->getOperand(0), logic->getOperand(1));
  return false;
}

}  // namespace

void keepMasks(llvm::Function& function) {
  llvm::SmallVector<llvm::SelectInst*, 16> selects;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* const select = llvm::dyn_cast<llvm::SelectInst>(&instruction);
    if (select != nullptr && isMask(select->getType()) && isInteger(select)) selects.push_back(select);
  }
  for (llvm::SelectInst* select : selects) {
    llvm::IRBuilder<> b(select);
    select->setCondition(b.CreateVectorSplat(llvm::cast<llvm::FixedVectorType>(select->getType())->getNumElements(), select->getCondition()));
  }
}

}  // namespace rouse::cpu::codegen
