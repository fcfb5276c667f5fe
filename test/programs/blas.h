// What the programs that use cuBLAS share: its functions by element type, matrices of random numbers, and plain loops in double to
// compare with. Needs -lcublas.
#pragma once

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <complex>
#include <cstdint>

#include "check.h"

namespace blas {

using Z = std::complex<double>;

inline void ok(cublasStatus_t status, const char* what, const char* file, int line) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::printf("%s:%d: %s: %s\n", file, line, what, cublasGetStatusName(status));
  std::fflush(stdout);
  std::_Exit(1);
}

inline void expect(cublasStatus_t got, cublasStatus_t wanted, const char* what, const char* file, int line) {
  if (got == wanted) return;
  std::printf("%s:%d: %s: %s instead of %s\n", file, line, what, cublasGetStatusName(got), cublasGetStatusName(wanted));
  ++check::failures;
}

#define BLAS(...) ::blas::ok((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define EXPECT_STATUS(wanted, ...) ::blas::expect((__VA_ARGS__), wanted, #__VA_ARGS__, __FILE__, __LINE__)

// Elements as double complex numbers and back.
inline Z wide(float v) { return v; }
inline Z wide(double v) { return v; }
inline Z wide(__half v) { return double(__half2float(v)); }
inline Z wide(__nv_bfloat16 v) { return double(__bfloat162float(v)); }
inline Z wide(signed char v) { return double(v); }
inline Z wide(int v) { return double(v); }
inline Z wide(std::int64_t v) { return double(v); }
inline Z wide(cuComplex v) { return {v.x, v.y}; }
inline Z wide(cuDoubleComplex v) { return {v.x, v.y}; }
template <class T>
T narrow(Z v);
template <> inline float narrow(Z v) { return float(v.real()); }
template <> inline double narrow(Z v) { return v.real(); }
template <> inline __half narrow(Z v) { return __float2half(float(v.real())); }
template <> inline __nv_bfloat16 narrow(Z v) { return __float2bfloat16(float(v.real())); }
template <> inline signed char narrow(Z v) { return (signed char)(v.real()); }
template <> inline int narrow(Z v) { return int(v.real()); }
template <> inline cuComplex narrow(Z v) { return {float(v.real()), float(v.imag())}; }
template <> inline cuDoubleComplex narrow(Z v) { return {v.real(), v.imag()}; }

template <class T> constexpr double kEpsilon = 1.2e-7;
template <> inline constexpr double kEpsilon<double> = 2.3e-16;
template <> inline constexpr double kEpsilon<cuDoubleComplex> = 2.3e-16;
template <> inline constexpr double kEpsilon<__half> = 9.8e-4;
template <> inline constexpr double kEpsilon<__nv_bfloat16> = 7.9e-3;
template <> inline constexpr double kEpsilon<int> = 0;
template <class T> constexpr bool kComplex = false;
template <> inline constexpr bool kComplex<cuComplex> = true;
template <> inline constexpr bool kComplex<cuDoubleComplex> = true;
template <class T> constexpr cudaDataType kType = CUDA_R_32F;
template <> inline constexpr cudaDataType kType<double> = CUDA_R_64F;
template <> inline constexpr cudaDataType kType<__half> = CUDA_R_16F;
template <> inline constexpr cudaDataType kType<__nv_bfloat16> = CUDA_R_16BF;
template <> inline constexpr cudaDataType kType<signed char> = CUDA_R_8I;
template <> inline constexpr cudaDataType kType<int> = CUDA_R_32I;
template <> inline constexpr cudaDataType kType<cuComplex> = CUDA_C_32F;
template <> inline constexpr cudaDataType kType<cuDoubleComplex> = CUDA_C_64F;

template <class T>
struct RealOf { using type = T; };
template <> struct RealOf<cuComplex> { using type = float; };
template <> struct RealOf<cuDoubleComplex> { using type = double; };
template <class T>
using real_t = typename RealOf<T>::type;

template <class T>
T random(check::Random& r) {
  if (std::is_same_v<T, signed char> || std::is_same_v<T, int>) return narrow<T>(Z(double(int(r.below(21)) - 10)));
  const double re = r.uniform(-1, 1);
  return narrow<T>(kComplex<T> ? Z(re, r.uniform(-1, 1)) : Z(re));
}

template <class T>
std::vector<T> randoms(check::Random& r, std::size_t count) {
  std::vector<T> all(count);
  for (T& v : all) v = random<T>(r);
  return all;
}

// Bytes that no computation leaves where it should not write, and that spoil what reads them: NaNs.
template <class T>
std::vector<T> spoiled(std::size_t count) {
  std::vector<T> all(count);
  std::memset(all.data(), 0xff, count * sizeof(T));
  return all;
}

// A column-major matrix on the device, and on the host as it was uploaded.
template <class T>
struct Matrix {
  int rows, columns, ld;
  std::vector<T> host;
  T* device;

  // What lies between the columns is NaN.
  Matrix(check::Random& r, int rows, int columns, int gap = 0) : rows(rows), columns(columns), ld(rows + gap > 0 ? rows + gap : 1) {
    host = spoiled<T>(std::size_t(ld) * (columns > 0 ? columns : 1));
    for (int j = 0; j < columns; ++j)
      for (int i = 0; i < rows; ++i) host[i + std::size_t(j) * ld] = random<T>(r);
    device = check::toDevice(host);
  }
  ~Matrix() { CHECK(cudaFree(device)); }
  Matrix(const Matrix&) = delete;

  T& at(int i, int j) { return host[i + std::size_t(j) * ld]; }
  Z operator()(int i, int j) const { return wide(host[i + std::size_t(j) * ld]); }
  Z op(cublasOperation_t t, int i, int j) const {
    if (t == CUBLAS_OP_N) return (*this)(i, j);
    const Z v = (*this)(j, i);
    return t == CUBLAS_OP_C && kComplex<T> ? std::conj(v) : v;
  }
  void upload() { CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice)); }

  // The device's matrix is `wanted` within what rounding may do to `terms` products of numbers up to 1 (`scale`: of that size), and
  // nothing between the columns has been written.
  template <class Wanted>
  void compare(const char* name, Wanted&& wanted, double scale) const {
    const std::vector<T> got = check::toHost(device, host.size());
    for (int j = 0; j < columns; ++j)
      for (int i = 0; i < ld; ++i) {
        const T element = got[i + std::size_t(j) * ld];
        if (i >= rows) {
          if (std::memcmp(&element, &host[i + std::size_t(j) * ld], sizeof element) == 0) continue;
          std::printf("%s: written between the columns, at (%d, %d)\n", name, i, j);
          ++check::failures;
          return;
        }
        const Z w = wanted(i, j), g = wide(element);
        const double bound = 2 * kEpsilon<T> * scale;
        if (std::abs(g - w) <= bound) continue;
        std::printf("%s(%d, %d) is %.9g + %.9gi, should be %.9g + %.9gi within %g (%d x %d)\n", name, i, j, g.real(), g.imag(), w.real(), w.imag(),
                    bound, rows, columns);
        ++check::failures;
        return;
      }
  }
};

// A vector on the device with an increment, in BLAS's order: a negative one begins with the last element.
template <class T>
struct Vector {
  int n, inc;
  std::vector<T> host;
  T* device;
  Vector(check::Random& r, int n, int inc) : n(n), inc(inc) {
    host = spoiled<T>(n > 0 ? std::size_t(n - 1) * std::abs(inc) + 1 : 1);
    for (int i = 0; i < n; ++i) host[place(i)] = random<T>(r);
    device = check::toDevice(host);
  }
  ~Vector() { CHECK(cudaFree(device)); }
  Vector(const Vector&) = delete;
  std::size_t place(int i) const { return inc < 0 ? std::size_t(n - 1 - i) * -inc : std::size_t(i) * inc; }
  Z operator()(int i) const { return wide(host[place(i)]); }
  void upload() { CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice)); }
  template <class Wanted>
  void compare(const char* name, Wanted&& wanted, double scale) const {
    const std::vector<T> got = check::toHost(device, host.size());
    std::vector<bool> ours(host.size());
    for (int i = 0; i < n; ++i) {
      ours[place(i)] = true;
      const Z w = wanted(i), g = wide(got[place(i)]);
      if (std::abs(g - w) <= 2 * kEpsilon<T> * scale) continue;
      std::printf("%s[%d] is %.9g + %.9gi, should be %.9g + %.9gi (n %d, inc %d)\n", name, i, g.real(), g.imag(), w.real(), w.imag(), n, inc);
      ++check::failures;
      return;
    }
    for (std::size_t i = 0; i < host.size(); ++i)
      if (!ours[i] && std::memcmp(&got[i], &host[i], sizeof(T)) != 0) {
        std::printf("%s: written between the elements, at %zu\n", name, i);
        ++check::failures;
        return;
      }
  }
};

// A scalar as the handle's pointer mode wants it.
template <class T>
struct Scalar {
  T value;
  T* device = nullptr;
  bool inMemory;
  Scalar(cublasHandle_t handle, Z v) : value(narrow<T>(v)) {
    cublasPointerMode_t mode;
    BLAS(cublasGetPointerMode(handle, &mode));
    inMemory = mode == CUBLAS_POINTER_MODE_DEVICE;
    if (inMemory) device = check::toDevice(std::vector<T>{value});
  }
  ~Scalar() {
    if (inMemory) CHECK(cudaFree(device));
  }
  Scalar(const Scalar&) = delete;
  operator const T*() const { return inMemory ? device : &value; }
  Z wide() const { return blas::wide(value); }
};

// Without the attention to infinities that the operator pays.
inline Z times(Z a, Z b) { return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()}; }

inline const char* name(cublasOperation_t t) { return t == CUBLAS_OP_N ? "N" : t == CUBLAS_OP_T ? "T" : "C"; }

// The same program with the functions whose numbers have 64 bits: BLAS_SUFFIX is _64 then, and Int their type.
#ifndef BLAS_SUFFIX
#define BLAS_SUFFIX
using Int = int;
#else
using Int = std::int64_t;
#endif
#define BLAS_PASTE(name, suffix) name##suffix
#define BLAS_JOIN(name, suffix) BLAS_PASTE(name, suffix)
#define BLAS_NAME(name) BLAS_JOIN(name, BLAS_SUFFIX)

// `function` by element type.
#define ROUSE_BLAS_OF(function, s, d, c, z)                                            \
  template <class T> constexpr auto* function = BLAS_NAME(s);                          \
  template <> inline constexpr auto* function<double> = BLAS_NAME(d);                  \
  template <> inline constexpr auto* function<cuComplex> = BLAS_NAME(c);               \
  template <> inline constexpr auto* function<cuDoubleComplex> = BLAS_NAME(z);
#define ROUSE_BLAS_FOUR(function) ROUSE_BLAS_OF(function, cublasS##function, cublasD##function, cublasC##function, cublasZ##function)
#define ROUSE_BLAS_COMPLEX(function)                                                   \
  template <class T> constexpr auto* function = BLAS_NAME(cublasC##function);          \
  template <> inline constexpr auto* function<cuDoubleComplex> = BLAS_NAME(cublasZ##function);

}  // namespace blas
