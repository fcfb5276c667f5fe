// ld, st, fences, asynchronous copies (done at once) and hints. Ordinary accesses assume no alignment, so that a
// misaligned one is harmless here and reported when the thread ends (abi.h); ordered ones are atomic and stop at once.
#include "server/device/cpu/codegen/families.h"

namespace rouse::cpu::codegen {
namespace {

std::uint32_t vectorLength(const Instruction& i) {
  if (i.has(Modifier::v2)) return 2;
  if (i.has(Modifier::v4)) return 4;
  return i.has(Modifier::v8) ? 8 : 1;
}

struct Access {
  bool isVolatile = false;
  llvm::AtomicOrdering ordering = llvm::AtomicOrdering::NotAtomic;
};

Access accessOf(const Instruction& i) {
  Access access;
  access.isVolatile = i.has(Modifier::op_volatile) || i.has(Modifier::mmio);
  if (i.has(Modifier::relaxed)) access.ordering = llvm::AtomicOrdering::Monotonic;
  if (i.has(Modifier::acquire)) access.ordering = llvm::AtomicOrdering::Acquire;
  if (i.has(Modifier::release)) access.ordering = llvm::AtomicOrdering::Release;
  return access;
}

// How an element lies in memory: registers are bits.
llvm::Type* memoryType(Emitter& e, Type type) { return e.bits(ptx::bitsOf(type)); }

// Parameters are placed by the compiler or the launch, and copies of them are private: nothing to check or to order.
bool isParameter(Emitter& e, const Instruction& i, const Operand& memory) {
  return ptx::spaceOf(i) == Space::param ||
         (memory.kind == Operand::Kind::symbol && e.spaceOfSymbol(memory) == Space::param);
}

// An ordered access is atomic an element at a time; elements of 16 bytes are beyond what it can be.
bool isAtomic(const Access& access, Type type) {
  return access.ordering != llvm::AtomicOrdering::NotAtomic && ptx::bitsOf(type) <= 64;
}

llvm::Value* elementPointer(Emitter& e, llvm::Value* base, Type type, std::uint32_t index) {
  return index == 0 ? base : e.b.CreateConstGEP1_32(e.b.getInt8Ty(), base, index * ptx::bytesOf(type));
}

Emitter::Address prepare(Emitter& e, const Instruction& i, const Operand& memory, const Access& access) {
  const Emitter::Address address = e.address(memory, ptx::spaceOf(i));
  if (!isParameter(e, i, memory)) {
    e.checkAlignment(address, ptx::bytesOf(i.type()) * vectorLength(i), isAtomic(access, i.type()));
  }
  return address;
}

// cp.async.bulk: complete at once, too, and says so where it is waited for.
void lowerCopyBulk(Emitter& e, const Instruction& i) {
  const bool toShared = i.has(Modifier::complete_tx_bytes);
  const Emitter::Address to = e.address(i.operands[0], toShared ? Space::shared : Space::global);
  const Emitter::Address from = e.address(i.operands[1], toShared ? Space::global : Space::shared);
  e.checkAlignment(to, 16, false);
  e.checkAlignment(from, 16, false);
  llvm::Value* const bytes = e.read(i.operands[2], Type::u32);
  e.b.CreateMemCpy(to.pointer, llvm::Align(1), from.pointer, llvm::Align(1), e.b.CreateZExt(bytes, e.b.getInt64Ty()));
  if (!toShared) return;
  const Emitter::Address object = e.address(i.operands[3], Space::shared);
  e.checkAlignment(object, 8, true);
  completeBytes(e, object.pointer, bytes);
}

}  // namespace

void lowerLoad(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  const std::uint32_t length = vectorLength(i);
  const Access access = accessOf(i);
  const Emitter::Address address = prepare(e, i, i.operands[1], access);
  const bool isKernelParameter = isParameter(e, i, i.operands[1]) && e.source().isKernel &&
                                 (i.operands[1].kind != Operand::Kind::symbol ||
                                  e.source().parameters[i.operands[1].index].role == ptx::Parameter::Role::input);
  const auto loadOne = [&](std::uint32_t index) {
    llvm::LoadInst* const load = e.b.CreateAlignedLoad(
        memoryType(e, type), elementPointer(e, address.pointer, type, index), llvm::Align(1), access.isVolatile);
    if (isAtomic(access, type)) {
      load->setAlignment(llvm::Align(ptx::bytesOf(type)));
      load->setAtomic(access.ordering);
    }
    if (isKernelParameter && i.operands[1].kind == Operand::Kind::symbol) {
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(e.b.getContext(), {}));
    }
    return load;
  };
  if (length == 1) return e.write(i.operands[0], type, e.fromBits(loadOne(0), type));
  // All are loaded before any is written: the address may be in a register that is loaded.
  std::vector<llvm::Value*> values;
  for (std::uint32_t k = 0; k < length; ++k) values.push_back(loadOne(k));
  for (std::uint32_t k = 0; k < length; ++k) e.write(i.operands[0].elements[k], type, e.fromBits(values[k], type));
}

void lowerStore(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  const std::uint32_t length = vectorLength(i);
  const Access access = accessOf(i);
  const Emitter::Address address = prepare(e, i, i.operands[0], access);
  for (std::uint32_t k = 0; k < length; ++k) {
    const Operand& from = length == 1 ? i.operands[1] : i.operands[1].elements[k];
    llvm::StoreInst* const store = e.b.CreateAlignedStore(
        e.toBits(e.read(from, type)), elementPointer(e, address.pointer, type, k), llvm::Align(1), access.isVolatile);
    if (isAtomic(access, type)) {
      store->setAlignment(llvm::Align(ptx::bytesOf(type)));
      store->setAtomic(access.ordering);
    }
  }
}

// A block's threads run on one processor thread, so a fence among them only has to hold the compiler back.
void lowerFence(Emitter& e, const Instruction& i) {
  const auto scope = i.has(Modifier::cta) ? llvm::SyncScope::SingleThread : llvm::SyncScope::System;
  const bool isWeaker = i.has(Modifier::acq_rel) || i.has(Modifier::acquire) || i.has(Modifier::release);
  e.b.CreateFence(isWeaker ? llvm::AtomicOrdering::AcquireRelease : llvm::AtomicOrdering::SequentiallyConsistent,
                  scope);
}

// cp.async: the copy is complete when the instruction is, so waiting for groups is nothing. With a source size, the
// rest of the destination is zero.
void lowerCopyAsync(Emitter& e, const Instruction& i) {
  if (i.has(Modifier::mbarrier)) return arriveAfterCopies(e, i);
  if (i.operands.size() < 3) return;
  if (i.has(Modifier::bulk)) return lowerCopyBulk(e, i);
  const auto bytes = static_cast<std::uint32_t>(i.operands[2].value);
  if (bytes != 4 && bytes != 8 && bytes != 16) e.unsupported(i, "this size");
  const Emitter::Address to = e.address(i.operands[0], Space::shared);
  const Emitter::Address from = e.address(i.operands[1], Space::global);
  e.checkAlignment(to, bytes, false);
  e.checkAlignment(from, bytes, false);
  if (i.operands.size() == 3) {
    e.b.CreateMemCpy(to.pointer, llvm::Align(1), from.pointer, llvm::Align(1), bytes);
    return;
  }
  llvm::Value* const given =
      e.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, e.read(i.operands[3], Type::u32), e.b.getInt32(bytes));
  e.b.CreateMemSet(to.pointer, e.b.getInt8(0), bytes, llvm::Align(1));
  e.b.CreateMemCpy(to.pointer, llvm::Align(1), from.pointer, llvm::Align(1), e.b.CreateZExt(given, e.b.getInt64Ty()));
}

// A cache's policy is a hint, and nobody asks what it is.
void lowerPolicy(Emitter& e, const Instruction& i) { e.write(i.operands[0], Type::b64, e.b.getInt64(0)); }

void lowerNothing(Emitter&, const Instruction&) {}

}  // namespace rouse::cpu::codegen
