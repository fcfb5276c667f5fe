// mbarrier: barrier objects of 64 bits in shared memory (PTX ISA, "Parallel Synchronization and Communication Instructions:
// mbarrier"), and copies that tell one when they are done. Clusters are of one block.
//
// A block's threads run on one processor thread and change places at calls of the runtime only, so an object is read and
// written plainly; volatile, so that loops that test it are seen to wait for others (spin_loops.cc).
//
//   bits 0-19   arrivals that this phase still waits for
//   bits 20-39  arrivals that each phase waits for
//   bits 40-61  bytes that this phase still waits for, two's complement
//   bit 63      parity of the phase
#include "server/device/cpu/codegen/families.h"

namespace rouse::cpu::codegen {
namespace {

constexpr std::uint64_t kCount = (std::uint64_t{1} << 20) - 1;
constexpr unsigned kExpected = 20, kBytes = 40, kParity = 63;
constexpr std::uint64_t kBytesMask = ((std::uint64_t{1} << 22) - 1) << kBytes;

llvm::Value* wide(Emitter& e, llvm::Value* value) { return e.b.CreateZExt(value, e.b.getInt64Ty()); }

// What other threads wrote before they arrived is there, and nothing is moved past: a matter of the compiler alone.
void order(Emitter& e) { e.b.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent, llvm::SyncScope::SingleThread); }

llvm::Value* pointerTo(Emitter& e, const Instruction& i, const Operand& object) {
  const Space space = ptx::spaceOf(i) == Space::generic ? Space::generic : Space::shared;
  const Emitter::Address address = e.address(object, space);
  e.checkAccess(i, address, {object, space, AccessVerb::atomic, 8, 8, true});
  return address.pointer;
}

llvm::Value* load(Emitter& e, llvm::Value* object) {
  return e.b.CreateAlignedLoad(e.b.getInt64Ty(), object, llvm::Align(8), true);
}

void store(Emitter& e, llvm::Value* object, llvm::Value* word) {
  e.b.CreateAlignedStore(word, object, llvm::Align(8), true);
}

// The phase is over when nothing is waited for; the next one begins at once.
llvm::Value* nextPhaseIfOver(Emitter& e, llvm::Value* word) {
  llvm::Value* const over = e.b.CreateICmpEQ(e.b.CreateAnd(word, kCount | kBytesMask), e.b.getInt64(0));
  llvm::Value* const expected = e.b.CreateAnd(e.b.CreateLShr(word, kExpected), kCount);
  llvm::Value* const next = e.b.CreateXor(e.b.CreateOr(word, expected), std::uint64_t{1} << kParity);
  return e.b.CreateSelect(over, next, word);
}

llvm::Value* plusBytes(Emitter& e, llvm::Value* word, llvm::Value* bytes) {
  llvm::Value* const sum = e.b.CreateAdd(word, e.b.CreateShl(wide(e, bytes), kBytes));
  return e.b.CreateOr(e.b.CreateAnd(sum, kBytesMask), e.b.CreateAnd(word, ~kBytesMask));
}

llvm::Value* minusBytes(Emitter& e, llvm::Value* word, llvm::Value* bytes) {
  return plusBytes(e, word, e.b.CreateNeg(bytes));
}

llvm::Value* minusArrivals(Emitter& e, llvm::Value* word, llvm::Value* count, unsigned field) {
  llvm::Value* const mask = e.b.getInt64(kCount << field);
  llvm::Value* const difference = e.b.CreateSub(word, e.b.CreateShl(wide(e, count), field));
  return e.b.CreateOr(e.b.CreateAnd(difference, mask), e.b.CreateAnd(word, e.b.CreateNot(mask)));
}

// The state before, as arrive yields it.
llvm::Value* arrive(Emitter& e, llvm::Value* object, llvm::Value* count, bool drop, llvm::Value* bytes) {
  order(e);
  llvm::Value* const before = load(e, object);
  llvm::Value* word = before;
  if (bytes != nullptr) word = plusBytes(e, word, bytes);
  if (drop) word = minusArrivals(e, word, count, kExpected);
  store(e, object, nextPhaseIfOver(e, minusArrivals(e, word, count, 0)));
  order(e);
  return before;
}

void lowerWait(Emitter& e, const Instruction& i) {
  llvm::Value* const word = load(e, pointerTo(e, i, i.operands[1]));
  llvm::Value* const now = e.b.CreateLShr(word, kParity);
  llvm::Value* const asked = i.has(Modifier::parity) ? e.b.CreateAnd(wide(e, e.read(i.operands[2], Type::b32)), 1)
                                                     : e.b.CreateLShr(e.read(i.operands[2], Type::b64), kParity);
  order(e);
  e.write(i.operands[0], Type::pred, e.b.CreateICmpNE(now, asked));
}

}  // namespace

void lowerSharedBarrier(Emitter& e, const Instruction& i) {
  if (i.has(Modifier::test_wait) || i.has(Modifier::try_wait)) return lowerWait(e, i);
  if (i.has(Modifier::pending_count)) {
    llvm::Value* const state = e.read(i.operands[1], Type::b64);
    return e.write(i.operands[0], Type::b32, e.b.CreateTrunc(e.b.CreateAnd(state, kCount), e.b.getInt32Ty()));
  }
  const auto number = [&](std::size_t operand) {
    return operand < i.operands.size() ? e.read(i.operands[operand], Type::b32) : e.b.getInt32(1);
  };
  if (i.has(Modifier::arrive) || i.has(Modifier::arrive_drop)) {
    // state, [object] [, count], or the bytes to expect, which comes with one arrival
    const bool expects = i.has(Modifier::expect_tx);
    llvm::Value* const object = pointerTo(e, i, i.operands[1]);
    llvm::Value* const state = arrive(e, object, expects ? e.b.getInt32(1) : number(2), i.has(Modifier::arrive_drop),
                                      expects ? number(2) : nullptr);
    return e.write(i.operands[0], Type::b64, state);
  }
  llvm::Value* const object = pointerTo(e, i, i.operands[0]);
  if (i.has(Modifier::init)) {
    llvm::Value* const count = e.b.CreateAnd(wide(e, number(1)), kCount);
    store(e, object, e.b.CreateOr(count, e.b.CreateShl(count, kExpected)));
  } else if (i.has(Modifier::inval)) {
    store(e, object, e.b.getInt64(0));
  } else if (i.has(Modifier::expect_tx)) {
    store(e, object, plusBytes(e, load(e, object), number(1)));
  } else {
    completeBytes(e, object, number(1));
  }
}

void completeBytes(Emitter& e, llvm::Value* object, llvm::Value* bytes) {
  order(e);
  store(e, object, nextPhaseIfOver(e, minusBytes(e, load(e, object), bytes)));
  order(e);
}

// cp.async.mbarrier.arrive: all copies of this thread are done. Without .noinc the arrival was not counted before, and
// adding it changes nothing.
void arriveAfterCopies(Emitter& e, const Instruction& i) {
  if (i.has(Modifier::noinc)) arrive(e, pointerTo(e, i, i.operands[0]), e.b.getInt32(1), false, nullptr);
}

}  // namespace rouse::cpu::codegen
