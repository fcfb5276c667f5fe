// Logic, shifts, permutation, counting (PTX ISA, "Logic and Shift Instructions", "Integer Arithmetic Instructions").
#include "server/device/cpu/codegen/families.h"

namespace rouse::cpu::codegen {
namespace {

using ptx::Opcode;

// Any function of three bits by its truth table: the sum of its minterms; LLVM reduces it.
llvm::Value* truthTable(Emitter& e, llvm::Value* x, llvm::Value* y, llvm::Value* z, std::uint64_t table) {
  llvm::Value* result = e.b.getInt32(0);
  for (unsigned minterm = 0; minterm < 8; ++minterm) {
    if ((table >> minterm & 1) == 0) continue;
    llvm::Value* const xTerm = (minterm & 4) != 0 ? x : e.b.CreateNot(x);
    llvm::Value* const yTerm = (minterm & 2) != 0 ? y : e.b.CreateNot(y);
    llvm::Value* const zTerm = (minterm & 1) != 0 ? z : e.b.CreateNot(z);
    result = e.b.CreateOr(result, e.b.CreateAnd(e.b.CreateAnd(xTerm, yTerm), zTerm));
  }
  return result;
}

// Byte `position` (0 to 7, any i32) of the pair, in the low bits.
llvm::Value* byteAt(Emitter& e, llvm::Value* pair, llvm::Value* position) {
  llvm::Value* const shift = e.b.CreateZExt(e.b.CreateShl(e.b.CreateAnd(position, e.b.getInt32(7)), 3), e.bits(64));
  return e.b.CreateAnd(e.b.CreateTrunc(e.b.CreateLShr(pair, shift), e.bits(32)), e.b.getInt32(0xff));
}

// Which bytes the modes of prmt select, by the low two bits of the control value (ISA, table at prmt).
constexpr std::uint8_t kForward4[4][4] = {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}};
constexpr std::uint8_t kBackward4[4][4] = {{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}};
constexpr std::uint8_t kReplicate8[4][4] = {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}};
constexpr std::uint8_t kEdgeLeft[4][4] = {{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}};
constexpr std::uint8_t kEdgeRight[4][4] = {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}};
constexpr std::uint8_t kReplicate16[4][4] = {{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}};

llvm::Value* permuteByMode(Emitter& e, const std::uint8_t (&mode)[4][4], llvm::Value* pair, llvm::Value* control) {
  llvm::Value* const low = e.b.CreateAnd(control, e.b.getInt32(3));
  llvm::Value* result = nullptr;
  for (std::uint32_t row = 0; row < 4; ++row) {
    llvm::Value* word = e.b.getInt32(0);
    for (std::uint32_t k = 0; k < 4; ++k) {
      word = e.b.CreateOr(word, e.b.CreateShl(byteAt(e, pair, e.b.getInt32(mode[row][k])), k * 8));
    }
    result = result == nullptr ? word : e.b.CreateSelect(e.b.CreateICmpEQ(low, e.b.getInt32(row)), word, result);
  }
  return result;
}

}  // namespace

void lowerLogic(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  llvm::Value* const x = e.read(i.operands[1], type);
  llvm::Value* result = nullptr;
  switch (i.opcode) {
    case Opcode::and_:
      result = e.b.CreateAnd(x, e.read(i.operands[2], type));
      break;
    case Opcode::or_:
      result = e.b.CreateOr(x, e.read(i.operands[2], type));
      break;
    case Opcode::xor_:
      result = e.b.CreateXor(x, e.read(i.operands[2], type));
      break;
    case Opcode::not_:
      result = e.b.CreateNot(x);
      break;
    default:
      result = e.b.CreateZExt(e.b.CreateICmpEQ(x, llvm::Constant::getNullValue(x->getType())), x->getType());
      break;
  }
  e.write(i.operands[0], type, result);
}

void lowerLop3(Emitter& e, const Instruction& i) {
  llvm::Value* const result = truthTable(e, e.read(i.operands[1], Type::b32), e.read(i.operands[2], Type::b32),
                                         e.read(i.operands[3], Type::b32), i.operands[4].value);
  e.write(i.operands[0], Type::b32, result);
  if (i.operands.size() == 6 && i.hasSecond) {
    llvm::Value* const isSet = e.b.CreateICmpNE(result, e.b.getInt32(0));
    llvm::Value* const other = e.readPredicate(i.operands[5]);
    e.write(i.second, Type::pred, i.has(Modifier::op_and) ? e.b.CreateAnd(isSet, other) : e.b.CreateOr(isSet, other));
  }
}

// Amounts beyond the width shift everything out.
void lowerShift(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  const std::uint32_t bits = ptx::bitsOf(type);
  llvm::Value* const x = e.read(i.operands[1], type);
  llvm::Value* const amount = e.read(i.operands[2], Type::u32);
  llvm::Value* const isLarge = e.b.CreateICmpUGE(amount, e.b.getInt32(bits));
  if (i.opcode == Opcode::shr && ptx::isSigned(type)) {
    llvm::Value* const clamped = e.b.CreateSelect(isLarge, e.b.getInt32(bits - 1), amount);
    return e.write(i.operands[0], type, e.b.CreateAShr(x, e.b.CreateZExtOrTrunc(clamped, e.bits(bits))));
  }
  llvm::Value* const within = e.b.CreateZExtOrTrunc(e.b.CreateAnd(amount, e.b.getInt32(bits - 1)), e.bits(bits));
  llvm::Value* const shifted = i.opcode == Opcode::shl ? e.b.CreateShl(x, within) : e.b.CreateLShr(x, within);
  e.write(i.operands[0], type, e.b.CreateSelect(isLarge, e.integer(bits, 0), shifted));
}

// shf.l: the high word of {b, a} << c; shf.r: the low word of {b, a} >> c. a is the low half.
void lowerFunnelShift(Emitter& e, const Instruction& i) {
  llvm::Value* const low = e.b.CreateZExt(e.read(i.operands[1], Type::b32), e.bits(64));
  llvm::Value* const high = e.b.CreateZExt(e.read(i.operands[2], Type::b32), e.bits(64));
  llvm::Value* const amount = e.read(i.operands[3], Type::u32);
  llvm::Value* const limited = i.has(Modifier::clamp)
                                   ? e.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, amount, e.b.getInt32(32))
                                   : e.b.CreateAnd(amount, e.b.getInt32(31));
  llvm::Value* const shift = e.b.CreateZExt(limited, e.bits(64));
  llvm::Value* const pair = e.b.CreateOr(e.b.CreateShl(high, 32), low);
  llvm::Value* const shifted =
      i.has(Modifier::l) ? e.b.CreateLShr(e.b.CreateShl(pair, shift), 32) : e.b.CreateLShr(pair, shift);
  e.write(i.operands[0], Type::b32, e.b.CreateTrunc(shifted, e.bits(32)));
}

void lowerPermute(Emitter& e, const Instruction& i) {
  llvm::Value* const low = e.b.CreateZExt(e.read(i.operands[1], Type::b32), e.bits(64));
  llvm::Value* const high = e.b.CreateZExt(e.read(i.operands[2], Type::b32), e.bits(64));
  llvm::Value* const pair = e.b.CreateOr(e.b.CreateShl(high, 32), low);
  llvm::Value* const control = e.read(i.operands[3], Type::b32);
  const std::uint8_t(*mode)[4][4] = nullptr;
  if (i.has(Modifier::f4e)) mode = &kForward4;
  if (i.has(Modifier::b4e)) mode = &kBackward4;
  if (i.has(Modifier::rc8)) mode = &kReplicate8;
  if (i.has(Modifier::ecl)) mode = &kEdgeLeft;
  if (i.has(Modifier::ecr)) mode = &kEdgeRight;
  if (i.has(Modifier::rc16)) mode = &kReplicate16;
  if (mode != nullptr) return e.write(i.operands[0], Type::b32, permuteByMode(e, *mode, pair, control));
  // Each nibble of the control value selects a byte; its top bit replicates that byte's sign instead.
  llvm::Value* result = e.b.getInt32(0);
  for (std::uint32_t k = 0; k < 4; ++k) {
    llvm::Value* const nibble = e.b.CreateLShr(control, k * 4);
    llvm::Value* const byte = byteAt(e, pair, nibble);
    llvm::Value* const sign = e.b.CreateAnd(e.b.CreateAShr(e.b.CreateShl(byte, 24), 31), e.b.getInt32(0xff));
    llvm::Value* const replicate = e.b.CreateICmpNE(e.b.CreateAnd(nibble, e.b.getInt32(8)), e.b.getInt32(0));
    result = e.b.CreateOr(result, e.b.CreateShl(e.b.CreateSelect(replicate, sign, byte), k * 8));
  }
  e.write(i.operands[0], Type::b32, result);
}

void lowerCount(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  const std::uint32_t bits = ptx::bitsOf(type);
  llvm::Value* x = e.read(i.operands[1], type);
  const auto leadingZeros = [&](llvm::Value* value) {
    return e.b.CreateZExtOrTrunc(e.b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, value, e.b.getFalse()), e.bits(32));
  };
  switch (i.opcode) {
    case Opcode::popc:
      return e.write(i.operands[0], Type::u32,
                     e.b.CreateZExtOrTrunc(e.b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, x), e.bits(32)));
    case Opcode::clz:
      return e.write(i.operands[0], Type::u32, leadingZeros(x));
    case Opcode::brev:
      return e.write(i.operands[0], type, e.b.CreateUnaryIntrinsic(llvm::Intrinsic::bitreverse, x));
    default:
      break;
  }
  // bfind: the most significant bit that differs from the sign, or of value 1 for unsigned types; all ones if there is
  // none.
  if (ptx::isSigned(type)) x = e.b.CreateSelect(e.b.CreateICmpSLT(x, e.integer(bits, 0)), e.b.CreateNot(x), x);
  llvm::Value* const zeros = leadingZeros(x);
  llvm::Value* const found = i.has(Modifier::shiftamt) ? zeros : e.b.CreateSub(e.b.getInt32(bits - 1), zeros);
  e.write(i.operands[0], Type::u32,
          e.b.CreateSelect(e.b.CreateICmpEQ(x, e.integer(bits, 0)), e.b.getInt32(~std::uint32_t{0}), found));
}

}  // namespace rouse::cpu::codegen
