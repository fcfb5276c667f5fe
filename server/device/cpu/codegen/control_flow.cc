// Branches, returns, traps (PTX ISA, "Control Flow Instructions", "Miscellaneous Instructions").
#include "server/device/cpu/codegen/families.h"

namespace rouse::cpu::codegen {

void lowerBranch(Emitter& e, const Instruction& i) { e.b.CreateBr(e.label(i.operands[0].index)); }

// An index beyond the list is undefined in PTX; it takes the last target here.
void lowerIndexedBranch(Emitter& e, const Instruction& i) {
  const std::vector<std::uint32_t>& targets = e.source().targetLists[i.operands[1].index];
  llvm::SwitchInst* const branch = e.b.CreateSwitch(e.read(i.operands[0], Type::u32), e.label(targets.back()),
                                                    static_cast<unsigned>(targets.size()));
  for (std::uint32_t k = 0; k + 1 < targets.size(); ++k) branch->addCase(e.b.getInt32(k), e.label(targets[k]));
}

void lowerReturn(Emitter& e, const Instruction& i) { e.returnFromFunction(i.opcode == ptx::Opcode::exit); }

void lowerTrap(Emitter& e, const Instruction& i) {
  e.callExternal("rouse_cpu_trap", e.b.getVoidTy(), {e.thread(), e.b.getInt32(i.opcode == ptx::Opcode::brkpt)});
  e.b.CreateUnreachable();
}

}  // namespace rouse::cpu::codegen
