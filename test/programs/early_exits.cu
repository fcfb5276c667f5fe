// Threads that return before loops with barriers, or leave such loops early: each barrier is for those that are left. Whole warps leave the loops;
// on the CPU device lanes as well, one by one, which CUDA promises nothing of (PTX ISA, "bar": all threads of a warp must execute the same barrier),
// and which hangs where a compiler has unrolled the loop. Tiles in two
// dimensions with partial edges, blocks where no thread, few or most or all of them go; trip counts of a thread's own between barriers;
// stores over shared memory that others have just read, with a barrier between; reduction and stencil after an early return; blocks
// whose rows are short.
#include <algorithm>

#include "check.h"

constexpr int kThreads = 256;

// All pairs of m points with n others, by tiles; those that are left load the tile.
__global__ void tiled(const int* a, const int* b, int m, int n, unsigned* out) {
  __shared__ int tile[kThreads];
  int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= m) return;
  int live = min(kThreads, m - int(blockIdx.x) * kThreads), v = a[i];
  unsigned sum = 0;
  for (int first = 0; first < n; first += kThreads) {
    int count = min(kThreads, n - first);
    for (int k = threadIdx.x; k < count; k += live) tile[k] = b[first + k];
    __syncthreads();
    for (int k = 0; k < count; ++k) sum += unsigned((v ^ tile[k]) % 11);
    __syncthreads();
  }
  out[i] = sum;
}

// A product of matrices of w columns, h rows and depth d, in tiles of 16x16, edges cut off.
__global__ void product(const int* a, const int* b, int* c, int h, int w, int d) {
  __shared__ int ta[16][17], tb[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x >= w || y >= h) return;
  int columns = min(16, w - int(blockIdx.x) * 16), rows = min(16, h - int(blockIdx.y) * 16), sum = 0;
  for (int first = 0; first < d; first += 16) {
    for (int k = threadIdx.x; k < 16; k += columns) ta[threadIdx.y][k] = first + k < d ? a[y * d + first + k] : 0;
    for (int k = threadIdx.y; k < 16; k += rows) tb[k][threadIdx.x] = first + k < d ? b[(first + k) * w + x] : 0;
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += ta[threadIdx.y][k] * tb[k][threadIdx.x];
    __syncthreads();
  }
  c[y * w + x] = sum;
}

// Five rounds in which each adds another's value; some leave after the third, as many together as said. Own tells how often a thread repeats
// between barriers.
__global__ void leaving(const int* in, int n, const int* own, int together, int* out) {
  __shared__ int s[kThreads];
  int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= n) return;
  int v = in[i], live = min(kThreads, n - int(blockIdx.x) * kThreads);
  for (int k = 0; k < 5; ++k) {
    s[threadIdx.x] = v;
    __syncthreads();
    v += s[(threadIdx.x + k + 1) % live];
    for (int r = own[i]; r > 0; --r) {
      v ^= s[(threadIdx.x + r) % live] + r;
      if (v % 16 == 3) break;
    }
    __syncthreads();
    if (k == 2 && threadIdx.x / together % 7 == 0) break;
  }
  out[i] = v;
}

// Each thread goes round as often as a value says, its own or the first of those that it leaves together with, and returns from within; the others
// go on with what it left in shared memory.
__global__ void rounds(const int* in, int together, unsigned* out) {
  __shared__ unsigned s[kThreads];
  int t = threadIdx.x, i = blockIdx.x * kThreads + t, times = 1 + in[i / together * together] % 9;
  unsigned v = in[i];
  s[t] = v;
  __syncthreads();
  for (int k = 0;; ++k) {
    unsigned other = s[(t * 5 + k) % kThreads];
    __syncthreads();
    v = v * 3 + other;
    s[t] = v;
    __syncthreads();
    if (k == times) {
      out[i] = v;
      return;
    }
  }
}

// Groups of w threads; what does not make a group returns, and so do groups beyond the end.
template <int w>
__global__ void coding(int k, const unsigned* in, unsigned* out, const unsigned* bits, int size) {
  extern __shared__ unsigned words[];
  int per = blockDim.x / w * w, i = per * blockIdx.x + threadIdx.x, group = threadIdx.x / w * w, mine = threadIdx.x % w;
  if (threadIdx.x >= per) return;
  if (i >= size) return;
  unsigned r = 0;
  for (int j = 0; j < k; ++j) {
    words[threadIdx.x] = in[j * size + i];
    __syncthreads();
    for (int b = 0; b < w; ++b)
      if (bits[j * w + b] >> mine & 1) r ^= words[group + b];
    __syncthreads();
  }
  out[i] = r;
}

// A reduction, then a stencil in steps over the block's own part, its ends held.
__global__ void after(const int* in, int n, int steps, int* sums, int* out) {
  __shared__ int s[kThreads], total[kThreads];
  int t = threadIdx.x, i = blockIdx.x * kThreads + t;
  if (i >= n) return;
  int live = min(kThreads, n - int(blockIdx.x) * kThreads);
  s[t] = total[t] = in[i];
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (t < half && t + half < live) total[t] += total[t + half];
    __syncthreads();
  }
  if (t == 0) sums[blockIdx.x] = total[0];
  for (int k = 0; k < steps; ++k) {
    int v = s[t];
    if (t > 0 && t < live - 1) v = (s[t - 1] + 2 * s[t] + s[t + 1] + total[0] % 4) / 4;
    __syncthreads();
    s[t] = v;
    __syncthreads();
  }
  out[i] = s[t];
}

// Those that are left take each other's values in turns, as if they were numbered without gaps.
__global__ void narrow(const int* in, int w, int h, unsigned* out) {
  __shared__ unsigned s[kThreads];
  int x0 = blockIdx.x * blockDim.x, y0 = blockIdx.y * blockDim.y, x = x0 + threadIdx.x, y = y0 + threadIdx.y;
  if (x >= w || y >= h) return;
  int columns = min(int(blockDim.x), w - x0), live = columns * min(int(blockDim.y), h - y0), t = threadIdx.y * columns + threadIdx.x;
  unsigned v = in[y * w + x];
  for (int k = 1; k < live; k *= 2) {
    s[t] = v;
    __syncthreads();
    v = v * 3 + s[(t + k) % live];
    __syncthreads();
  }
  out[y * w + x] = v;
}

int main() {
  const int blocks = 6, most = blocks * kThreads;
  check::Random random(75);
  std::vector<int> in(most), other(most), own(most);
  std::vector<unsigned> words(most * 4), bits(64);
  for (int i = 0; i < most; ++i) in[i] = int(random.below(1000)), other[i] = int(random.below(1000)), own[i] = int(random.below(12));
  for (auto& v : words) v = unsigned(random.next());
  for (auto& v : bits) v = unsigned(random.next());
  int *din = check::toDevice(in), *dother = check::toDevice(other), *down = check::toDevice(own), *out = check::deviceArray<int>(most);
  unsigned *dwords = check::toDevice(words), *dbits = check::toDevice(bits), *outWords = check::deviceArray<unsigned>(most);
  int* sums = check::deviceArray<int>(blocks);
  const std::vector<int> groups = check::onCpuDevice() ? std::vector<int>{32, 1} : std::vector<int>{32};
  for (int n : {most, most - 3, most - 100, most - 255, 4 * kThreads, 33, 1}) {  // from a whole grid to one thread of it
    std::vector<unsigned> pairs(n);
    std::vector<int> left(n), sum((n + kThreads - 1) / kThreads), smooth(in.begin(), in.begin() + n);
    const int others = 300;
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < others; ++k) pairs[i] += unsigned((in[i] ^ other[k]) % 11);
    tiled<<<blocks, kThreads>>>(din, dother, n, others, outWords);
    CHECK(cudaGetLastError());
    check::equal("pairs", check::toHost(outWords, n), pairs);
    for (int first = 0; first < n; first += kThreads) {
      int live = std::min(kThreads, n - first), *h = &smooth[first];
      std::vector<int> s(live);
      int& total = sum[first / kThreads];
      for (int t = 0; t < live; ++t) total += h[t];
      for (int k = 0; k < 6; ++k) {
        s.assign(h, h + live);
        for (int t = 1; t < live - 1; ++t) h[t] = (s[t - 1] + 2 * s[t] + s[t + 1] + total % 4) / 4;
      }
    }
    for (int together : groups) {
      for (int first = 0; first < n; first += kThreads) {
        int live = std::min(kThreads, n - first), *v = &left[first];
        std::vector<int> s(in.begin() + first, in.begin() + first + live);
        std::copy(s.begin(), s.end(), v);
        for (int k = 0; k < 5; ++k) {
          for (int t = 0; t < live; ++t)
            if (k < 3 || t / together % 7) s[t] = v[t];
          for (int t = 0; t < live; ++t) {
            if (k > 2 && t / together % 7 == 0) continue;
            v[t] += s[(t + k + 1) % live];
            for (int r = own[first + t]; r > 0; --r) {
              v[t] ^= s[(t + r) % live] + r;
              if (v[t] % 16 == 3) break;
            }
          }
        }
      }
      leaving<<<blocks, kThreads>>>(din, n, down, together, out);
      CHECK(cudaGetLastError());
      check::equal("leaving", check::toHost(out, n), left);
    }
    after<<<blocks, kThreads>>>(din, n, 6, sums, out);
    CHECK(cudaGetLastError());
    check::equal("sums", check::toHost(sums, sum.size()), sum);
    check::equal("stencil", check::toHost(out, n), smooth);
  }
  for (int h : {32, 17, 5})
    for (int w : {16, 33, 47})
      for (int d : {1, 16, 30}) {
        std::vector<int> c(h * w);
        for (int i = 0; i < h * w; ++i)
          for (int k = 0; k < d; ++k) c[i] += in[i / w * d + k] * other[k * w + i % w];
        product<<<dim3(4, 3), dim3(16, 16)>>>(din, dother, out, h, w, d);
        CHECK(cudaGetLastError());
        check::equal("product", check::toHost(out, h * w), c);
      }
  for (dim3 block : {dim3(1, 64), dim3(1, 33), dim3(2, 96), dim3(3, 50), dim3(4, 32), dim3(8, 8), dim3(8, 32)})
    for (int w : {8, 5, 1})
      for (int h : {96, 67, 2}) {
        std::vector<unsigned> mixed(w * h);
        for (int y0 = 0; y0 < h; y0 += block.y)
          for (int x0 = 0; x0 < w; x0 += block.x) {
            int columns = std::min(int(block.x), w - x0), live = columns * std::min(int(block.y), h - y0);
            auto place = [&](int t) { return (y0 + t / columns) * w + x0 + t % columns; };
            std::vector<unsigned> v(live);
            for (int t = 0; t < live; ++t) v[t] = in[place(t)];
            for (int k = 1; k < live; k *= 2) {
              std::vector<unsigned> s = v;
              for (int t = 0; t < live; ++t) v[t] = s[t] * 3 + s[(t + k) % live];
            }
            for (int t = 0; t < live; ++t) mixed[place(t)] = v[t];
          }
        narrow<<<dim3((8 + block.x - 1) / block.x, (96 + block.y - 1) / block.y), block>>>(din, w, h, outWords);
        CHECK(cudaGetLastError());
        check::equal("narrow", check::toHost(outWords, w * h), mixed);
      }
  for (int together : groups) {
    std::vector<unsigned> round(most);
    for (int b = 0; b < blocks; ++b) {
      std::vector<unsigned> s(in.begin() + b * kThreads, in.begin() + (b + 1) * kThreads);
      for (int k = 0; k < 10; ++k) {
        std::vector<unsigned> old = s;
        for (int t = 0; t < kThreads; ++t)
          if (k <= 1 + in[b * kThreads + t / together * together] % 9) s[t] = old[t] * 3 + old[(t * 5 + k) % kThreads];
      }
      std::copy(s.begin(), s.end(), round.begin() + b * kThreads);
    }
    rounds<<<blocks, kThreads>>>(din, together, outWords);
    CHECK(cudaGetLastError());
    check::equal("rounds", check::toHost(outWords, most), round);
  }
  auto code = [&](auto kernel, int w, int size) {
    std::vector<unsigned> r(size);
    for (int i = 0; i < size; ++i)
      for (int b = 0; b < 4 * w; ++b)
        if (bits[b] >> i % w & 1) r[i] ^= words[b / w * size + i / w * w + b % w];
    int per = 128 / w * w;
    kernel<<<(size + per - 1) / per, 128, 128 * sizeof(unsigned)>>>(4, dwords, outWords, dbits, size);
    CHECK(cudaGetLastError());
    check::equal("coding", check::toHost(outWords, size), r);
  };
  code(coding<5>, 5, 1500);
  code(coding<7>, 7, 1400);
  code(coding<8>, 8, 1024);
  return check::done();
}
