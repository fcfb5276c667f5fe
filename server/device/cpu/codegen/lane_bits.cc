// Which bits of numbers the lanes of a warp may differ in, and which are zero: how programs name warps (`tid / 32 * 16`, `tid & ~31`), and lanes (`tid << 2 & 124`).
#include <llvm/IR/Operator.h>

#include "server/device/cpu/codegen/context_fields.h"
#include "server/device/cpu/codegen/lane_shapes.h"
#include "server/device/cpu/codegen/warp_calls.h"

namespace rouse::cpu::codegen {
namespace {

constexpr unsigned kDeepestOperation = 6;  // of operations that are looked into

}  // namespace

// How many of its lowest bits are zero, at least. The width of a block of rows of whole warps is a multiple of kWarp.
unsigned LaneShapes::trailingZeros(const llvm::Value* value, unsigned depth) const {
  const unsigned bits = value->getType()->getScalarSizeInBits();
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value)) return constant->getValue().countr_zero();
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(value)) {
    return beside_ == Beside::rows && load->getType()->isIntegerTy(32) && blockField(load->getPointerOperand(), function_) == offsetof(BlockContext, ntid) ? kWarpBits : 0;
  }
  const auto* const operation = llvm::dyn_cast<llvm::Instruction>(value);
  if (operation == nullptr || depth == kDeepestOperation) return 0;
  const auto of = [&](unsigned operand) { return trailingZeros(operation->getOperand(operand), depth + 1); };
  switch (operation->getOpcode()) {
    case llvm::Instruction::ZExt:
    case llvm::Instruction::SExt:
    case llvm::Instruction::Trunc:
      return std::min(of(0), bits);
    case llvm::Instruction::Mul:
      return std::min(of(0) + of(1), bits);
    case llvm::Instruction::Shl: {
      const auto* const by = llvm::dyn_cast<llvm::ConstantInt>(operation->getOperand(1));
      return by != nullptr && by->getValue().ult(bits) ? std::min(of(0) + static_cast<unsigned>(by->getZExtValue()), bits) : of(0);
    }
    case llvm::Instruction::And:
      return std::max(of(0), of(1));
    case llvm::Instruction::Add:
    case llvm::Instruction::Sub:
    case llvm::Instruction::Or:
      return std::min(of(0), of(1));
    default:
      return 0;
  }
}

// Of a warp's first lane a multiple of kWarp, and one more from lane to lane.
bool LaneShapes::isThreadNumber(const llvm::Value* value, unsigned depth) const {
  if (!areOfWarp(beside_) || !value->getType()->isIntegerTy(32)) return false;
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(value)) {
    const auto field = threadField(load->getPointerOperand());
    return field == offsetof(ThreadContext, tid) || field == offsetof(ThreadContext, linear) || field == offsetof(ThreadContext, lane);
  }
  const auto* const sum = llvm::dyn_cast<llvm::BinaryOperator>(value);
  if (sum == nullptr || depth == kDeepestOperation) return false;
  const auto* const either = llvm::dyn_cast<llvm::PossiblyDisjointInst>(sum);
  if (sum->getOpcode() != llvm::Instruction::Add && (either == nullptr || !either->isDisjoint())) return false;
  const llvm::Value *const x = sum->getOperand(0), *const y = sum->getOperand(1);
  const auto isFirst = [&](const llvm::Value* number) { return of(number).isUniform() && trailingZeros(number) >= kWarpBits; };
  return (isThreadNumber(x, depth + 1) && isFirst(y)) || (isFirst(x) && isThreadNumber(y, depth + 1));
}

// The bits in which those that are taken together may differ.
std::uint64_t LaneShapes::differing(const llvm::Value* value, unsigned depth) const {
  constexpr std::uint64_t kAny = ~std::uint64_t{0};
  if (of(value).isUniform()) return 0;
  if (isThreadNumber(value)) return together_ - 1;
  const auto* const operation = llvm::dyn_cast<llvm::Instruction>(value);
  return operation == nullptr || depth == kDeepestOperation ? kAny : differingOf(*operation, depth + 1);
}

// The same of a result, from its operands: a thread's number moved and masked is how programs name warps, `tid / 32 * 16` among them.
std::uint64_t LaneShapes::differingOf(const llvm::Instruction& operation, unsigned depth) const {
  constexpr std::uint64_t kAny = ~std::uint64_t{0};
  const unsigned bits = operation.getType()->getScalarSizeInBits();
  if (!areOfWarp(beside_) || !operation.getType()->isIntegerTy() || bits > 64) return kAny;
  const std::uint64_t all = llvm::maskTrailingOnes<std::uint64_t>(bits);
  const auto ofOperand = [&](unsigned operand) { return differing(operation.getOperand(operand), depth); };
  const auto* const constant = operation.getNumOperands() == 2 ? llvm::dyn_cast<llvm::ConstantInt>(operation.getOperand(1)) : nullptr;
  const bool isShift = constant != nullptr && constant->getValue().ult(bits);
  switch (operation.getOpcode()) {
    case llvm::Instruction::ZExt:
      return ofOperand(0) & llvm::maskTrailingOnes<std::uint64_t>(operation.getOperand(0)->getType()->getScalarSizeInBits());
    case llvm::Instruction::Trunc:
      return ofOperand(0) & all;
    case llvm::Instruction::And:
      return constant != nullptr ? ofOperand(0) & constant->getZExtValue() : (ofOperand(0) | ofOperand(1)) & all;
    case llvm::Instruction::Or:
      // The last lane's place, of a row: `4 * tid | 124`.
      if (constant != nullptr) return ofOperand(0) & all & ~constant->getZExtValue();
      [[fallthrough]];
    case llvm::Instruction::Xor:
      return (ofOperand(0) | ofOperand(1)) & all;
    case llvm::Instruction::Shl:
      return isShift ? (ofOperand(0) << constant->getZExtValue()) & all : kAny;
    case llvm::Instruction::LShr:
      return isShift ? (ofOperand(0) & all) >> constant->getZExtValue() : kAny;
    case llvm::Instruction::AShr: {
      const std::uint64_t those = ofOperand(0) & all;
      return isShift && those >> (bits - 1) == 0 ? those >> constant->getZExtValue() : kAny;
    }
    case llvm::Instruction::Add: {
      // What is the same for all changes no bit of theirs, and none is carried out of those.
      for (const unsigned operand : {0u, 1u}) {
        const std::uint64_t those = ofOperand(operand) & all;
        const llvm::Value* const other = operation.getOperand(1 - operand);
        if (of(other).isUniform() && trailingZeros(other) >= static_cast<unsigned>(llvm::bit_width(those))) return those;
      }
      return kAny;
    }
    default:
      return kAny;
  }
}

// As programs name the lanes of a part of their own: `0xff << (lane & 24)` (cooperative groups' tiles), what they have voted among those.
unsigned LaneShapes::partNamed(const llvm::Value* mask, unsigned depth) const {
  const auto of = [&](const llvm::Value* value) { return partNamed(value, depth + 1); };
  // One lane alone has nobody to exchange with: who names it means to get what it has.
  const auto lanesIn = [](const llvm::ConstantInt& lowest) { return static_cast<unsigned>(llvm::PowerOf2Ceil(std::max(2u, lowest.getValue().getActiveBits()))); };
  // A mask that does not name the lane itself is the program's mistake.
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(mask)) return lanesIn(*constant);
  const auto* const operation = llvm::dyn_cast<llvm::Instruction>(mask);
  if (operation == nullptr || depth == kDeepestOperation || !operation->getType()->isIntegerTy()) return kWarp;
  switch (operation->getOpcode()) {
    case llvm::Instruction::Shl: {
      const auto* const lowest = llvm::dyn_cast<llvm::ConstantInt>(operation->getOperand(0));
      const auto* const by = llvm::dyn_cast<llvm::BinaryOperator>(operation->getOperand(1));
      if (lowest == nullptr || by == nullptr || by->getOpcode() != llvm::Instruction::And || !isThreadNumber(by->getOperand(0))) return kWarp;
      const auto* const kept = llvm::dyn_cast<llvm::ConstantInt>(by->getOperand(1));
      const unsigned lanes = lanesIn(*lowest);
      return kept != nullptr && (kept->getZExtValue() & (kWarp - 1)) == kWarp - lanes ? lanes : kWarp;
    }
    case llvm::Instruction::And:
      return std::min(of(operation->getOperand(0)), of(operation->getOperand(1)));
    case llvm::Instruction::Or:
      return std::max(of(operation->getOperand(0)), of(operation->getOperand(1)));
    case llvm::Instruction::Select:
      return std::max(of(operation->getOperand(1)), of(operation->getOperand(2)));
    case llvm::Instruction::Freeze:
    case llvm::Instruction::Trunc:
      return of(operation->getOperand(0));
    case llvm::Instruction::Call: {
      const auto& call = llvm::cast<llvm::CallInst>(*operation);
      const auto what = warpOperation(call);
      return what == WarpCall::vote || what == WarpCall::match ? of(memberMask(call)) : kWarp;
    }
    default:
      return kWarp;
  }
}

}  // namespace rouse::cpu::codegen
