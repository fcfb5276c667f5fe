#include "server/device/cpu/codegen/emitter.h"

#include <bit>

#include "server/device/cpu/matrix_form.h"
#include "server/device/ptx/failure.h"
#include "server/device/cpu/texture_form.h"

namespace rouse::cpu::codegen {

Emitter::Emitter(ModuleEmitter& module, std::uint32_t index)
    : b(module.context()),
      module_(module),
      source_(module.source().functions[index]),
      function_(module.function(index)),
      entry_(llvm::BasicBlock::Create(module.context(), "entry", function_)),
      prologue_(entry_) {
  thread_ = function_->getArg(0);
}

void Emitter::unsupported(const Instruction& instruction, const char* what) const {
  ptx::failUnsupported(instruction.line,
                       "'" + module_.source().textOf(instruction) + "': " + what + " is not supported");
}

llvm::BasicBlock* Emitter::newBlock(const char* name) {
  return llvm::BasicBlock::Create(b.getContext(), name, function_);
}

llvm::AllocaInst* Emitter::slot(llvm::Type* type, std::uint32_t alignment, const llvm::Twine& name) {
  llvm::IRBuilder<> top(entry_, entry_->begin());
  llvm::AllocaInst* const made = top.CreateAlloca(type, nullptr, name);
  if (alignment != 0) made->setAlignment(llvm::Align(alignment));
  return made;
}

llvm::Value* Emitter::carry() {
  if (carry_ == nullptr) {
    carry_ = slot(b.getInt1Ty(), 0, "carry");
    prologue_.CreateStore(b.getFalse(), carry_);
  }
  return carry_;
}

llvm::Value* Emitter::matrixRegisters() {
  if (matrixRegisters_ == nullptr) matrixRegisters_ = slot(llvm::ArrayType::get(b.getInt32Ty(), kMatrixWords), 8, "matrix");
  return matrixRegisters_;
}

llvm::Value* Emitter::warpgroupRegisters() {
  if (warpgroupRegisters_ == nullptr) warpgroupRegisters_ = slot(llvm::ArrayType::get(b.getInt32Ty(), kSharedWords), 8, "warpgroup");
  return warpgroupRegisters_;
}

// Of bytes: an array of words may be registers of matrices, which lie otherwise where lanes are side by side (matrix_registers).
llvm::Value* Emitter::textureWords() {
  if (textureWords_ == nullptr) textureWords_ = slot(llvm::ArrayType::get(b.getInt8Ty(), 4 * kTextureWords), 8, "texture");
  return textureWords_;
}

void Emitter::prepareParameters() {
  if (source_.isKernel) {
    kernelParameters_ = function_->getArg(1);
    for (const ptx::Parameter& parameter : source_.parameters) {
      parameters_.push_back(
          parameter.role == ptx::Parameter::Role::input
              ? prologue_.CreateConstInBoundsGEP1_32(b.getInt8Ty(), kernelParameters_, parameter.offset)
              : nullptr);
    }
  } else {
    // Arguments: thread, results, inputs; ptx::Function::parameters: inputs, results.
    const std::size_t inputs = source_.signature.inputs.size();
    const std::size_t results = source_.signature.results.size();
    for (std::size_t i = 0; i < source_.parameters.size(); ++i) {
      const ptx::Parameter& parameter = source_.parameters[i];
      if (parameter.role == ptx::Parameter::Role::input) {
        llvm::Value* const argument = function_->getArg(static_cast<unsigned>(1 + results + i));
        if (parameter.isRegister) {
          writeRegister(parameter.registerIndex, argument);
          parameters_.push_back(nullptr);
        } else if (parameter.isArray) {
          parameters_.push_back(argument);
        } else {
          llvm::AllocaInst* const copy = slot(argument->getType(), parameter.alignment, "input");
          prologue_.CreateStore(argument, copy);
          parameters_.push_back(copy);
        }
      } else if (parameter.role == ptx::Parameter::Role::result) {
        parameters_.push_back(function_->getArg(static_cast<unsigned>(1 + i - inputs)));
      } else {
        parameters_.push_back(nullptr);
      }
    }
  }
  for (std::size_t i = 0; i < source_.parameters.size(); ++i) {
    const ptx::Parameter& parameter = source_.parameters[i];
    if (parameter.role != ptx::Parameter::Role::temporary) continue;
    parameters_[i] =
        slot(llvm::ArrayType::get(b.getInt8Ty(), parameter.bytes), std::max(parameter.alignment, 8u), "param");
  }
}

llvm::Value* Emitter::parameterPointer(std::uint32_t index) { return parameters_[index]; }

void Emitter::emit() {
  misaligned_ = slot(b.getInt32Ty(), 0, "misaligned");
  prologue_.CreateStore(b.getInt32(0), misaligned_);
  for (const Type declared : source_.registers) {
    llvm::Type* const stored = b.getIntNTy(ptx::bitsOf(declared));
    registers_.push_back(slot(stored, 0, "reg"));
    // Registers that are read before they are written hold zero, so that no value is undefined.
    prologue_.CreateStore(llvm::Constant::getNullValue(stored), registers_.back());
  }
  prepareLocals();
  prepareConstants();
  llvm::BasicBlock* const first = newBlock("first");
  b.SetInsertPoint(first);
  for (std::size_t i = 0; i < source_.labels.size(); ++i) labels_.push_back(newBlock("label"));
  std::vector<std::vector<std::uint32_t>> labelsAt(source_.instructions.size() + 1);
  for (std::uint32_t i = 0; i < source_.labels.size(); ++i) labelsAt[source_.labels[i]].push_back(i);
  {
    const llvm::IRBuilder<>::InsertPointGuard guard(b);
    b.SetInsertPoint(entry_);
    prepareParameters();
    prologue_.SetInsertPoint(entry_);
  }
  if (module_.checked()) beginCheckedFrame();
  for (std::size_t i = 0; i <= source_.instructions.size(); ++i) {
    for (const std::uint32_t at : labelsAt[i]) {
      if (b.GetInsertBlock()->getTerminator() == nullptr) b.CreateBr(labels_[at]);
      b.SetInsertPoint(labels_[at]);
    }
    if (b.GetInsertBlock()->getTerminator() != nullptr) b.SetInsertPoint(newBlock("unreached"));
    if (i < source_.instructions.size()) emitInstruction(source_.instructions[i]);
  }
  returnFromFunction(false);
  prologue_.CreateBr(first);
}

void Emitter::emitInstruction(const Instruction& instruction) {
  const Lower lower = lowerOf(instruction.opcode);
  if (lower == nullptr) unsupported(instruction, "this instruction");
  // Whatever its guard, testp is done: ptxas leaves that out, 11.8 to 13.5, for sm_75 to sm_100, of all properties.
  if (!instruction.hasGuard || instruction.opcode == ptx::Opcode::testp) return lower(*this, instruction);
  llvm::Value* condition = readRegister(instruction.guard);
  if (instruction.guardNegated) condition = b.CreateNot(condition);
  when(condition, [&] { lower(*this, instruction); });
}

void Emitter::when(llvm::Value* condition, const std::function<void()>& body) {
  llvm::BasicBlock* const then = newBlock("then");
  llvm::BasicBlock* const after = newBlock("after");
  b.CreateCondBr(condition, then, after);
  b.SetInsertPoint(then);
  body();
  if (b.GetInsertBlock()->getTerminator() == nullptr) b.CreateBr(after);
  b.SetInsertPoint(after);
}

void Emitter::noteMisaligned() {
  llvm::Value* const field = b.CreateConstInBoundsGEP1_32(b.getInt8Ty(), thread_, offsetof(ThreadContext, misaligned));
  b.CreateStore(b.CreateOr(b.CreateLoad(b.getInt32Ty(), field), b.CreateLoad(b.getInt32Ty(), misaligned_)), field);
  b.CreateStore(b.getInt32(0), misaligned_);
}

void Emitter::returnFromFunction(bool threadEnds) {
  noteMisaligned();
  if (checkedFrame_ != nullptr) endCheckedFrame();
  if (source_.isKernel) {
    b.CreateRetVoid();
  } else {
    std::size_t results = 0;
    for (const ptx::Parameter& parameter : source_.parameters) {
      if (parameter.role != ptx::Parameter::Role::result) continue;
      ++results;
      if (parameter.isRegister) {
        b.CreateStore(readRegister(parameter.registerIndex), function_->getArg(static_cast<unsigned>(results)));
      }
    }
    b.CreateRet(b.getInt1(threadEnds));
  }
}

llvm::Value* Emitter::callExternal(llvm::StringRef name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments) {
  std::vector<llvm::Type*> types;
  for (llvm::Value* const argument : arguments) types.push_back(argument->getType());
  return b.CreateCall(module_.external(name, result, types), arguments);
}

}  // namespace rouse::cpu::codegen
