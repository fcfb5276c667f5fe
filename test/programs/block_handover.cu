// Blocks that wait for the block before them, without a cooperative launch: one thread waits (volatile or atomic flag) and the others
// wait for it at a barrier, a chained scan, work handed round a ring, a grid barrier of the program's own, a lock that a block's leader
// holds between barriers; blocks that wait together, with __syncthreads, __syncthreads_or, __shfl_sync, __any_sync.
#include <algorithm>

#include "check.h"

constexpr unsigned kFull = 0xffffffffu;
constexpr int kThreads = 64, kResident = 8;  // so many small blocks are on any GPU at once

__device__ void await(int* flag, int value, bool atomic) {  // by one thread
  if (atomic) {
    while (atomicAdd(flag, 0) < value) {
    }
  } else {
    while (*const_cast<volatile int*>(flag) < value) {
    }
  }
  __threadfence();
}

__device__ void hand(int* flag, int value, bool atomic) {  // by one thread, after a barrier
  __threadfence();
  if (atomic)
    atomicExch(flag, value);
  else
    *const_cast<volatile int*>(flag) = value;
}

// Each block adds what all blocks before it have, and leaves its end in ends.
__global__ void chained(const int* in, int* out, int* ends, int* flags, bool atomic) {
  __shared__ int sums[kThreads / 32], before;
  int b = blockIdx.x, t = threadIdx.x, lane = t % 32, v = in[b * kThreads + t];
  for (int k = 1; k < 32; k *= 2) {
    int below = __shfl_up_sync(kFull, v, k);
    if (lane >= k) v += below;
  }
  if (lane == 31) sums[t / 32] = v;
  __syncthreads();
  for (int w = 0; w < t / 32; ++w) v += sums[w];
  if (t == 0) {
    if (b > 0) await(&flags[b - 1], 1, atomic);
    before = b > 0 ? *const_cast<volatile int*>(&ends[b - 1]) : 0;
  }
  __syncthreads();
  v += before;
  out[b * kThreads + t] = v;
  if (t == kThreads - 1) {
    ends[b] = v;
    hand(&flags[b], 1, atomic);
  }
}

// The whole of a row is handed from block to block, and round again.
__global__ void ring(int* row, int* turn, int rounds, bool atomic) {
  int t = threadIdx.x;
  for (int r = 0; r < rounds; ++r) {
    int mine = r * gridDim.x + blockIdx.x;
    if (t == 0) await(turn, mine, atomic);
    __syncthreads();
    int v = __ldcg(&row[t]), next = __ldcg(&row[(t + 1) % kThreads]);
    __syncthreads();
    row[t] = v * 3 + next % 7 + int(blockIdx.x);
    __syncthreads();
    if (t == 0) hand(turn, mine + 1, atomic);
  }
}

__device__ void gridBarrier(int* count, int round, bool atomic) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(count, 1);
    await(count, int(gridDim.x) * (round + 1), atomic);
  }
  __syncthreads();
}

__global__ void relax(int* a, int* b, int* count, int rounds, bool atomic) {
  int n = gridDim.x * kThreads, i = blockIdx.x * kThreads + threadIdx.x;
  for (int r = 0; r < rounds; ++r) {
    b[i] = __ldcg(&a[(i + n - 1) % n]) + 2 * __ldcg(&a[i]) - __ldcg(&a[(i + 1) % n]);
    gridBarrier(count, r, atomic);
    int* c = a;
    a = b;
    b = c;
  }
}

// The leader takes the lock, the block changes a row with plain loads and stores, the leader gives it back.
__global__ void locked(int* lock, volatile int* row, int times) {
  for (int k = 0; k < times; ++k) {
    if (threadIdx.x == 0) {
      while (atomicCAS(lock, 0, 1) != 0) __nanosleep(50);
      __threadfence();
    }
    __syncthreads();
    int v = row[(threadIdx.x + 1) % kThreads];
    __syncthreads();
    row[threadIdx.x] = v + 1;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicExch(lock, 0);
    }
  }
}

// All threads of the block ask until the block before has left its mark; each block makes the value from the one before.
template <int How>
__global__ void together(volatile int* flags, volatile unsigned* values) {
  __shared__ int seen;
  int b = blockIdx.x, t = threadIdx.x, v;
  if (b > 0) {
    volatile int* flag = &flags[b - 1];
    if (How == 0) {
      do {
        if (t == 0) seen = *flag;
        __syncthreads();
        v = seen;
        __syncthreads();
      } while (!v);
    } else if (How == 1) {
      while (true) {
        if (t == 0) seen = atomicAdd(const_cast<int*>(flag), 0);
        __syncthreads();
        if (seen) break;
        __syncthreads();
      }
    } else if (How == 2) {
      while (!__syncthreads_or(t == 0 && *flag)) {
      }
    } else if (How == 3) {
      do {
        v = 0;
        if (t % 32 == 0) v = *flag;
        v = __shfl_sync(kFull, v, 0);
      } while (!v);
    } else if (How == 4) {
      while (__any_sync(kFull, *flag == 0)) {
      }
    } else {
      while (__syncthreads_count(*flag) < int(blockDim.x)) {
      }
    }
    __threadfence();
  }
  __syncthreads();
  if (t == 0) {
    values[b] = (b > 0 ? values[b - 1] : 1) * 5 + b;
    __threadfence();
    flags[b] = 1;
  }
}

int main() {
  const int blocks = 60, n = blocks * kThreads, small = kResident * kThreads;
  check::Random random(76);
  std::vector<int> in(n), scan(n), row(kThreads), a(small), b(small);
  for (int i = 0; i < n; ++i) scan[i] = (i ? scan[i - 1] : 0) + (in[i] = int(random.below(1000)));
  int *din = check::toDevice(in), *out = check::deviceArray<int>(n), *ends = check::deviceArray<int>(n), *flags = check::deviceArray<int>(n);
  auto clear = [&] {
    CHECK(cudaMemset(flags, 0, n * sizeof(int)));
    CHECK(cudaMemset(ends, 0, n * sizeof(int)));
    CHECK(cudaMemcpy(out, din, n * sizeof(int), cudaMemcpyDeviceToDevice));
  };
  for (bool atomic : {false, true}) {
    clear();
    chained<<<blocks, kThreads>>>(din, out, ends, flags, atomic);
    CHECK(cudaGetLastError());
    check::equal("scan", check::toHost(out, n), scan);

    std::copy(in.begin(), in.begin() + kThreads, row.begin());
    for (int k = 0; k < 3 * kResident; ++k) {
      std::vector<int> old = row;
      for (int t = 0; t < kThreads; ++t) row[t] = int(unsigned(old[t]) * 3u + unsigned(old[(t + 1) % kThreads] % 7) + k % kResident);
    }
    clear();
    ring<<<kResident, kThreads>>>(out, flags, 3, atomic);
    CHECK(cudaGetLastError());
    check::equal("ring", check::toHost(out, kThreads), row);

    std::copy(in.begin(), in.begin() + small, a.begin());
    for (int r = 0; r < 6; ++r, a.swap(b))
      for (int i = 0; i < small; ++i) b[i] = a[(i + small - 1) % small] + 2 * a[i] - a[(i + 1) % small];
    clear();
    relax<<<kResident, kThreads>>>(out, ends, flags, 6, atomic);
    CHECK(cudaGetLastError());
    check::equal("own barrier", check::toHost(out, small), a);
  }
  clear();
  locked<<<kResident, kThreads>>>(flags, out, 4);
  CHECK(cudaGetLastError());
  for (int t = 0; t < kThreads; ++t) row[t] = in[(t + 4 * kResident) % kThreads] + 4 * kResident;
  check::equal("lock", check::toHost(out, kThreads), row);

  std::vector<unsigned> values(kResident);
  for (int k = 0; k < kResident; ++k) values[k] = (k ? values[k - 1] : 1) * 5 + k;
  unsigned* words = check::deviceArray<unsigned>(kResident);
  void (*kernels[])(volatile int*, volatile unsigned*) = {together<0>, together<1>, together<2>, together<3>, together<4>, together<5>};
  for (auto kernel : kernels) {
    clear();
    kernel<<<kResident, kThreads>>>(flags, words);
    CHECK(cudaGetLastError());
    check::equal("together", check::toHost(words, kResident), values);
  }
  return check::done();
}
