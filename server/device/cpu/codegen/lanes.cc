#include "server/device/cpu/codegen/lanes.h"

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "server/device/cpu/codegen/lane_emitter.h"
#include "server/device/cpu/codegen/passes.h"

namespace rouse::cpu::codegen {

bool hasLanes(const llvm::TargetMachine& target) { return target.getMCSubtargetInfo()->checkFeatures("+avx512f,+avx512bw,+avx512dq,+avx512vl"); }

void allowLanes(llvm::Function& function) {
  function.addFnAttr("prefer-vector-width", "512");
  function.addFnAttr("min-legal-vector-width", "512");
}

llvm::Function* sideBySide(llvm::Function& scalar, unsigned lanes, llvm::TargetMachine& target) {
  llvm::ValueToValueMapTy map;
  llvm::Function* const from = llvm::CloneFunction(&scalar, map);
  straighten(*from, target);
  llvm::SmallVector<llvm::Type*, 12> types(scalar.getFunctionType()->params());
  types.push_back(llvm::Type::getInt32Ty(scalar.getContext()));
  auto* const to = llvm::Function::Create(llvm::FunctionType::get(scalar.getReturnType(), types, false), llvm::GlobalValue::InternalLinkage,
                                          scalar.getName() + ".lanes", *scalar.getParent());
  for (const llvm::Attribute::AttrKind kind : {llvm::Attribute::NoUnwind, llvm::Attribute::NullPointerIsValid}) {
    if (scalar.hasFnAttribute(kind)) to->addFnAttr(kind);
  }
  allowLanes(*to);
  LaneEmitter emitter(*from, *to, lanes);
  const bool covered = emitter.covers();
  if (covered) emitter.emit();
  from->eraseFromParent();
  if (covered) return to;
  to->eraseFromParent();
  return nullptr;
}

}  // namespace rouse::cpu::codegen
