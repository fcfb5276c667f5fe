// CBLAS by overloading: column-major, one name for the four types. OpenBLAS with one thread.
#pragma once

#include <cblas.h>

#include "schemas/blas/call.h"
#include "server/library/cpu/number.h"

namespace rouse::library::cpu {

inline int toInt(std::int64_t value) { return static_cast<int>(value); }
inline CBLAS_TRANSPOSE toCblas(blas::Transpose t) {
  return t == blas::Transpose::none ? CblasNoTrans : t == blas::Transpose::transposed ? CblasTrans : CblasConjTrans;
}
inline CBLAS_UPLO toCblas(blas::Triangle t) { return t == blas::Triangle::upper ? CblasUpper : CblasLower; }
inline CBLAS_SIDE toCblas(blas::Side s) { return s == blas::Side::left ? CblasLeft : CblasRight; }
inline CBLAS_DIAG toCblas(blas::Diagonal d) { return d == blas::Diagonal::unit ? CblasUnit : CblasNonUnit; }

#define ROUSE_CBLAS_REAL(T, p)                                                                                                          \
  inline void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, T alpha, const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc) { \
    cblas_##p##gemm(CblasColMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                                              \
  }                                                                                                                                     \
  inline void gemv(CBLAS_TRANSPOSE t, int m, int n, T alpha, const T* a, int lda, const T* x, int incx, T beta, T* y, int incy) {      \
    cblas_##p##gemv(CblasColMajor, t, m, n, alpha, a, lda, x, incx, beta, y, incy);                                                     \
  }                                                                                                                                     \
  inline void ger(bool, int m, int n, T alpha, const T* x, int incx, const T* y, int incy, T* a, int lda) {                             \
    cblas_##p##ger(CblasColMajor, m, n, alpha, x, incx, y, incy, a, lda);                                                               \
  }                                                                                                                                     \
  inline void symm(CBLAS_SIDE s, CBLAS_UPLO u, int m, int n, T alpha, const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc) { \
    cblas_##p##symm(CblasColMajor, s, u, m, n, alpha, a, lda, b, ldb, beta, c, ldc);                                                    \
  }                                                                                                                                     \
  inline void syrk(CBLAS_UPLO u, CBLAS_TRANSPOSE t, int n, int k, T alpha, const T* a, int lda, T beta, T* c, int ldc) {                \
    cblas_##p##syrk(CblasColMajor, u, t, n, k, alpha, a, lda, beta, c, ldc);                                                            \
  }                                                                                                                                     \
  inline void syr2k(CBLAS_UPLO u, CBLAS_TRANSPOSE t, int n, int k, T alpha, const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc) { \
    cblas_##p##syr2k(CblasColMajor, u, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                                                   \
  }                                                                                                                                     \
  inline void trmm(CBLAS_SIDE s, CBLAS_UPLO u, CBLAS_TRANSPOSE t, CBLAS_DIAG d, int m, int n, T alpha, const T* a, int lda, T* b, int ldb) { \
    cblas_##p##trmm(CblasColMajor, s, u, t, d, m, n, alpha, a, lda, b, ldb);                                                            \
  }                                                                                                                                     \
  inline void trsm(CBLAS_SIDE s, CBLAS_UPLO u, CBLAS_TRANSPOSE t, CBLAS_DIAG d, int m, int n, T alpha, const T* a, int lda, T* b, int ldb) { \
    cblas_##p##trsm(CblasColMajor, s, u, t, d, m, n, alpha, a, lda, b, ldb);                                                            \
  }                                                                                                                                     \
  inline void trmv(CBLAS_UPLO u, CBLAS_TRANSPOSE t, CBLAS_DIAG d, int n, const T* a, int lda, T* x, int incx) {                         \
    cblas_##p##trmv(CblasColMajor, u, t, d, n, a, lda, x, incx);                                                                        \
  }                                                                                                                                     \
  inline void trsv(CBLAS_UPLO u, CBLAS_TRANSPOSE t, CBLAS_DIAG d, int n, const T* a, int lda, T* x, int incx) {                         \
    cblas_##p##trsv(CblasColMajor, u, t, d, n, a, lda, x, incx);                                                                        \
  }
ROUSE_CBLAS_REAL(float, s)
ROUSE_CBLAS_REAL(double, d)
#undef ROUSE_CBLAS_REAL

#define ROUSE_CBLAS_COMPLEX(T, R, p)                                                                                                    \
  inline void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, T alpha, const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc) { \
    cblas_##p##gemm(CblasColMajor, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc);                                            \
  }                                                                                                                                     \
  /* OpenBLAS reads one element behind the vector, where nothing need be: the last column has a vector that goes on. */                 \
  inline void gemv(CBLAS_TRANSPOSE t, int m, int n, T alpha, const T* a, int lda, const T* x, int incx, T beta, T* y, int incy) {      \
    if (t != CblasNoTrans || n == 0) return cblas_##p##gemv(CblasColMajor, t, m, n, &alpha, a, lda, x, incx, &beta, y, incy);           \
    const std::ptrdiff_t last = n - 1, step = incx;                                                                                     \
    const T one{1}, behind[2] = {step > 0 ? x[last * step] : x[0], T{0}};                                                               \
    if (last > 0) cblas_##p##gemv(CblasColMajor, t, m, n - 1, &alpha, a, lda, step > 0 ? x : x - step, incx, &beta, y, incy);           \
    cblas_##p##gemv(CblasColMajor, t, m, 1, &alpha, a + last * lda, lda, behind, 1, last > 0 ? &one : &beta, y, incy);                  \
  }                                                                                                                                     \
  inline void ger(bool conjugates, int m, int n, T alpha, const T* x, int incx, const T* y, int incy, T* a, int lda) {                  \
    (conjugates ? cblas_##p##gerc : cblas_##p##geru)(CblasColMajor, m, n, &alpha, x, incx, y, incy, a, lda);                            \
  }                                                                                                                                     \
  inline void symm(CBLAS_SIDE s, CBLAS_UPLO u, int m, int n, T alpha, const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc) { \
    cblas_##p##symm(CblasColMajor, s, u, m, n, &alpha, a, lda, b, ldb, &beta, c, ldc);                                                  \
  }                                                                                                                                     \
  inline void hemm(CBLAS_SIDE s, CBLAS_UPLO u, int m, int n, T alpha, const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc) { \
    cblas_##p##hemm(CblasColMajor, s, u, m, n, &alpha, a, lda, b, ldb, &beta, c, ldc);                                                  \
  }                                                                                                                                     \
  inline void syrk(CBLAS_UPLO u, CBLAS_TRANSPOSE t, int n, int k, T alpha, const T* a, int lda, T beta, T* c, int ldc) {                \
    cblas_##p##syrk(CblasColMajor, u, t, n, k, &alpha, a, lda, &beta, c, ldc);                                                          \
  }                                                                                                                                     \
  inline void syr2k(CBLAS_UPLO u, CBLAS_TRANSPOSE t, int n, int k, T alpha, const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc) { \
    cblas_##p##syr2k(CblasColMajor, u, t, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc);                                                 \
  }                                                                                                                                     \
  inline void herk(CBLAS_UPLO u, CBLAS_TRANSPOSE t, int n, int k, R alpha, const T* a, int lda, R beta, T* c, int ldc) {                \
    cblas_##p##herk(CblasColMajor, u, t, n, k, alpha, a, lda, beta, c, ldc);                                                            \
  }                                                                                                                                     \
  inline void her2k(CBLAS_UPLO u, CBLAS_TRANSPOSE t, int n, int k, T alpha, const T* a, int lda, const T* b, int ldb, R beta, T* c, int ldc) { \
    cblas_##p##her2k(CblasColMajor, u, t, n, k, &alpha, a, lda, b, ldb, beta, c, ldc);                                                  \
  }                                                                                                                                     \
  inline void trmm(CBLAS_SIDE s, CBLAS_UPLO u, CBLAS_TRANSPOSE t, CBLAS_DIAG d, int m, int n, T alpha, const T* a, int lda, T* b, int ldb) { \
    cblas_##p##trmm(CblasColMajor, s, u, t, d, m, n, &alpha, a, lda, b, ldb);                                                           \
  }                                                                                                                                     \
  inline void trsm(CBLAS_SIDE s, CBLAS_UPLO u, CBLAS_TRANSPOSE t, CBLAS_DIAG d, int m, int n, T alpha, const T* a, int lda, T* b, int ldb) { \
    cblas_##p##trsm(CblasColMajor, s, u, t, d, m, n, &alpha, a, lda, b, ldb);                                                           \
  }                                                                                                                                     \
  inline void trmv(CBLAS_UPLO u, CBLAS_TRANSPOSE t, CBLAS_DIAG d, int n, const T* a, int lda, T* x, int incx) {                         \
    cblas_##p##trmv(CblasColMajor, u, t, d, n, a, lda, x, incx);                                                                        \
  }                                                                                                                                     \
  inline void trsv(CBLAS_UPLO u, CBLAS_TRANSPOSE t, CBLAS_DIAG d, int n, const T* a, int lda, T* x, int incx) {                         \
    cblas_##p##trsv(CblasColMajor, u, t, d, n, a, lda, x, incx);                                                                        \
  }
ROUSE_CBLAS_COMPLEX(c32, float, c)
ROUSE_CBLAS_COMPLEX(c64, double, z)
#undef ROUSE_CBLAS_COMPLEX

}  // namespace rouse::library::cpu
