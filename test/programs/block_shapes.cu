// Grids and blocks in three dimensions: every index once, limits of each dimension, special registers, blocks with threads that are not a
// multiple of 32, warps of several rows and layers, 200,000 blocks of one thread.
#include "check.h"

__global__ void mark(unsigned* seen, unsigned* wrong) {
  unsigned long long block = blockIdx.x + gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
  unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z), threads = blockDim.x * blockDim.y * blockDim.z;
  atomicAdd(&seen[block * threads + thread], block * threads + thread + 1);
  unsigned lane, size;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("mov.u32 %0, WARP_SZ;" : "=r"(size));
  if (lane != thread % 32 || size != 32) atomicAdd(wrong, 1u);
}

__global__ void countBlocks(unsigned* sums) { atomicAdd(&sums[blockIdx.x & 255], blockIdx.x >> 8); }

__global__ void corner(unsigned* out) {
  if (blockIdx.x == gridDim.x - 1 && blockIdx.y == gridDim.y - 1 && blockIdx.z == gridDim.z - 1 && threadIdx.x == blockDim.x - 1 &&
      threadIdx.y == blockDim.y - 1 && threadIdx.z == blockDim.z - 1)
    *out = blockIdx.x ^ blockIdx.y << 8 ^ blockIdx.z << 16 ^ threadIdx.x << 3 ^ threadIdx.y << 5 ^ threadIdx.z << 7;
}

// What the thread that the next lane is has, in warps of whatever shape.
__global__ void exchange(unsigned* out) {
  const unsigned own = threadIdx.x | threadIdx.y << 10 | threadIdx.z << 20;
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[blockIdx.x * blockDim.x * blockDim.y * blockDim.z + thread] = __shfl_xor_sync(~0u, own, 1) + blockDim.z;
}

int main() {
  unsigned* wrong = check::deviceArray<unsigned>(1);
  CHECK(cudaMemset(wrong, 0, sizeof(unsigned)));
  struct {
    dim3 grid, block;
  } shapes[] = {{dim3(1), dim3(1)}, {dim3(7), dim3(33)}, {dim3(2, 3, 4), dim3(5, 6, 7)}, {dim3(1, 1, 9), dim3(1, 1, 64)}, {dim3(3, 1, 2), dim3(1, 1024)},
                {dim3(5), dim3(1024)}, {dim3(1, 50), dim3(16, 2, 32)}, {dim3(11, 13), dim3(31)}};
  for (auto& s : shapes) {
    size_t n = size_t(s.grid.x) * s.grid.y * s.grid.z * s.block.x * s.block.y * s.block.z;
    unsigned* seen = check::deviceArray<unsigned>(n);
    CHECK(cudaMemset(seen, 0, n * sizeof(unsigned)));
    mark<<<s.grid, s.block>>>(seen, wrong);
    CHECK(cudaGetLastError());
    std::vector<unsigned> wanted(n);
    for (size_t i = 0; i < n; ++i) wanted[i] = unsigned(i + 1);
    check::equal("seen", check::toHost(seen, n), wanted);
    CHECK(cudaFree(seen));
  }
  EXPECT(check::toHost(wrong, 1)[0] == 0);

  for (dim3 block : {dim3(64), dim3(16, 8), dim3(24, 4), dim3(1, 64), dim3(32, 2, 3), dim3(16, 8, 2), dim3(4, 4, 8), dim3(8, 3, 4), dim3(12, 4, 2), dim3(1, 1, 64), dim3(5, 32, 3)}) {
    const unsigned threads = block.x * block.y * block.z;
    unsigned* got = check::deviceArray<unsigned>(5 * threads);
    exchange<<<5, block>>>(got);
    CHECK(cudaGetLastError());
    std::vector<unsigned> wanted(5 * threads);
    for (unsigned i = 0; i < 5 * threads; ++i) {
      const unsigned other = i % threads ^ 1;
      wanted[i] = (other % block.x | other / block.x % block.y << 10 | other / block.x / block.y << 20) + block.z;
    }
    check::equal("exchanged", check::toHost(got, 5 * threads), wanted);
    CHECK(cudaFree(got));
  }

  const unsigned blocks = 200000;
  unsigned* sums = check::deviceArray<unsigned>(256);
  CHECK(cudaMemset(sums, 0, 256 * sizeof(unsigned)));
  countBlocks<<<blocks, 1>>>(sums);
  CHECK(cudaGetLastError());
  std::vector<unsigned> wanted(256);
  for (unsigned b = 0; b < blocks; ++b) wanted[b & 255] += b >> 8;
  check::equal("blocks", check::toHost(sums, 256), wanted);
  for (dim3 grid : {dim3(70000, 1, 1), dim3(1, 65535, 1), dim3(1, 1, 65535)}) {
    corner<<<grid, dim3(4, 2, 2)>>>(wrong);
    CHECK(cudaGetLastError());
    EXPECT(check::toHost(wrong, 1)[0] == ((grid.x - 1) ^ (grid.y - 1) << 8 ^ (grid.z - 1) << 16 ^ 3u << 3 ^ 1u << 5 ^ 1u << 7));
  }
  return check::done();
}
