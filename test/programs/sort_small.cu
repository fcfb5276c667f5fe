// Odd-even transposition sort in one block, and a rank sort that counts smaller elements.
#include <algorithm>

#include "check.h"

__global__ void oddEven(int* data, int n) {
  extern __shared__ int s[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = data[i];
  __syncthreads();
  for (int round = 0; round < n; ++round) {
    int i = 2 * threadIdx.x + (round & 1);
    if (i + 1 < n && s[i] > s[i + 1]) {
      int t = s[i];
      s[i] = s[i + 1];
      s[i + 1] = t;
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = s[i];
}

__global__ void rankSort(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int rank = 0;
  for (int j = 0; j < n; ++j) rank += in[j] < in[i] || (in[j] == in[i] && j < i);
  out[rank] = in[i];
}

int main() {
  const int n = 301;
  check::Random random(12);
  std::vector<int> data(n);
  for (int& v : data) v = int(random.below(500)) - 250;
  int* device = check::toDevice(data);
  oddEven<<<1, 160, n * sizeof(int)>>>(device, n);
  CHECK(cudaGetLastError());
  std::sort(data.begin(), data.end());
  check::equal("odd-even", check::toHost(device, n), data);

  const int m = 900;
  std::vector<float> values(m);
  for (float& v : values) v = float(random.uniform(1, 100));
  float *in = check::toDevice(values), *out = check::deviceArray<float>(m);
  rankSort<<<(m + 63) / 64, 64>>>(in, out, m);
  CHECK(cudaGetLastError());
  std::sort(values.begin(), values.end());
  check::equal("rank", check::toHost(out, m), values);
  return check::done();
}
