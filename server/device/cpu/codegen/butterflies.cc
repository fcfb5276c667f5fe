#include "server/device/cpu/codegen/butterflies.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>

#include "server/device/cpu/codegen/lane_shapes.h"
#include "server/device/cpu/codegen/warp_calls.h"

namespace rouse::cpu::codegen {
namespace {

using namespace llvm::PatternMatch;

constexpr unsigned kAllBits = kWarp - 1;

// The exchange that a value is the result of, among all lanes of a warp; else null.
const llvm::CallInst* butterfly(const llvm::Value* value) {
  const auto* const call = llvm::dyn_cast<llvm::CallInst>(value);
  if (call == nullptr || warpOperation(*call) != WarpCall::shuffle || !isOfWholeWarp(*call)) return nullptr;
  const auto is = [&](unsigned argument, std::uint64_t number) {
    const auto* const constant = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(argument));
    return constant != nullptr && constant->getZExtValue() == number;
  };
  return is(1, 2) && is(4, kAllBits) && llvm::isa<llvm::ConstantInt>(call->getArgOperand(3)) ? call : nullptr;
}

unsigned stepOf(const llvm::CallInst& exchange) {
  return static_cast<unsigned>(llvm::cast<llvm::ConstantInt>(exchange.getArgOperand(3))->getZExtValue()) & kAllBits;
}

const llvm::Value* withoutCasts(const llvm::Value* value) {
  while (const auto* cast = llvm::dyn_cast<llvm::BitCastInst>(value)) value = cast->getOperand(0);
  return value;
}

// The exchange that has given a word.
const llvm::CallInst* wordFrom(const llvm::Value* value) {
  llvm::Value* call = nullptr;
  return match(value, m_Trunc(m_Value(call))) ? butterfly(call) : nullptr;
}

// The same, where that word is the lower or (`upper`) the upper half of 64 bits, and the other half nothing.
const llvm::CallInst* halfFrom(const llvm::Value* value, bool upper) {
  llvm::Value *word = nullptr, *call = nullptr;
  if (upper) {
    if (!match(value, m_Shl(m_Value(word), m_SpecificInt(32)))) return nullptr;
    if (const llvm::CallInst* exchange = butterfly(word)) return exchange;
    value = word;
  }
  if (match(value, m_And(m_Value(call), m_SpecificInt(0xffffffff)))) return butterfly(call);
  return match(value, m_ZExt(m_Value(word))) ? wordFrom(word) : nullptr;
}

// Whether `value` is what the lane has got of another's `own`; by which step.
std::optional<unsigned> exchanged(const llvm::Value* own, const llvm::Value* value) {
  own = withoutCasts(own);
  value = withoutCasts(value);
  if (const llvm::CallInst* exchange = wordFrom(value)) {
    return withoutCasts(exchange->getArgOperand(2)) == own ? std::optional(stepOf(*exchange)) : std::nullopt;
  }
  const auto* const both = llvm::dyn_cast<llvm::BinaryOperator>(value);
  if (both == nullptr || !value->getType()->isIntegerTy(64) || both->getOpcode() != llvm::Instruction::Or) return std::nullopt;
  for (const unsigned first : {0u, 1u}) {
    const llvm::CallInst *const upper = halfFrom(both->getOperand(first), true), *const lower = halfFrom(both->getOperand(1 - first), false);
    if (upper == nullptr || lower == nullptr || stepOf(*upper) != stepOf(*lower)) continue;
    llvm::Value *high = nullptr, *low = nullptr;
    if (!match(upper->getArgOperand(2), m_Trunc(m_LShr(m_Value(high), m_SpecificInt(32)))) || !match(lower->getArgOperand(2), m_Trunc(m_Value(low)))) continue;
    if (withoutCasts(high) == own && withoutCasts(low) == own) return stepOf(*upper);
  }
  return std::nullopt;
}

// Whether it is of two operands, and the same to the bit the other way round. Of sums of floats not where both are NaN: one of them comes out.
bool isSymmetric(const llvm::Instruction& instruction) {
  const auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  if (!instruction.isCommutative() || (call == nullptr ? instruction.getNumOperands() : call->arg_size()) != 2) return false;
  const llvm::SimplifyQuery query(instruction.getModule()->getDataLayout());
  const auto isNumber = [&](const llvm::Value* value) { return !value->getType()->isFloatingPointTy() || llvm::isKnownNeverNaN(value, 0, query); };
  return isNumber(instruction.getOperand(0)) || isNumber(instruction.getOperand(1));
}

// What a lane makes of its operands alone.
bool isOfOperands(const llvm::Instruction& instruction) {
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) return llvm::isa<llvm::IntrinsicInst>(call) && !call->mayReadOrWriteMemory();
  return llvm::isa<llvm::BinaryOperator, llvm::UnaryOperator, llvm::CastInst, llvm::CmpInst, llvm::SelectInst>(instruction);
}

}  // namespace

Butterflies::Butterflies(const llvm::Function& function) {
  for (const llvm::Instruction& instruction : llvm::instructions(function)) any_ |= butterfly(&instruction) != nullptr;
}

unsigned Butterflies::alike(const llvm::Instruction& instruction, unsigned all, llvm::function_ref<bool(const llvm::Value*)> isUniform,
                            llvm::function_ref<bool(const llvm::BasicBlock*)> isConverged) {
  const auto [known, isNew] = known_.try_emplace(&instruction, 0);
  if (!isNew) return known->second;
  if (!isConverged(instruction.getParent())) return 0;
  const auto of = [&](const llvm::Value* operand) {
    if (isUniform(operand)) return all;
    const auto* const made = llvm::dyn_cast<llvm::Instruction>(operand);
    return made == nullptr ? 0 : alike(*made, all, isUniform, isConverged);
  };
  unsigned bits = 0;
  if (const llvm::CallInst* exchange = butterfly(&instruction)) {
    bits = of(exchange->getArgOperand(2));
  } else if (isOfOperands(instruction)) {
    bits = all;
    for (const llvm::Value* operand : instruction.operands()) {
      if (!llvm::isa<llvm::Function>(operand)) bits &= of(operand);
    }
    for (const unsigned own : {0u, 1u}) {
      if (!isSymmetric(instruction)) break;
      const auto step = exchanged(instruction.getOperand(own), instruction.getOperand(1 - own));
      if (step && llvm::isPowerOf2_32(*step)) bits |= *step & all;
    }
  }
  known_[&instruction] = bits;
  return bits;
}

}  // namespace rouse::cpu::codegen
