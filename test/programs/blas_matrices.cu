// nvcc: -lcublas -lcublasLt
// library: libcublas.so.13
// cuBLAS's functions of structured matrices: symmetric, Hermitian and triangular ones, sums and diagonal products; all sides,
// triangles and transpositions, sizes beyond one block of the CPU device; against plain loops in double.
#include "blas.h"

using namespace blas;

namespace typed {
ROUSE_BLAS_FOUR(symm)
ROUSE_BLAS_FOUR(syrk)
ROUSE_BLAS_FOUR(syr2k)
ROUSE_BLAS_FOUR(syrkx)
ROUSE_BLAS_FOUR(trmm)
ROUSE_BLAS_FOUR(trsm)
ROUSE_BLAS_FOUR(trsmBatched)
ROUSE_BLAS_FOUR(geam)
ROUSE_BLAS_FOUR(dgmm)
ROUSE_BLAS_COMPLEX(hemm)
ROUSE_BLAS_COMPLEX(herk)
ROUSE_BLAS_COMPLEX(her2k)
ROUSE_BLAS_COMPLEX(herkx)
}  // namespace typed

const cublasFillMode_t kTriangles[] = {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER};
const cublasSideMode_t kSides[] = {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT};
const cublasOperation_t kTranspositions[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};

bool stored(cublasFillMode_t uplo, int i, int j) { return uplo == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j; }

// Element of the symmetric or Hermitian matrix of which one triangle is stored.
template <class T>
Z mirrored(const Matrix<T>& a, cublasFillMode_t uplo, bool hermitian, int i, int j) {
  if (hermitian && i == j) return a(i, j).real();
  if (stored(uplo, i, j)) return a(i, j);
  return hermitian ? std::conj(a(j, i)) : a(j, i);
}

// Element of op() of a triangle.
template <class T>
Z triangular(const Matrix<T>& a, cublasFillMode_t uplo, cublasOperation_t trans, cublasDiagType_t diag, int i, int j) {
  if (i == j && diag == CUBLAS_DIAG_UNIT) return 1;
  const int row = trans == CUBLAS_OP_N ? i : j, column = trans == CUBLAS_OP_N ? j : i;
  if (!stored(uplo, row, column)) return 0;
  return trans == CUBLAS_OP_C ? std::conj(a(row, column)) : a(row, column);
}

// The half that is not stored must not be read.
template <class T>
void spoilOther(Matrix<T>& a, cublasFillMode_t uplo) {
  for (int j = 0; j < a.columns; ++j)
    for (int i = 0; i < a.rows; ++i)
      if (!stored(uplo, i, j)) std::memset(&a.at(i, j), 0xff, sizeof(T));
  a.upload();
}

template <class T>
void symmetric(cublasHandle_t handle, int m, int n) {
  check::Random r(11);
  for (int hermitian = 0; hermitian <= int(kComplex<T>); ++hermitian)
    for (cublasSideMode_t side : kSides)
      for (cublasFillMode_t uplo : kTriangles) {
        const int s = side == CUBLAS_SIDE_LEFT ? m : n;
        Matrix<T> a(r, s, s, 2), b(r, m, n, 1), c(r, m, n, 3);
        spoilOther(a, uplo);
        Scalar<T> alpha(handle, Z(1.5, kComplex<T> ? 0.5 : 0)), beta(handle, Z(-0.5));
        if (hermitian) {
          if constexpr (kComplex<T>)
            BLAS(typed::hemm<T>(handle, side, uplo, m, n, alpha, a.device, a.ld, b.device, b.ld, beta, c.device, c.ld));
        } else {
          BLAS(typed::symm<T>(handle, side, uplo, m, n, alpha, a.device, a.ld, b.device, b.ld, beta, c.device, c.ld));
        }
        c.compare(hermitian ? "hemm" : "symm", [&](int i, int j) {
          Z sum = 0;
          for (int l = 0; l < s; ++l)
            sum += side == CUBLAS_SIDE_LEFT ? times(mirrored(a, uplo, hermitian, i, l), b(l, j)) : times(b(i, l), mirrored(a, uplo, hermitian, l, j));
          return alpha.wide() * sum + beta.wide() * c(i, j);
        }, 4.0 * s + 4);
      }
}

enum class Rank { one, two, other };  // syrk, syr2k, syrkx

template <class T>
void ranks(cublasHandle_t handle, int n, int k) {
  check::Random r(12);
  for (int hermitian = 0; hermitian <= int(kComplex<T>); ++hermitian)
    for (Rank rank : {Rank::one, Rank::two, Rank::other})
      for (cublasFillMode_t uplo : kTriangles)
        for (cublasOperation_t trans : {CUBLAS_OP_N, hermitian ? CUBLAS_OP_C : CUBLAS_OP_T}) {
          const bool straight = trans == CUBLAS_OP_N;
          Matrix<T> a(r, straight ? n : k, straight ? k : n, 2), b(r, straight ? n : k, straight ? k : n, 1), c(r, n, n, 3);
          // herkx promises a Hermitian result only for operands that make one: B is a multiple of A.
          if (rank == Rank::other) {
            for (int j = 0; j < b.columns; ++j)
              for (int i = 0; i < b.rows; ++i) b.at(i, j) = narrow<T>(a(i, j) * 0.5);
            b.upload();
          }
          Scalar<T> alpha(handle, Z(0.5, kComplex<T> && rank == Rank::two ? 1.5 : 0)), beta(handle, Z(2));
          Scalar<real_t<T>> realAlpha(handle, 0.5), realBeta(handle, 2);
          const auto* A = a.device;
          const auto* B = b.device;
          T* C = c.device;
          if (hermitian) {
            if constexpr (kComplex<T>) {
              if (rank == Rank::one) BLAS(typed::herk<T>(handle, uplo, trans, n, k, realAlpha, A, a.ld, realBeta, C, c.ld));
              if (rank == Rank::two) BLAS(typed::her2k<T>(handle, uplo, trans, n, k, alpha, A, a.ld, B, b.ld, realBeta, C, c.ld));
              if (rank == Rank::other) BLAS(typed::herkx<T>(handle, uplo, trans, n, k, alpha, A, a.ld, B, b.ld, realBeta, C, c.ld));
            }
          } else {
            if (rank == Rank::one) BLAS(typed::syrk<T>(handle, uplo, trans, n, k, alpha, A, a.ld, beta, C, c.ld));
            if (rank == Rank::two) BLAS(typed::syr2k<T>(handle, uplo, trans, n, k, alpha, A, a.ld, B, b.ld, beta, C, c.ld));
            if (rank == Rank::other) BLAS(typed::syrkx<T>(handle, uplo, trans, n, k, alpha, A, a.ld, B, b.ld, beta, C, c.ld));
          }
          // row of op(X) times row of op(Y)
          const auto product = [&](const Matrix<T>& x, const Matrix<T>& y, int i, int j) {
            Z sum = 0;
            for (int l = 0; l < k; ++l) {
              const Z left = straight ? x(i, l) : x(l, i), right = straight ? y(j, l) : y(l, j);
              sum += !hermitian ? times(left, right) : straight ? times(left, std::conj(right)) : times(std::conj(left), right);
            }
            return sum;
          };
          char what[32];
          std::snprintf(what, sizeof what, "%s%s %s", hermitian ? "her" : "syr", rank == Rank::one ? "k" : rank == Rank::two ? "2k" : "kx", name(trans));
          c.compare(what, [&](int i, int j) {
            if (!stored(uplo, i, j)) return c(i, j);
            Z value = alpha.wide() * product(a, rank == Rank::one ? a : b, i, j);
            if (rank == Rank::two) value += (hermitian ? std::conj(alpha.wide()) : alpha.wide()) * product(b, a, i, j);
            value += 2.0 * c(i, j);
            return hermitian && i == j ? Z(value.real()) : value;
          }, 8.0 * k + 8);
        }
}

template <class T>
void triangles(cublasHandle_t handle, int m, int n) {
  check::Random r(13);
  for (cublasSideMode_t side : kSides)
    for (cublasFillMode_t uplo : kTriangles)
      for (cublasOperation_t trans : kTranspositions)
        for (cublasDiagType_t diag : {CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT}) {
          const int s = side == CUBLAS_SIDE_LEFT ? m : n;
          Matrix<T> a(r, s, s, 1), b(r, m, n, 2), c(r, m, n, 1), x(r, m, n, 2);
          // Well conditioned: small off the diagonal, about 2 on it.
          for (int j = 0; j < s; ++j)
            for (int i = 0; i < s; ++i) a.at(i, j) = narrow<T>(a(i, j) * (i == j ? 0.25 : 1.0 / s) + (i == j ? 2.0 : 0.0));
          if (diag == CUBLAS_DIAG_UNIT)
            for (int i = 0; i < s; ++i) std::memset(&a.at(i, i), 0xff, sizeof(T));
          spoilOther(a, uplo);
          Scalar<T> alpha(handle, Z(0.5, kComplex<T> ? 0.25 : 0));
          const auto apply = [&](const Matrix<T>& to, int i, int j) {
            Z sum = 0;
            for (int l = 0; l < s; ++l)
              sum += side == CUBLAS_SIDE_LEFT ? times(triangular(a, uplo, trans, diag, i, l), to(l, j)) : times(to(i, l), triangular(a, uplo, trans, diag, l, j));
            return sum;
          };
          BLAS(typed::trmm<T>(handle, side, uplo, trans, diag, m, n, alpha, a.device, a.ld, b.device, b.ld, c.device, c.ld));
          c.compare("trmm", [&](int i, int j) { return alpha.wide() * apply(b, i, j); }, 16);
          // What solves is what gives the right-hand side back: x is chosen, b made from it.
          for (int j = 0; j < n; ++j)
            for (int i = 0; i < m; ++i) b.at(i, j) = narrow<T>(apply(x, i, j));
          b.upload();
          BLAS(typed::trsm<T>(handle, side, uplo, trans, diag, m, n, alpha, a.device, a.ld, b.device, b.ld));
          b.compare("trsm", [&](int i, int j) { return alpha.wide() * x(i, j); }, 64);
        }
  // In place, and a batch.
  Matrix<T> a(r, m, m), b(r, m, n), b2(r, m, n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < m; ++j) a.at(i, j) = narrow<T>(i == j ? Z(2) : a(i, j) / double(m));
  a.upload();
  Scalar<T> one(handle, 1);
  BLAS(typed::trmm<T>(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, m, n, one, a.device, m, b.device, m, b.device, m));
  const auto multiplied = [&](const Matrix<T>& to, int i, int j) {
    Z sum = 0;
    for (int l = i; l < m; ++l) sum += times(a(i, l), to(l, j));
    return sum;
  };
  b.compare("trmm in place", [&](int i, int j) { return multiplied(b, i, j); }, 16);
  BLAS(typed::trmm<T>(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, m, n, one, a.device, m, b2.device, m, b2.device, m));
  T **as = check::toDevice(std::vector<T*>{a.device, a.device}), **bs = check::toDevice(std::vector<T*>{b.device, b2.device});
  BLAS(typed::trsmBatched<T>(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, m, n, one, as, m, bs, m, 2));
  b.compare("trsmBatched 0", [&](int i, int j) { return b(i, j); }, 64);
  b2.compare("trsmBatched 1", [&](int i, int j) { return b2(i, j); }, 64);
  CHECK(cudaFree(as));
  CHECK(cudaFree(bs));
}

template <class T>
void sums(cublasHandle_t handle, int m, int n) {
  check::Random r(14);
  for (cublasOperation_t ta : kTranspositions)
    for (cublasOperation_t tb : kTranspositions) {
      Matrix<T> a(r, ta == CUBLAS_OP_N ? m : n, ta == CUBLAS_OP_N ? n : m, 2), b(r, tb == CUBLAS_OP_N ? m : n, tb == CUBLAS_OP_N ? n : m, 1), c(r, m, n, 3);
      Scalar<T> alpha(handle, Z(0.5, kComplex<T> ? 2 : 0)), beta(handle, Z(-3));
      BLAS(typed::geam<T>(handle, ta, tb, m, n, alpha, a.device, a.ld, beta, b.device, b.ld, c.device, c.ld));
      c.compare("geam", [&](int i, int j) { return alpha.wide() * a.op(ta, i, j) + beta.wide() * b.op(tb, i, j); }, 16);
    }
  // The customary way to transpose.
  cublasPointerMode_t mode;
  BLAS(cublasGetPointerMode(handle, &mode));
  if (mode == CUBLAS_POINTER_MODE_HOST) {
    Matrix<T> a(r, n, m), c(r, m, n);
    Scalar<T> one(handle, 1), zero(handle, 0);
    BLAS(typed::geam<T>(handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, one, a.device, n, zero, nullptr, m, c.device, m));
    c.compare("transposed", [&](int i, int j) { return a(j, i); }, 0);
  }
  for (cublasSideMode_t side : kSides) {
    Matrix<T> a(r, m, n, 2), c(r, m, n, 1);
    Vector<T> x(r, side == CUBLAS_SIDE_LEFT ? m : n, 2);
    BLAS(typed::dgmm<T>(handle, side, m, n, a.device, a.ld, x.device, x.inc, c.device, c.ld));
    c.compare("dgmm", [&](int i, int j) { return a(i, j) * x(side == CUBLAS_SIDE_LEFT ? i : j); }, 4);
  }
}

template <class T>
void all(cublasHandle_t handle) {
  symmetric<T>(handle, 13, 20);
  ranks<T>(handle, 11, 17);
  triangles<T>(handle, 9, 12);
  sums<T>(handle, 37, 50);
}

// Beyond one block of the CPU device.
template <class T>
void large(cublasHandle_t handle) {
  symmetric<T>(handle, 5, 300);
  ranks<T>(handle, 290, 3);
  triangles<T>(handle, 5, 270);
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
  BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
  large<float>(handle);
  large<cuDoubleComplex>(handle);
  BLAS(cublasDestroy(handle));
  return check::done();
}
