// Accesses of kernels made from a seed (random_kernel.h): what all may read, what is a thread's own, what all add to.
#pragma once

#include "test/ptx/random_arithmetic.h"
#include "test/ptx/random_kernel.h"

namespace rouse::test {

class RandomMemory : protected RandomArithmetic {
 protected:
  using RandomArithmetic::RandomArithmetic;

  // --- Memory ---
  // An index that is the same, or grows by the same, or is any. May wrap between neighbours.
  Text index() {
    const Text t = temporary('r');
    switch (below(7)) {
      case 0:
        line("add.u32 " + t + ", " + one({"%tidx", "%gid", "%lin"}) + ", " +
             one({"0", "1", "-1", "-5", "-9", "13", "2147483640", "2147483641", "-2147483647"}));
        break;
      case 1:
        line("add.u32 " + t + ", " + one({"%tidx", "%gid", "%lin"}) + ", " + common());
        break;
      case 2:
        line("mad.lo.u32 " + t + ", " + one({"%tidx", "%gid"}) + ", " +
             one({"2", "3", "-1", "4", "-2", "65536", "268435456"}) + ", " + common());
        break;
      case 3:
        line("mov.u32 " + t + ", " + common());
        break;
      case 4:
        line("sub.u32 " + t + ", " + common() + ", " + one({"%tidx", "%gid"}));
        break;
      case 5:
        line("and.b32 " + t + ", " + word() + ", 4095");
        break;
      default:
        line("mov.u32 " + t + ", " + word());
    }
    return t;
  }

  // Of the element `index` of so many bytes, in `in`.
  Text source(unsigned bytes) {
    const Text at = index(), address = temporary('l');
    switch (below(4)) {
      case 0:
        line(one({"mul.wide.u32 ", "mul.wide.s32 "}) + address + ", " + at + ", " + number(bytes));
        line("add.u64 " + address + ", %in, " + address);
        break;
      case 1:
        line(one({"mad.wide.u32 ", "mad.wide.s32 "}) + address + ", " + at + ", " + number(bytes) + ", %in");
        break;
      default:
        line(one({"cvt.u64.u32 ", "cvt.s64.s32 "}) + address + ", " + at);
        line("shl.b64 " + address + ", " + address + ", " +
             number(bytes == 8   ? 3
                    : bytes == 4 ? 2
                    : bytes == 2 ? 1
                                 : 0));
        line("add.u64 " + address + ", %in, " + address);
    }
    return address;
  }

  // An address of the thread's own, of so many bytes.
  Text mine(unsigned bytes) {
    if (chance(60)) return "[" + one({"%own", "%own", "%again"}) + "+" + number(128 + below(128 / bytes) * bytes) + "]";
    if (bytes < 4 || bytes > 4) return "[%own+" + number(128 + below(128 / bytes) * bytes) + "]";
    const Text t = temporary('r'), address = temporary('l');
    line("mad.lo.u32 " + t + ", %total, " + number(below(kColumns)) + ", %gid");
    line("mad.wide.u32 " + address + ", " + t + ", 4, %columns");
    return "[" + address + "]";
  }

  void load() {
    const Text space = one({".global", "", ".global.nc"});
    const bool own = chance(30);
    const Text ld = "ld" + (own && space == ".global.nc" ? Text() : space);
    const auto from = [&](unsigned bytes) { return own ? mine(bytes) : "[" + source(bytes) + "]"; };
    switch (below(11)) {
      case 0:
      case 1:
      case 2: {
        const Text a = from(4);
        return maybe(ld + ".u32 " + to() + ", " + a);
      }
      case 3: {
        const Text a = from(1);
        return maybe(ld + one({".u8 ", ".s8 "}) + to() + ", " + a);
      }
      case 4: {
        const Text a = from(2);
        return maybe(ld + one({".u16 ", ".s16 "}) + to() + ", " + a);
      }
      case 5: {
        const Text a = from(8);
        return maybe(ld + ".b64 " + wide() + ", " + a);
      }
      case 6: {
        const Text a = from(4);
        return maybe(ld + ".f32 " + real() + ", " + a);
      }
      case 7: {
        const Text a = from(8);
        return maybe(ld + ".f64 " + twice() + ", " + a);
      }
      case 8: {
        const Text a = from(8);
        return maybe(ld + ".v2.u32 {" + to() + ", " + to() + "}, " + a);
      }
      case 9: {
        const Text a = from(2);
        return maybe(ld + ".u16 " + half() + ", " + a);
      }
      default: {
        const Text a = from(4);
        return maybe(ld + ".v4.u8 {" + half() + ", " + half() + ", " + half() + ", " + half() + "}, " + a);
      }
    }
  }

  void store() {
    const Text st = "st" + one({".global", ""});
    switch (below(7)) {
      case 0:
      case 1:
      case 2: {
        const Text a = mine(4);
        return maybe(st + ".u32 " + a + ", " + word());
      }
      case 3: {
        const Text a = mine(1);
        return maybe(st + ".u8 " + a + ", " + word());
      }
      case 4: {
        const Text a = mine(2);
        return maybe(st + ".u16 " + a + ", " + half());
      }
      case 5: {
        const Text a = mine(8);
        return maybe(st + ".b64 " + a + ", " + wide());
      }
      default: {
        const Text a = mine(8);
        return maybe(st + ".v2.u32 " + a + ", {" + word() + ", " + word() + "}");
      }
    }
  }

  void atomic() {
    if (chance(50)) {  // for all: whoever comes first
      const Text t = temporary('r'), address = temporary('l');
      const bool isWide = chance(25);
      line("and.b32 " + t + ", " + word() + ", " + number(kBins - 1));
      line("mad.wide.u32 " + address + ", " + t + ", " + (isWide ? "8" : "4") + ", %bins");
      // One operation for each bin only: those of different ones do not commute.
      line("and.b32 " + t + ", " + t + ", 3");
      const Text is = temporary('p');
      for (unsigned k = 0; k < 4; ++k) {
        static constexpr const char* kNarrow[] = {"add.u32", "max.u32", "xor.b32", "min.s32"};
        static constexpr const char* kWide[] = {"add.u64", "max.u64", "xor.b64", "min.s64"};
        line("setp.eq.u32 " + is + ", " + t + ", " + number(k));
        line("@" + is + " " + one({"red", "red.global"}) + "." + (isWide ? kWide[k] : kNarrow[k]) + " [" + address +
             (isWide ? "+" + number(kBins * 4) : "") + "], " + (isWide ? wide() : word()));
      }
      return;
    }
    const Text a = mine(4);
    switch (below(6)) {
      case 0:
        return maybe("atom." + one({"add.u32", "exch.b32", "and.b32", "inc.u32", "dec.u32", "min.s32"}) + " " + to() +
                     ", " + a + ", " + word());
      case 1:
        return maybe("atom.global.cas.b32 " + to() + ", " + a + ", " + word() + ", " + word());
      case 2: {
        const Text b = mine(8);
        return maybe("atom." + one({"add.u64", "exch.b64", "max.s64", "or.b64"}) + " " + wide() + ", " + b + ", " +
                     wide());
      }
      case 3: {
        const Text b = mine(8);
        return maybe("atom.cas.b64 " + wide() + ", " + b + ", " + wide() + ", " + wide());
      }
      case 4: {  // a loop around a compare-and-swap, on a bin that all add to
        const Text t = temporary('r'), address = temporary('l'), seen = temporary('r'), expected = temporary('r'),
                   next = temporary('r'), is = temporary('p');
        const Text again = label();
        line("and.b32 " + t + ", " + word() + ", " + number((kBins - 1) & ~3u));
        line("mad.wide.u32 " + address + ", " + t + ", 4, %bins");
        line("ld.u32 " + seen + ", [" + address + "]");
        place(again);
        line("mov.u32 " + expected + ", " + seen);
        line("add.u32 " + next + ", " + expected + ", " + word());
        line("atom.cas.b32 " + seen + ", [" + address + "], " + expected + ", " + next);
        line("setp.ne.u32 " + is + ", " + seen + ", " + expected);
        return line("@" + is + " bra " + again);
      }
      default:
        return maybe("red.add.u32 " + a + ", " + word());
    }
  }
};

}  // namespace rouse::test
