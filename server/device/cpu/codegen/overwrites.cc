#include "server/device/cpu/codegen/overwrites.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <cstdlib>

#include "server/device/cpu/codegen/address_sums.h"
#include "server/device/cpu/codegen/barrier_objects.h"
#include "server/device/cpu/codegen/turned_places.h"

namespace rouse::cpu::codegen {
namespace {

// Each place asks for all blocks again, and each block for all that was loaded.
constexpr std::size_t kMostPlaces = 16, kMostLoads = 64;

// As many threads away a neighbour is still one: what is farther is another buffer.
constexpr std::int64_t kFarthest = 32;
constexpr std::int64_t kMostThreads = 1024;  // of a block

constexpr unsigned kMostArms = 8, kDeepest = 8;

using Arms = llvm::SmallSetVector<const llvm::Value*, kMostArms>;

// What a pointer is one of: where the ways to several accesses meet LLVM makes one access of them.
void addArms(const llvm::Value* pointer, const llvm::LoopInfo& loops, Arms& arms, unsigned depth = 0) {
  if (depth == kDeepest || arms.size() == kMostArms) return;
  const auto* const choice = llvm::dyn_cast<llvm::SelectInst>(pointer);
  const auto* const phi = llvm::dyn_cast<llvm::PHINode>(pointer);
  if (choice != nullptr) {
    addArms(choice->getTrueValue(), loops, arms, depth + 1);
    addArms(choice->getFalseValue(), loops, arms, depth + 1);
  } else if (phi != nullptr && !loops.isLoopHeader(phi->getParent())) {
    for (const llvm::Value* from : phi->incoming_values()) addArms(from, loops, arms, depth + 1);
  } else {
    arms.insert(pointer);
  }
}

// Whether it is computed from the thread's number alone, and from what is the same for all.
bool isOfThread(const llvm::Value* value, const Uniformity& uniformity, unsigned depth = 0) {
  if (uniformity.isUniform(value)) return true;
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(value)) {
    return load->getType()->isIntegerTy() && llvm::getUnderlyingObject(load->getPointerOperand(), 0) == load->getFunction()->getArg(0);
  }
  const auto* const operation = llvm::dyn_cast<llvm::Instruction>(value);
  if (operation == nullptr || depth == kDeepest || !(operation->isBinaryOp() || operation->isCast())) return false;
  return llvm::all_of(operation->operands(), [&](const llvm::Value* operand) { return isOfThread(operand, uniformity, depth + 1); });
}

// Whether the distance is one from a thread's place to another's, in an array of theirs: it depends on the thread's number, or that is turned.
bool isOthers(const Sum& apart, std::int64_t stride, const Uniformity& uniformity, const LaneShapes& shapes) {
  return llvm::any_of(apart.terms, [&](const auto& term) {
    if (uniformity.isUniform(term.first)) return false;
    const Shape shape = shapes.of(term.first);
    return (shape.kind == Shape::Kind::affine && shape.stride != 0) || isOfThread(term.first, uniformity) || (term.second == stride && isTurnedAround(term.first));
  });
}

const llvm::Value* writtenBy(const llvm::Instruction& instruction) {
  if (const auto* const store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) return store->getPointerOperand();
  if (const auto* const atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) return atomic->getPointerOperand();
  if (const auto* const exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) return exchange->getPointerOperand();
  return nullptr;
}

bool isSame(const Sum& apart) { return apart.terms.empty() && apart.constant == 0; }

}  // namespace

Overwrites::Overwrites(llvm::Function& step, const Uniformity& uniformity, const llvm::SmallPtrSetImpl<llvm::Instruction*>& barriers, bool inStep)
    : step_(step), uniformity_(uniformity), barriers_(barriers), dominators_(step), shapes_(step, Beside::neighbours), ofWarps_(step, Beside::rows), inStep_(inStep), loops_(dominators_) {
  for (const llvm::Instruction& instruction : llvm::instructions(step)) {
    const llvm::Value* const pointer = llvm::getLoadStorePointerOperand(&instruction);
    if (pointer == nullptr) continue;
    Arms arms;
    addArms(pointer, loops_, arms);
    arms.remove_if([&](const llvm::Value* arm) { return !isOfShared(arm, step); });
    if (!arms.empty()) shared_[&instruction] = arms;
  }
  findAsked();
}

// What all look at and one of them writes, between barriers: in global memory a count that the last block sets back (Eigen's reductions), a flag for the next launch; a barrier
// object that is made anew as soon as its last phase is over.
void Overwrites::findAsked() {
  const llvm::DataLayout& layout = step_.getParent()->getDataLayout();
  for (const llvm::Instruction& instruction : llvm::instructions(step_)) {
    if (uniformity_.isCommon(instruction.getParent())) continue;
    const llvm::Value *const object = initializedObject(instruction), *const place = object != nullptr ? object : writtenBy(instruction);
    if (place != nullptr && uniformity_.isUniform(place) && (object != nullptr || !isOfShared(place, step_))) setBack_[&instruction] = place;
  }
  if (setBack_.empty()) return;
  for (const llvm::Instruction& instruction : llvm::instructions(step_)) {
    const auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    if (load == nullptr || !uniformity_.isUniform(load->getPointerOperand())) continue;
    if (llvm::any_of(setBack_, [&](const auto& write) { return isSame(difference(load->getPointerOperand(), write.second, layout)); })) asked_[load] = load->getPointerOperand();
  }
}

// By neighbours, or of a strip of its warp's.
Shape Overwrites::shapeOf(const llvm::Value* address) const {
  const Shape shape = shapes_.of(address);
  return shape.kind == Shape::Kind::varying ? ofWarps_.of(address) : shape;
}

// Whether one of two addresses may be the other of a neighbour. What all access at addresses of their own, apart from what else they do, is the other of two
// buffers, or a row of each thread's own.
bool Overwrites::isNeighbours(const llvm::Value* own, const llvm::Value* other, bool ofAll) const {
  const Shape shape = shapeOf(own);
  if (shape.kind != Shape::Kind::affine || shape.stride == 0) return false;
  // Of a warp's strip the next warp's is another.
  const std::int64_t farthest = shapes_.of(own).kind == Shape::Kind::affine ? kFarthest : kFarthest - 1;
  return llvm::any_of(waysOf(difference(other, own, step_.getParent()->getDataLayout())), [&](const Sum& way) {
    const std::int64_t threads = std::abs(way.constant / shape.stride);
    if (way.terms.empty()) return way.constant != 0 && way.constant % shape.stride == 0 && threads <= farthest;
    // Any other thread's of the same array.
    return ofAll && threads < kMostThreads && llvm::none_of(way.terms, [&](const auto& term) { return uniformity_.isUniform(term.first); }) && isOthers(way, shape.stride, uniformity_, ofWarps_);
  });
}

// Whether each round of a loop without barriers has another such number.
bool Overwrites::isOfRound(const llvm::LoadInst& load, const llvm::Value* number) const {
  const auto* const phi = llvm::dyn_cast<llvm::PHINode>(number);
  const llvm::Loop* const loop = phi == nullptr ? nullptr : loops_.getLoopFor(phi->getParent());
  return loop != nullptr && loop->getHeader() == phi->getParent() && loop->contains(&load) && !isCutAnyway(phi->getParent());
}

// Whether some store there that may not be among those that load.
bool Overwrites::isStoredBySome(const llvm::LoadInst& load, const llvm::Value* address) const {
  return llvm::any_of(shared_, [&](const auto& access) { return llvm::isa<llvm::StoreInst>(access.first) && access.second.contains(address) && !dominators_.dominates(access.first, &load); });
}

// Whether it is what another thread left there, of what each stores at a place of its own, or few do: in a warp's block, or its strip, programs do without barriers.
bool Overwrites::isLeft(const llvm::LoadInst& load, const llvm::Value* own, const llvm::Value* stored) const {
  if (inStep_) return false;
  const Sum apart = difference(own, stored, step_.getParent()->getDataLayout());
  const bool isOfGroup = uniformity_.isUniform(stored) || ofWarps_.of(stored).isUniform();
  if (isOfGroup) return isSame(apart) && (uniformity_.isCommon(load.getParent()) || isStoredBySome(load, stored));
  const Shape shape = shapeOf(stored);
  if (shape.kind != Shape::Kind::affine || shape.stride == 0) return false;
  // Some of the threads go down a tree: `for (i = 16; i > 0; i /= 2) s[t] += s[t + i]`.
  const bool isOfSome = apart.terms.size() == 1 && !uniformity_.isCommon(load.getParent());
  if (isOfSome && std::abs(apart.terms.front().second) == std::abs(shape.stride) && isOfRound(load, apart.terms.front().first)) return true;
  return llvm::any_of(waysOf(apart), [&](const Sum& way) { return std::abs(way.constant / shape.stride) < kMostThreads && isOthers(way, shape.stride, uniformity_, ofWarps_); });
}

// Whether it may be what others have loaded there.
bool Overwrites::isHit(const llvm::StoreInst& store, const llvm::Value* own, const llvm::Value* loaded) const {
  if (loaded == own) return uniformity_.isUniform(own);
  const Sum apart = difference(loaded, own, step_.getParent()->getDataLayout());
  if (uniformity_.isUniform(own)) return !apart.terms.empty() || apart.constant == 0 || !uniformity_.isUniform(loaded);
  const bool ofAll = uniformity_.isCommon(store.getParent());
  if (isNeighbours(own, loaded, ofAll)) return true;
  // Of any place only some threads store to: those in a loop without barriers keep lists of their own there.
  return !apart.terms.empty() && !ofAll && isCutAnyway(store.getParent());
}

// Whether it may be what other lanes have stored there: a neighbour's, or any of those that a leader adds up.
bool Overwrites::isTaken(const llvm::LoadInst& load, const llvm::Value* own, const llvm::Value* stored) const {
  if (isLeft(load, own, stored)) return true;
  if (own == stored || uniformity_.isUniform(stored)) return false;
  if (uniformity_.isUniform(own)) return !uniformity_.isCommon(load.getParent()) && isCutAnyway(load.getParent());
  return isNeighbours(own, stored, false);
}

// Whether the innermost loop around the block, if there is one, has a barrier: else a cut would take it apart.
bool Overwrites::isCutAnyway(const llvm::BasicBlock* block) const {
  const llvm::Loop* const loop = loops_.getLoopFor(block);
  return loop == nullptr || llvm::any_of(barriers_, [&](const llvm::Instruction* barrier) { return loop->contains(barrier->getParent()); });
}

bool Overwrites::isSetBack(const llvm::Instruction& access, const Seen& seen) const {
  const llvm::Value* const own = setBack_.lookup(&access);
  return own != nullptr && llvm::any_of(seen.asked, [&](const llvm::Value* other) { return isSame(difference(other, own, step_.getParent()->getDataLayout())); });
}

bool Overwrites::hits(const llvm::Instruction& access, const Seen& seen) const {
  if (isSetBack(access, seen)) return true;
  const auto found = shared_.find(&access);
  if (found == shared_.end()) return false;
  const auto* const store = llvm::dyn_cast<llvm::StoreInst>(&access);
  return llvm::any_of(found->second, [&](const llvm::Value* own) {
    if (store != nullptr) return llvm::any_of(seen.loaded, [&](const llvm::Value* loaded) { return isHit(*store, own, loaded); });
    return llvm::any_of(seen.stored, [&](const llvm::Value* stored) { return isTaken(llvm::cast<llvm::LoadInst>(access), own, stored); });
  });
}

// Where all threads come together last before it; null if nowhere.
llvm::Instruction* Overwrites::placeOf(llvm::Instruction& access) const {
  if (uniformity_.isCommon(access.getParent())) return &access;
  const auto* node = dominators_.getNode(access.getParent());
  while (node != nullptr && !uniformity_.isCommon(node->getBlock())) node = node->getIDom();
  return node == nullptr ? nullptr : node->getBlock()->getTerminator();
}

// Through a block; calls note(instruction, what was seen before it) for each of its instructions.
template <class Note>
void Overwrites::walk(llvm::BasicBlock& block, Seen& seen, Note note) const {
  for (llvm::Instruction& instruction : block) {
    if (barriers_.contains(&instruction) || places_.contains(&instruction)) seen = {};
    note(instruction, seen);
    if (const llvm::Value* const place = asked_.lookup(&instruction); place != nullptr && seen.asked.size() < kMostLoads) seen.asked.insert(place);
    if (!shared_.contains(&instruction)) continue;
    // What all store to one place is the same for all, or the last one's.
    const bool isLed = !uniformity_.isCommon(&block);
    Addresses& those = llvm::isa<llvm::LoadInst>(instruction) ? seen.loaded : seen.stored;
    for (const llvm::Value* arm : shared_.find(&instruction)->second) {
      if (those.size() < kMostLoads && (&those == &seen.loaded || isLed || !uniformity_.isUniform(arm))) those.insert(arm);
    }
  }
}

void Overwrites::flow() {
  before_.clear();
  const auto nothing = [](llvm::Instruction&, const Seen&) {};
  for (bool changed = true; changed;) {
    changed = false;
    for (llvm::BasicBlock& block : step_) {
      Seen seen = before_[&block];
      walk(block, seen, nothing);
      for (llvm::BasicBlock* next : llvm::successors(&block)) {
        Seen& there = before_[next];
        for (const llvm::Value* load : seen.loaded) changed |= there.loaded.size() < kMostLoads && there.loaded.insert(load);
        for (const llvm::Value* load : seen.asked) changed |= there.asked.size() < kMostLoads && there.asked.insert(load);
        for (const llvm::Value* store : seen.stored) changed |= there.stored.size() < kMostLoads && there.stored.insert(store);
      }
    }
  }
}

// Whether it stores over what a neighbour behind it loads. Those before it have done so in loops over threads as well, which come in order.
bool Overwrites::isLate(const llvm::Instruction& access, const Seen& seen) const {
  const auto found = shared_.find(&access);
  if (found == shared_.end() || !llvm::isa<llvm::StoreInst>(access)) return false;
  return llvm::any_of(found->second, [&](const llvm::Value* own) {
    const Shape shape = shapes_.of(own);
    if (shape.kind != Shape::Kind::affine || shape.stride == 0) return false;
    return llvm::any_of(seen.loaded, [&](const llvm::Value* loaded) {
      const Sum apart = difference(loaded, own, step_.getParent()->getDataLayout());
      const std::int64_t threads = apart.constant / shape.stride;
      return apart.terms.empty() && apart.constant % shape.stride == 0 && threads < 0 && threads >= -kFarthest;
    });
  });
}

// Loaded and stored in one branch, that only some threads take: where in between it would be parted, if that is in its first block.
void Overwrites::noteApart(llvm::Instruction& access, llvm::Instruction* branching) {
  const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(branching);
  if (branch == nullptr || !branch->isConditional()) return;
  for (const unsigned side : {0u, 1u}) {
    llvm::BasicBlock* const block = branch->getSuccessor(side);
    const llvm::BasicBlock* const join = branch->getSuccessor(1 - side);
    if (block == join || block->getSinglePredecessor() != branch->getParent() || !dominators_.dominates(block, access.getParent())) continue;
    if (!uniformity_.isCommon(join) || loops_.getLoopFor(block) != loops_.getLoopFor(branch->getParent()) || !isCutAnyway(block)) return;
    llvm::Instruction* const at = access.getParent() == block ? &access : block->getTerminator();
    bool helps = false;
    Seen seen;
    walk(*block, seen, [&](llvm::Instruction& instruction, const Seen& then) { helps |= &instruction == at && isLate(access, then); });
    if (helps && llvm::none_of(apart_, [&](const llvm::Instruction* other) { return other->getParent() == block; })) apart_.insert(at);
  }
}

const llvm::SmallSetVector<llvm::Instruction*, 8>& Overwrites::find(const llvm::SmallPtrSetImpl<const llvm::Instruction*>& held) {
  for (bool found = true; found && places_.size() < kMostPlaces;) {
    found = false;
    apart_.clear();
    crosses_ = false;
    flow();
    for (llvm::BasicBlock& block : step_) {
      Seen seen = before_[&block];
      walk(block, seen, [&](llvm::Instruction& instruction, const Seen& now) {
        if (found || !hits(instruction, now)) return;
        llvm::Instruction* const place = placeOf(instruction);
        if (place == nullptr || places_.contains(place) || held.contains(place)) {
          crosses_ |= llvm::isa<llvm::LoadInst>(instruction);
          return;
        }
        // Something was seen before all came together: else it helps nobody.
        Seen until = before_[place->getParent()];
        bool helps = false;
        walk(*place->getParent(), until, [&](llvm::Instruction& at, const Seen& then) { helps |= &at == place && hits(instruction, then); });
        crosses_ |= !helps && llvm::isa<llvm::LoadInst>(instruction);
        if (!helps) return noteApart(instruction, place);
        places_.insert(place);
        found = true;
      });
      if (found) break;
    }
  }
  return places_;
}

llvm::Instruction* meetWithin(llvm::Instruction* at) {
  llvm::BasicBlock* const first = at->getParent();
  llvm::BasicBlock* const before = first->getSinglePredecessor();
  auto* const branch = llvm::cast<llvm::BranchInst>(before->getTerminator());
  const unsigned side = branch->getSuccessor(0) == first ? 0 : 1;
  llvm::BasicBlock* const join = branch->getSuccessor(1 - side);
  llvm::BasicBlock* const second = llvm::SplitBlock(first, at);
  llvm::BasicBlock* const meeting = llvm::BasicBlock::Create(at->getContext(), "meeting", first->getParent(), second);
  first->getTerminator()->setSuccessor(0, meeting);
  branch->setSuccessor(1 - side, meeting);
  join->replacePhiUsesWith(before, meeting);
  for (llvm::Instruction& instruction : *first) {
    llvm::PHINode* kept = nullptr;
    for (llvm::Use& use : llvm::make_early_inc_range(instruction.uses())) {
      if (llvm::cast<llvm::Instruction>(use.getUser())->getParent() == first) continue;
      if (kept == nullptr) {
        kept = llvm::PHINode::Create(instruction.getType(), 2, "", meeting);
        kept->addIncoming(llvm::Constant::getNullValue(instruction.getType()), before);
      }
      use.set(kept);
    }
    if (kept != nullptr) kept->addIncoming(&instruction, first);
  }
  llvm::BranchInst* const again = llvm::BranchInst::Create(second, join, branch->getCondition(), meeting);
  if (side == 1) again->swapSuccessors();
  return again;
}

}  // namespace rouse::cpu::codegen
