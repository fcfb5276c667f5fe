// All threads of a block in three nested loops around the kernel's body (abi.h, BlockLoop).
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <array>

#include "server/device/cpu/codegen/lanes.h"
#include "server/device/cpu/codegen/passes.h"
#include "server/device/cpu/codegen/step_function.h"
#include "server/device/cpu/codegen/thread_loops.h"

namespace rouse::cpu::codegen {

namespace {

// Whether a thread does little, so that what it reads again after a row of several blocks is still near.
bool isShort(llvm::Function& body) { return llvm::LoopInfo(llvm::DominatorTree(body)).empty(); }

// Whether it asks its contexts for numbers only, and for none but the number of its block that blocks of a row do not share. `loads`: those of the block's.
bool isForRows(llvm::Function& body, llvm::SmallVectorImpl<llvm::LoadInst*>& loads) {
  const llvm::DataLayout& layout = body.getParent()->getDataLayout();
  struct Pointer {
    llvm::Value* value;
    std::int64_t offset;
    bool isBlock;
  };
  llvm::SmallVector<Pointer, 16> work{{body.getArg(0), 0, false}};
  while (!work.empty()) {
    const Pointer at = work.pop_back_val();
    for (llvm::User* user : at.value->users()) {
      if (auto* moved = llvm::dyn_cast<llvm::GetElementPtrInst>(user)) {
        llvm::APInt offset(64, 0);
        if (!moved->accumulateConstantOffset(layout, offset)) return false;
        work.push_back({moved, at.offset + offset.getSExtValue(), at.isBlock});
      } else if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
        const bool isNumber = load->getType()->isIntegerTy() || load->getType()->isFloatingPointTy();
        if (at.isBlock) {
          if (at.offset == offsetof(BlockContext, shared) || (!isNumber && at.offset != offsetof(BlockContext, variables))) return false;
          loads.push_back(load);
        } else if (!isNumber) {
          if (at.offset != offsetof(ThreadContext, block)) return false;
          work.push_back({load, 0, true});
        }
      } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
        if (at.isBlock || store->getValueOperand() == at.value) return false;
      } else {
        return false;
      }
    }
  }
  return true;
}

// Of which a loop is made; the threads of one share what each alone may take for its own.
llvm::Function* cloneToInline(llvm::Function& body) {
  llvm::ValueToValueMapTy map;
  llvm::Function* const inlined = llvm::CloneFunction(&body, map);
  inlined->setLinkage(llvm::GlobalValue::InternalLinkage);
  dropNoAlias(*inlined);
  return inlined;
}

}  // namespace

bool addBlockLoop(llvm::Module& module, llvm::Function& body, llvm::StringRef name, llvm::TargetMachine* target, Code code) {
  llvm::Function* const inlined = cloneToInline(body);
  llvm::Function* const function = makeLoopFunction(module, name);
  llvm::IRBuilder<> b(&function->getEntryBlock());
  const SideBySide made = target == nullptr ? SideBySide{} : sideBySideTogether(*inlined, neighboursOf(code), *target);
  llvm::SmallVector<llvm::LoadInst*, 16> loads;
  const bool rows = isShort(*inlined) && llvm::all_of(std::array{made.lanes != nullptr ? made.lanes : inlined, made.together, made.goTogether},
                                                      [&](llvm::Function* function) { return function == nullptr || isForRows(*function, loads); });
  if (rows) {  // the number of the block changes
    for (llvm::LoadInst* load : loads) load->setMetadata(llvm::LLVMContext::MD_invariant_load, nullptr);
  }
  ThreadLoops loops(b, rows);
  const auto inlineCall = [&](llvm::Function* callee, llvm::ArrayRef<llvm::Value*> arguments) {
    llvm::CallInst* const call = b.CreateCall(callee, arguments);
    call->addFnAttr(llvm::Attribute::AlwaysInline);
    return call;
  };
  if (made.lanes != nullptr) {
    allowLanes(*function);
    loops.forAllBy(lanesOf(neighboursOf(code)), [&](llvm::Value* count) {
      if (made.together == nullptr) {
        inlineCall(made.lanes, {loops.thread(), loops.parameters(), count});
        return;
      }
      llvm::BasicBlock* const together = llvm::BasicBlock::Create(b.getContext(), "together", function);
      llvm::BasicBlock* const rest = llvm::BasicBlock::Create(b.getContext(), "rest", function);
      llvm::BasicBlock* const next = llvm::BasicBlock::Create(b.getContext(), "next", function);
      b.CreateCondBr(inlineCall(made.goTogether, {loops.thread(), loops.parameters()}), together, rest, llvm::MDBuilder(b.getContext()).createLikelyBranchWeights());
      b.SetInsertPoint(together);
      inlineCall(made.together, {loops.thread(), loops.parameters(), count});
      b.CreateBr(next);
      b.SetInsertPoint(rest);
      inlineCall(made.lanes, {loops.thread(), loops.parameters(), count});
      b.CreateBr(next);
      b.SetInsertPoint(next);
    });
    inlined->eraseFromParent();
  } else {
    loops.forAll([&] { inlineCall(inlined, {loops.thread(), loops.parameters()}); });
  }
  loops.noteMisaligned();
  b.CreateRetVoid();
  return rows;
}

bool addWarpLoop(llvm::Module& module, llvm::Function& body, llvm::StringRef name, llvm::TargetMachine& target, Code code, const std::function<void(llvm::Function&)>& tidy) {
  llvm::Function* const inlined = cloneToInline(body);
  llvm::Function* lanes = nullptr;
  if (numberFlat(*inlined, code)) {
    tidy(*inlined);
    lanes = sideBySide(*inlined, Beside::warps, target);
  }
  inlined->eraseFromParent();
  if (lanes == nullptr) return false;
  llvm::Function* const function = makeLoopFunction(module, name);
  llvm::IRBuilder<> b(&function->getEntryBlock());
  ThreadLoops loops(b);
  allowLanes(*function);
  loops.forWarps([&](llvm::Value* count) { b.CreateCall(lanes, {loops.thread(), loops.parameters(), count})->addFnAttr(llvm::Attribute::AlwaysInline); });
  loops.noteMisaligned();
  b.CreateRetVoid();
  return true;
}

}  // namespace rouse::cpu::codegen
