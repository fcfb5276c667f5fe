// Emits one function's body. Registers are stack slots that LLVM promotes to SSA values; the instruction families (*.cc
// here) read operands, build IR and write the destination.
#pragma once

#include <functional>
#include <optional>

#include "server/device/cpu/codegen/module_emitter.h"

namespace rouse::cpu::codegen {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

enum class Rounding : std::uint8_t { nearest, zero, down, up };

class Emitter {
 public:
  Emitter(ModuleEmitter& module, std::uint32_t index);
  void emit();

  llvm::IRBuilder<> b;

  ModuleEmitter& module() { return module_; }
  const ptx::Function& source() const { return source_; }
  // Where a kernel's parameters lie; null in other functions.
  llvm::Value* kernelParameters() const { return kernelParameters_; }
  [[noreturn]] void unsupported(const Instruction&, const char* what) const;

  // LLVM's type for values of a PTX type: iN, float, double, half, <2 x half>; bf16 is i16 (its bits), packed integers
  // <2 x i16>.
  llvm::Type* type(Type);
  llvm::IntegerType* bits(std::uint32_t count) { return b.getIntNTy(count); }
  llvm::Constant* integer(std::uint32_t bits, std::uint64_t value) {
    return llvm::ConstantInt::get(b.getIntNTy(bits), value);
  }

  // Operands
  llvm::Value* read(const Operand&, Type);
  llvm::Value* readPredicate(const Operand&);
  // Extends the value to the register's width, by sign if the type is signed. A sink takes nothing.
  void write(const Operand&, Type, llvm::Value*);
  llvm::Value* readRegister(std::uint32_t index);
  void writeRegister(std::uint32_t index, llvm::Value* bits);
  llvm::Value* toBits(llvm::Value*);  // any scalar or vector to iN of the same size
  llvm::Value* fromBits(llvm::Value*, Type);

  // Whether warps of this function may exchange values by volatile accesses to shared memory, without a barrier: it loads and stores so.
  bool stepsInWarps();
  // The same through volatile global memory: a store, then a load from another place by the same register.
  bool stepsThroughGlobal();
  // The same through plain shared memory: a tree of the last warp that is not volatile.
  bool halvesThroughShared();
  // Whether it loads from shared memory and stores to it at all.
  bool usesShared();

  // Addresses. `pointer` is a host pointer.
  struct Address {
    llvm::Value* pointer = nullptr;
    llvm::Value* number = nullptr;  // integer with the same low bits; null: aligned as the variable it names
    std::uint32_t alignment = 1;    // known, with number null
  };
  Address address(const Operand& memory, Space);
  // Notes an access of `bytes` (a power of two) that is not aligned; `stop`: ends the launch at once.
  void checkAlignment(const Address&, std::uint32_t bytes, bool stop);
  // An access, checked for its alignment, and in checked code for all that may be wrong with it (access_checks.cc). `memory`: what `address` is
  // of; `stop`: where only the alignment is checked, a misaligned one ends the launch at once.
  struct Access {
    const Operand& memory;
    Space space;
    AccessVerb verb;
    std::uint32_t bytes, alignment;
    bool stop = false;
  };
  void checkAccess(const Instruction&, const Address&, const Access&);
  // The same of a number of bytes that is known at run time only, 64 bits; checked code.
  void checkBytes(const Instruction&, const Address&, const Access&, llvm::Value* bytes);
  // A texture or surface object that is used; checked code.
  void checkTexture(const Instruction&, llvm::Value* object);
  bool checked() const { return module_.checked(); }
  // Of memory that has been taken of the stack: it may be accessed until the function returns or the stack is given back, to above the number.
  // Checked code; nothing otherwise.
  void beginCheckedPiece(llvm::Value* memory, llvm::Value* bytes);
  void endCheckedPieces(llvm::Value* stack);
  // Address of a variable in its own state space, as mov yields it, 64 bits.
  llvm::Value* symbolAddress(const Operand&);
  llvm::Value* toGeneric(llvm::Value* address, Space);
  llvm::Value* fromGeneric(llvm::Value* address, Space);
  Space spaceOfSymbol(const Operand&) const;

  // Control flow
  llvm::BasicBlock* label(std::uint32_t index) { return labels_[index]; }
  llvm::BasicBlock* newBlock(const char* name);
  void returnFromFunction(bool threadEnds);
  // Hands what was noted of misaligned accesses over to the thread's context.
  void noteMisaligned();
  // Runs `body` only where the condition holds; `likely` false: it is the exception.
  void when(llvm::Value* condition, const std::function<void()>& body);

  // The thread and its block
  llvm::Value* thread() { return thread_; }
  llvm::Value* threadField(std::size_t offset, std::uint32_t bits);
  llvm::Value* blockField(std::size_t offset, std::uint32_t bits);
  llvm::Value* sharedBase();
  llvm::Value* parameterPointer(std::uint32_t index);  // of ptx::Function::parameters
  llvm::Value* carry();                                // slot of CC.CF, i1
  llvm::Value* matrixRegisters();                      // slot of kMatrixWords words (matrix_form.h)
  llvm::Value* warpgroupRegisters();                   // of kSharedWords
  llvm::Value* textureWords();                         // slot of kTextureWords words (texture_form.h)
  llvm::AllocaInst* slot(llvm::Type*, std::uint32_t alignment, const llvm::Twine& name);
  llvm::Value* callExternal(llvm::StringRef name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments);

 private:
  llvm::Value* constant(const Operand&, Type);
  llvm::Value* blockPointer();
  llvm::Value* variableAddress(std::uint32_t index);
  void prepareLocals();
  void prepareConstants();
  llvm::Value* wholeAddress(llvm::Value* number, Space);
  void prepareParameters();
  llvm::Value* checkedRange(std::uint32_t index);
  llvm::Value* checkedNumber(const Address&, Space);
  void callCheck(const Instruction&, llvm::Value* number, llvm::Value* bytes, const Access&, std::uint32_t range);
  bool isWithinSymbol(const Operand& memory, std::uint32_t bytes) const;
  // Tells of the function's local memory, and takes that back.
  void beginCheckedFrame();
  void endCheckedFrame();
  void emitInstruction(const Instruction&);

  ModuleEmitter& module_;
  const ptx::Function& source_;
  llvm::Function* function_;
  llvm::BasicBlock* entry_;
  llvm::IRBuilder<> prologue_;  // at the end of the entry block
  llvm::Value* thread_ = nullptr;
  llvm::Value* block_ = nullptr;
  llvm::Value* shared_ = nullptr;
  llvm::Value* kernelParameters_ = nullptr;
  std::optional<bool> stepsInWarps_, stepsThroughGlobal_, usesShared_;  // found out once
  std::optional<bool> halvesThroughShared_;
  llvm::AllocaInst* misaligned_ = nullptr;
  llvm::AllocaInst* carry_ = nullptr;
  llvm::AllocaInst* matrixRegisters_ = nullptr;
  llvm::AllocaInst* warpgroupRegisters_ = nullptr;
  llvm::AllocaInst* textureWords_ = nullptr;
  llvm::AllocaInst* checkedFrame_ = nullptr;
  llvm::Value* checkedRanges_ = nullptr;
  std::vector<llvm::AllocaInst*> registers_;
  std::vector<llvm::Value*> locals_;
  llvm::Value* shortLocals_ = nullptr;  // where all of them lie, if some of their addresses are numbers of 32 bits
  llvm::Value* shortConstants_ = nullptr;  // the same of the module's constants: the first one
  std::vector<llvm::Value*> parameters_;
  std::vector<llvm::BasicBlock*> labels_;
  std::unordered_map<std::uint64_t, llvm::Value*> fields_;
  std::unordered_map<std::uint32_t, llvm::Value*> variables_;
};

llvm::Value* emitSpecialRegister(Emitter&, const Operand&);  // i32, i64 or i1

// Lowers an instruction whose form the parser has checked.
using Lower = void (*)(Emitter&, const Instruction&);
Lower lowerOf(ptx::Opcode);

}  // namespace rouse::cpu::codegen
