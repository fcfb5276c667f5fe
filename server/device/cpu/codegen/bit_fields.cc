// Bit fields. Positions and lengths of 32-bit ones are the low 8 bits of their operands (PTX ISA at bfe and bfi). So says the ISA of
// 64-bit ones, and that operands beyond 255 are not allowed: there GPUs take the whole operand.
#include "server/device/cpu/codegen/families.h"

namespace rouse::cpu::codegen {
namespace {

using ptx::Opcode;

llvm::Value* extent(Emitter& e, const Operand& operand, Type type) {
  llvm::Value* const value = e.read(operand, Type::u32);
  return ptx::bitsOf(type) == 64 ? value : e.b.CreateAnd(value, e.b.getInt32(0xff));
}

// `length` ones, all of them from the width on. 64 bits.
llvm::Value* ones(Emitter& e, llvm::Value* length) {
  llvm::Value* const shift = e.b.CreateZExt(e.b.CreateAnd(length, e.b.getInt32(63)), e.bits(64));
  llvm::Value* const mask = e.b.CreateSub(e.b.CreateShl(e.b.getInt64(1), shift), e.b.getInt64(1));
  return e.b.CreateSelect(e.b.CreateICmpUGE(length, e.b.getInt32(64)), e.b.getInt64(~std::uint64_t{0}), mask);
}

llvm::Value* shiftOut(Emitter& e, llvm::Value* value, llvm::Value* amount, bool left) {
  llvm::Value* const within = e.b.CreateZExt(e.b.CreateAnd(amount, e.b.getInt32(63)), e.bits(64));
  llvm::Value* const shifted = left ? e.b.CreateShl(value, within) : e.b.CreateLShr(value, within);
  return e.b.CreateSelect(e.b.CreateICmpUGE(amount, e.b.getInt32(64)), e.b.getInt64(0), shifted);
}

// The field, extended by zeros or its sign; what of it is beyond the value are zeros, or copies of the value's sign.
void extract(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  llvm::Value* const position = extent(e, i.operands[2], type);
  llvm::Value* const length = extent(e, i.operands[3], type);
  llvm::Value* const value = e.read(i.operands[1], type);
  llvm::Value* result = nullptr;
  if (ptx::isSigned(type)) {
    const auto atMost = [&](llvm::Value* amount, std::uint32_t bound) {
      return e.b.CreateZExt(e.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, amount, e.b.getInt32(bound)), e.bits(64));
    };
    llvm::Value* const shifted = e.b.CreateAShr(e.b.CreateSExt(value, e.bits(64)), atMost(position, 63));
    // Its top bit becomes the sign's; from no bits come zeros.
    llvm::Value* const above = e.b.CreateAnd(e.b.CreateSub(e.b.getInt64(64), atMost(length, 64)), e.b.getInt64(63));
    llvm::Value* const extended = e.b.CreateAShr(e.b.CreateShl(shifted, above), above);
    result = e.b.CreateSelect(e.b.CreateICmpEQ(length, e.b.getInt32(0)), e.b.getInt64(0), extended);
  } else {
    result = e.b.CreateAnd(shiftOut(e, e.b.CreateZExt(value, e.bits(64)), position, false), ones(e, length));
  }
  e.write(i.operands[0], type, e.b.CreateTrunc(result, e.bits(ptx::bitsOf(type))));
}

void insert(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  llvm::Value* const field = e.b.CreateZExt(e.read(i.operands[1], type), e.bits(64));
  llvm::Value* const base = e.b.CreateZExt(e.read(i.operands[2], type), e.bits(64));
  llvm::Value* const position = extent(e, i.operands[3], type);
  llvm::Value* const mask = shiftOut(e, ones(e, extent(e, i.operands[4], type)), position, true);
  llvm::Value* const result =
      e.b.CreateOr(e.b.CreateAnd(shiftOut(e, field, position, true), mask), e.b.CreateAnd(base, e.b.CreateNot(mask)));
  e.write(i.operands[0], type, e.b.CreateTrunc(result, e.bits(ptx::bitsOf(type))));
}

// bmsk: `b` ones from bit `a` up; amounts wrap at 32 or are clamped to it.
void mask(Emitter& e, const Instruction& i) {
  const auto amount = [&](const Operand& operand) {
    llvm::Value* const value = e.read(operand, Type::u32);
    return i.has(Modifier::wrap) ? e.b.CreateAnd(value, e.b.getInt32(31))
                                 : e.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, value, e.b.getInt32(32));
  };
  llvm::Value* const start = amount(i.operands[1]);
  e.write(i.operands[0], Type::b32,
          e.b.CreateTrunc(shiftOut(e, ones(e, amount(i.operands[2])), start, true), e.bits(32)));
}

// szext: the low `b` bits of a, extended by sign or zero.
void extend(Emitter& e, const Instruction& i) {
  llvm::Value* const value = e.b.CreateZExt(e.read(i.operands[1], Type::u32), e.bits(64));
  llvm::Value* length = e.read(i.operands[2], Type::u32);
  length = i.has(Modifier::wrap) ? e.b.CreateAnd(length, e.b.getInt32(31))
                                 : e.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, length, e.b.getInt32(32));
  llvm::Value* result = e.b.CreateAnd(value, ones(e, length));
  if (ptx::isSigned(i.type())) {
    llvm::Value* const hasSign = e.b.CreateICmpNE(length, e.b.getInt32(0));
    llvm::Value* const last = e.b.CreateSelect(hasSign, e.b.CreateSub(length, e.b.getInt32(1)), e.b.getInt32(0));
    llvm::Value* const isSet =
        e.b.CreateICmpNE(e.b.CreateAnd(shiftOut(e, value, last, false), e.b.getInt64(1)), e.b.getInt64(0));
    result =
        e.b.CreateSelect(e.b.CreateAnd(hasSign, isSet), e.b.CreateOr(result, e.b.CreateNot(ones(e, length))), result);
  }
  e.write(i.operands[0], Type::b32, e.b.CreateTrunc(result, e.bits(32)));
}

}  // namespace

void lowerBitField(Emitter& e, const Instruction& i) {
  switch (i.opcode) {
    case Opcode::bfe:
      return extract(e, i);
    case Opcode::bfi:
      return insert(e, i);
    case Opcode::bmsk:
      return mask(e, i);
    default:
      return extend(e, i);
  }
}

void lowerFindNthSet(Emitter& e, const Instruction& i) {
  e.write(i.operands[0], Type::b32,
          e.callExternal(
              "rouse_ptx_fns", e.b.getInt32Ty(),
              {e.read(i.operands[1], Type::b32), e.read(i.operands[2], Type::b32), e.read(i.operands[3], Type::b32)}));
}

}  // namespace rouse::cpu::codegen
