#include "server/device/cpu/codegen/frame.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/Local.h>

#include "server/device/cpu/codegen/matrix_registers.h"
#include "server/device/cpu/codegen/warp_calls.h"

namespace rouse::cpu::codegen {
namespace {

constexpr std::uint64_t kMostFrameBytes = std::uint64_t{64} << 10;
constexpr std::uint64_t kManyBytes = 1024;  // of one variable

bool canCompute(Recomputation& recomputation, llvm::Instruction* value) {
  return !llvm::isa<llvm::PHINode>(value) && recomputation.offers(value);
}

}  // namespace

bool Frame::keep() {
  addEntry();
  return keepVariables() && keepValues();
}

// A new first block, which only goes to where the segment begins.
void Frame::addEntry() {
  first_ = &step_.getEntryBlock();
  entry_ = llvm::BasicBlock::Create(step_.getContext(), "segment", &step_, first_);
  b.SetInsertPoint(entry_);
  llvm::Value* const field =
      b.CreateConstInBoundsGEP1_32(b.getInt8Ty(), step_.getArg(kThread), static_cast<unsigned>(offsetof(ThreadContext, linear)));
  linear_ = b.CreateZExt(b.CreateLoad(b.getInt32Ty(), field), b.getInt64Ty());
}

// Where a value of the thread lies, for all threads `bytes` apart, in the entry block.
llvm::Value* Frame::place(std::uint64_t offset, std::uint64_t bytes) {
  llvm::Value* const array = b.CreateInBoundsGEP(
      b.getInt8Ty(), step_.getArg(kFrames), b.CreateMul(step_.getArg(kStride), b.getInt64(offset), "", true, true));
  return b.CreateInBoundsGEP(b.getInt8Ty(), array, b.CreateMul(linear_, b.getInt64(bytes), "", true, true));
}

// Of one variable: whether it holds something across a cut.
bool Frame::livesAcross(llvm::AllocaInst& variable) const {
  if (isMatrixRegisters(variable)) {
    llvm::SmallPtrSet<const llvm::BasicBlock*, 16> begins;
    for (const Cut& cut : cuts_) begins.insert(cut.resume);
    if (keepsNothing(variable, begins)) return false;
  }
  llvm::SmallPtrSet<llvm::BasicBlock*, 16> users;
  llvm::SmallVector<llvm::Instruction*, 16> work{&variable};
  llvm::SmallPtrSet<llvm::Instruction*, 16> seen;
  while (!work.empty()) {
    llvm::Instruction* const pointer = work.pop_back_val();
    if (!seen.insert(pointer).second) continue;
    for (llvm::User* user : pointer->users()) {
      auto* const instruction = llvm::cast<llvm::Instruction>(user);
      if (instruction->isLifetimeStartOrEnd()) continue;
      users.insert(instruction->getParent());
      if (llvm::isa<llvm::GetElementPtrInst>(instruction)) {
        work.push_back(instruction);
      } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(instruction)) {
        if (store->getValueOperand() == pointer) return true;
      } else if (!llvm::isa<llvm::LoadInst>(instruction)) {
        return true;
      }
    }
  }
  const auto reached = [](llvm::BasicBlock* from) {
    llvm::SmallPtrSet<llvm::BasicBlock*, 32> found;
    llvm::SmallVector<llvm::BasicBlock*, 32> next{from};
    while (!next.empty()) {
      llvm::BasicBlock* const block = next.pop_back_val();
      if (found.insert(block).second) next.append(llvm::succ_begin(block), llvm::succ_end(block));
    }
    return found;
  };
  for (const Cut& cut : cuts_) {
    bool after = false, before = false;
    for (llvm::BasicBlock* block : reached(cut.resume)) after |= users.contains(block);
    if (!after) continue;
    for (llvm::BasicBlock* user : users) before |= reached(user).contains(cut.exit);
    if (before) return true;
  }
  return false;
}

// The stack's variables; those that outlive a segment go to the frame.
bool Frame::keepVariables() {
  llvm::SmallVector<llvm::AllocaInst*, 8> variables;
  for (llvm::Instruction& instruction : llvm::instructions(step_)) {
    if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) variables.push_back(variable);
  }
  for (llvm::AllocaInst* variable : variables) {
    if (!variable->isStaticAlloca() && variable->getParent() != first_) return false;
    if (!llvm::isa<llvm::ConstantInt>(variable->getArraySize())) return false;
    if (!livesAcross(*variable)) {
      variable->moveBefore(*entry_, entry_->begin());
      continue;
    }
    const std::uint64_t align = std::max<std::uint64_t>(variable->getAlign().value(), 16);
    if (align > 64) return false;
    std::uint64_t bytes = llvm::alignTo(variable->getAllocationSize(layout_)->getFixedValue(), align);
    // A distance at which all threads' would be in the same few sets of the cache.
    if (bytes >= kManyBytes && bytes % 128 == 0) bytes += 64;
    bytes_ = llvm::alignTo(bytes_, 64);
    if (bytes_ + bytes > kMostFrameBytes) return false;
    llvm::Value* const kept = place(bytes_, bytes);
    bytes_ += bytes;
    variable->replaceAllUsesWith(kept);
    for (llvm::User* user : llvm::make_early_inc_range(kept->users())) {
      if (auto* marker = llvm::cast<llvm::Instruction>(user); marker->isLifetimeStartOrEnd()) marker->eraseFromParent();
    }
    variable->eraseFromParent();
  }
  bytes_ = llvm::alignTo(bytes_, 64);
  return true;
}

std::uint64_t Frame::bytesOf(llvm::Instruction* value) const {
  return value->getType()->isIntegerTy(1) ? 1 : layout_.getTypeAllocSize(value->getType()).getFixedValue();
}

// What threads keep while they poll and have computed since all were together: uniform values as well, which differ from round to round.
LiveSet Frame::ofOwnTime(const std::vector<LiveSet>& live) const {
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> together, since;
  for (const Cut& cut : cuts_) {
    if (!cut.polls) together.insert(cut.exit);
  }
  LiveSet found;
  for (std::size_t k = 0; k < cuts_.size(); ++k) {
    if (!cuts_[k].polls) continue;
    llvm::SmallVector<const llvm::BasicBlock*, 16> work{cuts_[k].exit};
    since.clear();
    while (!work.empty()) {
      const llvm::BasicBlock* const block = work.pop_back_val();
      if (!since.insert(block).second) continue;
      for (const llvm::BasicBlock* before : llvm::predecessors(block)) {
        if (!together.contains(before)) work.push_back(before);
      }
    }
    for (llvm::Instruction* value : live[k]) {
      if (since.contains(value->getParent())) found.insert(value);
    }
  }
  return found;
}

bool Frame::placeValues(Values& values, const LiveSet& all, const LiveSet& ownTime, Recomputation& recomputation) {
  // Large ones first: all are aligned then.
  std::vector<llvm::Instruction*> order(all.begin(), all.end());
  std::stable_sort(order.begin(), order.end(), [&](auto* x, auto* y) { return bytesOf(x) > bytesOf(y); });
  b.SetInsertPoint(entry_);
  for (llvm::Instruction* value : order) {
    Value& made = values[value];
    made.type = value->getType();
    made.computed = canCompute(recomputation, value);
    if (made.computed) continue;
    made.uniform = uniformity_ != nullptr && uniformity_->isUniform(value) && bytesOf(value) <= kUniformBytes && !ownTime.contains(value);
    if (made.uniform) {
      made.index = uniforms_++;
      continue;
    }
    bytes_ = llvm::alignTo(bytes_, layout_.getABITypeAlign(made.type));
    made.kept = place(bytes_, bytesOf(value));
    made.ofWarp = isSameInWarp(*value);
    bytes_ += bytesOf(value);
  }
  if (uniformity_ == nullptr || llvm::any_of(cuts_, [](const Cut& cut) { return cut.polls; })) {
    bytes_ = llvm::alignTo(bytes_, 4);
    stateOffset_ = bytes_;
    bytes_ += 4;
  }
  return bytes_ <= kMostFrameBytes;
}

bool Frame::keepValues() {
  llvm::SmallVector<llvm::BasicBlock*, 16> blocks;
  for (const Cut& cut : cuts_) blocks.push_back(cut.resume);
  const std::vector<LiveSet> live = liveAt(step_, blocks);
  LiveSet all;
  for (const LiveSet& set : live) all.insert(set.begin(), set.end());

  // Where a thread goes on: what is computed again is, before its parts are moved.
  Recomputation recomputation;
  std::vector<llvm::BasicBlock*> entries;
  std::vector<llvm::DenseMap<llvm::Value*, llvm::Value*>> computed(cuts_.size());
  for (std::size_t k = 0; k < cuts_.size(); ++k) {
    entries.push_back(llvm::BasicBlock::Create(step_.getContext(), "resume", &step_));
    llvm::IRBuilder<> at(entries.back());
    for (llvm::Instruction* value : live[k]) {
      if (canCompute(recomputation, value)) recomputation.build(value, at, computed[k]);
    }
  }

  Values values;
  if (!placeValues(values, all, ofOwnTime(live), recomputation)) return false;
  noteEarlyEnds();

  // Where it stops, and where it goes on.
  llvm::Instruction* const before = &*entry_->begin();
  for (auto& [value, made] : values) {
    made.slot = llvm::DemoteRegToStack(*value, false, before->getIterator());
  }
  for (std::size_t k = 0; k < cuts_.size(); ++k) {
    llvm::IRBuilder<> in(entries[k]);
    b.SetInsertPoint(cuts_[k].exit->getTerminator());
    for (llvm::Instruction* value : live[k]) {
      const Value& made = values[value];
      // Never used, when each of its uses was turned into another's slot.
      if (made.slot == nullptr) continue;
      if (made.computed) {
        in.CreateStore(computed[k].lookup(value), made.slot);
        continue;
      }
      load(in, made);
      if (!made.uniform || !cuts_[k].polls) save(made);
    }
    in.CreateBr(cuts_[k].resume);
    if (cuts_[k].arrival != nullptr) addArrival(cuts_[k]);
    llvm::Instruction* const end = cuts_[k].exit->getTerminator();
    b.CreateRet(b.getInt32(static_cast<std::uint32_t>(k + 1)));
    end->eraseFromParent();
  }
  addChoice(entries);
  for (auto& [value, made] : values) {
    if (made.slot != nullptr) slots_.push_back(made.slot);
    if (made.kept != nullptr) places_.push_back(made.kept);
  }
  return true;
}

// The bytes are read for neighbours at once: what lies behind the last thread's is there, too.
void Frame::noteEarlyEnds() {
  if (!mayEndEarly()) return;
  endedOffset_ = bytes_;
  anyEnded_ = uniforms_++;
  b.SetInsertPoint(entry_);
  llvm::Value* const own = place(endedOffset_, 1);
  bytes_ += 2;
  for (llvm::BasicBlock* end : earlyEnds_) {
    b.SetInsertPoint(end->getTerminator());
    b.CreateStore(b.getInt8(1), own);
    b.CreateStore(b.getInt32(1), b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), step_.getArg(kUniformOut), anyEnded_ * kUniformBytes));
  }
}

// Counts the thread if its predicate holds. One update that lanes side by side make together; an ordinary one in the end (relaxAtomics).
void Frame::addArrival(const Cut& cut) {
  llvm::Value* const holds = b.CreateICmpNE(cut.arrival->getArgOperand(0), b.getInt32(0));
  b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, step_.getArg(kArrived), b.CreateZExt(holds, b.getInt32Ty()), llvm::Align(4), llvm::AtomicOrdering::Monotonic,
                    llvm::SyncScope::SingleThread);
  cut.arrival->eraseFromParent();
}

void Frame::addChoice(llvm::ArrayRef<llvm::BasicBlock*> entries) {
  b.SetInsertPoint(entry_);
  llvm::BasicBlock* const none = llvm::BasicBlock::Create(step_.getContext(), "none", &step_);
  new llvm::UnreachableInst(step_.getContext(), none);
  llvm::SwitchInst* const choice = b.CreateSwitch(step_.getArg(kSegment), none);
  choice->addCase(b.getInt32(0), first_);
  for (std::size_t k = 0; k < cuts_.size(); ++k) choice->addCase(b.getInt32(static_cast<std::uint32_t>(k + 1)), entries[k]);
}

llvm::Value* Frame::uniformPlace(llvm::IRBuilder<>& at, StepArgument base, const Value& value) {
  return at.CreateConstInBoundsGEP1_64(at.getInt8Ty(), step_.getArg(base), value.index * kUniformBytes);
}

// Vectors of i1 are none that processors know.
void Frame::load(llvm::IRBuilder<>& in, const Value& value) {
  llvm::Value* const from = value.uniform ? uniformPlace(in, kUniformIn, value) : value.kept;
  llvm::LoadInst* const load = in.CreateLoad(value.type->isIntegerTy(1) ? in.getInt8Ty() : value.type, from);
  if (value.ofWarp) markOfWarp(*load);
  in.CreateStore(value.type->isIntegerTy(1) ? in.CreateICmpNE(load, in.getInt8(0)) : load, value.slot);
}
void Frame::save(const Value& value) {
  llvm::Value* what = b.CreateLoad(value.type, value.slot);
  if (value.type->isIntegerTy(1)) what = b.CreateZExt(what, b.getInt8Ty());
  b.CreateStore(what, value.uniform ? uniformPlace(b, kUniformOut, value) : value.kept);
}

}  // namespace rouse::cpu::codegen
