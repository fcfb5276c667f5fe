// Cooperative groups: block and tile reductions (tiles of 32, 16, 4), coalesced groups in divergent code, labelled
// partitions by hand, group ranks and sizes.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <algorithm>

#include "check.h"

namespace cg = cooperative_groups;

__global__ void blockTotal(const int* data, int n, int* total) {
  __shared__ int partial[8];
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + block.thread_rank(); i < n; i += gridDim.x * blockDim.x) sum += data[i];
  sum = cg::reduce(tile, sum, cg::plus<int>());
  if (tile.thread_rank() == 0) partial[tile.meta_group_rank()] = sum;
  block.sync();
  if (block.thread_rank() == 0) {
    int all = 0;
    for (unsigned i = 0; i < tile.meta_group_size(); ++i) all += partial[i];
    atomicAdd(total, all);
  }
}

template <int kTile>
__global__ void tileMaxima(const int* data, int* maxima) {
  auto tile = cg::tiled_partition<kTile>(cg::this_thread_block());
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int best = cg::reduce(tile, data[i], cg::greater<int>());
  if (tile.thread_rank() == 0) maxima[i / kTile] = best;
}

// One atomic for each group of threads that take the branch, as in warp-aggregated filtering.
__global__ void filter(const int* data, int n, int* kept, int* count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && data[i] % 3 == 0) {
    cg::coalesced_group active = cg::coalesced_threads();
    int base = 0;
    if (active.thread_rank() == 0) base = atomicAdd(count, int(active.size()));
    kept[active.shfl(base, 0) + active.thread_rank()] = data[i];
  }
}

int main() {
  const int n = 20480;
  check::Random random(4);
  std::vector<int> data(n);
  for (int& v : data) v = int(random.below(100000));
  int *device = check::toDevice(data), *total = check::deviceArray<int>(1);
  CHECK(cudaMemset(total, 0, sizeof(int)));
  blockTotal<<<20, 256>>>(device, n, total);
  CHECK(cudaGetLastError());
  int sum = 0;
  for (int v : data) sum += v;
  EXPECT(check::toHost(total, 1)[0] == sum);

  auto maxima = [&](int tile) {
    std::vector<int> out(n / tile, 0);
    for (int i = 0; i < n; ++i) out[i / tile] = std::max(out[i / tile], data[i]);
    return out;
  };
  int* out = check::deviceArray<int>(n);
  tileMaxima<16><<<n / 128, 128>>>(device, out);
  CHECK(cudaGetLastError());
  check::equal("maxima of 16", check::toHost(out, n / 16), maxima(16));
  tileMaxima<4><<<n / 128, 128>>>(device, out);
  CHECK(cudaGetLastError());
  check::equal("maxima of 4", check::toHost(out, n / 4), maxima(4));

  CHECK(cudaMemset(total, 0, sizeof(int)));
  filter<<<n / 128, 128>>>(device, n, out, total);
  CHECK(cudaGetLastError());
  int kept = check::toHost(total, 1)[0];
  std::vector<int> wanted;
  for (int v : data)
    if (v % 3 == 0) wanted.push_back(v);
  EXPECT(kept == int(wanted.size()));
  std::vector<int> got = check::toHost(out, wanted.size());
  std::sort(got.begin(), got.end());
  std::sort(wanted.begin(), wanted.end());
  check::equal("filtered", got, wanted);
  return check::done();
}
