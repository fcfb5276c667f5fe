// LAPACK by overloading, as far as cuSOLVER's functions are done by it: OpenBLAS's symbols, since there is no header of them beside OpenBLAS's. Each returns LAPACK's
// info, and takes what it works in itself; may throw std::bad_alloc. What is given must be finite where it says so: iterations end then.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/library/cpu/number.h"

// Fortran's: all by address, then the lengths of texts.
#define ROUSE_SOLVER_LAPACK(T, R, p, unitary, hermitian)                                                                                                        \
  extern "C" {                                                                                                                                                  \
  void p##potrf_(const char*, const int* n, T* a, const int* lda, int* info, std::size_t);                                                                      \
  void p##potrs_(const char*, const int* n, const int* nrhs, const T* a, const int* lda, T* b, const int* ldb, int* info, std::size_t);                         \
  void p##potri_(const char*, const int* n, T* a, const int* lda, int* info, std::size_t);                                                                      \
  void p##lauum_(const char*, const int* n, T* a, const int* lda, int* info, std::size_t);                                                                      \
  void p##trtri_(const char*, const char*, const int* n, T* a, const int* lda, int* info, std::size_t, std::size_t);                                            \
  void p##sytrf_(const char*, const int* n, T* a, const int* lda, int* pivots, T* work, const int* lwork, int* info, std::size_t);                              \
  void p##sytrs_(const char*, const int* n, const int* nrhs, const T* a, const int* lda, const int* pivots, T* b, const int* ldb, int* info, std::size_t);      \
  void p##sytri_(const char*, const int* n, T* a, const int* lda, const int* pivots, T* work, int* info, std::size_t);                                          \
  void p##geqrf_(const int* m, const int* n, T* a, const int* lda, T* tau, T* work, const int* lwork, int* info);                                               \
  void p##unitary##gqr_(const int* m, const int* n, const int* k, T* a, const int* lda, const T* tau, T* work, const int* lwork, int* info);                    \
  void p##unitary##mqr_(const char*, const char*, const int* m, const int* n, const int* k, const T* a, const int* lda, const T* tau, T* c, const int* ldc,     \
                        T* work, const int* lwork, int* info, std::size_t, std::size_t);                                                                        \
  void p##gebrd_(const int* m, const int* n, T* a, const int* lda, R* d, R* e, T* tauq, T* taup, T* work, const int* lwork, int* info);                         \
  void p##unitary##gbr_(const char*, const int* m, const int* n, const int* k, T* a, const int* lda, const T* tau, T* work, const int* lwork, int* info,        \
                        std::size_t);                                                                                                                           \
  void p##hermitian##trd_(const char*, const int* n, T* a, const int* lda, R* d, R* e, T* tau, T* work, const int* lwork, int* info, std::size_t);              \
  void p##unitary##gtr_(const char*, const int* n, T* a, const int* lda, const T* tau, T* work, const int* lwork, int* info, std::size_t);                      \
  void p##unitary##mtr_(const char*, const char*, const char*, const int* m, const int* n, const T* a, const int* lda, const T* tau, T* c, const int* ldc,      \
                        T* work, const int* lwork, int* info, std::size_t, std::size_t, std::size_t);                                                           \
  }                                                                                                                                                             \
  namespace rouse::library::cpu::lapack {                                                                                                                       \
  inline int potrf(char uplo, int n, T* a, int lda) {                                                                                                           \
    int info = 0;                                                                                                                                               \
    p##potrf_(&uplo, &n, a, &lda, &info, 1);                                                                                                                    \
    return info;                                                                                                                                                \
  }                                                                                                                                                             \
  inline int potrs(char uplo, int n, int nrhs, const T* a, int lda, T* b, int ldb) {                                                                            \
    int info = 0;                                                                                                                                               \
    p##potrs_(&uplo, &n, &nrhs, a, &lda, b, &ldb, &info, 1);                                                                                                    \
    return info;                                                                                                                                                \
  }                                                                                                                                                             \
  inline int potri(char uplo, int n, T* a, int lda) {                                                                                                           \
    int info = 0;                                                                                                                                               \
    p##potri_(&uplo, &n, a, &lda, &info, 1);                                                                                                                    \
    return info;                                                                                                                                                \
  }                                                                                                                                                             \
  inline int lauum(char uplo, int n, T* a, int lda) {                                                                                                           \
    int info = 0;                                                                                                                                               \
    p##lauum_(&uplo, &n, a, &lda, &info, 1);                                                                                                                    \
    return info;                                                                                                                                                \
  }                                                                                                                                                             \
  inline int trtri(char uplo, char diagonal, int n, T* a, int lda) {                                                                                            \
    int info = 0;                                                                                                                                               \
    p##trtri_(&uplo, &diagonal, &n, a, &lda, &info, 1, 1);                                                                                                      \
    return info;                                                                                                                                                \
  }                                                                                                                                                             \
  inline int sytrf(char uplo, int n, T* a, int lda, int* pivots) {                                                                                              \
    return working<T>([&](T* work, const int* length, int* info) { p##sytrf_(&uplo, &n, a, &lda, pivots, work, length, info, 1); });                            \
  }                                                                                                                                                             \
  inline int sytrs(char uplo, int n, int nrhs, const T* a, int lda, const int* pivots, T* b, int ldb) {                                                         \
    int info = 0;                                                                                                                                               \
    p##sytrs_(&uplo, &n, &nrhs, a, &lda, pivots, b, &ldb, &info, 1);                                                                                            \
    return info;                                                                                                                                                \
  }                                                                                                                                                             \
  inline int sytri(char uplo, int n, T* a, int lda, const int* pivots) {                                                                                        \
    int info = 0;                                                                                                                                               \
    std::vector<T> work(2 * static_cast<std::size_t>(n) + 64);                                                                                                     \
    p##sytri_(&uplo, &n, a, &lda, pivots, work.data(), &info, 1);                                                                                               \
    return info;                                                                                                                                                \
  }                                                                                                                                                             \
  inline int geqrf(int m, int n, T* a, int lda, T* tau) {                                                                                                       \
    return working<T>([&](T* work, const int* length, int* info) { p##geqrf_(&m, &n, a, &lda, tau, work, length, info); });                                     \
  }                                                                                                                                                             \
  inline int orgqr(int m, int n, int k, T* a, int lda, const T* tau) {                                                                                          \
    return working<T>([&](T* work, const int* length, int* info) { p##unitary##gqr_(&m, &n, &k, a, &lda, tau, work, length, info); });                          \
  }                                                                                                                                                             \
  inline int ormqr(char side, char transpose, int m, int n, int k, const T* a, int lda, const T* tau, T* c, int ldc) {                                          \
    return working<T>(                                                                                                                                          \
        [&](T* work, const int* length, int* info) { p##unitary##mqr_(&side, &transpose, &m, &n, &k, a, &lda, tau, c, &ldc, work, length, info, 1, 1); });      \
  }                                                                                                                                                             \
  inline int gebrd(int m, int n, T* a, int lda, R* d, R* e, T* tauq, T* taup) {                                                                                 \
    return working<T>([&](T* work, const int* length, int* info) { p##gebrd_(&m, &n, a, &lda, d, e, tauq, taup, work, length, info); });                        \
  }                                                                                                                                                             \
  inline int orgbr(char which, int m, int n, int k, T* a, int lda, const T* tau) {                                                                              \
    return working<T>([&](T* work, const int* length, int* info) { p##unitary##gbr_(&which, &m, &n, &k, a, &lda, tau, work, length, info, 1); });               \
  }                                                                                                                                                             \
  inline int sytrd(char uplo, int n, T* a, int lda, R* d, R* e, T* tau) {                                                                                       \
    return working<T>([&](T* work, const int* length, int* info) { p##hermitian##trd_(&uplo, &n, a, &lda, d, e, tau, work, length, info, 1); });                \
  }                                                                                                                                                             \
  inline int orgtr(char uplo, int n, T* a, int lda, const T* tau) {                                                                                             \
    return working<T>([&](T* work, const int* length, int* info) { p##unitary##gtr_(&uplo, &n, a, &lda, tau, work, length, info, 1); });                        \
  }                                                                                                                                                             \
  inline int ormtr(char side, char uplo, char transpose, int m, int n, const T* a, int lda, const T* tau, T* c, int ldc) {                                      \
    return working<T>(                                                                                                                                          \
        [&](T* work, const int* length, int* info) { p##unitary##mtr_(&side, &uplo, &transpose, &m, &n, a, &lda, tau, c, &ldc, work, length, info, 1, 1, 1); }); \
  }                                                                                                                                                             \
  }

namespace rouse::library::cpu::lapack {

// call(work, length, info): first with length -1, which tells the length that is best, then with that.
template <class T, class Call>
int working(Call&& call) {
  T best{};
  int length = -1, info = 0;
  call(&best, &length, &info);
  if (info != 0) return info;
  // Told as a number of type T, which may be rounded down.
  const double told = static_cast<double>(std::real(best));
  length = static_cast<int>(std::min(std::ceil(told * 1.0001) + 1, 2147483647.0));
  // And what is read behind its rows (task.h, matrixOf).
  std::vector<T> work(static_cast<std::size_t>(length) + static_cast<std::size_t>(length) / 8 + 64);
  call(work.data(), &length, &info);
  return info;
}

}  // namespace rouse::library::cpu::lapack

ROUSE_SOLVER_LAPACK(float, float, s, or, sy)
ROUSE_SOLVER_LAPACK(double, double, d, or, sy)
ROUSE_SOLVER_LAPACK(rouse::library::cpu::c32, float, c, un, he)
ROUSE_SOLVER_LAPACK(rouse::library::cpu::c64, double, z, un, he)
#undef ROUSE_SOLVER_LAPACK
