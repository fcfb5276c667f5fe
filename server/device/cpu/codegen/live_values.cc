#include "server/device/cpu/codegen/live_values.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IntrinsicInst.h>

#include "server/device/cpu/codegen/context_fields.h"

namespace rouse::cpu::codegen {
namespace {

// More than that costs more than a word of memory in the cache.
constexpr unsigned kMostInstructions = 24;

// Fields of thread and block and parameters do not change, but for one.
bool isFixed(const llvm::LoadInst& load) {
  if (load.isVolatile() || load.isAtomic()) return false;
  if (load.hasMetadata(llvm::LLVMContext::MD_invariant_load)) return true;
  const llvm::Function& function = *load.getFunction();
  llvm::APInt offset(64, 0);
  const llvm::Value* const base =
      load.getPointerOperand()->stripAndAccumulateConstantOffsets(function.getParent()->getDataLayout(), offset, true);
  if (base == function.getArg(1)) return true;
  return base == function.getArg(0) && offset.getSExtValue() != offsetof(ThreadContext, misaligned);
}

bool isPlain(const llvm::Instruction& instruction) {
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return isFixed(*load);
  if (const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&instruction)) {
    switch (operation->getOpcode()) {
      case llvm::Instruction::UDiv:
      case llvm::Instruction::SDiv:
      case llvm::Instruction::URem:
      case llvm::Instruction::SRem:
        return llvm::isa<llvm::Constant>(operation->getOperand(1));
      case llvm::Instruction::FDiv:
      case llvm::Instruction::FRem:
        return false;
      default:
        return true;
    }
  }
  if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
    switch (intrinsic->getIntrinsicID()) {
      case llvm::Intrinsic::umin:
      case llvm::Intrinsic::umax:
      case llvm::Intrinsic::smin:
      case llvm::Intrinsic::smax:
      case llvm::Intrinsic::abs:
      case llvm::Intrinsic::fshl:
      case llvm::Intrinsic::fshr:
      case llvm::Intrinsic::ctpop:
        return true;
      default:
        return false;
    }
  }
  return llvm::isa<llvm::CastInst>(instruction) || llvm::isa<llvm::CmpInst>(instruction) || llvm::isa<llvm::SelectInst>(instruction) ||
         llvm::isa<llvm::GetElementPtrInst>(instruction);
}

}  // namespace

std::vector<LiveSet> liveAt(llvm::Function& function, llvm::ArrayRef<llvm::BasicBlock*> blocks) {
  std::vector<LiveSet> sets(blocks.size());
  llvm::DenseMap<const llvm::BasicBlock*, unsigned> numbers;
  for (unsigned k = 0; k < blocks.size(); ++k) numbers[blocks[k]] = k;
  llvm::SmallPtrSet<llvm::BasicBlock*, 32> seen;
  llvm::SmallVector<llvm::BasicBlock*, 32> work;
  for (llvm::BasicBlock& block : function) {
    if (block.isEntryBlock()) continue;
    for (llvm::Instruction& value : block) {
      if (llvm::isa<llvm::AllocaInst>(value)) continue;
      seen.clear();
      const auto neededIn = [&](llvm::BasicBlock* at) {
        if (at != &block && seen.insert(at).second) work.push_back(at);
      };
      for (const llvm::Use& use : value.uses()) {
        auto* const user = llvm::cast<llvm::Instruction>(use.getUser());
        auto* const phi = llvm::dyn_cast<llvm::PHINode>(user);
        neededIn(phi != nullptr ? phi->getIncomingBlock(use) : user->getParent());
      }
      while (!work.empty()) {
        llvm::BasicBlock* const at = work.pop_back_val();
        if (const auto found = numbers.find(at); found != numbers.end()) sets[found->second].insert(&value);
        for (llvm::BasicBlock* before : llvm::predecessors(at)) neededIn(before);
      }
    }
  }
  return sets;
}

unsigned Recomputation::cost(llvm::Instruction* instruction) {
  if (const auto found = costs_.find(instruction); found != costs_.end()) return found->second;
  costs_[instruction] = kNever;
  if (!isPlain(*instruction)) return kNever;
  llvm::SmallVector<llvm::Instruction*, 4> parts;
  for (llvm::Value* operand : instruction->operands()) {
    if (llvm::isa<llvm::Constant>(operand) || llvm::isa<llvm::Argument>(operand) || llvm::isa<llvm::MetadataAsValue>(operand)) continue;
    auto* const part = llvm::dyn_cast<llvm::Instruction>(operand);
    if (part == nullptr || part->getFunction() != instruction->getFunction() || cost(part) == kNever) return kNever;
    parts.push_back(part);
  }
  unsigned sum = 1;
  for (llvm::Instruction* part : parts) sum += isOfBlock(part) && !isOfBlock(instruction) ? 1 : cost(part);
  if (sum > kMostInstructions) return kNever;
  return costs_[instruction] = sum;
}

bool Recomputation::isOfBlock(llvm::Instruction* instruction) {
  if (const auto found = ofBlock_.find(instruction); found != ofBlock_.end()) return found->second;
  bool ofBlock = true;
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
    const auto field = threadField(load->getPointerOperand(), *load->getFunction());
    ofBlock = !field || field == offsetof(ThreadContext, block);
  }
  for (llvm::Value* operand : instruction->operands()) {
    auto* const inner = llvm::dyn_cast<llvm::Instruction>(operand);
    if (inner != nullptr) ofBlock = ofBlock && isOfBlock(inner);
  }
  return ofBlock_[instruction] = ofBlock;
}

bool Recomputation::offers(llvm::Instruction* instruction) { return cost(instruction) != kNever; }

llvm::Value* Recomputation::build(llvm::Instruction* instruction, llvm::IRBuilder<>& b, llvm::DenseMap<llvm::Value*, llvm::Value*>& made) {
  if (const auto found = made.find(instruction); found != made.end()) return found->second;
  llvm::Instruction* const again = instruction->clone();
  for (unsigned k = 0; k < again->getNumOperands(); ++k) {
    auto* const inner = llvm::dyn_cast<llvm::Instruction>(again->getOperand(k));
    if (inner != nullptr) again->setOperand(k, build(inner, b, made));
  }
  b.Insert(again);
  return made[instruction] = again;
}

}  // namespace rouse::cpu::codegen
