// Calls that each lane makes on its own, with a thread's context that is its own: as many lanes, as many calls, one after the other, each behind what all lanes did before.
#include "server/device/cpu/codegen/lane_calls.h"

#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/IntrinsicInst.h>

#include "server/device/cpu/codegen/barrier_objects.h"
#include "server/device/cpu/codegen/lane_emitter.h"
#include "server/device/cpu/codegen/passes.h"
#include "server/device/cpu/codegen/warp_calls.h"

namespace rouse::cpu::codegen {

bool isMadeByLane(const llvm::CallInst& call) {
  if (warpOperation(call) || isObjectCall(call) || endsLaunch(call) || call.isInlineAsm()) return false;
  if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call)) return llvm::isa<llvm::MemIntrinsic>(intrinsic) && !llvm::cast<llvm::MemIntrinsic>(intrinsic)->isVolatile();
  const llvm::Function* const callee = call.getCalledFunction();
  if (callee == nullptr || !callee->isDeclaration()) return true;
  return !isWaitingFunction(callee->getName()) && callee->getName() != kLetOthers && callee->getName() != "rouse_cpu_clock";
}

bool isRarelyMade(const llvm::CallInst& call) {
  const llvm::Function* const callee = call.getCalledFunction();
  if (callee == nullptr || !callee->isDeclaration()) return false;
  return llvm::StringSwitch<bool>(callee->getName()).Cases("rouse_cpu_vprintf", "rouse_cpu_malloc", "rouse_cpu_free", true)
      .Cases("rouse_ptx_mul_f64", "rouse_ptx_div_f64", "rouse_ptx_sqrt_f64", "rouse_ptx_fma_f64", true)  // directed_rounding.cc
      .Default(false);
}

bool endsLaunch(const llvm::Instruction& instruction) {
  const auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const llvm::Function* const callee = call == nullptr ? nullptr : call->getCalledFunction();
  if (callee == nullptr) return false;
  return llvm::StringSwitch<bool>(callee->getName()).Cases("rouse_cpu_misaligned", "rouse_cpu_trap", "rouse_cpu_assert_fail", "rouse_cpu_endless", true).Default(false);
}

bool takesThread(const llvm::CallInst& call) {
  return llvm::any_of(call.args(), [&](const llvm::Use& argument) { return argument.get() == call.getFunction()->getArg(0); });
}

bool LaneEmitter::coversCallByLane(const llvm::CallInst& call) const {
  const auto isKept = [](const llvm::Type* type) {
    if (!type->isIntegerTy()) return type->isVoidTy() || type->isPointerTy() || type->isFloatingPointTy();
    const unsigned bits = type->getIntegerBitWidth();
    return bits == 1 || bits == 8 || bits == 16 || bits == 32 || bits == 64;
  };
  if (!isKept(call.getType()) || call.isMustTailCall() || call.hasOperandBundles()) return false;
  for (unsigned k = 0; k < call.arg_size(); ++k) {
    const llvm::Value* const argument = call.getArgOperand(k);
    if (!isKept(argument->getType()) || call.isByValArgument(k)) return false;
    // Of the context as a whole there is one for each lane, not of its parts.
    if (argument != from_.getArg(0) && shapes_.threadField(argument)) return false;
    if (call.paramHasAttr(k, llvm::Attribute::ImmArg) && !llvm::isa<llvm::Constant>(argument)) return false;
  }
  return true;
}

// What has the same result for all lanes, and nothing else: the first one's does for all.
bool LaneEmitter::isMadeOnce(const llvm::CallInst& call) const { return !call.getType()->isVoidTy() && shapes_.of(&call).isScalar(); }

// One loop over the lanes, however many there are: what is called does more than that takes.
void LaneEmitter::emitCallByLane(const llvm::CallInst& call) {
  const llvm::Align aligned(kLaneArrayAlign);
  unsigned arrays = 0;
  // Flags are kept as bytes.
  const auto kept = [&](llvm::Type* type) { return type->isIntegerTy(1) ? b.getInt8Ty() : type; };
  llvm::SmallVector<llvm::Value*, 8> given(call.getNumOperands(), nullptr);
  for (unsigned k = 0; k < given.size(); ++k) {
    const llvm::Value* const operand = call.getOperand(k);
    if (shapes_.of(operand).isUniform()) continue;
    llvm::Value* all = vectorOf(operand);
    if (operand->getType()->isIntegerTy(1)) all = b.CreateZExt(all, widen(b.getInt8Ty()));
    given[k] = laneArray(kept(operand->getType()), arrays++);
    b.CreateAlignedStore(all, given[k], aligned);
  }
  llvm::Type* const type = call.getType();
  llvm::Value* const results = call.use_empty() ? nullptr : laneArray(kept(type), arrays++);
  llvm::AllocaInst* const own = takesThread(call) ? ownContext() : nullptr;
  const auto emitOne = [&](llvm::Value* lane) {
    if (own != nullptr) tellLane(own, b.CreateTrunc(lane, b.getInt32Ty()));
    auto* const one = llvm::cast<llvm::CallInst>(call.clone());
    one->dropUnknownNonDebugMetadata();
    one->setDebugLoc({});
    one->setTailCallKind(llvm::CallInst::TCK_None);  // the context is a variable of the caller's
    for (unsigned k = 0; k < given.size(); ++k) {
      const llvm::Value* const operand = call.getOperand(k);
      if (given[k] != nullptr) {
        llvm::Type* const each = kept(operand->getType());
        llvm::Value* value = b.CreateLoad(each, b.CreateInBoundsGEP(each, given[k], lane));
        if (operand->getType()->isIntegerTy(1)) value = b.CreateICmpNE(value, b.getInt8(0));
        one->setOperand(k, value);
      } else {
        one->setOperand(k, own != nullptr && operand == from_.getArg(0) ? own : scalarOf(operand));
      }
    }
    b.Insert(one);
    if (results == nullptr) return;
    llvm::Value* const result = type->isIntegerTy(1) ? b.CreateZExt(one, b.getInt8Ty()) : one;
    b.CreateStore(result, b.CreateInBoundsGEP(kept(type), results, lane));
  };
  llvm::Value* const bits = b.CreateBitCast(mask_, b.getIntNTy(lanes_));
  llvm::BasicBlock* const some = newBlock("some");
  llvm::BasicBlock* const done = newBlock("done");
  b.CreateCondBr(b.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType())), some, done);
  forEachLane(bits, some, done, emitOne);
  const llvm::Function* const callee = call.getCalledFunction();
  if (own != nullptr && (callee == nullptr || !callee->isDeclaration())) {
    const auto noted = [&](llvm::Value* context) { return b.CreateConstInBoundsGEP1_32(b.getInt8Ty(), context, static_cast<unsigned>(offsetof(ThreadContext, misaligned))); };
    llvm::Value* const before = b.CreateLoad(b.getInt32Ty(), noted(to_.getArg(0)));
    b.CreateStore(b.CreateOr(before, b.CreateLoad(b.getInt32Ty(), noted(own))), noted(to_.getArg(0)));
  }
  if (results == nullptr) return;
  llvm::Value* all = b.CreateAlignedLoad(widen(kept(type)), results, aligned);
  if (type->isIntegerTy(1)) all = b.CreateICmpNE(all, llvm::Constant::getNullValue(all->getType()));
  set(made_[&call].vector, all);
}

// A context with what is the same for all lanes, where nothing has been noted of accesses that are not aligned.
llvm::AllocaInst* LaneEmitter::ownContext() {
  if (ownContext_ == nullptr) {
    llvm::IRBuilder<> at(entry_, entry_->begin());
    ownContext_ = at.CreateAlloca(llvm::ArrayType::get(b.getInt8Ty(), sizeof(ThreadContext)));
    ownContext_->setAlignment(llvm::Align(alignof(ThreadContext)));
  }
  const auto place = [&](llvm::Value* base, std::size_t offset) { return b.CreateConstInBoundsGEP1_32(b.getInt8Ty(), base, static_cast<unsigned>(offset)); };
  const auto copy = [&](std::size_t offset, llvm::Type* type) { b.CreateStore(b.CreateLoad(type, place(to_.getArg(0), offset)), place(ownContext_, offset)); };
  for (const std::size_t field : {offsetof(ThreadContext, tid) + 4, offsetof(ThreadContext, tid) + 8}) copy(field, b.getInt32Ty());
  for (const std::size_t field : {offsetof(ThreadContext, block), offsetof(ThreadContext, runtime)}) copy(field, b.getPtrTy());
  b.CreateStore(b.getInt32(0), place(ownContext_, offsetof(ThreadContext, misaligned)));
  return ownContext_;
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

// Which lane it is that the context is of.
void LaneEmitter::tellLane(llvm::Value* context, llvm::Value* lane) {
  const auto place = [&](llvm::Value* base, std::size_t offset) { return b.CreateConstInBoundsGEP1_32(b.getInt8Ty(), base, static_cast<unsigned>(offset)); };
  const auto own = [&](std::size_t offset) { return b.CreateAdd(b.CreateLoad(b.getInt32Ty(), place(to_.getArg(0), offset)), lane); };
  llvm::Value* const linear = own(offsetof(ThreadContext, linear));
  b.CreateStore(linear, place(context, offsetof(ThreadContext, linear)));
  b.CreateStore(b.CreateAnd(linear, b.getInt32(kWarp - 1)), place(context, offsetof(ThreadContext, lane)));
  b.CreateStore(b.CreateLShr(linear, 5), place(context, offsetof(ThreadContext, warp)));
  beside_ == Beside::warps ? tellNumbers(context) : static_cast<void>(b.CreateStore(own(offsetof(ThreadContext, tid)), place(context, offsetof(ThreadContext, tid))));
}

// By the first of those that are here.
void LaneEmitter::emitEnd(const llvm::CallInst& call) {
  llvm::Value* const bits = b.CreateZExt(b.CreateBitCast(mask_, b.getIntNTy(lanes_)), b.getInt32Ty());
  llvm::Value* const lane = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, b.getTrue());
  llvm::AllocaInst* const own = ownContext();
  tellLane(own, lane);
  llvm::SmallVector<llvm::Value*, 4> arguments{own};
  for (unsigned k = 1; k < call.arg_size(); ++k) {
    const llvm::Value* const argument = call.getArgOperand(k);
    arguments.push_back(shapes_.of(argument).isUniform() ? scalarOf(argument) : b.CreateExtractElement(vectorOf(argument), lane));
  }
  b.CreateCall(call.getCalledFunction(), arguments);
}

}  // namespace rouse::cpu::codegen
