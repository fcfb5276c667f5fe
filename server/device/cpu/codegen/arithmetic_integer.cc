// Integer arithmetic (PTX ISA, "Integer Arithmetic Instructions").
#include "server/device/cpu/codegen/families.h"

namespace rouse::cpu::codegen {
namespace {

using ptx::Opcode;

// Types are wide enough for mul.wide and for the high half of a product.
llvm::Value* extend(Emitter& e, llvm::Value* value, Type type, std::uint32_t bits) {
  return ptx::isSigned(type) ? e.b.CreateSExt(value, e.bits(bits)) : e.b.CreateZExt(value, e.bits(bits));
}

}  // namespace

void lowerIntegerAddSub(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  llvm::Value* const x = e.read(i.operands[1], type);
  llvm::Value* const y = e.read(i.operands[2], type);
  const bool add = i.opcode == Opcode::add;
  llvm::Value* result = nullptr;
  if (i.has(Modifier::sat)) {
    result = e.b.CreateBinaryIntrinsic(add ? llvm::Intrinsic::sadd_sat : llvm::Intrinsic::ssub_sat, x, y);
  } else {
    result = add ? e.b.CreateAdd(x, y) : e.b.CreateSub(x, y);
  }
  e.write(i.operands[0], type, result);
}

void lowerIntegerMultiply(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  const std::uint32_t bits = ptx::bitsOf(type);
  llvm::Value* const x = e.read(i.operands[1], type);
  llvm::Value* const y = e.read(i.operands[2], type);
  const bool isMad = i.opcode == Opcode::mad;
  if (i.has(Modifier::lo)) {
    llvm::Value* result = e.b.CreateMul(x, y);
    if (isMad) result = e.b.CreateAdd(result, e.read(i.operands[3], type));
    return e.write(i.operands[0], type, result);
  }
  llvm::Value* const product = e.b.CreateMul(extend(e, x, type, bits * 2), extend(e, y, type, bits * 2));
  if (i.has(Modifier::wide)) {
    const Type wide =
        bits == 16 ? (ptx::isSigned(type) ? Type::s32 : Type::u32) : (ptx::isSigned(type) ? Type::s64 : Type::u64);
    llvm::Value* result = product;
    if (isMad) result = e.b.CreateAdd(result, e.read(i.operands[3], wide));
    return e.write(i.operands[0], wide, result);
  }
  llvm::Value* result = e.b.CreateTrunc(e.b.CreateLShr(product, bits), e.bits(bits));
  if (isMad) {
    llvm::Value* const addend = e.read(i.operands[3], type);
    result = i.has(Modifier::sat) ? e.b.CreateBinaryIntrinsic(llvm::Intrinsic::sadd_sat, result, addend)
                                  : e.b.CreateAdd(result, addend);
  }
  e.write(i.operands[0], type, result);
}

// The 48-bit product of the low 24 bits; .lo its low 32 bits, .hi bits 16 to 47.
void lowerMultiply24(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  const auto low24 = [&](llvm::Value* value) {
    llvm::Value* const shifted = e.b.CreateShl(value, 8);
    llvm::Value* const low = ptx::isSigned(type) ? e.b.CreateAShr(shifted, 8) : e.b.CreateLShr(shifted, 8);
    return extend(e, low, type, 64);
  };
  llvm::Value* const product = e.b.CreateMul(low24(e.read(i.operands[1], type)), low24(e.read(i.operands[2], type)));
  llvm::Value* result = e.b.CreateTrunc(i.has(Modifier::hi) ? e.b.CreateLShr(product, 16) : product, e.bits(32));
  if (i.opcode == Opcode::mad24) {
    llvm::Value* const addend = e.read(i.operands[3], type);
    result = i.has(Modifier::sat) ? e.b.CreateBinaryIntrinsic(llvm::Intrinsic::sadd_sat, result, addend)
                                  : e.b.CreateAdd(result, addend);
  }
  e.write(i.operands[0], type, result);
}

// What the ISA leaves open, as NVIDIA's GPUs do it: quotient and remainder of a division by zero are all ones, whatever
// the dividend, and the most negative number divided by -1 is itself, without remainder. On the CPU both would trap.
void lowerIntegerDivide(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  const std::uint32_t bits = ptx::bitsOf(type);
  llvm::Value* const x = e.read(i.operands[1], type);
  llvm::Value* const y = e.read(i.operands[2], type);
  llvm::Value* const zero = e.integer(bits, 0);
  llvm::Value* const one = e.integer(bits, 1);
  llvm::Value* const byZero = e.b.CreateICmpEQ(y, zero);
  const bool isDiv = i.opcode == Opcode::div;
  llvm::Value* result = nullptr;
  if (ptx::isSigned(type)) {
    llvm::Value* const byMinusOne = e.b.CreateICmpEQ(y, llvm::Constant::getAllOnesValue(y->getType()));
    llvm::Value* const divisor = e.b.CreateSelect(e.b.CreateOr(byZero, byMinusOne), one, y);
    result = isDiv ? e.b.CreateSDiv(x, divisor) : e.b.CreateSRem(x, divisor);
    if (isDiv) result = e.b.CreateSelect(byMinusOne, e.b.CreateNeg(x), result);
  } else {
    llvm::Value* const divisor = e.b.CreateSelect(byZero, one, y);
    result = isDiv ? e.b.CreateUDiv(x, divisor) : e.b.CreateURem(x, divisor);
  }
  e.write(i.operands[0], type, e.b.CreateSelect(byZero, llvm::Constant::getAllOnesValue(x->getType()), result));
}

void lowerIntegerMinMax(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  const bool isSigned = ptx::isSigned(type) || type == Type::s16x2;
  const bool isMin = i.opcode == Opcode::min;
  const auto operation = isSigned ? (isMin ? llvm::Intrinsic::smin : llvm::Intrinsic::smax)
                                  : (isMin ? llvm::Intrinsic::umin : llvm::Intrinsic::umax);
  llvm::Value* result = e.b.CreateBinaryIntrinsic(operation, e.read(i.operands[1], type), e.read(i.operands[2], type));
  if (i.has(Modifier::relu)) {
    result = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, result, llvm::Constant::getNullValue(result->getType()));
  }
  e.write(i.operands[0], type, result);
}

void lowerIntegerUnary(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  llvm::Value* const x = e.read(i.operands[1], type);
  e.write(
      i.operands[0], type,
      i.opcode == Opcode::neg ? e.b.CreateNeg(x) : e.b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, e.b.getFalse()));
}

// c + |a - b|
void lowerSad(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  llvm::Value* const x = e.read(i.operands[1], type);
  llvm::Value* const y = e.read(i.operands[2], type);
  llvm::Value* const less = ptx::isSigned(type) ? e.b.CreateICmpSLT(x, y) : e.b.CreateICmpULT(x, y);
  llvm::Value* const distance = e.b.CreateSelect(less, e.b.CreateSub(y, x), e.b.CreateSub(x, y));
  e.write(i.operands[0], type, e.b.CreateAdd(distance, e.read(i.operands[3], type)));
}

}  // namespace rouse::cpu::codegen
