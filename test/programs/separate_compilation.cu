// A program of three parts that are compiled separately and linked (nvcc -rdc=true): functions, variables, constants, kernels, tables of functions and
// classes of one part used by others; names that belong to one part alone; what several parts bring of the same.
// nvcc: -rdc=true -Xnvlink -suppress-stack-size-warning
// parts: separate_numbers.cu separate_shapes.cu
#include <vector>

#include "check.h"
#include "parts/separate.h"

namespace {

constexpr int kThreads = 96;

// Two other parts have functions and variables of this name for themselves.
__device__ int own = 100;
__device__ int helper(int x) { return x + own; }

__global__ void callsOthers(int* out) {
  const int i = static_cast<int>(threadIdx.x);
  out[i] = numbers::power(i, 3) + helper(i) + numbers::table[i % numbers::kTable] + numbers::scale;
}

__global__ void throughPointers(int* out) {
  const int i = static_cast<int>(threadIdx.x);
  out[i] = numbers::operations[i % 3](i, 7);
}

__global__ void areas(double* out) {
  const int i = static_cast<int>(threadIdx.x);
  shapes::Storage storage;
  const shapes::Shape* shape = shapes::make(storage, i % 3, 1.0 + i);
  out[i] = shape->area() + 1000 * shape->corners();
}

__global__ void mutual(int* out) { out[threadIdx.x] = evenHere(static_cast<int>(threadIdx.x)); }

// The part sums in the same dynamic shared memory.
__global__ void sharedBetween(int* out) {
  extern __shared__ int words[];
  words[threadIdx.x] = static_cast<int>(threadIdx.x * threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = numbers::sumOfShared(static_cast<int>(blockDim.x));
}

__global__ void counts(unsigned* out) {
  numbers::count(threadIdx.x % 2 == 0);
  atomicAdd(&perProgram, 1u);
  *out = 0;
}

}  // namespace

// One half of a recursion that goes from part to part.
__device__ bool evenHere(int x) { return x == 0 || numbers::oddThere(x - 1); }

int main() {
  int* out = nullptr;
  double* real = nullptr;
  CHECK(cudaMalloc(&out, kThreads * sizeof(int)));
  CHECK(cudaMalloc(&real, kThreads * sizeof(double)));
  std::vector<int> got(kThreads);
  const auto fetch = [&] { CHECK(cudaMemcpy(got.data(), out, kThreads * sizeof(int), cudaMemcpyDeviceToHost)); };

  // A variable and a constant that another part defines.
  const int scale = 5;
  CHECK(cudaMemcpyToSymbol(numbers::scale, &scale, sizeof scale));
  int table[numbers::kTable];
  for (int i = 0; i < numbers::kTable; ++i) table[i] = 11 * i;
  CHECK(cudaMemcpyToSymbol(numbers::table, table, sizeof table));
  callsOthers<<<1, kThreads>>>(out);
  fetch();
  for (int i = 0; i < kThreads; ++i) EXPECT(got[i] == (i * i * i + i + 100 + 11 * (i % numbers::kTable) + 5));

  throughPointers<<<1, kThreads>>>(out);
  fetch();
  for (int i = 0; i < kThreads; ++i) EXPECT(got[i] == (i % 3 == 0 ? i + 7 : i % 3 == 1 ? i * 7 : i - 7));

  areas<<<1, kThreads>>>(real);
  std::vector<double> area(kThreads);
  CHECK(cudaMemcpy(area.data(), real, kThreads * sizeof(double), cudaMemcpyDeviceToHost));
  for (int i = 0; i < kThreads; ++i) {
    const double x = 1.0 + i;
    EXPECT(area[i] == (i % 3 == 0 ? x * x + 4000 : i % 3 == 1 ? x * x / 2 + 3000 : 3 * x * x));
  }

  mutual<<<1, 24>>>(out);
  fetch();
  for (int i = 0; i < 24; ++i) EXPECT(got[i] == (i % 2 == 0 ? 1 : 0));

  sharedBetween<<<1, kThreads, kThreads * sizeof(int)>>>(out);
  fetch();
  for (int i = 0; i < kThreads; ++i) EXPECT(got[i] == ((kThreads - 1) * kThreads * (2 * kThreads - 1) / 6));

  // Kernels of other parts, and one of a template that each of them has.
  EXPECT(numbers::launchOwn(out, kThreads) == cudaSuccess);
  fetch();
  for (int i = 0; i < kThreads; ++i) EXPECT(got[i] == (2 * i + 200));
  EXPECT(shapes::launchOwn(out, kThreads) == cudaSuccess);
  fetch();
  for (int i = 0; i < kThreads; ++i) EXPECT(got[i] == (3 * i + 300));
  filled<int><<<1, kThreads>>>(out, 9);
  fetch();
  for (int i = 0; i < kThreads; ++i) EXPECT(got[i] == (9 + i));
  EXPECT(numbers::launchFilled(out, kThreads, 4) == cudaSuccess);
  fetch();
  for (int i = 0; i < kThreads; ++i) EXPECT(got[i] == (4 + i));

  // What all parts have of the same is there once.
  counts<<<1, kThreads>>>(reinterpret_cast<unsigned*>(out));
  EXPECT(numbers::launchCount() == cudaSuccess);
  unsigned once = 0, even = 0;
  CHECK(cudaMemcpyFromSymbol(&once, perProgram, sizeof once));
  EXPECT(once == (unsigned{kThreads + 10}));
  CHECK(cudaMemcpyFromSymbol(&even, numbers::evens, sizeof even));
  EXPECT(even == (unsigned{kThreads / 2}));
  CHECK(cudaFree(out));
  CHECK(cudaFree(real));
  return check::done();
}
