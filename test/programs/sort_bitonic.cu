// Bitonic sort: small strides in shared memory, large strides as one kernel a step (many dependent launches), keys with payload.
#include <algorithm>

#include "check.h"

constexpr int kThreads = 256, kTile = 2 * kThreads;

struct Pair {
  unsigned key, value;
};

__device__ void order(Pair& a, Pair& b, bool ascending) {
  if ((a.key > b.key) == ascending) {
    Pair t = a;
    a = b;
    b = t;
  }
}

__global__ void sortTiles(Pair* data) {
  __shared__ Pair s[kTile];
  int base = blockIdx.x * kTile, t = threadIdx.x;
  s[t] = data[base + t];
  s[t + kThreads] = data[base + t + kThreads];
  for (int size = 2; size <= kTile; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      int i = 2 * t - (t & (stride - 1));
      order(s[i], s[i + stride], ((base + i) & size) == 0);
    }
  __syncthreads();
  data[base + t] = s[t];
  data[base + t + kThreads] = s[t + kThreads];
}

__global__ void mergeStep(Pair* data, int size, int stride) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, i = 2 * t - (t & (stride - 1));
  order(data[i], data[i + stride], (i & size) == 0);
}

__global__ void mergeTiles(Pair* data, int size) {
  __shared__ Pair s[kTile];
  int base = blockIdx.x * kTile, t = threadIdx.x;
  s[t] = data[base + t];
  s[t + kThreads] = data[base + t + kThreads];
  for (int stride = kThreads; stride > 0; stride /= 2) {
    __syncthreads();
    int i = 2 * t - (t & (stride - 1));
    order(s[i], s[i + stride], ((base + i) & size) == 0);
  }
  __syncthreads();
  data[base + t] = s[t];
  data[base + t + kThreads] = s[t + kThreads];
}

int main() {
  const int n = 1 << 14;
  check::Random random(10);
  std::vector<Pair> data(n);
  for (int i = 0; i < n; ++i) {
    data[i].key = unsigned(random.next()) << 14 | unsigned(i);  // all keys differ: one right answer
    data[i].value = unsigned(random.next());
  }
  Pair* device = check::toDevice(data);
  sortTiles<<<n / kTile, kThreads>>>(device);
  CHECK(cudaGetLastError());
  for (int size = 2 * kTile; size <= n; size *= 2) {
    for (int stride = size / 2; stride > kThreads; stride /= 2) mergeStep<<<n / 2 / kThreads, kThreads>>>(device, size, stride);
    mergeTiles<<<n / kTile, kThreads>>>(device, size);
    CHECK(cudaGetLastError());
  }
  std::sort(data.begin(), data.end(), [](const Pair& a, const Pair& b) { return a.key < b.key; });
  check::equal("sorted", check::toHost(device, n), data);
  return check::done();
}
