// Hints for caches beside loads, stores, copies and atomic operations, which change no result (Marlin's kernels copy with them), and cvt.pack of four bits. All of it is of compute_80 and up.
// nvcc: -arch=compute_80
#include "check.h"

__global__ void hinted(const unsigned* in, unsigned* out, unsigned* sums, unsigned n) {
  __shared__ alignas(16) unsigned tile[4 * 64];
  const unsigned t = threadIdx.x, to = static_cast<unsigned>(__cvta_generic_to_shared(&tile[4 * t]));
  unsigned long long first, last, unchanged;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(first));
  asm("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %0, 0.5;" : "=l"(last));
  asm("createpolicy.fractional.L2::evict_unchanged.b64 %0, 1.0;" : "=l"(unchanged));
  if (t % 3 == 0)
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(to), "l"(in + 4 * t), "l"(first) : "memory");
  else if (t % 3 == 1)
    asm volatile("cp.async.ca.shared.global.L2::cache_hint.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(in + 4 * t), "l"(last) : "memory");
  else
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(to), "l"(in + 4 * t), "r"(8), "l"(first) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  unsigned a, b;
  asm volatile("ld.global.L2::cache_hint.u32 %0, [%1], %2;" : "=r"(a) : "l"(in + 4 * t), "l"(last) : "memory");
  asm volatile("atom.global.add.L2::cache_hint.u32 %0, [%1], %2, %3;" : "=r"(b) : "l"(sums), "r"(a), "l"(first) : "memory");
  asm volatile("red.global.max.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(sums + 1), "r"(a), "l"(unchanged) : "memory");
  asm volatile("atom.global.exch.L2::cache_hint.b32 %0, [%1], %2, %3;" : "=r"(b) : "l"(sums + 2), "r"(77), "l"(first) : "memory");
  (void)b;
  const int x = static_cast<int>(t) - 32, y = 3 * x;
  unsigned packed = 0xabcdef12, unsignedPacked = 5;
  asm("cvt.pack.sat.s4.s32.b32 %0, %1, %2, %3;" : "=r"(packed) : "r"(x), "r"(y), "r"(packed));
  asm("cvt.pack.sat.u4.s32.b32 %0, %1, %2, %3;" : "=r"(unsignedPacked) : "r"(x), "r"(y), "r"(unsignedPacked));
  for (unsigned k = 0; k < 4; ++k) asm volatile("st.global.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(out + 6 * t + k), "r"(tile[4 * t + k]), "l"(last) : "memory");
  out[6 * t + 4] = packed;
  out[6 * t + 5] = unsignedPacked;
}

int clamp(int value, int least, int most) { return value < least ? least : value > most ? most : value; }

int main() {
  const unsigned threads = 64, n = 4 * threads;
  std::vector<unsigned> in(n), wanted(6 * threads), wantedSums{0, 0, 77};
  for (unsigned i = 0; i < n; ++i) in[i] = i * 2654435761u;
  for (unsigned t = 0; t < threads; ++t) {
    for (unsigned k = 0; k < 4; ++k) wanted[6 * t + k] = t % 3 == 2 && k >= 2 ? 0 : in[4 * t + k];
    wantedSums[0] += in[4 * t];
    wantedSums[1] = wantedSums[1] < in[4 * t] ? in[4 * t] : wantedSums[1];
    const int x = int(t) - 32, y = 3 * x;
    wanted[6 * t + 4] = 0xabcdef12u << 8 | (clamp(x, -8, 7) & 15) << 4 | (clamp(y, -8, 7) & 15);
    wanted[6 * t + 5] = 5u << 8 | clamp(x, 0, 15) << 4 | clamp(y, 0, 15);
  }
  unsigned *dIn, *out, *sums;
  CHECK(cudaMalloc(&dIn, n * sizeof(unsigned)));
  CHECK(cudaMalloc(&out, wanted.size() * sizeof(unsigned)));
  CHECK(cudaMalloc(&sums, 3 * sizeof(unsigned)));
  CHECK(cudaMemset(sums, 0, 3 * sizeof(unsigned)));
  CHECK(cudaMemcpy(dIn, in.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice));
  hinted<<<1, threads>>>(dIn, out, sums, n);
  std::vector<unsigned> found(wanted.size()), foundSums(3);
  CHECK(cudaMemcpy(found.data(), out, found.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(foundSums.data(), sums, 3 * sizeof(unsigned), cudaMemcpyDeviceToHost));
  check::equal("copied and packed", found, wanted);
  check::equal("sums", foundSums, wantedSums);
  return check::done();
}
