// Two or four lanes in a 32-bit register: vadd2, vabsdiff4, vset2 and their like (PTX ISA, "SIMD Video Instructions"), without lane
// masks and selectors.
#include "server/device/cpu/codegen/families.h"

namespace rouse::cpu::codegen {
namespace {

using ptx::Opcode;

// Lanes are computed in 32 bits: no sum or difference of 16-bit ones overflows there.
llvm::Value* lane(Emitter& e, llvm::Value* value, std::uint32_t index, std::uint32_t bits, Type type) {
  llvm::Value* const narrow = e.b.CreateTrunc(e.b.CreateLShr(value, index * bits), e.bits(bits));
  return ptx::isSigned(type) ? e.b.CreateSExt(narrow, e.bits(32)) : e.b.CreateZExt(narrow, e.bits(32));
}

llvm::Value* combine(Emitter& e, const Instruction& i, llvm::Value* x, llvm::Value* y) {
  using llvm::Intrinsic::smax;
  using llvm::Intrinsic::smin;
  switch (i.opcode) {
    case Opcode::vavrg2:
    case Opcode::vavrg4:
      return e.b.CreateLShr(e.b.CreateAdd(e.b.CreateAdd(x, y), e.b.getInt32(1)), 1);
    case Opcode::vset2:
    case Opcode::vset4:
      return e.b.CreateZExt(compareAsSigned(e, i, x, y), e.b.getInt32Ty());
    case Opcode::vadd2:
    case Opcode::vadd4:
      return e.b.CreateAdd(x, y);
    case Opcode::vsub2:
    case Opcode::vsub4:
      return e.b.CreateSub(x, y);
    case Opcode::vmin2:
    case Opcode::vmin4:
      return e.b.CreateBinaryIntrinsic(smin, x, y);
    case Opcode::vmax2:
    case Opcode::vmax4:
      return e.b.CreateBinaryIntrinsic(smax, x, y);
    default: {
      llvm::Value* const difference = e.b.CreateSub(x, y);
      return e.b.CreateBinaryIntrinsic(smax, difference, e.b.CreateNeg(difference));
    }
  }
}

llvm::Value* saturate(Emitter& e, llvm::Value* value, std::uint32_t bits, Type type) {
  const bool isSigned = ptx::isSigned(type);
  const std::int64_t least = isSigned ? -(std::int64_t{1} << (bits - 1)) : 0;
  const std::int64_t most = (std::int64_t{1} << (isSigned ? bits - 1 : bits)) - 1;
  value = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value, e.integer(32, static_cast<std::uint64_t>(least)));
  return e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, value, e.integer(32, static_cast<std::uint64_t>(most)));
}

bool hasTwoLanes(Opcode opcode) {
  switch (opcode) {
    case Opcode::vabsdiff2:
    case Opcode::vadd2:
    case Opcode::vavrg2:
    case Opcode::vmax2:
    case Opcode::vmin2:
    case Opcode::vset2:
    case Opcode::vsub2:
      return true;
    default:
      return false;
  }
}

}  // namespace

llvm::Value* compareAsSigned(Emitter& e, const Instruction& i, llvm::Value* x, llvm::Value* y) {
  llvm::CmpInst::Predicate predicate = llvm::CmpInst::ICMP_EQ;
  if (i.has(Modifier::ne)) predicate = llvm::CmpInst::ICMP_NE;
  if (i.has(Modifier::lt)) predicate = llvm::CmpInst::ICMP_SLT;
  if (i.has(Modifier::le)) predicate = llvm::CmpInst::ICMP_SLE;
  if (i.has(Modifier::gt)) predicate = llvm::CmpInst::ICMP_SGT;
  if (i.has(Modifier::ge)) predicate = llvm::CmpInst::ICMP_SGE;
  return e.b.CreateICmp(predicate, x, y);
}

void lowerVideo(Emitter& e, const Instruction& i) {
  const std::uint32_t lanes = hasTwoLanes(i.opcode) ? 2 : 4;
  const std::uint32_t bits = 32 / lanes;
  llvm::Value* const x = e.read(i.operands[1], Type::b32);
  llvm::Value* const y = e.read(i.operands[2], Type::b32);
  const bool isSet = i.opcode == Opcode::vset2 || i.opcode == Opcode::vset4;
  const Type typeX = i.type(isSet ? 0 : 1);
  const Type typeY = i.type(isSet ? 1 : 2);
  const bool sums = i.has(Modifier::add);
  // All lanes are written, so the third source counts only where it is added to.
  llvm::Value* result = sums ? e.read(i.operands[3], Type::b32) : e.integer(32, 0);
  for (std::uint32_t k = 0; k < lanes; ++k) {
    llvm::Value* value = combine(e, i, lane(e, x, k, bits, typeX), lane(e, y, k, bits, typeY));
    if (i.has(Modifier::sat)) value = saturate(e, value, bits, i.type(0));
    if (sums) {
      result = e.b.CreateAdd(result, value);
    } else {
      value = e.b.CreateAnd(value, e.integer(32, (std::uint64_t{1} << bits) - 1));
      result = e.b.CreateOr(result, e.b.CreateShl(value, k * bits));
    }
  }
  e.write(i.operands[0], Type::b32, result);
}

}  // namespace rouse::cpu::codegen
