// ld, st, fences, asynchronous copies (done at once) and hints. Ordinary accesses assume no alignment, so that a
// misaligned one is harmless here and reported when the thread ends (abi.h); ordered ones are atomic and stop at once.
#include <algorithm>

#include "server/device/cpu/codegen/families.h"
#include "server/device/cpu/codegen/passes.h"
#include "server/device/cpu/codegen/uniformity.h"
#include "server/device/cpu/codegen/warp_calls.h"

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

// A load past the caches that blocks have of their own (ld.cg, ld.cv) finds what others have stored: programs poll with it, so it must be made in each round.
bool passesCaches(const Instruction& i) {
  const Space space = ptx::spaceOf(i);
  return (i.has(Modifier::cg) || i.has(Modifier::cv)) && !i.has(Modifier::nc) && (space == Space::global || space == Space::generic);
}

// Volatile, and of shared memory as far as can be known.
bool isVolatileShared(const Instruction& i) {
  const Space space = ptx::spaceOf(i);
  return i.has(Modifier::op_volatile) && (space == Space::shared || space == Space::generic);
}

template <class Which>
bool loadsAndStores(const ptx::Function& function, Which which) {
  const auto does = [&](ptx::Opcode opcode) {
    return std::ranges::any_of(function.instructions, [&](const Instruction& i) { return i.opcode == opcode && which(i); });
  };
  return does(ptx::Opcode::ld) && does(ptx::Opcode::st);
}

constexpr std::size_t kMostStored = 64;  // of a stage there are a few

// Whether a volatile store to global memory is followed, with no branch, label or barrier between, by a volatile load from another place by the same
// register: so do the lanes of a warp that add up what lies there. A flag that is waited for is loaded in a loop, behind a label.
bool stepsThroughGlobal(const ptx::Function& function) {
  const auto isVolatileGlobal = [](const Instruction& i, ptx::Opcode opcode) {
    return i.opcode == opcode && i.has(Modifier::op_volatile) && ptx::spaceOf(i) == Space::global;
  };
  std::vector<std::uint32_t> labels = function.labels;
  std::ranges::sort(labels);
  std::vector<const Operand*> stored;
  for (std::uint32_t k = 0; k < function.instructions.size(); ++k) {
    const Instruction& i = function.instructions[k];
    if (std::ranges::binary_search(labels, k)) stored.clear();
    if (isVolatileGlobal(i, ptx::Opcode::st) && stored.size() < kMostStored) stored.push_back(&i.operands[0]);
    if (isVolatileGlobal(i, ptx::Opcode::ld)) {
      const Operand& from = i.operands[1];
      const auto isNeighbour = [&](const Operand* to) {
        return to->kind == Operand::Kind::reg && from.kind == Operand::Kind::reg && to->index == from.index && to->value != from.value;
      };
      if (std::ranges::any_of(stored, isNeighbour)) return true;
    }
    if (i.opcode == ptx::Opcode::bra || i.opcode == ptx::Opcode::bar || i.opcode == ptx::Opcode::barrier || i.opcode == ptx::Opcode::call) stored.clear();
  }
  return false;
}

// Whether what is stored to shared memory is followed, with no barrier between, by loads from a place by the same register whose distance halves from one
// to the next: so does the last warp of a reduction that relies on its lanes going in step, without volatile.
bool halvesThroughShared(const ptx::Function& function) {
  constexpr std::uint64_t kHalvings = 2;
  const auto isOfShared = [](const Instruction& i, ptx::Opcode opcode) { return i.opcode == opcode && ptx::spaceOf(i) == Space::shared; };
  std::vector<const Operand*> stored;
  std::uint64_t before = 0, halvings = 0;
  for (const Instruction& i : function.instructions) {
    if (i.opcode == ptx::Opcode::bar || i.opcode == ptx::Opcode::barrier || i.opcode == ptx::Opcode::call) {
      stored.clear();
      before = halvings = 0;
    }
    if (isOfShared(i, ptx::Opcode::st) && i.operands[0].kind == Operand::Kind::reg && stored.size() < kMostStored) stored.push_back(&i.operands[0]);
    if (!isOfShared(i, ptx::Opcode::ld) || i.operands[1].kind != Operand::Kind::reg) continue;
    const auto to = std::ranges::find_if(stored, [&](const Operand* place) { return place->index == i.operands[1].index; });
    if (to == stored.end() || (*to)->value >= i.operands[1].value) continue;
    const std::uint64_t distance = i.operands[1].value - (*to)->value;
    halvings = before == 2 * distance ? halvings + 1 : before == distance ? halvings : 0;
    before = distance;
    if (halvings == kHalvings) return true;
  }
  return false;
}

// Whether lanes go in step at this access.
bool goesInStep(Emitter& e, const Instruction& i) {
  if (isVolatileShared(i) && e.stepsInWarps()) return true;
  if (ptx::spaceOf(i) == Space::shared && e.halvesThroughShared()) return true;
  return i.has(Modifier::op_volatile) && ptx::spaceOf(i) == Space::global && e.stepsThroughGlobal();
}

bool isOnlyFence(const ptx::Function& function) {
  const auto isOf = [](const Instruction& i) { return i.opcode == ptx::Opcode::membar || i.opcode == ptx::Opcode::ret; };
  return !function.isKernel && std::ranges::all_of(function.instructions, isOf);
}

// Where it is comes when all that is inlined is (fiber_steps).
void step(Emitter& e) { e.callExternal("rouse_cpu_step", e.b.getVoidTy(), {e.thread(), e.b.getInt64(0)}); }

// The bits of a vector that other blocks find whole or not at all, else 0. PTX orders vectors an element at a time, but GPUs access up to 16 aligned bytes at
// once, and programs rely on it: CUB's look-back, for what a flag is of beside the flag (ScanTileState).
unsigned wholeBits(Emitter& e, const Instruction& i, const Operand& memory, const Access& access) {
  const unsigned bits = 8 * ptx::bytesOf(i.type()) * vectorLength(i);
  const bool isOrdered = access.isVolatile || access.ordering != llvm::AtomicOrdering::NotAtomic;
  if (!isOrdered || vectorLength(i) == 1 || (bits != 64 && bits != 128) || isParameter(e, i, memory)) return 0;
  const Space space = ptx::spaceOf(i);
  return space == Space::global || (space == Space::generic && !goesInStep(e, i)) ? bits : 0;
}

llvm::AtomicOrdering wholeOrdering(const Access& access) {
  return access.ordering == llvm::AtomicOrdering::NotAtomic ? llvm::AtomicOrdering::Monotonic : access.ordering;
}

Emitter::Address prepare(Emitter& e, const Instruction& i, const Operand& memory, const Access& access, AccessVerb verb) {
  const Emitter::Address address = e.address(memory, ptx::spaceOf(i));
  if (!isParameter(e, i, memory)) {
    const std::uint32_t bytes = ptx::bytesOf(i.type()) * vectorLength(i);
    e.checkAccess(i, address, {memory, ptx::spaceOf(i), verb, bytes, bytes, isAtomic(access, i.type()) || wholeBits(e, i, memory, access) != 0});
  }
  return address;
}

}  // namespace

bool Emitter::stepsInWarps() {
  if (!stepsInWarps_) stepsInWarps_ = loadsAndStores(source_, isVolatileShared);
  return *stepsInWarps_;
}

bool Emitter::stepsThroughGlobal() {
  if (!stepsThroughGlobal_) stepsThroughGlobal_ = codegen::stepsThroughGlobal(source_);
  return *stepsThroughGlobal_;
}

bool Emitter::halvesThroughShared() {
  if (!halvesThroughShared_) halvesThroughShared_ = codegen::halvesThroughShared(source_);
  return *halvesThroughShared_;
}

bool Emitter::usesShared() {
  if (!usesShared_) usesShared_ = loadsAndStores(source_, [](const Instruction& i) { return ptx::spaceOf(i) == Space::shared; });
  return *usesShared_;
}

void lowerLoad(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  const std::uint32_t length = vectorLength(i);
  const Access access = accessOf(i);
  const Emitter::Address address = prepare(e, i, i.operands[1], access, AccessVerb::read);
  const bool isKernelParameter = isParameter(e, i, i.operands[1]) && e.source().isKernel &&
                                 (i.operands[1].kind != Operand::Kind::symbol ||
                                  e.source().parameters[i.operands[1].index].role == ptx::Parameter::Role::input);
  const auto loadOne = [&](std::uint32_t index) {
    llvm::LoadInst* const load = e.b.CreateAlignedLoad(
        memoryType(e, type), elementPointer(e, address.pointer, type, index), llvm::Align(1), access.isVolatile);
    if (goesInStep(e, i)) markStep(*load);
    if (passesCaches(i)) markUncached(*load);
    if (isAtomic(access, type)) {
      load->setAlignment(llvm::Align(ptx::bytesOf(type)));
      load->setAtomic(access.ordering);
    }
    // Nobody writes what is read so for as long as the kernel runs: in constant space. Elsewhere that is the program's promise, which some break behind a
    // barrier, and get on GPUs what was there when they asked: such a load is made once, where it stands.
    if (i.has(Modifier::nc)) load->setMetadata(kPromisedConstant, llvm::MDNode::get(e.b.getContext(), {}));
    if (ptx::spaceOf(i) == Space::constant || (isKernelParameter && i.operands[1].kind == Operand::Kind::symbol)) {
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(e.b.getContext(), {}));
    }
    return load;
  };
  if (length == 1) return e.write(i.operands[0], type, e.fromBits(loadOne(0), type));
  // All are loaded before any is written: the address may be in a register that is loaded.
  std::vector<llvm::Value*> values;
  if (const unsigned bits = wholeBits(e, i, i.operands[1], access)) {
    llvm::LoadInst* const load = e.b.CreateAlignedLoad(e.bits(bits), address.pointer, llvm::Align(bits / 8), access.isVolatile);
    load->setAtomic(wholeOrdering(access));
    for (std::uint32_t k = 0; k < length; ++k) values.push_back(e.b.CreateTrunc(e.b.CreateLShr(load, std::uint64_t{bits / length * k}), e.bits(bits / length)));
  } else {
    for (std::uint32_t k = 0; k < length; ++k) values.push_back(loadOne(k));
  }
  for (std::uint32_t k = 0; k < length; ++k) e.write(i.operands[0].elements[k], type, e.fromBits(values[k], type));
}

namespace {

void store(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  const std::uint32_t length = vectorLength(i);
  const Access access = accessOf(i);
  const Emitter::Address address = prepare(e, i, i.operands[0], access, AccessVerb::write);
  const bool steps = goesInStep(e, i);
  if (const unsigned bits = wholeBits(e, i, i.operands[0], access)) {
    llvm::Value* all = e.b.getIntN(bits, 0);
    for (std::uint32_t k = 0; k < length; ++k) {
      llvm::Value* const value = e.b.CreateZExt(e.toBits(e.read(i.operands[1].elements[k], type)), e.bits(bits));
      all = e.b.CreateOr(all, e.b.CreateShl(value, std::uint64_t{bits / length * k}));
    }
    llvm::StoreInst* const store = e.b.CreateAlignedStore(all, address.pointer, llvm::Align(bits / 8), access.isVolatile);
    store->setAtomic(wholeOrdering(access));
    return;
  }
  if (steps) step(e);  // the others have loaded what this overwrites
  for (std::uint32_t k = 0; k < length; ++k) {
    const Operand& from = length == 1 ? i.operands[1] : i.operands[1].elements[k];
    llvm::StoreInst* const store = e.b.CreateAlignedStore(
        e.toBits(e.read(from, type)), elementPointer(e, address.pointer, type, k), llvm::Align(1), access.isVolatile);
    if (steps) markStep(*store);
    if (isAtomic(access, type)) {
      store->setAlignment(llvm::Align(ptx::bytesOf(type)));
      store->setAtomic(access.ordering);
    }
  }
  if (steps) step(e);  // and find what all have stored
}

}  // namespace

void lowerStore(Emitter& e, const Instruction& i) {
  store(e, i);
  if (i.has(Modifier::async)) completeAccess(e, i, ptx::bytesOf(i.type()) * vectorLength(i));
}

// A block's threads run on one processor thread, so a fence among them only has to hold the compiler back. Where a warp's lanes go in step
// (__threadfence_block() between accesses to shared memory, without a barrier), all have stored before any loads. Built for debugging it is a
// function of nothing else, whose callers' accesses do not tell which memory they are to.
void lowerFence(Emitter& e, const Instruction& i) {
  if (i.opcode == ptx::Opcode::membar && i.has(Modifier::cta) && (e.usesShared() || isOnlyFence(e.source()))) step(e);
  const auto scope = i.has(Modifier::cta) ? llvm::SyncScope::SingleThread : llvm::SyncScope::System;
  const bool isWeaker = i.has(Modifier::acq_rel) || i.has(Modifier::acquire) || i.has(Modifier::release);
  e.b.CreateFence(isWeaker ? llvm::AtomicOrdering::AcquireRelease : llvm::AtomicOrdering::SequentiallyConsistent,
                  scope);
}

// cp.async: the copy is complete when the instruction is, so waiting for groups is nothing. With a source size, the
// rest of the destination is zero; all of it where a predicate says that the source is ignored.
void lowerCopyAsync(Emitter& e, const Instruction& i) {
  if (i.has(Modifier::mbarrier)) return arriveAfterCopies(e, i);
  if (i.has(Modifier::bulk)) return lowerCopyBulk(e, i);
  if (i.operands.size() < 3) return;
  const auto bytes = static_cast<std::uint32_t>(i.operands[2].value);
  if (bytes != 4 && bytes != 8 && bytes != 16) e.unsupported(i, "this size");
  const Emitter::Address to = e.address(i.operands[0], Space::shared);
  const Emitter::Address from = e.address(i.operands[1], Space::global);
  const Emitter::Access reads{i.operands[1], Space::global, AccessVerb::read, bytes, bytes};
  e.checkAccess(i, to, {i.operands[0], Space::shared, AccessVerb::write, bytes, bytes});
  const std::size_t operands = i.operands.size() - (i.has(Modifier::l2_cache_hint) ? 1 : 0);
  const bool isIgnored = operands == 4 && i.operands[3].kind == Operand::Kind::reg && e.source().registers[i.operands[3].index] == Type::pred;
  const bool isWhole = operands == 3 || (i.operands[3].kind == Operand::Kind::integer && i.operands[3].value == bytes);
  if (isWhole) {
    e.checkAccess(i, from, reads);
    // By words of at most 64 bits, which lanes have side by side; all are read before one is written.
    const std::uint32_t part = std::min(bytes, 8u);
    llvm::SmallVector<llvm::Value*, 2> parts;
    const auto at = [&](llvm::Value* base, std::uint32_t offset) { return e.b.CreateConstInBoundsGEP1_32(e.b.getInt8Ty(), base, offset); };
    for (std::uint32_t k = 0; k < bytes; k += part) parts.push_back(e.b.CreateAlignedLoad(e.bits(8 * part), at(from.pointer, k), llvm::Align(1)));
    for (std::uint32_t k = 0; k < bytes; k += part) e.b.CreateAlignedStore(parts[k / part], at(to.pointer, k), llvm::Align(1));
    return;
  }
  llvm::Value* const given = isIgnored
                                 ? e.b.CreateSelect(e.read(i.operands[3], Type::pred), e.b.getInt32(0), e.b.getInt32(bytes))
                                 : e.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, e.read(i.operands[3], Type::u32), e.b.getInt32(bytes));
  e.checkBytes(i, from, reads, e.b.CreateZExt(given, e.b.getInt64Ty()));
  e.b.CreateMemSet(to.pointer, e.b.getInt8(0), bytes, llvm::Align(1));
  e.b.CreateMemCpy(to.pointer, llvm::Align(1), from.pointer, llvm::Align(1), e.b.CreateZExt(given, e.b.getInt64Ty()));
}

// A cache's policy is a hint, and nobody asks what it is.
void lowerPolicy(Emitter& e, const Instruction& i) { e.write(i.operands[0], Type::b64, e.b.getInt64(0)); }

void lowerNothing(Emitter&, const Instruction&) {}

}  // namespace rouse::cpu::codegen
