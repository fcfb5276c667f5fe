// Reciprocals, roots and the approximate functions, which are computed as accurately as the mathematics library does:
// within the bounds that the ISA gives for each.
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

llvm::Value* inverseRoot(Emitter& e, llvm::Value* x) { return x->getType()->isFloatTy() ? inverseRootOfFloat(e, x) : e.b.CreateFDiv(one(x), root(e, x)); }

llvm::Value* directed(Emitter& e, Opcode opcode, llvm::Value* x, Rounding rounding) {
  if (x->getType()->isDoubleTy()) {
    llvm::Value* const mode = e.b.getInt32(static_cast<std::uint32_t>(rounding));
    if (opcode == Opcode::sqrt) return e.callExternal("rouse_ptx_sqrt_f64", e.b.getDoubleTy(), {x, mode});
    return e.callExternal("rouse_ptx_div_f64", e.b.getDoubleTy(), {one(x), x, mode});
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
      return e.b.CreateUnaryIntrinsic(llvm::Intrinsic::sin, x);
    case Opcode::cos:
      return e.b.CreateUnaryIntrinsic(llvm::Intrinsic::cos, x);
    case Opcode::lg2:
      return e.b.CreateUnaryIntrinsic(llvm::Intrinsic::log2, x);
    case Opcode::ex2:
      return e.b.CreateUnaryIntrinsic(llvm::Intrinsic::exp2, x);
    default:
      return e.callExternal("tanhf", e.b.getFloatTy(), {x});
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
  if (i.has(Modifier::normal)) mask = llvm::fcNormal;
  if (i.has(Modifier::subnormal)) mask = llvm::fcSubnormal;
  e.write(i.operands[0], Type::pred, e.b.createIsFPClass(e.read(i.operands[1], i.type()), mask));
}

}  // namespace rouse::cpu::codegen
