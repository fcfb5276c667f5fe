// Atomic additions to vectors of floats and halves: each element is added to once by each thread, with and without what was there before.
// nvcc: -gencode arch=compute_90,code=compute_90
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "check.h"

constexpr int kThreads = 128, kBlocks = 8, kPlaces = 4;

__global__ void add(float4* fours, float2* twos, unsigned* halves, unsigned short* brains, float* before) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, at = i % kPlaces;
  atomicAdd(&fours[at], make_float4(1, 2, 3, float(at)));
  atomicAdd(&twos[at], make_float2(-1, 0.5f));
  const float2 old = atomicAdd(&twos[kPlaces], make_float2(1, -1));
  before[i] = old.x == -old.y ? old.x : -1;
  // Eight halves, as pairs and as single ones; four of bfloat16.
  asm volatile("red.global.add.noftz.v4.f16x2 [%0], {%1, %1, %2, %2};" ::"l"(halves + 4 * at), "r"(0x3c004000), "r"(0x38000000) : "memory");
  asm volatile("red.relaxed.gpu.global.add.noftz.v8.f16 [%0], {%1, %2, %1, %2, %1, %2, %1, %2};" ::"l"(halves + 4 * at), "h"(short(0x3c00)), "h"(short(0))
               : "memory");
  unsigned short a, b, c, d;
  asm volatile("atom.global.v4.bf16.add.noftz {%0, %1, %2, %3}, [%4], {%5, %5, %6, %6};"
               : "=h"(a), "=h"(b), "=h"(c), "=h"(d)
               : "l"(brains + 4 * at), "h"(short(0x3f80)), "h"(short(0))
               : "memory");
  if (c != 0 || d != 0 || a != b) before[i] = -2;
}

int main() {
  constexpr int kAll = kThreads * kBlocks, kEach = kAll / kPlaces;
  auto* fours = check::toDevice(std::vector<float4>(kPlaces));
  auto* twos = check::toDevice(std::vector<float2>(kPlaces + 1));
  auto* halves = check::toDevice(std::vector<unsigned>(4 * kPlaces));
  auto* brains = check::toDevice(std::vector<unsigned short>(4 * kPlaces));
  auto* before = check::deviceArray<float>(kAll);
  add<<<kBlocks, kThreads>>>(fours, twos, halves, brains, before);
  CHECK(cudaGetLastError());
  const auto f = check::toHost(fours, kPlaces);
  const auto t = check::toHost(twos, kPlaces + 1);
  const auto h = check::toHost(halves, 4 * kPlaces);
  const auto n = check::toHost(brains, 4 * kPlaces);
  std::vector<bool> seen(kAll);
  for (float value : check::toHost(before, kAll)) {
    EXPECT(value >= 0 && value < kAll && !seen[int(value)]);
    if (value >= 0 && value < kAll) seen[int(value)] = true;
  }
  for (int k = 0; k < kPlaces; ++k) {
    EXPECT(f[k].x == kEach && f[k].y == 2 * kEach && f[k].z == 3 * kEach && f[k].w == float(k * kEach));
    EXPECT(t[k].x == -kEach && t[k].y == kEach / 2);
    const auto half = [&](int e) { return __half2float(__ushort_as_half(static_cast<unsigned short>(h[4 * k + e / 2] >> 16 * (e % 2)))); };
    for (int e = 0; e < 8; ++e) {
      const float pair = e < 4 ? (e % 2 == 0 ? 2.0f : 1.0f) : (e % 2 == 0 ? 0.0f : 0.5f);
      EXPECT(half(e) == kEach * (pair + (e % 2 == 0 ? 1.0f : 0.0f)));
    }
    EXPECT(__bfloat162float(__ushort_as_bfloat16(n[4 * k])) == kEach && n[4 * k + 2] == 0);
  }
  EXPECT(t[kPlaces].x == kAll && t[kPlaces].y == -kAll);
  return check::done();
}
