// `if (edge) out[i] = a; else out[i] = b;`: what threads store to one place by either way is stored once, behind both. Side by side that is one store of all lanes, where each way's would leave some out.
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "server/device/cpu/codegen/passes.h"

namespace rouse::cpu::codegen {
namespace {

constexpr unsigned kDeepest = 8;

// What is left to do at the block's end, if nothing of memory comes behind it.
llvm::StoreInst* lastStore(llvm::BasicBlock& block) {
  for (llvm::Instruction& instruction : llvm::reverse(block)) {
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) return store->isSimple() ? store : nullptr;
    if (instruction.mayReadOrWriteMemory() || !instruction.willReturn()) return nullptr;
  }
  return nullptr;
}

// Whether both are computed alike, of the same.
bool areAlike(const llvm::Value* one, const llvm::Value* other, unsigned depth = 0) {
  if (one == other) return true;
  const auto *const x = llvm::dyn_cast<llvm::Instruction>(one), *const y = llvm::dyn_cast<llvm::Instruction>(other);
  if (x == nullptr || y == nullptr || depth == kDeepest || !x->isSameOperationAs(y)) return false;
  if (!x->isBinaryOp() && !x->isCast() && !llvm::isa<llvm::GetElementPtrInst>(x)) return false;
  for (unsigned k = 0; k < x->getNumOperands(); ++k) {
    if (!areAlike(x->getOperand(k), y->getOperand(k), depth + 1)) return false;
  }
  return true;
}

// The value, before `at`, which only a part of those that come there may have computed.
llvm::Value* madeAgain(llvm::Value* value, llvm::Instruction& at, const llvm::DominatorTree& dominators) {
  auto* const instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr || dominators.dominates(instruction, &at)) return value;
  llvm::Instruction* const again = instruction->clone();
  again->dropPoisonGeneratingFlags();
  again->dropUnknownNonDebugMetadata();
  for (llvm::Use& operand : again->operands()) operand.set(madeAgain(operand.get(), at, dominators));
  again->insertBefore(&at);
  return again;
}

bool joinBefore(llvm::BasicBlock& join) {
  llvm::SmallVector<llvm::StoreInst*, 4> stores;
  for (llvm::BasicBlock* before : llvm::predecessors(&join)) {
    if (before->getSingleSuccessor() != &join || before == &join || llvm::isa<llvm::SwitchInst>(before->getTerminator())) continue;
    if (llvm::StoreInst* const store = lastStore(*before)) stores.push_back(store);
  }
  if (stores.size() < 2) return false;
  llvm::StoreInst& first = *stores.front();
  llvm::Type* const type = first.getValueOperand()->getType();
  llvm::erase_if(stores, [&](llvm::StoreInst* store) {
    return !llvm::CastInst::isBitCastable(store->getValueOperand()->getType(), type) || !areAlike(store->getPointerOperand(), first.getPointerOperand());
  });
  if (stores.size() < 2) return false;
  llvm::SmallVector<llvm::BasicBlock*, 4> ways;
  for (llvm::StoreInst* store : stores) ways.push_back(store->getParent());
  llvm::BasicBlock* const place = ways.size() == llvm::pred_size(&join) ? &join : llvm::SplitBlockPredecessors(&join, ways, ".stores");
  llvm::Instruction& at = *place->getFirstInsertionPt();
  const llvm::DominatorTree dominators(*join.getParent());
  auto* const value = llvm::PHINode::Create(type, static_cast<unsigned>(stores.size()), "", place->begin());
  for (llvm::StoreInst* store : stores) {
    llvm::Value* const stored = store->getValueOperand();
    // Copies are of bits, whatever they are.
    value->addIncoming(stored->getType() == type ? stored : new llvm::BitCastInst(stored, type, "", store->getIterator()), store->getParent());
  }
  llvm::Align align = first.getAlign();
  llvm::MDNode* group = first.getMetadata(llvm::LLVMContext::MD_access_group);
  for (const llvm::StoreInst* store : stores) {
    align = std::min(align, store->getAlign());
    if (store->getMetadata(llvm::LLVMContext::MD_access_group) != group) group = nullptr;
  }
  auto* const joined = new llvm::StoreInst(value, madeAgain(first.getPointerOperand(), at, dominators), false, align, at.getIterator());
  joined->setMetadata(llvm::LLVMContext::MD_access_group, group);
  for (llvm::StoreInst* store : stores) store->eraseFromParent();
  return true;
}

}  // namespace

void joinStores(llvm::Function& function) {
  const llvm::DominatorTree dominators(function);
  llvm::SmallVector<llvm::BasicBlock*, 16> joins;
  for (llvm::BasicBlock& block : function) {
    // Not a loop's way back.
    const bool isHeader = llvm::any_of(llvm::predecessors(&block), [&](const llvm::BasicBlock* before) { return dominators.dominates(&block, before); });
    if (!isHeader && llvm::pred_size(&block) >= 2) joins.push_back(&block);
  }
  for (llvm::BasicBlock* join : joins) {
    while (joinBefore(*join)) {
    }
  }
}

}  // namespace rouse::cpu::codegen
