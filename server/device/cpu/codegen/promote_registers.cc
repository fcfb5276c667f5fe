#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>
#include <llvm/Transforms/Utils/SSAUpdater.h>

#include "server/device/cpu/codegen/passes.h"

namespace rouse::cpu::codegen {
namespace {

// LLVM's own promotion (PromoteMemToReg) walks all that a variable's first store dominates, and that of a register is in the prologue: for each
// register the whole function. Below so many blocks nobody notices, and it is the better one.
constexpr std::size_t kManyBlocks = 1000;

using Accesses = llvm::SmallVector<llvm::Instruction*, 8>;

// All loads and stores of a variable that is nothing but loaded and stored whole; none for any other.
Accesses accessesOf(llvm::AllocaInst& variable) {
  Accesses accesses;
  if (!variable.getAllocatedType()->isSingleValueType() || !llvm::isAllocaPromotable(&variable)) return accesses;
  for (llvm::User* user : variable.users()) {
    const bool whole = llvm::isa<llvm::LoadInst, llvm::StoreInst>(user) && llvm::getLoadStoreType(user) == variable.getAllocatedType();
    if (!whole) return {};
    accesses.push_back(llvm::cast<llvm::Instruction>(user));
  }
  return accesses;
}

class Promoter : public llvm::LoadAndStorePromoter {
 public:
  Promoter(const Accesses& accesses, llvm::SSAUpdater& updater, const llvm::AllocaInst& variable)
      : LoadAndStorePromoter(llvm::SmallVector<const llvm::Instruction*, 8>(accesses.begin(), accesses.end()), updater, variable.getName()),
        variable_(variable) {}

  bool isInstInList(llvm::Instruction* instruction, const llvm::SmallVectorImpl<llvm::Instruction*>&) const override {
    return llvm::getLoadStorePointerOperand(instruction) == &variable_;
  }

 private:
  const llvm::AllocaInst& variable_;
};

// What a block stores in a variable its later loads have, and of several stores the last one stays. Afterwards a block loads and stores each variable
// once at most: both promotions walk a block from its beginning for each variable that it loads and stores, which in a kernel that is one straight line of tens
// of thousands of registers is for each register the whole kernel.
void forwardInBlocks(llvm::Function& function, const llvm::SmallPtrSetImpl<const llvm::Value*>& variables) {
  struct Known {
    llvm::Value* value = nullptr;
    llvm::StoreInst* store = nullptr;
  };
  llvm::DenseMap<const llvm::Value*, Known> known;
  for (llvm::BasicBlock& block : function) {
    known.clear();
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
      const llvm::Value* const variable = llvm::getLoadStorePointerOperand(&instruction);
      if (variable == nullptr || !variables.contains(variable)) continue;
      Known& last = known[variable];
      if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
        if (last.store != nullptr) last.store->eraseFromParent();
        last = {store->getValueOperand(), store};
      } else if (last.value != nullptr) {
        instruction.replaceAllUsesWith(last.value);
        instruction.eraseFromParent();
      } else {
        last.value = &instruction;
      }
    }
  }
}

}  // namespace

void promoteRegisters(llvm::Function& function) {
  if (function.isDeclaration()) return;
  llvm::SmallVector<llvm::AllocaInst*, 64> variables;
  llvm::SmallPtrSet<const llvm::Value*, 32> whole;
  for (llvm::Instruction& instruction : function.getEntryBlock()) {
    auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (variable == nullptr) continue;
    variables.push_back(variable);
    if (!accessesOf(*variable).empty()) whole.insert(variable);
  }
  forwardInBlocks(function, whole);
  if (function.size() < kManyBlocks) return;
  llvm::removeUnreachableBlocks(function);
  llvm::SSAUpdater updater;
  for (llvm::AllocaInst* variable : variables) {
    const Accesses accesses = accessesOf(*variable);
    if (accesses.empty()) continue;
    Promoter(accesses, updater, *variable).run(accesses);
    variable->eraseFromParent();
  }
}

}  // namespace rouse::cpu::codegen
