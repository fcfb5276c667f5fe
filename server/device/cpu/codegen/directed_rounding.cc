// To nearest, and a step back where that went the wrong way, which the error tells: that of a sum, of a product, and what is left of a quotient or a root are numbers (Boldo and Daumas,
// "Representable correcting terms for possibly underflowing floating point operations", 2003), that of a fused operation is the sum of two (Boldo and Muller, "Exact and approximated error of the FMA", 2011),
// unless they are too small for one. Where they may be, the runtime switches the processor's rounding mode.
#include "server/device/cpu/codegen/directed_rounding.h"

namespace rouse::cpu::codegen {
namespace {

using ptx::Opcode;

// From here on errors of 106 bits are numbers; and up to there nothing overflows on the way to them.
constexpr double kLeastPlain = 0x1p-900, kMostPlain = 0x1p900;

class Directed {
 public:
  Directed(Emitter& emitter, Rounding rounding) : e(emitter), b(emitter.b), rounding_(rounding) {}

  llvm::Value* sum(llvm::Value* nearest, llvm::Value* x, llvm::Value* y) {
    // FastTwoSum (Dekker): nothing on the way to the error overflows.
    llvm::Value* const isFirstLarger = b.CreateFCmpOGE(magnitude(x), magnitude(y));
    llvm::Value* const larger = b.CreateSelect(isFirstLarger, x, y);
    llvm::Value* const smaller = b.CreateSelect(isFirstLarger, y, x);
    llvm::Value* const error = b.CreateFSub(smaller, b.CreateFSub(nearest, larger));
    // One that left the range is too large for what it is of.
    llvm::Value* const infinity = llvm::ConstantFP::getInfinity(nearest->getType());
    llvm::Value* const overflows = b.CreateAnd(b.CreateFCmpOEQ(magnitude(nearest), infinity), b.CreateFCmpOLT(magnitude(larger), infinity));
    llvm::Value* const isPositive = b.CreateFCmpOGT(nearest, number(0));
    llvm::Value* const made = stepped(nearest, b.CreateOr(b.CreateFCmpOLT(error, number(0)), b.CreateAnd(overflows, isPositive)),
                                      b.CreateOr(b.CreateFCmpOGT(error, number(0)), b.CreateAnd(overflows, b.CreateNot(isPositive))));
    return rounding_ == Rounding::down ? signZeroSum(e, made, x, y) : made;
  }

  llvm::Value* product(llvm::Value* x, llvm::Value* y) {
    llvm::Value* const nearest = b.CreateFMul(x, y);
    llvm::Value* const isZero = b.CreateOr(b.CreateFCmpOEQ(x, number(0)), b.CreateFCmpOEQ(y, number(0)));
    llvm::Value* const isPlain = b.CreateOr(isZero, isWithin(nearest, kLeastPlain, std::numeric_limits<double>::max()));
    return orSwitched(stepped(nearest, fused(x, y, b.CreateFNeg(nearest))), isPlain, "rouse_ptx_mul_f64", {x, y});
  }

  llvm::Value* quotient(llvm::Value* x, llvm::Value* y) {
    llvm::Value* const nearest = b.CreateFDiv(x, y);
    llvm::Value* const isPlain = b.CreateOr(b.CreateFCmpOEQ(x, number(0)), b.CreateAnd(isWithin(nearest, kLeastPlain, kMostPlain), isWithin(x, kLeastPlain, std::numeric_limits<double>::max())));
    return orSwitched(stepped(nearest, errorOfQuotient(e, nearest, x, y)), isPlain, "rouse_ptx_div_f64", {x, y});
  }

  llvm::Value* root(llvm::Value* x) {
    llvm::Value* const nearest = b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
    llvm::Value* const isPlain = b.CreateOr(b.CreateFCmpOEQ(x, number(0)), isWithin(x, kLeastPlain, std::numeric_limits<double>::max()));
    return orSwitched(stepped(nearest, errorOfRoot(e, nearest, x)), isPlain, "rouse_ptx_sqrt_f64", {x});
  }

  llvm::Value* fusedSum(llvm::Value* x, llvm::Value* y, llvm::Value* z) {
    llvm::Value* const nearest = fused(x, y, z);
    llvm::Value* const product = b.CreateFMul(x, y);
    const auto [high, low] = sumAndError(e, z, fused(x, y, b.CreateFNeg(product)));
    const auto [higher, middle] = sumAndError(e, product, high);
    llvm::Value* const error = b.CreateFAdd(b.CreateFAdd(b.CreateFSub(higher, nearest), middle), low);
    llvm::Value* made = stepped(nearest, error);
    if (rounding_ == Rounding::down) made = signZeroSum(e, made, product, z);
    llvm::Value* const isPlain = b.CreateAnd(isWithin(product, kLeastPlain, kMostPlain), b.CreateFCmpOLE(magnitude(z), number(kMostPlain)));
    return orSwitched(made, isPlain, "rouse_ptx_fma_f64", {x, y, z});
  }

 private:
  llvm::Value* switched(const char* function, std::vector<llvm::Value*> operands) {
    operands.push_back(b.getInt32(static_cast<std::uint32_t>(rounding_)));
    return e.callExternal(function, b.getDoubleTy(), operands);
  }

  llvm::Value* number(double value) { return llvm::ConstantFP::get(b.getDoubleTy(), value); }
  llvm::Value* magnitude(llvm::Value* x) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }
  llvm::Value* fused(llvm::Value* x, llvm::Value* y, llvm::Value* z) { return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z}); }
  llvm::Value* isWithin(llvm::Value* x, double least, double most) { return b.CreateAnd(b.CreateFCmpOGE(magnitude(x), number(least)), b.CreateFCmpOLE(magnitude(x), number(most))); }

  llvm::Value* stepped(llvm::Value* nearest, llvm::Value* error) { return stepped(nearest, b.CreateFCmpOLT(error, number(0)), b.CreateFCmpOGT(error, number(0))); }

  llvm::Value* stepped(llvm::Value* nearest, llvm::Value* tooLarge, llvm::Value* tooSmall) {
    if (rounding_ == Rounding::up) return b.CreateSelect(tooSmall, stepToward(e, nearest, b.getTrue()), nearest);
    if (rounding_ == Rounding::down) return b.CreateSelect(tooLarge, stepToward(e, nearest, b.getFalse()), nearest);
    // Towards zero it is one less in the bits.
    llvm::Value* const isOff = b.CreateSelect(b.CreateFCmpOGT(nearest, number(0)), tooLarge, tooSmall);
    llvm::Value* const bits = b.CreateAdd(b.CreateBitCast(nearest, b.getInt64Ty()), b.CreateSExt(isOff, b.getInt64Ty()));
    return b.CreateBitCast(bits, nearest->getType());
  }

  llvm::Value* orSwitched(llvm::Value* plain, llvm::Value* isPlain, const char* function, const std::vector<llvm::Value*>& operands) {
    llvm::AllocaInst* const result = e.slot(b.getDoubleTy(), 8, "directed");
    b.CreateStore(plain, result);
    e.when(b.CreateNot(isPlain), [&] { b.CreateStore(switched(function, operands), result); });
    return b.CreateLoad(b.getDoubleTy(), result);
  }

  Emitter& e;
  llvm::IRBuilder<>& b;
  const Rounding rounding_;
};

}  // namespace

llvm::Value* signZeroSum(Emitter& e, llvm::Value* sum, llvm::Value* x, llvm::Value* y) {
  llvm::Type* const integers = bitsType(e, sum->getType());
  const std::uint32_t width = integers->getScalarSizeInBits();
  llvm::Value* const signs = e.b.CreateAnd(e.b.CreateOr(e.b.CreateBitCast(x, integers), e.b.CreateBitCast(y, integers)),
                                           bitsConstant(e, integers, std::uint64_t{1} << (width - 1)));
  llvm::Value* const isZero = e.b.CreateFCmpOEQ(sum, llvm::ConstantFP::get(sum->getType(), 0.0));
  return e.b.CreateSelect(isZero, e.b.CreateBitCast(signs, sum->getType()), sum);
}

llvm::Value* directedDouble(Emitter& e, Opcode opcode, llvm::Value* x, llvm::Value* y, llvm::Value* z, Rounding rounding) {
  Directed directed(e, rounding);
  switch (opcode) {
    case Opcode::add:
      return directed.sum(e.b.CreateFAdd(x, y), x, y);
    case Opcode::sub:
      return directed.sum(e.b.CreateFSub(x, y), x, e.b.CreateFNeg(y));
    case Opcode::mul:
      return directed.product(x, y);
    case Opcode::div:
      return directed.quotient(x, y);
    case Opcode::sqrt:
      return directed.root(x);
    default:
      return directed.fusedSum(x, y, z);
  }
}

}  // namespace rouse::cpu::codegen
