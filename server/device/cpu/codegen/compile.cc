#include "server/device/cpu/codegen/compile.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SHA256.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>

#include "server/device/cpu/codegen/barrier_objects.h"
#include "server/device/cpu/codegen/compiler_identity.h"
#include "server/device/cpu/codegen/lanes.h"
#include "server/device/cpu/codegen/module_emitter.h"
#include "server/device/cpu/codegen/passes.h"
#include "server/device/cpu/codegen/stack_sizes.h"

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

}  // namespace

CodeCache::Key hashOf(std::string_view text) {
  llvm::SHA256 hash;
  hash.update(llvm::StringRef(text.data(), text.size()));
  return hash.final();
}

std::string pointerName(std::uint32_t function, Code code) { return ModuleEmitter::pointerName(function, code); }

namespace {

// What the cache keeps beside an object.
enum Fact : std::size_t { kStaticShared, kReservedShared, kLocal, kHasLoop, kWaits, kFrame, kForm };
// Of kForm, as in KernelCode.
constexpr std::uint32_t kWholeWarps = 1, kRows = 2, kMayPoll = 4;

struct Unit {
  std::optional<std::uint32_t> function;  // none: those whose address is taken
  Code code = Code::plain;
  bool pointersWait = false;

  bool checked() const { return code == Code::checked; }
  std::string entryName() const { return std::string(kNames[static_cast<std::size_t>(code)]) + "entry." + std::to_string(*function); }
  std::string loopName() const { return std::string(kNames[static_cast<std::size_t>(code)]) + "loop." + std::to_string(*function); }

  static constexpr std::string_view kNames[kCodes] = {"rouse.", "rouse.checked.", "rouse.flat.", "rouse.row."};
};

CodeCache::Key keyOf(const Source& source, const Unit& unit) {
  llvm::SHA256 hash;
  hash.update(llvm::StringRef(LLVM_VERSION_STRING " " ROUSE_COMPILER_SOURCES " "));
  hash.update(llvm::StringRef(hostName()));
  hash.update(llvm::ArrayRef(source.text));
  if (unit.checked()) hash.update(llvm::StringRef("checked "));
  if (isFlat(unit.code)) hash.update(llvm::StringRef(unit.code == Code::row ? "row " : "flat "));
  hash.update(llvm::StringRef(unit.function ? "kernel " + std::to_string(*unit.function) + (unit.pointersWait ? " waits" : "") : "pointers"));
  if (!source.sideBySide) hash.update(llvm::StringRef(" one by one"));
  return hash.final();
}

Result<CodeCache::Entry> translate(const Source& source, const Unit& unit) {
  const std::unique_ptr<llvm::TargetMachine> target = hostTarget();
  if (target == nullptr) return Error{CudaError::invalidKernelImage, "no code generator for this processor"};
  llvm::LLVMContext context;
  ModuleEmitter emitter(context, source.module, source.graph, unit.function, unit.code);
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
  const Effort effort = effortFor(*module);
  simplify(*module, *target, effort);
  yieldInSpinLoops(*module);
  CodeCache::Entry entry;
  entry.facts[kWaits] = mayWait(*module);
  if (unit.function && !unit.pointersWait && !unit.checked()) {
    const bool independent = !usesLocal(source.module, source.graph.reachable(*unit.function));
    const bool allocates = allocatesStack(source.module, source.graph.reachable(*unit.function));
    llvm::TargetMachine* const lanes = source.sideBySide && !allocates && effort == Effort::full && hasLanes(*target) ? target.get() : nullptr;
    std::optional<SplitLoop> split;
    if (effort != Effort::least && !allocates && entry.facts[kWaits]) {
      split = splitAtBarriers(*module, *body, unit.loopName(), independent, lanes, unit.code, [&](llvm::Function& function) { tidy(function, *target); });
    } else if (effort == Effort::full && !allocates) {
      split = splitAtShared(*module, *body, unit.loopName(), independent, lanes, unit.code);
    }
    if (split) {
      entry.facts[kHasLoop] = 1;
      entry.facts[kFrame] = split->frameBytes;
      entry.facts[kForm] = (split->wholeWarps ? kWholeWarps : 0) | (split->mayPoll ? kMayPoll : 0);
      if (Status valid = verify(*module); !valid) return valid.error();
    } else if (!entry.facts[kWaits] && !isFlat(unit.code)) {
      if (independent) llvm::for_each(*module, markIndependent);
      entry.facts[kForm] = addBlockLoop(*module, *body, unit.loopName(), lanes) ? kRows : 0;
      entry.facts[kHasLoop] = 1;
    }
    // With a loop for blocks of any shape whose frames are never too large, the other form is a fallback nobody comes to.
    if (isFlat(unit.code) || (entry.facts[kHasLoop] != 0 && entry.facts[kFrame] <= kSmallFrameBytes && (entry.facts[kForm] & kWholeWarps) == 0)) {
      body->addFnAttr(llvm::Attribute::NoInline);
      body->addFnAttr(llvm::Attribute::OptimizeNone);
    }
  }
  placeSteps(*module, body);
  if (Status valid = verify(*module); !valid) return valid.error();
  inlineObjectCalls(*module);
  relaxAtomics(*module);
  optimize(*module, *target, effort);
  if (unit.function) {
    entry.facts[kStaticShared] = ptx::sharedLayout(source.module, source.graph, *unit.function).bytes;
    if (source.module.usesReservedShared) entry.facts[kReservedShared] = kReservedSharedBytes;
  }
  const std::uint64_t variables = frameBytes(*module);
  auto object = emitObject(*module, *target);
  if (!object) return std::move(object).error();
  // What does not fit into registers is known when there is machine code only; variables whose size is, before.
  if (unit.function) entry.facts[kLocal] = static_cast<std::uint32_t>(std::min<std::uint64_t>(std::max(variables, stackBytes(*object)), ~std::uint32_t{0}));
  entry.object = std::move(*object);
  return entry;
}

// Linked. Its facts.
Result<CodeCache::Entry> build(Jit& jit, const Source& source, const Unit& unit) {
  if (source.cache != nullptr) {
    const CodeCache::Key key = keyOf(source, unit);
    auto entry = source.cache->find(key);
    if (!entry) {
      auto made = translate(source, unit);
      if (!made) return std::move(made).error();
      source.cache->store(key, *made);
      entry = std::move(*made);
    }
    if (Status added = jit.add(entry->object); !added) return added.error();
    return std::move(*entry);
  }
  auto entry = translate(source, unit);
  if (!entry) return std::move(entry).error();
  if (Status added = jit.add(entry->object); !added) return added.error();
  return entry;
}

}  // namespace

Result<KernelCode> compileKernel(Jit& jit, const Source& source, const KernelUnit& kernel) {
  const Unit unit{kernel.function, kernel.code, kernel.pointersWait};
  const auto built = build(jit, source, unit);
  if (!built) return built.error();
  KernelCode code;
  code.staticSharedBytes = built->facts[kStaticShared];
  code.reservedSharedBytes = built->facts[kReservedShared];
  code.localBytes = built->facts[kLocal];
  const Result<std::uint64_t> entry = jit.find(unit.entryName());
  if (!entry) return entry.error();
  code.entry = reinterpret_cast<KernelEntry>(*entry);
  if (built->facts[kHasLoop] != 0) {
    const Result<std::uint64_t> loop = jit.find(unit.loopName());
    if (!loop) return loop.error();
    code.loop = reinterpret_cast<BlockLoop>(*loop);
    code.frameBytes = built->facts[kFrame];
    code.wholeWarps = (built->facts[kForm] & kWholeWarps) != 0;
    code.rows = (built->facts[kForm] & kRows) != 0;
    code.mayPoll = (built->facts[kForm] & kMayPoll) != 0;
  }
  return code;
}

Result<bool> compilePointers(Jit& jit, const Source& source, Code code) {
  const auto built = build(jit, source, {std::nullopt, code});
  if (!built) return built.error();
  return built->facts[kWaits] != 0;
}

}  // namespace rouse::cpu::codegen
