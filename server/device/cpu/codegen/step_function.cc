#include "server/device/cpu/codegen/step_function.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/Cloning.h>

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

void numberFlat(llvm::Function& step, bool ofOneRow) {
  const llvm::DataLayout& layout = step.getParent()->getDataLayout();
  llvm::SmallVector<std::pair<llvm::LoadInst*, unsigned>, 8> loads;
  for (llvm::Instruction& instruction : llvm::instructions(step)) {
    auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    llvm::APInt offset(64, 0);
    if (load == nullptr || !load->getType()->isIntegerTy(32)) continue;
    if (load->getPointerOperand()->stripAndAccumulateConstantOffsets(layout, offset, true) != step.getArg(kThread)) continue;
    if (offset.ult(offsetof(ThreadContext, tid) + sizeof ThreadContext::tid)) loads.emplace_back(load, static_cast<unsigned>(offset.getZExtValue() / 4));
  }
  if (loads.empty()) return;
  llvm::IRBuilder<> b(&step.getEntryBlock(), step.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
  const auto field = [&](llvm::Value* base, std::size_t at, llvm::Type* type) {
    return b.CreateLoad(type, b.CreateConstInBoundsGEP1_32(b.getInt8Ty(), base, static_cast<unsigned>(at)));
  };
  llvm::Value* const linear = field(step.getArg(kThread), offsetof(ThreadContext, linear), b.getInt32Ty());
  llvm::Value* numbers[] = {linear, b.getInt32(0), b.getInt32(0)};
  if (!ofOneRow) {
    llvm::LoadInst* const width = field(field(step.getArg(kThread), offsetof(ThreadContext, block), b.getPtrTy()), offsetof(BlockContext, ntid), b.getInt32Ty());
    width->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
    // Of numbers below 2^10 the quotient is exact: 2^21 / width, rounded up, is too large by less than what would count.
    llvm::Value* const inverse = b.CreateAdd(b.CreateUDiv(b.getInt32(1u << 21), width), b.getInt32(1));
    numbers[1] = b.CreateLShr(b.CreateMul(linear, inverse), std::uint64_t{21});
    numbers[0] = b.CreateSub(linear, b.CreateMul(numbers[1], width));
  }
  for (const auto& [load, dimension] : loads) {
    load->replaceAllUsesWith(numbers[dimension]);
    load->eraseFromParent();
  }
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
