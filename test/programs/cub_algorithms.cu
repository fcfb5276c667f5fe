// CUB from the toolkit: block reduce, scan and radix sort in own kernels; device-wide reduce and scan.
// timeout: 180
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

#include <algorithm>
#include <numeric>

#include "check.h"

constexpr int kThreads = 128, kItems = 4;

__global__ void blockWork(const int* in, int* sorted, int* scanned, int* sums) {
  using Sort = cub::BlockRadixSort<int, kThreads, kItems>;
  using Scan = cub::BlockScan<int, kThreads>;
  using Reduce = cub::BlockReduce<int, kThreads>;
  using Load = cub::BlockLoad<int, kThreads, kItems, cub::BLOCK_LOAD_TRANSPOSE>;
  __shared__ union {
    typename Sort::TempStorage sort;
    typename Scan::TempStorage scan;
    typename Reduce::TempStorage reduce;
    typename Load::TempStorage load;
  } temporary;
  int base = blockIdx.x * kThreads * kItems, items[kItems];
  Load(temporary.load).Load(in + base, items);
  __syncthreads();
  int prefix[kItems];
  Scan(temporary.scan).InclusiveSum(items, prefix);
  __syncthreads();
  int sum = Reduce(temporary.reduce).Sum(items);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  __syncthreads();
  Sort(temporary.sort).Sort(items);
  for (int k = 0; k < kItems; ++k) {
    sorted[base + threadIdx.x * kItems + k] = items[k];
    scanned[base + threadIdx.x * kItems + k] = prefix[k];
  }
}

template <class F>
void twice(F f) {  // asks for the size of the temporary storage, then works
  void* storage = nullptr;
  size_t bytes = 0;
  CHECK(f(storage, bytes));
  CHECK(cudaMalloc(&storage, bytes));
  CHECK(f(storage, bytes));
  CHECK(cudaFree(storage));
}

int main() {
  const int blocks = 6, n = blocks * kThreads * kItems;
  check::Random random(47);
  std::vector<int> data(n);
  for (int& v : data) v = int(random.below(100000)) - 50000;
  int *in = check::toDevice(data), *a = check::deviceArray<int>(n), *b = check::deviceArray<int>(n), *sums = check::deviceArray<int>(n);
  blockWork<<<blocks, kThreads>>>(in, a, b, sums);
  CHECK(cudaGetLastError());
  std::vector<int> sorted = data, scanned(n), wantedSums(blocks);
  for (int k = 0; k < blocks; ++k) {
    auto from = k * kThreads * kItems, to = from + kThreads * kItems;
    std::sort(sorted.begin() + from, sorted.begin() + to);
    std::partial_sum(data.begin() + from, data.begin() + to, scanned.begin() + from);
    wantedSums[k] = scanned[to - 1];
  }
  check::equal("block sort", check::toHost(a, n), sorted);
  check::equal("block scan", check::toHost(b, n), scanned);
  check::equal("block sums", check::toHost(sums, blocks), wantedSums);

  twice([&](void* storage, size_t& bytes) { return cub::DeviceReduce::Sum(storage, bytes, in, sums, n); });
  EXPECT(check::toHost(sums, 1)[0] == std::accumulate(data.begin(), data.end(), 0));
  twice([&](void* storage, size_t& bytes) { return cub::DeviceScan::ExclusiveSum(storage, bytes, in, a, n); });
  std::exclusive_scan(data.begin(), data.end(), scanned.begin(), 0);
  check::equal("device scan", check::toHost(a, n), scanned);
  return check::done();
}
