#include "server/device/cpu/codegen/context_fields.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Local.h>

namespace rouse::cpu::codegen {
namespace {

const llvm::Value* baseOf(const llvm::Value* pointer, const llvm::Function& function, std::size_t& offset) {
  llvm::APInt sum(64, 0);
  const llvm::Value* const base = pointer->stripAndAccumulateConstantOffsets(function.getParent()->getDataLayout(), sum, true);
  offset = sum.getZExtValue();
  return base;
}

// By one address or another: one load each, the other's where that is the one.
void separateChoice(llvm::LoadInst* load, llvm::SelectInst* choice, bool isOwnIfTrue) {
  llvm::IRBuilder<> b(load);
  llvm::Value* const own = b.CreateLoad(load->getType(), isOwnIfTrue ? choice->getTrueValue() : choice->getFalseValue());
  llvm::Value* const condition = b.CreateFreeze(choice->getCondition());
  llvm::BasicBlock* const head = load->getParent();
  llvm::Instruction* const then = llvm::SplitBlockAndInsertIfThen(isOwnIfTrue ? b.CreateNot(condition) : condition, load->getIterator(), false);
  llvm::Instruction* const other = load->clone();
  other->setOperand(0, isOwnIfTrue ? choice->getFalseValue() : choice->getTrueValue());
  other->insertBefore(then->getIterator());
  auto* const both = llvm::PHINode::Create(load->getType(), 2, "", load->getParent()->begin());
  both->addIncoming(own, head);
  both->addIncoming(other, then->getParent());
  load->replaceAllUsesWith(both);
  load->eraseFromParent();
}

// By the address of the way that was come by: on each way. False where what is before the load may change what it finds, or where ways cannot have blocks of their own.
bool separateWays(llvm::LoadInst* load, llvm::PHINode* pointer) {
  llvm::BasicBlock* const block = pointer->getParent();
  if (load->getParent() != block) return false;
  for (const llvm::Instruction& before : llvm::make_range(block->begin(), load->getIterator())) {
    if (before.mayWriteToMemory() || !llvm::isGuaranteedToTransferExecutionToSuccessor(&before)) return false;
  }
  const llvm::SmallVector<llvm::BasicBlock*, 4> ways(pointer->blocks());
  if (!llvm::all_of(ways, [](const llvm::BasicBlock* way) { return llvm::isa<llvm::BranchInst>(way->getTerminator()); })) return false;
  for (llvm::BasicBlock* way : ways) {
    if (way->getSingleSuccessor() == nullptr) llvm::SplitEdge(way, block);
  }
  auto* const found = llvm::PHINode::Create(load->getType(), pointer->getNumIncomingValues(), "", block->begin());
  for (unsigned k = 0; k < pointer->getNumIncomingValues(); ++k) {
    llvm::Instruction* const one = load->clone();
    one->setOperand(0, pointer->getIncomingValue(k));
    one->insertBefore(pointer->getIncomingBlock(k)->getTerminator()->getIterator());
    found->addIncoming(one, pointer->getIncomingBlock(k));
  }
  load->replaceAllUsesWith(found);
  load->eraseFromParent();
  return true;
}

bool separateOne(llvm::LoadInst* load, llvm::Function& function) {
  llvm::Value* const pointer = load->getPointerOperand();
  if (!load->isSimple() || threadField(pointer, function) || !isPerhapsOfThread(pointer, function)) return false;
  bool done = false;
  if (auto* choice = llvm::dyn_cast<llvm::SelectInst>(pointer)) {
    const bool isOwnIfTrue = threadField(choice->getTrueValue(), function).has_value();
    done = isOwnIfTrue || threadField(choice->getFalseValue(), function);
    if (done) separateChoice(load, choice, isOwnIfTrue);
  } else if (auto* phi = llvm::dyn_cast<llvm::PHINode>(pointer)) {
    done = separateWays(load, phi);
  }
  if (done) llvm::RecursivelyDeleteTriviallyDeadInstructions(pointer);
  return done;
}

}  // namespace

std::optional<std::size_t> threadField(const llvm::Value* pointer, const llvm::Function& function) {
  std::size_t offset = 0;
  if (baseOf(pointer, function, offset) != function.getArg(0)) return std::nullopt;
  return offset;
}

std::optional<std::size_t> blockField(const llvm::Value* pointer, const llvm::Function& function) {
  std::size_t offset = 0;
  const auto* const block = llvm::dyn_cast<llvm::LoadInst>(baseOf(pointer, function, offset));
  if (block == nullptr || threadField(block->getPointerOperand(), function) != offsetof(ThreadContext, block)) return std::nullopt;
  return offset;
}

bool isPerhapsOfThread(const llvm::Value* pointer, const llvm::Function& function) {
  llvm::SmallPtrSet<const llvm::Value*, 4> seen;
  llvm::SmallVector<const llvm::Value*, 4> work{pointer};
  while (!work.empty()) {
    std::size_t offset = 0;
    const llvm::Value* const base = baseOf(work.pop_back_val(), function, offset);
    if (base == function.getArg(0)) return !seen.empty();
    if (!llvm::isa<llvm::SelectInst, llvm::PHINode>(base) || !seen.insert(base).second) continue;
    for (const llvm::Value* operand : llvm::cast<llvm::Instruction>(base)->operands()) {
      if (operand->getType()->isPointerTy()) work.push_back(operand);
    }
  }
  return false;
}

void separateNumbers(llvm::Function& function) {
  constexpr unsigned kMostRounds = 4;  // of choices of choices
  if (function.arg_empty() || !function.getArg(0)->getType()->isPointerTy()) return;
  bool found = true;
  for (unsigned round = 0; found && round < kMostRounds; ++round) {
    llvm::SmallVector<llvm::LoadInst*, 16> loads;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) loads.push_back(load);
    }
    found = false;
    for (llvm::LoadInst* load : loads) found |= separateOne(load, function);
  }
}

}  // namespace rouse::cpu::codegen
