// nvcc: -lcublas -lcublasLt
// library: libcublas.so.13
// cuBLAS as programs of before its version 4 call it (cublas.h): no handles, scalars and results by value, letters, and an error to be asked for.
#include <cublas.h>
#include <cuda_runtime.h>

#include <cmath>
#include <complex>
#include <vector>

#include "check.h"

using Z = std::complex<double>;

Z wide(float v) { return v; }
Z wide(double v) { return v; }
Z wide(cuComplex v) { return {v.x, v.y}; }
Z wide(cuDoubleComplex v) { return {v.x, v.y}; }
template <class T> T narrow(Z v) { return T(v.real()); }
template <> cuComplex narrow(Z v) { return {float(v.real()), float(v.imag())}; }
template <> cuDoubleComplex narrow(Z v) { return {v.real(), v.imag()}; }
template <class T> constexpr double kError = 1e-5;
template <> constexpr double kError<double> = 1e-13;
template <> constexpr double kError<cuDoubleComplex> = 1e-13;
template <class T> constexpr bool kComplex = sizeof(T) == 2 * sizeof(decltype(T{}.x));
template <> constexpr bool kComplex<float> = false;
template <> constexpr bool kComplex<double> = false;

template <class T>
struct Numbers {
  std::vector<T> host;
  T* device = nullptr;
  Numbers(check::Random& r, int count) : host(count) {
    for (T& v : host) v = narrow<T>({r.uniform(-1, 1), r.uniform(-1, 1)});
    EXPECT(cublasAlloc(count, sizeof(T), (void**)&device) == CUBLAS_STATUS_SUCCESS);
    upload();
  }
  ~Numbers() { EXPECT(cublasFree(device) == CUBLAS_STATUS_SUCCESS); }
  Numbers(const Numbers&) = delete;
  void upload() { EXPECT(cublasSetVector(int(host.size()), sizeof(T), host.data(), 1, device, 1) == CUBLAS_STATUS_SUCCESS); }
  Z operator()(int i) const { return wide(host[i]); }
  Z operator()(int i, int j, int ld) const { return wide(host[i + j * ld]); }
  template <class Wanted>
  void compare(const char* name, Wanted&& wanted) {
    std::vector<T> got(host.size());
    EXPECT(cublasGetVector(int(host.size()), sizeof(T), device, 1, got.data(), 1) == CUBLAS_STATUS_SUCCESS);
    for (int i = 0; i < int(host.size()); ++i) {
      if (std::abs(wide(got[i]) - wanted(i)) <= 40 * kError<T>) continue;
      std::printf("%s[%d] is %g + %gi, should be %g + %gi\n", name, i, wide(got[i]).real(), wide(got[i]).imag(), wanted(i).real(), wanted(i).imag());
      ++check::failures;
      break;
    }
    upload();
  }
};

void near(const char* name, Z got, Z wanted, double error) {
  if (std::abs(got - wanted) <= 100 * error) return;
  std::printf("%s is %g + %gi, should be %g + %gi\n", name, got.real(), got.imag(), wanted.real(), wanted.imag());
  ++check::failures;
}

// What returns something, by element type.
float dot(int n, const float* x, const float* y) { return cublasSdot(n, x, 1, y, 1); }
double dot(int n, const double* x, const double* y) { return cublasDdot(n, x, 1, y, 1); }
cuComplex dot(int n, const cuComplex* x, const cuComplex* y) { return cublasCdotc(n, x, 1, y, 1); }
cuDoubleComplex dot(int n, const cuDoubleComplex* x, const cuDoubleComplex* y) { return cublasZdotc(n, x, 1, y, 1); }
cuComplex dotu(int n, const cuComplex* x, const cuComplex* y) { return cublasCdotu(n, x, 1, y, 1); }
cuDoubleComplex dotu(int n, const cuDoubleComplex* x, const cuDoubleComplex* y) { return cublasZdotu(n, x, 1, y, 1); }
float nrm2(int n, const float* x) { return cublasSnrm2(n, x, 1); }
double nrm2(int n, const double* x) { return cublasDnrm2(n, x, 1); }
float nrm2(int n, const cuComplex* x) { return cublasScnrm2(n, x, 1); }
double nrm2(int n, const cuDoubleComplex* x) { return cublasDznrm2(n, x, 1); }
float asum(int n, const float* x) { return cublasSasum(n, x, 1); }
double asum(int n, const double* x) { return cublasDasum(n, x, 1); }
float asum(int n, const cuComplex* x) { return cublasScasum(n, x, 1); }
double asum(int n, const cuDoubleComplex* x) { return cublasDzasum(n, x, 1); }
int amax(int n, const float* x) { return cublasIsamax(n, x, 1); }
int amax(int n, const double* x) { return cublasIdamax(n, x, 1); }
int amax(int n, const cuComplex* x) { return cublasIcamax(n, x, 1); }
int amax(int n, const cuDoubleComplex* x) { return cublasIzamax(n, x, 1); }
int amin(int n, const float* x) { return cublasIsamin(n, x, 1); }
int amin(int n, const double* x) { return cublasIdamin(n, x, 1); }
int amin(int n, const cuComplex* x) { return cublasIcamin(n, x, 1); }
int amin(int n, const cuDoubleComplex* x) { return cublasIzamin(n, x, 1); }

// Row and column of an element of an upper triangle without gaps.
std::pair<int, int> placeOf(int element) {
  int column = 0;
  while ((column + 1) * (column + 2) / 2 <= element) ++column;
  return {element - column * (column + 1) / 2, column};
}

// The functions of one element type.
template <class T> struct Of;
#define OF(T, p)                                                                                                                   \
  template <> struct Of<T> {                                                                                                       \
    static constexpr auto axpy = cublas##p##axpy; static constexpr auto copy = cublas##p##copy; static constexpr auto swap = cublas##p##swap; \
    static constexpr auto scal = cublas##p##scal; static constexpr auto gemv = cublas##p##gemv; static constexpr auto gbmv = cublas##p##gbmv; \
    static constexpr auto trmv = cublas##p##trmv; static constexpr auto trsv = cublas##p##trsv; static constexpr auto tbmv = cublas##p##tbmv; \
    static constexpr auto tbsv = cublas##p##tbsv; static constexpr auto tpmv = cublas##p##tpmv; static constexpr auto tpsv = cublas##p##tpsv; \
    static constexpr auto gemm = cublas##p##gemm; static constexpr auto symm = cublas##p##symm; static constexpr auto syrk = cublas##p##syrk; \
    static constexpr auto syr2k = cublas##p##syr2k; static constexpr auto trmm = cublas##p##trmm; static constexpr auto trsm = cublas##p##trsm; \
  };
OF(float, S)
OF(double, D)
OF(cuComplex, C)
OF(cuDoubleComplex, Z)

void ger(int n, float a, const float* x, const float* y, float* A) { cublasSger(n, n, a, x, 1, y, 1, A, n); }
void ger(int n, double a, const double* x, const double* y, double* A) { cublasDger(n, n, a, x, 1, y, 1, A, n); }
void ger(int n, cuComplex a, const cuComplex* x, const cuComplex* y, cuComplex* A) { cublasCgeru(n, n, a, x, 1, y, 1, A, n); }
void ger(int n, cuDoubleComplex a, const cuDoubleComplex* x, const cuDoubleComplex* y, cuDoubleComplex* A) { cublasZgeru(n, n, a, x, 1, y, 1, A, n); }

template <class T>
void vectors() {
  check::Random r(7);
  const int n = 30;
  Numbers<T> x(r, n), y(r, n);
  const T alpha = narrow<T>({0.5, -2});
  Of<T>::axpy(n, alpha, x.device, 1, y.device, 1);
  y.compare("axpy", [&](int i) { return wide(alpha) * x(i) + y(i); });
  Of<T>::copy(n, x.device, 1, y.device, 1);
  y.compare("copy", [&](int i) { return x(i); });
  Of<T>::scal(n, alpha, x.device, 1);
  x.compare("scal", [&](int i) { return wide(alpha) * x(i); });
  Of<T>::swap(n, x.device, 1, y.device, 1);
  x.compare("swap", [&](int i) { return y(i); });
  y.compare("swap", [&](int i) { return x(i); });
  Z product = 0, plain = 0;
  double squares = 0, sizes = 0;
  int most = 0, least = 0;
  const auto size = [&](int i) { return std::abs(x(i).real()) + std::abs(x(i).imag()); };
  for (int i = 0; i < n; ++i) {
    product += std::conj(x(i)) * y(i);
    plain += x(i) * y(i);
    squares += std::norm(x(i));
    sizes += size(i);
    if (size(i) > size(most)) most = i;
    if (size(i) < size(least)) least = i;
  }
  near("dot", wide(dot(n, x.device, y.device)), product, kError<T>);
  if constexpr (kComplex<T>) near("dotu", wide(dotu(n, x.device, y.device)), plain, kError<T>);
  near("nrm2", nrm2(n, x.device), std::sqrt(squares), kError<T>);
  near("asum", asum(n, x.device), sizes, kError<T>);
  EXPECT(amax(n, x.device) == most + 1);
  EXPECT(amin(n, x.device) == least + 1);
}

template <class T>
void matrices() {
  check::Random r(8);
  const int n = 12;
  Numbers<T> a(r, n * n), b(r, n * n), c(r, n * n), x(r, n), y(r, n);
  for (int i = 0; i < n; ++i) a.host[i + i * n] = narrow<T>(4.0 + a(i, i, n));
  a.upload();
  const T alpha = narrow<T>({0.5, -1}), beta = narrow<T>({-1, 0.25}), one = narrow<T>(1);
  const Z al = wide(alpha), be = wide(beta);
  const auto sum = [&](auto&& term) {
    Z s = 0;
    for (int l = 0; l < n; ++l) s += term(l);
    return s;
  };
  Of<T>::gemv('t', n, n, alpha, a.device, n, x.device, 1, beta, y.device, 1);
  y.compare("gemv", [&](int i) { return al * sum([&](int l) { return a(l, i, n) * x(l); }) + be * y(i); });
  Of<T>::gbmv('N', n, n, 0, 0, alpha, a.device, n, x.device, 1, beta, y.device, 1);  // the first row as a diagonal
  y.compare("gbmv", [&](int i) { return al * a(0, i, n) * x(i) + be * y(i); });
  ger(n, alpha, x.device, y.device, c.device);
  c.compare("ger", [&](int e) { return al * x(e % n) * y(e / n) + c(e); });
  Of<T>::trmv('U', 'n', 'N', n, a.device, n, x.device, 1);
  x.compare("trmv", [&](int i) { return sum([&](int l) { return l >= i ? a(i, l, n) * x(l) : Z(0); }); });
  // What is multiplied and then solved is what it was.
  Of<T>::trmv('L', 'C', 'U', n, b.device, n, x.device, 1);
  Of<T>::trsv('l', 'c', 'u', n, b.device, n, x.device, 1);
  x.compare("trsv", [&](int i) { return x(i); });
  Of<T>::tbmv('L', 'T', 'N', n, 0, a.device, n, x.device, 1);
  Of<T>::tbsv('L', 'T', 'N', n, 0, a.device, n, x.device, 1);
  x.compare("tbsv", [&](int i) { return x(i); });
  Of<T>::tpmv('U', 'T', 'U', n, b.device, x.device, 1);
  Of<T>::tpsv('U', 'T', 'U', n, b.device, x.device, 1);
  x.compare("tpsv", [&](int i) { return x(i); });

  Of<T>::gemm('N', 'C', n, n, n, alpha, a.device, n, b.device, n, beta, c.device, n);
  c.compare("gemm", [&](int e) { return al * sum([&](int l) { return a(e % n, l, n) * std::conj(b(e / n, l, n)); }) + be * c(e); });
  const auto symmetric = [&](int i, int j) { return i >= j ? a(i, j, n) : a(j, i, n); };
  Of<T>::symm('R', 'L', n, n, alpha, a.device, n, b.device, n, beta, c.device, n);
  c.compare("symm", [&](int e) { return al * sum([&](int l) { return b(e % n, l, n) * symmetric(l, e / n); }) + be * c(e); });
  Of<T>::syrk('U', 'T', n, n, alpha, b.device, n, beta, c.device, n);
  c.compare("syrk", [&](int e) {
    const int i = e % n, j = e / n;
    return i > j ? c(e) : al * sum([&](int l) { return b(l, i, n) * b(l, j, n); }) + be * c(e);
  });
  Of<T>::syr2k('U', 'N', n, n, alpha, a.device, n, b.device, n, beta, c.device, n);
  c.compare("syr2k", [&](int e) {
    const int i = e % n, j = e / n;
    return i > j ? c(e) : al * sum([&](int l) { return a(i, l, n) * b(j, l, n) + b(i, l, n) * a(j, l, n); }) + be * c(e);
  });
  Of<T>::trmm('L', 'L', 'N', 'N', n, n, alpha, a.device, n, b.device, n);
  b.compare("trmm", [&](int e) { return al * sum([&](int l) { return l <= e % n ? a(e % n, l, n) * b(l, e / n, n) : Z(0); }); });
  Of<T>::trmm('R', 'U', 'T', 'N', n, n, one, a.device, n, b.device, n);
  Of<T>::trsm('R', 'U', 'T', 'N', n, n, one, a.device, n, b.device, n);
  b.compare("trsm", [&](int e) { return b(e); });
}

template <class T> struct Real;
#define REAL(T, p)                                                                                                                 \
  template <> struct Real<T> {                                                                                                     \
    static constexpr auto symv = cublas##p##symv; static constexpr auto sbmv = cublas##p##sbmv; static constexpr auto spmv = cublas##p##spmv; \
    static constexpr auto syr = cublas##p##syr; static constexpr auto syr2 = cublas##p##syr2; static constexpr auto spr = cublas##p##spr; \
    static constexpr auto spr2 = cublas##p##spr2; static constexpr auto rotg = cublas##p##rotg; static constexpr auto rot = cublas##p##rot; \
    static constexpr auto rotm = cublas##p##rotm; static constexpr auto rotmg = cublas##p##rotmg;                                  \
  };
REAL(float, S)
REAL(double, D)

// What there is for real numbers only.
template <class T>
void real() {
  check::Random r(9);
  const int n = 10;
  Numbers<T> a(r, n * n), x(r, n), y(r, n), p(r, n * (n + 1) / 2);
  const auto lower = [&](int i, int j) { return i >= j ? a(i, j, n) : a(j, i, n); };
  Real<T>::symv('L', n, 2, a.device, n, x.device, 1, -1, y.device, 1);
  y.compare("symv", [&](int i) { Z s = -y(i); for (int l = 0; l < n; ++l) s += 2.0 * lower(i, l) * x(l); return s; });
  Real<T>::sbmv('L', n, 0, 2, a.device, n, x.device, 1, -1, y.device, 1);
  y.compare("sbmv", [&](int i) { return 2.0 * a(0, i, n) * x(i) - y(i); });
  const auto at = [&](int i, int j) { return i <= j ? i + j * (j + 1) / 2 : j + i * (i + 1) / 2; };
  Real<T>::spmv('U', n, 2, p.device, x.device, 1, -1, y.device, 1);
  y.compare("spmv", [&](int i) { Z s = -y(i); for (int l = 0; l < n; ++l) s += 2.0 * p(at(i, l)) * x(l); return s; });
  Real<T>::syr('U', n, 2, x.device, 1, a.device, n);
  a.compare("syr", [&](int e) { return e % n > e / n ? a(e) : a(e) + 2.0 * x(e % n) * x(e / n); });
  Real<T>::syr2('U', n, 2, x.device, 1, y.device, 1, a.device, n);
  a.compare("syr2", [&](int e) { return e % n > e / n ? a(e) : a(e) + 2.0 * (x(e % n) * y(e / n) + y(e % n) * x(e / n)); });
  Real<T>::spr('U', n, 2, x.device, 1, p.device);
  p.compare("spr", [&](int e) { const auto [i, j] = placeOf(e); return p(e) + 2.0 * x(i) * x(j); });
  Real<T>::spr2('U', n, 2, x.device, 1, y.device, 1, p.device);
  p.compare("spr2", [&](int e) { const auto [i, j] = placeOf(e); return p(e) + 2.0 * (x(i) * y(j) + y(i) * x(j)); });

  T first = 3, second = 4, c = 0, s = 0;
  Real<T>::rotg(&first, &second, &c, &s);
  near("rotg", first, 5, kError<T>);
  Real<T>::rot(n, x.device, 1, y.device, 1, c, s);
  x.compare("rot", [&](int i) { return double(c) * x(i) + double(s) * y(i); });
  y.compare("rot", [&](int i) { return double(c) * y(i) - double(s) * x(i); });
  const T parameters[5] = {-1, 2, 3, 4, 5};
  Real<T>::rotm(n, x.device, 1, y.device, 1, parameters);
  x.compare("rotm", [&](int i) { return 2.0 * x(i) + 4.0 * y(i); });
  y.compare("rotm", [&](int i) { return 3.0 * x(i) + 5.0 * y(i); });
  T d1 = 1, d2 = 1, x1 = 1, made[5] = {7, 7, 7, 7, 7};
  const T y1 = 0;
  Real<T>::rotmg(&d1, &d2, &x1, &y1, made);
  EXPECT(made[0] == -2);
}

template <class T> struct Complex;
#define COMPLEX(T, R, p, scales, rotates)                                                                                          \
  template <> struct Complex<T> {                                                                                                  \
    using Real = R;                                                                                                                \
    static constexpr auto hemv = cublas##p##hemv; static constexpr auto hbmv = cublas##p##hbmv; static constexpr auto hpmv = cublas##p##hpmv; \
    static constexpr auto her = cublas##p##her; static constexpr auto her2 = cublas##p##her2; static constexpr auto hpr = cublas##p##hpr; \
    static constexpr auto hpr2 = cublas##p##hpr2; static constexpr auto hemm = cublas##p##hemm; static constexpr auto herk = cublas##p##herk; \
    static constexpr auto her2k = cublas##p##her2k; static constexpr auto gerc = cublas##p##gerc; static constexpr auto rotg = cublas##p##rotg; \
    static constexpr auto rot = cublas##p##rot; static constexpr auto scal = scales; static constexpr auto realRot = rotates;      \
  };
COMPLEX(cuComplex, float, C, cublasCsscal, cublasCsrot)
COMPLEX(cuDoubleComplex, double, Z, cublasZdscal, cublasZdrot)

// For complex ones only.
template <class T>
void complex() {
  using C = Complex<T>;
  using R = typename C::Real;
  check::Random r(10);
  const int n = 10;
  Numbers<T> h(r, n * n), b(r, n * n), u(r, n), v(r, n), p(r, n * (n + 1) / 2);
  T ca = {3, 0}, sine = {0, 0};
  R cosine = 0;
  C::rotg(&ca, T{0, 4}, &cosine, &sine);
  near("rotg", std::abs(wide(ca)), 5, kError<T>);
  C::rot(n, u.device, 1, v.device, 1, cosine, sine);
  u.compare("rot", [&](int i) { return double(cosine) * u(i) + wide(sine) * v(i); });
  v.compare("rot", [&](int i) { return double(cosine) * v(i) - std::conj(wide(sine)) * u(i); });
  C::realRot(n, u.device, 1, v.device, 1, R(0.6), R(0.8));
  u.compare("rot, real", [&](int i) { return double(R(0.6)) * u(i) + double(R(0.8)) * v(i); });
  v.compare("rot, real", [&](int i) { return double(R(0.6)) * v(i) - double(R(0.8)) * u(i); });
  C::scal(n, 3, u.device, 1);
  u.compare("scal, real", [&](int i) { return 3.0 * u(i); });
  const auto mirrored = [&](int i, int j, auto&& half) { return i == j ? Z(half(i, i).real()) : i > j ? half(i, j) : std::conj(half(j, i)); };
  const auto hermitian = [&](int i, int j) { return mirrored(i, j, [&](int k, int l) { return h(k, l, n); }); };
  const auto times = [&](int i, auto&& row) { Z t = v(i); for (int l = 0; l < n; ++l) t += Z(0, 1) * row(l) * u(l); return t; };
  C::hemv('L', n, {0, 1}, h.device, n, u.device, 1, {1, 0}, v.device, 1);
  v.compare("hemv", [&](int i) { return times(i, [&](int l) { return hermitian(i, l); }); });
  C::hbmv('L', n, 0, {0, 1}, h.device, n, u.device, 1, {1, 0}, v.device, 1);
  v.compare("hbmv", [&](int i) { return v(i) + Z(0, 1) * h(0, i, n).real() * u(i); });
  C::hpmv('U', n, {0, 1}, p.device, u.device, 1, {1, 0}, v.device, 1);
  const auto packed = [&](int i, int j) { return i == j ? Z(p(i + j * (j + 1) / 2).real()) : i < j ? p(i + j * (j + 1) / 2) : std::conj(p(j + i * (i + 1) / 2)); };
  v.compare("hpmv", [&](int i) { return times(i, [&](int l) { return packed(i, l); }); });
  const auto lower = [&](const char* name, Numbers<T>& m, auto&& more) {
    m.compare(name, [&](int e) {
      const int i = e % n, j = e / n;
      const Z t = more(i, j, m(e));
      return i < j ? m(e) : i == j ? Z(t.real()) : t;
    });
  };
  C::her('L', n, 2, u.device, 1, h.device, n);
  lower("her", h, [&](int i, int j, Z was) { return was + 2.0 * u(i) * std::conj(u(j)); });
  C::her2('L', n, {0, 1}, u.device, 1, v.device, 1, h.device, n);
  lower("her2", h, [&](int i, int j, Z was) { return was + Z(0, 1) * u(i) * std::conj(v(j)) - Z(0, 1) * v(i) * std::conj(u(j)); });
  C::herk('L', 'N', n, 1, 2, u.device, n, 3, h.device, n);
  lower("herk", h, [&](int i, int j, Z was) { return 3.0 * was + 2.0 * u(i) * std::conj(u(j)); });
  C::her2k('L', 'N', n, 1, {0, 1}, u.device, n, v.device, n, 3, h.device, n);
  lower("her2k", h, [&](int i, int j, Z was) { return 3.0 * was + Z(0, 1) * u(i) * std::conj(v(j)) - Z(0, 1) * v(i) * std::conj(u(j)); });
  const auto upper = [&](const char* name, auto&& more) {
    p.compare(name, [&](int e) {
      const auto [i, j] = placeOf(e);
      const Z t = p(e) + more(i, j);
      return i == j ? Z(t.real()) : t;
    });
  };
  C::hpr('U', n, 2, u.device, 1, p.device);
  upper("hpr", [&](int i, int j) { return 2.0 * u(i) * std::conj(u(j)); });
  C::hpr2('U', n, {0, 1}, u.device, 1, v.device, 1, p.device);
  upper("hpr2", [&](int i, int j) { return Z(0, 1) * u(i) * std::conj(v(j)) - Z(0, 1) * v(i) * std::conj(u(j)); });
  C::gerc(n, n, {1, 0}, u.device, 1, v.device, 1, b.device, n);
  b.compare("gerc", [&](int e) { return b(e) + u(e % n) * std::conj(v(e / n)); });
  Numbers<T> c(r, n * n);
  C::hemm('L', 'L', n, n, {0, 1}, h.device, n, b.device, n, {1, 0}, c.device, n);
  c.compare("hemm", [&](int e) { Z t = c(e); for (int l = 0; l < n; ++l) t += Z(0, 1) * hermitian(e % n, l) * b(l, e / n, n); return t; });
}

int main() {
  EXPECT(cublasShutdown() == CUBLAS_STATUS_NOT_INITIALIZED);
  void* nothing = nullptr;
  EXPECT(cublasAlloc(4, 4, &nothing) == CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT(cublasInit() == CUBLAS_STATUS_SUCCESS);
  int version = 0;
  EXPECT(cublasGetVersion(&version) == CUBLAS_STATUS_SUCCESS && version >= 13000);
  vectors<float>();
  vectors<double>();
  vectors<cuComplex>();
  vectors<cuDoubleComplex>();
  matrices<float>();
  matrices<double>();
  matrices<cuComplex>();
  matrices<cuDoubleComplex>();
  real<float>();
  real<double>();
  complex<cuComplex>();
  complex<cuDoubleComplex>();
  EXPECT(cublasGetError() == CUBLAS_STATUS_SUCCESS);
  cublasSgemm('N', 'N', -1, 2, 2, 1, nullptr, 2, nullptr, 2, 0, nullptr, 2);
  EXPECT(cublasGetError() == CUBLAS_STATUS_INVALID_VALUE);
  EXPECT(cublasGetError() == CUBLAS_STATUS_SUCCESS);  // asked for once
  EXPECT(cublasAlloc(0, 4, &nothing) == CUBLAS_STATUS_INVALID_VALUE);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  EXPECT(cublasSetKernelStream(stream) == CUBLAS_STATUS_SUCCESS);
  vectors<float>();
  EXPECT(cublasSetKernelStream(nullptr) == CUBLAS_STATUS_SUCCESS);
  CHECK(cudaStreamDestroy(stream));
  EXPECT(cublasShutdown() == CUBLAS_STATUS_SUCCESS);
  return check::done();
}
