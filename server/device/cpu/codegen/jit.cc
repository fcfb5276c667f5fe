#include "server/device/cpu/codegen/jit.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <cstdlib>
#include <mutex>

#include "server/device/cpu/codegen/runtime_symbols.h"

namespace rouse::cpu::codegen {
namespace {

Error failure(const char* what, llvm::Error error) {
  return Error{CudaError::invalidKernelImage, std::string(what) + ": " + llvm::toString(std::move(error))};
}

constexpr const char* kWithoutMasks = "x86-64-v3";  // as asked for in hostHasMasks, which takes no name

// A level of the architecture to generate for in place of all that the processor has, to see what others get (x86-64 psABI, 3.1.1); null: none is asked for.
const char* chosenLevel() {
  const char* const given = std::getenv("ROUSE_CPU_LEVEL");
  return given == nullptr || *given == '\0' ? nullptr : given;
}

llvm::Expected<llvm::orc::JITTargetMachineBuilder> chosenProcessor(Attempt attempt) {
  const char* const given = attempt != Attempt::whole && hostHasMasks() ? kWithoutMasks : chosenLevel();
  if (given == nullptr) return llvm::orc::JITTargetMachineBuilder::detectHost();
  const std::string_view level = given;
  const bool isHere = (level == "x86-64-v2" && __builtin_cpu_supports("x86-64-v2")) || (level == "x86-64-v3" && __builtin_cpu_supports("x86-64-v3")) ||
                      (level == "x86-64-v4" && __builtin_cpu_supports("x86-64-v4"));
  if (!isHere) {
    return llvm::createStringError(std::errc::not_supported, "ROUSE_CPU_LEVEL=%s: neither x86-64-v2, x86-64-v3 nor x86-64-v4, or more than this processor has", given);
  }
  llvm::orc::JITTargetMachineBuilder builder{llvm::Triple(llvm::sys::getProcessTriple())};
  builder.setCPU(given);
  return builder;
}

// One of LLVM's own, of its passes behind the optimiser, which have no other way to be told.
void setOption(llvm::StringRef name, llvm::StringRef value) {
  const auto found = llvm::cl::getRegisteredOptions().find(name);
  if (found != llvm::cl::getRegisteredOptions().end()) found->second->addOccurrence(0, found->first(), value);
}

llvm::Expected<llvm::orc::JITTargetMachineBuilder> hostBuilder(Attempt attempt) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    // It looks for values of masks in general registers, in time that grows with the square of a chain of operations: 80% of a long kernel's.
    setOption("disable-x86-domain-reassignment", "true");
    // Compares each access to memory in a block with those before it: half the time of kernels of some 10,000 instructions in few blocks (flash-attn's). What
    // it would order anew processors execute out of order anyway.
    setOption("post-RA-scheduler", "false");
  });
  auto builder = chosenProcessor(attempt);
  if (!builder) return builder;
  builder->setRelocationModel(llvm::Reloc::PIC_);
  builder->setCodeModel(llvm::CodeModel::Small);
  builder->setCodeGenOptLevel(attempt == Attempt::plain ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default);
  builder->getOptions().EmitStackSizeSection = true;  // stack_sizes.h
  // A product and a sum are fused only where the program says so.
  builder->getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return builder;
}

}  // namespace

struct Jit::State {
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

bool hostHasMasks() {
  const char* const level = chosenLevel();
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("x86-64-v3") && (level == nullptr || std::string_view(level) == "x86-64-v4");
}

std::unique_ptr<llvm::TargetMachine> hostTarget(Attempt attempt) {
  auto builder = hostBuilder(attempt);
  if (!builder) {
    llvm::consumeError(builder.takeError());
    return nullptr;
  }
  auto target = builder->createTargetMachine();
  if (!target) {
    llvm::consumeError(target.takeError());
    return nullptr;
  }
  return std::move(*target);
}

const std::string& hostName() {
  static const std::string name = [] {
    auto builder = hostBuilder(Attempt::whole);
    if (builder) return builder->getTargetTriple().str() + " " + builder->getCPU() + " " + builder->getFeatures().getString();
    llvm::consumeError(builder.takeError());
    return std::string();
  }();
  return name;
}

Jit::Jit(std::unique_ptr<State> state) : state_(std::move(state)) {}
Jit::~Jit() = default;

Result<std::unique_ptr<Jit>> Jit::create() {
  auto builder = hostBuilder(Attempt::whole);
  if (!builder) return failure("no code generator for this processor", builder.takeError());
  auto jit = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*builder)).create();
  if (!jit) return failure("the linker of generated code", jit.takeError());
  llvm::orc::SymbolMap symbols;
  for (const RuntimeSymbol& symbol : runtimeSymbols()) {
    symbols[(*jit)->mangleAndIntern(symbol.name)] = {llvm::orc::ExecutorAddr(symbol.address),
                                                     llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  }
  if (auto error = (*jit)->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols)))) {
    return failure("the runtime's functions", std::move(error));
  }
  auto state = std::make_unique<State>();
  state->jit = std::move(*jit);
  return std::unique_ptr<Jit>(new Jit(std::move(state)));
}

Result<std::string> emitObject(llvm::Module& module, llvm::TargetMachine& target) {
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (target.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return Error{CudaError::invalidKernelImage, "no object files for this processor"};
  passes.run(module);
  return std::string(object.data(), object.size());
}

Status Jit::add(std::string_view object) {
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(object.data(), object.size()), "unit");
  if (auto error = state_->jit->addObjectFile(std::move(buffer))) return failure("linking generated code", std::move(error));
  return {};
}

Result<std::uint64_t> Jit::find(const std::string& name) {
  auto address = state_->jit->lookupLinkerMangled(name);
  if (!address) return failure("linking generated code", address.takeError());
  return address->getValue();
}

}  // namespace rouse::cpu::codegen
