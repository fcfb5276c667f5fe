// Bit fields. Positions and lengths are the low 8 bits of their operands (PTX ISA at bfe and bfi).
#include "server/device/cpu/codegen/families.h"

namespace rouse::cpu::codegen {
namespace {

using ptx::Opcode;

llvm::Value* low8(Emitter& e, const Operand& operand) {
  return e.b.CreateAnd(e.read(operand, Type::u32), e.b.getInt32(0xff));
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

// The field, zero-extended; a signed one takes the sign of its last bit, or of the value's last bit where it ends
// beyond.
void extract(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  const std::uint32_t bits = ptx::bitsOf(type);
  llvm::Value* const value = e.b.CreateZExt(e.read(i.operands[1], type), e.bits(64));
  llvm::Value* const position = low8(e, i.operands[2]);
  llvm::Value* const length = low8(e, i.operands[3]);
  llvm::Value* const mask = ones(e, length);
  llvm::Value* result = e.b.CreateAnd(shiftOut(e, value, position, false), mask);
  if (ptx::isSigned(type)) {
    llvm::Value* const last = e.b.CreateBinaryIntrinsic(
        llvm::Intrinsic::umin, e.b.CreateSub(e.b.CreateAdd(position, length), e.b.getInt32(1)), e.b.getInt32(bits - 1));
    llvm::Value* const sign = e.b.CreateAnd(shiftOut(e, value, last, false), e.b.getInt64(1));
    llvm::Value* const isNegative =
        e.b.CreateAnd(e.b.CreateICmpNE(sign, e.b.getInt64(0)), e.b.CreateICmpNE(length, e.b.getInt32(0)));
    // Bits from min(length, what the value has left) upwards.
    llvm::Value* const left = e.b.CreateSelect(e.b.CreateICmpUGE(position, e.b.getInt32(bits)), e.b.getInt32(0),
                                               e.b.CreateSub(e.b.getInt32(bits), position));
    llvm::Value* const taken = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, length, left);
    result = e.b.CreateSelect(isNegative, e.b.CreateOr(result, e.b.CreateNot(ones(e, taken))), result);
  }
  e.write(i.operands[0], type, e.b.CreateTrunc(result, e.bits(bits)));
}

void insert(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  llvm::Value* const field = e.b.CreateZExt(e.read(i.operands[1], type), e.bits(64));
  llvm::Value* const base = e.b.CreateZExt(e.read(i.operands[2], type), e.bits(64));
  llvm::Value* const position = low8(e, i.operands[3]);
  llvm::Value* const mask = shiftOut(e, ones(e, low8(e, i.operands[4])), position, true);
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
