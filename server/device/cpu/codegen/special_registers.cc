// Predefined registers (PTX ISA, "Special Registers"), from the thread's and the block's context.
#include "server/device/cpu/codegen/families.h"

namespace rouse::cpu::codegen {
namespace {

using ptx::SpecialRegister;

constexpr std::uint32_t kWarpsOfMultiprocessor = 64;  // CUDA C++ Programming Guide, compute capability 8.0

// ThreadContext or BlockContext holds three components; w reads zero.
llvm::Value* component(Emitter& e, const Operand& operand, bool ofThread, std::size_t offset) {
  if (operand.component > 2) return e.b.getInt32(0);
  const std::size_t at = offset + operand.component * sizeof(std::uint32_t);
  return ofThread ? e.threadField(at, 32) : e.blockField(at, 32);
}

llvm::Value* lane(Emitter& e) { return e.threadField(offsetof(ThreadContext, lane), 32); }
llvm::Value* laneBit(Emitter& e) { return e.b.CreateShl(e.b.getInt32(1), lane(e)); }
llvm::Value* below(Emitter& e) { return e.b.CreateSub(laneBit(e), e.b.getInt32(1)); }

llvm::Value* clock(Emitter& e) { return e.callExternal("rouse_cpu_clock", e.b.getInt64Ty(), {}); }
llvm::Value* low(Emitter& e, llvm::Value* value) { return e.b.CreateTrunc(value, e.b.getInt32Ty()); }
llvm::Value* high(Emitter& e, llvm::Value* value) { return low(e, e.b.CreateLShr(value, 32)); }

llvm::Value* reservedShared(Emitter& e, std::uint32_t offset) {  // reservedSharedOffset(), and so much more
  llvm::Value* const bytes = e.blockField(offsetof(BlockContext, sharedBytes), 32);
  llvm::Value* const own = e.b.CreateAdd(e.b.CreateAnd(e.b.CreateAdd(bytes, e.b.getInt32(127)), e.b.getInt32(~127u)), e.b.getInt32(offset));
  return e.module().clustered() ? e.b.CreateAdd(own, e.blockField(offsetof(BlockContext, clusterShared), 32)) : own;
}

// Of a block's place in its cluster; null: no such register.
llvm::Value* inCluster(Emitter& e, const Operand& operand) {
  const auto part = [&](std::size_t offset) { return component(e, operand, false, offsetof(BlockContext, cluster) + offset); };
  switch (operand.special) {
    case SpecialRegister::clusterid:
      return part(offsetof(ClusterPlace, id));
    case SpecialRegister::nclusterid:
      return part(offsetof(ClusterPlace, count));
    case SpecialRegister::cluster_ctaid:
      return part(offsetof(ClusterPlace, ctaid));
    case SpecialRegister::cluster_nctaid:
      return part(offsetof(ClusterPlace, nctaid));
    case SpecialRegister::cluster_ctarank:
      return e.blockField(offsetof(BlockContext, cluster) + offsetof(ClusterPlace, rank), 32);
    case SpecialRegister::cluster_nctarank:
      return e.blockField(offsetof(BlockContext, cluster) + offsetof(ClusterPlace, blocks), 32);
    case SpecialRegister::is_explicit_cluster:
      return e.b.getTrue();
    default:
      return nullptr;
  }
}

}  // namespace

llvm::Value* emitSpecialRegister(Emitter& e, const Operand& operand) {
  if (e.module().clustered())
    if (llvm::Value* const found = inCluster(e, operand)) return found;
  switch (operand.special) {
    case SpecialRegister::tid:
      return component(e, operand, true, offsetof(ThreadContext, tid));
    case SpecialRegister::ntid:
      return component(e, operand, false, offsetof(BlockContext, ntid));
    // But in clusters every block is one of its own.
    case SpecialRegister::clusterid:
    case SpecialRegister::ctaid:
      return component(e, operand, false, offsetof(BlockContext, ctaid));
    case SpecialRegister::nclusterid:
    case SpecialRegister::nctaid:
      return component(e, operand, false, offsetof(BlockContext, nctaid));
    case SpecialRegister::cluster_ctaid:
      return e.b.getInt32(0);
    case SpecialRegister::cluster_nctaid:
      return e.b.getInt32(operand.component < 3 ? 1 : 0);
    case SpecialRegister::cluster_ctarank:
      return e.b.getInt32(0);
    case SpecialRegister::cluster_nctarank:
      return e.b.getInt32(1);
    case SpecialRegister::is_explicit_cluster:
      return e.b.getFalse();
    case SpecialRegister::laneid:
      return lane(e);
    case SpecialRegister::warpid:
      return e.threadField(offsetof(ThreadContext, warp), 32);
    case SpecialRegister::nwarpid:
      return e.b.getInt32(kWarpsOfMultiprocessor);
    case SpecialRegister::smid:
      return e.b.getInt32(0);
    case SpecialRegister::nsmid:
      return e.b.getInt32(1);
    case SpecialRegister::gridid:
      return e.blockField(offsetof(BlockContext, gridId), 64);
    case SpecialRegister::lanemask_eq:
      return laneBit(e);
    case SpecialRegister::lanemask_lt:
      return below(e);
    case SpecialRegister::lanemask_le:
      return e.b.CreateOr(below(e), laneBit(e));
    case SpecialRegister::lanemask_ge:
      return e.b.CreateNot(below(e));
    case SpecialRegister::lanemask_gt:
      return e.b.CreateNot(e.b.CreateOr(below(e), laneBit(e)));
    case SpecialRegister::clock:
    case SpecialRegister::globaltimer_lo:
      return low(e, clock(e));
    case SpecialRegister::clock_hi:
    case SpecialRegister::globaltimer_hi:
      return high(e, clock(e));
    case SpecialRegister::clock64:
    case SpecialRegister::globaltimer:
      return clock(e);
    case SpecialRegister::dynamic_smem_size:
      return e.blockField(offsetof(BlockContext, dynamicSharedBytes), 32);
    case SpecialRegister::total_smem_size:
    case SpecialRegister::aggr_smem_size:
      return e.blockField(offsetof(BlockContext, sharedBytes), 32);
    case SpecialRegister::reserved_smem_offset_begin:
      return reservedShared(e, 0);
    case SpecialRegister::reserved_smem_offset:
      return reservedShared(e, kReservedSharedSecondPart);
    case SpecialRegister::reserved_smem_offset_end:
      return reservedShared(e, kReservedSharedBytes);
    case SpecialRegister::reserved_smem_offset_cap:
      return e.b.getInt32(kReservedSharedBytes);
    case SpecialRegister::envreg1:
      return high(e, e.blockField(offsetof(BlockContext, gridWorkspace), 64));
    case SpecialRegister::envreg2:
      return low(e, e.blockField(offsetof(BlockContext, gridWorkspace), 64));
    // Other environment registers belong to the driver, performance counters to the hardware.
    case SpecialRegister::envreg:
    case SpecialRegister::pm:
      return e.b.getInt32(0);
    case SpecialRegister::current_graph_exec:
    case SpecialRegister::pm64:
    case SpecialRegister::count:
      break;
  }
  return e.b.getInt64(0);
}

}  // namespace rouse::cpu::codegen
