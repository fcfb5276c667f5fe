// Branches, loops, shared memory, atomics, calls, variables: what most kernels are made of.
#include <cstdio>

struct Pair {
  int first;
  double second;
  char tail[13];
};

__constant__ float coefficients[4] = {1, 2, 3, 4};
__device__ int counter = 5;
__device__ int* counterAddress = &counter;

using Function = float (*)(float);
__device__ float twice(float x) { return x * 2; }
__device__ float exponential(float x) { return expf(x); }
__device__ Function functions[2] = {twice, exponential};

extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void strideSum(const float* x, float* out, int n) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  atomicAdd(out, sum);
}

// Each thread reads only what it wrote itself, so threads may run in any order.
extern "C" __global__ void sharedCopy(const int* in, int* out) {
  __shared__ int fixed[64];
  extern __shared__ int dynamic[];
  fixed[threadIdx.x] = in[threadIdx.x];
  dynamic[threadIdx.x] = fixed[threadIdx.x] * 3;
  __syncthreads();
  out[threadIdx.x] = dynamic[threadIdx.x] + fixed[threadIdx.x];
}

extern "C" __global__ void histogram(const unsigned* values, unsigned* bins, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[values[i] & 15], 1u);
}

extern "C" __global__ void indirect(float* x, int which) {
  x[threadIdx.x] = functions[which](x[threadIdx.x]) + coefficients[which];
  if (threadIdx.x == 0) printf("indirect %d\n", which);
  atomicAdd(counterAddress, 1);
}

__device__ __noinline__ Pair changed(Pair pair) {
  pair.first += 1;
  pair.second *= 2;
  pair.tail[12] ^= 1;
  return pair;
}
extern "C" __global__ void structures(Pair pair, Pair* out) { out[threadIdx.x] = changed(pair); }

__device__ __noinline__ unsigned long long factorial(unsigned n) { return n < 2 ? 1 : n * factorial(n - 1); }
extern "C" __global__ void recursion(unsigned long long* out) { out[threadIdx.x] = factorial(threadIdx.x); }

extern "C" __global__ void positions(unsigned* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] =
      threadIdx.x | threadIdx.y << 4 | threadIdx.z << 8 | blockIdx.x << 12 | blockIdx.y << 16 | blockIdx.z << 20;
}

extern "C" __global__ void localArray(const int* in, int* out, int n) {
  int values[16];
  for (int i = 0; i < n; ++i) values[(i * 7) & 15] = in[i] + threadIdx.x;
  int sum = 0;
  for (int i = 0; i < n; ++i) sum = sum * 3 + values[i];
  out[threadIdx.x] = sum;
}

extern "C" __global__ void choose(const int* in, int* out) {
  switch (in[threadIdx.x]) {
    case 0: out[threadIdx.x] = 11; break;
    case 1: out[threadIdx.x] = in[0] - 5; break;
    case 2: out[threadIdx.x] = threadIdx.x * 3; break;
    case 3: out[threadIdx.x] = 1 << threadIdx.x; break;
    case 4: out[threadIdx.x] = ~7; break;
    case 5: out[threadIdx.x] = 99; break;
    default: out[threadIdx.x] = -1;
  }
}

// Waits for a flag: must let other threads run.
extern "C" __global__ void waitForFlag(volatile int* flag, int* out) {
  if (threadIdx.x == 0) {
    *flag = 1;
  } else {
    while (*flag == 0) {
    }
  }
  out[threadIdx.x] = 1;
}

// A retry of compare-and-swap waits for nobody.
extern "C" __global__ void multiplyAll(unsigned long long* product) {
  unsigned long long seen = *product, expected;
  do {
    expected = seen;
    seen = atomicCAS(product, expected, expected * 3);
  } while (seen != expected);
}

extern "C" __global__ void misaligned(char* bytes, int offset) { *reinterpret_cast<int*>(bytes + offset) = 1; }
extern "C" __global__ void misalignedAtomic(char* bytes, int offset) { atomicAdd(reinterpret_cast<int*>(bytes + offset), 1); }
extern "C" __global__ void stop() { __trap(); }
