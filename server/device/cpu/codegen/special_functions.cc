// Reciprocals, roots and the approximate functions, these within the bounds that the ISA gives for each and without calls: they go in vectors.
#include "server/device/cpu/codegen/directed_rounding.h"
#include "server/device/cpu/codegen/families.h"
#include "server/device/cpu/codegen/floating_point.h"

namespace rouse::cpu::codegen {
namespace {

using ptx::Opcode;

llvm::Value* one(llvm::Value* like) { return llvm::ConstantFP::get(like->getType(), 1.0); }

llvm::Value* root(Emitter& e, llvm::Value* x) { return e.b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x); }

// 1 / sqrt(x) of a float, whose error may be 2^-22.9 (ISA): from a guess (Lomont, "Fast Inverse Square Root") by three of Newton's steps, the last with
// what is missing computed exactly. 2^-23.6 at most (tried: all mantissas of two octaves, and every 61st of the others). The same on every processor, and
// a fraction of what a root and a quotient take.
llvm::Value* inverseRootOfFloat(Emitter& e, llvm::Value* x) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Type* const type = x->getType();
  const auto number = [&](double value) { return llvm::ConstantFP::get(type, value); };
  const auto fused = [&](llvm::Value* p, llvm::Value* q, llvm::Value* r) { return b.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {p, q, r}); };
  llvm::Value* const zero = number(0);
  llvm::Value* const infinity = llvm::ConstantFP::getInfinity(type);
  llvm::Value* const isTiny = b.CreateFCmpOLT(x, number(0x1p-126));
  llvm::Value* const scaled = b.CreateSelect(isTiny, b.CreateFMul(x, number(0x1p24)), x);
  llvm::Value* const guess = b.CreateSub(b.getInt32(0x5f375a86), b.CreateLShr(b.CreateBitCast(scaled, b.getInt32Ty()), std::uint64_t{1}));
  llvm::Value* y = b.CreateBitCast(guess, type);
  llvm::Value* const half = b.CreateFMul(scaled, number(-0.5));
  for (unsigned step = 0; step < 2; ++step) y = b.CreateFMul(y, fused(b.CreateFMul(half, y), y, number(1.5)));
  llvm::Value* const missing = fused(b.CreateFNeg(b.CreateFMul(scaled, y)), y, one(x));
  y = fused(b.CreateFMul(y, number(0.5)), missing, y);
  y = b.CreateSelect(isTiny, b.CreateFMul(y, number(0x1p12)), y);
  // Zeros keep their sign; what is negative has no root.
  llvm::Value* const ofZero = b.CreateBitCast(b.CreateOr(b.CreateBitCast(x, b.getInt32Ty()), b.CreateBitCast(infinity, b.getInt32Ty())), type);
  y = b.CreateSelect(b.CreateFCmpOGT(x, zero), y, canonicalNan(e, type));
  y = b.CreateSelect(b.CreateFCmpOEQ(x, zero), ofZero, y);
  return b.CreateSelect(b.CreateFCmpOEQ(x, infinity), zero, y);
}

// 2^x and log2(x) of floats, for which no processor has an instruction: a call of the mathematics library for each lane would be most of what a kernel takes.
// Both may be wrong by 2^-22 (PTX ISA, "ex2.approx", "lg2.approx"); these are by 2^-23.2 at most (of every 13th float; of logarithms between 1/2 and 2 absolutely, as
// there), and right where the result is a whole power or a whole number.
llvm::Value* powerOfTwo(Emitter& e, llvm::Value* x) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Type* const type = x->getType();
  const auto number = [&](double value) { return llvm::ConstantFP::get(type, value); };
  // Beyond these it is 0 or infinity anyway.
  llvm::Value* const within = b.CreateMinNum(b.CreateMaxNum(x, number(-160)), number(136));
  llvm::Value* const whole = b.CreateUnaryIntrinsic(llvm::Intrinsic::rint, within);
  llvm::Value* const rest = b.CreateFSub(within, whole);
  // ln(2)^k / k!
  constexpr double kTerms[] = {1.5252733804059841e-5, 1.5403530393381608e-4, 1.3333558146428443e-3, 9.6181291076284772e-3,
                               5.5504108664821580e-2, 2.4022650695910072e-1, 6.9314718055994531e-1, 1.0};
  llvm::Value* power = number(kTerms[0]);
  for (const double term : llvm::drop_begin(kTerms)) power = b.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {power, rest, number(term)});
  // In two steps, of which the first is exact: the result may be subnormal.
  llvm::Value* const exponent = b.CreateFPToSI(whole, b.getInt32Ty());
  llvm::Value* const half = b.CreateAShr(exponent, std::uint64_t{1});
  for (llvm::Value* part : {half, b.CreateSub(exponent, half)})
    power = b.CreateFMul(power, b.CreateBitCast(b.CreateShl(b.CreateAdd(part, b.getInt32(127)), std::uint64_t{23}), type));
  return b.CreateSelect(b.CreateFCmpUNO(x, x), x, power);
}

llvm::Value* logarithm(Emitter& e, llvm::Value* x) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Type* const type = x->getType();
  const auto number = [&](double value) { return llvm::ConstantFP::get(type, value); };
  const auto fused = [&](llvm::Value* p, llvm::Value* q, llvm::Value* r) { return b.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {p, q, r}); };
  llvm::Value* const isTiny = b.CreateFCmpOLT(x, number(0x1p-126));
  llvm::Value* const bits = b.CreateBitCast(b.CreateSelect(isTiny, b.CreateFMul(x, number(0x1p24)), x), b.getInt32Ty());
  // As 2^k m, m from sqrt(1/2) to sqrt(2); log2(m) is a series of (m - 1) / (m + 1).
  llvm::Value* const above = b.CreateSub(bits, b.getInt32(0x3f3504f3));
  llvm::Value* const k = b.CreateSub(b.CreateAShr(above, std::uint64_t{23}), b.CreateSelect(isTiny, b.getInt32(24), b.getInt32(0)));
  llvm::Value* const m = b.CreateBitCast(b.CreateAdd(b.CreateAnd(above, b.getInt32(0x7fffff)), b.getInt32(0x3f3504f3)), type);
  llvm::Value* const s = b.CreateFDiv(b.CreateFSub(m, number(1)), b.CreateFAdd(m, number(1)));
  llvm::Value* const square = b.CreateFMul(s, s);
  constexpr double kTwice = 2.8853900817779268;  // 2 / ln(2)
  llvm::Value* series = number(kTwice / 9);
  for (const double of : {7.0, 5.0, 3.0, 1.0}) series = fused(series, square, number(kTwice / of));
  llvm::Value* result = fused(s, series, b.CreateSIToFP(k, type));
  llvm::Value* const infinity = llvm::ConstantFP::getInfinity(type);
  result = b.CreateSelect(b.CreateFCmpOGT(x, number(0)), result, canonicalNan(e, type));
  result = b.CreateSelect(b.CreateFCmpOEQ(x, number(0)), llvm::ConstantFP::getInfinity(type, true), result);
  return b.CreateSelect(b.CreateFCmpOEQ(x, infinity), infinity, result);
}

// The sine of x + quarters * pi / 2: wrong by 2^-23.9 at most (of every 64th float) where the ISA bounds it, from -pi to pi by 2^-20.5 ("sin.approx", "cos.approx").
llvm::Value* sineFrom(Emitter& e, llvm::Value* x, std::uint32_t quarters) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Type* const type = x->getType();
  const auto number = [&](double value) { return llvm::ConstantFP::get(type, value); };
  const auto fused = [&](llvm::Value* p, llvm::Value* q, llvm::Value* r) { return b.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {p, q, r}); };
  // x - k * pi / 2 with pi / 2 in three parts (Cody and Waite), so that no digits are lost. Of numbers so large that k is no integer of 32 bits, or that the rest is beyond an eighth, the ISA says nothing;
  // a sine is a sine all the same.
  constexpr double kMost = 0x1p30, kEdge = 0.9;
  llvm::Value* const within = b.CreateSelect(b.CreateFCmpOGT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x), number(kMost)), b.CreateFMul(x, number(0)), x);
  llvm::Value* const whole = b.CreateUnaryIntrinsic(llvm::Intrinsic::rint, b.CreateFMul(within, number(0.63661977236758134)));
  llvm::Value* rest = within;
  for (const double part : {1.570796251296997, 7.549790126404332e-08, -1.7151245100058819e-15}) rest = fused(whole, number(-part), rest);
  rest = b.CreateSelect(b.CreateFCmpOGT(rest, number(kEdge)), number(kEdge), b.CreateSelect(b.CreateFCmpOLT(rest, number(-kEdge)), number(-kEdge), rest));
  llvm::Value* const square = b.CreateFMul(rest, rest);
  const auto series = [&](std::initializer_list<double> terms) {
    llvm::Value* sum = number(0);
    for (const double term : terms) sum = fused(sum, square, number(term));
    return sum;
  };
  llvm::Value* const sine = fused(b.CreateFMul(series({1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6}), square), rest, rest);
  llvm::Value* const cosine = fused(series({-1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24, -0.5}), square, number(1));
  // What is no number is none as an integer, either.
  llvm::Value* const isNumber = b.CreateFCmpORD(whole, whole);
  llvm::Value* const quarter = b.CreateAdd(b.CreateFPToSI(b.CreateSelect(isNumber, whole, number(0)), b.getInt32Ty()), b.getInt32(quarters));
  llvm::Value* const made = b.CreateSelect(b.CreateICmpEQ(b.CreateAnd(quarter, std::uint64_t{1}), b.getInt32(0)), sine, cosine);
  llvm::Value* const sign = b.CreateShl(b.CreateAnd(quarter, std::uint64_t{2}), std::uint64_t{30});
  llvm::Value* const result = b.CreateSelect(isNumber, b.CreateBitCast(b.CreateXor(b.CreateBitCast(made, b.getInt32Ty()), sign), type), whole);
  return quarters != 0 ? result : b.CreateSelect(b.CreateFCmpOEQ(x, number(0)), x, result);  // zeros keep their sign
}

// By 2^-22.5 at most (of every 66th float), of 2^-11 ("tanh.approx"). Near zero as Moshier's Cephes library does it.
llvm::Value* hyperbolicTangent(Emitter& e, llvm::Value* x) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Type* const type = x->getType();
  const auto number = [&](double value) { return llvm::ConstantFP::get(type, value); };
  const auto fused = [&](llvm::Value* p, llvm::Value* q, llvm::Value* r) { return b.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {p, q, r}); };
  llvm::Value* const size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value* const square = b.CreateFMul(x, x);
  llvm::Value* series = number(-5.70498872745e-3);
  for (const double term : {2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1}) series = fused(series, square, number(term));
  llvm::Value* const near = fused(b.CreateFMul(series, square), size, size);
  constexpr double kTwice = 2.8853900817779268;  // 2 / ln(2)
  llvm::Value* const far = b.CreateFSub(number(1), b.CreateFDiv(number(2), b.CreateFAdd(powerOfTwo(e, b.CreateFMul(size, number(kTwice))), number(1))));
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, b.CreateSelect(b.CreateFCmpOLT(size, number(0.625)), near, far), x);
}

llvm::Value* inverseRoot(Emitter& e, llvm::Value* x) { return x->getType()->isFloatTy() ? inverseRootOfFloat(e, x) : e.b.CreateFDiv(one(x), root(e, x)); }

llvm::Value* directed(Emitter& e, Opcode opcode, llvm::Value* x, Rounding rounding) {
  if (x->getType()->isDoubleTy()) {
    if (opcode == Opcode::sqrt) return directedDouble(e, opcode, x, nullptr, nullptr, rounding);
    return directedDouble(e, Opcode::div, one(x), x, nullptr, rounding);
  }
  llvm::Value* const wide = e.b.CreateFPExt(x, e.b.getDoubleTy());
  return shorten(e, opcode == Opcode::sqrt ? rootToOdd(e, wide) : divideToOdd(e, one(wide), wide), rounding);
}

llvm::Value* compute(Emitter& e, Opcode opcode, llvm::Value* x) {
  switch (opcode) {
    case Opcode::rcp:
      return e.b.CreateFDiv(one(x), x);
    case Opcode::sqrt:
      return root(e, x);
    case Opcode::rsqrt:
      return inverseRoot(e, x);
    case Opcode::sin:
      return sineFrom(e, x, 0);
    case Opcode::cos:
      return sineFrom(e, x, 1);
    case Opcode::lg2:
      return logarithm(e, x);
    case Opcode::ex2:
      return powerOfTwo(e, x);
    default:
      return hyperbolicTangent(e, x);
  }
}

// Elementwise, as a function of the mathematics library takes scalars.
llvm::Value* computeEach(Emitter& e, Opcode opcode, llvm::Value* x) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (vector == nullptr) return compute(e, opcode, x);
  llvm::Value* result = x;
  for (unsigned k = 0; k < vector->getNumElements(); ++k) {
    result = e.b.CreateInsertElement(result, compute(e, opcode, e.b.CreateExtractElement(x, k)), k);
  }
  return result;
}

}  // namespace

void lowerSpecialFunction(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  const bool ftz = i.has(Modifier::ftz) && type != Type::f64;
  llvm::Value* x = e.read(i.operands[1], type);
  if (ftz && type != Type::bf16 && type != Type::bf16x2) x = flush(e, x);
  if (isHalfLike(type)) {
    llvm::Value* result = narrow(e, computeEach(e, i.opcode, widen(e, x, type)), type);
    return e.write(i.operands[0], type, ftz && (type == Type::f16 || type == Type::f16x2) ? flush(e, result) : result);
  }
  const Rounding rounding = roundingOf(i);
  llvm::Value* result = rounding == Rounding::nearest ? compute(e, i.opcode, x) : directed(e, i.opcode, x, rounding);
  if (ftz) result = flush(e, result);
  // What the processor's own NaN lacks: the hardware's is positive.
  result = e.b.CreateSelect(e.b.CreateFCmpUNO(result, result), canonicalNan(e, result->getType()), result);
  if (type == Type::f64 && i.has(Modifier::approx) && i.opcode != Opcode::sqrt && i.has(Modifier::ftz)) {
    // rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 flush and give the upper 32 bits only.
    llvm::Value* const input = flush(e, e.read(i.operands[1], type));
    result = i.opcode == Opcode::rcp ? e.b.CreateFDiv(one(input), input) : inverseRoot(e, input);
    result = flush(e, e.fromBits(e.b.CreateAnd(e.toBits(result), e.b.getInt64(0xffffffff00000000)), Type::f64));
  }
  e.write(i.operands[0], type, result);
}

void lowerCopySign(Emitter& e, const Instruction& i) {
  // d = |b| with the sign of a.
  const Type type = i.type();
  e.write(
      i.operands[0], type,
      e.b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, e.read(i.operands[2], type), e.read(i.operands[1], type)));
}

void lowerTestProperty(Emitter& e, const Instruction& i) {
  unsigned mask = llvm::fcNan;
  if (i.has(Modifier::finite)) mask = llvm::fcFinite;
  if (i.has(Modifier::infinite)) mask = llvm::fcInf;
  if (i.has(Modifier::number)) mask = llvm::fcFinite | llvm::fcInf;
  if (i.has(Modifier::normal)) mask = llvm::fcNormal | llvm::fcZero;  // zeros count as normal (ISA, testp)
  if (i.has(Modifier::subnormal)) mask = llvm::fcSubnormal;
  e.write(i.operands[0], Type::pred, e.b.createIsFPClass(e.read(i.operands[1], i.type()), mask));
}

}  // namespace rouse::cpu::codegen
