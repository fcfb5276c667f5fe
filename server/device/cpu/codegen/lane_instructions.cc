// One instruction for all lanes.
#include <llvm/Analysis/CFG.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/PatternMatch.h>

#include "server/device/cpu/codegen/barrier_objects.h"
#include "server/device/cpu/codegen/lane_emitter.h"
#include "server/device/cpu/codegen/matrix_registers.h"
#include "server/device/cpu/codegen/passes.h"
#include "server/device/cpu/codegen/warp_calls.h"

namespace rouse::cpu::codegen {
namespace {

bool isIgnored(const llvm::Instruction& instruction) {
  // Registers of matrices are lane_matrix.cc's, and addresses of theirs are not asked for.
  if (const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) return isMatrixRegisters(*variable);
  if (llvm::isa<llvm::GetElementPtrInst>(instruction)) {
    const auto* const variable = llvm::dyn_cast<llvm::AllocaInst>(instruction.stripInBoundsConstantOffsets());
    return variable != nullptr && isMatrixRegisters(*variable);
  }
  return instruction.isLifetimeStartOrEnd() || instruction.isDebugOrPseudoInst() || llvm::isa<llvm::AssumeInst>(instruction);
}

bool isElementwise(llvm::Intrinsic::ID id) { return llvm::isTriviallyVectorizable(id) || id == llvm::Intrinsic::is_fpclass; }

bool isPlainScalar(const llvm::Type* type) {
  return type->isVoidTy() || type->isPointerTy() || type->isFloatingPointTy() || (type->isIntegerTy() && type->getIntegerBitWidth() <= 128);
}

// Numbers of 128 bits are what is in memory at once: taken apart, and put together.
bool isWideForm(const llvm::Instruction& instruction) {
  const auto isWide = [](const llvm::Value* value) { return value->getType()->isIntegerTy(128); };
  if (!isWide(&instruction) && llvm::none_of(instruction.operands(), [&](const llvm::Use& use) { return isWide(use.get()); })) return true;
  switch (instruction.getOpcode()) {
    case llvm::Instruction::Load:
    case llvm::Instruction::Store:
    case llvm::Instruction::Or:
    case llvm::Instruction::Shl:
    case llvm::Instruction::LShr:
    case llvm::Instruction::Trunc:
    case llvm::Instruction::ZExt:
    case llvm::Instruction::PHI:
    case llvm::Instruction::Select:
    case llvm::Instruction::Freeze:
      return true;
    default:
      return false;
  }
}

// What ends the launch, and tells which thread did.
bool endsLaunch(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const llvm::Function* const callee = call == nullptr ? nullptr : call->getCalledFunction();
  return callee != nullptr && (callee->getName() == "rouse_cpu_misaligned" || callee->getName() == "rouse_cpu_trap");
}

// Neither volatile nor ordered, but for what all lanes do together.
template <class Access>
bool isPlain(const Access& access) {
  return access.isSimple() || (!access.isAtomic() && isStep(access));
}

// Once for all that are here.
bool letsOthers(const llvm::Instruction& instruction) { return isCallOf(instruction, kLetOthers); }

// One lane after the other.
bool isAtomicUpdate(const llvm::Instruction& instruction) {
  return llvm::isa<llvm::AtomicRMWInst>(instruction) || llvm::isa<llvm::AtomicCmpXchgInst>(instruction) || changesObject(instruction);
}

bool coversLoop(const llvm::Loop& loop) {
  if (!loop.isLoopSimplifyForm()) return false;
  llvm::SmallVector<llvm::Loop::Edge, 4> ways;
  loop.getExitEdges(ways);
  if (ways.empty()) return false;
  for (const auto& way : ways) {
    if (loop.getParentLoop() != nullptr && !loop.getParentLoop()->contains(way.second)) return false;
  }
  return true;
}

}  // namespace

bool LaneEmitter::coversInstruction(const llvm::Instruction& instruction) const {
  if (isIgnored(instruction) || isAtomicUpdate(instruction) || llvm::isa<llvm::AllocaInst>(instruction)) return true;
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction); call != nullptr && warpOperation(*call)) return coversWarpCall(*call);
  if (endsLaunch(instruction)) return instruction.getType()->isVoidTy() && instruction.getOperand(0) == instruction.getFunction()->getArg(0);
  if (const auto* value = llvm::dyn_cast<llvm::ExtractValueInst>(&instruction)) return llvm::isa<llvm::AtomicCmpXchgInst>(value->getAggregateOperand());
  for (const llvm::Value* operand : instruction.operands()) {
    if (!isPlainScalar(operand->getType()) && !operand->getType()->isLabelTy() && !llvm::isa<llvm::Function>(operand)) return false;
  }
  if (!isPlainScalar(instruction.getType()) || !isWideForm(instruction)) return false;
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    const auto own = shapes_.ownField(*load);
    const llvm::Type* const type = load->getType();
    const bool isWord = type->isFloatTy() || (type->isIntegerTy() && type->getIntegerBitWidth() <= 32);
    return !own || (isPlain(*load) && isWord && own == shapes_.threadField(load->getPointerOperand()));
  }
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    const auto field = shapes_.threadField(store->getPointerOperand());
    return !field || (isPlain(*store) && *field == offsetof(ThreadContext, misaligned));
  }
  if (const auto* moved = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) return moved->getNumIndices() == 1;
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
    if (const llvm::Function* callee = call->getCalledFunction(); callee != nullptr && callee->getName() == "rouse_cpu_clock") return true;
    if (letsOthers(*call)) return true;
    const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(call);
    if (intrinsic == nullptr || !intrinsic->doesNotAccessMemory() || !isElementwise(intrinsic->getIntrinsicID())) return false;
    for (unsigned k = 0; k < intrinsic->arg_size(); ++k) {
      const bool scalar = intrinsic->getIntrinsicID() == llvm::Intrinsic::is_fpclass ? k == 1
                                                                                     : llvm::isVectorIntrinsicWithScalarOpAtArg(intrinsic->getIntrinsicID(), k);
      if (scalar && !shapes_.of(intrinsic->getArgOperand(k)).isUniform()) return false;
    }
    return true;
  }
  return llvm::isa<llvm::PHINode>(instruction) || llvm::isa<llvm::BinaryOperator>(instruction) || llvm::isa<llvm::UnaryOperator>(instruction) ||
         llvm::isa<llvm::CastInst>(instruction) || llvm::isa<llvm::CmpInst>(instruction) || llvm::isa<llvm::SelectInst>(instruction) ||
         llvm::isa<llvm::FreezeInst>(instruction) || llvm::isa<llvm::FenceInst>(instruction) || llvm::isa<llvm::BranchInst>(instruction) ||
         llvm::isa<llvm::ReturnInst>(instruction);
}

bool LaneEmitter::covers() const {
  const llvm::ReversePostOrderTraversal<const llvm::Function*> order(&from_);
  if (llvm::containsIrreducibleCFG<const llvm::BasicBlock*>(order, shapes_.loops())) return false;
  for (const llvm::Loop* loop : shapes_.loops().getLoopsInPreorder()) {
    if (!coversLoop(*loop)) return false;
  }
  unsigned ends = 0;
  for (const llvm::Instruction& instruction : llvm::instructions(from_)) {
    if (!coversInstruction(instruction)) return false;
    const auto* const end = llvm::dyn_cast<llvm::ReturnInst>(&instruction);
    if (end == nullptr) continue;
    ++ends;
    if (end->getReturnValue() != nullptr && !shapes_.of(end->getReturnValue()).isUniform()) return false;
  }
  return ends == 1;
}

void LaneEmitter::emitInstruction(const llvm::Instruction& instruction) {
  if (isIgnored(instruction) || emitMatrixAccess(instruction)) return;
  // Each lane has its own, one after the other.
  if (const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) return set(made_[variable].scalar, forLanes(llvm::ArrayType::get(b.getInt8Ty(), lanes_ * laneBytes(*variable))));
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return emitLoad(*load);
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) return emitStore(*store);
  if (isAtomicUpdate(instruction)) return emitOneByOne(instruction);
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction); call != nullptr && warpOperation(*call)) return emitWarpCall(*call);
  if (endsLaunch(instruction)) return emitEnd(llvm::cast<llvm::CallInst>(instruction));
  if (const auto* part = llvm::dyn_cast<llvm::ExtractValueInst>(&instruction)) {
    const Made& pair = made_[part->getAggregateOperand()];
    return set(made_[part].vector, part->getIndices()[0] == 0 ? pair.vector : pair.second);
  }
  if (llvm::isa<llvm::FenceInst>(instruction)) {
    b.Insert(instruction.clone());
    return;
  }
  if (letsOthers(instruction)) {
    const auto& call = llvm::cast<llvm::CallInst>(instruction);
    b.CreateCall(call.getCalledFunction(), {scalarOf(call.getArgOperand(0))});
    return;
  }
  if (!shapes_.of(&instruction).isScalar()) return set(made_[&instruction].vector, widened(instruction));
  emitScalar(instruction);
  if (shapes_.of(&instruction).conditional) set(made_[&instruction].ok, condition(instruction));
}

// What the compiler knew of a lane that comes here need not hold for the first one.
void LaneEmitter::emitScalar(const llvm::Instruction& instruction) {
  llvm::Instruction* again = nullptr;
  if (const auto* either = llvm::dyn_cast<llvm::PossiblyDisjointInst>(&instruction); either != nullptr && either->isDisjoint()) {
    again = llvm::BinaryOperator::CreateAdd(scalarOf(instruction.getOperand(0)), scalarOf(instruction.getOperand(1)));
  } else {
    again = instruction.clone();
    for (unsigned k = 0; k < again->getNumOperands(); ++k) {
      if (!llvm::isa<llvm::Function>(again->getOperand(k))) again->setOperand(k, scalarOf(again->getOperand(k)));
    }
    again->dropPoisonGeneratingFlags();
    again->dropUnknownNonDebugMetadata({llvm::LLVMContext::MD_invariant_load});
    again->setDebugLoc({});
  }
  b.Insert(again);
  set(made_[&instruction].scalar, again);
}

// Whether no lane's number wraps where it is extended, in this instruction or before.
llvm::Value* LaneEmitter::condition(const llvm::Instruction& instruction) {
  using namespace llvm::PatternMatch;
  llvm::Value* ok = b.getTrue();
  for (const llvm::Value* operand : instruction.operands()) {
    if (llvm::Value* const of = made_[operand].ok) ok = b.CreateAnd(ok, of);
  }
  const auto within = [&](llvm::Value* number, std::int64_t stride, bool isSigned) {
    const std::int64_t most = isSigned ? std::int64_t{INT32_MAX} : std::int64_t{UINT32_MAX}, least = isSigned ? std::int64_t{INT32_MIN} : 0;
    const std::int64_t span = stride * (std::int64_t{lanes_} - 1);
    if (span > UINT32_MAX || span < -std::int64_t{UINT32_MAX}) return b.CreateAnd(ok, b.getFalse());
    const auto bound = [&](std::int64_t value) { return b.getInt32(static_cast<std::uint32_t>(value)); };
    llvm::Value* const fits = span >= 0 ? b.CreateICmp(isSigned ? llvm::CmpInst::ICMP_SLE : llvm::CmpInst::ICMP_ULE, number, bound(most - span))
                                        : b.CreateICmp(isSigned ? llvm::CmpInst::ICMP_SGE : llvm::CmpInst::ICMP_UGE, number, bound(least - span));
    return b.CreateAnd(ok, fits);
  };
  const Shape shape = shapes_.of(&instruction);
  const auto low = [&](llvm::Value* value) { return b.CreateTrunc(value, b.getInt32Ty()); };
  llvm::Value* inner = nullptr;
  const llvm::APInt* shift = nullptr;
  if (llvm::isa<llvm::ZExtInst>(instruction)) return within(scalarOf(instruction.getOperand(0)), shape.stride, false);
  if (llvm::isa<llvm::SExtInst>(instruction)) return within(scalarOf(instruction.getOperand(0)), shape.stride, true);
  if (match(&instruction, m_And(m_Value(inner), m_SpecificInt(0xffffffff)))) return within(low(scalarOf(inner)), shape.stride, false);
  if (match(&instruction, m_AShr(m_Shl(m_Value(inner), m_SpecificInt(32)), m_APInt(shift))))
    return within(low(scalarOf(inner)), shape.stride >> (32 - shift->getZExtValue()), true);
  return ok;
}

llvm::Type* LaneEmitter::widen(llvm::Type* type) const { return llvm::FixedVectorType::get(type, lanes_); }

llvm::Value* LaneEmitter::laneNumbers(llvm::Type* type) {
  llvm::SmallVector<llvm::Constant*, kWarp> numbers;
  for (unsigned lane = 0; lane < lanes_; ++lane) numbers.push_back(llvm::ConstantInt::get(type, lane));
  return llvm::ConstantVector::get(numbers);
}

llvm::Value* LaneEmitter::splat(llvm::Value* value) { return b.CreateVectorSplat(lanes_, value); }

llvm::Value* LaneEmitter::scalarOf(const llvm::Value* value) {
  if (llvm::isa<llvm::Constant>(value)) return const_cast<llvm::Value*>(value);
  return made_[value].scalar;
}

llvm::Value* LaneEmitter::vectorOf(const llvm::Value* value) {
  const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr) return splat(scalarOf(value));
  if (llvm::Value* const vector = made_[value].vector) return vector;
  const Shape shape = shapes_.of(value);
  if (shape.conditional) return widened(*instruction);
  llvm::Value* const first = scalarOf(value);
  if (shape.isUniform()) return splat(first);
  llvm::Type* const number = first->getType()->isPointerTy() ? b.getInt64Ty() : first->getType();
  llvm::Value* const stride = llvm::ConstantInt::get(number, static_cast<std::uint64_t>(shape.stride), true);
  llvm::Value* const offsets = b.CreateMul(laneNumbers(number), splat(stride));
  return first->getType()->isPointerTy() ? b.CreateGEP(b.getInt8Ty(), first, offsets) : b.CreateAdd(splat(first), offsets);
}

llvm::Value* LaneEmitter::widened(const llvm::Instruction& instruction) {
  const auto operand = [&](unsigned k) { return vectorOf(instruction.getOperand(k)); };
  if (const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&instruction)) {
    llvm::Value *x = operand(0), *y = operand(1);
    if (operation->isIntDivRem()) {
      // Lanes that are not here have anything to divide by.
      x = b.CreateSelect(mask_, x, llvm::Constant::getNullValue(x->getType()));
      // Where lanes' numbers are known LLVM 19 takes a division by a vector with a zero in it for undefined as a whole, whatever is selected of it
      // (simplifyDivRem, then threadBinOpOverSelect), and leaves what the other lanes have: there must be no zero before the mask, either.
      llvm::Value* const one = llvm::ConstantInt::get(y->getType(), 1);
      y = b.CreateSelect(b.CreateICmpEQ(y, llvm::Constant::getNullValue(y->getType())), one, y);
      y = b.CreateSelect(mask_, y, one);
    }
    return b.CreateBinOp(operation->getOpcode(), x, y);
  }
  if (const auto* operation = llvm::dyn_cast<llvm::UnaryOperator>(&instruction)) return b.CreateUnOp(operation->getOpcode(), operand(0));
  if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(&instruction)) return b.CreateCast(cast->getOpcode(), operand(0), widen(cast->getType()));
  if (const auto* compare = llvm::dyn_cast<llvm::CmpInst>(&instruction)) return b.CreateCmp(compare->getPredicate(), operand(0), operand(1));
  if (llvm::isa<llvm::FreezeInst>(instruction)) return b.CreateFreeze(operand(0));
  if (const auto* choice = llvm::dyn_cast<llvm::SelectInst>(&instruction)) {
    const bool uniform = shapes_.of(choice->getCondition()).isUniform();
    return b.CreateSelect(uniform ? scalarOf(choice->getCondition()) : operand(0), operand(1), operand(2));
  }
  if (const auto* moved = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) {
    const bool uniform = shapes_.of(moved->getPointerOperand()).isUniform();
    return b.CreateGEP(moved->getSourceElementType(), uniform ? scalarOf(moved->getPointerOperand()) : operand(0), operand(1));
  }
  return widenedCall(llvm::cast<llvm::IntrinsicInst>(instruction));
}

llvm::Value* LaneEmitter::widenedCall(const llvm::IntrinsicInst& call) {
  const llvm::Intrinsic::ID id = call.getIntrinsicID();
  llvm::SmallVector<llvm::Type*, 2> types;
  llvm::SmallVector<llvm::Value*, 4> arguments;
  if (id == llvm::Intrinsic::is_fpclass || llvm::isVectorIntrinsicWithOverloadTypeAtArg(id, -1)) {
    if (id != llvm::Intrinsic::is_fpclass) types.push_back(widen(call.getType()));
  }
  for (unsigned k = 0; k < call.arg_size(); ++k) {
    const llvm::Value* const argument = call.getArgOperand(k);
    const bool scalar = id == llvm::Intrinsic::is_fpclass ? k == 1 : llvm::isVectorIntrinsicWithScalarOpAtArg(id, k);
    arguments.push_back(scalar ? scalarOf(argument) : vectorOf(argument));
    if (llvm::isVectorIntrinsicWithOverloadTypeAtArg(id, static_cast<int>(k)) || (id == llvm::Intrinsic::is_fpclass && k == 0))
      types.push_back(arguments.back()->getType());
  }
  return b.CreateIntrinsic(id, types, arguments);
}

// --- Memory ---

bool LaneEmitter::isContiguous(const llvm::Value* pointer, llvm::Type* type) const {
  const Shape shape = shapes_.of(pointer);
  const std::uint64_t bytes = layout_.getTypeStoreSize(type).getFixedValue();
  return shape.kind == Shape::Kind::affine && !type->isIntegerTy(1) && shape.stride == static_cast<std::int64_t>(bytes) &&
         layout_.getTypeAllocSize(type).getFixedValue() == bytes;
}

// `near` where neighbours' are neighbours, else `far`.
template <class Near, class Far>
llvm::Value* LaneEmitter::access(const llvm::Value* pointer, llvm::Type* type, Near near, Far far) {
  if (!isContiguous(pointer, type)) return far();
  llvm::Value* const ok = made_[pointer].ok;
  if (ok == nullptr) return near();
  llvm::BasicBlock* const together = newBlock("near");
  llvm::BasicBlock* const apart = newBlock("far");
  llvm::BasicBlock* const done = newBlock("done");
  b.CreateCondBr(b.CreateFreeze(ok), together, apart, llvm::MDBuilder(b.getContext()).createLikelyBranchWeights());
  b.SetInsertPoint(together);
  llvm::Value* const first = near();
  b.CreateBr(done);
  b.SetInsertPoint(apart);
  llvm::Value* const second = far();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  if (first->getType()->isVoidTy()) return first;
  llvm::PHINode* const both = b.CreatePHI(first->getType(), 2);
  both->addIncoming(first, together);
  both->addIncoming(second, apart);
  return both;
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
  if (!isPlain(load)) return emitOneByOne(load);
  const llvm::Value* const pointer = load.getPointerOperand();
  llvm::Value* const zero = llvm::Constant::getNullValue(widen(type));
  set(made_[&load].vector, access(
                               pointer, type, [&] { return b.CreateMaskedLoad(widen(type), scalarOf(pointer), llvm::Align(1), mask_, zero); },
                               [&] { return b.CreateMaskedGather(widen(type), vectorOf(pointer), llvm::Align(1), mask_, zero); }));
}

void LaneEmitter::emitStore(const llvm::StoreInst& store) {
  const llvm::Value* const pointer = store.getPointerOperand();
  const llvm::Value* const value = store.getValueOperand();
  if (!isPlain(store)) {
    if (!shapes_.of(pointer).isUniform() || !shapes_.of(value).isUniform()) return emitOneByOne(store);
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
  access(
      pointer, value->getType(), [&] { return b.CreateMaskedStore(all, scalarOf(pointer), llvm::Align(1), mask_); },
      [&] { return b.CreateMaskedScatter(all, vectorOf(pointer), llvm::Align(1), mask_); });
}

// ThreadContext::misaligned, which is added to (Emitter::noteMisaligned).
void LaneEmitter::noteMisaligned(const llvm::StoreInst& store) {
  const auto* const sum = llvm::dyn_cast<llvm::BinaryOperator>(store.getValueOperand());
  const llvm::Value* noted = store.getValueOperand();
  for (unsigned k = 0; sum != nullptr && sum->getOpcode() == llvm::Instruction::Or && k < 2; ++k) {
    const auto* const before = llvm::dyn_cast<llvm::LoadInst>(sum->getOperand(k));
    if (before != nullptr && shapes_.threadField(before->getPointerOperand()) == shapes_.threadField(store.getPointerOperand()))
      noted = sum->getOperand(1 - k);
  }
  llvm::Value* const field = scalarOf(store.getPointerOperand());
  if (llvm::Value* const bits = sumOfWays(noted, mask_, 0)) {
    b.CreateStore(b.CreateOr(b.CreateLoad(noted->getType(), field), bits), field);
    return;
  }
  llvm::Value* const none = llvm::Constant::getNullValue(widen(noted->getType()));
  llvm::Value* const all = vectorOf(noted);
  beginGuard(b.CreateSelect(mask_, b.CreateICmpNE(all, none), llvm::Constant::getNullValue(mask_->getType())));
  llvm::Value* const before = b.CreateLoad(noted->getType(), field);
  b.CreateStore(b.CreateOr(before, b.CreateOrReduce(b.CreateSelect(mask_, all, none))), field);
  endGuard();
}

// The or over the lanes of the mask, of a value that is the same for all that have come the same way; else null.
llvm::Value* LaneEmitter::sumOfWays(const llvm::Value* value, const llvm::Value* mask, unsigned depth) {
  constexpr unsigned kDeepest = 4;
  if (shapes_.of(value).isUniform()) return scalarOf(value);
  const auto* const phi = llvm::dyn_cast<llvm::PHINode>(value);
  if (phi == nullptr || depth == kDeepest || shapes_.loops().getLoopFor(phi->getParent()) != nullptr) return nullptr;
  // Others may have come there, and not here.
  if (masks_[phi->getParent()] != mask) return nullptr;
  llvm::Value* sum = b.getInt32(0);
  for (unsigned k = 0; k < phi->getNumIncomingValues(); ++k) {
    const llvm::BasicBlock* const before = phi->getIncomingBlock(k);
    const llvm::Value* const came = phi->getIncomingValue(k);
    // Lanes that left a loop in different rounds.
    if (left_.contains({phi, before})) return nullptr;
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(came); constant != nullptr && constant->isZero()) continue;
    llvm::Value* const way = edges_[{before, phi->getParent()}];
    llvm::Value* const bits = sumOfWays(came, way, depth + 1);
    if (bits == nullptr) return nullptr;
    sum = b.CreateOr(sum, b.CreateSelect(any(way), b.CreateFreeze(bits), b.getInt32(0)));
  }
  return sum;
}

// Of a thread's context, by its number in the block.
void LaneEmitter::tellNumbers(llvm::Value* context) {
  const auto field = [&](llvm::Value* base, std::size_t offset) { return b.CreateConstInBoundsGEP1_32(b.getInt8Ty(), base, static_cast<unsigned>(offset)); };
  llvm::Value* const block = b.CreateLoad(b.getPtrTy(), field(context, offsetof(ThreadContext, block)));
  llvm::Value* rest = b.CreateLoad(b.getInt32Ty(), field(context, offsetof(ThreadContext, linear)));
  for (unsigned k = 0; k < 3; ++k) {
    llvm::Value* const size = b.CreateLoad(b.getInt32Ty(), field(block, offsetof(BlockContext, ntid) + 4 * k));
    b.CreateStore(b.CreateURem(rest, size), field(context, offsetof(ThreadContext, tid) + 4 * k));
    rest = b.CreateUDiv(rest, size);
  }
}

// By the first of those that are here.
void LaneEmitter::emitEnd(const llvm::CallInst& call) {
  llvm::IRBuilder<> at(entry_, entry_->begin());
  llvm::AllocaInst* const own = at.CreateAlloca(llvm::ArrayType::get(b.getInt8Ty(), sizeof(ThreadContext)));
  own->setAlignment(llvm::Align(alignof(ThreadContext)));
  const auto copy = [&](std::size_t offset, llvm::Type* type, llvm::Value* more) {
    const auto place = [&](llvm::Value* base) { return b.CreateConstInBoundsGEP1_32(b.getInt8Ty(), base, static_cast<unsigned>(offset)); };
    llvm::Value* const value = b.CreateLoad(type, place(to_.getArg(0)));
    b.CreateStore(more == nullptr ? value : b.CreateAdd(value, more), place(own));
  };
  llvm::Value* const bits = b.CreateZExt(b.CreateBitCast(mask_, b.getIntNTy(lanes_)), b.getInt32Ty());
  llvm::Value* const lane = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, b.getTrue());
  for (const std::size_t field : {offsetof(ThreadContext, tid), offsetof(ThreadContext, linear)}) copy(field, b.getInt32Ty(), lane);
  for (const std::size_t field : {offsetof(ThreadContext, tid) + 4, offsetof(ThreadContext, tid) + 8, offsetof(ThreadContext, misaligned)})
    copy(field, b.getInt32Ty(), nullptr);
  for (const std::size_t field : {offsetof(ThreadContext, block), offsetof(ThreadContext, runtime)}) copy(field, b.getPtrTy(), nullptr);
  if (beside_ == Beside::warps) tellNumbers(own);
  llvm::SmallVector<llvm::Value*, 4> arguments{own};
  for (unsigned k = 1; k < call.arg_size(); ++k) {
    const llvm::Value* const argument = call.getArgOperand(k);
    arguments.push_back(shapes_.of(argument).isUniform() ? scalarOf(argument) : b.CreateExtractElement(vectorOf(argument), lane));
  }
  b.CreateCall(call.getCalledFunction(), arguments);
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

// Lane by lane: a loop over those of the mask, or, where all are in it, one after the other.
void LaneEmitter::emitOneByOne(const llvm::Instruction& update) {
  if (emitTogether(update)) return;
  const llvm::Align aligned(64);  // as wide as a vector of the processor's; IR's own for <32 x i64> would be more
  const auto array = [&](llvm::Type* type) {
    llvm::IRBuilder<> at(entry_, entry_->begin());
    llvm::AllocaInst* const made = at.CreateAlloca(llvm::ArrayType::get(type, lanes_));
    made->setAlignment(aligned);
    return made;
  };
  llvm::SmallVector<llvm::Value*, 3> given(update.getNumOperands(), nullptr);
  for (unsigned k = 0; k < given.size(); ++k) {
    if (shapes_.of(update.getOperand(k)).isUniform()) continue;
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
      one->setOperand(k, given[k] == nullptr ? scalarOf(update.getOperand(k)) : b.CreateLoad(each, b.CreateInBoundsGEP(each, given[k], lane)));
    }
    b.Insert(one);
    if (results != nullptr) b.CreateStore(isPair ? b.CreateExtractValue(one, 0) : one, b.CreateInBoundsGEP(type, results, lane));
    if (successes != nullptr)
      b.CreateStore(b.CreateZExt(b.CreateExtractValue(one, 1), b.getInt8Ty()), b.CreateInBoundsGEP(b.getInt8Ty(), successes, lane));
  };
  llvm::Value* const bits = b.CreateBitCast(mask_, b.getIntNTy(lanes_));
  llvm::Type* const word = bits->getType();
  llvm::BasicBlock* const all = newBlock("all");
  llvm::BasicBlock* const before = newBlock("some");
  llvm::BasicBlock* const loop = newBlock("lane");
  llvm::BasicBlock* const done = newBlock("done");
  b.CreateCondBr(b.CreateICmpEQ(bits, llvm::Constant::getAllOnesValue(word)), all, before);
  b.SetInsertPoint(all);
  for (unsigned lane = 0; lane < lanes_; ++lane) emitOne(b.getInt64(lane));
  b.CreateBr(done);
  b.SetInsertPoint(before);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode* const left = b.CreatePHI(word, 2);
  left->addIncoming(bits, before);
  emitOne(b.CreateZExt(b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, left, b.getTrue()), b.getInt64Ty()));
  llvm::Value* const rest = b.CreateAnd(left, b.CreateSub(left, llvm::ConstantInt::get(word, 1)));
  left->addIncoming(rest, loop);
  b.CreateCondBr(b.CreateICmpNE(rest, llvm::ConstantInt::get(word, 0)), loop, done);
  b.SetInsertPoint(done);
  if (results != nullptr) set(made_[&update].vector, b.CreateAlignedLoad(widen(type), results, aligned));
  if (successes != nullptr) {
    llvm::Value* const flags = b.CreateAlignedLoad(widen(b.getInt8Ty()), successes, aligned);
    set(made_[&update].second, b.CreateICmpNE(flags, llvm::Constant::getNullValue(flags->getType())));
  }
}

}  // namespace rouse::cpu::codegen
