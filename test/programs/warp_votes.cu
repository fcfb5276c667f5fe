// Votes, matches and reductions of a warp: ballot, any, all with partial masks, match_any, match_all, reduce_add/min/max/and/or/xor,
// activemask in divergent code, lane masks, __syncthreads_count/and/or, warps that are not full.
// nvcc: -arch=sm_80
#include <algorithm>

#include "check.h"

constexpr int kResults = 16;

__global__ void votes(const int* values, unsigned* out) {
  int t = threadIdx.x, lane = t % 32, v = values[blockIdx.x * blockDim.x + t];
  unsigned* r = out + (blockIdx.x * blockDim.x + t) * kResults;
  const unsigned full = 0xffffffffu;
  r[0] = __ballot_sync(full, v & 1);
  r[1] = __any_sync(full, v > 90);
  r[2] = __all_sync(full, v < 95);
  r[3] = __match_any_sync(full, v % 5);
  int same = -1;
  r[4] = __match_all_sync(full, v / 50, &same);
  r[5] = same;
  r[6] = __reduce_add_sync(full, unsigned(v));
  r[7] = unsigned(__reduce_min_sync(full, v - 50));
  r[8] = __reduce_max_sync(full, unsigned(v));
  r[9] = __reduce_xor_sync(full, unsigned(v) * 77u);
  // Halves of the warp vote apart from each other, each with its own mask.
  unsigned half = lane < 16 ? 0xffffu : 0xffff0000u;
  if (lane < 16)
    r[10] = __ballot_sync(half, v % 3 == 0);
  else
    r[10] = __ballot_sync(half, v % 3 == 1);
  r[11] = __match_any_sync(half, (unsigned long long)(v % 4) << 40);
  unsigned members = __ballot_sync(full, v % 2 == 0);
  r[12] = 0;
  if (v % 2 == 0) r[12] = __shfl_sync(members, v, __ffs(members) - 1);
  __syncwarp();
  unsigned mask;
  asm("mov.u32 %0, %%lanemask_le;" : "=r"(mask));
  r[13] = mask;
  r[14] = __reduce_or_sync(full, 1u << (v % 32)) ^ __reduce_and_sync(full, unsigned(v) | 1u << lane);
  r[15] = 0;
}

__global__ void blockVotes(const int* values, int* out) {
  int v = values[threadIdx.x];
  out[threadIdx.x * 3] = __syncthreads_count(v % 3 == 0);
  out[threadIdx.x * 3 + 1] = __syncthreads_and(v >= 0) != 0;
  out[threadIdx.x * 3 + 2] = __syncthreads_or(v == 1000000) != 0;
}

// Only those inside the branch are active; the mask names no other lane and names oneself.
__global__ void active(int* wrong) {
  int lane = threadIdx.x % 32;
  bool in = lane % 3 == 1;
  if (in) {
    unsigned mask = __activemask();
    if (!(mask >> lane & 1)) atomicAdd(wrong, 1);
    for (int l = 0; l < 32; ++l)
      if ((mask >> l & 1) && l % 3 != 1) atomicAdd(wrong, 1);
    __syncwarp(mask);
  }
}

int main() {
  const int blocks = 6, threads = 96, n = blocks * threads;
  check::Random random(34);
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i) values[i] = int(random.below(i / 32 % 2 ? 100 : 90));
  for (int i = 64; i < 96; ++i) values[i] = 1000 + i;  // all alike for match_all, half of them odd
  unsigned* out = check::deviceArray<unsigned>(n * kResults);
  int* device = check::toDevice(values);
  votes<<<blocks, threads>>>(device, out);
  CHECK(cudaGetLastError());
  std::vector<unsigned> wanted(n * kResults);
  for (int i = 0; i < n; ++i) {
    const int* w = &values[i / 32 * 32];
    unsigned* r = &wanted[i * kResults];
    int v = values[i], lane = i % 32;
    r[2] = 1;
    r[7] = 1000000;
    unsigned members = 0, ors = 0, ands = ~0u;
    int low = 1 << 30;
    bool alike = true;
    for (int l = 0; l < 32; ++l) {
      r[0] |= (w[l] & 1u) << l;
      r[1] |= w[l] > 90;
      r[2] &= w[l] < 95;
      r[3] |= unsigned(w[l] % 5 == v % 5) << l;
      alike &= w[l] / 50 == v / 50;
      r[6] += w[l];
      low = std::min(low, w[l] - 50);
      r[8] = std::max(r[8], unsigned(w[l]));
      r[9] ^= unsigned(w[l]) * 77u;
      if (l / 16 == lane / 16) {
        r[10] |= unsigned(w[l] % 3 == (lane < 16 ? 0 : 1)) << l;
        r[11] |= unsigned(w[l] % 4 == v % 4) << l;
      }
      members |= unsigned(w[l] % 2 == 0) << l;
      ors |= 1u << (w[l] % 32);
      ands &= unsigned(w[l]) | 1u << l;
    }
    r[4] = alike ? ~0u : 0;
    r[5] = alike;
    r[7] = unsigned(low);
    r[12] = v % 2 == 0 ? unsigned(w[__builtin_ctz(members)]) : 0;
    r[13] = unsigned((2ull << lane) - 1);
    r[14] = ors ^ ands;
  }
  check::equal("votes", check::toHost(out, n * kResults), wanted);

  for (int size : {96, 70, 5}) {  // the last warps are not full
    int* result = check::deviceArray<int>(3 * size);
    blockVotes<<<1, size>>>(device, result);
    CHECK(cudaGetLastError());
    int thirds = 0;
    for (int i = 0; i < size; ++i) thirds += values[i] % 3 == 0;
    std::vector<int> expected;
    for (int i = 0; i < size; ++i) expected.insert(expected.end(), {thirds, 1, 0});
    check::equal("block votes", check::toHost(result, 3 * size), expected);
  }
  int* wrong = check::deviceArray<int>(1);
  CHECK(cudaMemset(wrong, 0, sizeof(int)));
  active<<<4, 64>>>(wrong);
  CHECK(cudaGetLastError());
  EXPECT(check::toHost(wrong, 1)[0] == 0);
  return check::done();
}
