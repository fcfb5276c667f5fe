#include "server/device/cpu/codegen/barrier_objects.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/ConstantFold.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/Local.h>

#include <array>
#include <optional>

#include "server/device/cpu/codegen/step_function.h"
#include "server/device/cpu/codegen/passes.h"

namespace rouse::cpu::codegen {
namespace {

//   bits 0-19   arrivals that this phase still waits for
//   bits 20-39  arrivals that each phase waits for
//   bits 40-61  bytes that this phase still waits for, two's complement
//   bit 63      parity of the phase
constexpr std::uint64_t kCount = kPendingArrivals;
constexpr unsigned kExpected = 20, kBytes = 40, kParity = 63;
constexpr std::uint64_t kBytesMask = ((std::uint64_t{1} << 22) - 1) << kBytes;

constexpr std::size_t kMostWaits = 96;  // each is a cut

constexpr std::array<llvm::StringLiteral, 5> kNames{"rouse.object.init", "rouse.object.arrive", "rouse.object.expect", "rouse.object.complete",
                                                    "rouse.object.test"};

std::optional<ObjectCall> objectCall(const llvm::Value* value) {
  const auto* const call = llvm::dyn_cast<llvm::CallInst>(value);
  const llvm::Function* const callee = call == nullptr ? nullptr : call->getCalledFunction();
  for (std::size_t k = 0; callee != nullptr && k < kNames.size(); ++k) {
    if (callee->getName() == kNames[k]) return static_cast<ObjectCall>(k);
  }
  return std::nullopt;
}

// A block's threads run on one processor thread and change places at calls of the runtime only, so an object is read and written plainly;
// volatile, so that loops that test it read it each time.
class ObjectEmitter {
 public:
  explicit ObjectEmitter(llvm::Function& function) : function_(function), b(llvm::BasicBlock::Create(function.getContext(), "", &function)) {}

  void emit(ObjectCall call) {
    switch (call) {
      case ObjectCall::init: {
        llvm::Value* const count = b.CreateAnd(wide(1), kCount);
        store(b.CreateOr(count, b.CreateShl(count, kExpected)));
        break;
      }
      case ObjectCall::arrive: {
        order();
        llvm::Value* const before = load();
        llvm::Value* const word = minusArrivals(plusBytes(before, wide(3)), wide(2), kExpected);
        store(nextPhaseIfOver(minusArrivals(word, wide(1), 0)));
        order();
        b.CreateRet(before);
        return;
      }
      case ObjectCall::expect:
        store(plusBytes(load(), wide(1)));
        break;
      case ObjectCall::complete:
        order();
        store(nextPhaseIfOver(plusBytes(load(), b.CreateNeg(wide(1)))));
        order();
        break;
      case ObjectCall::test: {
        llvm::Value* const now = load();
        order();
        b.CreateRet(b.CreateIsNeg(b.CreateXor(now, function_.getArg(1))));
        return;
      }
    }
    b.CreateRetVoid();
  }

 private:
  // What other threads wrote before they arrived is there, and nothing is moved past: a matter of the compiler alone.
  void order() { b.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent, llvm::SyncScope::SingleThread); }
  llvm::Value* wide(unsigned argument) { return b.CreateZExt(function_.getArg(argument), b.getInt64Ty()); }
  llvm::Value* load() { return b.CreateAlignedLoad(b.getInt64Ty(), function_.getArg(0), llvm::Align(8), true); }
  void store(llvm::Value* word) { b.CreateAlignedStore(word, function_.getArg(0), llvm::Align(8), true); }

  // The phase is over when nothing is waited for; the next one begins at once.
  llvm::Value* nextPhaseIfOver(llvm::Value* word) {
    llvm::Value* const over = b.CreateICmpEQ(b.CreateAnd(word, kCount | kBytesMask), b.getInt64(0));
    llvm::Value* const expected = b.CreateAnd(b.CreateLShr(word, kExpected), kCount);
    return b.CreateSelect(over, b.CreateXor(b.CreateOr(word, expected), std::uint64_t{1} << kParity), word);
  }

  llvm::Value* plusBytes(llvm::Value* word, llvm::Value* bytes) {
    return b.CreateOr(b.CreateAnd(b.CreateAdd(word, b.CreateShl(bytes, kBytes)), kBytesMask), b.CreateAnd(word, ~kBytesMask));
  }

  llvm::Value* minusArrivals(llvm::Value* word, llvm::Value* count, unsigned field) {
    llvm::Value* const mask = b.getInt64(kCount << field);
    return b.CreateOr(b.CreateAnd(b.CreateSub(word, b.CreateShl(count, field)), mask), b.CreateAnd(word, b.CreateNot(mask)));
  }

  llvm::Function& function_;
  llvm::IRBuilder<> b;
};

llvm::FunctionType* typeOf(llvm::LLVMContext& context, ObjectCall call) {
  llvm::IRBuilder<> b(context);
  llvm::Type* const word = b.getInt32Ty();
  switch (call) {
    case ObjectCall::arrive:
      return llvm::FunctionType::get(b.getInt64Ty(), {b.getPtrTy(), word, word, word}, false);
    case ObjectCall::test:
      return llvm::FunctionType::get(b.getInt1Ty(), {b.getPtrTy(), b.getInt64Ty(), b.getInt1Ty()}, false);
    default:
      return llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), word}, false);
  }
}

// Whether it may be left out, again and again, by a thread that does not wait.
bool isIdle(const llvm::Instruction& instruction) {
  if (objectCall(&instruction) == ObjectCall::test || isCallOf(instruction, "rouse_cpu_yield") || isCallOf(instruction, "rouse_cpu_clock")) return true;
  return llvm::isa<llvm::FenceInst>(instruction) || instruction.isTerminator() || !instruction.mayHaveSideEffects();
}

// What `value` is if `test` is true and nothing else is known. None: that depends.
llvm::Constant* valueAfter(llvm::Value* value, const llvm::CallInst* test, unsigned depth = 0) {
  if (value == test) return llvm::ConstantInt::getTrue(test->getContext());
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value)) return constant;
  auto* const instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr || depth == 8) return nullptr;
  const auto operand = [&](unsigned k) { return valueAfter(instruction->getOperand(k), test, depth + 1); };
  if (llvm::isa<llvm::FreezeInst>(instruction)) return operand(0);
  if (auto* cast = llvm::dyn_cast<llvm::CastInst>(instruction)) {
    llvm::Constant* const from = operand(0);
    return from == nullptr ? nullptr : llvm::ConstantFoldCastInstruction(cast->getOpcode(), from, cast->getType());
  }
  if (llvm::isa<llvm::SelectInst>(instruction)) {
    llvm::Constant* const which = operand(0);
    return which == nullptr ? nullptr : operand(which->isOneValue() ? 1 : 2);
  }
  auto* const compare = llvm::dyn_cast<llvm::ICmpInst>(instruction);
  auto* const operation = llvm::dyn_cast<llvm::BinaryOperator>(instruction);
  if (compare == nullptr && operation == nullptr) return nullptr;
  llvm::Constant *const x = operand(0), *const y = operand(1);
  if (x == nullptr || y == nullptr) return nullptr;
  return compare != nullptr ? llvm::ConstantFoldCompareInstruction(compare->getPredicate(), x, y)
                            : llvm::ConstantFoldBinaryInstruction(operation->getOpcode(), x, y);
}

// Whether the block is left for `after` because the wait is over, and for nothing else: who gives up polling goes on as well, and waits for nobody.
bool leavesByTest(const llvm::BasicBlock& block, const llvm::BasicBlock* after, const llvm::CallInst* wait) {
  const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
  if (branch == nullptr || !branch->isConditional()) return false;
  return llvm::any_of(block, [&](const llvm::Instruction& instruction) {
    if (objectCall(&instruction) != ObjectCall::test) return false;
    const auto* const test = llvm::cast<llvm::CallInst>(&instruction);
    if (test->getArgOperand(0) != wait->getArgOperand(0) || test->getArgOperand(1) != wait->getArgOperand(1)) return false;
    const llvm::Constant* const over = valueAfter(branch->getCondition(), test);
    return over != nullptr && branch->getSuccessor(over->isOneValue() ? 0 : 1) == after;
  });
}

// Whether a thread that goes from `branching` to `next` can but wait until it comes to `after`.
bool onlyWaits(const llvm::CallInst* wait, llvm::BasicBlock* next, const llvm::BasicBlock* after) {
  const llvm::BasicBlock* const branching = wait->getParent();
  constexpr std::size_t kMostBlocks = 32;
  llvm::SmallPtrSet<llvm::BasicBlock*, 16> seen;
  llvm::SmallVector<llvm::BasicBlock*, 16> work{next};
  while (!work.empty()) {
    llvm::BasicBlock* const block = work.pop_back_val();
    if (block == after || !seen.insert(block).second) continue;
    if (seen.size() > kMostBlocks || llvm::succ_empty(block)) return false;
    if (block != branching && llvm::is_contained(llvm::successors(block), after) && !leavesByTest(*block, after, wait)) return false;
    for (const llvm::Instruction& instruction : *block) {
      if (!isIdle(instruction)) return false;
      // It changes nothing for who comes later.
      for (const llvm::User* user : instruction.users()) {
        const auto* const used = llvm::cast<llvm::Instruction>(user);
        if (used->getParent() == after && !llvm::isa<llvm::PHINode>(used) && block != branching) return false;
      }
    }
    work.append(llvm::succ_begin(block), llvm::succ_end(block));
  }
  return true;
}

llvm::CallInst* firstTest(llvm::Function& function) {
  const llvm::ReversePostOrderTraversal<llvm::Function*> order(&function);
  for (llvm::BasicBlock* block : order) {
    for (llvm::Instruction& instruction : *block) {
      if (objectCall(&instruction) == ObjectCall::test) return llvm::cast<llvm::CallInst>(&instruction);
    }
  }
  return nullptr;
}

}  // namespace

llvm::Function* objectFunction(llvm::Module& module, ObjectCall call) {
  const llvm::StringRef name = kNames[static_cast<std::size_t>(call)];
  if (llvm::Function* made = module.getFunction(name)) return made;
  auto* const made = llvm::Function::Create(typeOf(module.getContext(), call), llvm::GlobalValue::InternalLinkage, name, module);
  made->addFnAttr(llvm::Attribute::NoInline);
  made->addFnAttr(llvm::Attribute::NoUnwind);
  made->addFnAttr(llvm::Attribute::NullPointerIsValid);
  ObjectEmitter(*made).emit(call);
  return made;
}

const llvm::Value* initializedObject(const llvm::Instruction& instruction) {
  return objectCall(&instruction) == ObjectCall::init ? instruction.getOperand(0) : nullptr;
}

bool changesObject(const llvm::Instruction& instruction) {
  const auto call = objectCall(&instruction);
  return call && *call != ObjectCall::test;
}

bool isObjectCall(const llvm::Instruction& instruction) { return objectCall(&instruction).has_value(); }

void inlineObjectCalls(llvm::Module& module) {
  for (const llvm::StringRef name : kNames) {
    llvm::Function* const function = module.getFunction(name);
    if (function == nullptr) continue;
    function->removeFnAttr(llvm::Attribute::NoInline);
    function->addFnAttr(llvm::Attribute::AlwaysInline);
  }
}

bool ObjectWaits::becomeBarrier(llvm::CallInst* test) {
  llvm::BasicBlock* const block = test->getParent();
  auto* const branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
  if (branch == nullptr || !branch->isConditional() || branch->getSuccessor(0) == branch->getSuccessor(1)) return false;
  const llvm::Constant* const after = valueAfter(branch->getCondition(), test);
  if (after == nullptr) return false;
  llvm::BasicBlock* const done = branch->getSuccessor(after->isOneValue() ? 0 : 1);
  llvm::BasicBlock* const waiting = branch->getSuccessor(after->isOneValue() ? 1 : 0);
  if (!onlyWaits(test, waiting, done)) return false;
  if (llvm::is_contained(llvm::successors(block), block)) {  // a loop of one block
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(*block)) {
      if (isCallOf(instruction, "rouse_cpu_yield")) instruction.eraseFromParent();
    }
  }

  llvm::Function& step = *block->getParent();
  llvm::IRBuilder<> b(test);
  llvm::Argument* const thread = step.getArg(kThread);
  b.CreateCall(step.getParent()->getOrInsertFunction("rouse_cpu_barrier", b.getVoidTy(), b.getPtrTy(), b.getInt32Ty(), b.getInt32Ty()),
               {thread, b.getInt32(0), b.getInt32(0)});
  llvm::LoadInst* const now = b.CreateAlignedLoad(b.getInt64Ty(), test->getArgOperand(0), llvm::Align(8));
  llvm::Value* const over = b.CreateIsNeg(b.CreateXor(now, test->getArgOperand(1)));
  llvm::Value* const field = b.CreateConstInBoundsGEP1_32(b.getInt8Ty(), thread, offsetof(ThreadContext, misaligned));
  b.CreateStore(b.CreateOr(b.CreateLoad(b.getInt32Ty(), field), b.CreateSelect(over, b.getInt32(0), b.getInt32(kStuck))), field);
  for (const unsigned k : {0u, 1u}) {
    // A token is from the thread's own arrival.
    if (k == 1 && !llvm::cast<llvm::ConstantInt>(test->getArgOperand(2))->isOne()) continue;
    if (auto* same = llvm::dyn_cast<llvm::Instruction>(test->getArgOperand(k))) same_.push_back(same);
  }
  waiting->removePredecessor(block);
  b.SetInsertPoint(branch);
  b.CreateBr(done);
  branch->eraseFromParent();
  test->replaceAllUsesWith(b.getTrue());
  test->eraseFromParent();
  llvm::removeUnreachableBlocks(step);
  return true;
}

bool ObjectWaits::become(llvm::Function& step) {
  // Forwards: a test before a loop has that of the loop behind it.
  while (llvm::CallInst* const test = firstTest(step)) {
    if (waits_ == kMostWaits || !becomeBarrier(test)) return false;
    ++waits_;
  }
  if (none()) return true;
  // How long it was waited is what nobody asks any more.
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(step))) {
    if (isCallOf(instruction, "rouse_cpu_clock") && instruction.use_empty()) instruction.eraseFromParent();
  }
  return true;
}

bool ObjectWaits::areAlike(const Uniformity& uniformity) const {
  return llvm::all_of(same_, [&](const llvm::Instruction* value) { return uniformity.isUniform(value); });
}

}  // namespace rouse::cpu::codegen
