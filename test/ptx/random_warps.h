// Operations of a warp's lanes in kernels made from a seed (random_kernel.h).
#pragma once

#include "test/ptx/random_memory.h"

namespace rouse::test {

class RandomWarps : protected RandomMemory {
 protected:
  using RandomMemory::RandomMemory;

  // The highest lane of those that take part.
  Text lastOf(const Text& members) {
    Text here = members;
    if (members == "-1") {  // and have not left
      const Text p = temporary('p');
      here = temporary('r');
      line("setp.eq.u32 " + p + ", %lane, %lane");
      line("vote.sync.ballot.b32 " + here + ", " + p + ", -1");
    }
    const Text last = temporary('r');
    line("bfind.u32 " + last + ", " + here);
    return last;
  }

  // All lanes of the warp, or those of `members`.
  void warp(const Text& members) {
    const Text value = word();
    // What a shuffle takes from a lane that does not take part is open, so all take it from one that does, or their
    // own.
    const bool all = members == "-1" && !hasLeft_;
    switch (below(9)) {
      case 0:
      case 1: {
        const Text mode = one({"idx", "bfly"}), from = chance(50) ? number(below(32)) : word(),
                   bounds = one({"31", "7951", "6175"});
        return line("shfl.sync." + (all ? mode : Text("idx")) + ".b32 " + to() + "|" + predicate() + ", " + value +
                    ", " + (all ? from : lastOf(members)) + ", " + (all ? bounds : Text("31")) + ", " + members);
      }
      case 2: {
        const Text by = number(below(32)), bounds = one({"0", "6144"});
        return line("shfl.sync.up.b32 " + to() + ", " + value + ", " + (all ? by : Text("0")) + ", " + bounds + ", " +
                    members);
      }
      case 3: {
        const Text by = number(below(32));
        return line("shfl.sync.down.b32 " + to() + ", " + value + ", " + (all ? by : Text("0")) + ", 31, " + members);
      }
      case 4:
        return line(one({"vote.sync.any.pred ", "vote.sync.all.pred ", "vote.sync.uni.pred "}) + predicate() + ", " +
                    predicate() + ", " + members);
      case 5:
        return line("vote.sync.ballot.b32 " + to() + ", " + predicate() + ", " + members);
      case 6: {
        const Text few = temporary('r');
        line("and.b32 " + few + ", " + value + ", 3");
        return chance(60) ? line("match.any.sync.b32 " + to() + ", " + few + ", " + members)
                          : line("match.all.sync.b32 " + to() + "|" + predicate() + ", " + few + ", " + members);
      }
      case 7:
        return line(
            "redux.sync." +
            one({"add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32", "xor.b32"}) +
            " " + to() + ", " + value + ", " + members);
      default: {  // through memory
        const Text address = temporary('r'), t = temporary('r');
        line("mad.lo.u32 " + address + ", %lin, 4, %exchange");
        line("bar.warp.sync " + members);
        line("st.shared.u32 [" + address + "], " + value);
        line("bar.warp.sync " + members);
        if (members != "-1") return line("ld.shared.u32 " + to() + ", [" + address + "]");
        line("xor.b32 " + t + ", %lin, " + number(1 + below(31)));
        line("mad.lo.u32 " + address + ", " + t + ", 4, %exchange");
        return line("ld.shared.u32 " + to() + ", [" + address + "]");
      }
    }
  }

  bool hasLeft_ = false;  // whether some lanes may have come to the end
};

}  // namespace rouse::test
