#include <llvm/IR/Verifier.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>

#include "server/device/cpu/codegen/barrier_objects.h"
#include "server/device/cpu/codegen/jit.h"
#include "server/device/cpu/codegen/lanes.h"
#include "server/device/cpu/codegen/large_stack.h"
#include "server/device/cpu/codegen/module_emitter.h"
#include "server/device/cpu/codegen/passes.h"
#include "server/device/cpu/codegen/stack_sizes.h"
#include "server/device/cpu/codegen/unit.h"
#include "server/device/cpu/codegen/warp_calls.h"

namespace rouse::cpu::codegen {
namespace {

// What registers, return addresses and spills take in each function's frame, beside its variables.
constexpr std::uint64_t kFrameBytes = 256;

constexpr std::uint32_t kSmallFrameBytes = 4096;

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

// Whether one of them takes memory of its stack while it runs: then the stack has to be the thread's own where it waits.
bool allocatesStack(const ptx::Module& source, const std::vector<std::uint32_t>& functions) {
  return std::ranges::any_of(functions, [&](std::uint32_t index) {
    return std::ranges::any_of(source.functions[index].instructions,
                               [](const ptx::Instruction& i) { return i.opcode == ptx::Opcode::alloca_; });
  });
}

// Generic addresses may point to local variables, which threads of a block share in a BlockLoop's stack frame.
bool usesLocal(const ptx::Module& source, const std::vector<std::uint32_t>& functions) {
  for (const std::uint32_t index : functions) {
    if (!source.functions[index].locals.empty()) return true;
  }
  return allocatesStack(source, functions);
}

// Programs see generic addresses of shared memory, and swizzled tiles of tensors (runtime/tensor_copy.h) are found by where they lie in 1024 bytes. As on GPUs, where shared memory begins at
// a multiple of that, what is aligned in it is aligned as such.
std::uint32_t sharedAlignment(const ptx::Module& source, const ptx::CallGraph& graph, std::uint32_t kernel) {
  constexpr std::uint32_t kTiles = 1024;
  std::uint32_t alignment = kLeastSharedAlignment;
  for (const std::uint32_t function : graph.reachable(kernel)) {
    for (const std::uint32_t variable : graph.facts(function).shared) alignment = std::max(alignment, source.shared[variable].alignment);
    if (std::ranges::any_of(source.functions[function].instructions, [](const ptx::Instruction& i) { return i.has(ptx::Modifier::tensor); })) alignment = std::max(alignment, kTiles);
  }
  return std::min(alignment, kMostSharedAlignment);
}

Result<CodeCache::Entry> translate(const ptx::Module& source, const ptx::CallGraph& graph, const Unit& unit, Attempt attempt) {
  const std::unique_ptr<llvm::TargetMachine> target = hostTarget(attempt);
  if (target == nullptr) return Error{CudaError::invalidKernelImage, "no code generator for this processor"};
  llvm::LLVMContext context;
  ModuleEmitter emitter(context, source, graph, unit.function, unit.code);
  const std::unique_ptr<llvm::Module> module = emitter.emit();
  module->setDataLayout(target->createDataLayout());
  module->setTargetTriple(target->getTargetTriple().str());
  if (Status valid = verify(*module); !valid) return valid.error();

  llvm::Function* body = nullptr;
  if (unit.function) {
    body = module->getFunction(ModuleEmitter::kBodyName);
    body->setName(unit.entryName());
    body->setLinkage(llvm::GlobalValue::ExternalLinkage);
  }
  const Effort effort = attempt == Attempt::plain ? Effort::least : effortFor(module->getInstructionCount(), hasMatrices(*module));
  // What makes the best of a register takes time that grows faster than what it is given.
  if (effort == Effort::least) target->setOptLevel(llvm::CodeGenOptLevel::None);
  simplify(*module, *target, effort);
  endAtEndlessLoops(*module);
  const bool announces = announcePolls(*module);
  yieldInSpinLoops(*module);
  CodeCache::Entry entry;
  entry.facts[kWaits] = mayWait(*module);
  // What was not inlined is done in turn.
  const bool isAlone = llvm::count_if(*module, [](const llvm::Function& function) { return !function.isDeclaration(); }) == 1;
  if (unit.function && !unit.pointersWait && !unit.forFibers() && !announces) {
    const bool independent = !usesLocal(source, graph.reachable(*unit.function));
    const bool allocates = allocatesStack(source, graph.reachable(*unit.function));
    llvm::TargetMachine* const lanes = unit.sideBySide && !allocates && effort == Effort::full && hasLanes(*target) ? target.get() : nullptr;
    std::optional<SplitLoop> split;
    if (effort != Effort::least && !allocates && entry.facts[kWaits]) {
      split = splitAtBarriers(*module, *body, unit.loopName(), independent, lanes, unit.code, [&](llvm::Function& function) { tidy(function, *target); });
    } else if (effort == Effort::full && !allocates) {
      split = splitAtShared(*module, *body, unit.loopName(), independent, lanes, unit.code);
      if (!split && lanes != nullptr && !unit.code.goesByNumber()) split = splitAtRounds(*module, *body, unit.loopName(), independent, lanes, unit.code);
    }
    if (split) {
      entry.facts[kHasLoop] = 1;
      entry.facts[kFrame] = split->frameBytes;
      entry.facts[kForm] = (split->wholeWarps ? kWholeWarps : 0) | (split->mayPoll ? kMayPoll : 0);
      if (Status valid = verify(*module); !valid) return valid.error();
    } else if (lanes != nullptr && entry.facts[kWaits] && exchangesInWarps(*module)) {
      entry.facts[kForm] = kWholeWarps;
    } else if (unit.code.goesByNumber()) {
      entry.facts[kHasLoop] = !entry.facts[kWaits] && lanes != nullptr && addWarpLoop(*module, *body, unit.loopName(), *lanes, unit.code, [&](llvm::Function& function) { tidy(function, *target); });
    } else if (!entry.facts[kWaits]) {
      if (independent) llvm::for_each(*module, markIndependent);
      entry.facts[kForm] = addBlockLoop(*module, *body, unit.loopName(), lanes, unit.code) ? kRows : 0;
      entry.facts[kHasLoop] = 1;
    }
    // With a loop for blocks of any shape whose frames are never too large, the other form is a fallback nobody comes to.
    if (unit.code.goesByNumber() || (entry.facts[kHasLoop] != 0 && entry.facts[kFrame] <= kSmallFrameBytes && (entry.facts[kForm] & kWholeWarps) == 0)) {
      body->addFnAttr(llvm::Attribute::NoInline);
      body->addFnAttr(llvm::Attribute::OptimizeNone);
    }
  }
  if ((entry.facts[kForm] & kWholeWarps) == 0 && entry.facts[kHasLoop] != 0 && allowsLanes(*module->getFunction(unit.loopName()))) entry.facts[kForm] |= kLanes;
  const bool isForFibers = body != nullptr && entry.facts[kWaits] != 0 && !body->hasOptNone();
  if (isForFibers) holdLoads(*body);
  placeSteps(*module, body);
  if (isForFibers) holdLoadsOfWarps(*body);
  if (isForFibers && !unit.checked()) watchPolls(*body);
  if (Status valid = verify(*module); !valid) return valid.error();
  inlineObjectCalls(*module);
  relaxAtomics(*module);
  leaveUnchanged(*module);
  optimize(*module, *target, effort, isAlone && isInLanes(*module, unit.loopName()));
  llvm::for_each(*module, keepMasks);
  if (effort == Effort::least) llvm::for_each(*module, shortenBlocks);
  if (unit.function) {
    entry.facts[kStaticShared] = ptx::sharedLayout(source, graph, *unit.function).bytes;
    entry.facts[kSharedAlignment] = sharedAlignment(source, graph, *unit.function);
    if (source.usesReservedShared) entry.facts[kReservedShared] = kReservedSharedBytes;
  }
  const std::uint64_t variables = frameBytes(*module);
  auto object = emitObject(*module, *target);
  if (!object) return std::move(object).error();
  // What does not fit into registers is known when there is machine code only; variables whose size is, before.
  if (unit.function) entry.facts[kLocal] = static_cast<std::uint32_t>(std::min<std::uint64_t>(std::max(variables, stackBytes(*object)), ~std::uint32_t{0}));
  entry.object = std::move(*object);
  return entry;
}

}  // namespace

// No instruction of PTX is less than one of emitted code.
bool differs(Attempt attempt, std::size_t instructions) { return attempt != Attempt::narrow || (hostHasMasks() && effortFor(instructions) == Effort::full); }

std::size_t instructionsOf(const ptx::Module& module, const ptx::CallGraph& graph, const Unit& unit) {
  std::size_t count = 0;
  for (const std::uint32_t function : unit.function ? graph.reachable(*unit.function) : graph.addressTakenReachable())
    count += module.functions[function].instructions.size();
  return count;
}

Result<CodeCache::Entry> translateUnit(const ptx::Module& module, const ptx::CallGraph& graph, const Unit& unit, Attempt attempt) {
  std::optional<Result<CodeCache::Entry>> entry;
  if (Status ran = onLargeStack([&] { entry.emplace(translate(module, graph, unit, attempt)); }); !ran) return ran.error();
  return std::move(*entry);
}

}  // namespace rouse::cpu::codegen
