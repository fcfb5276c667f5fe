// nvcc: -lcublas -lcublasLt
// library: libcublas.so.13
// cuBLAS's functions of vectors and a matrix of which a band is stored, or a triangle without gaps: symmetric, Hermitian, triangular; increments of both signs; against
// plain loops in double. What is in the storage and in no matrix is NaN.
#include "blas.h"

using namespace blas;

namespace typed {
ROUSE_BLAS_FOUR(gbmv)
ROUSE_BLAS_FOUR(tbmv)
ROUSE_BLAS_FOUR(tbsv)
ROUSE_BLAS_FOUR(tpmv)
ROUSE_BLAS_FOUR(tpsv)
// Symmetric for real numbers, Hermitian for complex ones.
ROUSE_BLAS_OF(sbmv, cublasSsbmv, cublasDsbmv, cublasChbmv, cublasZhbmv)
ROUSE_BLAS_OF(spmv, cublasSspmv, cublasDspmv, cublasChpmv, cublasZhpmv)
ROUSE_BLAS_OF(spr, cublasSspr, cublasDspr, cublasChpr, cublasZhpr)
ROUSE_BLAS_OF(spr2, cublasSspr2, cublasDspr2, cublasChpr2, cublasZhpr2)
}  // namespace typed

const cublasFillMode_t kTriangles[] = {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER};
const cublasOperation_t kOperations[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
bool stored(cublasFillMode_t uplo, int i, int j) { return uplo == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j; }

// An m × n matrix in the storage of its diagonals: column by column, `above` of them above the main one.
template <class T>
struct Band {
  int m, n, below, above;
  Matrix<T> a;
  Band(check::Random& r, int m, int n, int below, int above, int gap) : m(m), n(n), below(below), above(above), a(r, below + above + 1, n, gap) {
    for (int j = 0; j < n; ++j)
      for (int d = 0; d <= below + above; ++d) {
        const int i = d - above + j;
        if (i < 0 || i >= m) std::memset(&a.at(d, j), 0xff, sizeof(T));
      }
    a.upload();
  }
  bool has(int i, int j) const { return i - j <= below && j - i <= above; }
  Z operator()(int i, int j) const { return has(i, j) ? a(above + i - j, j) : Z(0); }
  T& at(int i, int j) { return a.at(above + i - j, j); }
};

// A triangle without gaps.
template <class T>
struct Packed {
  int n;
  cublasFillMode_t uplo;
  Vector<T> all;
  Packed(check::Random& r, int n, cublasFillMode_t uplo) : n(n), uplo(uplo), all(r, n * (n + 1) / 2, 1) {}
  std::size_t place(int i, int j) const {
    return uplo == CUBLAS_FILL_MODE_UPPER ? i + std::size_t(j) * (j + 1) / 2 : i - j + std::size_t(j) * n - std::size_t(j) * (j - 1) / 2;
  }
  Z operator()(int i, int j) const { return stored(uplo, i, j) ? all(int(place(i, j))) : Z(0); }
  T& at(int i, int j) { return all.host[place(i, j)]; }
  // The row and column of an element.
  template <class Visit>
  void compare(const char* name, Visit&& wanted, double scale) const {
    std::vector<Z> all_wanted(n * (n + 1) / 2);
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i)
        if (stored(uplo, i, j)) all_wanted[place(i, j)] = wanted(i, j);
    all.compare(name, [&](int i) { return all_wanted[i]; }, scale);
  }
};

template <class T>
void general(cublasHandle_t handle, int m, int n, int below, int above, int incx, int incy) {
  check::Random r(81);
  Scalar<T> alpha(handle, Z(0.75, kComplex<T> ? -1 : 0)), beta(handle, Z(-2, kComplex<T> ? 0.5 : 0)), zero(handle, 0);
  for (cublasOperation_t t : kOperations) {
    const int in = t == CUBLAS_OP_N ? n : m, out = t == CUBLAS_OP_N ? m : n;
    Band<T> a(r, m, n, below, above, 2);
    Vector<T> x(r, in, incx), y(r, out, incy), z(r, out, incy);
    const auto product = [&](int i) {
      Z sum = 0;
      const int reach = std::max(below, above);
      for (int l = std::max(0, i - reach); l < std::min(in, i + reach + 1); ++l) {
        const Z v = t == CUBLAS_OP_N ? a(i, l) : a(l, i);
        sum += times(t == CUBLAS_OP_C && kComplex<T> ? std::conj(v) : v, x(l));
      }
      return sum;
    };
    BLAS(typed::gbmv<T>(handle, t, m, n, below, above, alpha, a.a.device, a.a.ld, x.device, incx, beta, y.device, incy));
    y.compare("gbmv", [&](int i) { return alpha.wide() * product(i) + beta.wide() * y(i); }, 4.0 * in + 8);
    for (int i = 0; i < out; ++i) std::memset(&z.host[z.place(i)], 0xff, sizeof(T));
    z.upload();
    BLAS(typed::gbmv<T>(handle, t, m, n, below, above, alpha, a.a.device, a.a.ld, x.device, incx, zero, z.device, incy));
    z.compare("gbmv, beta 0", [&](int i) { return alpha.wide() * product(i); }, 4.0 * in + 8);
  }
}

// A matrix that is what `half` says of one triangle, and its mirror image.
template <class T, class Half>
Z whole(cublasFillMode_t uplo, const Half& half, int i, int j) {
  if (i == j) return kComplex<T> ? Z(half(i, i).real()) : half(i, i);
  return stored(uplo, i, j) ? half(i, j) : std::conj(half(j, i));
}

template <class T>
void symmetric(cublasHandle_t handle, int n, int k, int incx, int incy) {
  check::Random r(82);
  Scalar<T> alpha(handle, Z(0.75, kComplex<T> ? -1 : 0)), beta(handle, Z(-2, kComplex<T> ? 0.5 : 0)), zero(handle, 0);
  Scalar<real_t<T>> real(handle, 0.5);
  for (cublasFillMode_t uplo : kTriangles) {
    const bool lower = uplo == CUBLAS_FILL_MODE_LOWER;
    Band<T> a(r, n, n, lower ? k : 0, lower ? 0 : k, 1);
    Packed<T> p(r, n, uplo), q(r, n, uplo), w(r, n, uplo);
    Vector<T> x(r, n, incx), y(r, n, incy), z(r, n, incy);
    const auto product = [&](const auto& half, int i) {
      Z sum = 0;
      for (int l = 0; l < n; ++l) sum += times(whole<T>(uplo, half, i, l), x(l));
      return sum;
    };
    BLAS(typed::sbmv<T>(handle, uplo, n, k, alpha, a.a.device, a.a.ld, x.device, incx, beta, y.device, incy));
    y.compare("sbmv", [&](int i) { return alpha.wide() * product(a, i) + beta.wide() * y(i); }, 4.0 * n + 8);
    y.upload();
    BLAS(typed::spmv<T>(handle, uplo, n, alpha, p.all.device, x.device, incx, beta, y.device, incy));
    y.compare("spmv", [&](int i) { return alpha.wide() * product(p, i) + beta.wide() * y(i); }, 4.0 * n + 8);
    for (int i = 0; i < n; ++i) std::memset(&z.host[z.place(i)], 0xff, sizeof(T));
    z.upload();
    BLAS(typed::spmv<T>(handle, uplo, n, alpha, p.all.device, x.device, incx, zero, z.device, incy));
    z.compare("spmv, beta 0", [&](int i) { return alpha.wide() * product(p, i); }, 4.0 * n + 8);
    y.upload();
    BLAS(typed::spr<T>(handle, uplo, n, real, x.device, incx, q.all.device));
    q.compare("spr", [&](int i, int j) {
      const Z v = q(i, j) + 0.5 * x(i) * std::conj(x(j));
      return i == j ? Z(v.real()) : v;
    }, 8);
    BLAS(typed::spr2<T>(handle, uplo, n, alpha, x.device, incx, y.device, incy, w.all.device));
    w.compare("spr2", [&](int i, int j) {
      const Z v = w(i, j) + alpha.wide() * x(i) * std::conj(y(j)) + std::conj(alpha.wide()) * y(i) * std::conj(x(j));
      return i == j ? Z(v.real()) : v;
    }, 16);
  }
}

template <class T>
void triangular(cublasHandle_t handle, int n, int k, int inc) {
  check::Random r(83);
  for (cublasFillMode_t uplo : kTriangles)
    for (cublasOperation_t t : kOperations)
      for (cublasDiagType_t diag : {CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT}) {
        const bool lower = uplo == CUBLAS_FILL_MODE_LOWER;
        Band<T> a(r, n, n, lower ? k : 0, lower ? 0 : k, 1);
        Packed<T> p(r, n, uplo);
        for (int j = 0; j < n; ++j)
          for (int i = 0; i < n; ++i) {
            if (!stored(uplo, i, j)) continue;
            if (a.has(i, j)) a.at(i, j) = narrow<T>(i == j ? 2.0 + 0.25 * a(i, j) : a(i, j) / (k + 1.0));
            p.at(i, j) = narrow<T>(i == j ? 2.0 + 0.25 * p(i, j) : p(i, j) / double(n));
          }
        // A diagonal of ones is not read.
        if (diag == CUBLAS_DIAG_UNIT)
          for (int i = 0; i < n; ++i) std::memset(&a.at(i, i), 0xff, sizeof(T)), std::memset(&p.at(i, i), 0xff, sizeof(T));
        a.a.upload();
        p.all.upload();
        const auto apply = [&](const auto& matrix, const auto& to, int i) {
          Z sum = diag == CUBLAS_DIAG_UNIT ? to(i) : times(t == CUBLAS_OP_C && kComplex<T> ? std::conj(matrix(i, i)) : matrix(i, i), to(i));
          for (int l = 0; l < n; ++l) {
            if (l == i) continue;
            const Z v = t == CUBLAS_OP_N ? matrix(i, l) : matrix(l, i);
            sum += times(t == CUBLAS_OP_C && kComplex<T> ? std::conj(v) : v, to(l));
          }
          return sum;
        };
        const auto both = [&](const char* multiplies, const char* solves, const auto& matrix, auto&& multiply, auto&& solve) {
          Vector<T> v(r, n, inc), w(r, n, inc);
          multiply(v.device);
          v.compare(multiplies, [&](int i) { return apply(matrix, v, i); }, 16);
          std::vector<Z> solution(n), made(n);
          for (int i = 0; i < n; ++i) solution[i] = w(i), made[i] = apply(matrix, w, i);
          for (int i = 0; i < n; ++i) w.host[w.place(i)] = narrow<T>(made[i]);
          w.upload();
          solve(w.device);
          w.compare(solves, [&](int i) { return solution[i]; }, 64);
        };
        both("tbmv", "tbsv", a, [&](T* x) { BLAS(typed::tbmv<T>(handle, uplo, t, diag, n, k, a.a.device, a.a.ld, x, inc)); },
             [&](T* x) { BLAS(typed::tbsv<T>(handle, uplo, t, diag, n, k, a.a.device, a.a.ld, x, inc)); });
        both("tpmv", "tpsv", p, [&](T* x) { BLAS(typed::tpmv<T>(handle, uplo, t, diag, n, p.all.device, x, inc)); },
             [&](T* x) { BLAS(typed::tpsv<T>(handle, uplo, t, diag, n, p.all.device, x, inc)); });
      }
}

template <class T, class Unpack, class Pack>
void repacking(cublasHandle_t handle, Unpack&& unpack, Pack&& pack) {
  check::Random r(84);
  const int n = 37;
  for (cublasFillMode_t uplo : kTriangles) {
    Packed<T> p(r, n, uplo), q(r, n, uplo);
    Matrix<T> a(r, n, n, 3);
    BLAS(unpack(handle, uplo, n, p.all.device, a.device, a.ld));
    a.compare("tpttr", [&](int i, int j) { return stored(uplo, i, j) ? p(i, j) : a(i, j); }, 0);
    a.upload();
    BLAS(pack(handle, uplo, n, a.device, a.ld, q.all.device));
    q.compare("trttp", [&](int i, int j) { return a(i, j); }, 0);
  }
}

template <class T>
void all(cublasHandle_t handle) {
  general<T>(handle, 40, 40, 3, 2, 1, 1);
  general<T>(handle, 23, 61, 5, 0, 2, -1);
  general<T>(handle, 61, 23, 0, 7, -3, 2);
  general<T>(handle, 9, 6, 20, 11, 1, -2);  // more diagonals than there are
  general<T>(handle, 1, 1, 0, 0, 1, 1);
  symmetric<T>(handle, 50, 4, 1, 1);
  symmetric<T>(handle, 33, 0, -2, 3);
  symmetric<T>(handle, 12, 30, 2, -1);
  triangular<T>(handle, 45, 6, 1);
  triangular<T>(handle, 20, 0, 3);
  triangular<T>(handle, 13, 25, -2);
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
  }
  repacking<float>(handle, cublasStpttr, cublasStrttp);
  repacking<double>(handle, cublasDtpttr, cublasDtrttp);
  repacking<cuComplex>(handle, cublasCtpttr, cublasCtrttp);
  repacking<cuDoubleComplex>(handle, cublasZtpttr, cublasZtrttp);
  // Large enough for several pieces of the CPU device.
  BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
  general<float>(handle, 30000, 30000, 1, 1, 1, 1);
  symmetric<float>(handle, 1100, 700, 1, 1);
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, BLAS_NAME(cublasSgbmv)(handle, CUBLAS_OP_N, 4, 4, -1, 1, nullptr, nullptr, 4, nullptr, 1, nullptr, nullptr, 1));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, BLAS_NAME(cublasStpmv)(handle, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, -4, nullptr, nullptr, 1));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, BLAS_NAME(cublasStpmv)(handle, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 4, nullptr, nullptr, 0));
  BLAS(cublasDestroy(handle));
  return check::done();
}
