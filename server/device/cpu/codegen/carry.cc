// Extended-precision arithmetic: chains through the condition code register CC.CF (PTX ISA, "Extended-Precision Integer
// Arithmetic Instructions").
#include "server/device/cpu/codegen/families.h"

namespace rouse::cpu::codegen {
namespace {

using ptx::Opcode;

struct Sum {
  llvm::Value* value;
  llvm::Value* carry;
};

// x + y + carryIn (an i1, or null for 0) with the carry out.
Sum add(Emitter& e, llvm::Value* x, llvm::Value* y, llvm::Value* carryIn) {
  llvm::Value* const first = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::uadd_with_overflow, x, y);
  Sum sum{e.b.CreateExtractValue(first, 0), e.b.CreateExtractValue(first, 1)};
  if (carryIn != nullptr) {
    llvm::Value* const second = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::uadd_with_overflow, sum.value,
                                                          e.b.CreateZExt(carryIn, x->getType()));
    sum.value = e.b.CreateExtractValue(second, 0);
    sum.carry = e.b.CreateOr(sum.carry, e.b.CreateExtractValue(second, 1));
  }
  return sum;
}

// x - y - borrow is x + ~y + CC.CF, with CC.CF the carry of that sum: set when nothing was borrowed. The ISA leaves open how
// a borrow is kept, chains of subtractions alone cannot tell; but the compiler's own 128-bit division ends a chain of
// subc.cc with addc and takes 1 for "no borrow".
Sum subtract(Emitter& e, llvm::Value* x, llvm::Value* y, llvm::Value* carryIn) {
  return add(e, x, e.b.CreateNot(y), carryIn != nullptr ? carryIn : e.b.getTrue());
}

}  // namespace

void lowerCarry(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  const std::uint32_t bits = ptx::bitsOf(type);
  const bool carryIn = i.opcode == Opcode::addc || i.opcode == Opcode::subc || i.opcode == Opcode::madc;
  llvm::Value* x = e.read(i.operands[1], type);
  llvm::Value* y = e.read(i.operands[2], type);
  if (i.opcode == Opcode::mad || i.opcode == Opcode::madc) {
    if (i.has(Modifier::lo)) {
      x = e.b.CreateMul(x, y);
    } else {
      const auto extend = [&](llvm::Value* value) {
        return ptx::isSigned(type) ? e.b.CreateSExt(value, e.bits(bits * 2)) : e.b.CreateZExt(value, e.bits(bits * 2));
      };
      x = e.b.CreateTrunc(e.b.CreateLShr(e.b.CreateMul(extend(x), extend(y)), bits), e.bits(bits));
    }
    y = e.read(i.operands[3], type);
  }
  llvm::Value* const in = carryIn ? e.b.CreateLoad(e.b.getInt1Ty(), e.carry()) : nullptr;
  const bool subtracts = i.opcode == Opcode::sub || i.opcode == Opcode::subc;
  const Sum sum = subtracts ? subtract(e, x, y, in) : add(e, x, y, in);
  if (i.has(Modifier::cc)) e.b.CreateStore(sum.carry, e.carry());
  e.write(i.operands[0], type, sum.value);
}

}  // namespace rouse::cpu::codegen
