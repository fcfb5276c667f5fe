// nvcc: -lcublas -lcublasLt
// library: libcublas.so.13
// cuBLAS's functions of vectors, and of a matrix and vectors: types, increments of both signs, results in the program's memory and the
// device's; against plain loops in double.
#include "blas.h"

using namespace blas;

namespace typed {
ROUSE_BLAS_FOUR(axpy)
ROUSE_BLAS_FOUR(scal)
ROUSE_BLAS_FOUR(copy)
ROUSE_BLAS_FOUR(swap)
ROUSE_BLAS_FOUR(gemv)
ROUSE_BLAS_FOUR(gemvBatched)
ROUSE_BLAS_FOUR(gemvStridedBatched)
ROUSE_BLAS_FOUR(symv)
ROUSE_BLAS_FOUR(syr)
ROUSE_BLAS_FOUR(syr2)
ROUSE_BLAS_FOUR(trmv)
ROUSE_BLAS_FOUR(trsv)
ROUSE_BLAS_COMPLEX(hemv)
ROUSE_BLAS_COMPLEX(her)
ROUSE_BLAS_COMPLEX(her2)
ROUSE_BLAS_OF(dot, cublasSdot, cublasDdot, cublasCdotu, cublasZdotu)
ROUSE_BLAS_COMPLEX(dotc)
ROUSE_BLAS_OF(ger, cublasSger, cublasDger, cublasCgeru, cublasZgeru)
ROUSE_BLAS_COMPLEX(gerc)
ROUSE_BLAS_OF(nrm2, cublasSnrm2, cublasDnrm2, cublasScnrm2, cublasDznrm2)
ROUSE_BLAS_OF(asum, cublasSasum, cublasDasum, cublasScasum, cublasDzasum)
ROUSE_BLAS_OF(amax, cublasIsamax, cublasIdamax, cublasIcamax, cublasIzamax)
ROUSE_BLAS_OF(amin, cublasIsamin, cublasIdamin, cublasIcamin, cublasIzamin)
ROUSE_BLAS_OF(rot, cublasSrot, cublasDrot, cublasCsrot, cublasZdrot)
}  // namespace typed

// A result as the handle's pointer mode wants it.
template <class T>
struct Result {
  T value{};
  T* device = nullptr;
  explicit Result(cublasHandle_t handle) {
    cublasPointerMode_t mode;
    BLAS(cublasGetPointerMode(handle, &mode));
    std::memset(&value, 0xee, sizeof value);
    if (mode == CUBLAS_POINTER_MODE_DEVICE) device = check::toDevice(std::vector<T>{value});
  }
  ~Result() {
    if (device != nullptr) CHECK(cudaFree(device));
  }
  operator T*() { return device != nullptr ? device : &value; }
  T get() { return device != nullptr ? check::toHost(device, 1)[0] : value; }
  void near(const char* name, Z wanted, double scale) {
    const Z got = wide(get());
    if (std::abs(got - wanted) <= 2 * kEpsilon<T> * scale) return;
    std::printf("%s is %.9g + %.9gi, should be %.9g + %.9gi\n", name, got.real(), got.imag(), wanted.real(), wanted.imag());
    ++check::failures;
  }
};

double size(Z v) { return std::fabs(v.real()) + std::fabs(v.imag()); }

template <class T>
void vectors(cublasHandle_t handle, int n, int incx, int incy) {
  check::Random r(21);
  using R = real_t<T>;
  Vector<T> x(r, n, incx), y(r, n, incy);
  Scalar<T> alpha(handle, Z(-0.5, kComplex<T> ? 0.25 : 0));
  BLAS(typed::axpy<T>(handle, n, alpha, x.device, incx, y.device, incy));
  y.compare("axpy", [&](int i) { return alpha.wide() * x(i) + y(i); }, 6);
  y.upload();
  BLAS(typed::copy<T>(handle, n, x.device, incx, y.device, incy));
  y.compare("copy", [&](int i) { return x(i); }, 0);
  y.upload();
  BLAS(typed::swap<T>(handle, n, x.device, incx, y.device, incy));
  y.compare("swap y", [&](int i) { return x(i); }, 0);
  x.compare("swap x", [&](int i) { return y(i); }, 0);
  x.upload();
  y.upload();

  Result<T> product(handle);
  Z wanted = 0, conjugated = 0;
  double absolute = 0, squares = 0;
  int greatest = 0, least = 0;
  for (int i = 0; i < n; ++i) {
    wanted += x(i) * y(i);
    conjugated += std::conj(x(i)) * y(i);
    absolute += size(x(i));
    squares += std::norm(x(i));
    // Of equal ones the first in memory's order, which is the logical one for positive increments.
    if (size(x(i)) > size(x(greatest))) greatest = i;
    if (size(x(i)) < size(x(least))) least = i;
  }
  BLAS(typed::dot<T>(handle, n, x.device, incx, y.device, incy, product));
  product.near("dot", wanted, 2.0 * n + 2);
  if constexpr (kComplex<T>) {
    BLAS(typed::dotc<T>(handle, n, x.device, incx, y.device, incy, product));
    product.near("dotc", conjugated, 2.0 * n + 2);
  }
  Result<R> norm(handle), sum(handle);
  BLAS(typed::nrm2<T>(handle, n, x.device, incx, norm));
  norm.near("nrm2", incx > 0 ? std::sqrt(squares) : 0, n + 4.0);
  BLAS(typed::asum<T>(handle, n, x.device, incx, sum));
  sum.near("asum", incx > 0 ? absolute : 0, 2.0 * n + 2);
  Result<Int> place(handle);
  BLAS(typed::amax<T>(handle, n, x.device, incx, place));
  EXPECT(place.get() == (incx > 0 && n > 0 ? greatest + 1 : 0));
  BLAS(typed::amin<T>(handle, n, x.device, incx, place));
  EXPECT(place.get() == (incx > 0 && n > 0 ? least + 1 : 0));

  Scalar<R> c(handle, 0.6), s(handle, 0.8);
  BLAS(typed::rot<T>(handle, n, x.device, incx, y.device, incy, c, s));
  x.compare("rot x", [&](int i) { return c.wide() * x(i) + s.wide() * y(i); }, 6);
  y.compare("rot y", [&](int i) { return c.wide() * y(i) - s.wide() * x(i); }, 6);
  if (incx > 0) {
    x.upload();
    BLAS(typed::scal<T>(handle, n, alpha, x.device, incx));
    x.compare("scal", [&](int i) { return alpha.wide() * x(i); }, 4);
  }
}

template <class T, class S>
void extended(cublasHandle_t handle, cudaDataType executes) {
  check::Random r(22);
  const int n = 50;
  const cudaDataType type = kType<T>, scale = kType<S>;
  Vector<T> x(r, n, 2), y(r, n, -1);
  Scalar<S> alpha(handle, Z(-0.5));
  BLAS(BLAS_NAME(cublasAxpyEx)(handle, n, (const S*)alpha, scale, x.device, type, 2, y.device, type, -1, executes));
  y.compare("AxpyEx", [&](int i) { return alpha.wide() * x(i) + y(i); }, 6);
  y.upload();
  Z wanted = 0;
  double squares = 0;
  for (int i = 0; i < n; ++i) {
    wanted += x(i) * y(i);
    squares += std::norm(x(i));
  }
  Result<T> product(handle);
  BLAS(BLAS_NAME(cublasDotEx)(handle, n, x.device, type, 2, y.device, type, -1, (T*)product, type, executes));
  product.near("DotEx", wanted, 2.0 * n);
  if constexpr (!kComplex<T>) {
    Result<T> norm(handle);
    BLAS(BLAS_NAME(cublasNrm2Ex)(handle, n, x.device, type, 2, (T*)norm, type, executes));
    norm.near("Nrm2Ex", std::sqrt(squares), 10);
  }
  BLAS(BLAS_NAME(cublasScalEx)(handle, n, (const S*)alpha, scale, x.device, type, 2, executes));
  x.compare("ScalEx", [&](int i) { return alpha.wide() * x(i); }, 4);
}

const cublasFillMode_t kTriangles[] = {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER};
bool stored(cublasFillMode_t uplo, int i, int j) { return uplo == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j; }

template <class T>
void matrices(cublasHandle_t handle, int m, int n, int incx, int incy) {
  check::Random r(23);
  Scalar<T> alpha(handle, Z(0.75, kComplex<T> ? -1 : 0)), beta(handle, Z(-2, kComplex<T> ? 0.5 : 0)), zero(handle, 0);
  for (cublasOperation_t t : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) {
    const int in = t == CUBLAS_OP_N ? n : m, out = t == CUBLAS_OP_N ? m : n;
    Matrix<T> a(r, m, n, 3);
    Vector<T> x(r, in, incx), y(r, out, incy), z(r, out, incy);
    const auto product = [&](int i) {
      Z sum = 0;
      for (int l = 0; l < in; ++l) sum += times(a.op(t, i, l), x(l));
      return sum;
    };
    BLAS(typed::gemv<T>(handle, t, m, n, alpha, a.device, a.ld, x.device, incx, beta, y.device, incy));
    y.compare("gemv", [&](int i) { return alpha.wide() * product(i) + beta.wide() * y(i); }, 4.0 * in + 8);
    // With a factor of 0 the NaNs in it are not read.
    for (int i = 0; i < out; ++i) std::memset(&z.host[z.place(i)], 0xff, sizeof(T));
    z.upload();
    BLAS(typed::gemv<T>(handle, t, m, n, alpha, a.device, a.ld, x.device, incx, zero, z.device, incy));
    z.compare("gemv, beta 0", [&](int i) { return alpha.wide() * product(i); }, 4.0 * in + 8);
  }
  for (int conjugates = 0; conjugates <= int(kComplex<T>); ++conjugates) {
    Matrix<T> a(r, m, n, 1);
    Vector<T> x(r, m, incx), y(r, n, incy);
    if (conjugates) {
      if constexpr (kComplex<T>) BLAS(typed::gerc<T>(handle, m, n, alpha, x.device, incx, y.device, incy, a.device, a.ld));
    } else {
      BLAS(typed::ger<T>(handle, m, n, alpha, x.device, incx, y.device, incy, a.device, a.ld));
    }
    a.compare("ger", [&](int i, int j) { return alpha.wide() * x(i) * (conjugates ? std::conj(y(j)) : y(j)) + a(i, j); }, 8);
  }
  for (int hermitian = 0; hermitian <= int(kComplex<T>); ++hermitian)
    for (cublasFillMode_t uplo : kTriangles) {
      Matrix<T> a(r, n, n, 2), b(r, n, n, 1), c(r, n, n, 1);
      Vector<T> x(r, n, incx), y(r, n, incy);
      const auto element = [&](int i, int j) {
        if (hermitian && i == j) return Z(a(i, j).real());
        if (stored(uplo, i, j)) return a(i, j);
        return hermitian ? std::conj(a(j, i)) : a(j, i);
      };
      Scalar<real_t<T>> real(handle, 0.5);
      Scalar<T> half(handle, 0.5);
      if (hermitian) {
        if constexpr (kComplex<T>) {
          BLAS(typed::hemv<T>(handle, uplo, n, alpha, a.device, a.ld, x.device, incx, beta, y.device, incy));
          BLAS(typed::her<T>(handle, uplo, n, real, x.device, incx, b.device, b.ld));
        }
      } else {
        BLAS(typed::symv<T>(handle, uplo, n, alpha, a.device, a.ld, x.device, incx, beta, y.device, incy));
        BLAS(typed::syr<T>(handle, uplo, n, half, x.device, incx, b.device, b.ld));
      }
      y.compare(hermitian ? "hemv" : "symv", [&](int i) {
        Z sum = 0;
        for (int l = 0; l < n; ++l) sum += element(i, l) * x(l);
        return alpha.wide() * sum + beta.wide() * y(i);
      }, 4.0 * n + 8);
      b.compare(hermitian ? "her" : "syr", [&](int i, int j) {
        if (!stored(uplo, i, j)) return b(i, j);
        const Z v = b(i, j) + 0.5 * x(i) * (hermitian ? std::conj(x(j)) : x(j));
        return hermitian && i == j ? Z(v.real()) : v;
      }, 8);
      y.upload();
      if (hermitian) {
        if constexpr (kComplex<T>) BLAS(typed::her2<T>(handle, uplo, n, alpha, x.device, incx, y.device, incy, c.device, c.ld));
      } else {
        BLAS(typed::syr2<T>(handle, uplo, n, alpha, x.device, incx, y.device, incy, c.device, c.ld));
      }
      c.compare(hermitian ? "her2" : "syr2", [&](int i, int j) {
        if (!stored(uplo, i, j)) return c(i, j);
        const Z v = hermitian ? c(i, j) + alpha.wide() * x(i) * std::conj(y(j)) + std::conj(alpha.wide()) * y(i) * std::conj(x(j))
                              : c(i, j) + alpha.wide() * (x(i) * y(j) + y(i) * x(j));
        return hermitian && i == j ? Z(v.real()) : v;
      }, 16);

      for (cublasOperation_t t : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C})
        for (cublasDiagType_t diag : {CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT}) {
          Matrix<T> tri(r, n, n, 1);
          for (int j = 0; j < n; ++j)
            for (int i = 0; i < n; ++i) tri.at(i, j) = narrow<T>(i == j ? 2.0 + 0.25 * tri(i, j) : tri(i, j) / double(n));
          tri.upload();
          Vector<T> v(r, n, incx), w(r, n, incx);
          const auto apply = [&](const Vector<T>& to, int i) {
            Z sum = 0;
            for (int l = 0; l < n; ++l) {
              if (i == l) {
                sum += (diag == CUBLAS_DIAG_UNIT ? Z(1) : tri.op(t, i, i)) * to(i);
              } else if (stored(uplo, t == CUBLAS_OP_N ? i : l, t == CUBLAS_OP_N ? l : i)) {
                sum += times(tri.op(t, i, l), to(l));
              }
            }
            return sum;
          };
          BLAS(typed::trmv<T>(handle, uplo, t, diag, n, tri.device, tri.ld, v.device, incx));
          v.compare("trmv", [&](int i) { return apply(v, i); }, 16);
          std::vector<Z> solution(n);
          for (int i = 0; i < n; ++i) solution[i] = w(i);
          const Vector<T>& before = w;
          std::vector<Z> made(n);
          for (int i = 0; i < n; ++i) made[i] = apply(before, i);
          for (int i = 0; i < n; ++i) w.host[w.place(i)] = narrow<T>(made[i]);
          w.upload();
          BLAS(typed::trsv<T>(handle, uplo, t, diag, n, tri.device, tri.ld, w.device, incx));
          w.compare("trsv", [&](int i) { return solution[i]; }, 64);
        }
    }
}

template <class T>
void batches(cublasHandle_t handle) {
  check::Random r(24);
  const int m = 12, n = 7, count = 5;
  Matrix<T> a(r, m, n * count);
  Matrix<T> x(r, n, count), y(r, m, count), y2(r, m, count);
  Scalar<T> alpha(handle, 2), beta(handle, -1);
  const auto wanted = [&](const Matrix<T>& out, int i, int e) {
    Z sum = 0;
    for (int l = 0; l < n; ++l) sum += times(a(i, e * n + l), x(l, e));
    return 2.0 * sum - out(i, e);
  };
  BLAS(typed::gemvStridedBatched<T>(handle, CUBLAS_OP_N, m, n, alpha, a.device, m, m * n, x.device, 1, n, beta, y.device, 1, m, count));
  y.compare("gemvStridedBatched", [&](int i, int e) { return wanted(y, i, e); }, 64);
  std::vector<T*> as, xs, ys;
  for (int e = 0; e < count; ++e) {
    as.push_back(a.device + e * m * n);
    xs.push_back(x.device + e * n);
    ys.push_back(y2.device + e * m);
  }
  T **da = check::toDevice(as), **dx = check::toDevice(xs), **dy = check::toDevice(ys);
  BLAS(typed::gemvBatched<T>(handle, CUBLAS_OP_N, m, n, alpha, da, m, dx, 1, beta, dy, 1, count));
  y2.compare("gemvBatched", [&](int i, int e) { return wanted(y2, i, e); }, 64);
  for (T** p : {da, dx, dy}) CHECK(cudaFree(p));
}

void smallBatches(cublasHandle_t handle) {
  check::Random r(25);
  const int m = 12, n = 7, count = 3;
  Matrix<__half> a(r, m, n * count), x(r, n, count), y(r, m, count);
  Matrix<float> z(r, m, count);
  Scalar<float> alpha(handle, 2), beta(handle, -1);
  const auto product = [&](int i, int e) {
    Z sum = 0;
    for (int l = 0; l < n; ++l) sum += times(a(i, e * n + l), x(l, e));
    return sum;
  };
  BLAS(BLAS_NAME(cublasHSHgemvStridedBatched)(handle, CUBLAS_OP_N, m, n, alpha, a.device, m, m * n, x.device, 1, n, beta, y.device, 1, m, count));
  y.compare("HSHgemvStridedBatched", [&](int i, int e) { return 2.0 * product(i, e) - y(i, e); }, 8);
  BLAS(BLAS_NAME(cublasHSSgemvStridedBatched)(handle, CUBLAS_OP_N, m, n, alpha, a.device, m, m * n, x.device, 1, n, beta, z.device, 1, m, count));
  z.compare("HSSgemvStridedBatched", [&](int i, int e) { return 2.0 * product(i, e) - z(i, e); }, 64);
}

template <class T>
void all(cublasHandle_t handle) {
  for (int n : {0, 1, 5, 64, 1000}) vectors<T>(handle, n, 1, 1);
  vectors<T>(handle, 33, 2, 3);
  vectors<T>(handle, 33, -2, 1);
  vectors<T>(handle, 33, 1, -3);
  matrices<T>(handle, 23, 31, 1, 1);
  matrices<T>(handle, 31, 17, 2, -1);
  matrices<T>(handle, 9, 12, -3, 2);
  batches<T>(handle);
}

int main() {
  cublasHandle_t handle;
  BLAS(cublasCreate(&handle));
  for (cublasPointerMode_t mode : {CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE}) {
    BLAS(cublasSetPointerMode(handle, mode));
    all<float>(handle);
    all<double>(handle);
    all<cuComplex>(handle);
    all<cuDoubleComplex>(handle);
    extended<float, float>(handle, CUDA_R_32F);
    extended<double, double>(handle, CUDA_R_64F);
    extended<cuComplex, cuComplex>(handle, CUDA_C_32F);
    extended<__half, float>(handle, CUDA_R_32F);
    extended<__nv_bfloat16, float>(handle, CUDA_R_32F);
    smallBatches(handle);
  }
  // Large enough for several pieces of the CPU device.
  check::Random r(26);
  Matrix<float> a(r, 3000, 500);
  Vector<float> x(r, 500, 1), y(r, 3000, 1), u(r, 3000, 1), v(r, 500, 1);
  BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
  Scalar<float> one(handle, 1);
  BLAS(cublasSgemv(handle, CUBLAS_OP_N, 3000, 500, one, a.device, 3000, x.device, 1, one, y.device, 1));
  y.compare("gemv, long", [&](int i) { Z s = y(i); for (int l = 0; l < 500; ++l) s += a(i, l).real() * x(l).real(); return s; }, 1000);
  BLAS(cublasSgemv(handle, CUBLAS_OP_T, 3000, 500, one, a.device, 3000, u.device, 1, one, v.device, 1));
  v.compare("gemv T, long", [&](int j) { Z s = v(j); for (int l = 0; l < 3000; ++l) s += a(l, j).real() * u(l).real(); return s; }, 6000);
  // Counted from 1, in 64 bits.
  std::int64_t place = -1;
  BLAS(cublasIsamax_64(handle, 3000, u.device, 1, &place));
  int narrow = -1;
  BLAS(cublasIsamax(handle, 3000, u.device, 1, &narrow));
  EXPECT(place == narrow && place > 0);
  BLAS(cublasDestroy(handle));
  return check::done();
}
