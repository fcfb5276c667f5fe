// cvt between two scalar types (PTX ISA, "cvt").
#include "server/device/cpu/codegen/families.h"
#include "server/device/cpu/codegen/floating_point.h"

namespace rouse::cpu::codegen {
namespace {

bool roundsToInteger(const Instruction& i) {
  return i.has(Modifier::rni) || i.has(Modifier::rzi) || i.has(Modifier::rmi) || i.has(Modifier::rpi);
}

llvm::Value* roundToInteger(Emitter& e, llvm::Value* value, Rounding rounding) {
  switch (rounding) {
    case Rounding::zero:
      return e.b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, value);
    case Rounding::down:
      return e.b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, value);
    case Rounding::up:
      return e.b.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, value);
    default:
      return e.b.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, value);
  }
}

llvm::Value* integerToInteger(Emitter& e, const Instruction& i, llvm::Value* value) {
  const Type to = i.type(0), from = i.type(1);
  const std::uint32_t toBits = ptx::bitsOf(to), fromBits = ptx::bitsOf(from);
  const auto resize = [&](llvm::Value* v) {
    return ptx::isSigned(from) ? e.b.CreateSExtOrTrunc(v, e.bits(toBits)) : e.b.CreateZExtOrTrunc(v, e.bits(toBits));
  };
  if (!i.has(Modifier::sat)) return resize(value);
  // Clamped in the wider of both types, with one bit more so that signed and unsigned meet.
  const std::uint32_t bits = std::max(toBits, fromBits) + 1;
  llvm::Value* const wide =
      ptx::isSigned(from) ? e.b.CreateSExt(value, e.bits(bits)) : e.b.CreateZExt(value, e.bits(bits));
  const llvm::APInt least =
      ptx::isSigned(to) ? llvm::APInt::getSignedMinValue(toBits).sext(bits) : llvm::APInt(bits, 0);
  const llvm::APInt most = ptx::isSigned(to) ? llvm::APInt::getSignedMaxValue(toBits).sext(bits)
                                             : llvm::APInt::getMaxValue(toBits).zext(bits);
  llvm::Value* const bounded = e.b.CreateBinaryIntrinsic(
      llvm::Intrinsic::smin, e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, wide, e.b.getInt(least)),
      e.b.getInt(most));
  return e.b.CreateTrunc(bounded, e.bits(toBits));
}

// Integers of up to 64 bits, shortened to `precision` significant bits so that the conversion that follows is exact. To
// odd: any bit lost sets the last one kept.
llvm::Value* shortenInteger(Emitter& e, llvm::Value* value, bool isSigned, std::uint32_t precision, Rounding rounding,
                            bool toOdd) {
  llvm::Value* const wide = isSigned ? e.b.CreateSExt(value, e.bits(128)) : e.b.CreateZExt(value, e.bits(128));
  llvm::Value* const isNegative = e.b.CreateICmpSLT(wide, e.integer(128, 0));
  llvm::Value* const size = e.b.CreateSelect(isNegative, e.b.CreateNeg(wide), wide);
  llvm::Value* const zeros = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, size, e.b.getFalse());
  llvm::Value* const used = e.b.CreateSub(e.integer(128, 128), zeros);
  llvm::Value* const excess = e.b.CreateSelect(e.b.CreateICmpUGT(used, e.integer(128, precision)),
                                               e.b.CreateSub(used, e.integer(128, precision)), e.integer(128, 0));
  llvm::Value* kept = e.b.CreateLShr(size, excess);
  llvm::Value* const isInexact = e.b.CreateICmpNE(e.b.CreateShl(kept, excess), size);
  llvm::Value* const one = e.b.CreateZExt(isInexact, e.bits(128));
  if (toOdd) {
    kept = e.b.CreateOr(kept, one);
  } else if (rounding == Rounding::down) {
    kept = e.b.CreateAdd(kept, e.b.CreateSelect(isNegative, one, e.integer(128, 0)));
  } else if (rounding == Rounding::up) {
    kept = e.b.CreateAdd(kept, e.b.CreateSelect(isNegative, e.integer(128, 0), one));
  }
  llvm::Value* const result = e.b.CreateShl(kept, excess);
  return e.b.CreateSelect(isNegative, e.b.CreateNeg(result), result);
}

llvm::Value* toFloating(Emitter& e, llvm::Value* value, bool isSigned, llvm::Type* type) {
  return isSigned ? e.b.CreateSIToFP(value, type) : e.b.CreateUIToFP(value, type);
}

llvm::Value* narrowFrom(Emitter& e, llvm::Value* single, Type to, Rounding rounding);

llvm::Value* integerToFloat(Emitter& e, const Instruction& i, llvm::Value* value) {
  const Type to = i.type(0), from = i.type(1);
  const bool isSigned = ptx::isSigned(from);
  const Rounding rounding = roundingOf(i);
  if (to == Type::f64 || to == Type::f32) {
    if (rounding == Rounding::nearest) return toFloating(e, value, isSigned, e.type(to));
    const std::uint32_t precision = to == Type::f64 ? 53 : 24;
    if (ptx::bitsOf(from) <= precision) return toFloating(e, value, isSigned, e.type(to));
    // 65 bits hold what 64 unsigned ones round up to.
    llvm::Value* const exact = shortenInteger(e, value, isSigned, precision, rounding, false);
    return e.b.CreateSIToFP(e.b.CreateTrunc(exact, e.bits(66)), e.type(to));
  }
  llvm::Value* const odd = ptx::bitsOf(from) <= 16 ? value : shortenInteger(e, value, isSigned, 24, rounding, true);
  llvm::Value* const single = ptx::bitsOf(from) <= 16
                                  ? toFloating(e, value, isSigned, e.b.getFloatTy())
                                  : e.b.CreateSIToFP(e.b.CreateTrunc(odd, e.bits(66)), e.b.getFloatTy());
  return narrowFrom(e, single, to, rounding);
}

// NaN becomes 0 in 32 bits and less unless the source is f64; otherwise the integer whose top bit alone is set (ISA,
// notes at cvt). Values out of range become the nearest one in range.
llvm::Value* floatToInteger(Emitter& e, const Instruction& i, llvm::Value* value) {
  const Type to = i.type(0), from = i.type(1);
  const std::uint32_t bits = ptx::bitsOf(to);
  llvm::Value* const rounded = roundToInteger(e, value, roundingOf(i));
  llvm::Value* result =
      e.b.CreateIntrinsic(ptx::isSigned(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
                          {e.bits(bits), rounded->getType()}, {rounded});
  if (from == Type::f64 || bits == 64) {
    result = e.b.CreateSelect(e.b.CreateFCmpUNO(value, value), e.integer(bits, std::uint64_t{1} << (bits - 1)), result);
  }
  return result;
}

// Float (exact, or made odd) to f16 or bf16.
llvm::Value* narrowFrom(Emitter& e, llvm::Value* single, Type to, Rounding rounding) {
  if (to == Type::bf16) return toBrain(e, single, rounding);
  llvm::Value* const nearest = narrow(e, single, Type::f16);
  if (rounding == Rounding::nearest) return nearest;
  llvm::Value* const back = e.b.CreateFPExt(nearest, single->getType());
  llvm::Value* const tooLarge = e.b.CreateFCmpOGT(back, single);
  llvm::Value* const tooSmall = e.b.CreateFCmpOLT(back, single);
  llvm::Value* up = rounding == Rounding::up ? e.b.getTrue() : e.b.getFalse();
  llvm::Value* correct = rounding == Rounding::up ? tooSmall : tooLarge;
  if (rounding == Rounding::zero) {
    up = e.b.CreateFCmpOLT(single, llvm::ConstantFP::get(single->getType(), 0.0));
    correct = e.b.CreateSelect(up, tooSmall, tooLarge);
  }
  return e.b.CreateSelect(correct, stepToward(e, nearest, up), nearest);
}

llvm::Value* floatToFloat(Emitter& e, const Instruction& i, llvm::Value* value) {
  const Type to = i.type(0), from = i.type(1);
  const Rounding rounding = roundingOf(i);
  if (roundsToInteger(i)) value = roundToInteger(e, value, rounding);
  // `value` is float for the half types, else of the source's own type.
  if (i.has(Modifier::sat)) value = saturate(e, value);
  if (i.has(Modifier::relu)) value = rectify(e, value);
  const Rounding narrowing = roundsToInteger(i) ? Rounding::nearest : rounding;
  switch (to) {
    case Type::f64:
      return from == Type::f64 ? value : e.b.CreateFPExt(value, e.b.getDoubleTy());
    case Type::f32:
      return from == Type::f64 ? shorten(e, value, narrowing) : value;
    default:
      return narrowFrom(e, from == Type::f64 ? shortenToOdd(e, value) : value, to, narrowing);
  }
}

}  // namespace

void lowerConvert(Emitter& e, const Instruction& i) {
  const Type to = i.type(0);
  if (i.operands.size() > 2 || to == Type::tf32 || to == Type::b32 || to == Type::e4m3x2 || to == Type::e5m2x2 ||
      to == Type::f16x2) {
    return lowerPackedConvert(e, i);
  }
  const Type from = i.type(1);
  llvm::Value* value = e.read(i.operands[1], from);
  const bool ftz = i.has(Modifier::ftz);
  if (!ptx::isFloat(from)) {
    llvm::Value* result = ptx::isFloat(to) ? integerToFloat(e, i, value) : integerToInteger(e, i, value);
    if (ptx::isFloat(to) && i.has(Modifier::sat) && (to == Type::f32 || to == Type::f64 || to == Type::f16))
      result = saturate(e, result);
    return e.write(i.operands[0], to, result);
  }
  if (isHalfLike(from)) value = widen(e, value, from);
  if (ftz && from == Type::f32) value = flush(e, value);
  if (!ptx::isFloat(to)) return e.write(i.operands[0], to, floatToInteger(e, i, value));
  llvm::Value* result = floatToFloat(e, i, value);
  if (ftz && to == Type::f32) result = flush(e, result);
  e.write(i.operands[0], to, result);
}

}  // namespace rouse::cpu::codegen
