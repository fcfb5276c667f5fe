#include "test/ptx/random_kernel.h"

#include <vector>

#include "test/ptx/random_warps.h"

namespace rouse::test {
namespace {

constexpr unsigned kDeepest = 3;

class Generator : private RandomWarps {
 public:
  explicit Generator(std::uint64_t seed) : RandomWarps(seed), apart_(seed % 8 == 5) {}

  RandomKernel make() {
    const unsigned kind = below(10);
    barriers_ = kind >= 4 || apart_;
    warps_ = kind >= 7 || apart_;
    locals_ = chance(10);
    calls_ = chance(25);
    kernel_.wholeWarps = warps_;
    kernel_.mayFault = chance(4);
    begin();
    const unsigned statements = 8 + below(28);
    for (unsigned k = 0; k < statements; ++k) {
      statement(0);
      if (apart_ && k == statements / 2) roundsApart();
    }
    if (kernel_.mayFault) fault();
    end();
    return std::move(kernel_);
  }

 private:
  // --- Control ---
  // A predicate of its own; `same`: the same for all threads of the block.
  Text condition(bool same) {
    const Text p = temporary('p');
    const Text how = one({"lt", "ge", "eq", "ne", "gt"});
    if (same) {
      line("setp." + how + ".s32 " + p + ", " + common() + ", " +
           (chance(50) ? common() : one({"0", "1", "5", "100"})));
    } else if (chance(40)) {
      line("mov.pred " + p + ", " + predicate());
    } else if (chance(30)) {
      line("setp." + how + ".u32 " + p + ", " + one({"%tidx", "%lane", "%gid"}) + ", " +
           one({"0", "1", "5", "16", "17", "31", "64"}));
    } else {
      line("setp." + how + ".s32 " + p + ", " + word() + ", " + wordOrConstant());
    }
    return p;
  }

  void block(unsigned depth) {
    const unsigned statements = 1 + below(5);
    for (unsigned k = 0; k < statements; ++k) statement(depth + 1);
  }

  void branch(unsigned depth) {
    const bool same = chance(35), split = warps_ && uniform_ && chance(30);
    const Text otherwise = label(), after = label();
    Text p;
    if (split) {  // between warps
      p = temporary('p');
      const Text whose = one({"%lin", "%tidx"});
      kernel_.decidesByRows = kernel_.decidesByRows || whose == "%tidx";
      line("setp." + one({"lt", "ge"}) + ".u32 " + p + ", " + whose + ", " + one({"32", "64"}));
    } else {
      p = condition(same);
    }
    const bool saved = uniform_, savedWarp = warpUniform_;
    uniform_ = uniform_ && same && !split;
    warpUniform_ = warpUniform_ && (same || split);
    line("@!" + p + " bra " + otherwise);
    block(depth);
    if (chance(50)) {
      line("bra " + after);
      place(otherwise);
      block(depth);
      place(after);
    } else {
      place(otherwise);
    }
    uniform_ = saved;
    warpUniform_ = savedWarp;
  }

  // Only those divide that have something to divide by.
  void guardedDivision() {
    const Text after = label(), p = temporary('p');
    if (chance(40)) {
      const Text y = wide();
      line("setp.eq.u64 " + p + ", " + y + ", 0");
      line("@" + p + " bra " + after);
      line(one({"div.u64 ", "rem.u64 "}) + wide() + ", " + wide() + ", " + y);
    } else {
      const Text y = chance(60) ? common() : word();
      line("setp.eq.u32 " + p + ", " + y + ", 0");
      line("@" + p + " bra " + after);
      line(one({"div.u32 ", "rem.u32 "}) + to() + ", " + word() + ", " + y);
    }
    place(after);
  }

  void loop(unsigned depth) {
    const bool same = chance(50);
    const Text head = label(), next = label(), after = label(), counter = temporary('r'), bound = temporary('r'),
               p = temporary('p');
    line("and.b32 " + bound + ", " + (same ? common() : word()) + ", " + (depth == 0 ? "7" : "3"));
    line("mov.u32 " + counter + ", 0");
    const bool saved = uniform_, savedWarp = warpUniform_;
    uniform_ = uniform_ && same;
    warpUniform_ = warpUniform_ && same;
    const bool breaks = chance(30), continues = chance(25);
    const bool breaksAlike = chance(40);
    const bool tests = chance(60);  // before the first round
    if (breaks && !breaksAlike) uniform_ = warpUniform_ = false;
    if (tests) {
      line("setp.ge.u32 " + p + ", " + counter + ", " + bound);
      line("@" + p + " bra " + after);
    }
    place(head);
    ++loops_;
    block(depth);
    if (breaks) {
      const Text leaves = condition(breaksAlike);
      line("@" + leaves + " bra " + after);
    }
    if (continues) {
      const Text goesOn = condition(false);
      line("@" + goesOn + " bra " + next);
      const bool inner = uniform_, innerWarp = warpUniform_;
      uniform_ = warpUniform_ = false;
      block(depth);
      uniform_ = inner;
      warpUniform_ = innerWarp;
    }
    --loops_;
    place(next);
    if (chance(40)) line("add.u32 " + to() + ", " + word() + ", " + counter);
    line("add.u32 " + counter + ", " + counter + ", 1");
    line("setp.lt.u32 " + p + ", " + counter + ", " + bound);
    line("@" + p + " bra " + head);
    place(after);
    uniform_ = saved;
    warpUniform_ = savedWarp;
  }

  void choice(unsigned depth) {
    const Text t = temporary('r'), table = label(), after = label();
    const unsigned ways = 2 + below(3);
    std::vector<Text> targets;
    Text list;
    for (unsigned k = 0; k < ways; ++k) {
      targets.push_back(label());
      list += (k == 0 ? "" : ", ") + targets.back();
    }
    line("rem.u32 " + t + ", " + word() + ", " + number(ways));
    place(table);
    body_ += "  .branchtargets " + list + ";\n";
    line("brx.idx " + t + ", " + table);
    const bool saved = uniform_, savedWarp = warpUniform_;
    uniform_ = warpUniform_ = false;
    for (const Text& target : targets) {
      place(target);
      block(depth + 1);
      if (chance(75)) line("bra " + after);
    }
    place(after);
    uniform_ = saved;
    warpUniform_ = savedWarp;
  }

  // Not in loops whose next round's shuffles would miss who has gone (`warp`).
  void leaveEarly() {
    const Text p = condition(false);
    if (warps_ && loops_ > 0) return;
    hasLeft_ = true;
    line("@" + p + " bra END");
  }

  // --- Others ---
  void call() {
    if (!calls_) return integers();
    Text result = to(), callee = one({"mixed", "mixed", "recursive"}), prototype;
    if (chance(30)) {  // each thread has its own
      const Text address = temporary('l'), other = temporary('l'), p = predicate(), type = label();
      line("mov.u64 " + address + ", mixed");
      line("mov.u64 " + other + ", recursive");
      line("selp.b64 " + address + ", " + address + ", " + other + ", " + p);
      body_ += "  " + type + ": .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);\n";
      callee = address;
      prototype = ", " + type;
    }
    body_ += "  { .param .b32 a; .param .b32 b; .param .b32 c;\n  st.param.b32 [a], " + word() +
             "; st.param.b32 [b], " + word() + ";\n  call (c), " + callee + ", (a, b)" + prototype +
             ";\n  ld.param.b32 " + result + ", [c]; }\n";
  }

  void local() {
    if (!locals_) return integers();
    const Text t = temporary('r'), address = temporary('l');
    line("and.b32 " + t + ", " + word() + ", 7");
    line("mad.wide.u32 " + address + ", " + t + ", 4, %locals");
    chance(50) ? maybe("st.local.u32 [" + address + "], " + word())
               : maybe("ld.local.u32 " + to() + ", [" + address + "]");
  }

  // Warps meet the block's others in rounds of which each has a number of its own, then as often as others are still about to.
  void roundsApart() {
    const Text key = temporary('r'), round = temporary('r'), t = temporary('r'), address = temporary('r'), p = temporary('p');
    const Text head = label(), after = label(), wait = label(), met = label();
    const bool byRows = chance(50);
    kernel_.decidesByRows |= byRows;
    line("shr.u32 " + key + ", " + (byRows ? "%tidx" : "%lin") + ", 5");
    line("mad.lo.u32 " + key + ", " + key + ", " + number(1 + below(7)) + ", " + common());
    line("and.b32 " + key + ", " + key + ", 3");
    line("mov.u32 " + round + ", 0");
    place(head);
    line("setp.ge.u32 " + p + ", " + round + ", " + key);
    line("@" + p + " bra " + after);
    if (chance(50)) integers();
    if (chance(70)) warp("-1");
    line("mad.lo.u32 " + address + ", %lin, 4, %words");
    line("bar.sync 0");
    line("st.shared.u32 [" + address + "], " + word());
    line("bar.sync 0");
    line("add.u32 " + t + ", %lin, " + number(1 + below(70)));
    line("rem.u32 " + t + ", " + t + ", %threads");
    line("mad.lo.u32 " + address + ", " + t + ", 4, %words");
    line("ld.shared.u32 " + to() + ", [" + address + "]");
    line("add.u32 " + round + ", " + round + ", 1");
    line("bra " + head);
    place(after);
    place(wait);
    line("setp.ge.u32 " + p + ", " + round + ", 3");
    line("@" + p + " bra " + met);
    line("bar.sync 0");
    line("bar.sync 0");
    line("add.u32 " + round + ", " + round + ", 1");
    line("bra " + wait);
    place(met);
  }

  // All threads of the block give each other values.
  void exchange() {
    if (apart_) return warpUniform_ ? roundsApart() : integers();
    const Text p = temporary('p'), t = temporary('r'), address = temporary('r');
    const Text barrier =
        chance(80) ? Text("bar.sync 0") : one({"barrier.sync 0", "bar.sync 1", "barrier.cta.sync.aligned 2", "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned"});
    switch (below(5)) {
      case 0:
        return line("bar.red.popc.u32 " + to() + ", 0, " + predicate());
      case 1:
        return line(one({"bar.red.and.pred ", "bar.red.or.pred "}) + predicate() + ", 0, " + predicate());
      case 2: {  // words of 64 bits, a neighbour's
        line("mad.lo.u32 " + address + ", %lin, 8, %wides");
        line(barrier);
        line("st.shared.b64 [" + address + "], " + wide());
        line(barrier);
        line("add.u32 " + t + ", %lin, " + number(1 + below(40)));
        line("rem.u32 " + t + ", " + t + ", %threads");
        line("mad.lo.u32 " + address + ", " + t + ", 8, %wides");
        return line("ld.shared.b64 " + wide() + ", [" + address + "]");
      }
      case 3: {  // counts
        line("and.b32 " + t + ", " + word() + ", 31");
        line("mad.lo.u32 " + address + ", " + t + ", 4, %counts");
        maybe(one({"red.shared.add.u32 [", "red.shared.add.u32 ["}) + address + "], " + word());
        return;
      }
      default:
        line("mad.lo.u32 " + address + ", %lin, 4, %words");
        line(barrier);
        line("st.shared.u32 [" + address + "], " + word());
        line(barrier);
        line("rem.u32 " + t + ", " + word() + ", %threads");
        line("mad.lo.u32 " + address + ", " + t + ", 4, %words");
        maybe("ld.shared.u32 " + to() + ", [" + address + "]");
    }
  }

  // A part of the warp, which knows who is in it.
  void part() {
    const Text p = condition(false), members = temporary('r'), after = label();
    line("vote.sync.ballot.b32 " + members + ", " + p + ", -1");
    line("@!" + p + " bra " + after);
    warp(members);
    place(after);
    line("bar.warp.sync -1");
  }

  // Aligned parts of the warp, each with a way and a number of rounds of its own: its lanes come together, but not with others.
  void tiles() {
    const unsigned bits = 1 + below(4), lanes = 1u << bits;
    const Text first = temporary('r'), members = temporary('r'), key = temporary('r'), round = temporary('r');
    const Text p = temporary('p'), head = label(), after = label();
    line("and.b32 " + first + ", " + one({"%lane", "%lin"}) + ", " + number(32 - lanes));
    line("shl.b32 " + members + ", " + number((1u << lanes) - 1) + ", " + first);
    if (hasLeft_) {
      const Text here = temporary('r');
      line("setp.eq.u32 " + p + ", %lane, %lane");
      line("vote.sync.ballot.b32 " + here + ", " + p + ", -1");
      line("and.b32 " + members + ", " + members + ", " + here);
    }
    line("shr.u32 " + key + ", %lane, " + number(bits));
    line("mad.lo.u32 " + key + ", " + key + ", " + number(1 + below(7)) + ", " + common());
    line("and.b32 " + key + ", " + key + ", 3");
    line("mov.u32 " + round + ", 0");
    line("setp.ge.u32 " + p + ", " + round + ", " + key);
    line("@" + p + " bra " + after);
    place(head);
    if (chance(50)) integers();
    warp(members);
    if (chance(50)) {  // each lane as often as it likes
      const Text own = temporary('r'), again = label();
      line("and.b32 " + own + ", " + word() + ", 3");
      place(again);
      integers();
      line("sub.u32 " + own + ", " + own + ", 1");
      line("setp.gt.s32 " + p + ", " + own + ", 0");
      line("@" + p + " bra " + again);
      warp(members);
    }
    line("add.u32 " + round + ", " + round + ", 1");
    line("setp.lt.u32 " + p + ", " + round + ", " + key);
    line("@" + p + " bra " + head);
    place(after);
    line("bar.warp.sync -1");
  }

  void statement(unsigned depth) {
    const unsigned which = below(100);
    if (which < 22) return integers();
    if (which < 30) return wides();
    if (which < 40) return floats();
    if (which < 43) return doubles();
    if (which < 48) return halves();
    if (which < 54) return compare();
    if (which < 63) return load();
    if (which < 69) return store();
    if (which < 72) return atomic();
    if (which < 75) return guardedDivision();
    if (which < 77) return call();
    if (which < 79) return local();
    if (which < 80) return chance(50) ? compare() : leaveEarly();
    if (which < 81 && uniform_)
      return line("add.u32 %u" + number(below(kCommon)) + ", " + common() + ", " + one({"1", "3", "17"}));
    if (which < 84 && uniform_) {
      const Text t = temporary('r'), address = temporary('l');
      line("and.b32 " + t + ", " + common() + ", 1023");
      line("mad.wide.u32 " + address + ", " + t + ", 4, %in");
      return line("ld.global.u32 %u" + number(below(kCommon)) + ", [" + address + "]");
    }
    if (which < 90) {
      if (warps_ && warpUniform_) return chance(80) ? warp("-1") : chance(50) ? part() : tiles();
      return barriers_ && uniform_ ? exchange() : integers();
    }
    if (barriers_ && uniform_ && which < 92) return exchange();
    if (depth >= kDeepest) return load();
    if (which < 96) return branch(depth);
    if (which < 99) return loop(depth);
    return choice(depth);
  }

  // --- Around it ---
  void fault() {
    const Text p = temporary('p'), q = temporary('p');
    line("setp.eq.u32 " + p + ", %gid, 21");
    line("setp.eq.and.u32 " + q + ", %n, %n, " + p);
    if (chance(50)) return line("@" + q + " trap");
    const Text address = temporary('l');
    line("cvt.u64.u32 " + address + ", %tidx");
    line("shl.b64 " + address + ", " + address + ", 3");
    line("@" + q + " " + one({"st.global.u32 [", "st.u32 ["}) + address + "], 1");
  }

  void begin() {
    line("ld.param.u64 %in, [in]");
    line("ld.param.u64 %own, [own]");
    line("ld.param.u64 %columns, [columns]");
    line("ld.param.u64 %bins, [bins]");
    line("ld.param.u64 %again, [again]");
    line("ld.param.u32 %n, [n]");
    line("ld.param.u32 %zero, [zero]");
    line("mov.u32 %tidx, %tid.x");
    line("mov.u32 %cta, %ctaid.y");
    line("mov.u32 %r0, %nctaid.x");
    line("mov.u32 %r1, %ctaid.x");
    line("mad.lo.u32 %cta, %cta, %r0, %r1");
    line("mov.u32 %lane, %laneid");
    line("mov.u32 %r0, %ntid.x");
    line("mov.u32 %r1, %ntid.y");
    line("mov.u32 %r2, %ntid.z");
    line("mov.u32 %r3, %tid.y");
    line("mov.u32 %r4, %tid.z");
    line("mad.lo.u32 %lin, %r4, %r1, %r3");
    line("mad.lo.u32 %lin, %lin, %r0, %tidx");
    line("mul.lo.u32 %threads, %r0, %r1");
    line("mul.lo.u32 %threads, %threads, %r2");
    line("mad.lo.u32 %gid, %cta, %threads, %lin");
    line("mov.u32 %r5, %nctaid.x");
    line("mul.lo.u32 %total, %threads, %r5");
    line("mov.u32 %r5, %nctaid.y");
    line("mul.lo.u32 %total, %total, %r5");
    line("mad.wide.u32 %own, %gid, " + number(kOwnBytes) + ", %own");
    line("mad.wide.u32 %again, %gid, " + number(kOwnBytes) + ", %again");
    line("mov.u32 %words, room");
    line("mad.lo.u32 %exchange, %threads, 4, %words");
    line("mad.lo.u32 %wides, %threads, 8, %words");
    line("mad.lo.u32 %counts, %threads, 16, %words");
    if (locals_) {
      line("mov.u64 %locals, array");
      line("cvta.local.u64 %tl0, %locals");
      temporaries_[1] = 1;
      for (unsigned k = 0; k < 8; ++k) line("st.local.u32 [array+" + number(4 * k) + "], " + number(k * 77));
      line("mov.u64 %locals, array");
    }
    if (barriers_) {
      const Text p = temporary('p'), t = temporary('r');
      line("setp.eq.u32 " + p + ", %lin, 0");
      for (unsigned k = 0; k < 32; ++k) line("@" + p + " st.shared.u32 [%counts+" + number(4 * k) + "], " + number(k));
      line("mad.lo.u32 " + t + ", %lin, 4, %words");
      line("st.shared.u32 [" + t + "], %gid");
      line("mad.lo.u32 " + t + ", %lin, 8, %wides");
      line("st.shared.u64 [" + t + "], 0");
      if (warps_) {  // for who takes it from a lane that has left before it stored something
        line("mad.lo.u32 " + t + ", %lin, 4, %exchange");
        line("st.shared.u32 [" + t + "], %lane");
      }
      line("bar.sync 0");
    }
    for (unsigned k = 0; k < kCommon; ++k)
      line("add.u32 %u" + number(k) + ", " + one({"%n", "%cta", "%zero"}) + ", " + number(below(30)));
    for (unsigned k = 0; k < kWords; ++k) {
      switch (below(4)) {
        case 0:
          line("mov.u32 %r" + number(k) + ", " + one({"%tidx", "%gid", "%lin", "%lane", "%cta", "%n", "%zero"}));
          break;
        case 1:
          line("mad.lo.u32 %r" + number(k) + ", %gid, " + number(below(1000)) + ", %tidx");
          break;
        default: {
          const Text address = temporary('l');
          line("mad.wide.u32 " + address + ", %gid, 4, %in");
          line("ld.global.u32 %r" + number(k) + ", [" + address + "+" + number(4 * below(64)) + "]");
          if (chance(60)) line("shr.u32 %r" + number(k) + ", %r" + number(k) + ", " + number(below(32)));
        }
      }
    }
    for (unsigned k = 0; k < kLongs; ++k)
      line(one({"mul.wide.u32 ", "mul.wide.s32 "}) + "%l" + number(k) + ", " + "%r" + number(below(kWords)) + ", " +
           number(1 + below(999)));
    for (unsigned k = 0; k < kFloats; ++k)
      line(one({"mov.b32 ", "cvt.rn.f32.s32 ", "cvt.rn.f32.u32 "}) + "%f" + number(k) + ", " + "%r" +
           number(below(kWords)));
    for (unsigned k = 0; k < kDoubles; ++k) line("cvt.rn.f64.s32 %d" + number(k) + ", %r" + number(below(kWords)));
    for (unsigned k = 0; k < kHalves; ++k) line("cvt.u16.u32 %h" + number(k) + ", %r" + number(below(kWords)));
    for (unsigned k = 0; k < kPredicates; ++k)
      line("setp.gt.s32 %p" + number(k) + ", %r" + number(below(kWords)) + ", " + number(below(50)));
  }

  void end() {
    if (barriers_) {
      line("bar.sync 0");
      line("and.b32 %r0, %lin, 31");
      line("mad.lo.u32 %r0, %r0, 4, %counts");
      line("ld.shared.u32 %r0, [%r0]");
    }
    for (unsigned k = 0; k < kWords; ++k) line("st.global.u32 [%own+" + number(4 * k) + "], %r" + number(k));
    for (unsigned k = 0; k < kFloats; ++k) {
      canonical("%f" + number(k), "f32", "0f7fffffff");
      line("st.global.f32 [%own+" + number(32 + 4 * k) + "], %f" + number(k));
    }
    for (unsigned k = 0; k < kHalves; ++k) line("st.global.u16 [%own+" + number(52 + 2 * k) + "], %h" + number(k));
    for (unsigned k = 0; k < kPredicates; ++k) {
      line("selp.u32 %r0, 1, 0, %p" + number(k));
      line("st.global.u8 [%own+" + number(60 + k) + "], %r0");
    }
    for (unsigned k = 0; k < kLongs; ++k) line("st.global.u64 [%own+" + number(64 + 8 * k) + "], %l" + number(k));
    for (unsigned k = 0; k < kDoubles; ++k) {
      canonical("%d" + number(k), "f64", "0d7fffffffffffffff");
      line("st.global.f64 [%own+" + number(104 + 8 * k) + "], %d" + number(k));
    }
    place("END");
    line("ret");

    const auto registers = [](const char* type, const Text& name, unsigned count) {
      return Text("  .reg .") + type + " " + name + "<" + number(count + 1) + ">;\n";
    };
    Text& text = kernel_.text;
    text = ".version 7.8\n.target sm_90\n.address_size 64\n.extern .shared .align 16 .b8 room[];\n";
    if (calls_) {
      text +=
          ".func (.param .b32 c) mixed(.param .b32 a, .param .b32 b) {\n  .reg .b32 %r<4>;\n  .reg .pred %p;\n  "
          "ld.param.b32 %r0, [a];\n  ld.param.b32 %r1, [b];\n"
          "  setp.lt.s32 %p, %r0, %r1;\n  mul.lo.s32 %r2, %r0, 7;\n  @%p add.s32 %r2, %r1, %r2;\n  st.param.b32 [c], "
          "%r2;\n  ret;\n}\n"
          ".func (.param .b32 c) recursive(.param .b32 a, .param .b32 b) {\n  .reg .b32 %r<5>;\n  .reg .pred %p;\n  "
          "ld.param.b32 %r0, [a];\n  ld.param.b32 %r1, [b];\n"
          "  mov.u32 %r3, %tid.x;\n  add.u32 %r0, %r0, %r3;\n  mov.u32 %r3, %tid.y;\n  mad.lo.u32 %r0, %r3, 5, "
          "%r0;\n  mov.u32 %r3, %laneid;\n  mad.lo.u32 %r0, %r3, 9, %r0;\n"
          "  and.b32 %r2, %r1, 3;\n  setp.eq.u32 %p, %r2, 0;\n  @%p bra L;\n  sub.u32 %r3, %r2, 1;\n  add.u32 %r0, "
          "%r0, %r1;\n  { .param .b32 x; .param .b32 y; .param .b32 z;\n"
          "  st.param.b32 [x], %r0; st.param.b32 [y], %r3;\n  call (z), recursive, (x, y);\n  ld.param.b32 %r4, [z]; "
          "}\n  mad.lo.u32 %r0, %r4, 3, %r2;\nL:\n"
          "  st.param.b32 [c], %r0;\n  ret;\n}\n";
    }
    text +=
        ".visible .entry k(.param .u64 in, .param .u64 own, .param .u64 columns, .param .u64 bins, .param .u64 again, "
        ".param .u32 n, .param .u32 zero) {\n";
    text += registers("b32", "%r", kWords) + registers("b64", "%l", kLongs) + registers("f32", "%f", kFloats) +
            registers("f64", "%d", kDoubles) + registers("b16", "%h", kHalves) + registers("pred", "%p", kPredicates) +
            registers("b32", "%u", kCommon);
    text += registers("b32", "%tr", temporaries_[0]) + registers("b64", "%tl", temporaries_[1]) +
            registers("b16", "%th", temporaries_[2]) + registers("pred", "%tp", temporaries_[3]) +
            registers("f32", "%tf", temporaries_[4]);
    text += "  .reg .b64 %in, %own, %columns, %bins, %again, %locals;\n";
    text +=
        "  .reg .b32 %n, %zero, %tidx, %cta, %lane, %lin, %threads, %gid, %total, %words, %exchange, %wides, "
        "%counts;\n";
    if (locals_) text += "  .local .align 4 .b8 array[32];\n";
    text += body_ + "}\n";
  }

  RandomKernel kernel_;
  const bool apart_;
  bool barriers_ = false, warps_ = false, locals_ = false, calls_ = false;
  bool uniform_ = true, warpUniform_ = true;  // whether all threads of the block, of each warp, come here together
  unsigned loops_ = 0;                        // around this place
};

}  // namespace

RandomKernel randomKernel(std::uint64_t seed) { return Generator(seed).make(); }

}  // namespace rouse::test
