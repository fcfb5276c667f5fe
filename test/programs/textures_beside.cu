// Texture objects of plain memory come and go while a kernel runs that ends only when the program says so: neither call waits for it.
// timeout: 20
#include "check.h"

__global__ void untilTold(volatile int* told) {
  while (*told == 0) {
  }
}

__global__ void add(cudaTextureObject_t texture, int* out) { out[threadIdx.x] = tex1Dfetch<int>(texture, threadIdx.x) + 1; }

int main() {
  constexpr int n = 64, rounds = 20;
  int* told;
  CHECK(cudaHostAlloc(&told, sizeof *told, cudaHostAllocMapped));
  *told = 0;
  std::vector<int> host(n);
  for (int i = 0; i < n; ++i) host[i] = i * i;
  int* memory = check::toDevice(host);
  int* out = check::deviceArray<int>(n * rounds);
  cudaStream_t busy, other;
  CHECK(cudaStreamCreateWithFlags(&busy, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear = {memory, cudaCreateChannelDesc<int>(), n * sizeof(int)};
  const cudaTextureDesc how{};
  cudaTextureObject_t texture;
  // Once before: the kernel's code is there, and the driver has whatever it needs for textures.
  CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  add<<<1, n, 0, other>>>(texture, out);
  CHECK(cudaStreamSynchronize(other));
  CHECK(cudaDestroyTextureObject(texture));

  // The CPU device's descriptions of textures lie in memory, which is written behind all work.
  const bool waits = check::onCpuDevice();
  if (!waits) untilTold<<<1, 1, 0, busy>>>(told);
  for (int round = 0; round < rounds; ++round) {
    CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    add<<<1, n, 0, other>>>(texture, out + round * n);
    CHECK(cudaStreamSynchronize(other));
    CHECK(cudaDestroyTextureObject(texture));
  }
  EXPECT(waits || cudaStreamQuery(busy) == cudaErrorNotReady);
  *static_cast<volatile int*>(told) = 1;
  CHECK(cudaStreamSynchronize(busy));
  const auto got = check::toHost(out, n * rounds);
  int wrong = 0;
  for (int i = 0; i < n * rounds; ++i) wrong += got[i] != (i % n) * (i % n) + 1;
  EXPECT(wrong == 0);
  CHECK(cudaFree(memory));
  CHECK(cudaFree(out));
  CHECK(cudaFreeHost(told));
  return check::done();
}
