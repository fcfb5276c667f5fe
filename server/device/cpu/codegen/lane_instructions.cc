// One instruction for all lanes.
#include <llvm/Analysis/CFG.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/PatternMatch.h>

#include "server/device/cpu/codegen/barrier_objects.h"
#include "server/device/cpu/codegen/context_fields.h"
#include "server/device/cpu/codegen/lane_calls.h"
#include "server/device/cpu/codegen/lane_emitter.h"
#include "server/device/cpu/codegen/lane_wrap.h"
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
  return instruction.isLifetimeStartOrEnd() || instruction.isDebugOrPseudoInst() || llvm::isa<llvm::AssumeInst>(instruction) || llvm::isa<llvm::NoAliasScopeDeclInst>(instruction);
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
    if (!own) return !isPerhapsOfThread(load->getPointerOperand(), from_);
    return isPlainAccess(*load) && isWord && own == shapes_.threadField(load->getPointerOperand());
  }
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    const auto field = shapes_.threadField(store->getPointerOperand());
    return !field || (isPlainAccess(*store) && *field == offsetof(ThreadContext, misaligned));
  }
  if (const auto* moved = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) return moved->getNumIndices() == 1;
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
    if (const llvm::Function* callee = call->getCalledFunction(); callee != nullptr && callee->getName() == "rouse_cpu_clock") return true;
    if (letsOthers(*call)) return true;
    if (isMadeByLane(*call)) return coversCallByLane(*call);
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
    if (end->getReturnValue() != nullptr && present_ == Present::all && !shapes_.of(end->getReturnValue()).isUniform()) return false;
  }
  return ends == 1;
}

void LaneEmitter::emitInstruction(const llvm::Instruction& instruction) {
  if (isIgnored(instruction) || emitMatrixAccess(instruction)) return;
  // Each lane has its own, one after the other.
  if (const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
    return set(made_[variable].scalar, forLanes(llvm::ArrayType::get(b.getInt8Ty(), lanes_ * laneBytes(*variable)), variable->getAlign()));
  }
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return emitLoad(*load);
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) return emitStore(*store);
  if (isAtomicUpdate(instruction)) return emitUpdate(instruction);
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
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction); call != nullptr && isMadeByLane(*call) && !isMadeOnce(*call)) return emitCallByLane(*call);
  if (!shapes_.of(&instruction).isScalar()) return set(made_[&instruction].vector, widened(instruction));
  emitScalar(instruction);
  if (shapes_.of(&instruction).conditional) set(made_[&instruction].ok, condition(instruction));
}

// What the compiler knew of a lane that comes here need not hold for the one that it is made for.
llvm::Value* LaneEmitter::onceMore(const llvm::Instruction& instruction, llvm::function_ref<llvm::Value*(const llvm::Value*)> operand) {
  llvm::Instruction* again = nullptr;
  if (const auto* either = llvm::dyn_cast<llvm::PossiblyDisjointInst>(&instruction); either != nullptr && either->isDisjoint()) {
    again = llvm::BinaryOperator::CreateAdd(operand(instruction.getOperand(0)), operand(instruction.getOperand(1)));
  } else {
    again = instruction.clone();
    for (unsigned k = 0; k < again->getNumOperands(); ++k) {
      if (!llvm::isa<llvm::Function>(again->getOperand(k))) again->setOperand(k, operand(again->getOperand(k)));
    }
    again->dropPoisonGeneratingFlags();
    again->dropUnknownNonDebugMetadata({llvm::LLVMContext::MD_invariant_load});
    again->setDebugLoc({});
  }
  return b.Insert(again);
}

void LaneEmitter::emitScalar(const llvm::Instruction& instruction) {
  // Of what is the same for all, operands need not be: bits that differ are dropped (LaneShapes::differing), and any lane's will do.
  set(made_[&instruction].scalar, onceMore(instruction, [&](const llvm::Value* value) {
    return shapes_.of(value).isScalar() ? scalarOf(value) : b.CreateExtractElement(vectorOf(value), std::uint64_t{0});
  }));
}

// Whether no lane's number wraps where it is extended, in this instruction or before.
llvm::Value* LaneEmitter::condition(const llvm::Instruction& instruction) {
  llvm::Value* ok = b.getTrue();
  for (const llvm::Value* operand : instruction.operands()) {
    if (llvm::Value* const of = made_[operand].ok) ok = b.CreateAnd(ok, of);
  }
  const llvm::Value* const number = extended(instruction);
  return number == nullptr ? ok : b.CreateAnd(ok, fitsExtended(b, instruction, shapes_.of(&instruction), lanes_, scalarOf(number)));
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

bool LaneEmitter::isLaneCheap(const llvm::Value* value, unsigned depth) const {
  constexpr unsigned kDeepest = 6;
  const Shape shape = shapes_.of(value);
  if (!shape.isScalar()) return false;
  if (!shape.conditional) return true;
  // Of what may wrap, which is made again: with masks all lanes' are unrolled, where that is more than a load; a phi has no lane of its own.
  if (hasMasks_ || depth == kDeepest || llvm::isa<llvm::PHINode>(value)) return false;
  return llvm::all_of(llvm::cast<llvm::Instruction>(value)->operands(), [&](const llvm::Value* operand) { return isLaneCheap(operand, depth + 1); });
}

llvm::Value* LaneEmitter::laneOf(const llvm::Value* value, llvm::Value* lane) {
  const Shape shape = shapes_.of(value);
  if (shape.isUniform()) return scalarOf(value);
  if (shape.conditional) return onceMore(llvm::cast<llvm::Instruction>(*value), [&](const llvm::Value* operand) { return laneOf(operand, lane); });
  llvm::Value* const first = scalarOf(value);
  llvm::Type* const number = first->getType()->isPointerTy() ? b.getInt64Ty() : first->getType();
  llvm::Value* const stride = llvm::ConstantInt::get(number, static_cast<std::uint64_t>(shape.stride), true);
  llvm::Value* const offset = b.CreateMul(b.CreateZExtOrTrunc(lane, number), stride);
  return first->getType()->isPointerTy() ? b.CreateGEP(b.getInt8Ty(), first, offset) : b.CreateAdd(first, offset);
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
      if (llvm::Value* const made = divided(*operation, x, y)) return made;
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

}  // namespace rouse::cpu::codegen
