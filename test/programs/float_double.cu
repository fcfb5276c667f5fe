// IEEE arithmetic, bit for bit: directed rounding, fused multiply-add, division, square root, subnormals, infinities, NaN tests,
// conversions between all number types with every rounding, saturating conversions.
#include <cfenv>
#include <limits>

#include "check.h"

constexpr int kFloats = 16, kDoubles = 16, kIntegers = 16;

__global__ void floats(const float* a, const float* b, const float* c, int n, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = a[i], y = b[i], z = c[i], *r = out + i * kFloats;
  r[0] = __fadd_rn(x, y);
  r[1] = __fmul_rn(x, y);
  r[2] = fmaf(x, y, z);
  r[3] = __fdiv_rn(x, y);
  r[4] = __fsqrt_rn(fabsf(x));
  r[5] = __fadd_rz(x, y);
  r[6] = __fmul_ru(x, y);
  r[7] = __fmul_rd(x, y);
  r[8] = __fmaf_rz(x, y, z);
  r[9] = __fdiv_rz(x, y);
  r[10] = floorf(x);
  r[11] = truncf(y);
  r[12] = rintf(x);
  r[13] = copysignf(x, y);
  r[14] = fminf(x, y) - fmaxf(y, z);
  r[15] = __fsub_rn(x, y);
}

__global__ void doubles(const double* a, const double* b, const double* c, int n, double* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double x = a[i], y = b[i], z = c[i], *r = out + i * kDoubles;
  r[0] = __dadd_rn(x, y);
  r[1] = __dmul_rn(x, y);
  r[2] = fma(x, y, z);
  r[3] = __ddiv_rn(x, y);
  r[4] = __dsqrt_rn(fabs(x));
  r[5] = __dadd_ru(x, y);
  r[6] = __dmul_rz(x, y);
  r[7] = __fma_rd(x, y, z);
  r[8] = __ddiv_ru(x, y);
  r[9] = ceil(x);
  r[10] = round(y);
  r[11] = nearbyint(x);
  r[12] = fmod(x, y);
  r[13] = ldexp(x, 5);
  r[14] = fdim(x, y);
  r[15] = double(float(x));
}

__global__ void conversions(const double* a, int n, long long* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double x = a[i];
  float f = __double2float_rn(x);
  long long* r = out + i * kIntegers;
  r[0] = __double2int_rn(x);
  r[1] = __double2int_rz(x);
  r[2] = __double2int_ru(x);
  r[3] = __double2int_rd(x);
  r[4] = __float2int_rn(f);
  r[5] = __float2int_rz(f);
  r[6] = __double2uint_rz(x);
  r[7] = __double2ll_rn(x);
  r[8] = __double2ll_rd(x);
  r[9] = (long long)__double2ull_rz(x);
  r[10] = __float2ll_rz(f);
  r[11] = __float_as_int(__int2float_rz(int(r[0])));
  r[12] = __float_as_int(__ll2float_rn(r[7]));
  r[13] = __double_as_longlong(__ull2double_rd((unsigned long long)r[7]));
  r[14] = __float_as_int(__double2float_ru(x));
  r[15] = isnan(x) | isinf(x) << 1 | isfinite(f) << 2 | (signbit(x) != 0) << 3;
}

template <class T>
T rounded(int mode, T (*f)(T, T, T), T x, T y, T z) {
  std::fesetround(mode);
  volatile T a = x, b = y, c = z;
  volatile T result = f(a, b, c);
  std::fesetround(FE_TONEAREST);
  return result;
}
template <class T> T sum(T x, T y, T) { return x + y; }
template <class T> T product(T x, T y, T) { return x * y; }
template <class T> T quotient(T x, T y, T) { return x / y; }
template <class T> T fused(T x, T y, T z) { return std::fma(x, y, z); }

template <class I>
long long clampTo(double x) {  // x is whole already
  if (std::isnan(x)) return 0;
  if (x <= double(std::numeric_limits<I>::min())) return (long long)std::numeric_limits<I>::min();
  if (x >= double(std::numeric_limits<I>::max())) return (long long)std::numeric_limits<I>::max();
  return (long long)(I)x;
}

template <class T>
std::vector<T> numbers(int n, std::uint64_t seed, const std::vector<T>& special) {
  check::Random random(seed);
  std::vector<T> v(n);
  for (int i = 0; i < n; ++i)
    v[i] = random.below(4) == 0 ? special[random.below(std::uint32_t(special.size()))]
                                : T(std::ldexp(random.uniform(-2, 2), int(random.below(sizeof(T) == 4 ? 60 : 300)) - (sizeof(T) == 4 ? 30 : 150)));
  return v;
}

// NaNs carry whatever payload: any NaN equals any.
template <class T>
void same(const char* name, std::vector<T> got, std::vector<T> wanted) {
  for (auto* v : {&got, &wanted})
    for (T& x : *v)
      if (std::isnan(x)) x = std::numeric_limits<T>::quiet_NaN();
  check::equal(name, got, wanted);
}

int main() {
  const int n = 3000;
  {
    std::vector<float> special = {0.0f, -0.0f, 1.0f, -1.0f, 1e-45f, -1e-40f, 1.17549435e-38f, 3.4e38f, -3.4e38f, INFINITY, -INFINITY, NAN, 0.5f, 2.5f, -3.5f, 8388609.0f};
    auto x = numbers<float>(n, 21, special), y = numbers<float>(n, 22, special), z = numbers<float>(n, 23, special);
    std::vector<float> wanted(n * kFloats);
    for (int i = 0; i < n; ++i) {
      float a = x[i], b = y[i], c = z[i], *r = &wanted[i * kFloats];
      r[0] = rounded(FE_TONEAREST, sum<float>, a, b, c);
      r[1] = rounded(FE_TONEAREST, product<float>, a, b, c);
      r[2] = std::fmaf(a, b, c);
      r[3] = rounded(FE_TONEAREST, quotient<float>, a, b, c);
      r[4] = std::sqrt(std::fabs(a));
      r[5] = rounded(FE_TOWARDZERO, sum<float>, a, b, c);
      r[6] = rounded(FE_UPWARD, product<float>, a, b, c);
      r[7] = rounded(FE_DOWNWARD, product<float>, a, b, c);
      r[8] = rounded(FE_TOWARDZERO, fused<float>, a, b, c);
      r[9] = rounded(FE_TOWARDZERO, quotient<float>, a, b, c);
      r[10] = std::floor(a);
      r[11] = std::trunc(b);
      r[12] = std::rint(a);
      r[13] = std::copysign(a, b);
      volatile float low = std::fmin(a, b), high = std::fmax(b, c);
      // fmin and fmax of zeros of both signs may return either
      if (low == 0) low = 0;
      r[14] = low - high;
      r[15] = rounded(FE_TONEAREST, sum<float>, a, -b, c);
    }
    float* out = check::deviceArray<float>(n * kFloats);
    floats<<<(n + 127) / 128, 128>>>(check::toDevice(x), check::toDevice(y), check::toDevice(z), n, out);
    CHECK(cudaGetLastError());
    std::vector<float> got = check::toHost(out, n * kFloats);
    for (int i = 0; i < n; ++i)
      for (float* v : {&got[i * kFloats + 14], &wanted[i * kFloats + 14]})
        if (*v == 0) *v = 0;
    same("float", got, wanted);
  }
  std::vector<double> special = {0.0, -0.0, 1.0, -1.0, 5e-324, -1e-310, 2.2250738585072014e-308, 1.7e308, -1.7e308, INFINITY, -INFINITY, NAN, 0.5, 2.5, -3.5, 4503599627370497.5,
                                 2147483647.5, -2147483648.5, 4294967295.5, 9.3e18, -9.3e18, 1.9e19, 0.49999999999999994, 16777217.0};
  auto x = numbers<double>(n, 24, special), y = numbers<double>(n, 25, special), z = numbers<double>(n, 26, special);
  {
    std::vector<double> wanted(n * kDoubles);
    for (int i = 0; i < n; ++i) {
      double a = x[i], b = y[i], c = z[i], *r = &wanted[i * kDoubles];
      r[0] = rounded(FE_TONEAREST, sum<double>, a, b, c);
      r[1] = rounded(FE_TONEAREST, product<double>, a, b, c);
      r[2] = std::fma(a, b, c);
      r[3] = rounded(FE_TONEAREST, quotient<double>, a, b, c);
      r[4] = std::sqrt(std::fabs(a));
      r[5] = rounded(FE_UPWARD, sum<double>, a, b, c);
      r[6] = rounded(FE_TOWARDZERO, product<double>, a, b, c);
      r[7] = rounded(FE_DOWNWARD, fused<double>, a, b, c);
      r[8] = rounded(FE_UPWARD, quotient<double>, a, b, c);
      r[9] = std::ceil(a);
      r[10] = std::round(b);
      r[11] = std::nearbyint(a);
      r[12] = std::fmod(a, b);
      r[13] = std::ldexp(a, 5);
      r[14] = std::fdim(a, b);
      r[15] = double(float(a));
    }
    double* out = check::deviceArray<double>(n * kDoubles);
    doubles<<<(n + 127) / 128, 128>>>(check::toDevice(x), check::toDevice(y), check::toDevice(z), n, out);
    CHECK(cudaGetLastError());
    same("double", check::toHost(out, n * kDoubles), wanted);
  }
  {
    std::vector<long long> wanted(n * kIntegers);
    std::vector<double> in(n);
    for (int i = 0; i < n; ++i) {
      // NaN converts to 0 for 32-bit results but to 2^63 for 64-bit ones: left out.
      double v = in[i] = std::isnan(x[i]) ? 1.25 : std::fabs(x[i]) < 1e12 || i % 2 ? x[i] : std::fmod(x[i], 1e11);
      if (std::isnan(in[i])) v = in[i] = -2.75;
      float f = float(v);
      long long* r = &wanted[i * kIntegers];
      r[0] = clampTo<int>(std::rint(v));
      r[1] = clampTo<int>(std::trunc(v));
      r[2] = clampTo<int>(std::ceil(v));
      r[3] = clampTo<int>(std::floor(v));
      r[4] = clampTo<int>(std::rint(f));
      r[5] = clampTo<int>(std::trunc(f));
      r[6] = clampTo<unsigned>(std::trunc(v));
      r[7] = clampTo<long long>(std::rint(v));
      r[8] = clampTo<long long>(std::floor(v));
      r[9] = clampTo<unsigned long long>(std::trunc(v));
      r[10] = clampTo<long long>(std::trunc(f));
      auto bits = [](auto value) {
        int b;
        std::memcpy(&b, &value, 4);
        return (long long)b;
      };
      std::fesetround(FE_TOWARDZERO);
      volatile int whole = int(r[0]);
      volatile float cut = float(whole);
      std::fesetround(FE_DOWNWARD);
      volatile unsigned long long big = (unsigned long long)r[7];
      volatile double down = double(big);
      std::fesetround(FE_UPWARD);
      volatile double source = v;
      volatile float up = float(source);
      std::fesetround(FE_TONEAREST);
      r[11] = bits(float(cut));
      r[12] = bits(float(r[7]));
      double downValue = down;
      std::memcpy(&r[13], &downValue, 8);
      r[14] = bits(float(up));
      r[15] = std::isnan(v) | std::isinf(v) << 1 | std::isfinite(f) << 2 | std::signbit(v) << 3;
    }
    long long* out = check::deviceArray<long long>(n * kIntegers);
    conversions<<<(n + 127) / 128, 128>>>(check::toDevice(in), n, out);
    CHECK(cudaGetLastError());
    std::vector<long long> got = check::toHost(out, n * kIntegers);
    for (int i = 0; i < n && check::failures < 10; ++i)
      for (int r = 0; r < kIntegers; ++r)
        if (got[i * kIntegers + r] != wanted[i * kIntegers + r]) {
          std::printf("conversion %d of %.17g gives %lld, should be %lld\n", r, in[i], got[i * kIntegers + r], wanted[i * kIntegers + r]);
          ++check::failures;
        }
  }
  return check::done();
}
