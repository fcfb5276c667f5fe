#include "server/device/cpu/codegen/overwrites.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include <cstdlib>
#include <optional>

namespace rouse::cpu::codegen {
namespace {

// Each place asks for all blocks again, and each block for all that was loaded.
constexpr std::size_t kMostPlaces = 16, kMostLoads = 64;

// As many threads away a neighbour is still one: what is farther is another buffer.
constexpr std::int64_t kFarthest = 32;

// A number as something and a constant, which are added; addresses in shared memory are of 32 bits.
struct Sum {
  const llvm::Value* of;
  std::int64_t constant;
};

Sum sumOf(const llvm::Value* index) {
  Sum sum{index, 0};
  if (const auto* wide = llvm::dyn_cast<llvm::ZExtInst>(sum.of)) sum.of = wide->getOperand(0);
  for (unsigned depth = 0; depth < 8; ++depth) {
    const auto* const operation = llvm::dyn_cast<llvm::BinaryOperator>(sum.of);
    if (operation == nullptr) break;
    const auto* const constant = llvm::dyn_cast<llvm::ConstantInt>(operation->getOperand(1));
    const auto* const either = llvm::dyn_cast<llvm::PossiblyDisjointInst>(operation);
    const bool adds = operation->getOpcode() == llvm::Instruction::Add || (either != nullptr && either->isDisjoint());
    if (constant == nullptr || !adds || constant->getBitWidth() > 64) break;
    sum = {operation->getOperand(0), sum.constant + constant->getSExtValue()};
  }
  return sum;
}

// Bytes from one address to the other; nothing if that is not known.
std::optional<std::int64_t> distance(const llvm::Value* to, const llvm::Value* from, const llvm::DataLayout& layout) {
  if (const auto known = to->getPointerOffsetFrom(from, layout)) return known;
  const auto *const x = llvm::dyn_cast<llvm::GetElementPtrInst>(to), *const y = llvm::dyn_cast<llvm::GetElementPtrInst>(from);
  if (x == nullptr || y == nullptr || x->getPointerOperand() != y->getPointerOperand() || x->getNumIndices() != 1 || y->getNumIndices() != 1) return std::nullopt;
  if (!x->getSourceElementType()->isIntegerTy(8) || !y->getSourceElementType()->isIntegerTy(8)) return std::nullopt;
  const Sum a = sumOf(x->getOperand(1)), b = sumOf(y->getOperand(1));
  if (a.of != b.of) return std::nullopt;
  return a.constant - b.constant;
}

}  // namespace

Overwrites::Overwrites(llvm::Function& step, const Uniformity& uniformity, const llvm::SmallPtrSetImpl<llvm::Instruction*>& barriers)
    : step_(step), uniformity_(uniformity), barriers_(barriers), dominators_(step), shapes_(step, Beside::neighbours), loops_(dominators_) {
  for (const llvm::Instruction& instruction : llvm::instructions(step)) {
    const llvm::Value* const pointer = llvm::getLoadStorePointerOperand(&instruction);
    if (pointer != nullptr && isOfShared(pointer, step)) shared_.insert(&instruction);
  }
}

// Whether it may be what others have loaded there. What all store at addresses of their own, apart from what they load, is the other of two buffers, or a
// row of each thread's own.
bool Overwrites::isHit(const llvm::StoreInst& store, const llvm::Value* loaded) const {
  const llvm::Value* const own = store.getPointerOperand();
  if (loaded == own) return uniformity_.isUniform(own);
  const auto bytes = distance(loaded, own, step_.getParent()->getDataLayout());
  if (uniformity_.isUniform(own)) return !bytes || *bytes == 0 || !uniformity_.isUniform(loaded);
  // Of any place only some threads store to: those in a loop without barriers keep lists of their own there.
  if (!bytes) return !uniformity_.isCommon(store.getParent()) && isCutAnyway(store.getParent());
  const Shape shape = shapes_.of(own);
  if (shape.kind != Shape::Kind::affine || shape.stride == 0) return false;
  return *bytes != 0 && *bytes % shape.stride == 0 && std::abs(*bytes / shape.stride) <= kFarthest;
}

// Whether it may be what other lanes have stored there: a neighbour's, or any of those that a leader adds up.
bool Overwrites::isTaken(const llvm::LoadInst& load, const llvm::Value* stored) const {
  const llvm::Value* const own = load.getPointerOperand();
  if (own == stored || uniformity_.isUniform(stored)) return false;
  if (uniformity_.isUniform(own)) return !uniformity_.isCommon(load.getParent()) && isCutAnyway(load.getParent());
  const auto bytes = distance(own, stored, step_.getParent()->getDataLayout());
  const Shape shape = shapes_.of(own);
  if (!bytes || shape.kind != Shape::Kind::affine || shape.stride == 0) return false;
  return *bytes != 0 && *bytes % shape.stride == 0 && std::abs(*bytes / shape.stride) <= kFarthest;
}

// Whether the innermost loop around the block, if there is one, has a barrier: else a cut would take it apart.
bool Overwrites::isCutAnyway(const llvm::BasicBlock* block) const {
  const llvm::Loop* const loop = loops_.getLoopFor(block);
  return loop == nullptr || llvm::any_of(barriers_, [&](const llvm::Instruction* barrier) { return loop->contains(barrier->getParent()); });
}

bool Overwrites::hits(const llvm::Instruction& access, const Seen& seen) const {
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&access)) return llvm::any_of(seen.loaded, [&](const llvm::Value* loaded) { return isHit(*store, loaded); });
  return llvm::any_of(seen.stored, [&](const llvm::Value* stored) { return isTaken(llvm::cast<llvm::LoadInst>(access), stored); });
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
    if (!shared_.contains(&instruction)) continue;
    Addresses& those = llvm::isa<llvm::LoadInst>(instruction) ? seen.loaded : seen.stored;
    if (those.size() < kMostLoads) those.insert(llvm::getLoadStorePointerOperand(&instruction));
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
        for (const llvm::Value* store : seen.stored) changed |= there.stored.size() < kMostLoads && there.stored.insert(store);
      }
    }
  }
}

const llvm::SmallSetVector<llvm::Instruction*, 8>& Overwrites::find() {
  for (bool found = true; found && places_.size() < kMostPlaces;) {
    found = false;
    flow();
    for (llvm::BasicBlock& block : step_) {
      Seen seen = before_[&block];
      walk(block, seen, [&](llvm::Instruction& instruction, const Seen& now) {
        if (found || !shared_.contains(&instruction) || !hits(instruction, now)) return;
        llvm::Instruction* const place = placeOf(instruction);
        if (place == nullptr || places_.contains(place)) return;
        // Something was seen before all came together: else it helps nobody.
        Seen until = before_[place->getParent()];
        bool helps = false;
        walk(*place->getParent(), until, [&](llvm::Instruction& at, const Seen& then) { helps |= &at == place && hits(instruction, then); });
        if (!helps) return;
        places_.insert(place);
        found = true;
      });
      if (found) break;
    }
  }
  return places_;
}

}  // namespace rouse::cpu::codegen
