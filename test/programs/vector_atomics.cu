// Atomic additions to vectors of floats and halves: each element is added to once by each thread, with and without what was there before. CUDA
// promises that of each element by itself: what is there before may be of different moments from one element to the next.
// nvcc: -gencode arch=compute_90,code=compute_90
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "check.h"

constexpr int kThreads = 128, kBlocks = 8, kPlaces = 4;

__global__ void add(float4* fours, float2* twos, unsigned* halves, unsigned short* brains, float2* before, ushort4* brainsBefore) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, at = i % kPlaces;
  atomicAdd(&fours[at], make_float4(1, 2, 3, float(at)));
  atomicAdd(&twos[at], make_float2(-1, 0.5f));
  before[i] = atomicAdd(&twos[kPlaces], make_float2(1, -1));
  // Eight halves, as pairs and as single ones; four of bfloat16.
  asm volatile("red.global.add.noftz.v4.f16x2 [%0], {%1, %1, %2, %2};" ::"l"(halves + 4 * at), "r"(0x3c004000), "r"(0x38000000) : "memory");
  asm volatile("red.relaxed.gpu.global.add.noftz.v8.f16 [%0], {%1, %2, %1, %2, %1, %2, %1, %2};" ::"l"(halves + 4 * at), "h"(short(0x3c00)), "h"(short(0))
               : "memory");
  unsigned short a, b, c, d;
  asm volatile("atom.global.v4.bf16.add.noftz {%0, %1, %2, %3}, [%4], {%5, %5, %6, %6};"
               : "=h"(a), "=h"(b), "=h"(c), "=h"(d)
               : "l"(brains + 4 * at), "h"(short(0x3f80)), "h"(short(0))
               : "memory");
  brainsBefore[i] = make_ushort4(a, b, c, d);
}

int main() {
  constexpr int kAll = kThreads * kBlocks, kEach = kAll / kPlaces;
  auto* fours = check::toDevice(std::vector<float4>(kPlaces));
  auto* twos = check::toDevice(std::vector<float2>(kPlaces + 1));
  auto* halves = check::toDevice(std::vector<unsigned>(4 * kPlaces));
  auto* brains = check::toDevice(std::vector<unsigned short>(4 * kPlaces));
  auto* before = check::deviceArray<float2>(kAll);
  auto* brainsBefore = check::deviceArray<ushort4>(kAll);
  add<<<kBlocks, kThreads>>>(fours, twos, halves, brains, before, brainsBefore);
  CHECK(cudaGetLastError());
  const auto f = check::toHost(fours, kPlaces);
  const auto t = check::toHost(twos, kPlaces + 1);
  const auto h = check::toHost(halves, 4 * kPlaces);
  const auto n = check::toHost(brains, 4 * kPlaces);
  const auto brain = [](unsigned short bits) { return __bfloat162float(__ushort_as_bfloat16(bits)); };
  std::vector<bool> seenX(kAll), seenY(kAll);
  const auto once = [](std::vector<bool>& seen, float value) {
    EXPECT(value >= 0 && value < kAll && !seen[int(value)]);
    if (value >= 0 && value < kAll) seen[int(value)] = true;
  };
  for (const float2 old : check::toHost(before, kAll)) {
    once(seenX, old.x);
    once(seenY, -old.y);
  }
  const auto possible = [](float value) { return value >= 0 && value < kEach && value == float(int(value)); };
  for (const ushort4 old : check::toHost(brainsBefore, kAll)) EXPECT(possible(brain(old.x)) && possible(brain(old.y)) && old.z == 0 && old.w == 0);
  for (int k = 0; k < kPlaces; ++k) {
    EXPECT(f[k].x == kEach && f[k].y == 2 * kEach && f[k].z == 3 * kEach && f[k].w == float(k * kEach));
    EXPECT(t[k].x == -kEach && t[k].y == kEach / 2);
    const auto half = [&](int e) { return __half2float(__ushort_as_half(static_cast<unsigned short>(h[4 * k + e / 2] >> 16 * (e % 2)))); };
    for (int e = 0; e < 8; ++e) {
      const float pair = e < 4 ? (e % 2 == 0 ? 2.0f : 1.0f) : (e % 2 == 0 ? 0.0f : 0.5f);
      EXPECT(half(e) == kEach * (pair + (e % 2 == 0 ? 1.0f : 0.0f)));
    }
    EXPECT(brain(n[4 * k]) == kEach && brain(n[4 * k + 1]) == kEach && n[4 * k + 2] == 0 && n[4 * k + 3] == 0);
  }
  EXPECT(t[kPlaces].x == kAll && t[kPlaces].y == -kAll);
  return check::done();
}
