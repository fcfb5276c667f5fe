#include "server/device/cpu/codegen/segment_loops.h"

#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <optional>

#include "server/device/cpu/codegen/lanes.h"
#include "server/device/cpu/codegen/passes.h"

namespace rouse::cpu::codegen {
namespace {

// Whether a segment does nothing that not every thread does, and does the same: it decides which comes next.
bool isSameForAll(llvm::Function& segment) {
  if (!mayBeSideBySide(segment)) return false;
  const LaneShapes shapes(segment, Beside::neighbours);
  for (const llvm::Instruction& instruction : llvm::instructions(segment)) {
    if (const auto* branch = llvm::dyn_cast<llvm::BranchInst>(&instruction); branch != nullptr && branch->isConditional()) {
      if (!shapes.of(branch->getCondition()).isUniform()) return false;
    } else if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      const llvm::Value* const place = store->getPointerOperand()->stripInBoundsConstantOffsets();
      if (place != segment.getArg(kUniformOut) || !shapes.of(store->getValueOperand()).isUniform()) return false;
    } else if (instruction.mayHaveSideEffects() || llvm::isa<llvm::SwitchInst>(instruction)) {
      return false;
    }
  }
  return true;
}

// What the step does from one of its cuts on. Only that is copied: a kernel may have hundreds of cuts.
llvm::Function* cloneFrom(llvm::Function& step, std::uint32_t number, llvm::ValueToValueMapTy& map) {
  auto* const made = llvm::Function::Create(step.getFunctionType(), step.getLinkage(), "", step.getParent());
  made->setAttributes(step.getAttributes());
  for (llvm::Argument& argument : step.args()) map[&argument] = made->getArg(argument.getArgNo());
  auto* const word = llvm::cast<llvm::IntegerType>(step.getArg(kSegment)->getType());
  map[step.getArg(kSegment)] = llvm::ConstantInt::get(word, number);
  const llvm::BasicBlock* const entry = &step.getEntryBlock();
  // Of the only segment there is, it is no choice, or one of two ways.
  const auto* const several = llvm::dyn_cast<llvm::SwitchInst>(entry->getTerminator());
  const llvm::BasicBlock* const first = several == nullptr ? entry->getTerminator()->getSuccessor(0) : several->findCaseValue(llvm::ConstantInt::get(word, number))->getCaseSuccessor();
  llvm::SmallPtrSet<const llvm::BasicBlock*, 32> reached{entry};
  llvm::SmallVector<const llvm::BasicBlock*, 32> work{first};
  while (!work.empty()) {
    const llvm::BasicBlock* const block = work.pop_back_val();
    if (reached.insert(block).second) work.append(llvm::succ_begin(block), llvm::succ_end(block));
  }
  for (llvm::BasicBlock& block : step) {
    if (!reached.contains(&block)) continue;
    llvm::BasicBlock* const copy = llvm::CloneBasicBlock(&block, map, "", made);
    map[&block] = copy;
    for (llvm::PHINode& phi : copy->phis()) phi.removeIncomingValueIf([&](unsigned k) { return !reached.contains(phi.getIncomingBlock(k)); }, false);
  }
  llvm::Instruction* const choice = made->getEntryBlock().getTerminator();
  llvm::BranchInst::Create(llvm::cast<llvm::BasicBlock>(map[first]), choice->getIterator());
  choice->eraseFromParent();
  for (llvm::Instruction& instruction : llvm::instructions(*made)) llvm::RemapInstruction(&instruction, map, llvm::RF_NoModuleLevelChanges | llvm::RF_IgnoreMissingLocals);
  for (llvm::BasicBlock& block : *made) {
    for (llvm::PHINode& phi : llvm::make_early_inc_range(block.phis())) {
      if (phi.getNumIncomingValues() == 1 && phi.getIncomingValue(0) != &phi) {
        phi.replaceAllUsesWith(phi.getIncomingValue(0));
        phi.eraseFromParent();
      }
    }
  }
  return made;
}

}  // namespace

llvm::Function* SegmentLoops::segment(std::uint32_t number) {
  llvm::ValueToValueMapTy map;
  llvm::Function* const made = cloneFrom(step_, number, map);
  llvm::removeUnreachableBlocks(*made);
  made->setName(function_->getName() + ".segment." + std::to_string(number));
  llvm::SmallVector<llvm::AllocaInst*, 32> slots;
  for (llvm::AllocaInst* slot : frame_.slots()) {
    if (auto* there = llvm::dyn_cast_or_null<llvm::AllocaInst>(map.lookup(slot)); there != nullptr && llvm::isAllocaPromotable(there))
      slots.push_back(there);
  }
  llvm::DominatorTree dominators(*made);
  llvm::PromoteMemToReg(slots, dominators);
  // What comes and goes unchanged stays where it is.
  for (llvm::Value* place : frame_.places()) {
    llvm::Value* const there = map.lookup(place);
    if (there == nullptr) continue;
    for (llvm::User* user : llvm::make_early_inc_range(there->users())) {
      auto* const store = llvm::dyn_cast<llvm::StoreInst>(user);
      if (store == nullptr || store->getPointerOperand() != there) continue;
      const auto* loaded = llvm::dyn_cast<llvm::LoadInst>(store->getValueOperand());
      if (loaded != nullptr && loaded->getPointerOperand() == there) store->eraseFromParent();
    }
  }
  if (independent_) markIndependent(*made);
  return made;
}

bool SegmentLoops::addCommon(llvm::StringRef name) {
  begin(name);
  ThreadLoops loops(b);
  // Another context for what is not inlined, so that nobody sees this one's.
  std::optional<ThreadLoops> single;
  if (ranges_.polls != 0) single.emplace(b);
  allocate(loops);
  llvm::BasicBlock* const done = newBlock("done");
  b.CreateBr(blocks_[0]);
  for (std::size_t k = 0; k < blocks_.size(); ++k) segments_.push_back(segment(static_cast<std::uint32_t>(k)));
  bool possible = ranges_.polls == 0 || preparePolls();
  for (std::uint32_t k = 0; possible && k < blocks_.size(); ++k) {
    if (isPoll(k)) continue;
    b.SetInsertPoint(blocks_[k]);
    // One word at a time, so that each becomes a value of its own.
    for (std::uint64_t at = 0; at < frame_.uniforms() * kUniformBytes; at += 8)
      b.CreateStore(b.CreateLoad(b.getInt64Ty(), field(shared_.uniformOut, at)), field(shared_.uniformIn, at));
    llvm::Value* const reduced = b.CreateLoad(b.getInt32Ty(), shared_.arrived);
    b.CreateStore(b.getInt32(0), shared_.arrived);
    if (mayComeToPoll(*segments_[k])) {
      runOwnTime(loops, k, reduced);
      continue;
    }
    possible = blocks_.size() > kMostInOne ? runOutlined(loops, k, segments_[k], reduced) : runCommon(loops, k, segments_[k], reduced);
    if (possible) go(b.CreateLoad(b.getInt32Ty(), shared_.next), segments_[k], done);
  }
  if (possible && ranges_.polls != 0) addPolls(loops, *single, done);
  if (!possible) {
    function_->eraseFromParent();
    for (llvm::Function* outlined : outlined_) outlined->eraseFromParent();
  }
  for (llvm::Function* made : segments_) {
    if (made->use_empty()) made->eraseFromParent();
  }
  if (!possible) return false;
  b.SetInsertPoint(done);
  loops.noteMisaligned();
  if (single) single->noteMisaligned();
  b.CreateRetVoid();
  return true;
}

// Where some end and others go on, the next segment is that of the latter.
void SegmentLoops::noteNext(llvm::CallInst* next) {
  next->addFnAttr(llvm::Attribute::AlwaysInline);
  llvm::Value* const way = frame_.mayEndEarly() ? b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b.CreateLoad(b.getInt32Ty(), shared_.next), next) : next;
  b.CreateStore(way, shared_.next);
}

// All threads the same segment, or all that are left. What is done while all are there knows that they are.
bool SegmentLoops::runCommon(ThreadLoops& loops, std::uint32_t number, llvm::Function* segment, llvm::Value* reduced) {
  if (!frame_.mayEndEarly()) return runAll(loops, number, segment, reduced);
  b.CreateStore(b.getInt32(kThreadEnds), shared_.next);
  if (number == 0 || (target_ != nullptr && isSameForAll(*segment))) return runAll(loops, number, segment, reduced);
  llvm::BasicBlock* const all = newBlock("all");
  llvm::BasicBlock* const some = newBlock("some");
  llvm::BasicBlock* const after = newBlock("after");
  llvm::Value* const any = b.CreateLoad(b.getInt32Ty(), field(shared_.uniformOut, frame_.anyEnded() * kUniformBytes));
  b.CreateCondBr(b.CreateICmpEQ(any, b.getInt32(0)), all, some);
  b.SetInsertPoint(all);
  if (!runAll(loops, number, segment, reduced)) return false;
  b.CreateBr(after);
  b.SetInsertPoint(some);
  if (!runLeft(loops, number, segment, reduced)) return false;
  b.CreateBr(after);
  b.SetInsertPoint(after);
  return true;
}

// The same in a function of its own: LLVM asks of each loop what is known where it begins, as far back as there is one way to come there, so a row of hundreds of
// them in one function takes time that grows with the square.
bool SegmentLoops::runOutlined(ThreadLoops& loops, std::uint32_t number, llvm::Function* segment, llvm::Value* reduced) {
  llvm::Function* const outer = function_;
  const Shared shared = shared_;
  const auto place = b.saveIP();
  llvm::Type* const pointer = b.getPtrTy();
  llvm::Value* const arguments[] = {loops.block(), loops.parameters(), shared.next, shared.arrived, shared.uniformIn, shared.uniformOut, shared.stride, shared.frames, reduced};
  function_ = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, pointer, pointer, pointer, pointer, b.getInt64Ty(), pointer, b.getInt32Ty()}, false),
                                     llvm::GlobalValue::InternalLinkage, outer->getName() + ".of." + std::to_string(number), module_);
  function_->setAttributes(outer->getAttributes());
  function_->addFnAttr(llvm::Attribute::NoInline);
  for (const unsigned alone : {2u, 3u, 4u, 5u, 7u}) function_->addParamAttr(alone, llvm::Attribute::NoAlias);
  outlined_.push_back(function_);
  b.SetInsertPoint(newBlock("entry"));
  shared_ = {function_->getArg(2), function_->getArg(3), function_->getArg(4), function_->getArg(5), function_->getArg(6), function_->getArg(7)};
  ThreadLoops own(b);
  const bool possible = runCommon(own, number, segment, function_->getArg(8));
  own.noteMisaligned();
  b.CreateRetVoid();
  llvm::Function* const made = function_;
  const bool besides = allowsLanes(*made);
  function_ = outer;
  shared_ = shared;
  if (besides) allowLanes(*function_);
  b.restoreIP(place);
  b.CreateCall(made, arguments);
  return possible;
}

// All threads the same segment.
bool SegmentLoops::runAll(ThreadLoops& loops, std::uint32_t number, llvm::Function* segment, llvm::Value* reduced) {
  if (target_ != nullptr && isSameForAll(*segment)) {
    loops.forFirst([&] { noteNext(call(loops, segment, b.getInt32(number), reduced)); });
    return true;
  }
  if (llvm::Function* const beside = target_ == nullptr ? nullptr : sideBySide(*segment, beside_, *target_, frame_.mayEndEarly() ? Present::leaving : Present::all)) {
    allowLanes(*function_);
    const auto body = [&](llvm::Value* count) { noteNext(call(loops, beside, b.getInt32(number), reduced, count)); };
    beside_ == Beside::warps ? loops.forWarps(body) : loops.forAllBy(lanesOf(beside_), body);
    return true;
  }
  if (areOfWarp(beside_)) return false;
  noteInTurn(*function_);
  loops.forAll([&] { noteNext(call(loops, segment, b.getInt32(number), reduced)); });
  return true;
}

// Where it is noted that the thread, and those behind it, have ended.
llvm::Value* SegmentLoops::ended(llvm::Value* linear) {
  llvm::Value* const array = b.CreateInBoundsGEP(b.getInt8Ty(), shared_.frames, b.CreateMul(shared_.stride, b.getInt64(frame_.endedOffset()), "", true, true));
  return b.CreateInBoundsGEP(b.getInt8Ty(), array, b.CreateZExt(linear, b.getInt64Ty()));
}

// All threads that have not ended.
bool SegmentLoops::runLeft(ThreadLoops& loops, std::uint32_t number, llvm::Function* segment, llvm::Value* reduced) {
  const auto linear = [&] { return b.CreateLoad(b.getInt32Ty(), field(loops.thread(), offsetof(ThreadContext, linear))); };
  const auto runIf = [&](llvm::Value* left, const std::function<void()>& body) {
    llvm::BasicBlock* const runs = newBlock("runs");
    llvm::BasicBlock* const after = newBlock("after");
    b.CreateCondBr(left, runs, after);
    b.SetInsertPoint(runs);
    body();
    b.CreateBr(after);
    b.SetInsertPoint(after);
  };
  if (llvm::Function* const beside = target_ == nullptr ? nullptr : sideBySide(*segment, beside_, *target_, Present::some)) {
    allowLanes(*function_);
    const auto body = [&](llvm::Value* count) {
      const unsigned lanes = lanesOf(beside_);
      llvm::Value* const noted = b.CreateAlignedLoad(llvm::FixedVectorType::get(b.getInt8Ty(), lanes), ended(linear()), llvm::Align(1));
      llvm::Value* const left = b.CreateBitCast(b.CreateICmpEQ(noted, llvm::Constant::getNullValue(noted->getType())), b.getIntNTy(lanes));
      llvm::Value* which = b.CreateZExt(left, b.getInt32Ty());
      if (!areAll(beside_)) {
        llvm::Value* const those = b.CreateSub(b.CreateShl(b.getInt64(1), b.CreateZExt(b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, count, b.getInt32(lanes)), b.getInt64Ty())), b.getInt64(1));
        which = b.CreateAnd(which, b.CreateTrunc(those, b.getInt32Ty()));
      }
      runIf(b.CreateICmpNE(which, b.getInt32(0)), [&] { noteNext(call(loops, beside, b.getInt32(number), reduced, which)); });
    };
    beside_ == Beside::warps ? loops.forWarps(body) : loops.forAllBy(lanesOf(beside_), body);
    return true;
  }
  if (areOfWarp(beside_)) return false;
  noteInTurn(*function_);
  loops.forAll([&] {
    llvm::LoadInst* const noted = b.CreateLoad(b.getInt8Ty(), ended(linear()));
    if (independent_) noted->setMetadata(llvm::LLVMContext::MD_access_group, accessGroup(module_, true));
    runIf(b.CreateICmpEQ(noted, b.getInt8(0)), [&] { noteNext(call(loops, segment, b.getInt32(number), reduced)); });
  });
  return true;
}

// All threads a segment behind which there is one way to go.
bool SegmentLoops::runBeside(ThreadLoops& loops, std::uint32_t number, llvm::Function* segment) {
  std::optional<std::uint32_t> way;
  for (llvm::BasicBlock& block : *segment) {
    auto* const end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator());
    if (end == nullptr) continue;
    const auto* next = llvm::dyn_cast<llvm::ConstantInt>(end->getReturnValue());
    if (next == nullptr || way) return false;
    way = static_cast<std::uint32_t>(next->getZExtValue());
  }
  llvm::Function* const beside = target_ == nullptr || !way ? nullptr : sideBySide(*segment, beside_, *target_);
  if (beside == nullptr) return false;
  allowLanes(*function_);
  loops.forAllBy(lanesOf(beside_), [&](llvm::Value* count) { call(loops, beside, b.getInt32(number), b.getInt32(0), count)->addFnAttr(llvm::Attribute::AlwaysInline); });
  loops.forAll([&] {
    llvm::StoreInst* const noted = b.CreateStore(b.getInt32(*way), state(loops));
    if (independent_) noted->setMetadata(llvm::LLVMContext::MD_access_group, accessGroup(module_, true));
  });
  for (llvm::AllocaInst* bound : {least_, greatest_}) b.CreateStore(b.getInt32(*way), bound);
  return true;
}

void SegmentLoops::addApart(llvm::StringRef name) {
  begin(name);
  ThreadLoops loops(b);
  // Another context for what is not inlined, so that nobody sees this one's.
  ThreadLoops single(b);
  allocate(loops);
  llvm::BasicBlock* const done = newBlock("done");
  llvm::BasicBlock* const together = newBlock("together");
  llvm::BasicBlock* const apart = newBlock("apart");
  const auto dispatch = [&] {
    if (ranges_.polls != 0) letOthers(loops);
    llvm::Value* const least = b.CreateLoad(b.getInt32Ty(), least_);
    b.CreateCondBr(b.CreateICmpEQ(least, b.CreateLoad(b.getInt32Ty(), greatest_)), together, apart);
  };
  b.CreateBr(blocks_[0]);
  for (std::size_t k = 0; k < blocks_.size(); ++k) {
    llvm::Function* const made = segment(static_cast<std::uint32_t>(k));
    b.SetInsertPoint(blocks_[k]);
    beginRound();
    if (runBeside(loops, static_cast<std::uint32_t>(k), made)) {
      made->eraseFromParent();
      dispatch();
      continue;
    }
    loops.forAll([&] {
      llvm::CallInst* const next = call(loops, made, b.getInt32(static_cast<std::uint32_t>(k)), b.getInt32(0));
      next->addFnAttr(llvm::Attribute::AlwaysInline);
      llvm::StoreInst* const noted = b.CreateStore(next, state(loops));
      if (independent_) noted->setMetadata(llvm::LLVMContext::MD_access_group, accessGroup(module_, true));
      note(next);
    });
    dispatch();
  }
  b.SetInsertPoint(together);
  llvm::SwitchInst* const choice = b.CreateSwitch(b.CreateLoad(b.getInt32Ty(), least_), done);
  for (std::size_t k = 1; k < blocks_.size(); ++k) choice->addCase(b.getInt32(static_cast<std::uint32_t>(k)), blocks_[k]);
  b.SetInsertPoint(apart);
  llvm::Value* const least = b.CreateLoad(b.getInt32Ty(), least_);
  beginRound();
  runOwn(single, least);
  dispatch();
  b.SetInsertPoint(done);
  loops.noteMisaligned();
  single.noteMisaligned();
  b.CreateRetVoid();
}

llvm::Function* SegmentLoops::begin(llvm::StringRef name) {
  function_ = makeLoopFunction(module_, name);
  b.SetInsertPoint(&function_->getEntryBlock());
  return function_;
}

llvm::AllocaInst* SegmentLoops::variable(llvm::Type* type, std::uint64_t align) {
  llvm::AllocaInst* const made = b.CreateAlloca(type);
  made->setAlignment(llvm::Align(align));
  return made;
}

void SegmentLoops::allocate(const ThreadLoops& loops) {
  shared_.next = variable(b.getInt32Ty(), 4);
  least_ = variable(b.getInt32Ty(), 4);
  greatest_ = variable(b.getInt32Ty(), 4);
  shared_.arrived = variable(b.getInt32Ty(), 4);
  const std::uint64_t uniforms = frame_.uniforms();
  llvm::Type* const table = llvm::ArrayType::get(b.getInt8Ty(), std::max<std::uint64_t>(uniforms, 1) * kUniformBytes);
  shared_.uniformIn = variable(table, kUniformBytes);
  shared_.uniformOut = variable(table, kUniformBytes);
  b.CreateMemSet(shared_.uniformOut, b.getInt8(0), uniforms * kUniformBytes, llvm::Align(kUniformBytes));
  b.CreateStore(b.getInt32(0), shared_.arrived);
  // Arrays over threads begin at multiples of 16 threads.
  llvm::Value* const threads = b.CreateZExt(loops.threads(), b.getInt64Ty());
  shared_.stride = b.CreateAnd(b.CreateAdd(threads, b.getInt64(15), "", true, true), b.getInt64(~std::uint64_t{15}));
  shared_.frames = llvm::ConstantPointerNull::get(b.getPtrTy());
  if (frame_.bytes() != 0) {
    const llvm::FunctionCallee take = module_.getOrInsertFunction("rouse_cpu_frames", b.getPtrTy(), b.getPtrTy(), b.getInt64Ty());
    llvm::CallInst* const taken = b.CreateCall(take, {loops.block(), b.CreateMul(shared_.stride, b.getInt64(frame_.bytes()), "", true, true)});
    taken->addRetAttr(llvm::Attribute::NoAlias);
    taken->addRetAttr(llvm::Attribute::getWithAlignment(b.getContext(), llvm::Align(64)));
    shared_.frames = taken;
  }
  if (frame_.mayEndEarly()) b.CreateMemSet(ended(b.getInt32(0)), b.getInt8(0), b.CreateMul(shared_.stride, b.getInt64(2), "", true, true), llvm::MaybeAlign());
  for (std::size_t k = 0; k <= cuts_; ++k) blocks_.push_back(newBlock("segment"));
}

llvm::BasicBlock* SegmentLoops::newBlock(const char* name) { return llvm::BasicBlock::Create(module_.getContext(), name, function_); }

llvm::Value* SegmentLoops::field(llvm::Value* base, std::size_t offset) {
  return b.CreateConstInBoundsGEP1_32(b.getInt8Ty(), base, static_cast<unsigned>(offset));
}

llvm::CallInst* SegmentLoops::call(ThreadLoops& loops, llvm::Function* callee, llvm::Value* number, llvm::Value* reduced, llvm::Value* count) {
  llvm::SmallVector<llvm::Value*, 10> arguments{loops.thread(), loops.parameters(), shared_.frames, shared_.stride, shared_.uniformIn, shared_.uniformOut, reduced, shared_.arrived, number};
  if (count != nullptr) arguments.push_back(count);
  return b.CreateCall(callee, arguments);
}

SegmentLoops::Ways SegmentLoops::waysFrom(const llvm::Function& segment) {
  Ways ways;
  for (const llvm::BasicBlock& block : segment) {
    auto* const end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator());
    if (end == nullptr) continue;
    const auto* number = llvm::dyn_cast<llvm::ConstantInt>(end->getReturnValue());
    if (number != nullptr) ways.insert(static_cast<std::uint32_t>(number->getZExtValue()));
  }
  return ways;
}

// To the segment `next`, of those that `from` may come to.
void SegmentLoops::go(llvm::Value* next, llvm::Function* from, llvm::BasicBlock* done) {
  const Ways ways = waysFrom(*from);
  const auto target = [&](std::uint32_t way) { return way == kThreadEnds ? done : blocks_[way]; };
  if (ways.size() == 1) {
    b.CreateBr(target(ways[0]));
    return;
  }
  llvm::SwitchInst* const choice = b.CreateSwitch(next, done);
  for (const std::uint32_t way : ways) {
    if (way != kThreadEnds) choice->addCase(b.getInt32(way), target(way));
  }
}

// Where a thread's next segment is noted.
llvm::Value* SegmentLoops::state(ThreadLoops& loops) {
  llvm::Value* const array =
      b.CreateInBoundsGEP(b.getInt8Ty(), shared_.frames, b.CreateMul(shared_.stride, b.getInt64(frame_.stateOffset()), "", true, true));
  llvm::Value* const linear = b.CreateLoad(b.getInt32Ty(), field(loops.thread(), offsetof(ThreadContext, linear)));
  return b.CreateInBoundsGEP(b.getInt32Ty(), array, b.CreateZExt(linear, b.getInt64Ty()));
}

void SegmentLoops::beginRound() {
  b.CreateStore(b.getInt32(kThreadEnds), least_);
  b.CreateStore(b.getInt32(0), greatest_);
}

void SegmentLoops::note(llvm::Value* next) {
  const auto fold = [&](llvm::AllocaInst* into, llvm::Intrinsic::ID how) {
    b.CreateStore(b.CreateBinaryIntrinsic(how, b.CreateLoad(b.getInt32Ty(), into), next), into);
  };
  fold(least_, llvm::Intrinsic::umin);
  fold(greatest_, llvm::Intrinsic::umax);
}

// Whether it is one of `count` cuts, of which that before is number `before`.
llvm::Value* SegmentLoops::isAmong(llvm::Value* segment, std::uint32_t before, std::uint32_t count) {
  return b.CreateICmpULT(b.CreateSub(segment, b.getInt32(before + 1)), b.getInt32(count));
}

// When all who have not come to a barrier poll.
void SegmentLoops::letOthers(const ThreadLoops& loops) {
  llvm::BasicBlock* const let = newBlock("let");
  llvm::BasicBlock* const after = newBlock("after");
  b.CreateCondBr(isPoll(b.CreateLoad(b.getInt32Ty(), least_)), let, after);
  b.SetInsertPoint(let);
  const llvm::FunctionCallee others = module_.getOrInsertFunction(kLetOthers, b.getVoidTy(), b.getPtrTy());
  b.CreateCall(others, {loops.block()});
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

// Each thread its own segments, up to where it waits, polls, or ends. While some have not come so far (`least` is the first segment of any) those that wait stay.
void SegmentLoops::runOwn(ThreadLoops& single, llvm::Value* least) {
  step_.addFnAttr(llvm::Attribute::NoInline);
  noteInTurn(*function_);
  const auto isBranch = [&](llvm::Value* number) { return isAmong(number, 0, ranges_.branches); };
  const auto goesOn = [&](llvm::Value* number) { return isAmong(number, 0, ranges_.branches + ranges_.polls); };
  llvm::Value* const allWait = b.CreateNot(goesOn(least));
  single.forAll([&] {
    llvm::Value* const at = state(single);
    llvm::Value* const now = b.CreateLoad(b.getInt32Ty(), at);
    llvm::BasicBlock* const before = b.GetInsertBlock();
    llvm::BasicBlock* const runs = newBlock("runs");
    llvm::BasicBlock* const after = newBlock("after");
    b.CreateCondBr(b.CreateAnd(b.CreateICmpNE(now, b.getInt32(kThreadEnds)), b.CreateOr(allWait, goesOn(now))), runs, after);
    b.SetInsertPoint(runs);
    llvm::PHINode* const segment = b.CreatePHI(b.getInt32Ty(), 2);
    segment->addIncoming(now, before);
    llvm::CallInst* const next = call(single, &step_, segment, b.getInt32(0));
    segment->addIncoming(next, runs);
    llvm::BasicBlock* const came = newBlock("came");
    b.CreateCondBr(isBranch(next), runs, came);
    b.SetInsertPoint(came);
    b.CreateStore(next, at);
    b.CreateBr(after);
    b.SetInsertPoint(after);
    llvm::PHINode* const then = b.CreatePHI(b.getInt32Ty(), 2);
    then->addIncoming(now, before);
    then->addIncoming(next, came);
    note(then);
  });
}

}  // namespace rouse::cpu::codegen
