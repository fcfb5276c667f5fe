// What the programs that use cuFFT share: its functions by element type, and transforms by their definition, in double, to compare with. Needs -lcufft.
#pragma once

#include <cufftXt.h>

#include <complex>

#include "check.h"

namespace fft {

using Z = std::complex<double>;

inline void ok(cufftResult result, const char* what, const char* file, int line) {
  if (result == CUFFT_SUCCESS) return;
  std::printf("%s:%d: %s: cufftResult %d\n", file, line, what, int(result));
  std::fflush(stdout);
  std::_Exit(1);
}

inline void expect(cufftResult got, cufftResult wanted, const char* what, const char* file, int line) {
  if (got == wanted) return;
  std::printf("%s:%d: %s: cufftResult %d instead of %d\n", file, line, what, int(got), int(wanted));
  ++check::failures;
}

#define FFT(...) ::fft::ok((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define EXPECT_RESULT(wanted, ...) ::fft::expect((__VA_ARGS__), wanted, #__VA_ARGS__, __FILE__, __LINE__)

// The functions of one precision.
template <class R>
struct Of;
template <>
struct Of<float> {
  using Complex = cufftComplex;
  static constexpr cufftType c2c = CUFFT_C2C, r2c = CUFFT_R2C, c2r = CUFFT_C2R;
  static constexpr double epsilon = 1.2e-7;
  static cufftResult exec(cufftHandle plan, Complex* in, Complex* out, int direction) { return cufftExecC2C(plan, in, out, direction); }
  static cufftResult exec(cufftHandle plan, float* in, Complex* out, int) { return cufftExecR2C(plan, in, out); }
  static cufftResult exec(cufftHandle plan, Complex* in, float* out, int) { return cufftExecC2R(plan, in, out); }
};
template <>
struct Of<double> {
  using Complex = cufftDoubleComplex;
  static constexpr cufftType c2c = CUFFT_Z2Z, r2c = CUFFT_D2Z, c2r = CUFFT_Z2D;
  static constexpr double epsilon = 2.3e-16;
  static cufftResult exec(cufftHandle plan, Complex* in, Complex* out, int direction) { return cufftExecZ2Z(plan, in, out, direction); }
  static cufftResult exec(cufftHandle plan, double* in, Complex* out, int) { return cufftExecD2Z(plan, in, out); }
  static cufftResult exec(cufftHandle plan, Complex* in, double* out, int) { return cufftExecZ2D(plan, in, out); }
};

template <class T> Z wide(T value) { return double(value); }
template <> inline Z wide(cufftComplex value) { return {value.x, value.y}; }
template <> inline Z wide(cufftDoubleComplex value) { return {value.x, value.y}; }
template <class T> T narrow(Z value) { return T(value.real()); }
template <> inline cufftComplex narrow(Z value) { return {float(value.real()), float(value.imag())}; }
template <> inline cufftDoubleComplex narrow(Z value) { return {value.real(), value.imag()}; }

inline std::vector<Z> randoms(std::size_t count, std::uint64_t seed, bool real = false) {
  check::Random random(seed);
  std::vector<Z> all(count);
  for (Z& each : all) {
    const double re = random.uniform(-1, 1);
    each = {re, real ? 0.0 : random.uniform(-1, 1)};
  }
  return all;
}

// Of one signal of these dimensions, one after the other.
inline std::vector<Z> transformed(std::vector<Z> signal, const std::vector<int>& dims, int direction) {
  std::size_t inner = 1;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    const std::size_t n = std::size_t(dims[axis]);
    std::vector<Z> roots(n), line(n);
    for (std::size_t k = 0; k < n; ++k) roots[k] = std::polar(1.0, direction * 2 * 3.14159265358979323846 * double(k) / double(n));
    for (std::size_t first = 0; first < signal.size(); ++first) {
      if (first / inner % n != 0) continue;
      for (std::size_t k = 0; k < n; ++k) {
        Z sum = 0;
        for (std::size_t i = 0; i < n; ++i) sum += signal[first + i * inner] * roots[i * k % n];
        line[k] = sum;
      }
      for (std::size_t k = 0; k < n; ++k) signal[first + k * inner] = line[k];
    }
    inner *= n;
  }
  return signal;
}

inline std::size_t productOf(const std::vector<int>& dims) {
  std::size_t product = 1;
  for (const int dim : dims) product *= std::size_t(dim);
  return product;
}

// The half of a spectrum that a real signal has in memory.
inline std::vector<Z> half(const std::vector<Z>& spectrum, const std::vector<int>& dims) {
  const std::size_t n = std::size_t(dims.back()), kept = n / 2 + 1;
  std::vector<Z> all;
  for (std::size_t row = 0; row < spectrum.size() / n; ++row) all.insert(all.end(), spectrum.begin() + long(row * n), spectrum.begin() + long(row * n + kept));
  return all;
}

// Relative to the largest of them.
inline void near(const char* what, const std::vector<Z>& got, const std::vector<Z>& wanted, double epsilon) {
  if (got.size() != wanted.size()) {
    std::printf("%s has %zu elements, should have %zu\n", what, got.size(), wanted.size());
    ++check::failures;
    return;
  }
  double error = 0, size = 1;
  std::size_t where = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double here = std::abs(got[i] - wanted[i]);
    if (!(here <= error)) error = here, where = i;
    size = std::max(size, std::abs(wanted[i]));
  }
  if (error <= epsilon * 16 * size) return;
  std::printf("%s[%zu] is (%.17g, %.17g), should be (%.17g, %.17g)\n", what, where, got[where].real(), got[where].imag(), wanted[where].real(), wanted[where].imag());
  ++check::failures;
}

template <class T>
T* toDevice(const std::vector<Z>& values) {
  std::vector<T> host;
  for (const Z& each : values) host.push_back(narrow<T>(each));
  return check::toDevice(host);
}
template <class T>
std::vector<Z> toHost(const T* device, std::size_t count) {
  std::vector<Z> all;
  for (const T& each : check::toHost(device, count)) all.push_back(wide(each));
  return all;
}

}  // namespace fft
