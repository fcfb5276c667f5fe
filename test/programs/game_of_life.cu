// Game of life on a torus: a byte a cell through shared memory, and 32 cells a word with bitwise adders; 40 generations.
#include "check.h"

constexpr int kBlock = 16;

__global__ void bytes(const unsigned char* in, unsigned char* out, int width, int height) {
  __shared__ unsigned char s[kBlock + 2][kBlock + 2];
  for (int j = threadIdx.y; j < kBlock + 2; j += kBlock)
    for (int i = threadIdx.x; i < kBlock + 2; i += kBlock) {
      int x = (blockIdx.x * kBlock + i - 1 + width) % width, y = (blockIdx.y * kBlock + j - 1 + height) % height;
      s[j][i] = in[y * width + x];
    }
  __syncthreads();
  int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  int sum = s[ty - 1][tx - 1] + s[ty - 1][tx] + s[ty - 1][tx + 1] + s[ty][tx - 1] + s[ty][tx + 1] + s[ty + 1][tx - 1] + s[ty + 1][tx] + s[ty + 1][tx + 1];
  out[(blockIdx.y * kBlock + threadIdx.y) * width + blockIdx.x * kBlock + threadIdx.x] = sum == 3 || (sum == 2 && s[ty][tx]);
}

__global__ void words(const unsigned* in, unsigned* out, int width, int height) {  // width in words
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  unsigned ones = 0, twos = 0, fours = 0, self = in[y * width + x];
  auto add = [&](unsigned bits) {
    unsigned carry = ones & bits;
    ones ^= bits;
    unsigned carry2 = twos & carry;
    twos ^= carry;
    fours |= carry2;
  };
  for (int dy = -1; dy <= 1; ++dy) {
    const unsigned* row = in + (y + dy + height) % height * width;
    unsigned left = row[(x + width - 1) % width], middle = row[x], right = row[(x + 1) % width];
    add(__funnelshift_l(left, middle, 1));
    add(__funnelshift_r(middle, right, 1));
    if (dy) add(middle);
  }
  out[y * width + x] = ~fours & twos & (ones | self);
}

int main() {
  const int width = 128, height = 64, generations = 40;
  check::Random random(41);
  std::vector<unsigned char> cells(width * height), next(cells.size());
  for (auto& c : cells) c = random.below(3) == 0;
  std::vector<unsigned> packed(cells.size() / 32);
  for (size_t i = 0; i < cells.size(); ++i) packed[i / 32] |= unsigned(cells[i]) << i % 32;
  unsigned char *a = check::toDevice(cells), *b = check::deviceArray<unsigned char>(cells.size());
  unsigned *pa = check::toDevice(packed), *pb = check::deviceArray<unsigned>(packed.size());
  for (int g = 0; g < generations; ++g) {
    bytes<<<dim3(width / kBlock, height / kBlock), dim3(kBlock, kBlock)>>>(a, b, width, height);
    words<<<dim3(1, height / 16), dim3(4, 16)>>>(pa, pb, width / 32, height);
    CHECK(cudaGetLastError());
    std::swap(a, b);
    std::swap(pa, pb);
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        int sum = 0;
        for (int j = -1; j <= 1; ++j)
          for (int i = -1; i <= 1; ++i)
            if (i || j) sum += cells[(y + j + height) % height * width + (x + i + width) % width];
        next[y * width + x] = sum == 3 || (sum == 2 && cells[y * width + x]);
      }
    cells.swap(next);
  }
  check::equal("bytes", check::toHost(a, cells.size()), cells);
  std::fill(packed.begin(), packed.end(), 0);
  for (size_t i = 0; i < cells.size(); ++i) packed[i / 32] |= unsigned(cells[i]) << i % 32;
  check::equal("words", check::toHost(pa, packed.size()), packed);
  return check::done();
}
