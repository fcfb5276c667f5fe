// Barriers of a program's own that are used again: a counter in memory to which each block adds, and polls until it is exactly what it should be (Xiao, Feng, "Inter-Block GPU Communication via Fast
// Barrier Synchronization", IPDPS 2010: `while (mutex != goal)`), or is back at zero. That value stands only until the first that it lets go comes to the barrier again. On a GPU all have looked by
// then. Here they have turns, and would poll for ever for what they missed.
//
// So the runtime is told who polls there, and when what they poll is changed. It lets nobody change it a second time before all have looked. Counters that only grow, and are polled until they are large
// enough, need none of this; nor do locks, which whoever polls for takes himself.
#include <llvm/Analysis/CFG.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "server/device/cpu/codegen/context_fields.h"
#include "server/device/cpu/codegen/loop_slice.h"
#include "server/device/cpu/codegen/passes.h"
#include "server/device/cpu/codegen/polls.h"

namespace rouse::cpu::codegen {
namespace {

bool counts(const llvm::Instruction& instruction) {
  const auto* const update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction);
  if (update == nullptr || isPoll(instruction)) return false;
  switch (update->getOperation()) {
    case llvm::AtomicRMWInst::Add:
    case llvm::AtomicRMWInst::Sub:
    case llvm::AtomicRMWInst::And:
    case llvm::AtomicRMWInst::Or:
    case llvm::AtomicRMWInst::Xor:
    case llvm::AtomicRMWInst::UIncWrap:
    case llvm::AtomicRMWInst::UDecWrap:
      return true;
    default:
      return false;
  }
}

// Whether a value that keeps a thread in the loop, or lets it go, does so with all that are greater, or all that are less: what comes after it does so as well. Bits of signs are asked for by barriers
// that turn a sense around, which stands until all have come again.
bool isOrdered(const llvm::Value* condition) {
  const auto* const compare = llvm::dyn_cast<llvm::ICmpInst>(condition);
  return compare != nullptr && compare->isRelational();
}

// Whether a round may take as long as others let it: then nobody could wait for it to look. __nanosleep() lets others run.
bool waitsOtherwise(const llvm::Loop& loop) {
  return llvm::any_of(loop.blocks(), [](const llvm::BasicBlock* block) {
    return llvm::any_of(*block, [](const llvm::Instruction& instruction) {
      return llvm::isa<llvm::CallInst>(instruction) && !llvm::isa<llvm::IntrinsicInst>(instruction) && !isCallOf(instruction, kYield);
    });
  });
}

struct Polling {
  const llvm::Loop* loop;
  const llvm::Value* place;
  const llvm::Value* bit = nullptr;  // that it waits to be cleared, if that is what it waits for
};

// What a condition asks of the value that `poll` finds, where that is whether a bit is set.
const llvm::Value* bitAskedFor(const llvm::Value* condition, const llvm::Instruction& poll) {
  const auto* const compare = llvm::dyn_cast<llvm::ICmpInst>(condition);
  if (compare == nullptr || !compare->isEquality()) return nullptr;
  const auto* const zero = llvm::dyn_cast<llvm::Constant>(compare->getOperand(1));
  const auto* const both = llvm::dyn_cast<llvm::BinaryOperator>(compare->getOperand(0));
  if (zero == nullptr || !zero->isNullValue() || both == nullptr || both->getOpcode() != llvm::Instruction::And) return nullptr;
  if (both->getOperand(0) == &poll) return both->getOperand(1);
  return both->getOperand(1) == &poll ? both->getOperand(0) : nullptr;
}

// Whether it is the bit of a warp, by its number: that of the thread, which is computed of its number in x, y and z, by 32.
bool isBitOfWarp(const llvm::Value* bit, const llvm::Function& function) {
  // Shifted out where the number is 32 or more (PTX ISA, shl).
  if (const auto* choice = llvm::dyn_cast<llvm::SelectInst>(bit)) {
    const auto isZero = [](const llvm::Value* value) { return llvm::isa<llvm::Constant>(value) && llvm::cast<llvm::Constant>(value)->isNullValue(); };
    if (isZero(choice->getTrueValue())) {
      bit = choice->getFalseValue();
    } else if (isZero(choice->getFalseValue())) {
      bit = choice->getTrueValue();
    }
  }
  const auto* const shift = llvm::dyn_cast<llvm::BinaryOperator>(bit);
  if (shift == nullptr || shift->getOpcode() != llvm::Instruction::Shl) return false;
  const auto* const one = llvm::dyn_cast<llvm::ConstantInt>(shift->getOperand(0));
  if (one == nullptr || !one->isOne()) return false;
  const llvm::Value* warp = shift->getOperand(1);
  if (const auto* both = llvm::dyn_cast<llvm::BinaryOperator>(warp); both != nullptr && both->getOpcode() == llvm::Instruction::And) {
    const auto* const mask = llvm::dyn_cast<llvm::ConstantInt>(both->getOperand(1));
    if (mask != nullptr && mask->getZExtValue() == 31) warp = both->getOperand(0);
  }
  const auto* const number = llvm::dyn_cast<llvm::BinaryOperator>(warp);
  if (number == nullptr || number->getOpcode() != llvm::Instruction::LShr) return false;
  const auto* const five = llvm::dyn_cast<llvm::ConstantInt>(number->getOperand(1));
  if (five == nullptr || five->getZExtValue() != 5) return false;
  llvm::SmallVector<const llvm::Value*, 8> work{number->getOperand(0)};
  bool found = false;
  for (std::size_t k = 0; k < work.size(); ++k) {
    const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(work[k]);
    if (instruction == nullptr) continue;
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
      found |= threadField(load->getPointerOperand(), function).has_value();
      continue;
    }
    if ((!instruction->isBinaryOp() && !instruction->isCast() && !llvm::isa<llvm::FreezeInst>(instruction)) || work.size() > 32) return false;
    work.append(instruction->op_begin(), instruction->op_end());
  }
  return found;
}

class Announcing {
 public:
  explicit Announcing(llvm::Function& function) : function_(function), flow_(function), b_(function.getContext()) {}

  bool run() {
    llvm::SmallVector<llvm::Instruction*, 8> changes;
    for (llvm::Instruction& instruction : llvm::instructions(function_)) {
      if (counts(instruction)) changes.push_back(&instruction);
    }
    find();
    llvm::erase_if(polling_, [&](const Polling& one) { return isOwnBit(one, changes); });
    llvm::erase_if(polling_, [&](const Polling& one) { return !isUsedAgain(one, changes); });
    if (polling_.empty()) return false;
    // All that changes such a place: whoever comes last may set it back.
    changes.clear();
    for (llvm::Instruction& instruction : llvm::instructions(function_)) {
      const bool changesSome = (llvm::isa<llvm::StoreInst>(instruction) || llvm::isa<llvm::AtomicRMWInst>(instruction)) && !isPoll(instruction);
      if (changesSome && llvm::any_of(polling_, [&](const Polling& one) { return isAlike(placeOf(instruction), one.place); })) changes.push_back(&instruction);
    }
    for (llvm::Instruction* change : changes) {
      callBefore(change, "rouse_cpu_change_begin", {b_.getInt32(llvm::isa<llvm::StoreInst>(change))});
      callBefore(change->getNextNode(), "rouse_cpu_change_end");
    }
    announce();
    return true;
  }

 private:
  void find() {
    for (llvm::Loop* loop : flow_.loops.getLoopsInPreorder()) {
      if (!loop->isInnermost() || waitsOtherwise(*loop)) continue;
      llvm::SmallVector<llvm::BasicBlock*, 8> exiting;
      loop->getExitingBlocks(exiting);
      // Of a switch several ways may lead to one block.
      if (!llvm::all_of(exiting, [](const llvm::BasicBlock* block) { return llvm::isa<llvm::BranchInst>(block->getTerminator()); })) continue;
      for (llvm::BasicBlock* block : exiting) {
        llvm::Value* const condition = conditionOf(block);
        if (condition == nullptr || isOrdered(condition)) continue;
        const LoopSlice slice(*loop, flow_, condition);
        for (const llvm::Instruction* instruction : slice.instructions()) {
          if (isPoll(*instruction)) polling_.push_back({loop, placeOf(*instruction), bitAskedFor(condition, *instruction)});
        }
      }
    }
  }

  // Whether what it waits to be cleared only its own warp sets, and sets again when all of that have looked (cooperative groups' tiles of several warps: a bit for each warp).
  bool isOwnBit(const Polling& one, llvm::ArrayRef<llvm::Instruction*> changes) const {
    if (one.bit == nullptr || !isBitOfWarp(one.bit, function_)) return false;
    return llvm::all_of(changes, [&](const llvm::Instruction* change) {
      const auto& update = llvm::cast<llvm::AtomicRMWInst>(*change);
      if (!isAlike(update.getPointerOperand(), one.place)) return true;
      return update.getOperation() == llvm::AtomicRMWInst::And || (update.getOperation() == llvm::AtomicRMWInst::Or && isAlike(update.getValOperand(), one.bit));
    });
  }

  // Whether who leaves the loop may come to where its place is counted; and not only such do, as with the number that a lock serves.
  bool isUsedAgain(const Polling& one, llvm::ArrayRef<llvm::Instruction*> changes) const {
    bool comesFirst = false, comesAgain = function_.getName() != ModuleEmitter::kBodyName && !function_.hasExternalLinkage();
    llvm::SmallVector<llvm::BasicBlock*, 4> exits;
    one.loop->getExitBlocks(exits);
    for (const llvm::Instruction* change : changes) {
      if (!isAlike(placeOf(*change), one.place)) continue;
      comesFirst |= llvm::none_of(polling_, [&](const Polling& other) {
        return isAlike(other.place, one.place) && flow_.dominators.dominates(other.loop->getHeader(), change->getParent());
      });
      comesAgain |= llvm::any_of(exits, [&](const llvm::BasicBlock* exit) { return llvm::isPotentiallyReachable(exit, change->getParent(), nullptr, &flow_.dominators, &flow_.loops); });
    }
    return comesFirst && comesAgain;
  }

  void callBefore(llvm::Instruction* place, llvm::StringRef name, llvm::ArrayRef<llvm::Value*> more = {}) {
    b_.SetInsertPoint(place);
    llvm::SmallVector<llvm::Value*, 2> arguments{function_.getArg(0)};
    llvm::append_range(arguments, more);
    llvm::SmallVector<llvm::Type*, 2> types;
    for (const llvm::Value* argument : arguments) types.push_back(argument->getType());
    b_.CreateCall(function_.getParent()->getOrInsertFunction(name, llvm::FunctionType::get(b_.getVoidTy(), types, false)), arguments);
  }

  // Splits edges, so that what was found of loops is of no use any more.
  void announce() {
    llvm::SmallVector<std::pair<llvm::BasicBlock*, llvm::BasicBlock*>, 8> ways;
    struct Entry {
      llvm::BasicBlock* header;
      llvm::SmallVector<llvm::BasicBlock*, 4> from;
    };
    llvm::SmallVector<Entry, 4> entries;
    llvm::SmallPtrSet<const llvm::Loop*, 4> done;
    for (const Polling& one : polling_) {
      if (!done.insert(one.loop).second) continue;
      llvm::SmallVector<llvm::Loop::Edge, 8> edges;
      one.loop->getExitEdges(edges);
      ways.append(edges.begin(), edges.end());
      Entry entry{one.loop->getHeader(), {}};
      for (llvm::BasicBlock* before : llvm::predecessors(entry.header)) {
        if (!one.loop->contains(before) && !llvm::is_contained(entry.from, before)) entry.from.push_back(before);
      }
      entries.push_back(std::move(entry));
    }
    for (const auto& [from, to] : ways) callBefore(llvm::SplitEdge(from, to)->getTerminator(), "rouse_cpu_poll_end");
    for (Entry& entry : entries) callBefore(llvm::SplitBlockPredecessors(entry.header, entry.from, ".polls")->getTerminator(), "rouse_cpu_poll_begin");
  }

  llvm::Function& function_;
  ControlFlow flow_;
  llvm::IRBuilder<> b_;
  llvm::SmallVector<Polling, 4> polling_;
};

}  // namespace

bool announcePolls(llvm::Module& module) {
  bool found = false;
  for (llvm::Function& function : module) {
    if (llvm::any_of(llvm::instructions(function), counts)) found |= Announcing(function).run();
  }
  return found;
}

}  // namespace rouse::cpu::codegen
