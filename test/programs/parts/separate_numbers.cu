#include "separate.h"

namespace numbers {

__device__ int scale = 1;
__device__ unsigned evens = 0;
__constant__ int table[kTable] = {1, 2, 3, 4, 5, 6, 7};

static __device__ int own = 200;
static __device__ int helper(int x) { return 2 * x + own; }

static __device__ int add(int a, int b) { return a + b; }
static __device__ int multiply(int a, int b) { return a * b; }
static __device__ int subtract(int a, int b) { return a - b; }
__device__ Operation operations[3] = {add, multiply, subtract};

__device__ int power(int x, int n) {
  int result = 1;
  while (n-- > 0) result *= x;
  return result;
}

__device__ bool oddThere(int x) { return x != 0 && evenHere(x - 1); }

__device__ int sumOfShared(int count) {
  extern __shared__ int words[];
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += words[i];
  return sum;
}

__device__ void count(bool even) {
  if (even) atomicAdd(&evens, 1u);
}

namespace {

__global__ void ownKernel(int* out) { out[threadIdx.x] = helper(static_cast<int>(threadIdx.x)); }
__global__ void countKernel() { atomicAdd(&perProgram, 1u); }

}  // namespace

cudaError_t launchOwn(int* out, int threads) {
  ownKernel<<<1, threads>>>(out);
  return cudaDeviceSynchronize();
}

cudaError_t launchFilled(int* out, int threads, int first) {
  filled<int><<<1, threads>>>(out, first);
  return cudaDeviceSynchronize();
}

cudaError_t launchCount() {
  countKernel<<<1, 10>>>();
  return cudaDeviceSynchronize();
}

}  // namespace numbers
