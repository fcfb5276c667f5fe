// Integer division of vectors, for which processors have no instruction: by way of doubles. LLVM makes it lane by lane.
#include "server/device/cpu/codegen/lane_emitter.h"

namespace rouse::cpu::codegen {
namespace {

struct Divided {
  llvm::Value *quotient, *remainder;
};

class Division {
 public:
  explicit Division(llvm::IRBuilder<>& builder) : b(builder) {}

  // Of words and less. A quotient of two such is further from the next integer than a double is from what it stands for.
  Divided ofWords(llvm::Value* x, llvm::Value* y, bool isSigned) {
    llvm::Type* const type = x->getType();
    llvm::Type* const doubles = llvm::VectorType::get(b.getDoubleTy(), llvm::cast<llvm::VectorType>(type)->getElementCount());
    const auto wide = [&](llvm::Value* value) { return isSigned ? b.CreateSIToFP(value, doubles) : b.CreateUIToFP(value, doubles); };
    llvm::Value* const exact = b.CreateFDiv(wide(x), wide(y));
    llvm::Value* const quotient = isSigned ? b.CreateFPToSI(exact, type) : b.CreateFPToUI(exact, type);
    return {quotient, b.CreateSub(x, b.CreateMul(quotient, y))};
  }

  // Of 64 bits, unsigned: twice by an inverse that is too small by 2^-49, and never too large: what is left after the first time is below 2^17 times the divisor, and after the second below twice.
  Divided ofDoubleWords(llvm::Value* x, llvm::Value* y) {
    llvm::Type* const type = x->getType();
    llvm::Type* const doubles = llvm::VectorType::get(b.getDoubleTy(), llvm::cast<llvm::VectorType>(type)->getElementCount());
    llvm::Value* const inverse = b.CreateFDiv(llvm::ConstantFP::get(doubles, 1 - 0x1p-49), b.CreateUIToFP(y, doubles));
    llvm::Value* quotient = nullptr;
    llvm::Value* left = x;
    for (unsigned time = 0; time < 2; ++time) {
      llvm::Value* const part = b.CreateFPToUI(b.CreateFMul(b.CreateUIToFP(left, doubles), inverse), type);
      quotient = quotient == nullptr ? part : b.CreateAdd(quotient, part);
      left = b.CreateSub(left, b.CreateMul(part, y));
    }
    llvm::Value* const once = b.CreateICmpUGE(left, y);
    return {b.CreateSelect(once, b.CreateAdd(quotient, llvm::ConstantInt::get(type, 1)), quotient), b.CreateSelect(once, b.CreateSub(left, y), left)};
  }

  // The quotient is truncated, the remainder has the sign of the dividend.
  Divided ofSignedDoubleWords(llvm::Value* x, llvm::Value* y) {
    llvm::Value* const zero = llvm::Constant::getNullValue(x->getType());
    const auto magnitude = [&](llvm::Value* value) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, value, b.getFalse()); };
    const auto negatedIf = [&](llvm::Value* condition, llvm::Value* value) { return b.CreateSelect(condition, b.CreateNeg(value), value); };
    const Divided all = ofDoubleWords(magnitude(x), magnitude(y));
    llvm::Value* const isNegative = b.CreateICmpSLT(x, zero);
    return {negatedIf(b.CreateXor(isNegative, b.CreateICmpSLT(y, zero)), all.quotient), negatedIf(isNegative, all.remainder)};
  }

 private:
  llvm::IRBuilder<>& b;
};

}  // namespace

// No lane divides by zero, nor the least number by -1. Null where LLVM does it as well: by constants it multiplies.
llvm::Value* LaneEmitter::divided(const llvm::BinaryOperator& operation, llvm::Value* x, llvm::Value* y) {
  const unsigned bits = operation.getType()->getScalarSizeInBits();
  if (llvm::isa<llvm::Constant>(operation.getOperand(1)) || !(bits == 8 || bits == 16 || bits == 32 || (bits == 64 && hasMasks_))) return nullptr;
  const auto opcode = operation.getOpcode();
  const bool isSigned = opcode == llvm::Instruction::SDiv || opcode == llvm::Instruction::SRem;
  Division division(b);
  const Divided all = bits < 64 ? division.ofWords(x, y, isSigned) : isSigned ? division.ofSignedDoubleWords(x, y) : division.ofDoubleWords(x, y);
  return opcode == llvm::Instruction::SDiv || opcode == llvm::Instruction::UDiv ? all.quotient : all.remainder;
}

}  // namespace rouse::cpu::codegen
