#include "server/device/cpu/codegen/lanes.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "server/device/cpu/codegen/barrier_objects.h"
#include "server/device/cpu/codegen/lane_calls.h"
#include "server/device/cpu/codegen/lane_emitter.h"
#include "server/device/cpu/codegen/lane_way.h"
#include "server/device/cpu/codegen/matrix_registers.h"
#include "server/device/cpu/codegen/passes.h"
#include "server/device/cpu/codegen/warp_calls.h"

namespace rouse::cpu::codegen {
namespace {

constexpr std::size_t kMostBlocks = 768;
constexpr std::size_t kMostInstructions = 64000;
constexpr const char* kVectorWidth = "min-legal-vector-width";
constexpr const char* kInTurn = "rouse-in-turn";
constexpr std::uint64_t kMostLocalBytes = 1024;  // of a thread's variables: all lanes' are on one stack

// Whether it may be mostly calls that lanes would make one after the other: in a loop, or each time and there is no loop. Then threads are as well done one by one.
bool mostlyCalls(llvm::Function& function) {
  llvm::SmallVector<const llvm::CallInst*, 8> calls;
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    const auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call != nullptr && !changesObject(*call) && isMadeByLane(*call) && !isRarelyMade(*call)) calls.push_back(call);
  }
  if (calls.empty()) return false;
  const llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  const auto isEachTime = [&](const llvm::CallInst* call) {
    return llvm::all_of(function, [&](const llvm::BasicBlock& block) {
      return !llvm::isa<llvm::ReturnInst>(block.getTerminator()) || dominators.dominates(call->getParent(), &block);
    });
  };
  return llvm::any_of(calls, [&](const llvm::CallInst* call) { return loops.getLoopFor(call->getParent()) != nullptr || (loops.empty() && isEachTime(call)); });
}

}  // namespace

bool hasLanes(const llvm::TargetMachine& target) { return target.getMCSubtargetInfo()->checkFeatures("+avx2"); }

bool hasMasks(const llvm::TargetMachine& target) { return target.getMCSubtargetInfo()->checkFeatures("+avx512f,+avx512bw,+avx512dq,+avx512vl"); }

void allowLanes(llvm::Function& function) {
  function.addFnAttr("prefer-vector-width", "512");
  function.addFnAttr(kVectorWidth, "512");
}

bool allowsLanes(const llvm::Function& function) { return function.hasFnAttribute(kVectorWidth); }

void noteInTurn(llvm::Function& function) { function.addFnAttr(kInTurn); }

bool isInLanes(const llvm::Module& module, llvm::StringRef loop) {
  const llvm::Function* const function = module.getFunction(loop);
  return function != nullptr && allowsLanes(*function) && llvm::none_of(module, [](const llvm::Function& each) { return each.hasFnAttribute(kInTurn); });
}

bool mayBeSideBySide(const llvm::Function& function) {
  const std::size_t instructions = function.getInstructionCount();
  return function.size() <= kMostBlocks && instructions <= kMostInstructions && hasLaneForms(function);
}

bool hasLaneForms(const llvm::Function& function) {
  std::uint64_t localBytes = 0;
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    if (instruction.isVolatile() && !llvm::isa<llvm::LoadInst>(instruction) && !llvm::isa<llvm::StoreInst>(instruction)) return false;
    if (const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction); variable != nullptr && !isMatrixRegisters(*variable)) {
      if (!variable->isStaticAlloca()) return false;
      localBytes += laneBytes(*variable);
      if (localBytes > kMostLocalBytes) return false;
    }
    const auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    const llvm::Function* const callee = call == nullptr ? nullptr : call->getCalledFunction();
    if (call != nullptr && !changesObject(*call) && !isMadeByLane(*call) && (callee == nullptr || !callee->isDeclaration())) return false;
  }
  return true;
}

namespace {

// Whether anything may be gained.
bool mayGoBeside(llvm::Function& scalar, Beside beside) { return mayBeSideBySide(scalar) && (areOfWarp(beside) || !mostlyCalls(scalar)); }

llvm::Function* cloneStraight(llvm::Function& scalar, llvm::TargetMachine& target) {
  llvm::ValueToValueMapTy map;
  llvm::Function* const from = llvm::CloneFunction(&scalar, map);
  straighten(*from, target);
  return from;
}

// Null where that cannot be done.
llvm::Function* emitLanes(llvm::Function& from, const llvm::Twine& name, Beside beside, Present present, bool hasMasks, bool mayWrap = true) {
  llvm::SmallVector<llvm::Type*, 12> types(from.getFunctionType()->params());
  types.push_back(llvm::Type::getInt32Ty(from.getContext()));
  auto* const to = llvm::Function::Create(llvm::FunctionType::get(from.getReturnType(), types, false), llvm::GlobalValue::InternalLinkage, name, *from.getParent());
  for (const llvm::Attribute::AttrKind kind : {llvm::Attribute::NoUnwind, llvm::Attribute::NullPointerIsValid}) {
    if (from.hasFnAttribute(kind)) to->addFnAttr(kind);
  }
  allowLanes(*to);
  to->addFnAttr("probe-stack", "inline-asm");
  LaneEmitter emitter(from, *to, beside, present, hasMasks, mayWrap);
  if (emitter.covers() && (areOfWarp(beside) || !emitter.isBetterAlone())) {
    emitter.emit();
    return to;
  }
  to->eraseFromParent();
  return nullptr;
}

}  // namespace

llvm::Function* sideBySide(llvm::Function& scalar, Beside beside, llvm::TargetMachine& target, Present present) {
  if (!mayGoBeside(scalar, beside)) return nullptr;
  llvm::Function* const from = cloneStraight(scalar, target);
  llvm::Function* const to = emitLanes(*from, scalar.getName() + ".lanes", beside, present, hasMasks(target));
  from->eraseFromParent();
  return to;
}

SideBySide sideBySideTogether(llvm::Function& scalar, Beside beside, llvm::TargetMachine& target) {
  SideBySide made;
  if (!mayGoBeside(scalar, beside)) return made;
  llvm::Function* const from = cloneStraight(scalar, target);
  if (areAll(beside) && !hasMasks(target)) {
    const LaneWay way(*from, beside);
    if (way.isWorth()) {
      llvm::Function* const alone = way.addAlone();
      made.together = emitLanes(*alone, scalar.getName() + ".together", beside, Present::all, false, false);
      alone->eraseFromParent();
      if (made.together != nullptr) made.goTogether = way.addTest(scalar.getName() + ".way");
    }
  }
  made.lanes = emitLanes(*from, scalar.getName() + ".lanes", beside, Present::all, hasMasks(target));
  from->eraseFromParent();
  return made;
}

}  // namespace rouse::cpu::codegen
