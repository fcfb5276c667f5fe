// Separable and full 2D convolutions with filter weights in __constant__ memory, replaced between launches.
#include <algorithm>

#include "check.h"

constexpr int kRadius = 3, kTaps = 2 * kRadius + 1;
__constant__ int rowFilter[kTaps], columnFilter[kTaps];
__constant__ struct {
  int weights[kTaps][kTaps];
  int divisor;
} full = {{{0}}, 1};

__global__ void rows(const int* in, int* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int sum = 0;
  for (int k = -kRadius; k <= kRadius; ++k) sum += rowFilter[k + kRadius] * in[y * width + min(max(x + k, 0), width - 1)];
  out[y * width + x] = sum;
}

__global__ void columns(const int* in, int* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int sum = 0;
  for (int k = -kRadius; k <= kRadius; ++k) sum += columnFilter[k + kRadius] * in[min(max(y + k, 0), height - 1) * width + x];
  out[y * width + x] = sum;
}

__global__ void both(const int* in, int* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int sum = 0;
  for (int j = -kRadius; j <= kRadius; ++j)
    for (int i = -kRadius; i <= kRadius; ++i)
      sum += full.weights[j + kRadius][i + kRadius] * in[min(max(y + j, 0), height - 1) * width + min(max(x + i, 0), width - 1)];
  out[y * width + x] = sum / full.divisor;
}

int main() {
  const int width = 75, height = 41;
  std::vector<int> image(width * height);
  check::Random random(16);
  for (int& v : image) v = int(random.below(256));
  int *in = check::toDevice(image), *middle = check::deviceArray<int>(image.size()), *out = check::deviceArray<int>(image.size());
  dim3 threads(16, 8), blocks((width + 15) / 16, (height + 7) / 8);
  for (int round = 0; round < 3; ++round) {
    int row[kTaps], column[kTaps];
    struct {
      int weights[kTaps][kTaps];
      int divisor;
    } outer;
    for (int& v : row) v = int(random.below(21)) - 10;
    for (int& v : column) v = int(random.below(21)) - 10;
    for (int j = 0; j < kTaps; ++j)
      for (int i = 0; i < kTaps; ++i) outer.weights[j][i] = column[j] * row[i];
    outer.divisor = round + 1;
    CHECK(cudaMemcpyToSymbol(rowFilter, row, sizeof row));
    CHECK(cudaMemcpyToSymbol(columnFilter, column, sizeof column));
    CHECK(cudaMemcpyToSymbol(full, &outer, sizeof outer));
    rows<<<blocks, threads>>>(in, middle, width, height);
    columns<<<blocks, threads>>>(middle, out, width, height);
    CHECK(cudaGetLastError());

    std::vector<int> wanted(image.size()), divided(image.size());
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        int sum = 0;
        for (int j = 0; j < kTaps; ++j)
          for (int i = 0; i < kTaps; ++i) {
            int yy = std::min(std::max(y + j - kRadius, 0), height - 1), xx = std::min(std::max(x + i - kRadius, 0), width - 1);
            sum += column[j] * row[i] * image[yy * width + xx];
          }
        wanted[y * width + x] = sum;
        divided[y * width + x] = sum / (round + 1);
      }
    check::equal("separable", check::toHost(out, image.size()), wanted);
    both<<<blocks, threads>>>(in, out, width, height);
    CHECK(cudaGetLastError());
    check::equal("full", check::toHost(out, image.size()), divided);
  }
  return check::done();
}
