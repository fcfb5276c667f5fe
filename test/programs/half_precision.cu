// half, half2 and bfloat16: conversions over all 65536 values, arithmetic, fused operations, comparisons, packed forms, a
// half matrix product accumulated in float; bit for bit against rounding from double done by hand.
// nvcc: -arch=sm_80
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

#include "check.h"

// Rounds to nearest even with the given precision; exact inputs in double.
unsigned short encode(double value, int mantissaBits, int exponentBits) {
  const int bias = (1 << (exponentBits - 1)) - 1, width = mantissaBits + exponentBits;
  unsigned short sign = std::signbit(value) ? 1u << width : 0;
  if (std::isnan(value)) return static_cast<unsigned short>((1u << width) - 1);
  value = std::fabs(value);
  const unsigned short infinity = static_cast<unsigned short>(((1u << exponentBits) - 1) << mantissaBits);
  if (std::isinf(value)) return sign | infinity;
  if (value == 0) return sign;
  int exponent;
  std::frexp(value, &exponent);
  exponent = std::max(exponent - 1, 1 - bias);
  double scaled = std::nearbyint(std::ldexp(value, mantissaBits - exponent));
  if (scaled >= std::ldexp(1.0, mantissaBits + 1)) {
    scaled /= 2;
    ++exponent;
  }
  if (exponent > bias) return sign | infinity;
  unsigned bits = unsigned(scaled);
  if (bits >> mantissaBits) bits += unsigned(exponent + bias - 1) << mantissaBits;
  return static_cast<unsigned short>(sign | bits);
}

double decode(unsigned short bits, int mantissaBits, int exponentBits) {
  const int bias = (1 << (exponentBits - 1)) - 1;
  int exponent = bits >> mantissaBits & ((1 << exponentBits) - 1), mantissa = bits & ((1 << mantissaBits) - 1);
  double sign = bits >> (mantissaBits + exponentBits) & 1 ? -1 : 1;
  if (exponent == (1 << exponentBits) - 1) return mantissa ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(double(mantissa), 1 - bias - mantissaBits);
  return sign * std::ldexp(double(mantissa | 1 << mantissaBits), exponent - bias - mantissaBits);
}

__device__ float toFloat(__half x) { return __half2float(x); }
__device__ float toFloat(__nv_bfloat16 x) { return __bfloat162float(x); }
template <class T> __device__ T fromFloat(float x);
template <> __device__ __half fromFloat(float x) { return __float2half(x); }
template <> __device__ __nv_bfloat16 fromFloat(float x) { return __float2bfloat16(x); }

template <class T>
__global__ void widen(const T* in, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = toFloat(in[i]);
}

template <class T>
__global__ void narrow(const float* in, T* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = fromFloat<T>(in[i]);
}

template <class T>
__global__ void arithmetic(const T* a, const T* b, const T* c, T* out, int* flags, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T x = a[i], y = b[i], z = c[i];
  out[i * 5 + 0] = __hadd_rn(x, y);
  out[i * 5 + 1] = __hsub_rn(x, y);
  out[i * 5 + 2] = __hmul_rn(x, y);
  out[i * 5 + 3] = __hfma(x, y, z);
  out[i * 5 + 4] = __hneg(__habs(x));
  flags[i] = __heq(x, y) | __hlt(x, y) << 1 | __hge(x, y) << 2 | __hisnan(x) << 3 | __hneu(x, z) << 4;
}

__global__ void packed(const __half2* a, const __half2* b, __half2* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half2 x = a[i], y = b[i];
  out[i] = __hfma2(x, y, __halves2half2(__high2half(x), __low2half(y)));
}

__global__ void product(const __half* a, const __half* b, float* c, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += __half2float(a[y * n + k]) * __half2float(b[k * n + x]);
  c[y * n + x] = sum;
}

template <class T>
void run(const char* name, int mantissa, int exponent) {
  auto bits = [](T x) {
    unsigned short b;
    std::memcpy(&b, &x, 2);
    return b;
  };
  std::vector<T> all(65536);
  std::vector<float> wide(65536);
  for (int i = 0; i < 65536; ++i) {
    unsigned short b = static_cast<unsigned short>(i);
    std::memcpy(&all[i], &b, 2);
    wide[i] = float(decode(b, mantissa, exponent));
  }
  float* floats = check::deviceArray<float>(65536);
  T* device = check::toDevice(all);
  widen<<<256, 256>>>(device, floats);
  CHECK(cudaGetLastError());
  std::vector<float> got = check::toHost(floats, 65536);
  for (int i = 0; i < 65536; ++i)
    if (!(std::isnan(got[i]) && std::isnan(wide[i])) && std::memcmp(&got[i], &wide[i], 4)) {
      std::printf("%s 0x%04x widens to %g, should be %g\n", name, i, got[i], wide[i]);
      ++check::failures;
      break;
    }

  const int n = 6000;
  check::Random random(27);
  std::vector<float> source(n);
  for (float& v : source) v = float(std::ldexp(random.uniform(-2, 2), int(random.below(50)) - 30));
  source[0] = 65519.99f, source[1] = 65520, source[2] = INFINITY, source[3] = -0.0f, source[4] = 1e-40f, source[5] = 2.98023223876953125e-8f;
  T* out = check::deviceArray<T>(n);
  narrow<<<(n + 127) / 128, 128>>>(check::toDevice(source), out, n);
  CHECK(cudaGetLastError());
  std::vector<T> narrowed = check::toHost(out, n);
  for (int i = 0; i < n; ++i)
    if (bits(narrowed[i]) != encode(source[i], mantissa, exponent)) {
      std::printf("%g narrows to %s 0x%04x, should be 0x%04x\n", source[i], name, bits(narrowed[i]), encode(source[i], mantissa, exponent));
      ++check::failures;
      break;
    }

  std::vector<T> a(n), b(n), c(n);
  for (int i = 0; i < n; ++i) {
    // Exponents near each other, so that double holds a * b + c exactly before the one rounding.
    unsigned short near = encode(1, mantissa, exponent);
    for (auto* v : {&a, &b, &c}) {
      unsigned short raw = static_cast<unsigned short>(near + int(random.below(8 << mantissa)) - (4 << mantissa)) ^ (random.below(2) << 15);
      if (random.below(20) == 0) raw = static_cast<unsigned short>(random.below(3) ? 0x8000 * random.below(2) : encode(INFINITY, mantissa, exponent));
      std::memcpy(&(*v)[i], &raw, 2);
    }
    if (i % 10 == 0) b[i] = a[i];
  }
  T* results = check::deviceArray<T>(5 * n);
  int* flags = check::deviceArray<int>(n);
  arithmetic<<<(n + 127) / 128, 128>>>(check::toDevice(a), check::toDevice(b), check::toDevice(c), results, flags, n);
  CHECK(cudaGetLastError());
  std::vector<T> gotResults = check::toHost(results, 5 * n);
  std::vector<int> gotFlags = check::toHost(flags, n);
  for (int i = 0; i < n && check::failures < 10; ++i) {
    double x = decode(bits(a[i]), mantissa, exponent), y = decode(bits(b[i]), mantissa, exponent), z = decode(bits(c[i]), mantissa, exponent);
    double wanted[5] = {x + y, x - y, x * y, x * y + z, -std::fabs(x)};
    for (int k = 0; k < 5; ++k) {
      unsigned short g = bits(gotResults[5 * i + k]), w = encode(wanted[k], mantissa, exponent);
      if (std::isnan(wanted[k]) ? std::isnan(decode(g, mantissa, exponent)) : g == w) continue;
      std::printf("%s operation %d of %g, %g, %g gives 0x%04x, should be 0x%04x\n", name, k, x, y, z, g, w);
      ++check::failures;
    }
    int wantedFlags = (x == y) | (x < y) << 1 | (x >= y) << 2 | std::isnan(x) << 3 | !(x == z) << 4;
    if (gotFlags[i] != wantedFlags) {
      std::printf("%s comparisons of %g, %g, %g give %#x, should be %#x\n", name, x, y, z, gotFlags[i], wantedFlags);
      ++check::failures;
    }
  }
}

int main() {
  run<__half>("half", 10, 5);
  run<__nv_bfloat16>("bfloat16", 7, 8);

  const int n = 1024;
  check::Random random(28);
  std::vector<__half2> a(n), b(n);
  std::vector<unsigned> wanted(n);
  for (int i = 0; i < n; ++i) {
    float v[4];
    for (float& f : v) f = float(int(random.below(2000)) - 1000) / 64;
    a[i] = __floats2half2_rn(v[0], v[1]);
    b[i] = __floats2half2_rn(v[2], v[3]);
    double al = __half2float(a[i].x), ah = __half2float(a[i].y), bl = __half2float(b[i].x), bh = __half2float(b[i].y);
    wanted[i] = encode(al * bl + ah, 10, 5) | unsigned(encode(ah * bh + bl, 10, 5)) << 16;
  }
  __half2* out = check::deviceArray<__half2>(n);
  packed<<<8, 128>>>(check::toDevice(a), check::toDevice(b), out, n);
  CHECK(cudaGetLastError());
  check::equal("half2", check::toHost(reinterpret_cast<unsigned*>(out), n), wanted);

  const int size = 48;
  std::vector<__half> left(size * size), right(size * size);
  std::vector<float> expected(size * size);
  for (int i = 0; i < size * size; ++i) {
    left[i] = __float2half(float(int(random.below(33)) - 16));
    right[i] = __float2half(float(int(random.below(33)) - 16) / 8);
  }
  for (int y = 0; y < size; ++y)
    for (int x = 0; x < size; ++x)
      for (int k = 0; k < size; ++k) expected[y * size + x] += __half2float(left[y * size + k]) * __half2float(right[k * size + x]);  // exact
  float* result = check::deviceArray<float>(size * size);
  product<<<dim3(3, 3), dim3(16, 16)>>>(check::toDevice(left), check::toDevice(right), result, size);
  CHECK(cudaGetLastError());
  check::equal("half product", check::toHost(result, size * size), expected);
  return check::done();
}
