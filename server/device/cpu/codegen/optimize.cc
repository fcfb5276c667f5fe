#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/IPO/ModuleInliner.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/BDCE.h>
#include <llvm/Transforms/Scalar/DeadStoreElimination.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/JumpThreading.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/Scalarizer.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/LCSSA.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LoopUtils.h>
#include <llvm/Transforms/Utils/LowerAtomic.h>
#include <llvm/Transforms/Utils/LowerSwitch.h>

#include "server/device/cpu/codegen/context_fields.h"
#include "server/device/cpu/codegen/matrix_registers.h"
#include "server/device/cpu/codegen/passes.h"

namespace rouse::cpu::codegen {
namespace {

constexpr std::size_t kLargestFull = 60'000, kLargestFullOfMatrices = 200'000;
constexpr std::size_t kLargestLess = 400'000;
constexpr std::size_t kLargestVectorized = 3000;  // of a loop

constexpr const char* kAccessGroupName = "rouse.access.group";

class RecoverPointers : public llvm::PassInfoMixin<RecoverPointers> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    recoverPointers(function);
    return llvm::PreservedAnalyses::none();
  }
};

class InlineLeaves : public llvm::PassInfoMixin<InlineLeaves> {
 public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) { return inlineLeaves(module) ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all(); }
};

// The analyses that passes share, tied together.
class Analyses {
 public:
  explicit Analyses(llvm::TargetMachine& target) : builder(&target, tuning()) {
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
  }

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;

 private:
  static llvm::PipelineTuningOptions tuning() {
    llvm::PipelineTuningOptions options;
    options.LoopVectorization = true;
    options.SLPVectorization = true;
    options.LoopInterleaving = true;
    return options;
  }
};

class SeparateNumbers : public llvm::PassInfoMixin<SeparateNumbers> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    separateNumbers(function);
    return llvm::PreservedAnalyses::none();
  }
};

llvm::FunctionPassManager cleanUp() {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(SeparateNumbers());
  return passes;
}

// Nobody comes back from what ends the launch, so where it would go on does not matter: a block that ends there goes on where the other way does. More
// than one end of the function becomes one.
void joinEnds(llvm::Function& function) {
  llvm::SmallVector<llvm::ReturnInst*, 4> returns;
  for (llvm::BasicBlock& block : function) {
    if (auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator())) returns.push_back(end);
    auto* const end = llvm::dyn_cast<llvm::UnreachableInst>(block.getTerminator());
    llvm::BasicBlock* const before = block.getSinglePredecessor();
    const auto* const branch = before == nullptr ? nullptr : llvm::dyn_cast<llvm::BranchInst>(before->getTerminator());
    if (end == nullptr || branch == nullptr || !branch->isConditional()) continue;
    llvm::BasicBlock* const other = branch->getSuccessor(branch->getSuccessor(0) == &block ? 1 : 0);
    if (other == &block) continue;
    for (llvm::PHINode& phi : other->phis()) phi.addIncoming(phi.getIncomingValueForBlock(before), &block);
    llvm::BranchInst::Create(other, end->getIterator());
    end->eraseFromParent();
  }
  if (returns.size() < 2) return;
  llvm::BasicBlock* const last = llvm::BasicBlock::Create(function.getContext(), "end", &function);
  llvm::IRBuilder<> b(last);
  llvm::PHINode* const value = function.getReturnType()->isVoidTy() ? nullptr : b.CreatePHI(function.getReturnType(), static_cast<unsigned>(returns.size()));
  value == nullptr ? b.CreateRetVoid() : b.CreateRet(value);
  for (llvm::ReturnInst* end : returns) {
    if (value != nullptr) value->addIncoming(end->getReturnValue(), end->getParent());
    llvm::BranchInst::Create(last, end->getIterator());
    end->eraseFromParent();
  }
}

class JoinEnds : public llvm::PassInfoMixin<JoinEnds> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    joinEnds(function);
    joinStores(function);
    return llvm::PreservedAnalyses::none();
  }
};

llvm::SimplifyCFGOptions keepingLoops() { return llvm::SimplifyCFGOptions().convertSwitchRangeToICmp(true); }

// What LLVM's own levels do for code that is in vectors already, has been simplified as scalar code, and comes from a compiler that has unrolled its loops:
// redundant masks, addresses and loads, choices that were made before (of whole accesses and parts), and what a loop need not do again. The level itself takes
// four times as long, most of it in passes that have nothing to do here.
llvm::ModulePassManager forLanes() {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::SimplifyCFGPass(keepingLoops()));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::JumpThreadingPass());
  passes.addPass(llvm::SimplifyCFGPass(keepingLoops()));
  llvm::LoopPassManager loops;
  llvm::LICMOptions asItIs;
  asItIs.AllowSpeculation = false;
  loops.addPass(llvm::LICMPass(asItIs));
  loops.addPass(llvm::LoopRotatePass());
  loops.addPass(llvm::LICMPass(llvm::LICMOptions()));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops), /*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass(keepingLoops()));
  passes.addPass(llvm::GVNPass());
  passes.addPass(llvm::BDCEPass());
  passes.addPass(llvm::DSEPass());
  passes.addPass(llvm::SimplifyCFGPass(keepingLoops().hoistCommonInsts(true).sinkCommonInsts(true)));
  passes.addPass(llvm::InstCombinePass());
  llvm::ModulePassManager all;
  all.addPass(llvm::AlwaysInlinerPass());
  all.addPass(llvm::GlobalDCEPass());
  all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes), /*EagerlyInvalidate=*/true));
  return all;
}

// Vectors of f16 are compared as f32, which is the same: LLVM has no such comparison without AVX512-FP16, and makes one of each element, many times the code. The last of all:
// its passes would turn it back.
void compareHalvesAsSingle(llvm::Function& function) {
  llvm::SmallVector<llvm::FCmpInst*, 16> found;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* const comparison = llvm::dyn_cast<llvm::FCmpInst>(&instruction);
    if (comparison != nullptr && comparison->getOperand(0)->getType()->isVectorTy() && comparison->getOperand(0)->getType()->getScalarType()->isHalfTy()) found.push_back(comparison);
  }
  for (llvm::FCmpInst* comparison : found) {
    llvm::IRBuilder<> b(comparison);
    llvm::Type* const type = comparison->getOperand(0)->getType()->getWithNewType(b.getFloatTy());
    for (llvm::Use& operand : comparison->operands()) operand = b.CreateFPExt(operand, type);
  }
}

// LLVM's plans of vector loops take time that grows with the square of what is in them.
class LeaveLargeLoops : public llvm::PassInfoMixin<LeaveLargeLoops> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
      if (!loop->isInnermost()) continue;
      std::size_t instructions = 0;
      for (const llvm::BasicBlock* block : loop->blocks()) instructions += block->size();
      if (instructions > kLargestVectorized) llvm::addStringMetadataToLoop(loop, "llvm.loop.vectorize.enable", 0);
    }
    return llvm::PreservedAnalyses::all();
  }
};

}  // namespace

bool hasMatrices(const llvm::Module& module) {
  return llvm::any_of(module, [](const llvm::Function& function) { return function.isDeclaration() && function.getName().starts_with("rouse_cpu_matrix") && !function.use_empty(); });
}

Effort effortFor(std::size_t size, bool matrices) {
  return size <= (matrices ? kLargestFullOfMatrices : kLargestFull) ? Effort::full : size <= kLargestLess ? Effort::less : Effort::least;
}

llvm::MDNode* accessGroup(llvm::Module& module, bool create) {
  llvm::NamedMDNode* list = module.getNamedMetadata(kAccessGroupName);
  if (list == nullptr && create) {
    list = module.getOrInsertNamedMetadata(kAccessGroupName);
    list->addOperand(llvm::MDNode::getDistinct(module.getContext(), {}));
  }
  return list == nullptr ? nullptr : list->getOperand(0);
}

void markIndependent(llvm::Function& function) {
  llvm::MDNode* const group = accessGroup(*function.getParent(), true);
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    const llvm::Value* const pointer = llvm::getLoadStorePointerOperand(&instruction);
    if (pointer == nullptr || llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(pointer))) continue;
    instruction.setMetadata(llvm::LLVMContext::MD_access_group, group);
  }
}

void relaxAtomics(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction); update != nullptr && update->getSyncScopeID() == llvm::SyncScope::SingleThread) {
        llvm::lowerAtomicRMWInst(update);
      } else if (auto* swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction);
                 swap != nullptr && swap->getSyncScopeID() == llvm::SyncScope::SingleThread) {
        llvm::lowerAtomicCmpXchgInst(swap);
      }
    }
  }
}

void dropNoAlias(llvm::Function& function) {
  for (llvm::Argument& argument : function.args()) argument.removeAttr(llvm::Attribute::NoAlias);
}

void tidy(llvm::Function& function, llvm::TargetMachine& target) {
  Analyses analyses(target);
  llvm::FunctionPassManager passes = cleanUp();
  passes.addPass(RecoverPointers());
  passes.addPass(cleanUp());
  passes.run(function, analyses.functions);
}

void straighten(llvm::Function& function, llvm::TargetMachine& target) {
  Analyses analyses(target);
  llvm::FunctionPassManager passes = cleanUp();
  passes.addPass(llvm::LowerSwitchPass());
  passes.addPass(JoinEnds());
  passes.addPass(llvm::LoopSimplifyPass());
  passes.addPass(llvm::LCSSAPass());
  passes.run(function, analyses.functions);
  separateLoads(function);
}

void simplify(llvm::Module& module, llvm::TargetMachine& target, Effort effort) {
  for (llvm::Function& function : module) promoteRegisters(function);
  Analyses analyses(target);
  llvm::ModulePassManager passes;
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::ScalarizerPass()));  // pairs (f16x2 and its like)
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(cleanUp()));
  if (effort == Effort::full) passes.addPass(InlineLeaves());
  if (effort != Effort::least) {
    passes.addPass(llvm::ModuleInlinerWrapperPass(llvm::getInlineParams(275)));
    passes.addPass(llvm::GlobalDCEPass());
  }
  llvm::FunctionPassManager addresses;
  addresses.addPass(RecoverPointers());
  // Local variables whose addresses have become plain are promoted, which lays bare the addresses that were kept in
  // them.
  addresses.addPass(cleanUp());
  addresses.addPass(RecoverPointers());
  addresses.addPass(cleanUp());
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(addresses)));
  passes.run(module, analyses.modules);
}

void shortenBlocks(llvm::Function& function) {
  constexpr std::size_t kMost = 512;
  llvm::SmallVector<llvm::Instruction*, 16> places;
  for (llvm::BasicBlock& block : llvm::make_early_inc_range(function)) {
    places.clear();
    std::size_t count = 0;
    for (llvm::Instruction& instruction : block) {
      if (++count % kMost == 0 && !llvm::isa<llvm::PHINode>(instruction)) places.push_back(&instruction);
    }
    // The last first: what comes behind a place is moved.
    for (llvm::Instruction* place : llvm::reverse(places)) block.splitBasicBlock(place);
  }
}

void optimize(llvm::Module& module, llvm::TargetMachine& target, Effort effort, bool inLanes) {
  Analyses analyses(target);
  analyses.builder.registerVectorizerStartEPCallback([](llvm::FunctionPassManager& passes, llvm::OptimizationLevel) { passes.addPass(LeaveLargeLoops()); });
  llvm::ModulePassManager passes;
  switch (effort) {
    case Effort::full:
      passes = inLanes ? forLanes() : analyses.builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2);
      break;
    case Effort::less:
      passes = analyses.builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O1);
      break;
    case Effort::least:
      passes.addPass(llvm::AlwaysInlinerPass());
      break;
  }
  passes.run(module, analyses.modules);
  for (llvm::Function& function : module) compareHalvesAsSingle(function);
}

}  // namespace rouse::cpu::codegen
