// Rows in compressed form with a block each: where a row begins and ends is read through const __restrict__ (as read-only data) or from
// constant memory, and loops of that length have barriers, shuffles and block reductions in them. Rows have from none to 1000 elements.
#include <algorithm>
#include <climits>

#include "check.h"

constexpr unsigned kFull = 0xffffffffu;
constexpr int kRows = 120, kColumns = 512;

__constant__ int constantStarts[kRows + 1];
__constant__ struct {
  int scale, first, rows;
} settings;

// A tree in shared memory; all threads get the sum.
__device__ int blockSum(int v) {
  __shared__ int s[256];
  s[threadIdx.x] = v;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
    __syncthreads();
  }
  int sum = s[0];
  __syncthreads();
  return sum;
}

// With shuffles; all threads get the greatest.
__device__ int blockMax(int v) {
  __shared__ int s[8], whole;
  for (int k = 16; k > 0; k /= 2) v = max(v, __shfl_xor_sync(kFull, v, k));
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < blockDim.x / 32 ? s[threadIdx.x] : INT_MIN;
    for (int k = 4; k > 0; k /= 2) v = max(v, __shfl_down_sync(kFull, v, k));
    if (threadIdx.x == 0) whole = v;
  }
  __syncthreads();
  v = whole;
  __syncthreads();
  return v;
}

template <bool Constant>
__device__ int start(const int* __restrict__ starts, int row) {
  return Constant ? constantStarts[row] : starts[row];
}

template <bool Constant>
__global__ void multiply(const int* __restrict__ starts, const int* __restrict__ columns, const int* __restrict__ values,
                         const int* __restrict__ x, int* y) {
  int row = blockIdx.x, sum = 0, begin = start<Constant>(starts, row), end = start<Constant>(starts, row + 1);
  for (int k = begin + threadIdx.x; k < end; k += blockDim.x) sum += values[k] * x[columns[k]];
  sum = blockSum(sum);
  if (threadIdx.x == 0) y[row] = sum;
}

// By tiles: load, barrier, each warp sums the whole tile its way, a maximum of the block in every round.
template <bool Constant>
__global__ void tiles(const int* __restrict__ starts, const int* __restrict__ columns, const int* __restrict__ values, int* y) {
  __shared__ int tile[256];
  int row = blockIdx.x, t = threadIdx.x, size = blockDim.x, sum = 0, tops = 0;
  int end = start<Constant>(starts, row + 1);
  for (int k = start<Constant>(starts, row); k < end; k += size) {
    if (k + t < end) tile[t] = values[k + t] + columns[k + t];
    __syncthreads();
    int count = min(size, end - k), part = 0;
    for (int j = t % 32; j < count; j += 32) part += tile[j] * (t / 32 + 1);
    for (int o = 16; o > 0; o /= 2) part += __shfl_xor_sync(kFull, part, o);
    sum += part;
    tops += blockMax(t < count ? tile[t] : INT_MIN);
  }
  if (t % 32 == 0) y[row * 8 + t / 32] = sum + tops;
}

// Two passes with a reduction between, rows that are empty return at once, the running sum is carried from tile to tile; then the
// elements that are greater than the mean.
template <bool Constant>
__global__ void scan(const int* __restrict__ starts, const int* __restrict__ values, int* out, int* y) {
  int row = settings.first + blockIdx.x;
  if (row >= settings.rows) return;
  const int begin = start<Constant>(starts, row), end = start<Constant>(starts, row + 1), t = threadIdx.x;
  if (begin == end) {
    if (t == 0) y[row] = -1;
    return;
  }
  __shared__ int sums[8];
  int carry = 0, above = 0;
  for (int first = begin; first < end; first += blockDim.x) {
    int k = first + t, v = k < end ? values[k] * settings.scale : 0;
    for (int o = 1; o < 32; o *= 2) {
      int below = __shfl_up_sync(kFull, v, o);
      if (t % 32 >= o) v += below;
    }
    if (t % 32 == 31) sums[t / 32] = v;
    __syncthreads();
    for (int w = 0; w < t / 32; ++w) v += sums[w];
    if (k < end) out[k] = carry + v;
    for (int w = 0; w < blockDim.x / 32; ++w) carry += sums[w];
    __syncthreads();
  }
  for (int first = begin; first < end; first += blockDim.x)
    above += __syncthreads_count(first + t < end && values[first + t] * settings.scale * (end - begin) > carry);
  if (t == 0) y[row] = above;
}

// Blocks with several rows, one after the other: the length of the next one decides how.
__global__ void several(const int* __restrict__ starts, const int* __restrict__ values, int* y, int rows) {
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    int begin = __ldg(&starts[row]), end = __ldg(&starts[row + 1]), sum = 0;
    if (end - begin > 300) {
      for (int k = begin + threadIdx.x; k < end; k += blockDim.x) sum += values[k];
      sum = blockSum(sum);
    } else if (threadIdx.x < 32) {
      for (int k = begin + threadIdx.x; k < end; k += 32) sum += values[k];
      for (int o = 16; o > 0; o /= 2) sum += __shfl_down_sync(kFull, sum, o);
    }
    if (threadIdx.x == 0) y[row] = sum;
  }
}

int main() {
  check::Random random(78);
  std::vector<int> starts(kRows + 1), columns, values, x(kColumns);
  const int lengths[] = {0, 1, 1000, 0, 31, 32, 33, 0, 255, 256, 257, 128, 512, 999};
  for (int r = 0; r < kRows; ++r) starts[r + 1] = starts[r] + (r < 14 ? lengths[r] : r % 5 == 0 ? 0 : int(random.below(r % 7 ? 200 : 1001)));
  const int n = starts[kRows];
  for (int k = 0; k < n; ++k) columns.push_back(int(random.below(kColumns))), values.push_back(int(random.below(2001)) - 1000);
  for (int& v : x) v = int(random.below(2001)) - 1000;
  int *dstarts = check::toDevice(starts), *dcolumns = check::toDevice(columns), *dvalues = check::toDevice(values), *dx = check::toDevice(x);
  int *y = check::deviceArray<int>(kRows * 8), *out = check::deviceArray<int>(n), set[] = {3, 2, kRows - 1};
  CHECK(cudaMemcpyToSymbol(constantStarts, starts.data(), sizeof constantStarts));
  CHECK(cudaMemcpyToSymbol(settings, set, sizeof set));
  std::vector<int> product(kRows), sums(kRows), above(kRows, -2), sum(n, -2);
  for (int r = 0; r < kRows; ++r) {
    const int begin = starts[r], end = starts[r + 1];
    int total = 0;
    for (int k = begin; k < end; ++k) product[r] += values[k] * x[columns[k]], sums[r] += values[k];
    if (r < set[1] || r >= set[2]) continue;
    above[r] = begin == end ? -1 : 0;
    for (int k = begin; k < end; ++k) sum[k] = total += values[k] * set[0];
    for (int k = begin; k < end; ++k) above[r] += values[k] * set[0] * (end - begin) > total;
  }
  for (int threads : {32, 128, 256}) {
    std::vector<int> tops(kRows * 8, -2);
    for (int r = 0; r < kRows; ++r)
      for (int w = 0; w < threads / 32; ++w) tops[r * 8 + w] = 0;
    for (int r = 0; r < kRows; ++r)
      for (int first = starts[r]; first < starts[r + 1]; first += threads) {
        int top = INT_MIN, all = 0;
        for (int k = first; k < std::min(first + threads, starts[r + 1]); ++k)
          all += values[k] + columns[k], top = std::max(top, values[k] + columns[k]);
        for (int w = 0; w < threads / 32; ++w) tops[r * 8 + w] += all * (w + 1) + top;
      }
    auto fill = [&] {
      std::vector<int> gone(std::max(n, kRows * 8), -2);
      CHECK(cudaMemcpy(y, gone.data(), kRows * 8 * sizeof(int), cudaMemcpyHostToDevice));
      CHECK(cudaMemcpy(out, gone.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    };
    for (bool constant : {false, true}) {
      auto multiplies = constant ? multiply<true> : multiply<false>;
      multiplies<<<kRows, threads>>>(dstarts, dcolumns, dvalues, dx, y);
      CHECK(cudaGetLastError());
      check::equal("products", check::toHost(y, kRows), product);
      fill();
      auto tile = constant ? tiles<true> : tiles<false>;
      tile<<<kRows, threads>>>(dstarts, dcolumns, dvalues, y);
      CHECK(cudaGetLastError());
      check::equal("tiles", check::toHost(y, kRows * 8), tops);
      fill();
      auto scans = constant ? scan<true> : scan<false>;
      scans<<<kRows, threads>>>(dstarts, dvalues, out, y);
      CHECK(cudaGetLastError());
      check::equal("scan", check::toHost(out, n), sum);
      check::equal("above", check::toHost(y, kRows), above);
    }
    several<<<7, threads>>>(dstarts, dvalues, y, kRows);
    CHECK(cudaGetLastError());
    check::equal("several", check::toHost(y, kRows), sums);
  }
  return check::done();
}
