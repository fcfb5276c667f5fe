// What the parts of separate_compilation.cu know of each other.
#pragma once

#include <cuda_runtime.h>

namespace numbers {

constexpr int kTable = 7;
using Operation = int (*)(int, int);

extern __device__ int scale;
extern __device__ unsigned evens;
extern __constant__ int table[kTable];
extern __device__ Operation operations[3];

__device__ int power(int x, int n);
__device__ bool oddThere(int x);
__device__ int sumOfShared(int count);
__device__ void count(bool even);
cudaError_t launchOwn(int* out, int threads);
cudaError_t launchFilled(int* out, int threads, int first);
cudaError_t launchCount();

}  // namespace numbers

namespace shapes {

class Shape {
 public:
  __device__ virtual double area() const = 0;
  __device__ virtual int corners() const = 0;
};

struct Storage {
  alignas(16) unsigned char bytes[32];
};

__device__ const Shape* make(Storage& storage, int kind, double size);
cudaError_t launchOwn(int* out, int threads);

}  // namespace shapes

__device__ bool evenHere(int x);

// Each part that includes this has one; linked, there is one.
inline __device__ unsigned perProgram;

template <class T>
__global__ void filled(T* out, T first) {
  out[threadIdx.x] = first + static_cast<T>(threadIdx.x);
}
