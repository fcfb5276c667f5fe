// Variables of the module: initialised __device__ scalars, arrays and structs, pointers to other variables, __constant__ tables,
// copies to and from symbols with offsets, addresses and sizes, the asynchronous forms, a variable of a template, statics in kernels.
#include "check.h"

struct Config {
  int id;
  double scale;
  const int* table;
};

__device__ int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__device__ int* middle = &primes[4];
__device__ Config config = {42, 2.5, primes};
__constant__ float weights[4] = {0.5f, 1.5f, -2.0f, 4.0f};
__constant__ char title[] = "constant text";
__device__ unsigned long long counter;
template <int kN>
__device__ int generation = kN;

__global__ void readAll(int* out) {
  out[0] = primes[3];
  out[1] = *middle;
  out[2] = config.id;
  out[3] = int(config.scale * 10);
  out[4] = config.table[7];
  out[5] = int(weights[0] + weights[1] + weights[2] + weights[3]);
  int length = 0;
  while (title[length]) ++length;
  out[6] = length;
  out[7] = generation<5> + generation<7>;
}

__global__ void bump(int times) {
  static __device__ int calls = 100;
  for (int i = 0; i < times; ++i) atomicAdd(&counter, 1ull << 32 | 1);
  if (threadIdx.x == 0) primes[0] = ++calls;
}

int main() {
  int* out = check::deviceArray<int>(8);
  readAll<<<1, 1>>>(out);
  CHECK(cudaGetLastError());
  check::equal("initial", check::toHost(out, 8), std::vector<int>{7, 11, 42, 25, 19, 4, 13, 12});

  int two[2] = {101, 103};
  CHECK(cudaMemcpyToSymbol(primes, two, sizeof two, 3 * sizeof(int)));
  float heavy = 64;
  CHECK(cudaMemcpyToSymbol(weights, &heavy, sizeof heavy, sizeof(float)));
  Config changed = {7, 0.7, nullptr};
  void* address = nullptr;
  size_t size = 0;
  CHECK(cudaGetSymbolAddress(&address, primes));
  CHECK(cudaGetSymbolSize(&size, primes));
  EXPECT(size == sizeof(int) * 8);
  CHECK(cudaGetSymbolSize(&size, title));
  EXPECT(size == sizeof title);
  changed.table = static_cast<int*>(address);
  CHECK(cudaMemcpyToSymbol(config, &changed, sizeof changed));
  readAll<<<1, 1>>>(out);
  CHECK(cudaGetLastError());
  check::equal("changed", check::toHost(out, 8), std::vector<int>{101, 103, 7, 7, 19, 66, 13, 12});

  int plain[8], fromSymbol[8];
  CHECK(cudaMemcpy(plain, address, sizeof plain, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpyFromSymbol(fromSymbol, primes, sizeof fromSymbol));
  check::equal("address and symbol", plain, fromSymbol, 8);
  CHECK(cudaMemcpyFromSymbol(fromSymbol, primes, sizeof(int), 4 * sizeof(int)));
  EXPECT(fromSymbol[0] == 103);

  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  unsigned long long start = 5, *pinned;
  CHECK(cudaMallocHost(&pinned, sizeof *pinned));
  CHECK(cudaMemcpyToSymbolAsync(counter, &start, sizeof start, 0, cudaMemcpyHostToDevice, stream));
  bump<<<4, 64, 0, stream>>>(3);
  bump<<<1, 1, 0, stream>>>(1);
  CHECK(cudaMemcpyFromSymbolAsync(pinned, counter, sizeof *pinned, 0, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(*pinned == 5 + 769 * (1ull << 32 | 1));
  EXPECT_ERROR(cudaErrorInvalidSymbol, cudaGetSymbolSize(&size, &size));
  cudaGetLastError();
  EXPECT_ERROR(cudaErrorInvalidValue, cudaMemcpyToSymbol(counter, plain, sizeof plain));
  cudaGetLastError();
  return check::done();
}
