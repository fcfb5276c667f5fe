// Least-significant-digit radix sort, 4 bits a pass: digit counts a block, scan, stable scatter with ranks from ballots.
#include <algorithm>
#include <numeric>

#include "check.h"

constexpr int kThreads = 128, kDigits = 16;

__global__ void countDigits(const unsigned* keys, int n, int shift, unsigned* counts) {
  __shared__ unsigned local[kDigits];
  if (threadIdx.x < kDigits) local[threadIdx.x] = 0;
  __syncthreads();
  int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n) atomicAdd(&local[keys[i] >> shift & 15], 1u);
  __syncthreads();
  if (threadIdx.x < kDigits) counts[threadIdx.x * gridDim.x + blockIdx.x] = local[threadIdx.x];
}

__global__ void scanCounts(unsigned* counts, int n) {
  __shared__ unsigned sums[256];
  unsigned carry = 0;
  for (int base = 0; base < n; base += 256) {
    int i = base + threadIdx.x;
    unsigned value = i < n ? counts[i] : 0;
    sums[threadIdx.x] = value;
    __syncthreads();
    for (int offset = 1; offset < 256; offset *= 2) {
      unsigned below = int(threadIdx.x) >= offset ? sums[threadIdx.x - offset] : 0;
      __syncthreads();
      sums[threadIdx.x] += below;
      __syncthreads();
    }
    if (i < n) counts[i] = carry + sums[threadIdx.x] - value;
    carry += sums[255];
    __syncthreads();
  }
}

__global__ void scatter(const unsigned* keys, const int* values, int n, int shift, const unsigned* offsets, unsigned* keysOut,
                        int* valuesOut) {
  __shared__ unsigned warpCounts[kThreads / 32][kDigits];
  int i = blockIdx.x * kThreads + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int k = threadIdx.x; k < kThreads / 32 * kDigits; k += kThreads) warpCounts[k / kDigits][k % kDigits] = 0;
  __syncthreads();
  bool valid = i < n;
  unsigned key = valid ? keys[i] : 0, digit = key >> shift & 15;
  unsigned peers = __ballot_sync(0xffffffffu, valid);
  for (int bit = 0; bit < 4; ++bit) {
    unsigned ones = __ballot_sync(0xffffffffu, digit >> bit & 1);
    peers &= (digit >> bit & 1) ? ones : ~ones;
  }
  unsigned rank = __popc(peers & ((1u << lane) - 1));
  if (valid && rank == 0) warpCounts[warp][digit] = __popc(peers);
  __syncthreads();
  if (!valid) return;
  unsigned before = 0;
  for (int w = 0; w < warp; ++w) before += warpCounts[w][digit];
  unsigned to = offsets[digit * gridDim.x + blockIdx.x] + before + rank;
  keysOut[to] = key;
  valuesOut[to] = values[i];
}

int main() {
  const int n = 20011, blocks = (n + kThreads - 1) / kThreads;
  check::Random random(13);
  std::vector<unsigned> keys(n);
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i) {
    keys[i] = unsigned(random.next()) & (i % 3 ? 0xffffffffu : 0xff00ffu);
    values[i] = i;
  }
  unsigned *a = check::toDevice(keys), *b = check::deviceArray<unsigned>(n), *counts = check::deviceArray<unsigned>(kDigits * blocks);
  int *va = check::toDevice(values), *vb = check::deviceArray<int>(n);
  for (int shift = 0; shift < 32; shift += 4) {
    countDigits<<<blocks, kThreads>>>(a, n, shift, counts);
    scanCounts<<<1, 256>>>(counts, kDigits * blocks);
    scatter<<<blocks, kThreads>>>(a, va, n, shift, counts, b, vb);
    CHECK(cudaGetLastError());
    std::swap(a, b);
    std::swap(va, vb);
  }
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int x, int y) { return keys[x] < keys[y]; });
  std::vector<unsigned> sorted(n);
  for (int i = 0; i < n; ++i) sorted[i] = keys[order[i]];
  check::equal("keys", check::toHost(a, n), sorted);
  check::equal("values (stable)", check::toHost(va, n), order);
  return check::done();
}
