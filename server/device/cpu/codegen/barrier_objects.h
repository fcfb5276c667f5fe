// Operations on barrier objects (mbarrier, shared_barriers.cc) as calls of functions of the module: until a kernel has its form they show which loops wait
// for an object, and lanes side by side make them one after the other. Then they are inlined.
#pragma once

#include "server/device/cpu/codegen/uniformity.h"

namespace rouse::cpu::codegen {

//   init      void(object, i32 count)
//   arrive    i64(object, i32 count, i32 dropped, i32 bytes)   the state before; dropped: of the arrivals that each phase waits for
//   expect    void(object, i32 bytes)
//   complete  void(object, i32 bytes)
//   test      i1(object, i64 asked, i1 byParity)               whether the phase is over whose parity is the uppermost bit of `asked`
enum class ObjectCall : std::uint8_t { init, arrive, expect, complete, test };

// Of a state: the arrivals that its phase still waits for.
inline constexpr std::uint64_t kPendingArrivals = (std::uint64_t{1} << 20) - 1;

// Made when it is first asked for.
llvm::Function* objectFunction(llvm::Module&, ObjectCall);
// Calls of them that change an object.
bool changesObject(const llvm::Instruction&);
// Any of them.
// The object that it initializes; null if it does not.
const llvm::Value* initializedObject(const llvm::Instruction&);
bool isObjectCall(const llvm::Instruction&);
// Lets them be inlined.
void inlineObjectCalls(llvm::Module&);

// Waits for barrier objects in a step (step_function.h), as barriers of the whole block.
//
// Where all threads of a block have come to one wait for one object, nobody is left who could arrive: objects lie in shared memory, and copies that tell
// them of their bytes are done at once. So the wait is over when all have come, or never. That it is, is tested once; if it is not, the launch
// ends (BlockContext::misaligned, kStuck): threads of one wait that wait for different phases are none that could be told.
class ObjectWaits {
 public:
  // False, with a step of no use, where it waits for an object in a way that is not known.
  bool become(llvm::Function& step);
  bool none() const { return waits_ == 0; }
  // Whether all threads wait for the same.
  bool areAlike(const Uniformity&) const;

 private:
  bool becomeBarrier(llvm::CallInst* test);

  std::size_t waits_ = 0;
  llvm::SmallVector<llvm::Instruction*, 8> same_;  // what must be the same for all threads
};

}  // namespace rouse::cpu::codegen
