// Shuffles and votes with mask 0xffffffff inside branches that whole warps take: the last stage of block reductions in blocks of
// 16x16, 32x8 and 256x1 threads, branches and loops that differ from warp to warp, warps that return before others shuffle. Masks from
// ballots in branches that parts of warps take, exact masks in blocks of 48 and 20 threads, the old reduction of a 16x16 stencil.
#include <algorithm>

#include "check.h"

constexpr unsigned kFull = 0xffffffffu;
constexpr int kResults = 8;

// How: 0 flat number under 32, 1 warp 0, 2 the first rows, 3 all others return.
template <int How>
__global__ void reduce(const int* in, int* out) {
  __shared__ int sums[32], lows[32];
  __shared__ unsigned odd[32];
  int flat = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y, warp = flat / 32, lane = flat % 32;
  int* r = out + blockIdx.x * kResults;
  int v = in[blockIdx.x * threads + flat], sum = v, low = v;
  for (int k = 16; k > 0; k /= 2) sum += __shfl_down_sync(kFull, sum, k);
  for (int k = 1; k < 32; k *= 2) low = min(low, __shfl_xor_sync(kFull, low, k));
  unsigned votes = __ballot_sync(kFull, v & 1);
  if (lane == 0) {
    sums[warp] = sum;
    lows[warp] = low;
    odd[warp] = votes;
  }
  __syncthreads();
  if (How == 3 && flat >= 32) return;
  bool take = How == 0 ? threadIdx.y * blockDim.x + threadIdx.x < 32 : How == 1 ? warp == 0 : true;
  if (How == 2) take = threadIdx.y < 32 / blockDim.x;
  if (take) {
    bool live = lane < threads / 32;
    int e = live ? sums[lane] : 0, m = live ? lows[lane] : 1 << 30, count = live ? __popc(odd[lane]) : 0, before = e;
    for (int k = 16; k > 0; k /= 2) e += __shfl_down_sync(kFull, e, k);
    for (int k = 1; k < 32; k *= 2) {
      m = min(m, __shfl_xor_sync(kFull, m, k));
      count += __shfl_xor_sync(kFull, count, k);
      int below = __shfl_up_sync(kFull, before, k);
      if (lane >= k) before += below;
    }
    unsigned ballot = __ballot_sync(kFull, live && sums[lane] % 2 != 0);
    int some = __any_sync(kFull, live && lows[lane] < 3), every = __all_sync(kFull, !live || lows[lane] < 40);
    if (lane == 0) r[0] = e, r[1] = m, r[2] = count, r[4] = int(ballot), r[5] = some, r[6] = every, r[7] = e * m;
    if (lane == threads / 32 - 1) r[3] = before;
  }
}

// Warps go different ways and round loops of their own length, each with all its lanes.
__global__ void ways(const int* in, int* out) {
  int flat = threadIdx.y * blockDim.x + threadIdx.x, warp = flat / 32, lane = flat % 32, i = blockIdx.x * 256 + flat, v = in[i];
  if (warp % 3 == 0) {
    for (int k = 0; k < warp + 1; ++k) v += __shfl_sync(kFull, v, (lane + k + 1) % 32);
  } else if (warp % 3 == 1) {
    int rounds = 0;
    while (__any_sync(kFull, v < 1000)) {
      v += 50 + __shfl_xor_sync(kFull, v, 1) % 7;
      ++rounds;
    }
    v = v * 64 + rounds;
  } else {
    if (__ballot_sync(kFull, v > 50) & 0x10u) {
      if (!__all_sync(kFull, v < 98)) v -= __shfl_up_sync(kFull, v, 3);
    } else {
      v ^= __shfl_down_sync(kFull, v, 5);
    }
  }
  out[i] = v;
}

// Parts of warps, each with the mask of those that came.
__global__ void parts(const int* in, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i], lane = threadIdx.x % 32, result;
  unsigned threes = __ballot_sync(kFull, v % 3 == 0);
  if (v % 3 == 0) {
    result = 0;
    for (unsigned left = threes; left; left &= left - 1) result += __shfl_sync(threes, v, __ffs(left) - 1);
    if (__any_sync(threes, v > 95)) result += 10000 * __popc(__ballot_sync(threes, v > 50));
  } else {
    unsigned big = __ballot_sync(~threes, v > 30);
    if (v > 30) {
      result = __shfl_sync(big, v, __ffs(big) - 1) * 100 + __popc(big & ((1u << lane) - 1));
    } else {
      result = -1 - __all_sync(~(threes | big), v < 29);
    }
  }
  out[i] = result;
}

// The last warp is not full: masks of the lanes there are, values from beyond are not used.
__global__ void exact(const int* in, int* out) {
  __shared__ int sums[32];
  int t = threadIdx.x, lane = t % 32, count = min(32, int(blockDim.x) - t / 32 * 32), v = in[blockIdx.x * blockDim.x + t];
  unsigned mask = count == 32 ? kFull : (1u << count) - 1;
  for (int k = 16; k > 0; k /= 2) {
    int other = __shfl_down_sync(mask, v, k);
    if (lane + k < count) v += other;
  }
  if (lane == 0) sums[t / 32] = v;
  int whole = __ballot_sync(mask, lane < count) == mask && __any_sync(mask, lane == count - 1);
  __syncthreads();
  int warps = (blockDim.x + 31) / 32;
  if (t < warps) {
    unsigned few = (1u << warps) - 1;
    int e = sums[t];
    if (warps == 2) e += __shfl_xor_sync(few, e, 1);
    if (t == 0) out[blockIdx.x] = e * whole;
  }
}

// The sum of squared changes of a stencil's tile: rows of 16, then row 0 alone (mask 0xffff) or the first warp (all of it).
template <bool Warp>
__global__ void stencil(const float* old, float* fresh, float* error, int n) {
  __shared__ float rows[16];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  float e = 0;
  if (x >= 1 && x <= n - 2 && y >= 1 && y <= n - 2) {
    float f = 0.25f * (old[y * n + x - 1] + old[y * n + x + 1] + old[(y - 1) * n + x] + old[(y + 1) * n + x]);
    fresh[y * n + x] = f;
    e = (f - old[y * n + x]) * (f - old[y * n + x]);
  }
  for (int k = 8; k > 0; k /= 2) e += __shfl_down_sync(kFull, e, k, 16);
  if (threadIdx.x == 0) rows[threadIdx.y] = e;
  __syncthreads();
  if (Warp ? threadIdx.y < 2 : threadIdx.y == 0) {
    e = rows[threadIdx.x];
    for (int k = 8; k > 0; k /= 2) e += __shfl_down_sync(Warp ? kFull : 0xffffu, e, k, 16);
    if (threadIdx.x == 0 && threadIdx.y == 0) atomicAdd(error, e);
  }
}

int main() {
  const int blocks = 24, n = blocks * 256;
  check::Random random(71);
  std::vector<int> in(n);
  for (int& v : in) v = 1 + int(random.below(99));
  int *din = check::toDevice(in), *out = check::deviceArray<int>(n);
  std::vector<int> wanted(blocks * kResults), all(n);
  for (int b = 0; b < blocks; ++b) {
    int *r = &wanted[b * kResults], sum = 0, low = 1 << 30, odd = 0, every = 1;
    unsigned ballot = 0;
    for (int w = 0; w < 8; ++w) {
      int s = 0, l = 1 << 30;
      for (int i = 0; i < 32; ++i) {
        int v = in[b * 256 + w * 32 + i];
        s += v, l = std::min(l, v), odd += v & 1;
      }
      sum += s, low = std::min(low, l), ballot |= (s & 1u) << w, every &= l < 40;
    }
    r[0] = r[3] = sum, r[1] = low, r[2] = odd, r[4] = int(ballot), r[5] = low < 3, r[6] = every, r[7] = sum * low;
  }
  auto run = [&](auto kernel) {
    for (dim3 shape : {dim3(16, 16), dim3(32, 8), dim3(256, 1)}) {
      CHECK(cudaMemset(out, 0xff, n * sizeof(int)));
      kernel(shape);
      CHECK(cudaGetLastError());
    }
  };
  auto matches = [&] { check::equal("reductions", check::toHost(out, blocks * kResults), wanted); };
  run([&](dim3 s) { reduce<0><<<blocks, s>>>(din, out), matches(); });
  run([&](dim3 s) { reduce<1><<<blocks, s>>>(din, out), matches(); });
  run([&](dim3 s) { if (s.x <= 32) reduce<2><<<blocks, s>>>(din, out), matches(); });
  run([&](dim3 s) { reduce<3><<<blocks, s>>>(din, out), matches(); });

  for (int w = 0; w < n / 32; ++w) {
    int *v = &all[w * 32], warp = w % 8, old[32];
    std::copy(&in[w * 32], &in[w * 32] + 32, v);
    auto keep = [&] { std::copy(v, v + 32, old); };
    keep();
    if (warp % 3 == 0) {
      for (int k = 0; k < warp + 1; ++k, keep())
        for (int l = 0; l < 32; ++l) v[l] += old[(l + k + 1) % 32];
    } else if (warp % 3 == 1) {
      int rounds = 0;
      for (; *std::min_element(v, v + 32) < 1000; ++rounds, keep())
        for (int l = 0; l < 32; ++l) v[l] += 50 + old[l ^ 1] % 7;
      for (int l = 0; l < 32; ++l) v[l] = v[l] * 64 + rounds;
    } else if (old[4] > 50) {
      if (*std::max_element(v, v + 32) >= 98)
        for (int l = 0; l < 32; ++l) v[l] -= old[l < 3 ? l : l - 3];
    } else {
      for (int l = 0; l < 32; ++l) v[l] ^= old[l + 5 > 31 ? l : l + 5];
    }
  }
  run([&](dim3 s) { ways<<<blocks, s>>>(din, out), check::equal("ways", check::toHost(out, n), all); });

  for (int i = 0; i < n; ++i) {
    const int *w = &in[i / 32 * 32], v = in[i];
    int sum = 0, over = 0, first = -1, rank = 0, high = 0;
    bool top = false;
    for (int l = 0; l < 32; ++l) {
      if (w[l] % 3 == 0) sum += w[l], over += w[l] > 50, top |= w[l] > 95;
      if (w[l] % 3 != 0 && w[l] > 30) {
        if (first < 0) first = w[l];
        rank += l < i % 32;
      }
      if (w[l] % 3 != 0 && w[l] <= 30) high |= w[l] >= 29;
    }
    all[i] = v % 3 == 0 ? sum + (top ? 10000 * over : 0) : v > 30 ? first * 100 + rank : -1 - !high;
  }
  for (int threads : {256, 64}) {
    CHECK(cudaMemset(out, 0xff, n * sizeof(int)));
    parts<<<n / threads, threads>>>(din, out);
    CHECK(cudaGetLastError());
    check::equal("parts", check::toHost(out, n), all);
  }

  for (int threads : {48, 20}) {
    exact<<<100, threads>>>(din, out);
    CHECK(cudaGetLastError());
    std::vector<int> sums(100);
    for (int i = 0; i < 100 * threads; ++i) sums[i / threads] += in[i];
    check::equal("exact masks", check::toHost(out, 100), sums);
  }

  const int side = 64;
  std::vector<float> grid(side * side), after = grid;
  for (float& v : grid) v = float(4 * random.below(8));
  float *old = check::toDevice(grid), *fresh = check::toDevice(after), *error = check::deviceArray<float>(1), total = 0;
  for (int y = 1; y < side - 1; ++y)
    for (int x = 1; x < side - 1; ++x) {
      const float* g = &grid[y * side + x];
      float f = after[y * side + x] = 0.25f * (g[-1] + g[1] + g[-side] + g[side]);
      total += (f - *g) * (f - *g);  // whole numbers: any order gives the same
    }
  for (bool warp : {false, true}) {
    CHECK(cudaMemset(error, 0, sizeof(float)));
    dim3 tiles(side / 16, side / 16), tile(16, 16);
    if (warp) stencil<true><<<tiles, tile>>>(old, fresh, error, side);
    if (!warp) stencil<false><<<tiles, tile>>>(old, fresh, error, side);
    CHECK(cudaGetLastError());
    EXPECT(check::toHost(error, 1)[0] == total);
    check::equal("stencil", check::toHost(fresh, side * side), after);
  }
  return check::done();
}
