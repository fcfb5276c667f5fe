#include "server/device/cpu/codegen/loop_slice.h"

#include <llvm/Analysis/CaptureTracking.h>
#include <llvm/Analysis/ValueTracking.h>

#include "server/device/cpu/codegen/uniformity.h"
#include "server/device/cpu/codegen/warp_calls.h"
#include "server/device/cpu/codegen/warp_rows.h"

namespace rouse::cpu::codegen {
namespace {

constexpr unsigned kMostBlocks = 256;  // of a loop that is searched block by block for each

// The variable of the stack that is pointed to; null where there is none, or that is not known.
const llvm::Value* variableOf(const llvm::Value* pointer) {
  const llvm::Value* const object = llvm::getUnderlyingObject(pointer, 0);
  return llvm::isa<llvm::AllocaInst>(object) ? object : nullptr;
}

// Whether it is computed from the thread's own number: integers of its context (abi.h, ThreadContext) are.
bool dependsOnThread(const llvm::Value* value, const llvm::Function& function) {
  constexpr std::size_t kMostLooked = 64;
  llvm::SmallPtrSet<const llvm::Value*, 16> seen;
  llvm::SmallVector<const llvm::Value*, 16> work{value};
  while (!work.empty() && seen.size() < kMostLooked) {
    const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(work.pop_back_val());
    if (instruction == nullptr || !seen.insert(instruction).second) continue;
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
      if (load->getType()->isIntegerTy() && llvm::getUnderlyingObject(load->getPointerOperand(), 0) == function.getArg(0)) return true;
      continue;
    }
    for (const llvm::Use& operand : instruction->operands()) work.push_back(operand.get());
  }
  return false;
}

}  // namespace

bool isAlike(const llvm::Value* a, const llvm::Value* b, unsigned depth) {
  constexpr unsigned kDeepest = 8;
  if (a == b) return true;
  const auto *const x = llvm::dyn_cast<llvm::Instruction>(a), *const y = llvm::dyn_cast<llvm::Instruction>(b);
  if (x == nullptr || y == nullptr || depth == kDeepest || !x->isSameOperationAs(y) || llvm::isa<llvm::PHINode>(x)) return false;
  const auto* const load = llvm::dyn_cast<llvm::LoadInst>(x);
  if (load == nullptr ? x->mayReadOrWriteMemory() : !isConstantLoad(*load)) return false;
  for (unsigned k = 0; k < x->getNumOperands(); ++k) {
    if (!isAlike(x->getOperand(k), y->getOperand(k), depth + 1)) return false;
  }
  return true;
}

llvm::Value* conditionOf(llvm::BasicBlock* block) {
  llvm::Instruction* const end = block->getTerminator();
  if (end->getNumSuccessors() < 2) return nullptr;
  if (auto* branch = llvm::dyn_cast<llvm::BranchInst>(end)) return branch->getCondition();
  if (auto* choice = llvm::dyn_cast<llvm::SwitchInst>(end)) return choice->getCondition();
  return nullptr;
}

bool ControlFlow::comesThrough(const llvm::BasicBlock* from, const llvm::BasicBlock* through) {
  std::unique_ptr<Blocks>& around = around_[through];
  if (around == nullptr) {
    around = std::make_unique<Blocks>();
    llvm::SmallVector<const llvm::BasicBlock*, 16> work;
    for (const llvm::BasicBlock& block : function_) {
      if (llvm::isa<llvm::ReturnInst>(block.getTerminator())) work.push_back(&block);
    }
    while (!work.empty()) {
      const llvm::BasicBlock* const block = work.pop_back_val();
      if (block != through && around->insert(block).second) work.append(llvm::pred_begin(block), llvm::pred_end(block));
    }
  }
  return !around->contains(from);
}

LoopSlice::LoopSlice(const llvm::Loop& loop, ControlFlow& flow, llvm::Value* value) : loop_(loop), flow_(flow) {
  work_.push_back(value);
  while (!work_.empty()) {
    auto* const instruction = llvm::dyn_cast<llvm::Instruction>(work_.pop_back_val());
    if (instruction == nullptr || !loop_.contains(instruction) || !seen_.insert(instruction).second) continue;
    work_.append(instruction->op_begin(), instruction->op_end());
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(instruction)) {
      // Each round ends with the one value, whatever it did before.
      if (phi->getParent() == loop_.getHeader() && loop_.getLoopLatch() != nullptr) continue;
      const auto* const above = flow_.dominators.getNode(phi->getParent())->getIDom();
      for (llvm::BasicBlock* block : phi->blocks()) {
        if (loop_.contains(block)) addControls(block, above == nullptr ? nullptr : above->getBlock(), phi);
      }
    } else if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
      if (const llvm::Value* const variable = variableOf(load->getPointerOperand())) {
        addKept(variable);
      } else if (isOfShared(load->getPointerOperand(), flow_.function())) {
        load->isVolatile() ? addOwn(*load) : addHanded(*load);
      }
    }
  }
}

// What decides, from `top` on, whether a round comes to the block (after Ferrante, Ottenstein and Warren's control dependence, coarser), and where to from there.
void LoopSlice::addControls(llvm::BasicBlock* block, const llvm::BasicBlock* top, const llvm::PHINode* phi) {
  llvm::SmallPtrSet<llvm::BasicBlock*, 16> seen;
  llvm::SmallVector<llvm::BasicBlock*, 16> blocks{block};
  while (!blocks.empty()) {
    llvm::BasicBlock* const next = blocks.pop_back_val();
    if (!loop_.contains(next) || !seen.insert(next).second) continue;
    llvm::Value* const condition = conditionOf(next);
    if (condition != nullptr && (next == block || !flow_.comesThrough(next, block)) && (phi == nullptr || !bringsSame(next, *phi))) work_.push_back(condition);
    if (next != top && next != loop_.getHeader()) blocks.append(llvm::pred_begin(next), llvm::pred_end(next));
  }
}

// Whether all ways from a branch to the phi bring it one value, and none leaves the loop: `if (i < room) list[i] = x;` behind `i = atomicAdd(...)`.
bool LoopSlice::bringsSame(const llvm::BasicBlock* branch, const llvm::PHINode& phi) const {
  if (loop_.getNumBlocks() > kMostBlocks) return false;
  const llvm::Value* brought = nullptr;
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> seen;
  llvm::SmallVector<const llvm::BasicBlock*, 16> blocks{branch};
  while (!blocks.empty()) {
    const llvm::BasicBlock* const from = blocks.pop_back_val();
    if (!seen.insert(from).second) continue;
    for (const llvm::BasicBlock* to : llvm::successors(from)) {
      if (to != phi.getParent()) {
        if (!loop_.contains(to)) return false;
        blocks.push_back(to);
        continue;
      }
      const llvm::Value* const value = phi.getIncomingValueForBlock(from);
      if (brought != nullptr && value != brought) return false;
      brought = value;
    }
  }
  return brought != nullptr;
}

// What is stored to the variable, and calls that may do so.
void LoopSlice::addKept(const llvm::Value* variable) {
  if (!variables_.insert(variable).second) return;
  const bool isKnown = llvm::PointerMayBeCaptured(variable, false, true);  // to whoever is called, as a number or a pointer
  for (llvm::BasicBlock* block : loop_.blocks()) {
    for (llvm::Instruction& instruction : *block) {
      if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
        if (variableOf(store->getPointerOperand()) != variable) continue;
        work_.push_back(store->getValueOperand());
        addControls(block, nullptr);
      } else if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction); call != nullptr && !call->isLifetimeStartOrEnd()) {
        const bool isGiven = llvm::any_of(call->args(), [&](const llvm::Use& argument) { return argument->getType()->isPointerTy() && variableOf(argument) == variable; });
        const llvm::Function* const callee = call->getCalledFunction();
        if (isGiven || (isKnown && (callee == nullptr || !callee->isDeclaration()))) work_.push_back(call);
      }
    }
  }
}

// A place in shared memory that each warp has its own of, and that is stored to on the way to the load: a leader's next task, who was elected, a row of what the lanes have fetched. Who loads it waits for nobody's store, since
// warps go in step there (markStep); what decides what is stored, and whether it is, may.
void LoopSlice::addOwn(const llvm::LoadInst& load) {
  const llvm::Value* const place = load.getPointerOperand();
  llvm::SmallVector<llvm::StoreInst*, 4> stores;
  bool isStored = false;
  for (llvm::BasicBlock* block : loop_.blocks()) {
    for (llvm::Instruction& instruction : *block) {
      auto* const store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
      if (store == nullptr || !(isAlike(store->getPointerOperand(), place) || (store->isVolatile() && loadsFromRow(load, *store)))) continue;
      if (!isStep(*store)) return;
      stores.push_back(store);
      const llvm::BasicBlock* const above = flow_.dominators.findNearestCommonDominator(block, load.getParent());
      const bool isBefore = block == load.getParent() ? store->comesBefore(&load) : loop_.contains(above) && above != load.getParent() && flow_.comesThrough(block, load.getParent());
      isStored |= isBefore;
    }
  }
  if (!isStored || !isStep(load) || !dependsOnThread(place, flow_.function())) return;
  own_.insert(&load);
  for (llvm::StoreInst* store : stores) {
    work_.push_back(store->getValueOperand());
    addControls(store->getParent(), nullptr);
  }
}

// What a leader has polled and left in plain shared memory for its warp (`if (lane == 0) s[warp] = flag; __syncwarp(); if (s[warp]) break;`).
void LoopSlice::addHanded(const llvm::LoadInst& load) {
  for (llvm::BasicBlock* block : loop_.blocks()) {
    for (llvm::Instruction& instruction : *block) {
      auto* const store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
      if (store == nullptr || !isAlike(store->getPointerOperand(), load.getPointerOperand())) continue;
      work_.push_back(store->getValueOperand());
      addControls(block, nullptr);
    }
  }
}

bool isHandedOn(const llvm::Loop& loop, ControlFlow& flow, const llvm::Instruction& instruction) {
  llvm::SmallPtrSet<const llvm::Instruction*, 16> seen;
  llvm::SmallVector<const llvm::Instruction*, 16> work{&instruction};
  const auto stores = [](const llvm::Instruction& user) { return llvm::isa<llvm::StoreInst>(user) || (llvm::isa<llvm::CallInst>(user) && user.mayHaveSideEffects()); };
  while (!work.empty()) {
    const llvm::Instruction* const value = work.pop_back_val();
    if (!seen.insert(value).second) continue;
    for (const llvm::User* user : value->users()) {
      const auto* const next = llvm::cast<llvm::Instruction>(user);
      if (!loop.contains(next)) continue;
      if (stores(*next)) return true;
      work.push_back(next);
    }
    if (!value->isTerminator() || value->getNumSuccessors() < 2) continue;
    for (const llvm::BasicBlock* block : loop.blocks()) {
      const bool depends = flow.dominators.dominates(value->getParent(), block) && !flow.comesThrough(value->getParent(), block);
      if (depends && llvm::any_of(*block, stores)) return true;
    }
  }
  return false;
}

}  // namespace rouse::cpu::codegen
