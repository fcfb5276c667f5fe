// cvt with packed destinations or sources, tf32, fp8 and cvt.pack.
#include "server/device/cpu/codegen/families.h"
#include "server/device/cpu/codegen/floating_point.h"

namespace rouse::cpu::codegen {
namespace {

// Largest finite values, for .satfinite.
constexpr double kLargestHalf = 65504.0;
constexpr double kLargestBrain = 0x1.fep127;
constexpr double kLargestTensor = 0x1.ffcp127;

llvm::Value* clampFinite(Emitter& e, llvm::Value* value, double largest) {
  llvm::Value* const most = llvm::ConstantFP::get(value->getType(), largest);
  llvm::Value* const least = llvm::ConstantFP::get(value->getType(), -largest);
  value = e.b.CreateSelect(e.b.CreateFCmpOGT(value, most), most, value);
  return e.b.CreateSelect(e.b.CreateFCmpOLT(value, least), least, value);
}

llvm::Value* towardZeroHalf(Emitter& e, llvm::Value* single) {
  llvm::Value* const nearest = narrow(e, single, Type::f16);
  llvm::Value* const back = e.b.CreateFPExt(nearest, single->getType());
  const auto magnitude = [&](llvm::Value* value) { return e.b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value); };
  llvm::Value* const up = e.b.CreateFCmpOLT(single, llvm::ConstantFP::get(single->getType(), 0.0));
  return e.b.CreateSelect(e.b.CreateFCmpOGT(magnitude(back), magnitude(single)), stepToward(e, nearest, up), nearest);
}

// The first source goes to the upper half.
void toPair(Emitter& e, const Instruction& i) {
  const bool brain = i.type(0) == Type::bf16x2;
  const Rounding rounding = roundingOf(i);
  const auto element = [&](const Operand& operand) -> llvm::Value* {
    llvm::Value* value = e.read(operand, Type::f32);
    if (i.has(Modifier::relu)) value = rectify(e, value);
    if (i.has(Modifier::satfinite)) value = clampFinite(e, value, brain ? kLargestBrain : kLargestHalf);
    if (brain) return toBrain(e, value, rounding);
    return e.toBits(rounding == Rounding::zero ? towardZeroHalf(e, value) : narrow(e, value, Type::f16));
  };
  llvm::Value* const high = e.b.CreateZExt(element(i.operands[1]), e.bits(32));
  llvm::Value* const low = e.b.CreateZExt(element(i.operands[2]), e.bits(32));
  e.write(i.operands[0], Type::b32, e.b.CreateOr(e.b.CreateShl(high, 16), low));
}

// tf32 keeps 10 bits of the fraction. rna: to nearest, ties away from zero.
void toTensorFloat(Emitter& e, const Instruction& i) {
  llvm::Value* value = e.read(i.operands[1], Type::f32);
  if (i.has(Modifier::relu)) value = rectify(e, value);
  if (i.has(Modifier::satfinite)) value = clampFinite(e, value, kLargestTensor);
  llvm::Value* const word = e.toBits(value);
  llvm::Value* increment = e.b.getInt32(0);
  if (i.has(Modifier::rna)) increment = e.b.getInt32(0x1000);
  if (i.has(Modifier::rn))
    increment = e.b.CreateAdd(e.b.CreateAnd(e.b.CreateLShr(word, 13), e.b.getInt32(1)), e.b.getInt32(0xfff));
  llvm::Value* const exponent = e.b.CreateAnd(word, e.b.getInt32(0x7f800000));
  llvm::Value* const isFinite = e.b.CreateICmpNE(exponent, e.b.getInt32(0x7f800000));
  llvm::Value* const rounded = e.b.CreateAnd(e.b.CreateAdd(word, increment), e.b.getInt32(0xffffe000));
  llvm::Value* result = e.b.CreateSelect(isFinite, rounded, word);
  result = e.b.CreateSelect(e.b.CreateFCmpUNO(value, value), e.b.getInt32(0x7fffffff), result);
  e.write(i.operands[0], Type::b32, result);
}

// OFP8 (Open Compute Project): E4M3 has no infinity, its largest number is 448; E5M2's is 57344. A number is its sign and seven bits that grow with its size.
struct EightBits {
  std::uint32_t fractionBits, bias, largest;
  std::uint32_t fewer() const { return 23 - fractionBits; }  // bits of a fraction than float has
};
constexpr EightBits kE4m3{3, 7, 0x7e};
constexpr EightBits kE5m2{2, 15, 0x7b};
constexpr std::uint32_t kFloatBias = 127, kFloatFraction = 23, kFloatInfinity = 0x7f800000;

constexpr std::uint32_t powerOfTwo(std::uint32_t exponent) { return (kFloatBias + exponent) << kFloatFraction; }

// To nearest even, at most the largest number. In arithmetic that vectors have.
llvm::Value* toEight(Emitter& e, llvm::Value* value, const EightBits& format) {
  const std::uint32_t rebias = kFloatBias - format.bias;
  llvm::Value* const word = e.toBits(value);
  llvm::Value* const sign = e.b.CreateAnd(e.b.CreateLShr(word, 24), e.b.getInt32(0x80));
  llvm::Value* const size = e.b.CreateAnd(word, e.b.getInt32(0x7fffffff));
  llvm::Value* const most = e.b.getInt32((format.largest << format.fewer()) + (rebias << kFloatFraction));
  llvm::Value* const finite = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, size, most);
  llvm::Value* const even = e.b.CreateAnd(e.b.CreateLShr(finite, format.fewer()), e.b.getInt32(1));
  llvm::Value* const up = e.b.CreateAdd(even, e.b.getInt32((1u << (format.fewer() - 1)) - 1));
  llvm::Value* const normal = e.b.CreateSub(e.b.CreateLShr(e.b.CreateAdd(finite, up), format.fewer()), e.b.getInt32(rebias << format.fractionBits));
  // Below the smallest normal number all are multiples of one unit: what is added makes that the last place of a float.
  llvm::Value* const shift = e.b.getInt32(powerOfTwo(1 - format.bias - format.fractionBits + kFloatFraction));
  llvm::Value* const sum = e.b.CreateFAdd(e.b.CreateBitCast(finite, e.b.getFloatTy()), e.b.CreateBitCast(shift, e.b.getFloatTy()));
  llvm::Value* const units = e.b.CreateSub(e.toBits(sum), shift);
  llvm::Value* const isSmall = e.b.CreateICmpULT(finite, e.b.getInt32(powerOfTwo(1 - format.bias)));
  llvm::Value* const number = e.b.CreateOr(sign, e.b.CreateSelect(isSmall, units, normal));
  return e.b.CreateSelect(e.b.CreateICmpUGT(size, e.b.getInt32(kFloatInfinity)), e.b.getInt32(0x7f), number);
}

// A byte in 32 bits to float, exact.
llvm::Value* fromEight(Emitter& e, llvm::Value* byte, const EightBits& format) {
  llvm::Value* const body = e.b.CreateAnd(byte, e.b.getInt32(0x7f));
  llvm::Value* const sign = e.b.CreateShl(e.b.CreateAnd(byte, e.b.getInt32(0x80)), 24);
  llvm::Value* const normal = e.b.CreateAdd(e.b.CreateShl(body, format.fewer()), e.b.getInt32((kFloatBias - format.bias) << kFloatFraction));
  llvm::Value* const unit = e.b.CreateBitCast(e.b.getInt32(powerOfTwo(1 - format.bias - format.fractionBits)), e.b.getFloatTy());
  llvm::Value* const small = e.toBits(e.b.CreateFMul(e.b.CreateSIToFP(body, e.b.getFloatTy()), unit));
  llvm::Value* size = e.b.CreateSelect(e.b.CreateICmpULT(body, e.b.getInt32(1u << format.fractionBits)), small, normal);
  llvm::Value* const nan = e.b.getInt32(kFloatInfinity | 1u << 22);
  llvm::Value* const infinity = e.b.getInt32(kFloatInfinity);
  llvm::Value* const beyond = format.largest == kE5m2.largest ? e.b.CreateSelect(e.b.CreateICmpEQ(body, e.b.getInt32(format.largest + 1)), infinity, nan) : nan;
  size = e.b.CreateSelect(e.b.CreateICmpUGT(body, e.b.getInt32(format.largest)), beyond, size);
  return e.b.CreateBitCast(e.b.CreateOr(size, sign), e.b.getFloatTy());
}

void toEightBits(Emitter& e, const Instruction& i) {
  llvm::Value* high = nullptr;
  llvm::Value* low = nullptr;
  if (i.type(1) == Type::f16x2) {
    llvm::Value* const pair = widen(e, e.read(i.operands[1], Type::f16x2), Type::f16x2);
    low = e.b.CreateExtractElement(pair, std::uint64_t{0});
    high = e.b.CreateExtractElement(pair, std::uint64_t{1});
  } else {
    high = e.read(i.operands[1], Type::f32);
    low = e.read(i.operands[2], Type::f32);
  }
  const EightBits& format = i.type(0) == Type::e4m3x2 ? kE4m3 : kE5m2;
  const auto element = [&](llvm::Value* value) { return toEight(e, i.has(Modifier::relu) ? rectify(e, value) : value, format); };
  llvm::Value* const word = e.b.CreateOr(e.b.CreateShl(element(high), 8), element(low));
  e.write(i.operands[0], Type::b16, e.b.CreateTrunc(word, e.bits(16)));
}

void fromEightBits(Emitter& e, const Instruction& i) {
  llvm::Value* const pair = e.b.CreateZExt(e.read(i.operands[1], Type::b16), e.bits(32));
  const EightBits& format = i.type(1) == Type::e4m3x2 ? kE4m3 : kE5m2;
  const auto element = [&](llvm::Value* byte) {
    llvm::Value* value = fromEight(e, byte, format);
    if (i.has(Modifier::relu)) value = rectify(e, value);
    return e.b.CreateZExt(e.toBits(narrow(e, value, Type::f16)), e.bits(32));
  };
  llvm::Value* const low = element(e.b.CreateAnd(pair, e.b.getInt32(0xff)));
  llvm::Value* const high = element(e.b.CreateLShr(pair, 8));
  e.write(i.operands[0], Type::b32, e.b.CreateOr(e.b.CreateShl(high, 16), low));
}

// cvt.pack: two s32 saturated and packed as {a, b}; of 8, 4 or 2 bits each, behind what c has below.
void packSaturated(Emitter& e, const Instruction& i) {
  const Type to = i.type(0);
  const std::uint32_t bits = ptx::bitsOf(to);
  const bool isSigned = ptx::isSigned(to) || to == Type::s4 || to == Type::s2;
  const llvm::APInt least = isSigned ? llvm::APInt::getSignedMinValue(bits).sext(32) : llvm::APInt(32, 0);
  const llvm::APInt most =
      isSigned ? llvm::APInt::getSignedMaxValue(bits).sext(32) : llvm::APInt::getMaxValue(bits).zext(32);
  const auto element = [&](const Operand& operand) {
    llvm::Value* value =
        e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, e.read(operand, Type::s32), e.b.getInt(least));
    value = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, value, e.b.getInt(most));
    return e.b.CreateAnd(value, e.b.getInt32((1u << bits) - 1));
  };
  llvm::Value* result = e.b.CreateOr(e.b.CreateShl(element(i.operands[1]), bits), element(i.operands[2]));
  if (bits <= 8) result = e.b.CreateOr(e.b.CreateShl(e.read(i.operands[3], Type::b32), 2 * bits), result);
  e.write(i.operands[0], Type::b32, result);
}

}  // namespace

void lowerPackedConvert(Emitter& e, const Instruction& i) {
  if (i.has(Modifier::pack)) return packSaturated(e, i);
  switch (i.type(0)) {
    case Type::e4m3x2:
    case Type::e5m2x2:
      return toEightBits(e, i);
    case Type::tf32:
    case Type::b32:
      return toTensorFloat(e, i);
    default:
      break;
  }
  if (i.type(1) == Type::f32) return toPair(e, i);
  fromEightBits(e, i);
}

}  // namespace rouse::cpu::codegen
