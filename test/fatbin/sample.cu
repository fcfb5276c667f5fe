// Something of everything that makes fatbinary choose a layout: text long enough to compress, a variable, a string.
#include <cstdio>

__constant__ float weights[4] = {1, 2, 3, 4};
__device__ int calls;

__global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i] + weights[i & 3];
  if (i == 0) {
    atomicAdd(&calls, 1);
    printf("block %d of %d\n", blockIdx.x, gridDim.x);
  }
}

__global__ void twice(float* x) { x[threadIdx.x] *= 2; }
