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

}  // extern "C"
