// The scalar video instructions, on words, halves and bytes, and those SIMD ones that no intrinsic makes: inline PTX, each against plain C++, as
// GPUs do it. That is not what the ISA says where words of vmad are unsigned, upper halves merged, or large unsigned results saturated.
#include "check.h"

#include <algorithm>

// What is done with a and b, into r. In the text %0 is r, %1 a, %2 b and %3 c.
#define OPERATIONS(X)                                                                                                                      \
  X(addWords, "vadd.u32.u32.u32 %0, %1, %2;", std::uint32_t(ua + ub))                                                                      \
  X(addSaturated, "vadd.s32.s32.s32.sat %0, %1, %2;", std::uint32_t(clampSigned(sa + sb, 32)))                                             \
  X(addMixed, "vadd.s32.u32.s32.sat %0, %1, %2;", std::uint32_t(clampSigned(ua + sb, 32)))                                                 \
  X(subToUnsigned, "vsub.u32.s32.s32.sat %0, %1, %2;", std::uint32_t(clampUnsigned(sa - sb, 32)))                                          \
  X(subParts, "vsub.s32.u32.s32 %0, %1.b1, %2.h1;", std::uint32_t((ua >> 8 & 255) - (sb >> 16)))                                           \
  X(distance, "vabsdiff.u32.s32.s32 %0, %1, %2;", std::uint32_t(std::abs(sa - sb)))                                                        \
  X(distanceSum, "vabsdiff.u32.u32.u32.add %0, %1.b3, %2.b0, %3;", std::uint32_t(std::abs((ua >> 24) - (ub & 255)) + uc))                  \
  X(leastOfThree, "vmin.s32.s32.s32.min %0, %1, %2, %3;", std::uint32_t(std::min(std::min(sa, sb), sc)))                                   \
  X(middle, "vmax.s32.s32.s32.min %0, %1, %2, %3;", std::uint32_t(std::min(std::max(sa, sb), sc)))                                         \
  X(greatestUnsigned, "vmax.u32.u32.u32.max %0, %1, %2, %3;", std::uint32_t(std::max(std::max(ua, ub), uc)))                               \
  X(mergeByte, "vadd.u32.u32.u32.sat %0.b2, %1, %2, %3;", std::uint32_t((uc & 0xff00ffff) | clampUnsigned(ua + ub, 8) << 16))              \
  X(mergeHalf, "vmin.s32.s32.s32 %0.h1, %1, %2, %3;", std::uint32_t((uc & 0xffff) | (std::min(sa, sb) & 0xffff0000)))                      \
  X(mergeLowHalf, "vmin.s32.s32.s32 %0.h0, %1, %2, %3;", std::uint32_t((uc & 0xffff0000) | (std::min(sa, sb) & 0xffff)))                   \
  X(addUnsigned, "vadd.u32.u32.u32.sat %0, %1, %2;", std::uint32_t(ua + ub))                                                               \
  X(subByte, "vsub.u32.u32.u32.sat %0.b1, %1, %2, %3;", std::uint32_t((uc & ~0xff00) | (ua < ub ? 255 : clampUnsigned(ua - ub, 8)) << 8))  \
  X(leastUnsigned, "vmin.u32.u32.s32.min %0, %1, %2, %3;", std::uint32_t(std::min<unsigned long>(std::min(ua, sb), uc)))                   \
  X(shiftClamped, "vshl.u32.u32.u32.clamp %0, %1, %2;", std::uint32_t(ub > 31 ? 0 : ua << ub))                                             \
  X(shiftWrapped, "vshr.s32.s32.u32.wrap.add %0, %1, %2, %3;", std::uint32_t((sa >> (ub & 31)) + uc))                                      \
  X(multiplyAdd, "vmad.u32.u32.u32 %0, %1.h0, %2.h1, %3;", std::uint32_t((ua & 0xffff) * (ub >> 16) + uc))                                 \
  X(multiplyScaled, "vmad.s32.s32.s32.sat.shr15 %0, %1, %2.h0, %3;", std::uint32_t(clampSigned((sa * std::int16_t(ub) + sc) >> 15, 32)))   \
  X(multiplyPlusOne, "vmad.u32.u32.u32.po.shr7 %0, %1.b0, %2.b0, %3;", std::uint32_t(((ua & 255) * (ub & 255) + sc + 1) >> 7))             \
  X(multiplyWords, "vmad.u32.u32.u32.shr15 %0, %1, %2, %3;", std::uint32_t((sa * sb + sc) >> 15))                                          \
  X(multiplyUnsigned, "vmad.u32.u32.u32.sat %0, %1, %2, %3;", std::uint32_t(clampUnsigned(sa * sb + sc, 32)))                              \
  X(isLess, "vset.s32.s32.lt %0, %1, %2;", std::uint32_t(sa < sb))                                                                         \
  X(countGreater, "vset.u32.u32.ge.add %0, %1.b0, %2.b3, %3;", std::uint32_t(((ua & 255) >= (ub >> 24)) + uc))                             \
  X(bytesEqual, "vset4.u32.u32.eq %0, %1, %2, %3;", lanes(a, b, 8, [](long x, long y) { return x == y; }))                                 \
  X(halvesGreater, "vset2.s32.s32.gt %0, %1, %2, %3;", lanes(a, b, 16, [](long x, long y) { return std::int16_t(x) > std::int16_t(y); }))  \
  X(averageBytes, "vavrg4.u32.u32.u32 %0, %1, %2, %3;", lanes(a, b, 8, [](long x, long y) { return (x + y + 1) >> 1; }))                   \
  X(averageHalves, "vavrg2.u32.u32.u32 %0, %1, %2, %3;", lanes(a, b, 16, [](long x, long y) { return (x + y + 1) >> 1; }))

enum Operation {
#define NAME(name, ...) op_##name,
  OPERATIONS(NAME)
#undef NAME
  operationCount
};

const char* const kNames[] = {
#define TEXT(name, ...) #name,
    OPERATIONS(TEXT)
#undef TEXT
};

__global__ void compute(const unsigned* a, const unsigned* b, const unsigned* c, int n, unsigned* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned* const r = out + size_t(i) * operationCount;
#define RUN(name, text, ...) asm(text : "=r"(r[op_##name]) : "r"(a[i]), "r"(b[i]), "r"(c[i]));
  OPERATIONS(RUN)
#undef RUN
}

long clampSigned(long value, int bits) { return std::clamp(value, -(1l << (bits - 1)), (1l << (bits - 1)) - 1); }
long clampUnsigned(long value, int bits) { return std::clamp(value, 0l, (1l << bits) - 1); }

template <class Combine>
unsigned lanes(unsigned x, unsigned y, int bits, Combine combine) {
  const unsigned mask = (1u << bits) - 1;
  unsigned result = 0;
  for (int at = 0; at < 32; at += bits) result |= (unsigned(combine(x >> at & mask, y >> at & mask)) & mask) << at;
  return result;
}

int main() {
  std::vector<unsigned> as, bs, cs;
  const unsigned special[] = {0, 1, 31, 32, 0x7f, 0x80, 0x7fff, 0x8000, 0x7fffffff, 0x80000000, 0xffffffff, 0x00ff80ff};
  for (unsigned a : special)
    for (unsigned b : special) {
      as.push_back(a);
      bs.push_back(b);
      cs.push_back(special[(as.size() * 7) % 12]);
    }
  check::Random random(7);
  while (as.size() < 1000) {
    as.push_back(unsigned(random.next()));
    bs.push_back(unsigned(random.next()) >> random.below(32));
    cs.push_back(unsigned(random.next()));
  }
  const int n = int(as.size());
  auto* out = check::deviceArray<unsigned>(size_t(n) * operationCount);
  compute<<<(n + 127) / 128, 128>>>(check::toDevice(as), check::toDevice(bs), check::toDevice(cs), n, out);
  CHECK(cudaGetLastError());
  const auto got = check::toHost(out, size_t(n) * operationCount);
  for (int i = 0; i < n; ++i) {
    const unsigned a = as[i], b = bs[i];
    const long ua = a, ub = b, uc = cs[i], sa = int(a), sb = int(b), sc = int(cs[i]);
    const unsigned wanted[] = {
#define REFERENCE(name, text, ...) (__VA_ARGS__),
        OPERATIONS(REFERENCE)
#undef REFERENCE
    };
    for (int o = 0; o < operationCount && check::failures < 20; ++o) {
      if (got[size_t(i) * operationCount + o] == wanted[o]) continue;
      std::printf("%s(%#x, %#x, %#x) is %#x, should be %#x\n", kNames[o], a, b, cs[i], got[size_t(i) * operationCount + o], wanted[o]);
      ++check::failures;
    }
  }
  return check::done();
}
