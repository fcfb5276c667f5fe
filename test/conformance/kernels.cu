// Kernels for the conformance suite, loaded as nvcc packs them.
#include <cassert>
#include <cooperative_groups.h>
#include <cstdio>

__device__ int counter = 41;
__constant__ float coefficients[4] = {1, 10, 100, 1000};
__device__ int table[5] = {2, 3, 5, 7, 11};
__device__ int* pointerToThird = &table[2];
__device__ unsigned char untouched[1000];

extern "C" __global__ void saxpy(float a, const float* x, float* y, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void blockSum(const int* in, int* out) {
  extern __shared__ int data[];
  data[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half != 0; half /= 2) {
    if (threadIdx.x < half) data[threadIdx.x] += data[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = data[0];
}

extern "C" __global__ void variables(float* out) {
  out[0] = static_cast<float>(atomicAdd(&counter, 1));
  for (int i = 0; i < 4; ++i) out[1 + i] = coefficients[i];
  out[5] = static_cast<float>(*pointerToThird);
  int sum = 0;
  for (int i = 0; i < 1000; ++i) sum += untouched[i];
  out[6] = static_cast<float>(sum);
}

extern "C" __global__ void print(int value) {
  if (threadIdx.x == 0) printf("block %d of %u: %d %s\n", blockIdx.x, gridDim.x, value, "text");
}

// Prints on both sides of a wait.
extern "C" __global__ void printAround(volatile unsigned* flag, int value) {
  printf("before %d\n", value);
  while (*flag == 0) {
  }
  printf("after %d\n", value);
}

extern "C" __global__ void store(int* where) { where[blockIdx.x * blockDim.x + threadIdx.x] = 7; }

// One word every `stride`, from each block.
extern "C" __global__ void storeApart(int* where, unsigned stride, int value) { where[blockIdx.x * stride] = value; }

extern "C" __global__ void assertEqual(int a, int b) { assert(a == b); }

extern "C" __global__ void trap() { __trap(); }

// Ends when the flag is set: by a copy on another stream, by the host, or by another kernel.
extern "C" __global__ void waitForFlag(volatile unsigned* flag, unsigned* seen) {
  while (*flag == 0) {
  }
  if (threadIdx.x == 0) seen[blockIdx.x] = *flag;
}

extern "C" __global__ void setFlag(volatile unsigned* flag) { *flag = 9; }

// A frame of kWords words in local memory: which of them is added up only the data says.
template <int kWords>
__device__ void sumFrame(const unsigned* order, unsigned* out) {
  unsigned frame[kWords];
  for (unsigned i = 0; i < kWords; ++i) frame[order[i % 32] % kWords] = i;
  unsigned sum = 0;
  for (unsigned i = 0; i < kWords; ++i) sum += i < 32 ? frame[order[i] % kWords] : 1;
  *out = sum;
}
extern "C" __global__ void frameOf3Kb(const unsigned* order, unsigned* out) { sumFrame<768>(order, out); }

// Never ends, and looks at nothing.
extern "C" __global__ void forever(unsigned* out) {
  unsigned value = 1;
  while (value != 0) value = value * 5 | 1;
  *out = value;
}

extern "C" __global__ void gridSync(unsigned* counters, unsigned rounds) {
  auto grid = cooperative_groups::this_grid();
  for (unsigned round = 0; round < rounds; ++round) {
    if (threadIdx.x == 0) atomicAdd(&counters[round], 1);
    grid.sync();
    if (counters[round] != gridDim.x) __trap();
  }
}

extern "C" __global__ void burn(unsigned* out, unsigned rounds) {
  unsigned value = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned i = 0; i < rounds; ++i) value = value * 1664525u + 1013904223u;
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}
