// What kernels made from a seed (random_kernel.h) are of: choices, registers, and arithmetic of all widths.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>

namespace rouse::test {

using Text = std::string;

constexpr unsigned kWords = 8, kLongs = 5, kFloats = 5, kDoubles = 3, kHalves = 4, kPredicates = 4, kCommon = 3;

inline Text number(std::uint64_t value) { return std::to_string(value); }

// Of each kind a few registers, which all statements read and write.
class RandomArithmetic {
 protected:
  explicit RandomArithmetic(std::uint64_t seed) : random_(seed) {}

  // --- Choice ---
  unsigned below(unsigned bound) { return static_cast<unsigned>(random_() % bound); }
  bool chance(unsigned percent) { return below(100) < percent; }
  Text one(std::initializer_list<const char*> of) { return of.begin()[below(static_cast<unsigned>(of.size()))]; }

  Text word() {
    return chance(12) ? common() : chance(10) ? one({"%tidx", "%gid", "%lin", "%lane"}) : "%r" + number(below(kWords));
  }
  Text wordOrConstant() {
    if (!chance(25)) return word();
    return one({"0", "1", "2", "3", "5", "7", "8", "16", "31", "32", "255", "4096", "65535", "-1", "-3", "2147483647",
                "-2147483648", "1000003"});
  }
  // Where a bit field begins, or its length. ptxas refuses constants beyond 255, and computes wrongly with those beyond
  // the width. The ISA does not allow larger numbers in registers either; of 32-bit fields GPUs take 8 bits, as it
  // says.
  Text extent(bool isWide = false) {
    if (chance(25))
      return one({"0", "1", "2", "3", "5", "7", "8", "11", "12", "16", "17", "20", "24", "27", "30", "31"});
    const Text any = word();
    if (!isWide) return any;
    const Text t = temporary('r');
    line("and.b32 " + t + ", " + any + ", 255");
    return t;
  }
  // Not the same in all threads: bit fields at places of their own, of a number that all threads have, ptxas 13.0
  // sometimes extracts for one thread, for all.
  Text field() {
    const Text t = temporary('r');
    line("add.u32 " + t + ", " + word() + ", %lin");
    return t;
  }
  Text to() { return "%r" + number(below(kWords)); }
  Text wide() { return "%l" + number(below(kLongs)); }
  Text real() { return "%f" + number(below(kFloats)); }
  Text twice() { return "%d" + number(below(kDoubles)); }
  Text half() { return "%h" + number(below(kHalves)); }
  Text predicate() { return "%p" + number(below(kPredicates)); }
  // The same in all threads of the block.
  Text common() { return chance(60) ? "%u" + number(below(kCommon)) : one({"%n", "%zero", "%cta", "%threads"}); }

  Text temporary(char kind) {
    return Text("%t") + kind +
           number(temporaries_[kind == 'r'   ? 0
                               : kind == 'l' ? 1
                               : kind == 'h' ? 2
                               : kind == 'p' ? 3
                                             : 4]++);
  }
  Text label() { return "L" + number(labels_++); }

  void line(const Text& text) { body_ += "  " + text + ";\n"; }
  // Some are done by threads that like to.
  void maybe(const Text& text) {
    line(chance(15) ? "@" + Text(chance(50) ? "!" : "") + predicate() + " " + text : text);
  }
  void place(const Text& label) { body_ += label + ":\n"; }

  // --- Arithmetic ---
  void integers() {
    const Text sign = one({"s32", "u32"});
    switch (below(24)) {
      case 0:
      case 1:
      case 2:
        return maybe("add.u32 " + to() + ", " + word() + ", " + wordOrConstant());
      case 3:
        return maybe("sub.u32 " + to() + ", " + word() + ", " + wordOrConstant());
      case 4:
        return maybe("mul.lo." + sign + " " + to() + ", " + word() + ", " + wordOrConstant());
      case 5:
        return maybe("mul.hi." + sign + " " + to() + ", " + word() + ", " + word());
      case 6:
        return maybe("mad.lo." + sign + " " + to() + ", " + word() + ", " + wordOrConstant() + ", " + word());
      case 7:
        return maybe(one({"div.", "rem."}) + sign + " " + to() + ", " + word() + ", " + wordOrConstant());
      case 8:
        return maybe(one({"and.b32 ", "or.b32 ", "xor.b32 "}) + to() + ", " + word() + ", " + wordOrConstant());
      case 9:
        return maybe("shl.b32 " + to() + ", " + word() + ", " + wordOrConstant());
      case 10:
        return maybe("shr." + sign + " " + to() + ", " + word() + ", " + wordOrConstant());
      case 11:
        return maybe(one({"min.", "max."}) + sign + " " + to() + ", " + word() + ", " + wordOrConstant());
      case 12:
        return maybe(one({"abs.s32 ", "neg.s32 ", "not.b32 ", "popc.b32 ", "clz.b32 ", "brev.b32 ", "bfind.u32 ",
                          "bfind.s32 ", "cvt.s32.s8 ", "cvt.u32.u16 ", "cvt.s32.s16 ", "cvt.u32.u8 "}) +
                     to() + ", " + word());
      case 13:
        return maybe("bfe." + sign + " " + to() + ", " + field() + ", " + extent() + ", " + extent());
      case 14:
        return maybe("bfi.b32 " + to() + ", " + field() + ", " + word() + ", " + extent() + ", " + extent());
      case 15:
        return maybe("prmt.b32" + one({"", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"}) + " " + to() + ", " +
                     word() + ", " + word() + ", " + word());
      case 16:
        return maybe("lop3.b32 " + to() + ", " + word() + ", " + word() + ", " + word() + ", " + number(below(256)));
      case 17:
        return maybe("shf." + one({"l.wrap", "r.wrap", "l.clamp", "r.clamp"}) + ".b32 " + to() + ", " + word() + ", " +
                     word() + ", " + wordOrConstant());
      case 18:
        return maybe("selp.b32 " + to() + ", " + word() + ", " + wordOrConstant() + ", " + predicate());
      case 19:
        return maybe("set." + one({"lt", "eq", "ge"}) + ".u32." + sign + " " + to() + ", " + word() + ", " + word());
      case 20:
        return maybe("sad." + sign + " " + to() + ", " + word() + ", " + word() + ", " + word());
      case 21:
        return maybe("dp4a." + one({"u32.u32", "s32.s32", "s32.u32"}) + " " + to() + ", " + word() + ", " + word() +
                     ", " + word());
      case 22:
        return maybe("mul24.lo." + sign + " " + to() + ", " + word() + ", " + word());
      default: {
        const Text low = to(), a = word(), b = word();
        line("add.cc.u32 " + low + ", " + a + ", " + b);
        return line("addc.u32 " + to() + ", " + word() + ", " + word());
      }
    }
  }

  void wides() {
    const Text sign = one({"s64", "u64"});
    switch (below(14)) {
      case 0:
        return maybe("add.u64 " + wide() + ", " + wide() + ", " + wide());
      case 1:
        return maybe("sub.u64 " + wide() + ", " + wide() + ", " + wide());
      case 2:
        return maybe("mul.lo.u64 " + wide() + ", " + wide() + ", " + wide());
      case 3:
        return maybe("mul.hi." + sign + " " + wide() + ", " + wide() + ", " + wide());
      case 4:
        return maybe(one({"mul.wide.s32 ", "mul.wide.u32 "}) + wide() + ", " + word() + ", " + wordOrConstant());
      case 5:
        return maybe(one({"mad.wide.s32 ", "mad.wide.u32 "}) + wide() + ", " + word() + ", " + word() + ", " + wide());
      case 6:
        return maybe(one({"div.", "rem."}) + sign + " " + wide() + ", " + wide() + ", " + wide());
      case 7:
        return maybe(one({"shl.b64 ", "shr.u64 ", "shr.s64 "}) + wide() + ", " + wide() + ", " + wordOrConstant());
      case 8:
        return maybe(one({"cvt.u64.u32 ", "cvt.s64.s32 ", "cvt.s64.s16 ", "cvt.u64.u8 "}) + wide() + ", " + word());
      case 9:
        return maybe(one({"cvt.u32.u64 ", "popc.b64 ", "clz.b64 ", "bfind.u64 "}) + to() + ", " + wide());
      case 10:
        return maybe(one({"min.", "max."}) + sign + " " + wide() + ", " + wide() + ", " + wide());
      case 11:
        return maybe(one({"and.b64 ", "or.b64 ", "xor.b64 "}) + wide() + ", " + wide() + ", " + wide());
      case 12:
        return maybe("mov.b64 " + wide() + ", {" + word() + ", " + word() + "}");
      default:
        return maybe("bfe." + sign + " " + wide() + ", " + wide() + ", " + extent(true) + ", " + extent(true));
    }
  }

  // The payload of a NaN is open.
  void canonical(const Text& value, const char* type, const char* nan) {
    const Text is = temporary('p');
    const Text bits = Text(type) == "f16" ? "b16" : type;
    line(Text("setp.nan.") + type + " " + is + ", " + value + ", " + value);
    line("selp." + bits + " " + value + ", " + nan + ", " + value + ", " + is);
  }
  void canonicalHalves(const Text& pair, bool bfloat) {
    const Text low = temporary('h'), high = temporary('h'), is = temporary('p'), kept = temporary('h');
    line("mov.b32 {" + low + ", " + high + "}, " + pair);
    for (const Text& each : {low, high}) {
      line("and.b16 " + kept + ", " + each + ", 0x7fff");
      line("setp.gt.u16 " + is + ", " + kept + (bfloat ? ", 0x7f80" : ", 0x7c00"));
      line("selp.b16 " + each + ", 0x7fff, " + each + ", " + is);
    }
    line("mov.b32 " + pair + ", {" + low + ", " + high + "}");
  }
  void canonicalHalf(const Text& each, bool bfloat) {
    const Text is = temporary('p'), kept = temporary('h');
    line("and.b16 " + kept + ", " + each + ", 0x7fff");
    line("setp.gt.u16 " + is + ", " + kept + (bfloat ? ", 0x7f80" : ", 0x7c00"));
    line("selp.b16 " + each + ", 0x7fff, " + each + ", " + is);
  }

  void floats() {
    const Text ftz = one({"", "", ".ftz"});
    const Text x = real(), y = real(), z = real();
    switch (below(18)) {
      case 0:
      case 1:
        return maybe(one({"add.", "sub.", "mul."}) + one({"rn", "rn", "rz", "rm", "rp"}) + ftz + one({"", "", ".sat"}) +
                     ".f32 " + real() + ", " + x + ", " + y);
      case 2:
      case 3:
        return maybe("fma." + one({"rn", "rn", "rz", "rp"}) + ftz + ".f32 " + real() + ", " + x + ", " + y + ", " + z);
      case 4:
        return maybe(one({"div.rn", "div.approx", "div.full", "div.rz"}) + ftz + ".f32 " + real() + ", " + x + ", " +
                     y);
      case 5:
        return maybe(one({"sqrt.rn", "sqrt.approx", "rcp.rn", "rcp.approx", "rsqrt.approx"}) + ftz + ".f32 " + real() +
                     ", " + x);
      case 6:
        return maybe(one({"ex2.approx", "lg2.approx", "sin.approx", "cos.approx"}) + ftz + ".f32 " + real() + ", " + x);
      case 7:
        return maybe(one({"min", "max"}) + ftz + one({"", ".NaN"}) + ".f32 " + real() + ", " + x + ", " + y);
      case 8:
        return maybe(one({"abs", "neg"}) + ftz + ".f32 " + real() + ", " + x);
      case 9: {
        canonical(x, "f32", "0f7fffffff");
        return maybe("copysign.f32 " + real() + ", " + x + ", " + y);
      }
      case 10:
        return maybe(one({"cvt.rni", "cvt.rzi", "cvt.rmi", "cvt.rpi"}) + ftz + ".f32.f32 " + real() + ", " + x);
      case 11:
        return maybe(one({"cvt.rzi.s32.f32 ", "cvt.rni.u32.f32 ", "cvt.rmi.ftz.s32.f32 ", "cvt.rzi.u8.f32 ",
                          "cvt.rpi.s16.f32 "}) +
                     to() + ", " + x);
      case 12:
        return maybe(one({"cvt.rn.f32.s32 ", "cvt.rz.f32.u32 ", "cvt.rn.f32.s16 "}) + real() + ", " + word());
      case 13:
        return maybe("mov.b32 " + real() + ", " + word());
      case 14:
        return maybe("selp.f32 " + real() + ", " + x + ", " + y + ", " + predicate());
      case 15: {
        const Text bits = temporary('f');
        line("mov.f32 " + bits + ", " + x);
        canonical(bits, "f32", "0f7fffffff");
        return maybe("mov.b32 " + to() + ", " + bits);
      }
      case 16:
        return maybe(one({"cvt.rn.f32.f64 ", "cvt.rz.f32.f64 "}) + real() + ", " + twice());
      default:
        return maybe("cvt.f32.f16 " + real() + ", " + half());
    }
  }

  void doubles() {
    const Text x = twice(), y = twice();
    switch (below(8)) {
      case 0:
        return maybe(one({"add.rn", "sub.rn", "mul.rn", "add.rz"}) + ".f64 " + twice() + ", " + x + ", " + y);
      case 1:
        return maybe("fma.rn.f64 " + twice() + ", " + x + ", " + y + ", " + twice());
      case 2:
        return maybe("div.rn.f64 " + twice() + ", " + x + ", " + y);
      case 3:
        return maybe(one({"sqrt.rn.f64 ", "rcp.rn.f64 ", "abs.f64 ", "neg.f64 "}) + twice() + ", " + x);
      case 4:
        return maybe(one({"min.f64 ", "max.f64 "}) + twice() + ", " + x + ", " + y);
      case 5:
        return maybe("cvt.f64.f32 " + twice() + ", " + real());
      case 6:
        return maybe(one({"cvt.rn.f64.s64 ", "cvt.rn.f64.u64 "}) + twice() + ", " + wide());
      default:
        return maybe(one({"cvt.rzi.s64.f64 ", "cvt.rni.u64.f64 "}) + wide() + ", " + x);
    }
  }

  void halves() {
    const Text h = half();
    switch (below(14)) {
      case 0:
        return maybe(
            one({"add.u16 ", "sub.u16 ", "mul.lo.u16 ", "and.b16 ", "or.b16 ", "xor.b16 ", "min.s16 ", "max.u16 "}) +
            h + ", " + half() + ", " + half());
      case 1:
        return maybe(one({"shl.b16 ", "shr.u16 ", "shr.s16 "}) + h + ", " + half() + ", " + word());
      case 2:
        return maybe(one({"div.u16 ", "rem.s16 "}) + h + ", " + half() + ", " + half());
      case 3:
        return maybe("cvt.u16.u32 " + h + ", " + word());
      case 4:
        return maybe(one({"cvt.u32.u16 ", "cvt.s32.s16 "}) + to() + ", " + half());
      case 5:
        return maybe(one({"mul.wide.u16 ", "mul.wide.s16 "}) + to() + ", " + half() + ", " + half());
      case 6:
        maybe(one({"cvt.rn.f16.f32 ", "cvt.rz.f16.f32 ", "cvt.rn.ftz.f16.f32 "}) + h + ", " + real());
        return canonicalHalf(h, false);
      case 7:
        maybe("cvt.rn.bf16.f32 " + h + ", " + real());
        return canonicalHalf(h, true);
      case 8:
        maybe(one({"add.f16 ", "sub.f16 ", "mul.f16 ", "min.f16 ", "max.f16 ", "add.sat.f16 "}) + h + ", " + half() +
              ", " + half());
        return canonicalHalf(h, false);
      case 9:
        maybe("fma.rn" + one({"", ".ftz", ".relu"}) + ".f16 " + h + ", " + half() + ", " + half() + ", " + half());
        return canonicalHalf(h, false);
      case 10: {
        const Text r = to();
        maybe(one({"add.f16x2 ", "mul.f16x2 ", "max.f16x2 ", "min.NaN.f16x2 "}) + r + ", " + word() + ", " + word());
        return canonicalHalves(r, false);
      }
      case 11: {
        const Text r = to();
        maybe("fma.rn." + one({"f16x2 ", "ftz.f16x2 "}) + r + ", " + word() + ", " + word() + ", " + word());
        return canonicalHalves(r, false);
      }
      case 12: {
        const Text r = to();
        maybe("fma.rn.bf16x2 " + r + ", " + word() + ", " + word() + ", " + word());
        return canonicalHalves(r, true);
      }
      default:
        return maybe("mov.b32 " + to() + ", {" + half() + ", " + half() + "}");
    }
  }

  void compare() {
    const Text how = one({"lt", "le", "gt", "ge", "eq", "ne"});
    switch (below(8)) {
      case 0:
        return maybe("setp." + how + ".u32 " + predicate() + ", " + word() + ", " + wordOrConstant());
      case 1:
        return maybe("setp." + how + ".s32 " + predicate() + ", " + word() + ", " + wordOrConstant());
      case 2:
        return maybe("setp." + how + one({"", "u"}) + ".f32 " + predicate() + ", " + real() + ", " + real());
      case 3:
        return maybe("setp." + how + ".f64 " + predicate() + ", " + twice() + ", " + twice());
      case 4:
        return maybe("setp." + how + ".s64 " + predicate() + ", " + wide() + ", " + wide());
      case 5: {
        const unsigned first = below(kPredicates);
        return maybe("setp." + how + ".and.u16 %p" + number(first) + "|%p" + number((first + 1) % kPredicates) + ", " +
                     half() + ", " + half() + ", !" + predicate());
      }
      case 6:
        return maybe(one({"and.pred ", "or.pred ", "xor.pred "}) + predicate() + ", " + predicate() + ", " +
                     predicate());
      default:
        return maybe("testp." + one({"finite", "infinite", "number", "notanumber", "normal", "subnormal"}) + ".f32 " +
                     predicate() + ", " + real());
    }
  }

  std::mt19937_64 random_;
  Text body_;
  unsigned temporaries_[5] = {};
  unsigned labels_ = 0;
};

}  // namespace rouse::test
