// 64- and 128-bit integers: carries through inline PTX (add.cc, addc, mad with carry), long multiplication, division and
// remainder of all widths and signs, multiword modular exponentiation.
#include "check.h"

struct Wide {
  unsigned word[8];  // 256 bits
};

__device__ Wide add(const Wide& a, const Wide& b) {
  Wide r;
  asm("add.cc.u32 %0, %8, %16;\n\taddc.cc.u32 %1, %9, %17;\n\taddc.cc.u32 %2, %10, %18;\n\taddc.cc.u32 %3, %11, %19;\n\t"
      "addc.cc.u32 %4, %12, %20;\n\taddc.cc.u32 %5, %13, %21;\n\taddc.cc.u32 %6, %14, %22;\n\taddc.u32 %7, %15, %23;"
      : "=r"(r.word[0]), "=r"(r.word[1]), "=r"(r.word[2]), "=r"(r.word[3]), "=r"(r.word[4]), "=r"(r.word[5]), "=r"(r.word[6]), "=r"(r.word[7])
      : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(a.word[4]), "r"(a.word[5]), "r"(a.word[6]), "r"(a.word[7]),
        "r"(b.word[0]), "r"(b.word[1]), "r"(b.word[2]), "r"(b.word[3]), "r"(b.word[4]), "r"(b.word[5]), "r"(b.word[6]), "r"(b.word[7]));
  return r;
}

__device__ unsigned long long subtract128(unsigned long long lowA, unsigned long long highA, unsigned long long lowB,
                                          unsigned long long highB, unsigned long long* high) {
  unsigned long long low;
  asm("sub.cc.u64 %0, %2, %4;\n\tsubc.u64 %1, %3, %5;" : "=l"(low), "=l"(*high) : "l"(lowA), "l"(highA), "l"(lowB), "l"(highB));
  return low;
}

// 128-bit product of 64-bit numbers from 32-bit multiply-adds with carry.
__device__ void multiply(unsigned long long a, unsigned long long b, unsigned long long* low, unsigned long long* high) {
  unsigned a0 = unsigned(a), a1 = unsigned(a >> 32), b0 = unsigned(b), b1 = unsigned(b >> 32), r0, r1, r2, r3;
  asm("mul.lo.u32 %0, %4, %6;\n\t"
      "mul.hi.u32 %1, %4, %6;\n\t"
      "mad.lo.cc.u32 %1, %5, %6, %1;\n\t"
      "madc.hi.u32 %2, %5, %6, 0;\n\t"
      "mad.lo.cc.u32 %1, %4, %7, %1;\n\t"
      "madc.hi.cc.u32 %2, %4, %7, %2;\n\t"
      "addc.u32 %3, 0, 0;\n\t"
      "mad.lo.cc.u32 %2, %5, %7, %2;\n\t"
      "madc.hi.u32 %3, %5, %7, %3;"
      : "=&r"(r0), "=&r"(r1), "=&r"(r2), "=&r"(r3)
      : "r"(a0), "r"(a1), "r"(b0), "r"(b1));
  *low = (unsigned long long)r1 << 32 | r0;
  *high = (unsigned long long)r3 << 32 | r2;
}

__global__ void compute(const unsigned long long* a, const unsigned long long* b, int n, Wide* sums, unsigned long long* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Wide x, y;
  for (int w = 0; w < 8; ++w) {
    x.word[w] = unsigned(a[(i + w) % n] >> (w & 1 ? 32 : 0));
    y.word[w] = unsigned(b[(i + w) % n] >> (w & 1 ? 32 : 0));
  }
  sums[i] = add(x, y);
  unsigned long long* r = out + i * 12;
  multiply(a[i], b[i], &r[0], &r[1]);
  r[2] = subtract128(a[i], b[i], b[i], a[i], &r[3]);
  r[4] = a[i] / (b[i] | 1);
  r[5] = a[i] % (b[i] | 1);
  r[6] = (long long)a[i] / ((long long)b[i] | 1);
  r[7] = (long long)a[i] % ((long long)b[i] | 1);
  r[8] = (unsigned long long)(unsigned(a[i]) / (unsigned(b[i]) | 1)) << 32 | unsigned(a[i]) % (unsigned(b[i]) | 1);
  r[9] = (unsigned long long)unsigned(int(a[i]) / (int(b[i] >> 40) | 1)) << 32 | unsigned(int(a[i]) % (int(b[i] >> 40) | 1));
  r[10] = (unsigned long long)(short(a[i]) / (short(b[i]) | 1)) ^ (signed char)(a[i]) % ((signed char)(b[i]) | 1);
  r[11] = (unsigned long long)((unsigned __int128)(a[i]) * b[i] % 0xffffffffffffffc5ull);
}

__host__ __device__ inline unsigned long long power(unsigned long long base, unsigned long long exponent, unsigned long long modulus) {
  unsigned long long result = 1;
  for (base %= modulus; exponent; exponent >>= 1) {
    if (exponent & 1) result = (unsigned long long)((unsigned __int128)result * base % modulus);
    base = (unsigned long long)((unsigned __int128)base * base % modulus);
  }
  return result;
}

// Miller-Rabin with fixed bases: exact for 64-bit numbers.
__global__ void primes(const unsigned long long* candidates, int n, int* prime) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long c = candidates[i];
  int twos = __ffsll((long long)(c - 1)) - 1, result = 1;
  for (unsigned long long base : {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37}) {
    if (c % base == 0) {
      result = c == base;
      break;
    }
    unsigned long long x = power(base, (c - 1) >> twos, c);
    int k = 0;
    while (k < twos && x != 1 && x != c - 1) {
      x = (unsigned long long)((unsigned __int128)x * x % c);
      ++k;
    }
    if (x == 1 ? k != 0 : x != c - 1 || k == twos) {
      result = 0;
      break;
    }
  }
  prime[i] = result;
}

int main() {
  const int n = 1500;
  check::Random random(20);
  std::vector<unsigned long long> a(n), b(n);
  for (int i = 0; i < n; ++i) {
    a[i] = i % 7 == 0 ? ~0ull - i / 7 : random.next() >> random.below(64);
    b[i] = i % 11 == 0 ? ~0ull : random.next() >> random.below(64);
    // INT64_MIN / -1 and INT_MIN / -1 are undefined: keep them out.
    if (a[i] == 1ull << 63) a[i] = 5;
    if (unsigned(a[i]) == 1u << 31) a[i] ^= 1;
  }
  Wide* sums = check::deviceArray<Wide>(n);
  auto* out = check::deviceArray<unsigned long long>(12 * n);
  compute<<<(n + 63) / 64, 64>>>(check::toDevice(a), check::toDevice(b), n, sums, out);
  CHECK(cudaGetLastError());
  std::vector<Wide> wantedSums(n);
  std::vector<unsigned long long> wanted(12 * n);
  for (int i = 0; i < n; ++i) {
    unsigned long long carry = 0;
    for (int w = 0; w < 8; ++w) {
      carry += (a[(i + w) % n] >> (w & 1 ? 32 : 0) & 0xffffffffu) + (b[(i + w) % n] >> (w & 1 ? 32 : 0) & 0xffffffffu);
      wantedSums[i].word[w] = unsigned(carry);
      carry >>= 32;
    }
    typedef unsigned __int128 u128;
    unsigned long long* r = &wanted[12 * i];
    u128 product = u128(a[i]) * b[i], difference = (u128(b[i]) << 64 | a[i]) - (u128(a[i]) << 64 | b[i]);
    r[0] = (unsigned long long)product;
    r[1] = (unsigned long long)(product >> 64);
    r[2] = (unsigned long long)difference;
    r[3] = (unsigned long long)(difference >> 64);
    r[4] = a[i] / (b[i] | 1);
    r[5] = a[i] % (b[i] | 1);
    r[6] = (long long)a[i] / ((long long)b[i] | 1);
    r[7] = (long long)a[i] % ((long long)b[i] | 1);
    r[8] = (unsigned long long)(unsigned(a[i]) / (unsigned(b[i]) | 1)) << 32 | unsigned(a[i]) % (unsigned(b[i]) | 1);
    r[9] = (unsigned long long)unsigned(int(a[i]) / (int(b[i] >> 40) | 1)) << 32 | unsigned(int(a[i]) % (int(b[i] >> 40) | 1));
    r[10] = (unsigned long long)(short(a[i]) / (short(b[i]) | 1)) ^ (signed char)(a[i]) % ((signed char)(b[i]) | 1);
    r[11] = (unsigned long long)(product % 0xffffffffffffffc5ull);
  }
  check::equal("sums", check::toHost(sums, n), wantedSums);
  check::equal("results", check::toHost(out, 12 * n), wanted);

  std::vector<unsigned long long> candidates;
  for (unsigned long long c = 3; c < 600; c += 2) candidates.push_back(c);
  for (unsigned long long c = (1ull << 61) - 21; c < (1ull << 61) + 21; c += 2) candidates.push_back(c);
  for (unsigned long long c = ~0ull - 100; c != 1 && c > 100; c += 2) candidates.push_back(c | 1);
  const int m = int(candidates.size());
  int* flags = check::deviceArray<int>(m);
  primes<<<(m + 63) / 64, 64>>>(check::toDevice(candidates), m, flags);
  CHECK(cudaGetLastError());
  std::vector<int> got = check::toHost(flags, m);
  for (int i = 0; i < m; ++i) {
    unsigned long long c = candidates[i];
    if (c < 600) {
      int prime = 1;
      for (unsigned long long d = 3; d * d <= c; d += 2)
        if (c % d == 0) prime = 0;
      EXPECT(got[i] == prime);
    } else if (c == (1ull << 61) - 1 || c == ~0ull - 58) {  // the largest primes below 2^61 and 2^64
      EXPECT(got[i] == 1);
    } else if (c < 1ull << 61 || c > ~0ull - 58) {
      EXPECT(got[i] == 0);
    }
  }
  return check::done();
}
