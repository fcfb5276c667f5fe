// Stream-ordered allocation: cudaMallocAsync and cudaFreeAsync on one and on several streams, reuse in stream order, pools of one's
// own with a release threshold and usage counters, cudaMallocFromPoolAsync, the default pool, cudaFree of such memory.
#include "check.h"

__global__ void fill(int* data, int n, int value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = value + i;
}

__global__ void addTo(const int* data, int n, unsigned long long* sum) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sum, (unsigned long long)data[i]);
}

int main() {
  int supported = 0;
  CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
  EXPECT(supported == 1);
  const int n = 5000;
  cudaStream_t a, b;
  CHECK(cudaStreamCreate(&a));
  CHECK(cudaStreamCreate(&b));
  unsigned long long* sum = check::deviceArray<unsigned long long>(1);
  CHECK(cudaMemset(sum, 0, sizeof *sum));
  CHECK(cudaDeviceSynchronize());
  unsigned long long wanted = 0;
  // Temporaries that live for two kernels each: memory is used again and again without any synchronization by the host.
  for (int round = 0; round < 40; ++round) {
    int* temporary;
    cudaStream_t stream = round % 2 ? a : b;
    CHECK(cudaMallocAsync(&temporary, n * sizeof(int), stream));
    fill<<<(n + 127) / 128, 128, 0, stream>>>(temporary, n, round);
    addTo<<<(n + 127) / 128, 128, 0, stream>>>(temporary, n, sum);
    CHECK(cudaFreeAsync(temporary, stream));
    wanted += (unsigned long long)n * round + (unsigned long long)n * (n - 1) / 2;
  }
  CHECK(cudaDeviceSynchronize());
  EXPECT(check::toHost(sum, 1)[0] == wanted);

  // Allocated on one stream, used and freed on another after an event.
  int* crossing;
  cudaEvent_t ready;
  CHECK(cudaEventCreate(&ready));
  CHECK(cudaMallocAsync(&crossing, n * sizeof(int), a));
  fill<<<(n + 127) / 128, 128, 0, a>>>(crossing, n, 7);
  CHECK(cudaEventRecord(ready, a));
  CHECK(cudaStreamWaitEvent(b, ready));
  std::vector<int> got(n), expected(n);
  for (int i = 0; i < n; ++i) expected[i] = 7 + i;
  CHECK(cudaMemcpyAsync(got.data(), crossing, n * sizeof(int), cudaMemcpyDeviceToHost, b));
  CHECK(cudaFreeAsync(crossing, b));
  CHECK(cudaStreamSynchronize(b));
  check::equal("crossing", got, expected);

  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = 0;
  cudaMemPool_t pool;
  CHECK(cudaMemPoolCreate(&pool, &properties));
  unsigned long long threshold = 64ull << 20, value = 0;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &value));
  EXPECT(value == threshold);
  int* own;
  CHECK(cudaMallocFromPoolAsync(&own, 4 << 20, pool, a));
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &value));
  EXPECT(value >= 4u << 20);
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &value));
  EXPECT(value >= 4u << 20);
  CHECK(cudaMemsetAsync(own, 0x11, 4 << 20, a));
  CHECK(cudaMemcpyAsync(got.data(), own + 1000, n * sizeof(int), cudaMemcpyDeviceToHost, a));
  CHECK(cudaFreeAsync(own, a));
  CHECK(cudaStreamSynchronize(a));
  check::equal("pool", got, std::vector<int>(n, 0x11111111));
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &value));
  EXPECT(value == 0);
  // A smaller one may be given the same memory: what is used is what was asked for.
  CHECK(cudaMallocFromPoolAsync(&own, (4 << 20) - 65536, pool, a));
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &value));
  EXPECT(value == (4u << 20) - 65536 || !check::throughRouse());
  CHECK(cudaFreeAsync(own, a));
  CHECK(cudaStreamSynchronize(a));
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &value));
  EXPECT(value == 0);
  CHECK(cudaMemPoolTrimTo(pool, 0));
  CHECK(cudaMemPoolDestroy(pool));

  cudaMemPool_t standard, current;
  CHECK(cudaDeviceGetDefaultMemPool(&standard, 0));
  CHECK(cudaDeviceGetMemPool(&current, 0));
  EXPECT(standard == current);
  int* plain;
  CHECK(cudaMallocAsync(&plain, 1024, a));
  CHECK(cudaStreamSynchronize(a));
  CHECK(cudaFree(plain));
  CHECK(cudaStreamDestroy(a));
  CHECK(cudaStreamDestroy(b));
  return check::done();
}
