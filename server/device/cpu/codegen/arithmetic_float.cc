// Floating-point arithmetic (PTX ISA, "Floating-Point Instructions" and "Half Precision Floating-Point Instructions").
// Nothing is contracted: a * b + c rounds twice unless the instruction is fma.
#include "server/device/cpu/codegen/directed_rounding.h"
#include "server/device/cpu/codegen/families.h"
#include "server/device/cpu/codegen/floating_point.h"

namespace rouse::cpu::codegen {
namespace {

using ptx::Opcode;

llvm::Value* fused(Emitter& e, llvm::Value* x, llvm::Value* y, llvm::Value* z) {
  return e.b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
}

llvm::Value* operate(Emitter& e, Opcode opcode, llvm::Value* x, llvm::Value* y, llvm::Value* z) {
  switch (opcode) {
    case Opcode::add:
      return e.b.CreateFAdd(x, y);
    case Opcode::sub:
      return e.b.CreateFSub(x, y);
    case Opcode::mul:
      return e.b.CreateFMul(x, y);
    case Opcode::div:
      return e.b.CreateFDiv(x, y);
    default:
      return fused(e, x, y, z);
  }
}

// Single precision with a direction: in double, where products are exact and sums, quotients are made odd.
llvm::Value* directed(Emitter& e, Opcode opcode, llvm::Value* x, llvm::Value* y, llvm::Value* z, Rounding rounding) {
  const auto wide = [&](llvm::Value* value) { return e.b.CreateFPExt(value, e.b.getDoubleTy()); };
  llvm::Value* const a = wide(x);
  llvm::Value* b = wide(y);
  llvm::Value* exact = nullptr;
  const auto sum = [&](llvm::Value* left, llvm::Value* right) {
    llvm::Value* const made = addToOdd(e, left, right);
    return rounding == Rounding::down ? signZeroSum(e, made, left, right) : made;
  };
  switch (opcode) {
    case Opcode::add:
      exact = sum(a, b);
      break;
    case Opcode::sub:
      exact = sum(a, e.b.CreateFNeg(b));
      break;
    case Opcode::mul:
      exact = e.b.CreateFMul(a, b);
      break;
    case Opcode::div:
      exact = divideToOdd(e, a, b);
      break;
    default:
      exact = sum(e.b.CreateFMul(a, b), wide(z));
      break;
  }
  return shorten(e, exact, rounding);
}

// Half and bfloat: products are exact in the wider type; the sum of a fused operation is made odd before it is
// narrowed.
llvm::Value* fusedHalf(Emitter& e, llvm::Value* x, llvm::Value* y, llvm::Value* z, Type type) {
  llvm::Value *a = widen(e, x, type), *b = widen(e, y, type), *c = widen(e, z, type);
  if (type == Type::f16 || type == Type::f16x2) return addToOdd(e, e.b.CreateFMul(a, b), c);
  // A product of two bfloats may leave float's range of exponents, not double's.
  llvm::Type* wide = e.b.getDoubleTy();
  if (type == Type::bf16x2) wide = llvm::FixedVectorType::get(wide, 2);
  a = e.b.CreateFPExt(a, wide);
  b = e.b.CreateFPExt(b, wide);
  c = e.b.CreateFPExt(c, wide);
  return shortenToOdd(e, addToOdd(e, e.b.CreateFMul(a, b), c));
}

}  // namespace

void lowerFloatArithmetic(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  const bool ftz = i.has(Modifier::ftz);
  const bool isFused = i.opcode == Opcode::fma || i.opcode == Opcode::mad;
  const auto operand = [&](std::size_t index) {
    llvm::Value* const value = e.read(i.operands[index], type);
    return ftz ? flush(e, value) : value;
  };
  llvm::Value* const x = operand(1);
  llvm::Value* const y = operand(2);
  llvm::Value* const z = isFused ? operand(3) : nullptr;
  const Rounding rounding = roundingOf(i);
  llvm::Value* result = nullptr;
  if (isHalfLike(type)) {
    llvm::Value* const wide =
        isFused ? fusedHalf(e, x, y, z, type) : operate(e, i.opcode, widen(e, x, type), widen(e, y, type), nullptr);
    // Saturation and rectification commute with rounding.
    llvm::Value* const bounded = i.has(Modifier::sat)    ? saturate(e, wide)
                                 : i.has(Modifier::relu) ? rectify(e, wide)
                                                         : wide;
    result = narrow(e, bounded, type);
    return e.write(i.operands[0], type, ftz ? flush(e, result) : result);
  }
  if (rounding == Rounding::nearest) {
    result = operate(e, i.opcode, x, y, z);
  } else if (type == Type::f32) {
    result = directed(e, i.opcode, x, y, z, rounding);
  } else {
    result = directedDouble(e, i.opcode, x, y, z, rounding);
  }
  if (ftz) result = flush(e, result);
  if (i.has(Modifier::sat)) result = saturate(e, result);
  e.write(i.operands[0], type, result);
}

// The sign bit alone changes, of NaN too.
void lowerFloatUnary(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  const bool isNeg = i.opcode == Opcode::neg;
  if (type == Type::bf16 || type == Type::bf16x2) {
    llvm::Value* const value = e.read(i.operands[1], type);
    llvm::Constant* const sign = bitsConstant(e, value->getType(), 0x8000);
    return e.write(
        i.operands[0], type,
        isNeg ? e.b.CreateXor(value, sign) : e.b.CreateAnd(value, bitsConstant(e, value->getType(), 0x7fff)));
  }
  llvm::Value* value = e.read(i.operands[1], type);
  if (i.has(Modifier::ftz)) value = flush(e, value);
  e.write(i.operands[0], type, isNeg ? e.b.CreateFNeg(value) : e.b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value));
}

void lowerFloatMinMax(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  const bool isMin = i.opcode == Opcode::min;
  const auto operand = [&](std::size_t index) {
    llvm::Value* value = e.read(i.operands[index], type);
    if (i.has(Modifier::ftz)) value = flush(e, value);
    return isHalfLike(type) ? widen(e, value, type) : value;
  };
  llvm::Value* x = operand(1);
  llvm::Value* y = operand(2);
  llvm::Value* sign = nullptr;
  if (i.has(Modifier::xorsign)) {
    llvm::Type* const integers = bitsType(e, x->getType());
    sign =
        e.b.CreateBitCast(e.b.CreateXor(e.b.CreateBitCast(x, integers), e.b.CreateBitCast(y, integers)), x->getType());
  }
  if (i.has(Modifier::abs) || sign != nullptr) {
    x = e.b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
    y = e.b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, y);
  }
  llvm::Value* result = minMax(e, x, y, isMin, i.has(Modifier::nan));
  if (sign != nullptr) {
    llvm::Value* const isNumber = e.b.CreateFCmpORD(result, result);
    result = e.b.CreateSelect(isNumber, e.b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, result, sign), result);
  }
  e.write(i.operands[0], type, isHalfLike(type) ? narrow(e, result, type) : result);
}

}  // namespace rouse::cpu::codegen
