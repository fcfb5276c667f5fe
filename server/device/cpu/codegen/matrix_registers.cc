#include "server/device/cpu/codegen/matrix_registers.h"

#include <llvm/IR/InstIterator.h>

#include <bitset>

#include "server/device/cpu/codegen/warp_calls.h"
#include "server/device/cpu/matrix_form.h"

namespace rouse::cpu::codegen {
namespace {

using Words = std::bitset<kMatrixWords>;

Words words(unsigned first, unsigned count) {
  Words set;
  for (unsigned k = 0; k < count; ++k) set.set(first + k);
  return set;
}

bool isMatrixCall(const llvm::CallInst& call) { return warpOperation(call) == WarpCall::matrix && llvm::isa<llvm::ConstantInt>(call.getArgOperand(1)); }

MatrixOperation operationOf(const llvm::CallInst& call) {
  return MatrixOperation::decode(static_cast<std::uint32_t>(llvm::cast<llvm::ConstantInt>(call.getArgOperand(1))->getZExtValue()));
}

// What an operation reads.
Words neededBy(const MatrixOperation& operation) {
  switch (operation.verb) {
    case MatrixVerb::multiply:
      return words(0, operation.accumulatorWords(operation.c)) | words(kMatrixA, operation.aWords()) | words(kMatrixB, operation.bWords());
    case MatrixVerb::loadRows:
      return words(kMatrixAddress, 2);
    case MatrixVerb::storeRows:
      return words(0, operation.count) | words(kMatrixAddress, 2);
    case MatrixVerb::transpose:
      return words(0, 1);
    case MatrixVerb::load:
      return {};
    case MatrixVerb::store:
      return words(0, operation.partWords());
  }
  return Words().set();
}

Words writtenBy(const MatrixOperation& operation) {
  switch (operation.verb) {
    case MatrixVerb::multiply:
      return words(0, operation.accumulatorWords(operation.d));
    case MatrixVerb::loadRows:
      return words(0, operation.count);
    case MatrixVerb::transpose:
      return words(0, 1);
    case MatrixVerb::load:
      return words(0, operation.partWords());
    default:
      return {};
  }
}

const llvm::AllocaInst* variableOf(const llvm::Value* pointer) {
  const auto* const variable = llvm::dyn_cast<llvm::AllocaInst>(pointer->stripInBoundsConstantOffsets());
  const auto* const array = variable == nullptr ? nullptr : llvm::dyn_cast<llvm::ArrayType>(variable->getAllocatedType());
  return array != nullptr && array->getElementType()->isIntegerTy(32) && array->getNumElements() == kMatrixWords ? variable : nullptr;
}

bool isOnlyAccessed(const llvm::Value& pointer) {
  for (const llvm::User* user : pointer.users()) {
    const auto& instruction = *llvm::cast<llvm::Instruction>(user);
    if (instruction.isLifetimeStartOrEnd()) continue;
    if (const auto* moved = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) {
      if (!moved->isInBounds() || !moved->hasAllConstantIndices() || !isOnlyAccessed(*moved)) return false;
    } else if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
      if (!isMatrixCall(*call) || call->getArgOperand(2) != &pointer || !llvm::isa<llvm::AllocaInst>(pointer)) return false;
      // The address and the stride of a part are others.
      if (llvm::count(call->args(), &pointer) != 1) return false;
    } else if (matrixWordsOf(instruction).variable == nullptr) {
      return false;
    }
  }
  return true;
}

}  // namespace

const llvm::AllocaInst* matrixVariable(const llvm::CallInst& call) { return isMatrixCall(call) ? variableOf(call.getArgOperand(2)) : nullptr; }

MatrixWords matrixWordsOf(const llvm::Instruction& access) {
  const llvm::Value* const pointer = llvm::getLoadStorePointerOperand(&access);
  if (pointer == nullptr) return {};
  const auto* const store = llvm::dyn_cast<llvm::StoreInst>(&access);
  if (store != nullptr ? !store->isSimple() || variableOf(store->getValueOperand()) != nullptr : !llvm::cast<llvm::LoadInst>(access).isSimple()) return {};
  const llvm::AllocaInst* const variable = variableOf(pointer);
  if (variable == nullptr) return {};
  const llvm::DataLayout& layout = access.getModule()->getDataLayout();
  llvm::APInt offset(64, 0);
  pointer->stripAndAccumulateConstantOffsets(layout, offset, false);
  llvm::Type* const type = store != nullptr ? store->getValueOperand()->getType() : access.getType();
  const std::uint64_t bytes = layout.getTypeStoreSize(type).getFixedValue();
  if (type->isVectorTy() || type->isAggregateType() || (bytes != 4 && bytes != 8) || offset.urem(bytes) != 0) return {};
  if (offset.ugt(sizeof(std::uint32_t) * kMatrixWords - bytes)) return {};
  return {variable, static_cast<unsigned>(offset.getZExtValue() / 4), static_cast<unsigned>(bytes / 4)};
}

bool isMatrixRegisters(const llvm::AllocaInst& variable) { return variableOf(&variable) != nullptr && isOnlyAccessed(variable); }

bool keepsNothing(const llvm::AllocaInst& variable) {
  for (const llvm::BasicBlock& block : *variable.getFunction()) {
    Words known;
    for (const llvm::Instruction& instruction : block) {
      if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction); call != nullptr && warpOperation(*call) == WarpCall::matrix) {
        if (call->getArgOperand(2) != &variable) continue;
        const MatrixOperation operation = operationOf(*call);
        if ((neededBy(operation) & ~known).any()) return false;
        known |= writtenBy(operation);
        continue;
      }
      const MatrixWords accessed = matrixWordsOf(instruction);
      if (accessed.variable != &variable) continue;
      const Words those = words(accessed.first, accessed.count);
      if (llvm::isa<llvm::LoadInst>(instruction) && (those & ~known).any()) return false;
      known |= those;
    }
  }
  return true;
}

void separateAddresses(llvm::Function& function) {
  llvm::SmallVector<llvm::GetElementPtrInst*, 32> addresses;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* const moved = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction);
    const llvm::AllocaInst* const variable = moved == nullptr ? nullptr : variableOf(moved);
    if (variable != nullptr && isMatrixRegisters(*variable)) addresses.push_back(moved);
  }
  for (llvm::GetElementPtrInst* address : addresses) {
    for (llvm::Use& use : llvm::make_early_inc_range(address->uses())) {
      auto* const user = llvm::cast<llvm::Instruction>(use.getUser());
      const MatrixWords accessed = matrixWordsOf(*user);
      if (accessed.variable == nullptr) continue;  // another address
      llvm::IRBuilder<> b(user);
      use.set(b.CreateConstInBoundsGEP1_32(b.getInt32Ty(), const_cast<llvm::AllocaInst*>(accessed.variable), accessed.first));
    }
  }
  // Those that others were made of come before them.
  for (llvm::GetElementPtrInst* address : llvm::reverse(addresses)) {
    if (address->use_empty()) address->eraseFromParent();
  }
}

}  // namespace rouse::cpu::codegen
