// Checked code (`rouse run --check`): each access is compared with what the launch may access before it is made. Nearly all are decided here, by
// the range that was found for the instruction before, or by the size of shared memory; the others ask the runtime, from which a thread whose
// access is invalid does not come back. What names a variable and lies in it needs no test.
#include <algorithm>

#include "server/device/cpu/codegen/emitter.h"

namespace rouse::cpu::codegen {
namespace {

llvm::Value* field(llvm::IRBuilder<>& b, llvm::Value* base, std::size_t offset) {
  return b.CreateConstInBoundsGEP1_32(b.getInt8Ty(), base, static_cast<unsigned>(offset));
}

// How far from its beginning an access of `bytes` in memory of `size` may begin, and one more; 0: nowhere.
llvm::Value* room(llvm::IRBuilder<>& b, llvm::Value* size, std::uint32_t bytes) {
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, size, b.getInt64(bytes - 1));
}

}  // namespace

bool Emitter::isWithinSymbol(const Operand& memory, std::uint32_t bytes) const {
  if (memory.kind != Operand::Kind::symbol) return false;
  std::uint64_t size = 0;
  switch (memory.symbol) {
    case ptx::SymbolKind::variable:
      size = module_.source().variables[memory.index].bytes;
      break;
    case ptx::SymbolKind::local:
      size = source_.locals[memory.index].bytes;
      break;
    case ptx::SymbolKind::shared:
      size = module_.source().shared[memory.index].bytes;  // 0: dynamic
      break;
    default:
      break;
  }
  return memory.value <= size && bytes <= size - memory.value;
}

llvm::Value* Emitter::checkedRange(std::uint32_t index) {
  if (checkedRanges_ == nullptr) {
    llvm::LoadInst* const load = prologue_.CreateLoad(b.getPtrTy(), field(prologue_, blockPointer(), offsetof(BlockContext, checked)));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
    checkedRanges_ = load;
  }
  return field(b, checkedRanges_, index * sizeof(CheckedRange));
}

// As rouse_cpu_check takes it.
llvm::Value* Emitter::checkedNumber(const Address& address, Space space) {
  if (address.number != nullptr) return address.number;
  return fromGeneric(b.CreatePtrToInt(address.pointer, b.getInt64Ty()), space);
}

void Emitter::callCheck(const Instruction& instruction, llvm::Value* number, llvm::Value* bytes, const Access& access, std::uint32_t range) {
  llvm::Value* const call =
      callExternal("rouse_cpu_check", b.getVoidTy(),
                   {thread_, number, bytes, b.getInt32(instruction.begin),
                    b.getInt32(accessCode(access.verb, static_cast<std::uint32_t>(access.space), access.alignment, range))});
  llvm::cast<llvm::CallInst>(call)->addFnAttr(llvm::Attribute::Cold);
}

void Emitter::checkAccess(const Instruction& instruction, const Address& address, const Access& access) {
  if (!module_.checked()) return checkAlignment(address, access.alignment, access.stop);
  const bool aligned = access.alignment <= 1 || (address.number == nullptr && address.alignment >= access.alignment);
  if (aligned && isWithinSymbol(access.memory, access.bytes)) return;
  // An access that names a variable has an address in the variable's space.
  const Space space = access.memory.kind == Operand::Kind::symbol ? spaceOfSymbol(access.memory) : access.space;
  const Access placed{access.memory, space, access.verb, access.bytes, access.alignment};
  llvm::Value* const number = checkedNumber(address, space);
  llvm::Value* bad = nullptr;
  std::uint32_t range = kCheckedRanges;
  if (space == Space::shared) {
    bad = b.CreateICmpUGE(number, room(b, b.CreateZExt(blockField(offsetof(BlockContext, sharedBytes), 32), b.getInt64Ty()), access.bytes));
  } else {
    range = module_.takeCheckedRange();
    llvm::Value* const known = checkedRange(range);
    llvm::Value* const base = b.CreateLoad(b.getInt64Ty(), field(b, known, offsetof(CheckedRange, base)));
    llvm::Value* const size = b.CreateLoad(b.getInt64Ty(), field(b, known, offsetof(CheckedRange, bytes)));
    bad = b.CreateICmpUGE(b.CreateSub(number, base), room(b, size, access.bytes));
    if (!locals_.empty() && (space == Space::generic || space == Space::local)) {
      llvm::Value* const own = b.CreateSub(number, b.CreatePtrToInt(locals_[0], b.getInt64Ty()));
      bad = b.CreateAnd(bad, b.CreateICmpUGE(own, room(b, b.getInt64(source_.locals[0].bytes), access.bytes)));
    }
  }
  if (!aligned) bad = b.CreateOr(bad, b.CreateICmpNE(b.CreateAnd(number, b.getInt64(access.alignment - 1)), b.getInt64(0)));
  when(bad, [&] { callCheck(instruction, number, b.getInt64(access.bytes), placed, range); });
}

void Emitter::checkBytes(const Instruction& instruction, const Address& address, const Access& access, llvm::Value* bytes) {
  if (!module_.checked()) return checkAlignment(address, access.alignment, access.stop);
  when(b.CreateICmpNE(bytes, b.getInt64(0)),
       [&] { callCheck(instruction, checkedNumber(address, access.space), bytes, access, kCheckedRanges); });
}

void Emitter::checkTexture(const Instruction& instruction, llvm::Value* object) {
  if (!module_.checked()) return;
  callExternal("rouse_cpu_check", b.getVoidTy(),
               {thread_, object, b.getInt64(0), b.getInt32(instruction.begin),
                b.getInt32(accessCode(AccessVerb::texture, static_cast<std::uint32_t>(Space::global), 1, kCheckedRanges))});
}

// Local variables, and parameters whose addresses are taken: what may be reached through a pointer.
void Emitter::beginCheckedFrame() {
  std::vector<std::pair<llvm::Value*, std::uint64_t>> pieces;
  for (std::size_t i = 0; i < locals_.size(); ++i) pieces.emplace_back(locals_[i], source_.locals[i].bytes);
  std::vector<bool> taken(source_.parameters.size());
  for (const Instruction& instruction : source_.instructions) {
    for (const Operand& operand : instruction.operands)
      if (operand.kind == Operand::Kind::symbol && operand.symbol == ptx::SymbolKind::parameter && !operand.isMemory) taken[operand.index] = true;
  }
  for (std::size_t i = 0; i < taken.size(); ++i)
    if (taken[i] && parameters_[i] != nullptr && !source_.isKernel) pieces.emplace_back(parameters_[i], source_.parameters[i].bytes);
  // What it takes of its stack while it runs is put in front of this one (beginCheckedPiece), and goes with it.
  const bool allocates = std::ranges::any_of(source_.instructions, [](const Instruction& i) { return i.opcode == ptx::Opcode::alloca_; });
  if (pieces.empty() && !allocates) return;
  const std::size_t bytes = sizeof(CheckedFrame) + pieces.size() * sizeof(CheckedRange);
  checkedFrame_ = slot(llvm::ArrayType::get(b.getInt8Ty(), bytes), alignof(CheckedFrame), "frame");
  llvm::Value* const head = field(b, thread_, offsetof(ThreadContext, frames));
  b.CreateStore(b.CreateLoad(b.getPtrTy(), head), field(b, checkedFrame_, offsetof(CheckedFrame, outer)));
  b.CreateStore(b.getInt64(pieces.size()), field(b, checkedFrame_, offsetof(CheckedFrame, count)));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::size_t at = sizeof(CheckedFrame) + i * sizeof(CheckedRange);
    b.CreateStore(b.CreatePtrToInt(pieces[i].first, b.getInt64Ty()), field(b, checkedFrame_, at + offsetof(CheckedRange, base)));
    b.CreateStore(b.getInt64(pieces[i].second), field(b, checkedFrame_, at + offsetof(CheckedRange, bytes)));
  }
  b.CreateStore(checkedFrame_, head);
}

void Emitter::beginCheckedPiece(llvm::Value* memory, llvm::Value* bytes) {
  if (!module_.checked()) return;
  llvm::AllocaInst* const frame = b.CreateAlloca(b.getInt8Ty(), b.getInt64(sizeof(CheckedFrame) + sizeof(CheckedRange)));
  frame->setAlignment(llvm::Align(alignof(CheckedFrame)));
  llvm::Value* const head = field(b, thread_, offsetof(ThreadContext, frames));
  b.CreateStore(b.CreateLoad(b.getPtrTy(), head), field(b, frame, offsetof(CheckedFrame, outer)));
  b.CreateStore(b.getInt64(1), field(b, frame, offsetof(CheckedFrame, count)));
  b.CreateStore(memory, field(b, frame, sizeof(CheckedFrame) + offsetof(CheckedRange, base)));
  b.CreateStore(bytes, field(b, frame, sizeof(CheckedFrame) + offsetof(CheckedRange, bytes)));
  b.CreateStore(frame, head);
}

void Emitter::endCheckedPieces(llvm::Value* stack) {
  if (!module_.checked()) return;
  llvm::Value* const head = field(b, thread_, offsetof(ThreadContext, frames));
  llvm::BasicBlock* const look = newBlock("look");
  llvm::BasicBlock* const drop = newBlock("drop");
  llvm::BasicBlock* const done = newBlock("done");
  b.CreateBr(look);
  b.SetInsertPoint(look);
  llvm::Value* const frame = b.CreateLoad(b.getPtrTy(), head);
  llvm::Value* const address = b.CreatePtrToInt(frame, b.getInt64Ty());
  b.CreateCondBr(b.CreateAnd(b.CreateICmpNE(address, b.getInt64(0)), b.CreateICmpULT(address, stack)), drop, done);
  b.SetInsertPoint(drop);
  b.CreateStore(b.CreateLoad(b.getPtrTy(), field(b, frame, offsetof(CheckedFrame, outer))), head);
  b.CreateBr(look);
  b.SetInsertPoint(done);
}

void Emitter::endCheckedFrame() {
  llvm::Value* const outer = b.CreateLoad(b.getPtrTy(), field(b, checkedFrame_, offsetof(CheckedFrame, outer)));
  b.CreateStore(outer, field(b, thread_, offsetof(ThreadContext, frames)));
}

}  // namespace rouse::cpu::codegen
