// Cooperative launch: grid.sync() between phases of an iterative solver, grid-wide reduction, the limit on co-resident blocks.
#include <cooperative_groups.h>

#include <algorithm>

#include "check.h"

namespace cg = cooperative_groups;

// Jacobi iteration over whole numbers: every phase reads what all blocks wrote in the one before.
__global__ void iterate(unsigned* a, unsigned* b, int n, int steps) {
  cg::grid_group grid = cg::this_grid();
  for (int s = 0; s < steps; ++s) {
    for (unsigned i = unsigned(grid.thread_rank()); i < unsigned(n); i += unsigned(grid.size()))
      b[i] = a[i] + 3 * a[(i + 1) % n] + 5 * a[(i + n - 1) % n] + s;
    grid.sync();
    unsigned* t = a;
    a = b;
    b = t;
  }
}

__global__ void total(const unsigned* data, int n, unsigned long long* partial, unsigned long long* out) {
  cg::grid_group grid = cg::this_grid();
  __shared__ unsigned long long sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  for (int i = int(grid.thread_rank()); i < n; i += int(grid.size())) atomicAdd(&sum, (unsigned long long)data[i]);
  __syncthreads();
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
  grid.sync();
  if (grid.thread_rank() == 0) {
    unsigned long long all = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) all += partial[b];
    *out = all;
  }
}

int main() {
  int supported = 0;
  CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0));
  EXPECT(supported == 1);
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  int perSm = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&perSm, iterate, 64, 0));
  int n = 1500, steps = 20, blocks = std::min(8, perSm * properties.multiProcessorCount);
  EXPECT(blocks >= 1);
  check::Random random(31);
  std::vector<unsigned> data(n), next(n);
  for (unsigned& v : data) v = unsigned(random.next());
  unsigned *a = check::toDevice(data), *b = check::deviceArray<unsigned>(n);
  void* arguments[] = {&a, &b, &n, &steps};
  CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(iterate), dim3(blocks), dim3(64), arguments, 0, 0));
  for (int s = 0; s < steps; ++s) {
    for (int i = 0; i < n; ++i) next[i] = data[i] + 3 * data[(i + 1) % n] + 5 * data[(i + n - 1) % n] + s;
    data.swap(next);
  }
  check::equal("iterated", check::toHost(a, n), data);  // an even number of steps ends in a

  auto* partial = check::deviceArray<unsigned long long>(blocks + 1);
  auto* out = partial + blocks;
  void* totalArguments[] = {&a, &n, &partial, &out};
  CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(total), dim3(blocks), dim3(64), totalArguments, 0, 0));
  unsigned long long sum = 0;
  for (unsigned v : data) sum += v;
  EXPECT(check::toHost(out, 1)[0] == sum);

  EXPECT_ERROR(cudaErrorCooperativeLaunchTooLarge,
               cudaLaunchCooperativeKernel(reinterpret_cast<void*>(iterate), dim3(perSm * properties.multiProcessorCount + 1), dim3(64), arguments, 0, 0));
  cudaGetLastError();
  return check::done();
}
