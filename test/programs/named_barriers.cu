// Barriers beyond __syncthreads: named barriers between producer and consumer warps (bar.sync, bar.arrive with counts), barriers in loops of
// different shape, exited threads, __syncwarp exchange through shared memory, barrier inside a called function.
#include <algorithm>

#include "check.h"

__device__ void sync(int id, int count) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(count) : "memory"); }
__device__ void arrive(int id, int count) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(count) : "memory"); }

// Two warps produce, two consume; barriers 1 and 2 say "full" and "empty" of two buffers in turn.
__global__ void pipe(int* out, int rounds) {
  __shared__ int buffer[2][64];
  int t = threadIdx.x;
  bool producer = t < 64;
  int lane = t % 64;
  long long sum = 0;
  for (int r = 0; r < rounds; ++r) {
    int b = r % 2;
    if (producer) {
      if (r >= 2) sync(3 + b, 128);  // empty
      buffer[b][lane] = r * 1000 + lane;
      __threadfence_block();
      arrive(1 + b, 128);  // full
    } else {
      sync(1 + b, 128);
      sum += buffer[b][63 - lane];
      if (r + 2 < rounds) arrive(3 + b, 128);
    }
  }
  if (!producer) out[lane] = int(sum);
}

// Halves of a block with barriers of their own, different numbers of times.
__global__ void halves(int* out) {
  __shared__ int s[2][96];
  int half = threadIdx.x / 96, t = threadIdx.x % 96;
  s[half][t] = t;
  for (int r = 0; r < 3 + 2 * half; ++r) {
    sync(1 + half, 96);
    int v = s[half][(t + 1) % 96];
    sync(1 + half, 96);
    s[half][t] = v + s[half][t];
  }
  out[threadIdx.x] = s[half][t];
}

// Threads that returned do not hold up the others.
__global__ void leavers(int* out) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = t;
  __syncthreads();
  if (t >= 64) return;
  for (int r = 0; r < 4; ++r) {
    int v = s[(t * 5 + r) % 64];
    __syncthreads();
    s[t] = v + s[t + 64];
    __syncthreads();
  }
  out[t] = s[t];
}

__device__ __noinline__ int exchange(int* s, int t, int value) {
  s[t] = value;
  __syncthreads();
  int v = s[t ^ 1] * 3;
  __syncthreads();
  return v;
}

__global__ void called(int* out) {
  __shared__ int s[64];
  int t = threadIdx.x, v = t;
  for (int r = 0; r < 5; ++r) v = exchange(s, t, v) + r;
  out[t] = v;
}

__global__ void warpExchange(int* out) {
  __shared__ volatile int s[64];
  int t = threadIdx.x, warp = t / 32 * 32, lane = t % 32;
  int v = t * t;
  for (int offset = 1; offset < 32; offset *= 2) {
    s[t] = v;
    __syncwarp();
    int other = s[warp + (lane ^ offset)];
    __syncwarp();
    v = v * 3 + other;
  }
  out[t] = v;
}

int main() {
  int* out = check::deviceArray<int>(192);
  const int rounds = 9;
  pipe<<<1, 128>>>(out, rounds);
  CHECK(cudaGetLastError());
  std::vector<int> wanted(64);
  for (int l = 0; l < 64; ++l)
    for (int r = 0; r < rounds; ++r) wanted[l] += r * 1000 + 63 - l;
  check::equal("pipe", check::toHost(out, 64), wanted);

  halves<<<1, 192>>>(out);
  CHECK(cudaGetLastError());
  wanted.assign(192, 0);
  for (int h = 0; h < 2; ++h) {
    std::vector<int> s(96), next(96);
    for (int t = 0; t < 96; ++t) s[t] = t;
    for (int r = 0; r < 3 + 2 * h; ++r) {
      for (int t = 0; t < 96; ++t) next[t] = s[(t + 1) % 96] + s[t];
      s = next;
    }
    std::copy(s.begin(), s.end(), wanted.begin() + 96 * h);
  }
  check::equal("halves", check::toHost(out, 192), wanted);

  leavers<<<1, 128>>>(out);
  CHECK(cudaGetLastError());
  std::vector<int> s(128), next(64);
  for (int t = 0; t < 128; ++t) s[t] = t;
  for (int r = 0; r < 4; ++r) {
    for (int t = 0; t < 64; ++t) next[t] = s[(t * 5 + r) % 64] + s[t + 64];
    std::copy(next.begin(), next.end(), s.begin());
  }
  check::equal("leavers", check::toHost(out, 64), next);

  called<<<1, 64>>>(out);
  CHECK(cudaGetLastError());
  std::vector<int> v(64), w(64);
  for (int t = 0; t < 64; ++t) v[t] = t;
  for (int r = 0; r < 5; ++r) {
    for (int t = 0; t < 64; ++t) w[t] = v[t ^ 1] * 3 + r;
    v = w;
  }
  check::equal("called", check::toHost(out, 64), v);

  warpExchange<<<1, 64>>>(out);
  CHECK(cudaGetLastError());
  for (int t = 0; t < 64; ++t) v[t] = t * t;
  for (int offset = 1; offset < 32; offset *= 2) {
    for (int t = 0; t < 64; ++t) w[t] = int(unsigned(v[t]) * 3u + unsigned(v[t / 32 * 32 + ((t % 32) ^ offset)]));
    v = w;
  }
  check::equal("warp exchange", check::toHost(out, 64), v);
  return check::done();
}
