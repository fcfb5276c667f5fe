// Stream compaction and partition that keep order: flags, block scans from ballots, scattered writes; run-length coding
// built from it.
#include <algorithm>

#include "check.h"

constexpr int kThreads = 128;

template <class Predicate>
__device__ int rankInBlock(bool keep, int* total, Predicate) {
  __shared__ int counts[kThreads / 32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned votes = __ballot_sync(0xffffffffu, keep);
  if (lane == 0) counts[warp] = __popc(votes);
  __syncthreads();
  int before = 0, sum = 0;
  for (int w = 0; w < kThreads / 32; ++w) {
    if (w < warp) before += counts[w];
    sum += counts[w];
  }
  __syncthreads();
  *total = sum;
  return before + __popc(votes & ((1u << lane) - 1));
}

struct IsOdd {
  __device__ bool operator()(const int* data, int i) const { return data[i] & 1; }
};
struct StartsRun {
  __device__ bool operator()(const int* data, int i) const { return i == 0 || data[i] != data[i - 1]; }
};

template <class Predicate>
__global__ void count(const int* data, int n, int* blockCounts, Predicate predicate) {
  int i = blockIdx.x * kThreads + threadIdx.x, total;
  rankInBlock(i < n && predicate(data, i), &total, predicate);
  if (threadIdx.x == 0) blockCounts[blockIdx.x] = total;
}

__global__ void scan(int* counts, int n) {  // exclusive, one thread: few blocks
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    int c = counts[i];
    counts[i] = sum;
    sum += c;
  }
  counts[n] = sum;
}

// Kept elements go to the front, in order; with `rest` the others follow, in order.
template <class Predicate>
__global__ void scatter(const int* data, int n, const int* offsets, int* values, int* positions, bool rest, Predicate predicate) {
  int i = blockIdx.x * kThreads + threadIdx.x, total;
  bool keep = i < n && predicate(data, i);
  int rank = rankInBlock(keep, &total, predicate);
  if (i >= n) return;
  int kept = offsets[blockIdx.x] + rank;
  if (keep) {
    values[kept] = data[i];
    positions[kept] = i;
  } else if (rest) {
    int to = offsets[gridDim.x] + i - kept;
    values[to] = data[i];
    positions[to] = i;
  }
}

__global__ void lengths(const int* positions, const int* runs, int n, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < *runs) out[i] = (i + 1 < *runs ? positions[i + 1] : n) - positions[i];
}

int main() {
  const int n = 20000, blocks = (n + kThreads - 1) / kThreads;
  check::Random random(45);
  std::vector<int> data;
  while (int(data.size()) < n) data.insert(data.end(), 1 + random.below(5), int(random.below(1000)));
  data.resize(n);
  int *in = check::toDevice(data), *offsets = check::deviceArray<int>(blocks + 1), *values = check::deviceArray<int>(n), *positions = check::deviceArray<int>(n);
  auto run = [&](auto predicate, bool rest) {
    count<<<blocks, kThreads>>>(in, n, offsets, predicate);
    scan<<<1, 1>>>(offsets, blocks);
    scatter<<<blocks, kThreads>>>(in, n, offsets, values, positions, rest, predicate);
    CHECK(cudaGetLastError());
    return check::toHost(offsets + blocks, 1)[0];
  };
  std::vector<int> odd, even, oddAt, evenAt;
  for (int i = 0; i < n; ++i) {
    (data[i] & 1 ? odd : even).push_back(data[i]);
    (data[i] & 1 ? oddAt : evenAt).push_back(i);
  }
  EXPECT(run(IsOdd(), false) == int(odd.size()));
  check::equal("odd", check::toHost(values, odd.size()), odd);
  EXPECT(run(IsOdd(), true) == int(odd.size()));
  odd.insert(odd.end(), even.begin(), even.end());
  oddAt.insert(oddAt.end(), evenAt.begin(), evenAt.end());
  check::equal("partitioned", check::toHost(values, n), odd);
  check::equal("positions", check::toHost(positions, n), oddAt);

  int runs = run(StartsRun(), false);
  int* out = check::deviceArray<int>(n);
  lengths<<<blocks, kThreads>>>(positions, offsets + blocks, n, out);
  CHECK(cudaGetLastError());
  std::vector<int> runValues, runLengths;
  for (int i = 0; i < n; ++i) {
    if (i == 0 || data[i] != data[i - 1]) {
      runValues.push_back(data[i]);
      runLengths.push_back(0);
    }
    ++runLengths.back();
  }
  EXPECT(runs == int(runValues.size()));
  check::equal("run values", check::toHost(values, runValues.size()), runValues);
  check::equal("run lengths", check::toHost(out, runLengths.size()), runLengths);
  return check::done();
}
