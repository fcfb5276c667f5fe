// dp4a and dp2a (PTX ISA, "Integer Arithmetic Instructions").
#include "server/device/cpu/codegen/families.h"

namespace rouse::cpu::codegen {
namespace {

// Element `index` of `count` equal parts of a 32-bit value, extended to 32 bits.
llvm::Value* part(Emitter& e, llvm::Value* value, std::uint32_t index, std::uint32_t bits, bool isSigned) {
  llvm::Value* const narrow = e.b.CreateTrunc(e.b.CreateLShr(value, index * bits), e.bits(bits));
  return isSigned ? e.b.CreateSExt(narrow, e.bits(32)) : e.b.CreateZExt(narrow, e.bits(32));
}

}  // namespace

void lowerDotProduct(Emitter& e, const Instruction& i) {
  const bool isFour = i.opcode == ptx::Opcode::dp4a;
  llvm::Value* const x = e.read(i.operands[1], Type::b32);
  llvm::Value* const y = e.read(i.operands[2], Type::b32);
  llvm::Value* sum = e.read(i.operands[3], Type::b32);
  const bool xSigned = ptx::isSigned(i.type(0));
  const bool ySigned = ptx::isSigned(i.type(1));
  for (std::uint32_t k = 0; k < (isFour ? 4u : 2u); ++k) {
    llvm::Value* const left = part(e, x, k, isFour ? 8 : 16, xSigned);
    llvm::Value* const right = part(e, y, !isFour && i.has(Modifier::hi) ? k + 2 : k, 8, ySigned);
    sum = e.b.CreateAdd(sum, e.b.CreateMul(left, right));
  }
  e.write(i.operands[0], Type::b32, sum);
}

}  // namespace rouse::cpu::codegen
