// Operations across the lanes of a warp: the runtime gathers the lanes (abi.h).
#include "server/device/cpu/codegen/families.h"

namespace rouse::cpu::codegen {
namespace {

llvm::Value* lowWord(Emitter& e, llvm::Value* value) { return e.b.CreateTrunc(value, e.b.getInt32Ty()); }

llvm::Value* bit32(Emitter& e, llvm::Value* value) {
  return e.b.CreateTrunc(e.b.CreateLShr(value, 32), e.b.getInt1Ty());
}

}  // namespace

void lowerShuffle(Emitter& e, const Instruction& i) {
  const std::uint32_t mode = i.has(Modifier::up) ? 0 : i.has(Modifier::down) ? 1 : i.has(Modifier::bfly) ? 2 : 3;
  llvm::Value* const result = e.callExternal(
      "rouse_cpu_shuffle", e.b.getInt64Ty(),
      {e.thread(), e.b.getInt32(mode), e.read(i.operands[1], Type::b32), e.read(i.operands[2], Type::b32),
       e.read(i.operands[3], Type::b32), e.read(i.operands[4], Type::b32)});
  e.write(i.operands[0], Type::b32, lowWord(e, result));
  if (i.hasSecond) e.write(i.second, Type::pred, bit32(e, result));
}

void lowerVote(Emitter& e, const Instruction& i) {
  const std::uint32_t mode = i.has(Modifier::all) ? 0 : i.has(Modifier::any) ? 1 : i.has(Modifier::uni) ? 2 : 3;
  llvm::Value* const predicate = e.b.CreateZExt(e.readPredicate(i.operands[1]), e.b.getInt32Ty());
  llvm::Value* const result =
      e.callExternal("rouse_cpu_vote", e.b.getInt32Ty(),
                     {e.thread(), e.b.getInt32(mode), predicate, e.read(i.operands[2], Type::b32)});
  if (mode == 3) return e.write(i.operands[0], Type::b32, result);
  e.write(i.operands[0], Type::pred, e.b.CreateICmpNE(result, e.b.getInt32(0)));
}

void lowerMatch(Emitter& e, const Instruction& i) {
  llvm::Value* const value = e.b.CreateZExt(e.read(i.operands[1], i.type()), e.b.getInt64Ty());
  llvm::Value* const result =
      e.callExternal("rouse_cpu_match", e.b.getInt64Ty(),
                     {e.thread(), e.b.getInt32(i.has(Modifier::all)), value, e.read(i.operands[2], Type::b32)});
  e.write(i.operands[0], Type::b32, lowWord(e, result));
  if (i.hasSecond) e.write(i.second, Type::pred, bit32(e, result));
}

void lowerRedux(Emitter& e, const Instruction& i) {
  std::uint32_t operation = 0;
  if (i.has(Modifier::min)) operation = 1;
  if (i.has(Modifier::max)) operation = 2;
  if (i.has(Modifier::op_and)) operation = 3;
  if (i.has(Modifier::op_or)) operation = 4;
  if (i.has(Modifier::op_xor)) operation = 5;
  e.write(i.operands[0], i.type(),
          e.callExternal("rouse_cpu_redux", e.b.getInt32Ty(),
                         {e.thread(), e.b.getInt32(operation), e.b.getInt32(ptx::isSigned(i.type())),
                          e.read(i.operands[1], Type::b32), e.read(i.operands[2], Type::b32)}));
}

// The lowest of the lanes that are asked.
void lowerElect(Emitter& e, const Instruction& i) {
  llvm::Value* const mask = e.read(i.operands[1], Type::b32);
  e.callExternal("rouse_cpu_warp_sync", e.b.getVoidTy(), {e.thread(), mask});
  llvm::Value* const leader = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, mask, e.b.getFalse());
  Operand lane;
  lane.kind = Operand::Kind::special;
  lane.special = ptx::SpecialRegister::laneid;
  e.write(i.operands[0], Type::b32, leader);
  if (i.hasSecond) e.write(i.second, Type::pred, e.b.CreateICmpEQ(leader, emitSpecialRegister(e, lane)));
}

void lowerActiveMask(Emitter& e, const Instruction& i) {
  e.write(i.operands[0], Type::b32, e.callExternal("rouse_cpu_activemask", e.b.getInt32Ty(), {e.thread()}));
}

void lowerNanosleep(Emitter& e, const Instruction&) {
  e.callExternal("rouse_cpu_yield", e.b.getVoidTy(), {e.thread()});
}

}  // namespace rouse::cpu::codegen
