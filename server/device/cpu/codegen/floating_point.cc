#include "server/device/cpu/codegen/floating_point.h"

namespace rouse::cpu::codegen {
namespace {

std::uint32_t scalarBits(llvm::Value* value) { return value->getType()->getScalarSizeInBits(); }

llvm::Value* magnitude(Emitter& e, llvm::Value* x) { return e.b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }

// Makes a rounded value odd: where the error is not zero and the last bit is 0, one step towards the error.
llvm::Value* makeOdd(Emitter& e, llvm::Value* rounded, llvm::Value* error) {
  llvm::Type* const integers = bitsType(e, rounded->getType());
  llvm::Value* const zero = llvm::Constant::getNullValue(rounded->getType());
  llvm::Value* const last = e.b.CreateAnd(e.b.CreateBitCast(rounded, integers), bitsConstant(e, integers, 1));
  llvm::Value* const isEven = e.b.CreateICmpEQ(last, llvm::Constant::getNullValue(integers));
  llvm::Value* const isInexact = e.b.CreateFCmpONE(error, zero);
  llvm::Value* const stepped = stepToward(e, rounded, e.b.CreateFCmpOGT(error, zero));
  return e.b.CreateSelect(e.b.CreateAnd(isEven, isInexact), stepped, rounded);
}

}  // namespace

Rounding roundingOf(const Instruction& i) {
  if (i.has(Modifier::rz) || i.has(Modifier::rzi)) return Rounding::zero;
  if (i.has(Modifier::rm) || i.has(Modifier::rmi)) return Rounding::down;
  if (i.has(Modifier::rp) || i.has(Modifier::rpi)) return Rounding::up;
  return Rounding::nearest;
}

bool isHalfLike(Type type) {
  return type == Type::f16 || type == Type::bf16 || type == Type::f16x2 || type == Type::bf16x2;
}

llvm::Type* bitsType(Emitter& e, llvm::Type* type) {
  llvm::Type* const scalar = e.bits(type->getScalarSizeInBits());
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
    return llvm::FixedVectorType::get(scalar, vector->getNumElements());
  return scalar;
}

llvm::Constant* bitsConstant(Emitter&, llvm::Type* type, std::uint64_t value) {
  return llvm::ConstantInt::get(type, value);
}

llvm::Value* canonicalNan(Emitter& e, llvm::Type* type) {
  const std::uint32_t width = type->getScalarSizeInBits();
  return e.b.CreateBitCast(bitsConstant(e, bitsType(e, type), ~std::uint64_t{0} >> (65 - width)), type);
}

llvm::Value* widen(Emitter& e, llvm::Value* value, Type type) {
  llvm::Type* single = e.b.getFloatTy();
  llvm::Type* word = e.bits(32);
  if (type == Type::f16x2 || type == Type::bf16x2) {
    single = llvm::FixedVectorType::get(single, 2);
    word = llvm::FixedVectorType::get(word, 2);
  }
  if (type == Type::f16 || type == Type::f16x2) return e.b.CreateFPExt(value, single);
  return e.b.CreateBitCast(e.b.CreateShl(e.b.CreateZExt(value, word), 16), single);
}

llvm::Value* toBrain(Emitter& e, llvm::Value* single, Rounding rounding) {
  llvm::Type* const words = bitsType(e, single->getType());
  const auto number = [&](std::uint64_t value) { return bitsConstant(e, words, value); };
  llvm::Value* const word = e.b.CreateBitCast(single, words);
  llvm::Value* increment = number(0);
  llvm::Value* const isNegative = e.b.CreateICmpSLT(word, number(0));
  if (rounding == Rounding::nearest) {
    increment = e.b.CreateAdd(e.b.CreateAnd(e.b.CreateLShr(word, 16), number(1)), number(0x7fff));
  } else if (rounding != Rounding::zero) {
    increment = e.b.CreateSelect(isNegative, number(rounding == Rounding::down ? 0xffff : 0),
                                 number(rounding == Rounding::up ? 0xffff : 0));
  }
  llvm::Value* const isInfinite = e.b.CreateICmpEQ(e.b.CreateAnd(word, number(0x7fffffff)), number(0x7f800000));
  llvm::Value* rounded = e.b.CreateLShr(e.b.CreateSelect(isInfinite, word, e.b.CreateAdd(word, increment)), 16);
  rounded = e.b.CreateSelect(e.b.CreateFCmpUNO(single, single), number(0x7fff), rounded);
  llvm::Type* narrowType = e.bits(16);
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(words))
    narrowType = llvm::FixedVectorType::get(narrowType, vector->getNumElements());
  return e.b.CreateTrunc(rounded, narrowType);
}

llvm::Value* narrow(Emitter& e, llvm::Value* value, Type type) {
  if (type == Type::bf16 || type == Type::bf16x2) return toBrain(e, value, Rounding::nearest);
  llvm::Type* half = e.b.getHalfTy();
  if (type == Type::f16x2) half = llvm::FixedVectorType::get(half, 2);
  llvm::Value* const narrowed = e.b.CreateFPTrunc(value, half);
  return e.b.CreateSelect(e.b.CreateFCmpUNO(value, value), canonicalNan(e, half), narrowed);
}

llvm::Value* flush(Emitter& e, llvm::Value* value) {
  llvm::Type* const type = value->getType();
  double smallest = 0x1p-126;
  if (scalarBits(value) == 16) smallest = 0x1p-14;
  if (scalarBits(value) == 64) smallest = 0x1p-1022;
  llvm::Value* const isSmall = e.b.CreateFCmpOLT(magnitude(e, value), llvm::ConstantFP::get(type, smallest));
  llvm::Value* const zero =
      e.b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, llvm::ConstantFP::get(type, 0.0), value);
  return e.b.CreateSelect(isSmall, zero, value);
}

llvm::Value* saturate(Emitter& e, llvm::Value* value) {
  llvm::Value* const zero = llvm::ConstantFP::get(value->getType(), 0.0);
  llvm::Value* const one = llvm::ConstantFP::get(value->getType(), 1.0);
  llvm::Value* const positive = e.b.CreateSelect(e.b.CreateFCmpOGT(value, zero), value, zero);
  return e.b.CreateSelect(e.b.CreateFCmpOLT(positive, one), positive, one);
}

llvm::Value* rectify(Emitter& e, llvm::Value* value) {
  llvm::Value* const zero = llvm::ConstantFP::get(value->getType(), 0.0);
  llvm::Value* const positive = e.b.CreateSelect(e.b.CreateFCmpOGT(value, zero), value, zero);
  return e.b.CreateSelect(e.b.CreateFCmpUNO(value, value), canonicalNan(e, value->getType()), positive);
}

llvm::Value* stepToward(Emitter& e, llvm::Value* value, llvm::Value* up) {
  llvm::Type* const integers = bitsType(e, value->getType());
  const std::uint32_t width = integers->getScalarSizeInBits();
  llvm::Value* const bits = e.b.CreateBitCast(value, integers);
  llvm::Value* const zero = llvm::Constant::getNullValue(integers);
  llvm::Value* const isNegative = e.b.CreateICmpSLT(bits, zero);
  // Away from zero if the value's sign is that of the direction. Zero steps to the smallest number of the direction's
  // sign.
  llvm::Value* const away = e.b.CreateXor(isNegative, up);
  llvm::Value* const one = bitsConstant(e, integers, 1);
  llvm::Value* const stepped =
      e.b.CreateAdd(bits, e.b.CreateSelect(away, one, llvm::Constant::getAllOnesValue(integers)));
  llvm::Value* const fromZero =
      e.b.CreateSelect(up, one, bitsConstant(e, integers, (std::uint64_t{1} << (width - 1)) + 1));
  llvm::Value* const isZero = e.b.CreateICmpEQ(e.b.CreateShl(bits, 1), zero);
  return e.b.CreateBitCast(e.b.CreateSelect(isZero, fromZero, stepped), value->getType());
}

std::pair<llvm::Value*, llvm::Value*> sumAndError(Emitter& e, llvm::Value* x, llvm::Value* y) {
  llvm::Value* const sum = e.b.CreateFAdd(x, y);
  llvm::Value* const fromX = e.b.CreateFSub(sum, y);
  llvm::Value* const fromY = e.b.CreateFSub(sum, fromX);
  return {sum, e.b.CreateFAdd(e.b.CreateFSub(x, fromX), e.b.CreateFSub(y, fromY))};
}

llvm::Value* errorOfQuotient(Emitter& e, llvm::Value* quotient, llvm::Value* x, llvm::Value* y) {
  // The remainder has the sign of the error times the divisor's.
  llvm::Value* const remainder = e.b.CreateIntrinsic(llvm::Intrinsic::fma, {quotient->getType()}, {e.b.CreateFNeg(quotient), y, x});
  return e.b.CreateSelect(e.b.CreateFCmpOLT(y, llvm::ConstantFP::get(y->getType(), 0.0)), e.b.CreateFNeg(remainder), remainder);
}

llvm::Value* errorOfRoot(Emitter& e, llvm::Value* root, llvm::Value* x) {
  return e.b.CreateIntrinsic(llvm::Intrinsic::fma, {root->getType()}, {e.b.CreateFNeg(root), root, x});
}

llvm::Value* addToOdd(Emitter& e, llvm::Value* x, llvm::Value* y) {
  const auto [sum, error] = sumAndError(e, x, y);
  return makeOdd(e, sum, error);
}

llvm::Value* divideToOdd(Emitter& e, llvm::Value* x, llvm::Value* y) {
  llvm::Value* const quotient = e.b.CreateFDiv(x, y);
  return makeOdd(e, quotient, errorOfQuotient(e, quotient, x, y));
}

llvm::Value* rootToOdd(Emitter& e, llvm::Value* x) {
  llvm::Value* const root = e.b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
  return makeOdd(e, root, errorOfRoot(e, root, x));
}

llvm::Value* shortenToOdd(Emitter& e, llvm::Value* value) {
  llvm::Type* single = e.b.getFloatTy();
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType()))
    single = llvm::FixedVectorType::get(single, vector->getNumElements());
  llvm::Value* const rounded = e.b.CreateFPTrunc(value, single);
  llvm::Value* const back = e.b.CreateFPExt(rounded, value->getType());
  llvm::Type* const integers = bitsType(e, single);
  llvm::Value* const last = e.b.CreateAnd(e.b.CreateBitCast(rounded, integers), bitsConstant(e, integers, 1));
  llvm::Value* const isEven = e.b.CreateICmpEQ(last, llvm::Constant::getNullValue(integers));
  llvm::Value* const stepped = stepToward(e, rounded, e.b.CreateFCmpOGT(value, back));
  return e.b.CreateSelect(e.b.CreateAnd(isEven, e.b.CreateFCmpONE(back, value)), stepped, rounded);
}

llvm::Value* shorten(Emitter& e, llvm::Value* value, Rounding rounding) {
  llvm::Value* const rounded = e.b.CreateFPTrunc(value, e.b.getFloatTy());
  if (rounding == Rounding::nearest) return rounded;
  llvm::Value* const back = e.b.CreateFPExt(rounded, value->getType());
  llvm::Value* const zero = llvm::ConstantFP::get(value->getType(), 0.0);
  // Which way to correct: down where the result is too large for the mode, up where it is too small.
  llvm::Value* const tooLarge = e.b.CreateFCmpOGT(back, value);
  llvm::Value* const tooSmall = e.b.CreateFCmpOLT(back, value);
  llvm::Value* correct = nullptr;
  llvm::Value* up = nullptr;
  if (rounding == Rounding::down) {
    correct = tooLarge;
    up = e.b.getFalse();
  } else if (rounding == Rounding::up) {
    correct = tooSmall;
    up = e.b.getTrue();
  } else {
    up = e.b.CreateFCmpOLT(value, zero);
    correct = e.b.CreateSelect(up, tooSmall, tooLarge);
  }
  return e.b.CreateSelect(correct, stepToward(e, rounded, up), rounded);
}

llvm::Value* minMax(Emitter& e, llvm::Value* x, llvm::Value* y, bool isMin, bool propagate) {
  llvm::Type* const type = x->getType();
  llvm::Type* const integers = bitsType(e, type);
  llvm::Value* const xBits = e.b.CreateBitCast(x, integers);
  llvm::Value* const yBits = e.b.CreateBitCast(y, integers);
  // Equal numbers have equal bits, but for the sign of zero.
  llvm::Value* const equal = e.b.CreateBitCast(isMin ? e.b.CreateOr(xBits, yBits) : e.b.CreateAnd(xBits, yBits), type);
  llvm::Value* const xNan = e.b.CreateFCmpUNO(x, x);
  llvm::Value* const yNan = e.b.CreateFCmpUNO(y, y);
  llvm::Value* const first = isMin ? e.b.CreateFCmpOLT(x, y) : e.b.CreateFCmpOGT(x, y);
  llvm::Value* result = e.b.CreateSelect(e.b.CreateOr(first, yNan), x, y);
  result = e.b.CreateSelect(e.b.CreateFCmpOEQ(x, y), equal, result);
  llvm::Value* const isNan = propagate ? e.b.CreateOr(xNan, yNan) : e.b.CreateAnd(xNan, yNan);
  return e.b.CreateSelect(isNan, canonicalNan(e, type), result);
}

}  // namespace rouse::cpu::codegen
