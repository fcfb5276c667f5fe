// Blocks that wait for one that comes after them, together: one thread looks, and what it saw comes to the others through shared memory, stored
// in a branch, volatile or added up with atomics, behind barriers. Eight blocks of 64 threads, which any GPU holds at once.
#include "check.h"

constexpr int kBlocks = 8, kThreads = 64;

// `How`: how what the first thread sees is handed on.
template <int How>
__global__ void waits(int* flag, int* out) {
  __shared__ int padding[8];
  __shared__ volatile int told;
  __shared__ int stop, seen;
  int t = threadIdx.x;
  if (t == 0) told = stop = seen = 0;
  padding[t % 8] = t % 8;
  __syncthreads();
  if (blockIdx.x == kBlocks - 1) {
    if (t == 0) {
      out[kThreads * kBlocks] = 17;
      __threadfence();
      atomicExch(flag, 1);
    }
  } else {
    for (;;) {
      if (t == 0) {
        int value = How == 0 || How == 2 ? *reinterpret_cast<volatile int*>(flag) : atomicAdd(flag, 0);
        __threadfence();
        if (How == 0) told = value;
        if (How == 1 && value != 0) stop = 1;
        if (How == 2) atomicOr(&seen, value);
        if (How == 3 && value > 0) told |= 2;
      }
      __syncthreads();
      if (How == 0 || How == 3 ? told != 0 : How == 1 ? stop != 0 : *reinterpret_cast<volatile int*>(&seen) != 0) break;
      __syncthreads();
    }
  }
  __threadfence();
  int got = *reinterpret_cast<volatile int*>(&out[kThreads * kBlocks]);
  out[blockIdx.x * kThreads + t] = (blockIdx.x == kBlocks - 1 ? 17 : got) * 100 + padding[(t + 3) % 8];
}

// Adds, looks, and takes back what it added, until the last block has added enough.
__global__ void taken_back(int* counter, int* out) {
  if (threadIdx.x == 0) {
    if (blockIdx.x == kBlocks - 1) {
      atomicAdd(counter, 1000);
    } else {
      while (atomicAdd(counter, 1) < 1000) atomicSub(counter, 1);
    }
  }
  __syncthreads();
  out[blockIdx.x * kThreads + threadIdx.x] = 3;
}

template <class Kernel>
void launch(Kernel kernel, int expected, bool padded) {
  int *flag, *out;
  CHECK(cudaMalloc(&flag, sizeof(int)));
  CHECK(cudaMalloc(&out, (kBlocks * kThreads + 1) * sizeof(int)));
  for (int round = 0; round < 3; ++round) {
    CHECK(cudaMemset(flag, 0, sizeof(int)));
    CHECK(cudaMemset(out, 0, (kBlocks * kThreads + 1) * sizeof(int)));
    kernel<<<kBlocks, kThreads>>>(flag, out);
    CHECK(cudaGetLastError());
    int found[kBlocks * kThreads];
    CHECK(cudaMemcpy(found, out, sizeof(found), cudaMemcpyDeviceToHost));
    for (int k = 0; k < kBlocks * kThreads; ++k) EXPECT(found[k] == expected + (padded ? (k % kThreads + 3) % 8 : 0));
  }
  CHECK(cudaFree(flag));
  CHECK(cudaFree(out));
}

int main() {
  launch(waits<0>, 1700, true);
  launch(waits<1>, 1700, true);
  launch(waits<2>, 1700, true);
  launch(waits<3>, 1700, true);
  launch(taken_back, 3, false);
  return check::done();
}
