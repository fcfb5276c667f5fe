// Warps that exchange values by volatile shared memory without a barrier, as programs did before threads of a warp were scheduled
// independently: reductions, scans; in whole warps of a row, in blocks of two dimensions, in parts of a block.
// And masks that name more lanes than come. What they rely on is not promised any more (CUDA Programming Guide, "Independent Thread Scheduling"): a
// GPU may hang where a mask names lanes that wait at a barrier. So that is for the CPU device; everywhere, the same as CUDA promises it.
// nvcc: --diag-suppress 186,549
#include "check.h"

constexpr int kWarp = 32;

// A step of what follows: with what CUDA asks for between reading what a neighbour writes and writing what it reads.
__device__ void write(volatile int* to, int value) {
  __syncwarp();
  *to = value;
  __syncwarp();
}

template <bool kPromised>
__device__ void sumLast(volatile int* values, int t) {
  if constexpr (kPromised) {
    for (int distance = 32; distance > 0; distance /= 2) write(&values[t], values[t] + values[t + distance]);
    return;
  }
  values[t] += values[t + 32];
  values[t] += values[t + 16];
  values[t] += values[t + 8];
  values[t] += values[t + 4];
  values[t] += values[t + 2];
  values[t] += values[t + 1];
}

template <bool kPromised, int kThreads>
__global__ void sums(const int* in, int* out) {
  __shared__ int values[kThreads + kWarp];
  const int t = threadIdx.y * blockDim.x + threadIdx.x;
  values[t] = in[blockIdx.x * kThreads + t];
  __syncthreads();
  for (int half = kThreads / 2; half > kWarp; half /= 2) {
    if (t < half) values[t] += values[t + half];
    __syncthreads();
  }
  if (t < kWarp) sumLast<kPromised>(values, t);
  if (t == 0) out[blockIdx.x] = values[0];
}

// Each warp its own part; lanes without a neighbour so far left do nothing.
template <bool kPromised>
__global__ void scans(const int* in, int* out) {
  __shared__ volatile int values[256];
  const int t = threadIdx.x, lane = t % kWarp, i = blockIdx.x * blockDim.x + t;
  values[t] = in[i];
  if constexpr (kPromised) {
    __syncwarp();
    for (int distance = 1; distance < kWarp; distance *= 2) write(&values[t], values[t] + (lane >= distance ? values[t - distance] : 0));
    out[i] = values[t];
    return;
  }
  if (lane >= 1) values[t] = values[t] + values[t - 1];
  if (lane >= 2) values[t] = values[t] + values[t - 2];
  if (lane >= 4) values[t] = values[t] + values[t - 4];
  if (lane >= 8) values[t] = values[t] + values[t - 8];
  if (lane >= 16) values[t] = values[t] + values[t - 16];
  out[i] = values[t];
}

// The same for neighbours, with fences instead of volatile.
template <bool kPromised>
__global__ void fences(const int* in, int* out) {
  __shared__ int values[256 + kWarp];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  const auto step = [] {
    if constexpr (kPromised)
      __syncwarp();
    else
      __threadfence_block();
  };
  values[t] = in[i];
  step();
  int sum = values[t];
  if (t % 2 == 0) sum += values[t + 1];
  step();
  values[t] = sum;
  step();
  out[i] = t % 4 == 0 ? values[t] + values[t + 2] : sum;
}

// A few lanes name all of their warp in their masks, while the others wait at a barrier; or themselves alone.
template <bool kPromised>
__global__ void namesTooMany(const int* in, int* out) {
  constexpr unsigned kNamed = kPromised ? 0xffu : ~0u;
  __shared__ int values[kWarp];
  const int t = threadIdx.x, lane = t % kWarp;
  int sum = in[blockIdx.x * blockDim.x + t];
  for (int offset = 16; offset != 0; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset);
  if (lane == 0) values[t / kWarp] = sum;
  __syncthreads();
  if (t < 8) {
    sum = values[t];
    for (int offset = 4; offset != 0; offset /= 2) sum += __shfl_down_sync(kNamed, sum, offset);
    __syncwarp(kNamed);
    if (t == 0) values[0] = sum;
  }
  __syncthreads();
  if (t == 255) out[blockIdx.x] = values[0];
}

template <bool kPromised>
void run() {
  constexpr int kBlocks = 20;
  check::Random random(11);
  std::vector<int> in(kBlocks * 256);
  for (int& value : in) value = int(random.below(1000)) - 300;
  const int* given = check::toDevice(in);
  int* out = check::deviceArray<int>(in.size());
  const auto checkSums = [&](const char* name, int threads) {
    CHECK(cudaGetLastError());
    std::vector<int> wanted(kBlocks);
    for (int k = 0; k < kBlocks * threads; ++k) wanted[k / threads] += in[k];
    check::equal(name, check::toHost(out, kBlocks), wanted);
  };
  sums<kPromised, 256><<<kBlocks, 256>>>(given, out);
  checkSums("sums of rows", 256);
  sums<kPromised, 64><<<kBlocks, 64>>>(given, out);
  checkSums("sums of two warps", 64);
  sums<kPromised, 256><<<kBlocks, dim3(16, 16)>>>(given, out);
  checkSums("sums of squares", 256);

  namesTooMany<kPromised><<<kBlocks, 256>>>(given, out);
  checkSums("sums of eight", 256);

  fences<kPromised><<<kBlocks, 256>>>(given, out);
  CHECK(cudaGetLastError());
  std::vector<int> pairs(in);
  for (std::size_t i = 0; i < pairs.size(); i += 2) pairs[i] += pairs[i + 1];
  for (std::size_t i = 0; i < pairs.size(); i += 4) pairs[i] += pairs[i + 2];
  check::equal("sums of neighbours", check::toHost(out, in.size()), pairs);

  scans<kPromised><<<kBlocks, 256>>>(given, out);
  CHECK(cudaGetLastError());
  std::vector<int> wanted(in);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (i % kWarp != 0) wanted[i] += wanted[i - 1];
  check::equal("scans", check::toHost(out, in.size()), wanted);
}

int main() {
  run<true>();
  if (check::onCpuDevice()) run<false>();
  return check::done();
}
