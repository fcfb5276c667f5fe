// Integer intrinsics against plain C++: __popc, __clz, __ffs, __brev, __byte_perm, __mulhi, __mul24, __sad, __hadd,
// funnel shifts, __dp4a, their 64-bit forms, saturation, bit field extraction by shifts, video-like byte operations.
#include "check.h"

constexpr int kResults = 32;

__global__ void compute(const unsigned* xs, const unsigned* ys, const unsigned* zs, int n, unsigned long long* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned x = xs[i], y = ys[i], z = zs[i];
  unsigned long long wide = (unsigned long long)x << 32 | y, other = (unsigned long long)z << 32 | x;
  unsigned long long* r = out + i * kResults;
  r[0] = __popc(x);
  r[1] = __clz(x);
  r[2] = __ffs(x);
  r[3] = __brev(x);
  r[4] = __byte_perm(x, y, z & 0x7777);
  r[5] = unsigned(__mulhi(int(x), int(y)));
  r[6] = __umulhi(x, y);
  r[7] = unsigned(__mul24(int(x), int(y)));
  r[8] = __umul24(x, y);
  r[9] = __sad(int(x), int(y), z);
  r[10] = __usad(x, y, z);
  r[11] = unsigned(__hadd(int(x), int(y)));
  r[12] = unsigned(__rhadd(int(x), int(y)));
  r[13] = __uhadd(x, y);
  r[14] = __urhadd(x, y);
  r[15] = __funnelshift_l(x, y, z);
  r[16] = __funnelshift_r(x, y, z);
  r[17] = __funnelshift_lc(x, y, z & 63);
  r[18] = __funnelshift_rc(x, y, z & 63);
  r[19] = unsigned(__dp4a(int(x), int(y), int(z)));
  r[20] = __dp4a(x, y, z);
  r[21] = unsigned(__dp2a_lo(int(x), int(y), int(z)));
  r[22] = __dp2a_hi(x, y, z);
  r[23] = __popcll(wide);
  r[24] = __clzll(wide);
  r[25] = __ffsll(wide);
  r[26] = __brevll(wide);
  r[27] = __mul64hi((long long)wide, (long long)other);
  r[28] = __umul64hi(wide, other);
  r[29] = unsigned(abs(int(x) >> 1)) ^ unsigned(min(int(x), int(y))) ^ max(y, z);
  r[30] = (x >> (z & 31) & ((1u << (y & 15)) - 1)) | (unsigned long long)(int(x << (y & 31)) >> (y & 31)) << 32;
  r[31] = __vadd4(x, y) ^ __vabsdiffu4(y, z) ^ __vcmpgtu4(x, z) ^ __vmaxs2(x, y);
}

unsigned bytesOf(unsigned x, int i) { return x >> 8 * i & 255; }

void reference(unsigned x, unsigned y, unsigned z, unsigned long long* r) {
  typedef unsigned __int128 u128;
  typedef __int128 s128;
  unsigned long long wide = (unsigned long long)x << 32 | y, other = (unsigned long long)z << 32 | x;
  r[0] = __builtin_popcount(x);
  r[1] = x ? __builtin_clz(x) : 32;
  r[2] = __builtin_ffs(int(x));
  unsigned reversed = 0;
  for (int b = 0; b < 32; ++b) reversed |= (x >> b & 1) << (31 - b);
  r[3] = reversed;
  unsigned permuted = 0;
  for (int b = 0; b < 4; ++b) {
    unsigned selector = z >> 4 * b & 7;
    permuted |= (selector < 4 ? bytesOf(x, selector) : bytesOf(y, selector - 4)) << 8 * b;
  }
  r[4] = permuted;
  r[5] = unsigned((long long)int(x) * int(y) >> 32);
  r[6] = (unsigned long long)x * y >> 32;
  r[7] = unsigned((long long)(int(x << 8) >> 8) * (int(y << 8) >> 8));
  r[8] = unsigned((unsigned long long)(x & 0xffffff) * (y & 0xffffff));
  r[9] = unsigned(std::llabs((long long)int(x) - int(y)) + z);
  r[10] = unsigned((x > y ? x - y : y - x) + z);
  r[11] = unsigned(((long long)int(x) + int(y)) >> 1);
  r[12] = unsigned(((long long)int(x) + int(y) + 1) >> 1);
  r[13] = ((unsigned long long)x + y) >> 1;
  r[14] = ((unsigned long long)x + y + 1) >> 1;
  unsigned long long pair = (unsigned long long)y << 32 | x;
  r[15] = unsigned(pair << (z & 31) >> 32);
  r[16] = unsigned(pair >> (z & 31));
  unsigned clamped = (z & 63) > 32 ? 32 : z & 63;
  r[17] = unsigned((u128(pair) << clamped) >> 32);
  r[18] = unsigned(pair >> clamped);
  unsigned dotSigned = z, dotUnsigned = z;
  for (int b = 0; b < 4; ++b) {
    dotSigned += unsigned(int(static_cast<signed char>(bytesOf(x, b))) * static_cast<signed char>(bytesOf(y, b)));
    dotUnsigned += bytesOf(x, b) * bytesOf(y, b);
  }
  r[19] = dotSigned;
  r[20] = dotUnsigned;
  r[21] = z + unsigned(int(short(x)) * static_cast<signed char>(bytesOf(y, 0)) + int(short(x >> 16)) * static_cast<signed char>(bytesOf(y, 1)));
  r[22] = z + (x & 0xffff) * bytesOf(y, 2) + (x >> 16) * bytesOf(y, 3);
  r[23] = __builtin_popcountll(wide);
  r[24] = wide ? __builtin_clzll(wide) : 64;
  r[25] = __builtin_ffsll((long long)wide);
  unsigned long long reversedWide = 0;
  for (int b = 0; b < 64; ++b) reversedWide |= (wide >> b & 1) << (63 - b);
  r[26] = reversedWide;
  r[27] = (unsigned long long)(s128((long long)wide) * s128((long long)other) >> 64);
  r[28] = (unsigned long long)(u128(wide) * other >> 64);
  unsigned absolute = unsigned(std::abs(int(x) >> 1));
  r[29] = absolute ^ unsigned(int(x) < int(y) ? x : y) ^ (y > z ? y : z);
  r[30] = (x >> (z & 31) & ((1u << (y & 15)) - 1)) | (unsigned long long)(int(x << (y & 31)) >> (y & 31)) << 32;
  unsigned added = 0, difference = 0, greater = 0, largest = 0;
  for (int b = 0; b < 4; ++b) {
    unsigned p = bytesOf(x, b), q = bytesOf(y, b), s = bytesOf(z, b);
    added |= (p + q & 255) << 8 * b;
    difference |= (q > s ? q - s : s - q) << 8 * b;
    greater |= (p > s ? 255u : 0u) << 8 * b;
  }
  for (int h = 0; h < 2; ++h) {
    short p = short(x >> 16 * h), q = short(y >> 16 * h);
    largest |= unsigned(static_cast<unsigned short>(p > q ? p : q)) << 16 * h;
  }
  r[31] = added ^ difference ^ greater ^ largest;
}

int main() {
  const unsigned special[] = {0u, 1u, 2u, 0x7fffffffu, 0x80000000u, 0xffffffffu, 0xff00ff00u, 31u, 32u, 33u, 0x00800000u, 0x80808080u};
  const int count = sizeof special / sizeof *special;
  check::Random random(19);
  std::vector<unsigned> x, y, z;
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < count; ++j) {
      x.push_back(special[i]);
      y.push_back(special[j]);
      z.push_back(special[(i + 3 * j) % count]);
    }
  while (x.size() < 2000) {
    x.push_back(unsigned(random.next()) >> random.below(32));
    y.push_back(unsigned(random.next()) >> random.below(32));
    z.push_back(unsigned(random.next()) >> random.below(32));
  }
  const int n = int(x.size());
  auto* out = check::deviceArray<unsigned long long>(n * kResults);
  compute<<<(n + 63) / 64, 64>>>(check::toDevice(x), check::toDevice(y), check::toDevice(z), n, out);
  CHECK(cudaGetLastError());
  std::vector<unsigned long long> got = check::toHost(out, n * kResults), wanted(kResults);
  for (int i = 0; i < n && check::failures < 20; ++i) {
    reference(x[i], y[i], z[i], wanted.data());
    for (int r = 0; r < kResults; ++r) {
      if (got[i * kResults + r] == wanted[r]) continue;
      std::printf("operation %d of (%#x, %#x, %#x) gives %#llx, should be %#llx\n", r, x[i], y[i], z[i], got[i * kResults + r], wanted[r]);
      ++check::failures;
    }
  }
  return check::done();
}
