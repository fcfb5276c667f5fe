#include "server/device/cpu/codegen/address_sums.h"

#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

namespace rouse::cpu::codegen {
namespace {

constexpr unsigned kDeepestSum = 8;

}  // namespace

void Sum::add(const llvm::Value* value, std::int64_t factor, unsigned depth) {
  if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(value); number != nullptr && number->getBitWidth() <= 64) {
    constant += number->getSExtValue() * factor;
    return;
  }
  const auto* const operation = llvm::dyn_cast<llvm::Instruction>(value);
  const auto operand = [&](unsigned number) { return operation->getOperand(number); };
  if (operation != nullptr && depth < kDeepestSum) {
    const auto* const by = operation->getNumOperands() == 2 ? llvm::dyn_cast<llvm::ConstantInt>(operand(1)) : nullptr;
    const auto* const either = llvm::dyn_cast<llvm::PossiblyDisjointInst>(operation);
    if (llvm::isa<llvm::ZExtInst>(operation) || llvm::isa<llvm::SExtInst>(operation) || llvm::isa<llvm::FreezeInst>(operation)) return add(operand(0), factor, depth + 1);
    if (operation->getOpcode() == llvm::Instruction::Add || operation->getOpcode() == llvm::Instruction::Sub || (either != nullptr && either->isDisjoint())) {
      add(operand(0), factor, depth + 1);
      return add(operand(1), operation->getOpcode() == llvm::Instruction::Sub ? -factor : factor, depth + 1);
    }
    if (operation->getOpcode() == llvm::Instruction::Shl && by != nullptr && by->getValue().ult(32)) return add(operand(0), factor << by->getZExtValue(), depth + 1);
    if (operation->getOpcode() == llvm::Instruction::Mul && by != nullptr && by->getValue().isSignedIntN(32)) return add(operand(0), factor * by->getSExtValue(), depth + 1);
    // The first thread, or the last, has no neighbour.
    if (const auto* bounded = llvm::dyn_cast<llvm::IntrinsicInst>(operation); bounded != nullptr && llvm::isa<llvm::ConstantInt>(bounded->getOperand(1))) {
      switch (bounded->getIntrinsicID()) {
        case llvm::Intrinsic::usub_sat:
          add(operand(1), -factor, depth + 1);
          [[fallthrough]];
        case llvm::Intrinsic::umin:
        case llvm::Intrinsic::umax:
        case llvm::Intrinsic::smin:
        case llvm::Intrinsic::smax:
          return add(operand(0), factor, depth + 1);
        default:
          break;
      }
    }
  }
  const auto known = llvm::find_if(terms, [&](const auto& term) { return term.first == value; });
  if (known == terms.end()) {
    terms.emplace_back(value, factor);
  } else if ((known->second += factor) == 0) {
    terms.erase(known);
  }
}

void Sum::addPointer(const llvm::Value* pointer, std::int64_t factor, const llvm::DataLayout& layout) {
  while (const auto* moved = llvm::dyn_cast<llvm::GetElementPtrInst>(pointer)) {
    if (moved->getNumIndices() != 1) break;
    add(moved->getOperand(1), factor * static_cast<std::int64_t>(layout.getTypeAllocSize(moved->getSourceElementType()).getFixedValue()));
    pointer = moved->getPointerOperand();
  }
  if (const auto* const number = llvm::dyn_cast<llvm::IntToPtrInst>(pointer)) return add(number->getOperand(0), factor);
  // All of shared memory has one beginning, however often it was asked for.
  if (!llvm::isa<llvm::LoadInst>(pointer)) add(pointer, factor);
}

Sum difference(const llvm::Value* to, const llvm::Value* from, const llvm::DataLayout& layout) {
  Sum sum;
  sum.addPointer(to, 1, layout);
  sum.addPointer(from, -1, layout);
  return sum;
}

llvm::SmallVector<Sum, 4> waysOf(const Sum& sum) {
  llvm::SmallVector<Sum, 4> ways;
  for (const auto& [value, factor] : sum.terms) {
    const auto* const choice = llvm::dyn_cast<llvm::SelectInst>(value);
    if (choice == nullptr) continue;
    for (const llvm::Value* arm : {choice->getTrueValue(), choice->getFalseValue()}) {
      Sum way = sum;
      llvm::erase_if(way.terms, [&](const auto& term) { return term.first == choice; });
      way.add(arm, factor);
      ways.push_back(std::move(way));
    }
    return ways;
  }
  ways.push_back(sum);
  return ways;
}

}  // namespace rouse::cpu::codegen
