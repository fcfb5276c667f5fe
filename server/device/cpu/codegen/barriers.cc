// bar, barrier (PTX ISA, "bar{.cta}, barrier{.cta}", "bar.warp.sync", "barrier.cluster").
#include "server/device/cpu/codegen/families.h"

namespace rouse::cpu::codegen {
namespace {

llvm::Value* numberOf(Emitter& e, const Operand& operand) { return e.b.CreateAnd(e.read(operand, Type::b32), e.b.getInt32(kNumberedBarriers - 1)); }

}  // namespace

void lowerBarrier(Emitter& e, const Instruction& i) {
  llvm::Type* const nothing = e.b.getVoidTy();
  if (i.has(Modifier::warp)) {
    e.callExternal("rouse_cpu_warp_sync", nothing, {e.thread(), e.read(i.operands[0], Type::b32)});
    return;
  }
  // A block without others is a cluster of its own. Its threads wait where all of them have arrived, so all meet there. Barrier 0 is the one of all of a block's threads; which of them wait at it for this and which for that
  // makes no difference, since each comes to both in the end.
  if (i.has(Modifier::cluster)) {
    if (e.module().clustered()) {
      e.noteMisaligned();
      e.callExternal(i.has(Modifier::arrive) ? "rouse_cpu_cluster_arrive" : "rouse_cpu_cluster_wait", nothing, {e.thread()});
      return;
    }
    if (i.has(Modifier::arrive)) return;
    e.noteMisaligned();
    e.callExternal("rouse_cpu_barrier", nothing, {e.thread(), e.b.getInt32(0), e.b.getInt32(0)});
    return;
  }
  e.noteMisaligned();  // rather than keeping it while the thread waits
  if (!i.has(Modifier::red)) {
    llvm::Value* const count = i.operands.size() > 1 ? e.read(i.operands[1], Type::b32) : e.b.getInt32(0);
    e.callExternal(i.has(Modifier::arrive) ? "rouse_cpu_barrier_arrive" : "rouse_cpu_barrier", nothing,
                   {e.thread(), numberOf(e, i.operands[0]), count});
    return;
  }
  // d, a [, b], predicate
  llvm::Value* const count = i.operands.size() > 3 ? e.read(i.operands[2], Type::b32) : e.b.getInt32(0);
  const std::uint32_t operation = i.has(Modifier::popc) ? 0 : i.has(Modifier::op_and) ? 1 : 2;
  llvm::Value* const predicate = e.b.CreateZExt(e.readPredicate(i.operands.back()), e.b.getInt32Ty());
  llvm::Value* const result =
      e.callExternal("rouse_cpu_barrier_reduce", e.b.getInt32Ty(),
                     {e.thread(), numberOf(e, i.operands[1]), count, e.b.getInt32(operation), predicate});
  if (i.type() == Type::pred) {
    e.write(i.operands[0], Type::pred, e.b.CreateICmpNE(result, e.b.getInt32(0)));
  } else {
    e.write(i.operands[0], Type::b32, result);
  }
}

}  // namespace rouse::cpu::codegen
