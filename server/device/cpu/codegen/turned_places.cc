#include "server/device/cpu/codegen/turned_places.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>

#include "server/device/cpu/codegen/address_sums.h"
#include "server/device/cpu/codegen/uniformity.h"
#include "server/device/cpu/codegen/warp_calls.h"

namespace rouse::cpu::codegen {
namespace {

// What is larger is left as it is: each pair of an access of either kind is looked at, and each place asks for all blocks again.
constexpr std::size_t kMostBlocks = 2000, kMostPairs = 100'000, kMostPlaces = 16;
constexpr unsigned kMostValues = 64;

// Also from round to round of a loop.
bool isTurned(const llvm::Value* value, unsigned depth = 0) {
  const auto* const phi = llvm::dyn_cast<llvm::PHINode>(value);
  if (phi == nullptr) return isTurnedAround(value);
  return depth < 2 && llvm::any_of(phi->incoming_values(), [&](const llvm::Use& from) { return isTurned(from, depth + 1); });
}

// Whether it is made of a number of the thread's own.
bool isOfThread(const llvm::Value* value) {
  llvm::SmallVector<const llvm::Value*, 16> open{value};
  llvm::SmallPtrSet<const llvm::Value*, 16> seen;
  while (!open.empty() && seen.size() < kMostValues) {
    const auto* const operation = llvm::dyn_cast<llvm::Instruction>(open.pop_back_val());
    if (operation == nullptr || !seen.insert(operation).second) continue;
    if (const auto* const load = llvm::dyn_cast<llvm::LoadInst>(operation)) {
      if (llvm::getUnderlyingObject(load->getPointerOperand(), 0) == load->getFunction()->getArg(0)) return true;
    } else if (operation->isBinaryOp() || operation->isCast() || llvm::isa<llvm::PHINode, llvm::SelectInst, llvm::FreezeInst>(operation)) {
      open.append(operation->op_begin(), operation->op_end());
    }
  }
  return false;
}

using TurnedStores = llvm::SmallSetVector<const llvm::StoreInst*, 16>;

class TurnedSearch {
 public:
  TurnedSearch(llvm::Function& function, llvm::function_ref<bool(const llvm::Instruction&)> meets) : function_(function), meets_(meets), dominators_(function), loops_(dominators_) {
    std::vector<llvm::LoadInst*> loads;
    std::vector<const llvm::StoreInst*> stores;
    if (function.size() > kMostBlocks) return;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      const llvm::Value* const pointer = llvm::getLoadStorePointerOperand(&instruction);
      if (pointer == nullptr || isStep(instruction) || !isPlainAccess(instruction) || !isOfShared(pointer, function)) continue;
      if (auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) loads.push_back(load);
      if (const auto* const store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) stores.push_back(store);
    }
    if (loads.size() * stores.size() > kMostPairs) return;
    for (llvm::LoadInst* load : loads) {
      for (const llvm::StoreInst* store : stores) {
        if (!isTaken(*load, *store)) continue;
        taken_[load].insert(store);
        turned_.insert(store);
      }
    }
  }

  std::vector<llvm::LoadInst*> run() {
    std::vector<llvm::LoadInst*> places;
    if (taken_.empty()) return places;
    for (bool found = true; found && places.size() < kMostPlaces;) {
      found = false;
      flow();
      for (llvm::BasicBlock& block : function_) {
        TurnedStores since = before_[&block];
        for (llvm::Instruction& instruction : block) {
          auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
          const auto wanted = load == nullptr || met_.contains(load) ? taken_.end() : taken_.find(load);
          if (wanted != taken_.end() && llvm::any_of(wanted->second, [&](const llvm::StoreInst* store) { return since.contains(store); })) {
            met_.insert(load);
            places.push_back(load);
            found = true;
          }
          pass(instruction, since);
        }
      }
    }
    return places;
  }

 private:
  bool isTaken(const llvm::LoadInst& load, const llvm::StoreInst& store) const {
    const llvm::Loop* const loop = loops_.getLoopFor(store.getParent());
    if (loop != nullptr && loop->contains(&load)) return false;
    const Sum apart = difference(store.getPointerOperand(), load.getPointerOperand(), function_.getParent()->getDataLayout());
    return llvm::any_of(apart.terms, [](const auto& term) { return isTurned(term.first) && isOfThread(term.first); });
  }

  void pass(const llvm::Instruction& instruction, TurnedStores& since) const {
    if (meets_(instruction) || met_.contains(&instruction)) since.clear();
    if (const auto* const store = llvm::dyn_cast<llvm::StoreInst>(&instruction); store != nullptr && turned_.contains(store)) since.insert(store);
  }

  void flow() {
    before_.clear();
    for (bool changed = true; changed;) {
      changed = false;
      for (llvm::BasicBlock& block : function_) {
        TurnedStores since = before_[&block];
        for (const llvm::Instruction& instruction : block) pass(instruction, since);
        for (llvm::BasicBlock* next : llvm::successors(&block)) {
          TurnedStores& there = before_[next];
          for (const llvm::StoreInst* store : since) changed |= there.insert(store);
        }
      }
    }
  }

  llvm::Function& function_;
  llvm::function_ref<bool(const llvm::Instruction&)> meets_;
  const llvm::DominatorTree dominators_;
  const llvm::LoopInfo loops_;
  llvm::DenseMap<const llvm::LoadInst*, TurnedStores> taken_;  // by load: stores at places that may be its own
  llvm::SmallPtrSet<const llvm::StoreInst*, 16> turned_;
  llvm::SmallPtrSet<const llvm::Instruction*, 16> met_;  // in front of which they meet
  llvm::DenseMap<const llvm::BasicBlock*, TurnedStores> before_;  // since the warp has met, where a block begins
};

}  // namespace

bool isTurnedAround(const llvm::Value* value) {
  const auto* const operation = llvm::dyn_cast<llvm::BinaryOperator>(value);
  if (operation == nullptr) return false;
  switch (operation->getOpcode()) {
    case llvm::Instruction::URem:
    case llvm::Instruction::SRem:
    case llvm::Instruction::And:
    case llvm::Instruction::Xor:
      return true;
    default:
      return false;
  }
}

std::vector<llvm::LoadInst*> loadsOfTurnedPlaces(llvm::Function& function, llvm::function_ref<bool(const llvm::Instruction&)> meets) { return TurnedSearch(function, meets).run(); }

}  // namespace rouse::cpu::codegen
