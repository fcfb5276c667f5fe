// State spaces and addresses (abi.h says what an address of each space is on the CPU).
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "server/device/cpu/codegen/emitter.h"

namespace rouse::cpu::codegen {
namespace {

// Of a field of the thread's or the block's context: less than this, since a block has 1024 threads at most; 0: any.
std::uint32_t boundOf(bool ofThread, std::size_t offset) {
  constexpr std::uint32_t kThreads = 1024;
  const std::size_t first = ofThread ? offsetof(ThreadContext, tid) : offsetof(BlockContext, ntid);
  if (offset >= first && offset <= first + 8) return ofThread ? kThreads : kThreads + 1;
  return ofThread && offset == offsetof(ThreadContext, linear) ? kThreads : 0;
}

llvm::Value* bounded(llvm::LoadInst* load, std::uint32_t bound) {
  if (bound != 0) {
    load->setMetadata(llvm::LLVMContext::MD_range,
                      llvm::MDBuilder(load->getContext()).createRange(llvm::APInt(32, 0), llvm::APInt(32, bound)));
  }
  return load;
}

// Whether the function has addresses of the space in 32 bits, as code has that LLVM makes with short pointers (Triton's and XLA's): it loads and stores by such registers, and extends them with zeros to make them generic.
bool hasShort(const ptx::Function& function, Space space, const std::function<Space(const Operand&)>& spaceOfSymbol) {
  const auto isShort = [&](const Operand& operand) { return operand.kind == Operand::Kind::reg && ptx::bitsOf(function.registers[operand.index]) == 32; };
  return std::ranges::any_of(function.instructions, [&](const ptx::Instruction& i) {
    if (i.opcode == ptx::Opcode::mov && i.operands[1].kind == Operand::Kind::symbol && spaceOfSymbol(i.operands[1]) == space) return isShort(i.operands[0]);
    return ptx::spaceOf(i) == space && std::ranges::any_of(i.operands, [&](const Operand& operand) { return operand.isMemory && isShort(operand); });
  });
}

}  // namespace

// Where addresses are short all locals are of one piece, whose own address tells the upper half. (Such addresses of a caller's locals, in a function that has none, are not covered: accesses fault.)
void Emitter::prepareLocals() {
  const auto spaceOf = [this](const Operand& symbol) { return spaceOfSymbol(symbol); };
  if (source_.locals.empty() || !hasShort(source_, Space::local, spaceOf)) {
    for (const ptx::Variable& local : source_.locals) locals_.push_back(slot(llvm::ArrayType::get(b.getInt8Ty(), local.bytes), local.alignment, "local"));
    return;
  }
  std::uint64_t bytes = 0;
  std::uint32_t alignment = 1;
  std::vector<std::uint64_t> offsets;
  for (const ptx::Variable& local : source_.locals) {
    const std::uint32_t own = std::max(local.alignment, 1u);
    alignment = std::max(alignment, own);
    offsets.push_back(llvm::alignTo(bytes, own));
    bytes = offsets.back() + local.bytes;
  }
  shortLocals_ = slot(llvm::ArrayType::get(b.getInt8Ty(), bytes), alignment, "locals");
  for (const std::uint64_t offset : offsets) locals_.push_back(prologue_.CreateConstInBoundsGEP1_64(b.getInt8Ty(), shortLocals_, offset));
}

// A module's constants lie in one piece, too.
void Emitter::prepareConstants() {
  const auto& variables = module_.source().variables;
  const auto first = std::ranges::find(variables, Space::constant, &ptx::Variable::space);
  if (first == variables.end() || !hasShort(source_, Space::constant, [this](const Operand& symbol) { return spaceOfSymbol(symbol); })) return;
  shortConstants_ = variableAddress(static_cast<std::uint32_t>(first - variables.begin()));
}

// An address of the space, of 32 or 64 bits, as a host address. What is near the thread's stack, or the module's constants, is told by its lower half.
llvm::Value* Emitter::wholeAddress(llvm::Value* number, Space space) {
  llvm::Value* const whole = b.CreateZExt(number, b.getInt64Ty());
  llvm::Value* const anchor = space == Space::local ? shortLocals_ : space == Space::constant ? shortConstants_ : nullptr;
  if (anchor == nullptr) return whole;
  llvm::Value* const first = b.CreatePtrToInt(anchor, b.getInt64Ty());
  llvm::Value* const distance = b.CreateSub(b.CreateTrunc(number, b.getInt32Ty()), b.CreateTrunc(first, b.getInt32Ty()));
  llvm::Value* const found = b.CreateAdd(first, b.CreateSExt(distance, b.getInt64Ty()));
  if (number->getType()->isIntegerTy(32)) return found;
  return b.CreateSelect(b.CreateICmpULE(whole, b.getInt64(~std::uint32_t{0})), found, whole);
}

llvm::Value* Emitter::blockPointer() {
  if (block_ == nullptr) {
    block_ = prologue_.CreateLoad(
        b.getPtrTy(), prologue_.CreateConstInBoundsGEP1_32(b.getInt8Ty(), thread_, offsetof(ThreadContext, block)));
  }
  return block_;
}

llvm::Value* Emitter::threadField(std::size_t offset, std::uint32_t bits) {
  llvm::Value*& value = fields_[std::uint64_t{1} << 32 | offset];
  if (value == nullptr) {
    value = bounded(prologue_.CreateLoad(b.getIntNTy(bits), prologue_.CreateConstInBoundsGEP1_32(b.getInt8Ty(), thread_, static_cast<unsigned>(offset))),
                    boundOf(true, offset));
  }
  return value;
}

// Fields of the block that do not change while its threads run: all but `misaligned`.
llvm::Value* Emitter::blockField(std::size_t offset, std::uint32_t bits) {
  llvm::Value*& value = fields_[offset];
  if (value == nullptr) {
    llvm::LoadInst* const load = prologue_.CreateLoad(
        b.getIntNTy(bits),
        prologue_.CreateConstInBoundsGEP1_32(b.getInt8Ty(), blockPointer(), static_cast<unsigned>(offset)));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
    value = bounded(load, boundOf(false, offset));
  }
  return value;
}

llvm::Value* Emitter::sharedBase() {
  if (shared_ == nullptr) {
    llvm::LoadInst* const load = prologue_.CreateLoad(
        b.getPtrTy(),
        prologue_.CreateConstInBoundsGEP1_32(b.getInt8Ty(), blockPointer(), offsetof(BlockContext, shared)));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
    shared_ = load;
  }
  return shared_;
}

// A host pointer.
llvm::Value* Emitter::variableAddress(std::uint32_t index) {
  llvm::Value*& value = variables_[index];
  if (value == nullptr) {
    const auto invariant = [&](llvm::LoadInst* load) {
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
      return load;
    };
    llvm::Value* const table = invariant(prologue_.CreateLoad(
        b.getPtrTy(),
        prologue_.CreateConstInBoundsGEP1_32(b.getInt8Ty(), blockPointer(), offsetof(BlockContext, variables))));
    value = invariant(
        prologue_.CreateLoad(b.getPtrTy(), prologue_.CreateConstInBoundsGEP1_32(b.getInt64Ty(), table, index)));
  }
  return value;
}

Space Emitter::spaceOfSymbol(const Operand& operand) const {
  switch (operand.symbol) {
    case ptx::SymbolKind::variable:
      return module_.source().variables[operand.index].space;
    case ptx::SymbolKind::shared:
      return Space::shared;
    case ptx::SymbolKind::local:
      return Space::local;
    case ptx::SymbolKind::parameter:
      return Space::param;
    default:
      return Space::generic;
  }
}

llvm::Value* Emitter::symbolAddress(const Operand& operand) {
  const auto integerOf = [&](llvm::Value* pointer) { return b.CreatePtrToInt(pointer, b.getInt64Ty()); };
  llvm::Value* base = nullptr;
  switch (operand.symbol) {
    case ptx::SymbolKind::variable:
      base = integerOf(variableAddress(operand.index));
      break;
    case ptx::SymbolKind::local:
      base = integerOf(locals_[operand.index]);
      break;
    case ptx::SymbolKind::parameter:
      base = integerOf(parameterPointer(operand.index));
      break;
    case ptx::SymbolKind::function:
      base = integerOf(module_.functionPointer(operand.index));
      break;
    default:
      if (const auto offset = module_.sharedOffset(operand.index)) {
        base = b.getInt64(*offset);
      } else if (const auto dynamic = module_.dynamicSharedOffset()) {
        base = b.getInt64(*dynamic);
      } else {
        base = b.CreateZExt(b.CreateSub(blockField(offsetof(BlockContext, sharedBytes), 32),
                                        blockField(offsetof(BlockContext, dynamicSharedBytes), 32)),
                            b.getInt64Ty());
      }
      if (module_.clustered()) base = b.CreateAdd(base, b.CreateZExt(blockField(offsetof(BlockContext, clusterShared), 32), b.getInt64Ty()));
  }
  return operand.value == 0 ? base : b.CreateAdd(base, b.getInt64(operand.value));
}

llvm::Value* Emitter::toGeneric(llvm::Value* address, Space space) {
  if (space != Space::shared) return wholeAddress(address, space);
  return b.CreateAdd(b.CreatePtrToInt(sharedBase(), b.getInt64Ty()), address);
}

llvm::Value* Emitter::fromGeneric(llvm::Value* address, Space space) {
  if (space != Space::shared) return address;
  return b.CreateSub(address, b.CreatePtrToInt(sharedBase(), b.getInt64Ty()));
}

Emitter::Address Emitter::address(const Operand& operand, Space space) {
  Address made;
  const auto at = [&](llvm::Value* pointer, std::uint64_t offset) {
    return offset == 0 ? pointer : b.CreateGEP(b.getInt8Ty(), pointer, b.getInt64(offset));
  };
  if (operand.kind == Operand::Kind::symbol) {
    std::uint32_t alignment = 1;
    switch (operand.symbol) {
      case ptx::SymbolKind::variable:
        made.pointer = at(variableAddress(operand.index), operand.value);
        alignment = module_.source().variables[operand.index].alignment;
        break;
      case ptx::SymbolKind::local:
        made.pointer = at(locals_[operand.index], operand.value);
        alignment = source_.locals[operand.index].alignment;
        break;
      case ptx::SymbolKind::parameter:
        made.pointer = at(parameterPointer(operand.index), operand.value);
        alignment = source_.parameters[operand.index].alignment;
        break;
      default:
        made.pointer = b.CreateGEP(b.getInt8Ty(), sharedBase(), symbolAddress(operand));
        alignment = module_.source().shared[operand.index].alignment;
        break;
    }
    made.alignment = static_cast<std::uint32_t>(
        operand.value == 0 ? alignment : std::min<std::uint64_t>(alignment, operand.value & (~operand.value + 1)));
    return made;
  }
  llvm::Value* number = nullptr;
  if (operand.kind == Operand::Kind::integer) {
    number = b.getInt64(operand.value);
  } else {
    // The sum has the register's width: 32-bit addresses wrap as such.
    number = readRegister(operand.index);
    if (operand.value != 0) number = b.CreateAdd(number, llvm::ConstantInt::get(number->getType(), operand.value));
    number = wholeAddress(number, space);
  }
  made.number = number;
  made.pointer = space == Space::shared ? b.CreateGEP(b.getInt8Ty(), sharedBase(), number)
                                        : b.CreateIntToPtr(number, b.getPtrTy());
  return made;
}

void Emitter::checkAlignment(const Address& address, std::uint32_t bytes, bool stop) {
  if (bytes <= 1 || (address.number == nullptr && address.alignment >= bytes)) return;
  llvm::Value* const number =
      address.number != nullptr ? address.number : b.CreatePtrToInt(address.pointer, b.getInt64Ty());
  llvm::Value* const low = b.CreateAnd(b.CreateTrunc(number, b.getInt32Ty()), b.getInt32(bytes - 1));
  if (!stop) {
    b.CreateStore(b.CreateOr(b.CreateLoad(b.getInt32Ty(), misaligned_), low), misaligned_);
    return;
  }
  when(b.CreateICmpNE(low, b.getInt32(0)), [&] {
    callExternal("rouse_cpu_misaligned", b.getVoidTy(),
                 {thread_, b.CreatePtrToInt(address.pointer, b.getInt64Ty()), b.getInt32(bytes)});
    b.CreateUnreachable();
  });
}

}  // namespace rouse::cpu::codegen
