// Accesses of all lanes to memory: of neighbours at once, of others by gathers and scatters, atomic ones lane by lane.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/MDBuilder.h>

#include "server/device/cpu/codegen/context_fields.h"
#include "server/device/cpu/codegen/lane_emitter.h"
#include "server/device/cpu/codegen/warp_calls.h"

namespace rouse::cpu::codegen {
namespace {
constexpr std::uint64_t kPageBytes = 4096;
}  // namespace

bool LaneEmitter::isContiguous(const llvm::Value* pointer, llvm::Type* type) const {
  const Shape shape = shapes_.of(pointer);
  const std::uint64_t bytes = layout_.getTypeStoreSize(type).getFixedValue();
  return shape.kind == Shape::Kind::affine && !type->isIntegerTy(1) && shape.stride == static_cast<std::int64_t>(bytes) &&
         layout_.getTypeAllocSize(type).getFixedValue() == bytes;
}

// Whether the processor leaves lanes out of a load of neighbouring elements. Without masks those of words, which AVX2 has: LLVM makes others lane by lane, each with a branch.
bool LaneEmitter::leavesOut(llvm::Type* element) const {
  const std::uint64_t bits = layout_.getTypeSizeInBits(element).getFixedValue();
  return hasMasks_ || bits == 32 || bits == 64;
}

// `near` where neighbours' are neighbours, else `far`. Null where either has nothing to yield.
llvm::Value* LaneEmitter::access(const llvm::Value* pointer, llvm::Type* type, Access near, Access far) {
  if (!isContiguous(pointer, type)) return far();
  llvm::Value* const ok = made_[pointer].ok;
  return ok == nullptr ? near() : either(ok, near, far);
}

llvm::Value* LaneEmitter::either(llvm::Value* condition, Access near, Access far) {
  llvm::BasicBlock* together = newBlock("near");
  llvm::BasicBlock* apart = newBlock("far");
  llvm::BasicBlock* const done = newBlock("done");
  b.CreateCondBr(b.CreateFreeze(condition), together, apart, llvm::MDBuilder(b.getContext()).createLikelyBranchWeights());
  b.SetInsertPoint(together);
  llvm::Value* const first = near();
  together = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(apart);
  llvm::Value* const second = far();
  apart = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  if (first == nullptr || first->getType()->isVoidTy()) return first;
  if (second == nullptr) return nullptr;
  llvm::PHINode* const both = b.CreatePHI(first->getType(), 2);
  both->addIncoming(first, together);
  both->addIncoming(second, apart);
  return both;
}

// Bytes and halves, for which there is no gather, of the words that they are in: those are as readable as their parts. (A half that is in two is misaligned, which ends the launch.)
llvm::Value* LaneEmitter::gatherParts(llvm::Type* type, llvm::Value* addresses) {
  llvm::Type* const wide = widen(b.getInt64Ty());
  llvm::Type* const words = widen(b.getInt32Ty());
  llvm::Value* const whole = b.CreateIntrinsic(llvm::Intrinsic::ptrmask, {addresses->getType(), wide}, {addresses, llvm::ConstantInt::get(wide, ~std::uint64_t{3})});
  llvm::Value* const found = b.CreateMaskedGather(words, whole, llvm::Align(4), mask_, llvm::Constant::getNullValue(words));
  llvm::Value* const byte = b.CreateAnd(b.CreateTrunc(b.CreatePtrToInt(addresses, wide), words), std::uint64_t{3});
  llvm::Value* const part = b.CreateLShr(found, b.CreateShl(byte, std::uint64_t{3}));
  return b.CreateBitCast(b.CreateTrunc(part, widen(b.getIntNTy(static_cast<unsigned>(layout_.getTypeSizeInBits(type).getFixedValue())))), widen(type));
}

// An access of neighbours that are mostly all here: those that leave some out take many times as long on processors that have AVX2 alone (AMD's store so in microcode). Yields what
// either does.
template <class Whole, class Part>
llvm::Value* LaneEmitter::accessOfMost(Whole makeWhole, Part makePart) {
  llvm::BasicBlock* const whole = newBlock("whole");
  llvm::BasicBlock* const part = newBlock("part");
  llvm::BasicBlock* const done = newBlock("done");
  llvm::Type* const bits = b.getIntNTy(lanes_);
  b.CreateCondBr(b.CreateICmpEQ(b.CreateBitCast(mask_, bits), llvm::Constant::getAllOnesValue(bits)), whole, part);
  b.SetInsertPoint(whole);
  llvm::Value* const all = makeWhole();
  b.CreateBr(done);
  b.SetInsertPoint(part);
  llvm::Value* const some = makePart();
  llvm::BasicBlock* const end = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  if (all->getType()->isVoidTy()) return all;
  if (some == nullptr) return nullptr;
  llvm::PHINode* const both = b.CreatePHI(all->getType(), 2);
  both->addIncoming(all, whole);
  both->addIncoming(some, end);
  return both;
}

// Whether it points into the block's shared memory.
bool LaneEmitter::isShared(const llvm::Value* pointer) const {
  llvm::SmallVector<const llvm::Value*, 4> objects;
  llvm::getUnderlyingObjects(pointer, objects);
  return llvm::all_of(objects, [&](const llvm::Value* object) {
    const auto* const load = llvm::dyn_cast<llvm::LoadInst>(object);
    return load != nullptr && blockField(load->getPointerOperand(), from_) == offsetof(BlockContext, shared);
  });
}

// An access of neighbours of which some are left out: `near`, or `far` where they are of two pages. No page follows a block's shared memory (runtime/shared_memory.h), and what is left out there
// (`if (i + 1 < n) x = s[i + 1];`) costs a processor hundreds of cycles (Intel 64 Optimization Reference Manual, "Conditional SIMD Packed Loads and Stores").
llvm::Value* LaneEmitter::withinPage(const llvm::Value* pointer, llvm::Type* type, Access near, Access far) {
  if (llvm::isa<llvm::Constant>(mask_) || !isShared(pointer)) return near();
  const std::uint64_t bytes = lanes_ * layout_.getTypeStoreSize(type).getFixedValue();
  llvm::Value* const inPage = b.CreateAnd(b.CreatePtrToInt(scalarOf(pointer), b.getInt64Ty()), kPageBytes - 1);
  return either(b.CreateICmpULE(inPage, b.getInt64(kPageBytes - bytes)), near, far);
}

void LaneEmitter::emitLoad(const llvm::LoadInst& load) {
  if (shapes_.of(&load).isScalar()) return emitScalar(load);
  llvm::Type* const type = load.getType();
  if (const auto field = shapes_.ownField(load)) {
    const std::size_t from = *field == offsetof(ThreadContext, tid) ? *field : offsetof(ThreadContext, linear);
    llvm::Value* const first = b.CreateLoad(b.getInt32Ty(), b.CreateConstGEP1_32(b.getInt8Ty(), to_.getArg(0), static_cast<unsigned>(from)));
    llvm::Value* numbers = b.CreateAdd(splat(first), laneNumbers(b.getInt32Ty()));
    if (*field == offsetof(ThreadContext, lane)) numbers = b.CreateAnd(numbers, std::uint64_t{31});
    if (*field == offsetof(ThreadContext, warp)) numbers = b.CreateLShr(numbers, std::uint64_t{5});
    return set(made_[&load].vector, type->isFloatTy() ? b.CreateBitCast(numbers, widen(type)) : b.CreateTrunc(numbers, widen(type)));
  }
  if (!isPlainAccess(load)) return emitUpdate(load);
  const llvm::Value* const pointer = load.getPointerOperand();
  llvm::Value* const zero = llvm::Constant::getNullValue(widen(type));
  const auto far = [&]() -> llvm::Value* {
    if (!hasMasks_) return emitOneByOne(load).vector;
    if (layout_.getTypeStoreSize(type).getFixedValue() < sizeof(std::uint32_t)) return gatherParts(type, vectorOf(pointer));
    return b.CreateMaskedGather(widen(type), vectorOf(pointer), llvm::Align(1), mask_, zero);
  };
  const auto near = [&]() -> llvm::Value* {
    llvm::Value* const first = scalarOf(pointer);
    fetchAhead(load);
    const auto some = [&]() -> llvm::Value* {
      if (!leavesOut(type)) return emitOneByOne(load).vector;
      return b.CreateMaskedLoad(widen(type), first, llvm::Align(1), mask_, zero);
    };
    if (hasMasks_) return withinPage(pointer, type, some, far);
    return accessOfMost([&]() -> llvm::Value* { return b.CreateAlignedLoad(widen(type), first, llvm::Align(1)); }, [&] { return withinPage(pointer, type, some, far); });
  };
  const auto runs = runsOf(pointer, type);
  llvm::Value* const found = runs ? accessByRuns(*runs, pointer, type, [&](llvm::ArrayRef<llvm::Value*> firsts) { return loadRuns(*runs, type, firsts); }, far) : access(pointer, type, near, far);
  // Of a volatile load that nobody uses there may be nothing.
  if (found != nullptr) set(made_[&load].vector, found);
}

void LaneEmitter::emitStore(const llvm::StoreInst& store) {
  const llvm::Value* const pointer = store.getPointerOperand();
  const llvm::Value* const value = store.getValueOperand();
  if (!isPlainAccess(store)) {
    if (!shapes_.of(pointer).isUniform() || !shapes_.of(value).isUniform()) return emitUpdate(store);
    llvm::StoreInst* const once = b.CreateAlignedStore(scalarOf(value), scalarOf(pointer), store.getAlign(), store.isVolatile());
    once->setAtomic(store.getOrdering(), store.getSyncScopeID());
    return;
  }
  if (shapes_.of(pointer).isUniform()) {
    llvm::Value* what = nullptr;
    if (shapes_.of(value).isUniform()) {
      what = scalarOf(value);
    } else if (shapes_.threadField(pointer)) {
      return noteMisaligned(store);
    } else {
      // The last one's.
      llvm::Value* const bits = b.CreateBitCast(mask_, b.getIntNTy(lanes_));
      llvm::Value* const before = b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, bits, b.getFalse());
      what = b.CreateExtractElement(vectorOf(value), b.CreateSub(b.getIntN(lanes_, lanes_ - 1), before));
    }
    b.CreateAlignedStore(what, scalarOf(pointer), store.getAlign());
    return;
  }
  llvm::Value* const all = vectorOf(value);
  const auto far = [&]() -> llvm::Value* {
    if (!hasMasks_) return emitOneByOne(store).vector;
    return b.CreateMaskedScatter(all, vectorOf(pointer), llvm::Align(1), mask_);
  };
  const auto near = [&]() -> llvm::Value* {
    llvm::Value* const first = scalarOf(pointer);
    if (hasMasks_) return withinPage(pointer, value->getType(), [&]() -> llvm::Value* { return b.CreateMaskedStore(all, first, llvm::Align(1), mask_); }, far);
    const bool isWide = layout_.getTypeStoreSize(value->getType()).getFixedValue() > 8;
    return accessOfMost([&]() -> llvm::Value* { return b.CreateAlignedStore(all, first, llvm::Align(1)); },
                        [&] { return isWide ? emitOneByOne(store).vector : storeSome(all, first); });
  };
  const auto runs = runsOf(pointer, value->getType());
  if (runs && !runs->same) {
    accessByRuns(*runs, pointer, value->getType(), [&](llvm::ArrayRef<llvm::Value*> firsts) { return storeRuns(*runs, all, firsts); }, far);
  } else {
    access(pointer, value->getType(), near, far);
  }
}

// Of neighbours, of which some are left out.
llvm::Value* LaneEmitter::storeSome(llvm::Value* all, llvm::Value* first) {
  llvm::Type* const element = llvm::cast<llvm::VectorType>(all->getType())->getElementType();
  llvm::AllocaInst* const elements = laneArray(element, 0);
  b.CreateAlignedStore(all, elements, llvm::Align(kLaneArrayAlign));
  llvm::Module& module = *to_.getParent();
  llvm::Function* const store = llvm::cast<llvm::Function>(
      module.getOrInsertFunction("rouse_ptx_store_lanes", b.getVoidTy(), b.getPtrTy(), b.getPtrTy(), b.getInt32Ty(), b.getInt32Ty()).getCallee());
  store->setDoesNotThrow();
  store->setOnlyAccessesArgMemory();
  store->addParamAttr(0, llvm::Attribute::NoCapture);
  store->addParamAttr(1, llvm::Attribute::NoCapture);
  store->addParamAttr(1, llvm::Attribute::ReadOnly);
  llvm::Value* const lanes = b.CreateZExt(b.CreateBitCast(mask_, b.getIntNTy(lanes_)), b.getInt32Ty());
  return b.CreateCall(store, {first, elements, lanes, b.getInt32(static_cast<std::uint32_t>(layout_.getTypeStoreSize(element).getFixedValue()))});
}

// An update of one place by all lanes, of which nobody wants to know what was there: once, with what all of them bring.
bool LaneEmitter::emitTogether(const llvm::Instruction& update) {
  const auto* const all = llvm::dyn_cast<llvm::AtomicRMWInst>(&update);
  if (all == nullptr || !all->use_empty() || all->isVolatile() || !shapes_.of(all->getPointerOperand()).isUniform()) return false;
  const unsigned bits = all->getType()->isIntegerTy() ? all->getType()->getIntegerBitWidth() : 0;
  if (bits == 0) return false;
  llvm::APInt none(bits, 0);
  llvm::Intrinsic::ID reduction = llvm::Intrinsic::not_intrinsic;
  switch (all->getOperation()) {
    case llvm::AtomicRMWInst::Add:
      reduction = llvm::Intrinsic::vector_reduce_add;
      break;
    case llvm::AtomicRMWInst::Or:
      reduction = llvm::Intrinsic::vector_reduce_or;
      break;
    case llvm::AtomicRMWInst::Xor:
      reduction = llvm::Intrinsic::vector_reduce_xor;
      break;
    case llvm::AtomicRMWInst::And:
      reduction = llvm::Intrinsic::vector_reduce_and;
      none.setAllBits();
      break;
    case llvm::AtomicRMWInst::Max:
      reduction = llvm::Intrinsic::vector_reduce_smax;
      none = llvm::APInt::getSignedMinValue(bits);
      break;
    case llvm::AtomicRMWInst::Min:
      reduction = llvm::Intrinsic::vector_reduce_smin;
      none = llvm::APInt::getSignedMaxValue(bits);
      break;
    case llvm::AtomicRMWInst::UMax:
      reduction = llvm::Intrinsic::vector_reduce_umax;
      break;
    case llvm::AtomicRMWInst::UMin:
      reduction = llvm::Intrinsic::vector_reduce_umin;
      none.setAllBits();
      break;
    default:
      return false;
  }
  llvm::Value* const brought = vectorOf(all->getValOperand());
  llvm::Value* const idle = llvm::ConstantInt::get(brought->getType(), none);
  llvm::Value* const total = b.CreateUnaryIntrinsic(reduction, b.CreateSelect(mask_, brought, idle));
  llvm::BasicBlock* const some = newBlock("some");
  llvm::BasicBlock* const done = newBlock("done");
  llvm::Value* const lanes = b.CreateBitCast(mask_, b.getIntNTy(lanes_));
  b.CreateCondBr(b.CreateICmpNE(lanes, llvm::Constant::getNullValue(lanes->getType())), some, done);
  b.SetInsertPoint(some);
  llvm::Instruction* const one = update.clone();
  one->dropUnknownNonDebugMetadata();
  one->setDebugLoc({});
  one->setOperand(0, scalarOf(all->getPointerOperand()));
  one->setOperand(1, total);
  b.Insert(one);
  b.CreateBr(done);
  b.SetInsertPoint(done);
  return true;
}

void LaneEmitter::emitUpdate(const llvm::Instruction& update) {
  if (emitTogether(update)) return;
  const Yield yield = emitOneByOne(update);
  if (yield.vector != nullptr) set(made_[&update].vector, yield.vector);
  if (yield.second != nullptr) set(made_[&update].second, yield.second);
}

// Nobody looks at it any more when the next instruction is done lane by lane.
llvm::AllocaInst* LaneEmitter::laneArray(llvm::Type* type, unsigned number) {
  llvm::AllocaInst*& made = arrays_[{type, number}];
  if (made != nullptr) return made;
  llvm::IRBuilder<> at(entry_, entry_->begin());
  made = at.CreateAlloca(llvm::ArrayType::get(type, lanes_));
  made->setAlignment(llvm::Align(kLaneArrayAlign));
  return made;
}

void LaneEmitter::forEachLane(llvm::Value* bits, llvm::BasicBlock* before, llvm::BasicBlock* done, llvm::function_ref<void(llvm::Value* lane)> one) {
  llvm::Type* const word = bits->getType();
  llvm::BasicBlock* const loop = newBlock("lane");
  b.SetInsertPoint(before);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode* const left = b.CreatePHI(word, 2);
  left->addIncoming(bits, before);
  one(b.CreateZExt(b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, left, b.getTrue()), b.getInt64Ty()));
  llvm::Value* const rest = b.CreateAnd(left, b.CreateSub(left, llvm::ConstantInt::get(word, 1)));
  left->addIncoming(rest, loop);
  b.CreateCondBr(b.CreateICmpNE(rest, llvm::ConstantInt::get(word, 0)), loop, done);
  b.SetInsertPoint(done);
}

// Lane by lane: a loop over those of the mask, or, with masks and where all are in it, one after the other.
LaneEmitter::Yield LaneEmitter::emitOneByOne(const llvm::Instruction& update) {
  const llvm::Align aligned(kLaneArrayAlign);
  unsigned arrays = 0;
  const auto array = [&](llvm::Type* type) { return laneArray(type, arrays++); };
  llvm::SmallVector<llvm::Value*, 3> given(update.getNumOperands(), nullptr);
  for (unsigned k = 0; k < given.size(); ++k) {
    if (isLaneCheap(update.getOperand(k))) continue;
    given[k] = array(update.getOperand(k)->getType());
    b.CreateAlignedStore(vectorOf(update.getOperand(k)), given[k], aligned);
  }
  const bool isPair = llvm::isa<llvm::AtomicCmpXchgInst>(update);
  llvm::Type* const type = isPair ? update.getType()->getStructElementType(0) : update.getType();
  llvm::Value* const results = update.use_empty() ? nullptr : array(type);
  llvm::Value* const successes = update.use_empty() || !isPair ? nullptr : array(b.getInt8Ty());
  const auto emitOne = [&](llvm::Value* lane) {
    llvm::Instruction* const one = update.clone();
    one->dropUnknownNonDebugMetadata();
    one->setDebugLoc({});
    for (unsigned k = 0; k < given.size(); ++k) {
      llvm::Type* const each = update.getOperand(k)->getType();
      one->setOperand(k, given[k] == nullptr ? laneOf(update.getOperand(k), lane) : b.CreateLoad(each, b.CreateInBoundsGEP(each, given[k], lane)));
    }
    b.Insert(one);
    if (results != nullptr) b.CreateStore(isPair ? b.CreateExtractValue(one, 0) : one, b.CreateInBoundsGEP(type, results, lane));
    if (successes != nullptr)
      b.CreateStore(b.CreateZExt(b.CreateExtractValue(one, 1), b.getInt8Ty()), b.CreateInBoundsGEP(b.getInt8Ty(), successes, lane));
  };
  llvm::Value* const bits = b.CreateBitCast(mask_, b.getIntNTy(lanes_));
  llvm::Type* const word = bits->getType();
  llvm::BasicBlock* const before = newBlock("some");
  llvm::BasicBlock* const done = newBlock("done");
  // Of accesses there are many, also where nobody is. Updates that are all in one line beside those take the code generator minutes.
  if (!hasMasks_) {
    b.CreateCondBr(b.CreateICmpNE(bits, llvm::ConstantInt::get(word, 0)), before, done);
  } else {
    llvm::BasicBlock* const all = newBlock("all");
    b.CreateCondBr(b.CreateICmpEQ(bits, llvm::Constant::getAllOnesValue(word)), all, before);
    b.SetInsertPoint(all);
    for (unsigned lane = 0; lane < lanes_; ++lane) emitOne(b.getInt64(lane));
    b.CreateBr(done);
  }
  forEachLane(bits, before, done, emitOne);
  Yield yield;
  if (results != nullptr) yield.vector = b.CreateAlignedLoad(widen(type), results, aligned);
  if (successes != nullptr) {
    llvm::Value* const flags = b.CreateAlignedLoad(widen(b.getInt8Ty()), successes, aligned);
    yield.second = b.CreateICmpNE(flags, llvm::Constant::getNullValue(flags->getType()));
  }
  return yield;
}

}  // namespace rouse::cpu::codegen
