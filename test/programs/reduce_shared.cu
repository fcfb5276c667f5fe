// Sum, minimum and maximum by a tree in shared memory, two passes over the blocks' partial results.
#include "check.h"

#include <algorithm>
#include <climits>

struct Summary {
  long long sum;
  int low, high;
};

template <int kThreads>
__global__ void summarize(const int* data, int n, Summary* out) {
  __shared__ long long sum[kThreads];
  __shared__ int low[kThreads], high[kThreads];
  int t = threadIdx.x;
  long long s = 0;
  int lo = INT_MAX, hi = INT_MIN;
  for (int i = blockIdx.x * kThreads + t; i < n; i += gridDim.x * kThreads) {
    s += data[i];
    lo = min(lo, data[i]);
    hi = max(hi, data[i]);
  }
  sum[t] = s;
  low[t] = lo;
  high[t] = hi;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (t < half) {
      sum[t] += sum[t + half];
      low[t] = min(low[t], low[t + half]);
      high[t] = max(high[t], high[t + half]);
    }
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = {sum[0], low[0], high[0]};
}

__global__ void combine(const Summary* parts, int count, Summary* out) {
  extern __shared__ Summary shared[];
  int t = threadIdx.x;
  shared[t] = t < count ? parts[t] : Summary{0, INT_MAX, INT_MIN};
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) {
      shared[t].sum += shared[t + half].sum;
      shared[t].low = min(shared[t].low, shared[t + half].low);
      shared[t].high = max(shared[t].high, shared[t + half].high);
    }
    __syncthreads();
  }
  if (t == 0) *out = shared[0];
}

int main() {
  const int n = 1 << 18, blocks = 48;
  check::Random random(2);
  std::vector<int> data(n);
  for (int& v : data) v = int(random.next());
  int* device = check::toDevice(data);
  Summary *parts, *result, got;
  CHECK(cudaMalloc(&parts, blocks * sizeof(Summary)));
  CHECK(cudaMalloc(&result, sizeof(Summary)));
  summarize<128><<<blocks, 128>>>(device, n, parts);
  CHECK(cudaGetLastError());
  combine<<<1, 64, 64 * sizeof(Summary)>>>(parts, blocks, result);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(&got, result, sizeof got, cudaMemcpyDeviceToHost));

  long long sum = 0;
  for (int v : data) sum += v;
  EXPECT(got.sum == sum);
  EXPECT(got.low == *std::min_element(data.begin(), data.end()));
  EXPECT(got.high == *std::max_element(data.begin(), data.end()));
  return check::done();
}
