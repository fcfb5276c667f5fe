// clock(), clock64() and the global timer between shuffles, votes, barriers and cub's block radix sort: results are right, and no
// thread sees time fall.
#include <algorithm>
#include <cub/cub.cuh>

#include "check.h"

constexpr unsigned kFull = 0xffffffffu;
constexpr int kThreads = 128, kItems = 4;

__device__ unsigned long long globalTimer() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

// What a thread has read so far. clock() is the low half of what clock64() would be, so lies between two of them.
struct Watch {
  long long cycles;
  unsigned long long timer;
  int fell;
  __device__ void look() {
    long long before = clock64();
    unsigned low = unsigned(clock());
    long long now = clock64();
    unsigned long long t = globalTimer();
    fell += (before < cycles) + (now < before) + ((long long)(low - unsigned(before)) > now - before) + (t < timer);
    cycles = now;
    timer = t;
  }
};

__device__ Watch started() { return {clock64(), globalTimer(), 0}; }

// The sum of a strided part, timed by the leader as benchmarks do it; taken are cycles of each block.
__global__ void reduce(const int* in, int n, int* out, long long* taken, int* fell) {
  long long start = clock64();
  __shared__ int sums[32];
  Watch watch = started();
  int v = 0, t = threadIdx.x;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) v += in[i];
  for (int k = 16; k > 0; k /= 2) {
    v += __shfl_down_sync(kFull, v, k);
    watch.look();
  }
  if (t % 32 == 0) sums[t / 32] = v;
  __syncthreads();
  if (t < 32) {
    v = t < blockDim.x / 32 ? sums[t] : 0;
    for (int k = 16; k > 0; k /= 2) v += __shfl_down_sync(kFull, v, k);
    watch.look();
  }
  if (watch.fell) atomicAdd(fell, watch.fell);
  if (t == 0) {
    out[blockIdx.x] = v;
    taken[blockIdx.x] = clock64() - start;
  }
}

__global__ void sort(const unsigned* keys, unsigned* sorted, clock_t* starts, clock_t* stops, int* fell) {
  using Sort = cub::BlockRadixSort<unsigned, kThreads, kItems>;
  __shared__ typename Sort::TempStorage storage;
  unsigned mine[kItems];
  Watch watch = started();
  int first = (blockIdx.x * kThreads + threadIdx.x) * kItems;
  for (int k = 0; k < kItems; ++k) mine[k] = keys[first + k];
  clock_t start = clock();
  Sort(storage).Sort(mine);
  clock_t stop = clock();
  watch.look();
  for (int k = 0; k < kItems; ++k) sorted[first + k] = mine[k];
  if (threadIdx.x == 0) {
    starts[blockIdx.x] = start;
    stops[blockIdx.x] = stop;
  }
  if (watch.fell) atomicAdd(fell, watch.fell);
}

// Votes with a look at the clock between them, in loops and in branches; and waiting by the clock.
__global__ void votes(const unsigned* keys, unsigned* out, int* fell) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  unsigned v = keys[i], r = 0;
  Watch watch = started();
  for (int bit = 0; bit < 8; ++bit) {
    unsigned ballot = __ballot_sync(kFull, v >> bit & 1);
    watch.look();
    r = r * 33 + __popc(ballot & ((1u << lane) - 1));
    if (v >> bit & 1) {
      r += __shfl_sync(ballot, v >> 16, __ffs(ballot) - 1);
      watch.look();
    } else {
      r ^= unsigned(__all_sync(~ballot, (v & 3) == 0));
    }
  }
  long long start = clock64();
  while (__any_sync(kFull, clock64() - start < 200 + lane)) watch.look();
  r += __any_sync(kFull, clock64() - start < 200);  // never
  if (threadIdx.x == 0)
    while (clock64() - start < 2000) {
    }
  __syncthreads();
  watch.look();
  out[i] = r + __shfl_xor_sync(kFull, v, 1) % 3;
  if (watch.fell) atomicAdd(fell, watch.fell);
}

int main() {
  const int blocks = 12, n = blocks * kThreads * kItems;
  check::Random random(77);
  std::vector<unsigned> keys(n), sorted, wanted(n);
  std::vector<int> in(n);
  for (int i = 0; i < n; ++i) keys[i] = unsigned(random.next()), in[i] = int(random.below(1000));
  unsigned *dkeys = check::toDevice(keys), *out = check::deviceArray<unsigned>(n);
  int *din = check::toDevice(in), *sums = check::deviceArray<int>(blocks), *fell = check::deviceArray<int>(1);
  long long* taken = check::deviceArray<long long>(blocks);
  clock_t *starts = check::deviceArray<clock_t>(blocks), *stops = check::deviceArray<clock_t>(blocks);
  CHECK(cudaMemset(fell, 0, sizeof(int)));

  for (int threads : {128, 512}) {
    reduce<<<blocks, threads>>>(din, n, sums, taken, fell);
    CHECK(cudaGetLastError());
    std::vector<int> right(blocks);
    for (int i = 0; i < n; ++i) right[i / threads % blocks] += in[i];
    check::equal("sums", check::toHost(sums, blocks), right);
    for (long long t : check::toHost(taken, blocks)) EXPECT(t > 0 && t < 1000000000000ll);
  }

  sort<<<blocks, kThreads>>>(dkeys, out, starts, stops, fell);
  CHECK(cudaGetLastError());
  sorted = keys;
  for (int b = 0; b < blocks; ++b) std::sort(&sorted[b * kThreads * kItems], &sorted[0] + (b + 1) * kThreads * kItems);
  check::equal("sorted", check::toHost(out, n), sorted);
  std::vector<clock_t> from = check::toHost(starts, blocks), to = check::toHost(stops, blocks);
  for (int b = 0; b < blocks; ++b) EXPECT(to[b] != from[b]);

  for (int i = 0; i < n; ++i) {
    const unsigned *w = &keys[i / 32 * 32], v = keys[i];
    unsigned& r = wanted[i];
    for (int bit = 0; bit < 8; ++bit) {
      unsigned below = 0, others = 1;
      int first = -1;
      for (int l = 0; l < 32; ++l) {
        if (w[l] >> bit & 1) {
          below += l < i % 32;
          if (first < 0) first = l;
        } else {
          others &= (w[l] & 3) == 0;
        }
      }
      r = r * 33 + below;
      if (v >> bit & 1)
        r += w[first] >> 16;
      else
        r ^= others;
    }
    r += w[i % 32 ^ 1] % 3;
  }
  votes<<<n / 128, 128>>>(dkeys, out, fell);
  CHECK(cudaGetLastError());
  check::equal("votes", check::toHost(out, n), wanted);
  EXPECT(check::toHost(fell, 1)[0] == 0);
  return check::done();
}
