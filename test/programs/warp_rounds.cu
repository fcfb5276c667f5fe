// One __syncwarp() a round where two were needed: what was exchanged is stored over in the next round. Lanes that go in step have loaded it by then.
// known-gap-check: as fibers, lanes do not load in step what the next round stores over
#include "check.h"

__global__ void led(const int* in, int* out, int n) {
  __shared__ int next[4];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int sum = 0;
  for (int i = lane; i < n; i += 32) {
    if (lane == 0) next[warp] = in[warp * n + i];
    __syncwarp();
    sum += next[warp];
  }
  out[threadIdx.x] = sum;
}

__global__ void turned(const int* in, int* out, int n) {
  __shared__ int row[128];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int sum = 0;
  for (int i = lane; i < n; i += 32) {
    row[threadIdx.x] = in[warp * n + i];
    __syncwarp();
    sum = 3 * sum + row[warp * 32 + 31 - lane];
  }
  out[threadIdx.x] = sum;
}

// Lanes meet at two places: one part brings, the other takes.
__global__ void parts(const int* in, int* out, int n) {
  __shared__ int row[128];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int sum = 0;
  for (int i = 0; i < n / 32; ++i) {
    if (lane < 16) {
      row[threadIdx.x] = in[warp * n + 32 * i + lane];
      __syncwarp();
      sum += row[warp * 32 + 15 - lane];
    } else {
      __syncwarp();
      sum += 2 * row[threadIdx.x - 16];
    }
    __syncwarp();
  }
  out[threadIdx.x] = sum;
}

int main() {
  const int warps = 4, n = 32 * 37, threads = 32 * warps;
  std::vector<int> in(warps * n), found(threads), first(threads), second(threads), third(threads);
  for (int i = 0; i < warps * n; ++i) in[i] = i * 31 % 97;
  for (int t = 0; t < threads; ++t) {
    const int lane = t % 32, warp = t / 32;
    for (int i = 0; i < n; i += 32) {
      first[t] += in[warp * n + i];
      second[t] = int(3u * unsigned(second[t]) + unsigned(in[warp * n + i + 31 - lane]));
      third[t] += lane < 16 ? in[warp * n + i + 15 - lane] : 2 * in[warp * n + i + lane - 16];
    }
  }
  int *dIn, *out;
  CHECK(cudaMalloc(&dIn, in.size() * sizeof(int)));
  CHECK(cudaMalloc(&out, threads * sizeof(int)));
  CHECK(cudaMemcpy(dIn, in.data(), in.size() * sizeof(int), cudaMemcpyHostToDevice));
  const auto expect = [&](const char* name, const std::vector<int>& wanted) {
    CHECK(cudaMemcpy(found.data(), out, threads * sizeof(int), cudaMemcpyDeviceToHost));
    check::equal(name, found, wanted);
  };
  led<<<1, threads>>>(dIn, out, n);
  expect("led", first);
  turned<<<1, threads>>>(dIn, out, n);
  expect("turned", second);
  parts<<<1, threads>>>(dIn, out, n);
  expect("parts", third);
  return check::done();
}
