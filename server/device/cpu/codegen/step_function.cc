#include "server/device/cpu/codegen/step_function.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "server/device/cpu/codegen/context_fields.h"
#include "server/device/cpu/codegen/passes.h"

namespace rouse::cpu::codegen {
namespace {

// Which functions come to one that waits, by any calls of the module's: found from there, so also those that call one another.
class Waiting {
 public:
  explicit Waiting(llvm::Module& module) {
    llvm::SmallVector<llvm::Function*, 16> work;
    for (llvm::Function& function : module) {
      if (function.isDeclaration() && isWaitingFunction(function.getName())) work.push_back(&function);
    }
    while (!work.empty()) {
      for (const llvm::User* user : work.pop_back_val()->users()) {
        const auto* const call = llvm::dyn_cast<llvm::CallInst>(user);
        if (call != nullptr && waits_.insert(call->getFunction()).second) work.push_back(const_cast<llvm::Function*>(call->getFunction()));
      }
    }
  }

  bool waits(const llvm::Function& function) const { return waits_.contains(&function); }

 private:
  llvm::SmallPtrSet<const llvm::Function*, 16> waits_;
};

}  // namespace

llvm::Function* makeStep(llvm::Module& module, llvm::Function& body, llvm::StringRef name) {
  llvm::IRBuilder<> b(module.getContext());
  llvm::Type* const pointer = b.getPtrTy();
  llvm::Type* const word = b.getInt32Ty();
  auto* const type =
      llvm::FunctionType::get(word, {pointer, pointer, pointer, b.getInt64Ty(), pointer, pointer, word, pointer, word}, false);
  llvm::Function* const step = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name + ".step", module);
  llvm::ValueToValueMapTy map;
  map[body.getArg(0)] = step->getArg(kThread);
  map[body.getArg(1)] = step->getArg(kParameters);
  llvm::SmallVector<llvm::ReturnInst*, 4> ends;
  // Attributes are copied, too: the parameters' of the body are those of the first two here.
  llvm::CloneFunctionInto(step, &body, map, llvm::CloneFunctionChangeType::LocalChangesOnly, ends);
  step->setLinkage(llvm::GlobalValue::InternalLinkage);
  for (llvm::ReturnInst* end : ends) {
    llvm::ReturnInst::Create(module.getContext(), b.getInt32(kThreadEnds), end->getIterator());
    end->eraseFromParent();
  }
  dropNoAlias(*step);
  return step;
}

namespace {

// A number of the thread's, or of the block's size, that the program loads.
struct Number {
  llvm::LoadInst* load;
  unsigned dimension;
};

// What the step knows of them all. False where one is loaded in another way than as a number.
bool findNumbers(llvm::Function& step, llvm::SmallVectorImpl<Number>& ids, llvm::SmallVectorImpl<Number>& sizes) {
  for (llvm::Instruction& instruction : llvm::instructions(step)) {
    auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    if (load == nullptr) continue;
    const auto at = threadField(load->getPointerOperand(), step), ofBlock = blockField(load->getPointerOperand(), step);
    const bool isWord = load->getType()->isIntegerTy(32);
    if (at && *at < offsetof(ThreadContext, tid) + sizeof ThreadContext::tid) {
      if (!isWord || *at % 4 != 0) return false;
      ids.push_back({load, static_cast<unsigned>(*at / 4)});
    } else if (ofBlock && isWord && *ofBlock % 4 == 0 && *ofBlock - offsetof(BlockContext, ntid) < sizeof BlockContext::ntid) {
      sizes.push_back({load, static_cast<unsigned>((*ofBlock - offsetof(BlockContext, ntid)) / 4)});
    }
  }
  return true;
}

}  // namespace

bool numberFlat(llvm::Function& step, Code code) {
  llvm::SmallVector<Number, 8> ids, sizes;
  if (!findNumbers(step, ids, sizes)) return false;
  llvm::IRBuilder<> b(&step.getEntryBlock(), step.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
  const auto field = [&](llvm::Value* base, std::size_t at, llvm::Type* type) {
    return b.CreateLoad(type, b.CreateConstInBoundsGEP1_32(b.getInt8Ty(), base, static_cast<unsigned>(at)));
  };
  const bool isRow = code == Code::row, isDeep = code.form == Code::deep;
  const unsigned known[] = {code.width, isRow ? 1u : code.height, isDeep ? 0u : 1u};
  // What is left of a number in whole rows, or layers; that of those goes on.
  const auto divide = [&](llvm::Value*& number, unsigned dimension) -> llvm::Value* {
    llvm::Value* const all = number;
    if (const unsigned size = known[dimension]; size != 0) {
      number = b.CreateLShr(all, llvm::Log2_32(size));
      return b.CreateAnd(all, size - 1);
    }
    llvm::LoadInst* const size = field(field(step.getArg(kThread), offsetof(ThreadContext, block), b.getPtrTy()), offsetof(BlockContext, ntid) + 4 * dimension, b.getInt32Ty());
    size->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
    // Of numbers below 2^10 the quotient is exact: 2^21 / size, rounded up, is too large by less than what would count.
    llvm::Value* const inverse = b.CreateAdd(b.CreateUDiv(b.getInt32(1u << 21), size), b.getInt32(1));
    number = b.CreateLShr(b.CreateMul(all, inverse), std::uint64_t{21});
    return b.CreateSub(all, b.CreateMul(number, size));
  };
  llvm::Value* number = ids.empty() ? nullptr : field(step.getArg(kThread), offsetof(ThreadContext, linear), b.getInt32Ty());
  llvm::Value* numbers[] = {number, b.getInt32(0), b.getInt32(0)};
  for (unsigned dimension = 0; number != nullptr && dimension < (isRow ? 0 : isDeep ? 2 : 1); ++dimension) {
    numbers[dimension] = divide(number, dimension);
    numbers[dimension + 1] = number;
  }
  for (const auto& [load, dimension] : ids) {
    load->replaceAllUsesWith(numbers[dimension]);
    load->eraseFromParent();
  }
  for (const auto& [load, dimension] : sizes) {
    if (known[dimension] != 0) load->replaceAllUsesWith(b.getInt32(known[dimension]));
  }
  return true;
}

bool inlineWaiting(llvm::Function& step, const std::function<void(llvm::Function&)>& tidy) {
  const Waiting waiting(*step.getParent());
  for (unsigned round = 0; round < 64; ++round) {
    llvm::SmallVector<llvm::CallInst*, 8> calls;
    for (llvm::Instruction& instruction : llvm::instructions(step)) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call == nullptr || call->getCalledFunction() == nullptr || call->getCalledFunction()->isDeclaration()) continue;
      if (waiting.waits(*call->getCalledFunction())) calls.push_back(call);
    }
    if (calls.empty()) {
      if (round != 0) tidy(step);
      return true;
    }
    for (llvm::CallInst* call : calls) {
      llvm::InlineFunctionInfo info;
      if (!llvm::InlineFunction(*call, info, false, nullptr, false).isSuccess()) return false;
    }
    if (step.getInstructionCount() > kMostStepInstructions) return false;
  }
  return false;
}

}  // namespace rouse::cpu::codegen
