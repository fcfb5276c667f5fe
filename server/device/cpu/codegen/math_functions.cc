#include "server/device/cpu/codegen/math_functions.h"

#include <cfenv>
#include <cmath>

namespace {

// Switches the processor's rounding for one operation. Operands and results pass through volatile objects so that the
// compiler neither moves the operation out of the scope nor computes it ahead.
class RoundingScope {
 public:
  explicit RoundingScope(std::uint32_t mode) : saved_(std::fegetround()) {
    constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    std::fesetround(kModes[mode & 3]);
  }
  ~RoundingScope() { std::fesetround(saved_); }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  int saved_;
};

template <class Operation>
double rounded(std::uint32_t mode, double x, double y, double z, Operation operation) {
  volatile double a = x, b = y, c = z;
  volatile double result;
  {
    const RoundingScope scope(mode);
    result = operation(a, b, c);
  }
  return result;
}

struct Format {
  int fractionBits, bias, largestBits;
};
// OFP8 (Open Compute Project): E4M3 has no infinity, its largest number is 448; E5M2's is 57344.
constexpr Format kE4m3{3, 7, 0x7e};
constexpr Format kE5m2{2, 15, 0x7b};

}  // namespace

extern "C" {

double rouse_ptx_mul_f64(double x, double y, std::uint32_t mode) {
  return rounded(mode, x, y, 0, [](double a, double b, double) { return a * b; });
}
double rouse_ptx_div_f64(double x, double y, std::uint32_t mode) {
  return rounded(mode, x, y, 0, [](double a, double b, double) { return a / b; });
}
double rouse_ptx_fma_f64(double x, double y, double z, std::uint32_t mode) {
  return rounded(mode, x, y, z, [](double a, double b, double c) { return std::fma(a, b, c); });
}
double rouse_ptx_sqrt_f64(double x, std::uint32_t mode) {
  return rounded(mode, x, 0, 0, [](double a, double, double) { return std::sqrt(a); });
}

std::uint32_t rouse_ptx_fns(std::uint32_t mask, std::uint32_t base, std::int32_t n) {
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  if (base > 31) return kNone;
  if (n == 0) return (mask >> base & 1) != 0 ? base : kNone;
  const int step = n > 0 ? 1 : -1;
  std::uint32_t left = n > 0 ? static_cast<std::uint32_t>(n) : 0u - static_cast<std::uint32_t>(n);
  for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step) {
    if ((mask >> at & 1) != 0 && --left == 0) return static_cast<std::uint32_t>(at);
  }
  return kNone;
}

std::uint32_t rouse_ptx_to_fp8(float value, std::uint32_t isE4m3) {
  const Format format = isE4m3 != 0 ? kE4m3 : kE5m2;
  const std::uint32_t sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value)) return 0x7f;
  const float size = std::fabs(value);
  if (size == 0) return sign;
  int exponent = std::ilogb(size);
  if (size > 1e6f) return sign | static_cast<std::uint32_t>(format.largestBits);
  // In units of the last place; numbers below the normal range share the smallest exponent.
  exponent = exponent < 1 - format.bias ? 1 - format.bias : exponent;
  auto units = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, format.fractionBits - exponent)));
  const std::uint32_t implicit = 1u << format.fractionBits;
  std::uint32_t bits = units < implicit ? units
                                        : (static_cast<std::uint32_t>(exponent + format.bias) << format.fractionBits) +
                                              (units - implicit);
  if (bits > static_cast<std::uint32_t>(format.largestBits)) bits = static_cast<std::uint32_t>(format.largestBits);
  return sign | bits;
}

float rouse_ptx_from_fp8(std::uint32_t bits, std::uint32_t isE4m3) {
  const Format format = isE4m3 != 0 ? kE4m3 : kE5m2;
  const bool negative = (bits & 0x80) != 0;
  const auto body = static_cast<int>(bits & 0x7f);
  const int exponent = body >> format.fractionBits;
  const int fraction = body & ((1 << format.fractionBits) - 1);
  float size;
  if (body > format.largestBits) {
    size = isE4m3 == 0 && body == 0x7c ? HUGE_VALF : std::nanf("");
  } else if (exponent == 0) {
    size = std::ldexp(static_cast<float>(fraction), 1 - format.bias - format.fractionBits);
  } else {
    size = std::ldexp(static_cast<float>(fraction + (1 << format.fractionBits)),
                      exponent - format.bias - format.fractionBits);
  }
  return negative ? -size : size;
}

}  // extern "C"
