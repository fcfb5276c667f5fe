// atom and red (PTX ISA, "Parallel Synchronization and Communication Instructions").
#include "server/device/cpu/codegen/families.h"
#include "server/device/cpu/codegen/floating_point.h"
#include "server/device/cpu/codegen/update_loop.h"

namespace rouse::cpu::codegen {
namespace {

using Operation = llvm::AtomicRMWInst::BinOp;

llvm::AtomicOrdering orderingOf(const Instruction& i) {
  if (i.has(Modifier::acq_rel)) return llvm::AtomicOrdering::AcquireRelease;
  if (i.has(Modifier::acquire)) return llvm::AtomicOrdering::Acquire;
  if (i.has(Modifier::release)) return llvm::AtomicOrdering::Release;
  return llvm::AtomicOrdering::Monotonic;
}

Operation operationOf(const Instruction& i) {
  const bool isSigned = ptx::isSigned(i.type());
  if (i.has(Modifier::add)) return ptx::isFloat(i.type()) ? Operation::FAdd : Operation::Add;
  if (i.has(Modifier::min)) return isSigned ? Operation::Min : Operation::UMin;
  if (i.has(Modifier::max)) return isSigned ? Operation::Max : Operation::UMax;
  if (i.has(Modifier::inc)) return Operation::UIncWrap;
  if (i.has(Modifier::dec)) return Operation::UDecWrap;
  if (i.has(Modifier::op_and)) return Operation::And;
  if (i.has(Modifier::op_or)) return Operation::Or;
  if (i.has(Modifier::op_xor)) return Operation::Xor;
  return Operation::Xchg;
}

// For what the processor has no instruction for: the half types. The value that was there.
llvm::Value* addHalf(Emitter& e, llvm::Value* pointer, llvm::Value* addend, Type type, llvm::AtomicOrdering ordering) {
  const UpdateLoop loop{.pointer = pointer, .bits = e.b.getIntNTy(ptx::bitsOf(type)), .ordering = ordering};
  return updateInLoop(e.b, loop, [&](llvm::Value* seen) {
    return e.toBits(narrow(e, e.b.CreateFAdd(widen(e, e.fromBits(seen, type), type), widen(e, addend, type)), type));
  });
}

std::uint32_t vectorLength(const Instruction& i) {
  if (i.has(Modifier::v2)) return 2;
  if (i.has(Modifier::v4)) return 4;
  return i.has(Modifier::v8) ? 8 : 1;
}

// atom.add.v4.f32 and its like: each element is added to atomically, the vector as a whole is not.
void addVector(Emitter& e, const Instruction& i, std::uint32_t length) {
  const Type type = i.type();
  const bool isReduction = i.opcode == ptx::Opcode::red;
  const std::size_t first = isReduction ? 0 : 1;
  const std::uint32_t bytes = ptx::bytesOf(type);
  const Emitter::Address address = e.address(i.operands[first], Space::global);
  e.checkAccess(i, address, {i.operands[first], ptx::spaceOf(i), AccessVerb::atomic, bytes * length, bytes * length, true});
  std::vector<llvm::Value*> old;
  for (std::uint32_t k = 0; k < length; ++k) {
    llvm::Value* const pointer = e.b.CreateConstGEP1_32(e.b.getInt8Ty(), address.pointer, k * bytes);
    llvm::Value* const addend = e.read(i.operands[first + 1].elements[k], type);
    old.push_back(isHalfLike(type) ? e.fromBits(addHalf(e, pointer, addend, type, orderingOf(i)), type)
                                   : e.b.CreateAtomicRMW(Operation::FAdd, pointer, addend, llvm::Align(bytes), orderingOf(i)));
  }
  if (isReduction) return;
  for (std::uint32_t k = 0; k < length; ++k) e.write(i.operands[0].elements[k], type, old[k]);
}

}  // namespace

void lowerAtomic(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  if (const std::uint32_t length = vectorLength(i); length > 1) return addVector(e, i, length);
  const bool isReduction = i.opcode == ptx::Opcode::red;
  const std::size_t first = isReduction ? 0 : 1;  // operands: [d,] [a], b [, c]
  const std::uint32_t bytes = ptx::bytesOf(type);
  const llvm::AtomicOrdering ordering = orderingOf(i);
  const Emitter::Address address = e.address(i.operands[first], ptx::spaceOf(i));
  e.checkAccess(i, address, {i.operands[first], ptx::spaceOf(i), AccessVerb::atomic, bytes, bytes, true});
  llvm::Value* const operand = e.read(i.operands[first + 1], type);
  llvm::Value* old = nullptr;
  // A block's threads run on one thread of the processor, which changes between them at calls only: what is the block's own needs no locked
  // instruction (relaxAtomics).
  const llvm::SyncScope::ID scope = ptx::spaceOf(i) == Space::shared ? llvm::SyncScope::SingleThread : llvm::SyncScope::System;
  if (i.has(Modifier::cas)) {
    llvm::AtomicOrdering failure = ordering;
    if (ordering == llvm::AtomicOrdering::AcquireRelease) failure = llvm::AtomicOrdering::Acquire;
    if (ordering == llvm::AtomicOrdering::Release) failure = llvm::AtomicOrdering::Monotonic;
    llvm::Value* const pair = e.b.CreateAtomicCmpXchg(address.pointer, operand, e.read(i.operands[first + 2], type),
                                                      llvm::Align(bytes), ordering, failure, scope);
    old = e.b.CreateExtractValue(pair, 0);
  } else if (isHalfLike(type)) {
    old = e.fromBits(addHalf(e, address.pointer, operand, type, ordering), type);
  } else {
    old = e.b.CreateAtomicRMW(operationOf(i), address.pointer, operand, llvm::Align(bytes), ordering, scope);
  }
  if (!isReduction) e.write(i.operands[0], type, old);
  if (i.has(Modifier::async)) completeAccess(e, i, bytes);
}

}  // namespace rouse::cpu::codegen
