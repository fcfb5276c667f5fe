// Divergent loops: Mandelbrot iteration counts in fixed point (bit exact) and in double without contraction.
#include "check.h"

__host__ __device__ inline int fixedPoint(long long cx, long long cy) {  // 28 fraction bits
  long long x = 0, y = 0;
  int i = 0;
  for (; i < 200; ++i) {
    long long xx = x * x >> 28, yy = y * y >> 28;
    if (xx + yy > 4ll << 28) break;
    y = (2 * x * y >> 28) + cy;
    x = xx - yy + cx;
  }
  return i;
}

__global__ void fixedImage(int* out, int width, int height) {
  int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px < width && py < height) out[py * width + px] = fixedPoint((px * 3ll << 28) / width - (2ll << 28), (py * 2ll << 28) / height - (1ll << 28));
}

__global__ void doubleImage(int* out, int width, int height) {
  int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height) return;
  double cx = __dsub_rn(__ddiv_rn(__dmul_rn(px, 3.0), width), 2.0), cy = __dsub_rn(__ddiv_rn(__dmul_rn(py, 2.0), height), 1.0), x = 0, y = 0;
  int i = 0;
  for (; i < 100; ++i) {
    double xx = __dmul_rn(x, x), yy = __dmul_rn(y, y);
    if (__dadd_rn(xx, yy) > 4) break;
    y = __dadd_rn(__dmul_rn(__dmul_rn(2, x), y), cy);
    x = __dadd_rn(__dsub_rn(xx, yy), cx);
  }
  out[py * width + px] = i;
}

int main() {
  const int width = 120, height = 80;
  int* device = check::deviceArray<int>(width * height);
  std::vector<int> wanted(width * height);
  dim3 threads(32, 4), blocks((width + 31) / 32, (height + 3) / 4);
  fixedImage<<<blocks, threads>>>(device, width, height);
  CHECK(cudaGetLastError());
  for (int py = 0; py < height; ++py)
    for (int px = 0; px < width; ++px)
      wanted[py * width + px] = fixedPoint((px * 3ll << 28) / width - (2ll << 28), (py * 2ll << 28) / height - (1ll << 28));
  check::equal("fixed point", check::toHost(device, wanted.size()), wanted);

  doubleImage<<<blocks, threads>>>(device, width, height);
  CHECK(cudaGetLastError());
  for (int py = 0; py < height; ++py)
    for (int px = 0; px < width; ++px) {
      // volatile: no contraction to fused operations on hosts that have them
      volatile double cx = px * 3.0 / width, cy = py * 2.0 / height, x = 0, y = 0;
      cx = cx - 2;
      cy = cy - 1;
      int i = 0;
      for (; i < 100; ++i) {
        volatile double xx = x * x, yy = y * y, twice = 2 * x;
        if (xx + yy > 4) break;
        twice = twice * y;
        y = twice + cy;
        xx = xx - yy;
        x = xx + cx;
      }
      wanted[py * width + px] = i;
    }
  check::equal("double", check::toHost(device, wanted.size()), wanted);
  return check::done();
}
