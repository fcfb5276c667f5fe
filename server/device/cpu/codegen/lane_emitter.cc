#include "server/device/cpu/codegen/lane_emitter.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/ValueTracking.h>

namespace rouse::cpu::codegen {

LaneEmitter::LaneEmitter(llvm::Function& from, llvm::Function& to, Beside beside, Present present, bool hasMasks, bool mayWrap)
    : from_(from), to_(to), beside_(beside), present_(present), hasMasks_(hasMasks), lanes_(lanesOf(beside)), layout_(from.getParent()->getDataLayout()), shapes_(from, beside, mayWrap, kWarp, present), b(from.getContext()) {}

void LaneEmitter::emit() {
  entry_ = newBlock("lanes");
  b.SetInsertPoint(newBlock("first"));
  for (llvm::Argument& argument : from_.args()) made_[&argument].scalar = to_.getArg(argument.getArgNo());
  llvm::Value* const all = allLanes();
  masks_[&from_.getEntryBlock()] = all;
  inhabited_.push_back(all);
  llvm::BasicBlock* const first = b.GetInsertBlock();
  emitItems(nullptr);
  for (const llvm::BasicBlock& block : from_) {
    const auto* const end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator());
    if (end == nullptr) continue;
    end->getReturnValue() == nullptr ? b.CreateRetVoid() : b.CreateRet(yielded(*end));
  }
  llvm::BranchInst::Create(first, entry_);
}

// Those that do anything.
llvm::Value* LaneEmitter::allLanes() {
  llvm::Value* const told = to_.getArg(static_cast<unsigned>(from_.arg_size()));
  if (present_ == Present::some) return b.CreateBitCast(b.CreateTrunc(told, b.getIntNTy(lanes_)), widen(b.getInt1Ty()));
  return areAll(beside_) ? llvm::Constant::getAllOnesValue(widen(b.getInt1Ty())) : b.CreateICmpULT(laneNumbers(b.getInt32Ty()), splat(told));
}

// What all lanes yield.
llvm::Value* LaneEmitter::yielded(const llvm::ReturnInst& end) {
  const llvm::Value* const value = end.getReturnValue();
  if (shapes_.of(value).isUniform()) return scalarOf(value);
  llvm::Value* const lanes = vectorOf(value);
  return b.CreateIntMinReduce(b.CreateSelect(masks_[end.getParent()], lanes, llvm::Constant::getAllOnesValue(lanes->getType())), false);
}

// A loop's blocks (null: the function's), those of loops in it together.
void LaneEmitter::emitItems(const llvm::Loop* loop) {
  const llvm::ReversePostOrderTraversal<llvm::Function*> order(&from_);
  for (const llvm::BasicBlock* block : order) {
    if (loop != nullptr && !loop->contains(block)) continue;
    const llvm::Loop* inner = shapes_.loops().getLoopFor(block);
    if (inner == loop) {
      emitBlock(block);
      continue;
    }
    if (inner->getParentLoop() == loop && inner->getHeader() == block) emitLoop(inner);
  }
}

void LaneEmitter::emitBlock(const llvm::BasicBlock* block) {
  const bool isHeader = shapes_.loops().isLoopHeader(block);
  if (!isHeader && !masks_.contains(block)) set(masks_[block], maskOf(block));
  mask_ = masks_[block];
  const bool guarded = needsLane(block) && !llvm::is_contained(inhabited_, mask_);
  if (guarded) beginGuard(mask_);
  for (const llvm::Instruction& instruction : *block) {
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) {
      if (!isHeader) emitPhi(*phi);
    } else if (!instruction.isTerminator()) {
      emitInstruction(instruction);
    }
  }
  emitEdges(block);
  if (guarded) endGuard();
  if (!commonLoops_.empty() && commonLoops_.back().exiting == block) leaveTogether(block);
}

// All lanes leave the loop, or none.
void LaneEmitter::leaveTogether(const llvm::BasicBlock* block) {
  const auto* const branch = llvm::cast<llvm::BranchInst>(block->getTerminator());
  const llvm::Loop* const loop = shapes_.loops().getLoopFor(block);
  for (const llvm::PHINode& phi : loop->getExitBlock()->phis()) left_[{&phi, block}] = incoming(phi, block);
  llvm::BasicBlock* const next = newBlock("round");
  llvm::Value* const condition = b.CreateFreeze(scalarOf(branch->getCondition()));
  const bool staysIf = loop->contains(branch->getSuccessor(0));
  b.CreateCondBr(condition, staysIf ? next : commonLoops_.back().after, staysIf ? commonLoops_.back().after : next);
  b.SetInsertPoint(next);
}

// Who leaves the block by which way.
void LaneEmitter::emitEdges(const llvm::BasicBlock* block) {
  const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
  if (branch == nullptr) return;
  const bool leavesTogether = !commonLoops_.empty() && commonLoops_.back().exiting == block;
  if (!branch->isConditional() || leavesTogether || branch->getSuccessor(0) == branch->getSuccessor(1)) {
    for (const llvm::BasicBlock* next : llvm::successors(block)) set(edges_[{block, next}], mask_);
    return;
  }
  llvm::Value* const none = llvm::Constant::getNullValue(mask_->getType());
  llvm::Value* yes = nullptr;
  llvm::Value* no = nullptr;
  if (shapes_.of(branch->getCondition()).isUniform()) {
    llvm::Value* const condition = b.CreateFreeze(scalarOf(branch->getCondition()));
    yes = b.CreateSelect(condition, mask_, none);
    no = b.CreateSelect(condition, none, mask_);
    if (llvm::is_contained(inhabited_, mask_)) {
      decided_[yes] = condition;
      decided_[no] = b.CreateNot(condition);
    }
  } else {
    // Selected, not masked: what lanes that are not here have computed may be no value at all.
    llvm::Value* const condition = vectorOf(branch->getCondition());
    yes = b.CreateSelect(mask_, condition, none);
    no = b.CreateSelect(mask_, b.CreateNot(condition), none);
  }
  set(edges_[{block, branch->getSuccessor(0)}], yes);
  set(edges_[{block, branch->getSuccessor(1)}], no);
}

llvm::Value* LaneEmitter::maskOf(const llvm::BasicBlock* block) {
  if (const llvm::BasicBlock* leader = shapes_.leader(block)) return masks_[leader];
  llvm::Value* mask = nullptr;
  llvm::SmallPtrSet<const llvm::BasicBlock*, 4> seen;
  for (const llvm::BasicBlock* before : llvm::predecessors(block)) {
    if (!seen.insert(before).second) continue;
    llvm::Value* const edge = edges_[{before, block}];
    mask = mask == nullptr ? edge : b.CreateOr(mask, edge);
  }
  return mask;
}

// Whether something is done that must not be where no lane is, or that is better spared.
bool LaneEmitter::needsLane(const llvm::BasicBlock* block) const {
  constexpr std::size_t kMany = 8;
  if (block->size() > kMany) return true;
  for (const llvm::Instruction& instruction : *block) {
    if (instruction.mayReadOrWriteMemory() || (llvm::isa<llvm::CallInst>(instruction) && !llvm::isa<llvm::IntrinsicInst>(instruction))) return true;
    // By what only those that come here know not to be zero; done once for all lanes, it has no mask.
    if (instruction.isIntDivRem() && !llvm::isSafeToSpeculativelyExecute(&instruction)) return true;
  }
  return false;
}

void LaneEmitter::emitLoop(const llvm::Loop* loop) {
  const llvm::BasicBlock* const header = loop->getHeader();
  const llvm::BasicBlock* const before = loop->getLoopPreheader();
  const llvm::BasicBlock* const latch = loop->getLoopLatch();
  const bool common = shapes_.isCommon(loop);
  llvm::Value* const entering = edges_[{before, header}];
  const bool guarded = !llvm::is_contained(inhabited_, entering);
  if (guarded) beginGuard(entering);

  const std::size_t recorded = guards_.empty() ? 0 : guards_.back().set.size();
  llvm::BasicBlock* const from = b.GetInsertBlock();
  llvm::BasicBlock* const head = newBlock("loop");
  llvm::BasicBlock* const after = newBlock("left");
  struct Exit {
    Edge edge;
    llvm::PHINode* mask;
    llvm::Value* next;
  };
  struct Left {
    const llvm::PHINode* user;
    Edge edge;
    llvm::PHINode* phi;
    llvm::Value* next;
  };
  std::vector<Exit> exits;
  std::vector<Left> values;
  llvm::SmallVector<llvm::Loop::Edge, 4> ways;
  loop->getExitEdges(ways);
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::PHINode* mask = nullptr;
  if (!common) {
    mask = b.CreatePHI(entering->getType(), 2);
    mask->addIncoming(entering, from);
    for (const auto& way : ways) {
      llvm::PHINode* const gone = b.CreatePHI(entering->getType(), 2);
      gone->addIncoming(llvm::Constant::getNullValue(entering->getType()), from);
      exits.push_back({{way.first, way.second}, gone, nullptr});
      for (const llvm::PHINode& user : way.second->phis()) {
        llvm::Type* const type = shapes_.of(&user).isScalar() ? user.getType() : widen(user.getType());
        llvm::PHINode* const value = b.CreatePHI(type, 2);
        value->addIncoming(llvm::Constant::getNullValue(type), from);
        values.push_back({&user, {way.first, way.second}, value, nullptr});
      }
    }
  }
  masks_[header] = common ? entering : mask;
  inhabited_.push_back(masks_[header]);
  for (const llvm::PHINode& phi : header->phis()) beginHeaderPhi(phi);
  for (const llvm::PHINode& phi : header->phis()) enterHeaderPhi(phi, before, from);
  commonLoops_.push_back(common ? Common{after, loop->getExitingBlock()} : Common{nullptr, nullptr});
  emitItems(loop);
  commonLoops_.pop_back();

  mask_ = masks_[latch];
  for (const llvm::PHINode& phi : header->phis()) endHeaderPhi(phi, *loop);
  llvm::Value* const staying = edges_[{latch, header}];
  for (Exit& exit : exits) exit.next = b.CreateOr(exit.mask, edges_[exit.edge]);
  for (Left& value : values) {
    const llvm::Value* const brought = value.user->getIncomingValueForBlock(value.edge.first);
    llvm::Value* const edge = edges_[value.edge];
    value.next = shapes_.of(value.user).isScalar() ? b.CreateSelect(any(edge), scalarOf(brought), value.phi) : b.CreateSelect(edge, vectorOf(brought), value.phi);
  }
  llvm::Value* const goesOn = common ? nullptr : any(staying);
  llvm::BasicBlock* const last = b.GetInsertBlock();
  common ? b.CreateBr(head) : b.CreateCondBr(goesOn, head, after);
  if (mask != nullptr) mask->addIncoming(staying, last);
  for (Exit& exit : exits) exit.mask->addIncoming(exit.next, last);
  for (Left& value : values) value.phi->addIncoming(value.next, last);
  inhabited_.pop_back();
  b.SetInsertPoint(after);
  // What was made in the loop is not used behind it, but for what follows.
  if (!guards_.empty()) guards_.back().set.resize(recorded);
  if (common) {
    for (const auto& way : ways) {
      set(edges_[{way.first, way.second}], entering);
      for (const llvm::PHINode& phi : way.second->phis()) {
        llvm::Value*& left = left_[{&phi, way.first}];
        set(left, left);
      }
    }
  }
  for (Exit& exit : exits) set(edges_[exit.edge], exit.next);
  for (Left& value : values) set(left_[{value.user, value.edge.first}], value.next);
  if (guarded) endGuard();
}

void LaneEmitter::beginHeaderPhi(const llvm::PHINode& phi) {
  const Shape shape = shapes_.of(&phi);
  Made& made = made_[&phi];
  if (shape.isScalar()) set(made.scalar, b.CreatePHI(phi.getType(), 2));
  if (!shape.isScalar() || shape.conditional) set(made.vector, b.CreatePHI(widen(phi.getType()), 2));
  if (shape.conditional) set(made.ok, b.CreatePHI(b.getInt1Ty(), 2));
}

// What comes from before the loop, built there.
void LaneEmitter::enterHeaderPhi(const llvm::PHINode& phi, const llvm::BasicBlock* before, llvm::BasicBlock* from) {
  const llvm::IRBuilder<>::InsertPointGuard guard(b);
  b.SetInsertPoint(from->getTerminator());
  const llvm::Value* const start = phi.getIncomingValueForBlock(before);
  const Made made = made_[&phi];
  if (made.scalar != nullptr) llvm::cast<llvm::PHINode>(made.scalar)->addIncoming(scalarOf(start), from);
  if (made.vector != nullptr) llvm::cast<llvm::PHINode>(made.vector)->addIncoming(vectorOf(start), from);
  if (made.ok != nullptr) llvm::cast<llvm::PHINode>(made.ok)->addIncoming(made_[start].ok != nullptr ? made_[start].ok : b.getTrue(), from);
}

void LaneEmitter::endHeaderPhi(const llvm::PHINode& phi, const llvm::Loop& loop) {
  const llvm::Value* const next = phi.getIncomingValueForBlock(loop.getLoopLatch());
  const Made made = made_[&phi];
  llvm::BasicBlock* const here = b.GetInsertBlock();
  if (made.scalar != nullptr) llvm::cast<llvm::PHINode>(made.scalar)->addIncoming(scalarOf(next), here);
  if (made.vector != nullptr) llvm::cast<llvm::PHINode>(made.vector)->addIncoming(vectorOf(next), here);
  if (made.ok != nullptr) {
    llvm::Value* const ok = made_[next].ok;
    llvm::cast<llvm::PHINode>(made.ok)->addIncoming(ok != nullptr ? ok : b.getTrue(), here);
  }
}

llvm::Value* LaneEmitter::incoming(const llvm::PHINode& phi, const llvm::BasicBlock* before) {
  const llvm::Value* const value = phi.getIncomingValueForBlock(before);
  return shapes_.of(&phi).isScalar() ? scalarOf(value) : vectorOf(value);
}

// Where ways meet.
void LaneEmitter::emitPhi(const llvm::PHINode& phi) {
  const bool scalar = shapes_.of(&phi).isScalar();
  llvm::Value* result = nullptr;
  for (const llvm::BasicBlock* before : phi.blocks()) {
    const auto left = left_.find({&phi, before});
    llvm::Value* const value = left != left_.end() ? left->second : incoming(phi, before);
    llvm::Value* const edge = edges_[{before, phi.getParent()}];
    result = result == nullptr || value == result ? value : b.CreateSelect(scalar ? any(edge) : edge, value, result);
  }
  Made& made = made_[&phi];
  set(scalar ? made.scalar : made.vector, result);
  if (shapes_.of(&phi).conditional) {  // which comes by one way only
    set(made.vector, vectorOf(phi.getIncomingValue(0)));
    llvm::Value* const ok = made_[phi.getIncomingValue(0)].ok;
    set(made.ok, ok != nullptr ? ok : b.getTrue());
  }
}

llvm::Value* LaneEmitter::any(llvm::Value* mask) {
  if (llvm::Value* const decided = decided_.lookup(mask)) return decided;
  return b.CreateICmpNE(b.CreateBitCast(mask, b.getIntNTy(lanes_)), b.getIntN(lanes_, 0));
}

llvm::BasicBlock* LaneEmitter::newBlock(const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, &to_); }

void LaneEmitter::beginGuard(llvm::Value* mask) {
  llvm::BasicBlock* const then = newBlock("then");
  llvm::BasicBlock* const after = newBlock("after");
  llvm::Value* const inhabited = any(mask);
  guards_.push_back({b.GetInsertBlock(), after, {}, mask});
  b.CreateCondBr(inhabited, then, after);
  b.SetInsertPoint(then);
  inhabited_.push_back(mask);
}

void LaneEmitter::endGuard() {
  Guard guard = std::move(guards_.back());
  guards_.pop_back();
  inhabited_.pop_back();
  llvm::BasicBlock* const last = b.GetInsertBlock();
  b.CreateBr(guard.after);
  b.SetInsertPoint(guard.after);
  llvm::SmallPtrSet<llvm::Value**, 32> seen;
  for (llvm::Value** slot : guard.set) {
    if (!llvm::isa<llvm::Instruction>(*slot) || !seen.insert(slot).second) continue;
    llvm::PHINode* const both = b.CreatePHI((*slot)->getType(), 2);
    both->addIncoming(*slot, last);
    both->addIncoming(llvm::Constant::getNullValue((*slot)->getType()), guard.before);
    set(*slot, both);
  }
}

void LaneEmitter::set(llvm::Value*& slot, llvm::Value* value) {
  slot = value;
  if (!guards_.empty()) guards_.back().set.push_back(&slot);
}

}  // namespace rouse::cpu::codegen
