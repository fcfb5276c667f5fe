#include "server/device/cpu/codegen/compile.h"

#include <llvm/IR/Verifier.h>
#include <llvm/Target/TargetMachine.h>

#include "server/device/cpu/codegen/module_emitter.h"
#include "server/device/cpu/codegen/passes.h"

namespace rouse::cpu::codegen {
namespace {

// What registers, return addresses and spills take in each function's frame, beside its variables.
constexpr std::uint64_t kFrameBytes = 256;

// The stack's variables that are left after optimization, with a frame for each function.
std::uint64_t frameBytes(const llvm::Module& module) {
  std::uint64_t bytes = 0;
  for (const llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    bytes += kFrameBytes;
    for (const llvm::Instruction& instruction : function.getEntryBlock()) {
      if (const auto* slot = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
        if (const auto size = slot->getAllocationSize(module.getDataLayout())) bytes += size->getFixedValue();
      }
    }
  }
  return bytes;
}

Status verify(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (!llvm::verifyModule(module, &stream)) return {};
  return Error{CudaError::unknown, "generated code is not valid: " + text};
}

// Generic addresses may point to local variables, which threads of a block share in a BlockLoop's stack frame.
bool usesLocal(const ptx::Module& source, const std::vector<std::uint32_t>& functions) {
  for (const std::uint32_t index : functions) {
    if (!source.functions[index].locals.empty()) return true;
  }
  return false;
}

void markIndependent(llvm::Module& module) {
  llvm::MDNode* const group = accessGroup(module, true);
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : block) {
        if (instruction.mayReadOrWriteMemory() &&
            (llvm::isa<llvm::LoadInst>(instruction) || llvm::isa<llvm::StoreInst>(instruction))) {
          instruction.setMetadata(llvm::LLVMContext::MD_access_group, group);
        }
      }
    }
  }
}

}  // namespace

std::string pointerName(std::uint32_t function) { return ModuleEmitter::pointerName(function); }

Result<KernelCode> compileKernel(Jit& jit, const ptx::Module& source, const ptx::CallGraph& graph,
                                 std::uint32_t function, bool pointersWait) {
  const std::unique_ptr<llvm::TargetMachine> target = hostTarget();
  if (target == nullptr) return Error{CudaError::invalidKernelImage, "no code generator for this processor"};
  llvm::LLVMContext context;
  ModuleEmitter emitter(context, source, graph, function);
  const std::unique_ptr<llvm::Module> module = emitter.emit();
  module->setDataLayout(target->createDataLayout());
  module->setTargetTriple(target->getTargetTriple().str());
  if (Status valid = verify(*module); !valid) return valid.error();

  llvm::Function* const body = module->getFunction(ModuleEmitter::kBodyName);
  const std::string entryName = "rouse.entry." + std::to_string(function);
  const std::string loopName = "rouse.loop." + std::to_string(function);
  body->setName(entryName);
  body->setLinkage(llvm::GlobalValue::ExternalLinkage);
  const Effort effort = effortFor(*module);
  simplify(*module, *target, effort);
  yieldInSpinLoops(*module);
  const bool hasLoop = !mayWait(*module) && !pointersWait;
  if (hasLoop) {
    if (!usesLocal(source, graph.reachable(function))) markIndependent(*module);
    addBlockLoop(*module, *body, loopName);
  }
  optimize(*module, *target, effort);
  KernelCode code;
  code.staticSharedBytes = ptx::sharedLayout(source, graph, function).bytes;
  if (source.usesReservedShared) code.reservedSharedBytes = kReservedSharedBytes;
  code.localBytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(frameBytes(*module), ~std::uint32_t{0}));
  if (Status added = jit.add(*module, *target); !added) return added.error();
  const Result<std::uint64_t> entry = jit.find(entryName);
  if (!entry) return entry.error();
  code.entry = reinterpret_cast<KernelEntry>(*entry);
  if (hasLoop) {
    const Result<std::uint64_t> loop = jit.find(loopName);
    if (!loop) return loop.error();
    code.loop = reinterpret_cast<BlockLoop>(*loop);
  }
  return code;
}

Result<bool> compilePointers(Jit& jit, const ptx::Module& source, const ptx::CallGraph& graph) {
  const std::unique_ptr<llvm::TargetMachine> target = hostTarget();
  if (target == nullptr) return Error{CudaError::invalidKernelImage, "no code generator for this processor"};
  llvm::LLVMContext context;
  ModuleEmitter emitter(context, source, graph, std::nullopt);
  const std::unique_ptr<llvm::Module> module = emitter.emit();
  module->setDataLayout(target->createDataLayout());
  module->setTargetTriple(target->getTargetTriple().str());
  if (Status valid = verify(*module); !valid) return valid.error();
  const Effort effort = effortFor(*module);
  simplify(*module, *target, effort);
  yieldInSpinLoops(*module);
  const bool waits = mayWait(*module);
  optimize(*module, *target, effort);
  if (Status added = jit.add(*module, *target); !added) return added.error();
  return waits;
}

}  // namespace rouse::cpu::codegen
