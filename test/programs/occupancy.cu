// Function attributes and the occupancy calculator: consistent answers, more shared memory never raises occupancy, the suggested
// block size runs.
#include "check.h"

__global__ void light(int* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = blockDim.x; }

__global__ void __launch_bounds__(128) heavy(int* out) {
  __shared__ int s[2048];
  extern __shared__ int more[];
  s[threadIdx.x] = threadIdx.x;
  more[threadIdx.x] = 1;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = s[blockDim.x - 1 - threadIdx.x] + more[0];
}

int main() {
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, heavy));
  EXPECT(attributes.sharedSizeBytes == 8192);
  EXPECT(attributes.maxThreadsPerBlock == 128);
  EXPECT(attributes.numRegs > 0);
  CHECK(cudaFuncGetAttributes(&attributes, light));
  EXPECT(attributes.sharedSizeBytes == 0);
  EXPECT(attributes.maxThreadsPerBlock <= properties.maxThreadsPerBlock && attributes.maxThreadsPerBlock >= 256);

  int last = 1 << 30;
  for (size_t dynamic = 0; dynamic <= 32768; dynamic += 4096) {
    int blocks = -1;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, heavy, 128, dynamic));
    EXPECT(blocks >= 1 && blocks <= last);
    EXPECT(blocks * 128 <= properties.maxThreadsPerMultiProcessor);
    EXPECT(blocks * (8192 + dynamic) <= properties.sharedMemPerMultiprocessor);
    last = blocks;
  }
  int blocks = -1;
  // Beyond its launch bounds a block is counted by its registers and shared memory all the same; the launch alone is refused (below).
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, heavy, 256, 0));
  EXPECT(blocks >= 1 && blocks * 256 <= properties.maxThreadsPerMultiProcessor);
  // Beyond what the device has none fits.
  EXPECT(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, light, 2 * properties.maxThreadsPerBlock, 0) != cudaSuccess || blocks == 0);
  cudaGetLastError();
  int grid = 0, block = 0;
  CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, light, 0, 0));
  EXPECT(grid >= 1 && block >= 32 && block % 32 == 0 && block <= 1024);
  size_t available = 0;
  CHECK(cudaOccupancyAvailableDynamicSMemPerBlock(&available, heavy, 1, 128));
  EXPECT(available > 0);

  int* out = check::deviceArray<int>(4 * block + 512);
  light<<<4, block>>>(out);
  CHECK(cudaGetLastError());
  check::equal("light", check::toHost(out, 4 * block), std::vector<int>(4 * block, block));
  heavy<<<2, 128, 512>>>(out);
  CHECK(cudaGetLastError());
  std::vector<int> wanted(256);
  for (int i = 0; i < 256; ++i) wanted[i] = 128 - i % 128;
  check::equal("heavy", check::toHost(out, 256), wanted);
  heavy<<<1, 256, 1024>>>(out);
  EXPECT(cudaGetLastError() != cudaSuccess);
  return check::done();
}
