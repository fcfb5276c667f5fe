// Arithmetic, comparisons, conversions, fused multiply-add, minimum and maximum of __half2 and __nv_bfloat162, beside shuffles,
// cub::BlockReduce, barriers and votes. All values are small whole numbers or quarters: exact in both formats.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cub/cub.cuh>

#include "check.h"

constexpr unsigned kFull = 0xffffffffu;
constexpr int kThreads = 128, kResults = 14;

template <class Two>
struct Pack;
template <>
struct Pack<__half2> {
  using One = __half;
  static __device__ __half2 pair(float a, float b) { return __floats2half2_rn(a, b); }
  static __device__ float2 floats(__half2 v) { return __half22float2(v); }
  static __device__ __half one(float a) { return __float2half_rn(a); }
  static __device__ float number(__half a) { return __half2float(a); }
  static __device__ int whole(__half a) { return __half2int_rn(a); }
  static __device__ __half low(__half2 v) { return __low2half(v); }
  static __device__ __half high(__half2 v) { return __high2half(v); }
  static __device__ __half back(int a) { return __int2half_rn(a); }
};
template <>
struct Pack<__nv_bfloat162> {
  using One = __nv_bfloat16;
  static __device__ __nv_bfloat162 pair(float a, float b) { return __floats2bfloat162_rn(a, b); }
  static __device__ float2 floats(__nv_bfloat162 v) { return __bfloat1622float2(v); }
  static __device__ __nv_bfloat16 one(float a) { return __float2bfloat16_rn(a); }
  static __device__ float number(__nv_bfloat16 a) { return __bfloat162float(a); }
  static __device__ int whole(__nv_bfloat16 a) { return __bfloat162int_rn(a); }
  static __device__ __nv_bfloat16 low(__nv_bfloat162 v) { return __low2bfloat16(v); }
  static __device__ __nv_bfloat16 high(__nv_bfloat162 v) { return __high2bfloat16(v); }
  static __device__ __nv_bfloat16 back(int a) { return __int2bfloat16_rn(a); }
};

template <class T>
__device__ T fused(T a, T b, T c) {
  return __hfma(a, b, c);
}
template <class T>
__device__ T fused2(T a, T b, T c) {
  return __hfma2(a, b, c);
}
#if __CUDA_ARCH__ < 800  // bfloat16 has it from there on
template <>
__device__ __nv_bfloat16 fused(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
  return __hadd(__hmul(a, b), c);
}
template <>
__device__ __nv_bfloat162 fused2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) {
  return __hadd2(__hmul2(a, b), c);
}
#endif

// a in -7.75 to 8, b and c in -4 to 3.
template <class Two>
__global__ void elements(const float2* a, const float2* b, const float2* c, float2* out) {
  using P = Pack<Two>;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float2* r = out + i * kResults;
  Two x = P::pair(a[i].x, a[i].y), y = P::pair(b[i].x, b[i].y), z = P::pair(c[i].x, c[i].y);
  Two far = __shfl_xor_sync(kFull, y, 5);
  r[0] = P::floats(__hadd2(x, far));
  r[1] = P::floats(__hsub2(__hneg2(x), __shfl_down_sync(kFull, z, 1)));
  r[2] = P::floats(__hmul2(x, y));
  r[3] = P::floats(fused2(y, z, x));
  r[4] = P::floats(__hmin2(x, y));
  r[5] = P::floats(__hmax2(__habs2(x), z));
  r[6] = P::floats(__hlt2(x, y));
  r[7] = P::floats(__hadd2(__hge2(y, z), __hne2(y, far)));
  r[8] = make_float2(__hbeq2(y, z), __hbgt2(x, y));
  r[9] = make_float2(P::whole(P::low(y)), P::number(P::back(P::whole(P::high(z)) * 3)));
  unsigned less = __ballot_sync(kFull, __hlt(P::low(x), P::high(y)));
  r[10] = make_float2(__popc(less), less >> (i % 32) & 1);
  if (less >> (i % 32) & 1) {  // part of a warp, and then each of its members hears the first
    Two first = __shfl_sync(less, __hadd2(x, z), __ffs(less) - 1);
    r[11] = P::floats(first);
  } else {
    r[11] = P::floats(P::pair(P::number(fused(P::low(y), P::high(y), P::one(0.25f))), 1));
  }
  Two sum = y;
  for (int k = 16; k > 0; k /= 2) sum = __hadd2(sum, __shfl_xor_sync(kFull, sum, k));
  r[12] = P::floats(sum);
  Two high = x;
  for (int k = 16; k > 0; k /= 2) high = __hmax2(high, __shfl_down_sync(kFull, high, k));
  high = __shfl_sync(kFull, high, 0);
  r[13] = P::floats(high);
}

// Products summed as pairs in a loop, then over the block: by cub as float, and as pairs in shared memory with barriers.
template <class Two>
__global__ void dot(const float4* a, const float4* b, int n, float* out) {
  using P = Pack<Two>;
  using Reduce = cub::BlockReduce<float, kThreads>;
  __shared__ typename Reduce::TempStorage storage;
  __shared__ Two tile[kThreads];
  Two sum = P::pair(0, 0);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
    float4 x = a[i], y = b[i];
    Two p[2] = {P::pair(x.x, x.y), P::pair(x.z, x.w)}, q[2] = {P::pair(y.x, y.y), P::pair(y.z, y.w)};
    for (int j = 0; j < 2; ++j) sum = fused2(p[j], q[j], sum);
  }
  float2 f = P::floats(sum);
  float whole = Reduce(storage).Sum(f.x + f.y);
  tile[threadIdx.x] = sum;
  __syncthreads();
  for (int s = kThreads / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) tile[threadIdx.x] = __hadd2(tile[threadIdx.x], tile[threadIdx.x + s]);
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    atomicAdd(&out[0], whole);
    f = P::floats(tile[0]);
    atomicAdd(&out[1], f.x + f.y);
  }
}

// The larger of each half, chosen by the signs of the difference with a byte permutation of the words.
__global__ void chosen(const float2* a, const float2* b, float2* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __half2 x = __float22half2_rn(a[i]), y = __shfl_xor_sync(kFull, __float22half2_rn(b[i]), 1), less = __hsub2(x, y);
  unsigned signs = *reinterpret_cast<unsigned*>(&less) & 0x80008000u, which = 0x3210 | ((signs >> 21) | (signs >> 13)) * 0x11;
  unsigned r = __byte_perm(*reinterpret_cast<unsigned*>(&x), *reinterpret_cast<unsigned*>(&y), which);
  out[i] = __half22float2(*reinterpret_cast<__half2*>(&r));
}

template <class Two>
void run(const char* name, const std::vector<float2>& a, const std::vector<float2>& b, const std::vector<float2>& c) {
  int n = int(a.size());
  float2 *da = check::toDevice(a), *db = check::toDevice(b), *dc = check::toDevice(c), *out = check::deviceArray<float2>(n * kResults);
  std::vector<float2> wanted(n * kResults);
  for (int i = 0; i < n; ++i) {
    float2 *r = &wanted[i * kResults], x = a[i], y = b[i], z = c[i], far = b[i ^ 5], next = c[i % 32 == 31 ? i : i + 1];
    r[0] = {x.x + far.x, x.y + far.y};
    r[1] = {-x.x - next.x, -x.y - next.y};
    r[2] = {x.x * y.x, x.y * y.y};
    r[3] = {y.x * z.x + x.x, y.y * z.y + x.y};
    r[4] = {std::min(x.x, y.x), std::min(x.y, y.y)};
    r[5] = {std::max(std::fabs(x.x), z.x), std::max(std::fabs(x.y), z.y)};
    r[6] = {float(x.x < y.x), float(x.y < y.y)};
    r[7] = {float((y.x >= z.x) + (y.x != far.x)), float((y.y >= z.y) + (y.y != far.y))};
    r[8] = {float(y.x == z.x && y.y == z.y), float(x.x > y.x && x.y > y.y)};
    r[9] = {y.x, 3 * z.y};
    int first = -1;
    float2 sum = {0, 0}, high = {-100, -100};
    for (int l = i / 32 * 32; l < i / 32 * 32 + 32; ++l) {
      if (a[l].x < b[l].y) {
        if (first < 0) first = l;
        r[10].x += 1;
      }
      sum = {sum.x + b[l].x, sum.y + b[l].y};
      high = {std::max(high.x, a[l].x), std::max(high.y, a[l].y)};
    }
    r[10].y = x.x < y.y;
    r[11] = x.x < y.y ? float2{a[first].x + c[first].x, a[first].y + c[first].y} : float2{y.x * y.y + 0.25f, 1};
    r[12] = sum;
    r[13] = high;
  }
  elements<Two><<<n / kThreads, kThreads>>>(da, db, dc, out);
  CHECK(cudaGetLastError());
  check::equal(name, check::toHost(out, n * kResults), wanted);

  // -2 to 2, few of them not 0, times -1 to 1: no block's sum is beyond 256, up to which bfloat16 has every whole number.
  std::vector<float> p(2 * n), q(2 * n);
  double total = 0;
  for (int i = 0; i < 2 * n; ++i) {
    p[i] = i / 4 % 16 == 0 ? (i % 5) - 2.f : 0.f;
    q[i] = float(i % 3 - 1);
    total += p[i] * q[i];
  }
  float *dp = check::toDevice(p), *dq = check::toDevice(q), *sums = check::deviceArray<float>(2);
  for (int blocks : {n / 2 / kThreads, 5}) {
    CHECK(cudaMemset(sums, 0, 2 * sizeof(float)));
    dot<Two><<<blocks, kThreads>>>(reinterpret_cast<float4*>(dp), reinterpret_cast<float4*>(dq), 2 * n, sums);
    CHECK(cudaGetLastError());
    check::equal(name, check::toHost(sums, 2), {float(total), float(total)});
  }
}

int main() {
  const int n = 4096;
  check::Random random(72);
  std::vector<float2> a(n), b(n), c(n), larger(n);
  for (int i = 0; i < n; ++i) {
    a[i] = {(int(random.below(64)) - 31) * 0.25f, (int(random.below(64)) - 31) * 0.25f};
    b[i] = {float(int(random.below(8)) - 4), float(int(random.below(8)) - 4)};
    c[i] = i % 11 ? float2{float(int(random.below(8)) - 4), float(int(random.below(8)) - 4)} : b[i];
  }
  run<__half2>("half", a, b, c);
  run<__nv_bfloat162>("bfloat16", a, b, c);
  for (int i = 0; i < n; ++i) larger[i] = {std::max(a[i].x, b[i ^ 1].x), std::max(a[i].y, b[i ^ 1].y)};
  float2 *da = check::toDevice(a), *db = check::toDevice(b), *out = check::deviceArray<float2>(n);
  chosen<<<n / kThreads, kThreads>>>(da, db, out);
  CHECK(cudaGetLastError());
  check::equal("chosen", check::toHost(out, n), larger);
  return check::done();
}
