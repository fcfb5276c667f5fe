// mbarrier: barrier objects of 64 bits in shared memory (PTX ISA, "Parallel Synchronization and Communication Instructions:
// mbarrier"), and copies that tell one when they are done. An object of another block of the cluster is memory like its own. What an object is, is in barrier_objects.cc.
#include "server/device/cpu/codegen/barrier_objects.h"
#include "server/device/cpu/codegen/families.h"

namespace rouse::cpu::codegen {
namespace {

constexpr unsigned kParity = 63;

llvm::CallInst* call(Emitter& e, ObjectCall verb, llvm::ArrayRef<llvm::Value*> arguments) {
  return e.b.CreateCall(objectFunction(e.module().module(), verb), arguments);
}

llvm::Value* pointerTo(Emitter& e, const Instruction& i, const Operand& object) {
  const Space space = ptx::spaceOf(i) == Space::generic ? Space::generic : Space::shared;
  const Emitter::Address address = e.address(object, space);
  e.checkAccess(i, address, {object, space, AccessVerb::atomic, 8, 8, true});
  return address.pointer;
}

void lowerWait(Emitter& e, const Instruction& i) {
  llvm::Value* const object = pointerTo(e, i, i.operands[1]);
  const bool byParity = i.has(Modifier::parity);
  llvm::Value* const asked = byParity ? e.b.CreateShl(e.b.CreateZExt(e.read(i.operands[2], Type::b32), e.b.getInt64Ty()), kParity)
                                      : e.read(i.operands[2], Type::b64);
  e.write(i.operands[0], Type::pred, call(e, ObjectCall::test, {object, asked, e.b.getInt1(byParity)}));
}

}  // namespace

void lowerSharedBarrier(Emitter& e, const Instruction& i) {
  if (i.has(Modifier::test_wait) || i.has(Modifier::try_wait)) return lowerWait(e, i);
  if (i.has(Modifier::pending_count)) {
    llvm::Value* const state = e.read(i.operands[1], Type::b64);
    return e.write(i.operands[0], Type::b32, e.b.CreateTrunc(e.b.CreateAnd(state, kPendingArrivals), e.b.getInt32Ty()));
  }
  const auto number = [&](std::size_t operand) {
    return operand < i.operands.size() ? e.read(i.operands[operand], Type::b32) : e.b.getInt32(1);
  };
  if (i.has(Modifier::arrive) || i.has(Modifier::arrive_drop)) {
    // state, [object] [, count], or the bytes to expect, which comes with one arrival
    const bool expects = i.has(Modifier::expect_tx);
    llvm::Value* const none = e.b.getInt32(0);
    llvm::Value* const count = expects ? e.b.getInt32(1) : number(2);
    llvm::Value* const object = pointerTo(e, i, i.operands[1]);
    e.noteMisaligned();  // rather than keeping it while the thread waits
    llvm::Value* const state = call(e, ObjectCall::arrive, {object, count, i.has(Modifier::arrive_drop) ? count : none, expects ? number(2) : none});
    return e.write(i.operands[0], Type::b64, state);
  }
  llvm::Value* const object = pointerTo(e, i, i.operands[0]);
  if (i.has(Modifier::inval)) {
    // Nothing, as ptxas has it for sm_80: a barrier's destructor may be the first thread's to come out of the wait, and the others look at the object after it.
  } else if (i.has(Modifier::init)) {
    call(e, ObjectCall::init, {object, number(1)});
  } else if (i.has(Modifier::expect_tx)) {
    call(e, ObjectCall::expect, {object, number(1)});
  } else {
    completeBytes(e, object, number(1));
  }
}

void completeBytes(Emitter& e, llvm::Value* object, llvm::Value* bytes) { call(e, ObjectCall::complete, {object, bytes}); }

// cp.async.mbarrier.arrive: all copies of this thread are done. Without .noinc the arrival was not counted before, and
// adding it changes nothing.
void arriveAfterCopies(Emitter& e, const Instruction& i) {
  if (!i.has(Modifier::noinc)) return;
  llvm::Value* const none = e.b.getInt32(0);
  call(e, ObjectCall::arrive, {pointerTo(e, i, i.operands[0]), e.b.getInt32(1), none, none});
}

}  // namespace rouse::cpu::codegen
