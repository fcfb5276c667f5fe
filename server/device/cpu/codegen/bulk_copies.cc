// cp.async.bulk, cp.reduce.async.bulk, and both of tensors (PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy"): complete at once, so waiting for groups is
// nothing, and a barrier object is told at once. Tiles of tensors are the runtime's (runtime/tensor_copy.h).
#include <array>
#include <utility>

#include "schemas/base/cluster.h"
#include "schemas/wire/tensor_map.h"
#include "server/device/cpu/codegen/families.h"
#include "server/device/cpu/runtime/tensor_copy.h"
#include "server/device/cpu/texture_form.h"

namespace rouse::cpu::codegen {
namespace {

// An operand in shared memory, in one block of the cluster.
struct Place {
  llvm::Value* number = nullptr;  // in the shared state space, 64 bits
  llvm::Value* pointer = nullptr;
};

Place placeOf(Emitter& e, const Operand& operand) {
  const Emitter::Address address = e.address(operand, Space::shared);
  return {address.number != nullptr ? address.number : e.symbolAddress(operand), address.pointer};
}

// The same place in another block's memory.
Place inBlock(Emitter& e, const Place& place, std::uint32_t rank) {
  if (!e.module().clustered()) return place;
  llvm::Value* const number = e.b.CreateOr(e.b.CreateAnd(place.number, e.b.getInt64(kClusterStride - 1)), e.b.getInt64(std::uint64_t{rank} * kClusterStride));
  return {number, e.b.CreateGEP(e.b.getInt8Ty(), e.sharedBase(), number)};
}

// Runs `copy` for the blocks that the mask names, which is the operand behind the barrier object; without one for the address as it is.
template <class Copy>
void toBlocks(Emitter& e, const Instruction& i, std::size_t object, Copy copy) {
  const Place to = placeOf(e, i.operands[0]), barrier = placeOf(e, i.operands[object]);
  if (!i.has(Modifier::multicast_cluster)) return copy(to, barrier);
  llvm::Value* const mask = e.read(i.operands[object + 1], Type::b16);
  const std::uint32_t blocks = e.module().clustered() ? kMostClusterBlocks : 1;
  for (std::uint32_t rank = 0; rank < blocks; ++rank) {
    llvm::Value* const bit = e.b.CreateAnd(mask, llvm::ConstantInt::get(mask->getType(), std::uint64_t{1} << rank));
    e.when(e.b.CreateIsNotNull(bit), [&] { copy(inBlock(e, to, rank), inBlock(e, barrier, rank)); });
  }
}

// [map, {coordinates}]: puts these into memory, and yields both and how many there are.
std::array<llvm::Value*, 3> tensorOf(Emitter& e, const Operand& operand) {
  Operand base = operand;
  base.isMemory = false;
  base.elements.clear();
  llvm::Value* const coordinates = e.textureWords();
  std::uint32_t count = 0;
  for (const Operand& coordinate : operand.elements)
    e.b.CreateAlignedStore(e.toBits(e.read(coordinate, Type::b32)), e.b.CreateConstInBoundsGEP1_32(e.b.getInt32Ty(), coordinates, count++), llvm::Align(4));
  return {e.read(base, Type::b64), e.b.getInt32(count), coordinates};
}
static_assert(wire::kMaxTensorRank <= kTextureWords);

TensorReduction reductionOf(const Instruction& i) {
  constexpr std::pair<Modifier, TensorReduction> kReductions[] = {
      {Modifier::add, TensorReduction::add}, {Modifier::min, TensorReduction::min},       {Modifier::max, TensorReduction::max},      {Modifier::inc, TensorReduction::inc},
      {Modifier::dec, TensorReduction::dec}, {Modifier::op_and, TensorReduction::bitAnd}, {Modifier::op_or, TensorReduction::bitOr}, {Modifier::op_xor, TensorReduction::bitXor}};
  for (const auto& [modifier, reduction] : kReductions)
    if (i.has(modifier)) return reduction;
  return TensorReduction::none;
}

TensorElement elementOf(Emitter& e, const Instruction& i) {
  switch (i.type()) {
    case Type::u32:
    case Type::b32:
      return TensorElement::u32;
    case Type::s32:
      return TensorElement::s32;
    case Type::u64:
    case Type::b64:
      return TensorElement::u64;
    case Type::s64:
      return TensorElement::s64;
    case Type::f16:
      return TensorElement::f16;
    case Type::bf16:
      return TensorElement::bf16;
    case Type::f32:
      return TensorElement::f32;
    case Type::f64:
      return TensorElement::f64;
    default:
      e.unsupported(i, "this type of elements");
  }
}

// `count` is `bytes` in 64 bits. A copy is not checked for overlaps: there are none that would mean something.
void move(Emitter& e, const Instruction& i, llvm::Value* to, llvm::Value* from, llvm::Value* bytes, llvm::Value* count) {
  const TensorReduction reduction = reductionOf(i);
  if (reduction == TensorReduction::none) {
    e.b.CreateMemCpy(to, llvm::Align(1), from, llvm::Align(1), count);
    return;
  }
  e.callExternal("rouse_cpu_reduce_bulk", e.b.getVoidTy(),
                 {e.thread(), to, from, bytes, e.b.getInt32(static_cast<std::uint32_t>(elementOf(e, i))), e.b.getInt32(static_cast<std::uint32_t>(reduction))});
}

void lowerTensor(Emitter& e, const Instruction& i) {
  if (e.checked()) e.unsupported(i, "a tensor's tile where accesses are checked");
  if (i.has(Modifier::complete_tx_bytes)) {
    const auto [map, dimensions, coordinates] = tensorOf(e, i.operands[1]);
    toBlocks(e, i, 2, [&](const Place& to, const Place& barrier) {
      completeBytes(e, barrier.pointer, e.callExternal("rouse_cpu_tensor_load", e.b.getInt32Ty(), {e.thread(), map, dimensions, coordinates, to.pointer}));
    });
    return;
  }
  const auto [map, dimensions, coordinates] = tensorOf(e, i.operands[0]);
  e.callExternal("rouse_cpu_tensor_store", e.b.getVoidTy(),
                 {e.thread(), map, dimensions, coordinates, placeOf(e, i.operands[1]).pointer, e.b.getInt32(static_cast<std::uint32_t>(reductionOf(i)))});
}

}  // namespace

void completeAccess(Emitter& e, const Instruction& i, std::uint32_t bytes) {
  constexpr std::size_t kObject = 2;
  e.checkAccess(i, e.address(i.operands[kObject], Space::shared), {i.operands[kObject], Space::shared, AccessVerb::atomic, 8, 8, true});
  completeBytes(e, placeOf(e, i.operands[kObject]).pointer, e.b.getInt32(bytes));
}

void lowerCopyBulk(Emitter& e, const Instruction& i) {
  if (i.has(Modifier::commit_group) || i.has(Modifier::wait_group) || i.has(Modifier::prefetch)) return;
  if (i.has(Modifier::tensor)) return lowerTensor(e, i);
  const bool tells = i.has(Modifier::complete_tx_bytes);
  const Space toSpace = tells ? Space::shared : Space::global, fromSpace = i.has(Modifier::global) && tells ? Space::global : Space::shared;
  const Emitter::Address from = e.address(i.operands[1], fromSpace);
  llvm::Value* const bytes = e.read(i.operands[2], Type::u32);
  llvm::Value* const count = e.b.CreateZExt(bytes, e.b.getInt64Ty());
  e.checkBytes(i, e.address(i.operands[0], toSpace), {i.operands[0], toSpace, AccessVerb::write, 0, 16}, count);
  e.checkBytes(i, from, {i.operands[1], fromSpace, AccessVerb::read, 0, 16}, count);
  if (!tells) {
    move(e, i, e.address(i.operands[0], toSpace).pointer, from.pointer, bytes, count);
    return;
  }
  e.checkAccess(i, e.address(i.operands[3], Space::shared), {i.operands[3], Space::shared, AccessVerb::atomic, 8, 8, true});
  toBlocks(e, i, 3, [&](const Place& to, const Place& barrier) {
    move(e, i, to.pointer, from.pointer, bytes, count);
    completeBytes(e, barrier.pointer, bytes);
  });
}

}  // namespace rouse::cpu::codegen
