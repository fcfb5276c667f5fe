// 8-bit floats (E4M3, E5M2) by the toolkit's types, whose host code says what is right: all bytes to halves and floats, all halves and many floats to bytes, beside their
// edges. Of NaN the sign is left open.
// nvcc: -gencode arch=compute_90,code=compute_90
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "check.h"

template <__nv_fp8_interpretation_t kKind>
__global__ void fromBytes(unsigned* halves, float* floats, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const __half2_raw pair = __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t(i), kKind);
  halves[i] = pair.x | unsigned(pair.y) << 16;
  floats[i] = __half2float(__half(__nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t(i & 0xff), kKind)));
}

template <__nv_fp8_interpretation_t kKind>
__global__ void toBytes(unsigned short* ofHalves, unsigned short* ofFloats, const float2* floats, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half2_raw pair;
  pair.x = (unsigned short)i;
  pair.y = (unsigned short)(i ^ 0x5555);
  ofHalves[i] = __nv_cvt_halfraw2_to_fp8x2(pair, __NV_SATFINITE, kKind);
  ofFloats[i] = __nv_cvt_float2_to_fp8x2(floats[i], __NV_SATFINITE, kKind);
}

bool isNan(unsigned half) { return (half & 0x7fff) > 0x7c00; }

template <__nv_fp8_interpretation_t kKind>
bool isNanByte(unsigned byte) { return (byte & 0x7f) > (kKind == __NV_E4M3 ? 0x7e : 0x7c); }

template <__nv_fp8_interpretation_t kKind>
bool same(unsigned got, unsigned wanted) {
  for (int shift = 0; shift < 16; shift += 8) {
    const unsigned a = got >> shift & 0xff, b = wanted >> shift & 0xff;
    if (a != b && !(isNanByte<kKind>(a) && isNanByte<kKind>(b))) return false;
  }
  return true;
}

constexpr int kAll = 65536;

template <__nv_fp8_interpretation_t kKind>
void tries(const char* name, const std::vector<float2>& floats) {
  unsigned* halves = check::deviceArray<unsigned>(kAll);
  float* singles = check::deviceArray<float>(kAll);
  fromBytes<kKind><<<kAll / 256, 256>>>(halves, singles, kAll);
  const auto gotHalves = check::toHost(halves, kAll);
  const auto gotSingles = check::toHost(singles, kAll);
  for (int i = 0; i < kAll; ++i) {
    const __half2_raw pair = __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t(i), kKind);
    const bool low = (gotHalves[i] & 0xffff) == pair.x || (isNan(gotHalves[i] & 0xffff) && isNan(pair.x));
    const bool high = gotHalves[i] >> 16 == pair.y || (isNan(gotHalves[i] >> 16) && isNan(pair.y));
    if (!low || !high) {
      std::printf("%s: %04x gives %08x, should be %04x%04x\n", name, i, gotHalves[i], pair.y, pair.x);
      ++check::failures;
      break;
    }
    if (!check::near(name, i, gotSingles[i], __half2float(__half(__nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t(i & 0xff), kKind))), 0)) break;
  }

  unsigned short* ofHalves = check::deviceArray<unsigned short>(kAll);
  unsigned short* ofFloats = check::deviceArray<unsigned short>(kAll);
  float2* device = check::toDevice(floats);
  toBytes<kKind><<<kAll / 256, 256>>>(ofHalves, ofFloats, device, kAll);
  const auto bytesOfHalves = check::toHost(ofHalves, kAll), bytesOfFloats = check::toHost(ofFloats, kAll);
  for (int i = 0; i < kAll; ++i) {
    __half2_raw pair;
    pair.x = (unsigned short)i;
    pair.y = (unsigned short)(i ^ 0x5555);
    const unsigned wantedOfHalves = __nv_cvt_halfraw2_to_fp8x2(pair, __NV_SATFINITE, kKind), wantedOfFloats = __nv_cvt_float2_to_fp8x2(floats[i], __NV_SATFINITE, kKind);
    if (!same<kKind>(bytesOfHalves[i], wantedOfHalves) || !same<kKind>(bytesOfFloats[i], wantedOfFloats)) {
      std::printf("%s: %d gives %04x and %04x (of %.9g, %.9g), should be %04x and %04x\n", name, i, bytesOfHalves[i], bytesOfFloats[i], floats[i].x, floats[i].y, wantedOfHalves, wantedOfFloats);
      ++check::failures;
      break;
    }
  }
  CHECK(cudaFree(halves));
  CHECK(cudaFree(singles));
  CHECK(cudaFree(ofHalves));
  CHECK(cudaFree(ofFloats));
  CHECK(cudaFree(device));
}

float ofBits(unsigned bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

int main() {
  check::Random random(8);
  std::vector<float2> floats(kAll);
  for (int i = 0; i < kAll; ++i) {
    // Any bits; sizes that 8 bits have; ties and their neighbours.
    const unsigned exponent = 127 - 20 + random.below(40), fraction = random.below(16) << 19;
    const unsigned tie = (exponent << 23 | fraction) + random.below(3) - 1;
    floats[i].x = i % 2 ? ofBits(unsigned(random.next())) : ofBits(tie | random.below(2) << 31);
    floats[i].y = i % 3 ? ofBits(tie | random.below(2) << 31) : ofBits((127 - 20 + random.below(40)) << 23 | random.below(1 << 23) | random.below(2) << 31);
  }
  const float edges[] = {0.f, -0.f, INFINITY, -INFINITY, NAN, 448, 449, 464, ofBits(0x43e80001), 480, 57344, 61440, 61441, 1e30f, -1e30f, ofBits(1), ofBits(0x80000001), 0x1p-10f, 0x1.8p-10f, 0x1p-9f, 0x1p-17f, 0x1.8p-17f, 0x1.8p-16f};
  for (unsigned i = 0; i < sizeof edges / sizeof *edges; ++i) floats[i] = {edges[i], -edges[i]};
  tries<__NV_E4M3>("E4M3", floats);
  tries<__NV_E5M2>("E5M2", floats);
  return check::done();
}
