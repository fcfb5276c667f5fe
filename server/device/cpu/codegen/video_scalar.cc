// vadd, vsub, vabsdiff, vmin, vmax, vshl, vshr, vmad and vset on 32 bits, 16 or 8 (PTX ISA, "Scalar Video Instructions"), without negated
// operands of vmad. Intermediate results are wide enough never to wrap; what is more than the destination holds is saturated or cut off.
#include "server/device/cpu/codegen/families.h"

namespace rouse::cpu::codegen {
namespace {

using llvm::Intrinsic::smax;
using llvm::Intrinsic::smin;
using ptx::Opcode;
using ptx::Part;

constexpr std::uint32_t kWide = 128;  // a product of two words, another word and one

struct Place {
  std::uint32_t shift, bits;
};

Place placeOf(Part part) {
  switch (part) {
    case Part::whole:
      return {0, 32};
    case Part::h0:
    case Part::h1:
      return {part == Part::h1 ? 16u : 0u, 16};
    default:
      return {8 * (static_cast<std::uint32_t>(part) - static_cast<std::uint32_t>(Part::b0)), 8};
  }
}

llvm::Value* wide(Emitter& e, llvm::Value* value, bool isSigned) {
  return isSigned ? e.b.CreateSExt(value, e.bits(kWide)) : e.b.CreateZExt(value, e.bits(kWide));
}

llvm::Value* source(Emitter& e, const Operand& operand, Type type) {
  const Place place = placeOf(operand.part);
  llvm::Value* const shifted = e.b.CreateLShr(e.read(operand, Type::b32), place.shift);
  return wide(e, e.b.CreateTrunc(shifted, e.bits(place.bits)), ptx::isSigned(type));
}

llvm::Value* shift(Emitter& e, const Instruction& i, llvm::Value* x, llvm::Value* amount) {
  llvm::Value* const bits = i.has(Modifier::wrap) ? e.b.CreateAnd(amount, e.integer(kWide, 31))
                                                  : e.b.CreateBinaryIntrinsic(smin, amount, e.integer(kWide, 32));
  return i.opcode == Opcode::vshl ? e.b.CreateShl(x, bits) : e.b.CreateAShr(x, bits);
}

llvm::Value* multiplyAdd(Emitter& e, const Instruction& i, llvm::Value* x, llvm::Value* y) {
  const bool isSigned = ptx::isSigned(i.type(1)) || ptx::isSigned(i.type(2));
  llvm::Value* sum = e.b.CreateAdd(e.b.CreateMul(x, y), wide(e, e.read(i.operands[3], Type::b32), isSigned));
  if (i.has(Modifier::po)) sum = e.b.CreateAdd(sum, e.integer(kWide, 1));
  if (i.has(Modifier::shr7)) return e.b.CreateAShr(sum, 7);
  return i.has(Modifier::shr15) ? e.b.CreateAShr(sum, 15) : sum;
}

llvm::Value* combine(Emitter& e, const Instruction& i, llvm::Value* x, llvm::Value* y) {
  switch (i.opcode) {
    case Opcode::vadd:
      return e.b.CreateAdd(x, y);
    case Opcode::vsub:
      return e.b.CreateSub(x, y);
    case Opcode::vabsdiff:
      return e.b.CreateSub(e.b.CreateBinaryIntrinsic(smax, x, y), e.b.CreateBinaryIntrinsic(smin, x, y));
    case Opcode::vmin:
      return e.b.CreateBinaryIntrinsic(smin, x, y);
    case Opcode::vmax:
      return e.b.CreateBinaryIntrinsic(smax, x, y);
    case Opcode::vmad:
      return multiplyAdd(e, i, x, y);
    case Opcode::vset:
      return wide(e, compareAsSigned(e, i, x, y), false);
    default:
      return shift(e, i, x, y);
  }
}

llvm::Value* saturate(Emitter& e, llvm::Value* value, std::uint32_t bits, bool isSigned) {
  const llvm::APInt least = isSigned ? llvm::APInt::getSignedMinValue(bits).sext(kWide) : llvm::APInt(kWide, 0);
  const llvm::APInt most = isSigned ? llvm::APInt::getSignedMaxValue(bits).sext(kWide) : llvm::APInt::getMaxValue(bits).zext(kWide);
  value = e.b.CreateBinaryIntrinsic(smax, value, e.b.getInt(least));
  return e.b.CreateBinaryIntrinsic(smin, value, e.b.getInt(most));
}

}  // namespace

void lowerScalarVideo(Emitter& e, const Instruction& i) {
  const bool isSet = i.opcode == Opcode::vset;  // whose types are the sources' alone
  const Type typeX = isSet ? i.type(0) : i.type(1);
  const Type typeY = isSet ? i.type(1) : i.type(2);
  const Place to = placeOf(i.operands[0].part);
  bool isSigned = !isSet && ptx::isSigned(i.type(0));
  if (i.opcode == Opcode::vmad) isSigned = ptx::isSigned(i.type(1)) || ptx::isSigned(i.type(2));
  llvm::Value* const made = combine(e, i, source(e, i.operands[1], typeX), source(e, i.operands[2], typeY));
  llvm::Value* const kept = i.has(Modifier::sat) ? saturate(e, made, to.bits, isSigned) : made;
  llvm::Value* result = e.b.CreateTrunc(kept, e.bits(32));
  const auto third = [&] { return e.read(i.operands[3], Type::b32); };
  if (i.has(Modifier::add)) {
    result = e.b.CreateAdd(result, third());
  } else if (i.has(Modifier::min)) {
    result = e.b.CreateBinaryIntrinsic(isSigned ? smin : llvm::Intrinsic::umin, result, third());
  } else if (i.has(Modifier::max)) {
    result = e.b.CreateBinaryIntrinsic(isSigned ? smax : llvm::Intrinsic::umax, result, third());
  } else if (to.bits < 32) {
    const std::uint32_t mask = ((std::uint32_t{1} << to.bits) - 1) << to.shift;
    result = e.b.CreateOr(e.b.CreateAnd(e.b.CreateShl(result, to.shift), mask), e.b.CreateAnd(third(), ~mask));
  }
  e.write(i.operands[0], Type::b32, result);
}

}  // namespace rouse::cpu::codegen
