// Extended-precision arithmetic: chains through the condition code register CC.CF (PTX ISA, "Extended-Precision Integer
// Arithmetic Instructions").
#include "server/device/cpu/codegen/families.h"

namespace rouse::cpu::codegen {
namespace {

using ptx::Opcode;

// x ± y ± carry-in with the carry or borrow out.
struct Sum {
  llvm::Value* value;
  llvm::Value* carry;
};

Sum combine(Emitter& e, llvm::Value* x, llvm::Value* y, bool subtract, bool carryIn) {
  const auto operation = subtract ? llvm::Intrinsic::usub_with_overflow : llvm::Intrinsic::uadd_with_overflow;
  llvm::Value* const first = e.b.CreateBinaryIntrinsic(operation, x, y);
  Sum sum{e.b.CreateExtractValue(first, 0), e.b.CreateExtractValue(first, 1)};
  if (carryIn) {
    llvm::Value* const in = e.b.CreateZExt(e.b.CreateLoad(e.b.getInt1Ty(), e.carry()), x->getType());
    llvm::Value* const second = e.b.CreateBinaryIntrinsic(operation, sum.value, in);
    sum.value = e.b.CreateExtractValue(second, 0);
    sum.carry = e.b.CreateOr(sum.carry, e.b.CreateExtractValue(second, 1));
  }
  return sum;
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
  const Sum sum = combine(e, x, y, i.opcode == Opcode::sub || i.opcode == Opcode::subc, carryIn);
  if (i.has(Modifier::cc)) e.b.CreateStore(sum.carry, e.carry());
  e.write(i.operands[0], type, sum.value);
}

}  // namespace rouse::cpu::codegen
