// Five-point heat equation in 2D with a halo in shared memory, two buffers, many steps; bit for bit with the host.
#include "check.h"

constexpr int kBx = 32, kBy = 8;

__host__ __device__ inline float relax(float c, float n, float s, float w, float e) {
  // Products and sums in a fixed order without contraction: powers of two make every product exact.
  return 0.5f * c + 0.125f * ((n + s) + (w + e));
}

__global__ void step(const float* in, float* out, int width, int height) {
  __shared__ float tile[kBy + 2][kBx + 2];
  int x = blockIdx.x * kBx + threadIdx.x, y = blockIdx.y * kBy + threadIdx.y, tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  auto load = [&](int i, int j) { return i >= 0 && j >= 0 && i < width && j < height ? in[j * width + i] : 0.0f; };
  tile[ty][tx] = load(x, y);
  if (threadIdx.x == 0) tile[ty][0] = load(x - 1, y);
  if (threadIdx.x == kBx - 1) tile[ty][kBx + 1] = load(x + 1, y);
  if (threadIdx.y == 0) tile[0][tx] = load(x, y - 1);
  if (threadIdx.y == kBy - 1) tile[kBy + 1][tx] = load(x, y + 1);
  __syncthreads();
  if (x < width && y < height)
    out[y * width + x] = relax(tile[ty][tx], tile[ty - 1][tx], tile[ty + 1][tx], tile[ty][tx - 1], tile[ty][tx + 1]);
}

int main() {
  const int width = 99, height = 50, steps = 24;
  std::vector<float> grid(width * height), next(grid.size());
  for (int i = 0; i < width * height; ++i) grid[i] = float(i * 7919 % 1000);
  float *a = check::toDevice(grid), *b = check::deviceArray<float>(grid.size());
  dim3 blocks((width + kBx - 1) / kBx, (height + kBy - 1) / kBy), threads(kBx, kBy);
  for (int s = 0; s < steps; ++s) {
    step<<<blocks, threads>>>(a, b, width, height);
    CHECK(cudaGetLastError());
    std::swap(a, b);
    auto at = [&](int x, int y) { return x >= 0 && y >= 0 && x < width && y < height ? grid[y * width + x] : 0.0f; };
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) next[y * width + x] = relax(at(x, y), at(x, y - 1), at(x, y + 1), at(x - 1, y), at(x + 1, y));
    std::swap(grid, next);
  }
  check::equal("grid", check::toHost(a, grid.size()), grid);
  return check::done();
}
