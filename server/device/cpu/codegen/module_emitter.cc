#include "server/device/cpu/codegen/module_emitter.h"

#include "server/device/cpu/codegen/emitter.h"
#include "server/device/cpu/codegen/passes.h"

namespace rouse::cpu::codegen {
namespace {

// Whether a loop may wait for what the instruction finds (spin_loops.cc).
bool observesOthers(const ptx::Instruction& i) {
  switch (i.opcode) {
    case ptx::Opcode::atom:
    case ptx::Opcode::fence:
    case ptx::Opcode::membar:
    case ptx::Opcode::mbarrier:
    case ptx::Opcode::nanosleep:
      return true;
    case ptx::Opcode::ld:
      return i.has(ptx::Modifier::op_volatile) || i.has(ptx::Modifier::mmio) || i.has(ptx::Modifier::relaxed) || i.has(ptx::Modifier::acquire) ||
             i.has(ptx::Modifier::cg) || i.has(ptx::Modifier::cv);
    default:
      break;
  }
  return llvm::any_of(i.operands, [](const ptx::Operand& operand) {
    using enum ptx::SpecialRegister;
    if (operand.kind != ptx::Operand::Kind::special) return false;
    return operand.special == clock || operand.special == clock_hi || operand.special == clock64 || operand.special == globaltimer ||
           operand.special == globaltimer_lo || operand.special == globaltimer_hi;
  });
}

}  // namespace

ModuleEmitter::ModuleEmitter(llvm::LLVMContext& context, const ptx::Module& source, const ptx::CallGraph& graph,
                             std::optional<std::uint32_t> kernel, Code code)
    : context_(context),
      source_(source),
      graph_(graph),
      kernel_(kernel),
      code_(code),
      layout_(kernel ? ptx::sharedLayout(source, graph, *kernel) : ptx::sharedLayoutOfPointers(source, graph)),
      module_(std::make_unique<llvm::Module>("ptx", context)),
      functions_(source.functions.size()) {}

std::string ModuleEmitter::pointerName(std::uint32_t function, Code code) {
  return (code == Code::checked ? "rouse.checked.function." : "rouse.function.") + std::to_string(function);
}

std::unique_ptr<llvm::Module> ModuleEmitter::emit() {
  const std::vector<std::uint32_t> all = kernel_ ? graph_.reachable(*kernel_) : graph_.addressTakenReachable();
  for (const std::uint32_t index : all) Emitter(*this, index).emit();
  if (!kernel_) {
    for (const std::uint32_t index : graph_.addressTaken()) {
      function(index)->setLinkage(llvm::GlobalValue::ExternalLinkage);
      function(index)->setName(pointerName(index, code_));
    }
  }
  return std::move(module_);
}

llvm::FunctionType* ModuleEmitter::functionType(const ptx::Signature& signature) {
  llvm::Type* const pointer = llvm::PointerType::getUnqual(context_);
  std::vector<llvm::Type*> arguments{pointer};
  for (std::size_t i = 0; i < signature.results.size(); ++i) arguments.push_back(pointer);
  for (const ptx::Parameter& input : signature.inputs) {
    arguments.push_back(input.isArray ? pointer : llvm::Type::getIntNTy(context_, input.bytes * 8));
  }
  return llvm::FunctionType::get(llvm::Type::getInt1Ty(context_), arguments, false);
}

llvm::Function* ModuleEmitter::function(std::uint32_t index) {
  index = ptx::resolveAlias(source_, index);
  if (functions_[index] != nullptr) return functions_[index];
  const ptx::Function& source = source_.functions[index];
  llvm::Function* made = nullptr;
  if (source.isKernel) {
    llvm::Type* const pointer = llvm::PointerType::getUnqual(context_);
    made = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context_), {pointer, pointer}, false),
                                  llvm::GlobalValue::InternalLinkage, kBodyName, *module_);
    made->addParamAttr(1, llvm::Attribute::NoAlias);
    made->addParamAttr(1, llvm::Attribute::ReadOnly);
  } else {
    // The prefix keeps a function of the module apart from one of the runtime or the C library.
    made = llvm::Function::Create(functionType(source.signature), llvm::GlobalValue::InternalLinkage,
                                  "ptx." + llvm::StringRef(source.name.data(), source.name.size()), *module_);
  }
  made->addParamAttr(0, llvm::Attribute::NoAlias);
  made->addFnAttr(llvm::Attribute::NoUnwind);
  made->addFnAttr(llvm::Attribute::NullPointerIsValid);
  made->addFnAttr("probe-stack", "inline-asm");  // no frame steps over the guard below the stack
  return functions_[index] = made;
}

llvm::Constant* ModuleEmitter::functionPointer(std::uint32_t index) {
  index = ptx::resolveAlias(source_, index);
  if (!kernel_) return function(index);
  const ptx::Function& source = source_.functions[index];
  return llvm::cast<llvm::Constant>(
      module_->getOrInsertFunction(pointerName(index, code_), functionType(source.signature)).getCallee());
}

llvm::FunctionCallee ModuleEmitter::external(llvm::StringRef name, llvm::Type* result,
                                             llvm::ArrayRef<llvm::Type*> arguments) {
  llvm::FunctionCallee callee = module_->getOrInsertFunction(name, llvm::FunctionType::get(result, arguments, false));
  auto* const declared = llvm::cast<llvm::Function>(callee.getCallee());
  declared->addFnAttr(llvm::Attribute::NoUnwind);
  // Of one call where threads meet no optimization is to make two in different places.
  if (isWaitingFunction(name)) declared->addFnAttr(llvm::Attribute::Convergent);
  return callee;
}

const PointerFacts& ModuleEmitter::pointerFacts() {
  if (pointerFacts_) return *pointerFacts_;
  PointerFacts& found = pointerFacts_.emplace();
  for (const std::uint32_t function : graph_.addressTakenReachable()) {
    found.mayExit |= graph_.facts(function).exits;
    found.observeOthers |= llvm::any_of(source_.functions[function].instructions, observesOthers);
  }
  return *pointerFacts_;
}

bool ModuleEmitter::mayExit(std::uint32_t function) const {
  for (const std::uint32_t reached : graph_.reachable(ptx::resolveAlias(source_, function))) {
    if (graph_.facts(reached).exits || graph_.facts(reached).callsIndirectly) return true;
  }
  return false;
}

std::optional<std::uint32_t> ModuleEmitter::sharedOffset(std::uint32_t variable) const {
  if (layout_.offsets[variable] == ptx::kNone) return std::nullopt;
  return layout_.offsets[variable];
}

std::optional<std::uint32_t> ModuleEmitter::dynamicSharedOffset() const {
  if (!kernel_) return std::nullopt;
  return layout_.bytes;
}

}  // namespace rouse::cpu::codegen
