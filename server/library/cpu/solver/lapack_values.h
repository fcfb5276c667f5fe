// Eigenvalues and singular values by LAPACK, in the same way (lapack.h). Of finite matrices.
#pragma once

#include "server/library/cpu/solver/lapack.h"

#define ROUSE_SOLVER_REAL(T, p)                                                                                                                                \
  extern "C" {                                                                                                                                                 \
  void p##syevd_(const char*, const char*, const int* n, T* a, const int* lda, T* w, T* work, const int* lwork, int* iwork, const int* liwork, int* info,      \
                 std::size_t, std::size_t);                                                                                                                    \
  void p##sygvd_(const int* problem, const char*, const char*, const int* n, T* a, const int* lda, T* b, const int* ldb, T* w, T* work, const int* lwork,      \
                 int* iwork, const int* liwork, int* info, std::size_t, std::size_t);                                                                          \
  void p##geev_(const char*, const char*, const int* n, T* a, const int* lda, T* wr, T* wi, T* vl, const int* ldvl, T* vr, const int* ldvr, T* work,           \
                const int* lwork, int* info, std::size_t, std::size_t);                                                                                        \
  void p##gesvd_(const char*, const char*, const int* m, const int* n, T* a, const int* lda, T* s, T* u, const int* ldu, T* vt, const int* ldvt, T* work,      \
                 const int* lwork, int* info, std::size_t, std::size_t);                                                                                       \
  void p##gesdd_(const char*, const int* m, const int* n, T* a, const int* lda, T* s, T* u, const int* ldu, T* vt, const int* ldvt, T* work, const int* lwork, \
                 int* iwork, int* info, std::size_t);                                                                                                          \
  }                                                                                                                                                            \
  namespace rouse::library::cpu::lapack {                                                                                                                      \
  inline int syevd(char job, char uplo, int n, T* a, int lda, T* w) {                                                                                          \
    std::vector<int> whole(3 + 5 * static_cast<std::size_t>(n));                                                                                               \
    const int wholeLength = static_cast<int>(whole.size());                                                                                                    \
    return working<T>([&](T* work, const int* length, int* info) {                                                                                             \
      p##syevd_(&job, &uplo, &n, a, &lda, w, work, length, whole.data(), &wholeLength, info, 1, 1);                                                            \
    });                                                                                                                                                        \
  }                                                                                                                                                            \
  inline int sygvd(int problem, char job, char uplo, int n, T* a, int lda, T* b, int ldb, T* w) {                                                              \
    std::vector<int> whole(3 + 5 * static_cast<std::size_t>(n));                                                                                               \
    const int wholeLength = static_cast<int>(whole.size());                                                                                                    \
    return working<T>([&](T* work, const int* length, int* info) {                                                                                             \
      p##sygvd_(&problem, &job, &uplo, &n, a, &lda, b, &ldb, w, work, length, whole.data(), &wholeLength, info, 1, 1);                                         \
    });                                                                                                                                                        \
  }                                                                                                                                                            \
  /* values: n complex numbers. */                                                                                                                            \
  inline int geev(char right, int n, T* a, int lda, std::complex<T>* values, T* vr, int ldvr) {                                                                \
    std::vector<T> wr(static_cast<std::size_t>(n)), wi(wr.size());                                                                                             \
    const char left = 'N';                                                                                                                                     \
    const int one = 1;                                                                                                                                         \
    const int done = working<T>([&](T* work, const int* length, int* info) {                                                                                   \
      p##geev_(&left, &right, &n, a, &lda, wr.data(), wi.data(), nullptr, &one, vr, &ldvr, work, length, info, 1, 1);                                          \
    });                                                                                                                                                        \
    for (std::size_t i = 0; i < wr.size(); ++i) values[i] = {wr[i], wi[i]};                                                                                    \
    return done;                                                                                                                                               \
  }                                                                                                                                                            \
  /* rest: min(m, n) - 1 numbers, of what has not converged. */                                                                                               \
  inline int gesvd(char left, char right, int m, int n, T* a, int lda, T* s, T* u, int ldu, T* vt, int ldvt, T* rest) {                                        \
    return working<T>([&](T* work, const int* length, int* info) {                                                                                             \
      p##gesvd_(&left, &right, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, length, info, 1, 1);                                                              \
      if (*length > 0 && *info > 0) std::copy_n(work + 1, std::max(std::min(m, n) - 1, 0), rest);                                                              \
    });                                                                                                                                                        \
  }                                                                                                                                                            \
  inline int gesdd(char job, int m, int n, T* a, int lda, T* s, T* u, int ldu, T* vt, int ldvt) {                                                              \
    std::vector<int> whole(8 * static_cast<std::size_t>(std::min(m, n)));                                                                                      \
    return working<T>([&](T* work, const int* length, int* info) {                                                                                             \
      p##gesdd_(&job, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, length, whole.data(), info, 1);                                                            \
    });                                                                                                                                                        \
  }                                                                                                                                                            \
  }

#define ROUSE_SOLVER_COMPLEX(T, R, p)                                                                                                                          \
  extern "C" {                                                                                                                                                 \
  void p##heevd_(const char*, const char*, const int* n, T* a, const int* lda, R* w, T* work, const int* lwork, R* rwork, const int* lrwork, int* iwork,       \
                 const int* liwork, int* info, std::size_t, std::size_t);                                                                                      \
  void p##hegvd_(const int* problem, const char*, const char*, const int* n, T* a, const int* lda, T* b, const int* ldb, R* w, T* work, const int* lwork,      \
                 R* rwork, const int* lrwork, int* iwork, const int* liwork, int* info, std::size_t, std::size_t);                                             \
  void p##geev_(const char*, const char*, const int* n, T* a, const int* lda, T* w, T* vl, const int* ldvl, T* vr, const int* ldvr, T* work, const int* lwork, \
                R* rwork, int* info, std::size_t, std::size_t);                                                                                                \
  void p##gesvd_(const char*, const char*, const int* m, const int* n, T* a, const int* lda, R* s, T* u, const int* ldu, T* vt, const int* ldvt, T* work,      \
                 const int* lwork, R* rwork, int* info, std::size_t, std::size_t);                                                                             \
  void p##gesdd_(const char*, const int* m, const int* n, T* a, const int* lda, R* s, T* u, const int* ldu, T* vt, const int* ldvt, T* work, const int* lwork, \
                 R* rwork, int* iwork, int* info, std::size_t);                                                                                                \
  }                                                                                                                                                            \
  namespace rouse::library::cpu::lapack {                                                                                                                      \
  inline int syevd(char job, char uplo, int n, T* a, int lda, R* w) {                                                                                          \
    std::vector<int> whole(3 + 5 * static_cast<std::size_t>(n));                                                                                               \
    std::vector<R> reals(realsOf(job, n));                                                                                                                     \
    const int wholeLength = static_cast<int>(whole.size()), realLength = static_cast<int>(reals.size());                                                       \
    return working<T>([&](T* work, const int* length, int* info) {                                                                                             \
      p##heevd_(&job, &uplo, &n, a, &lda, w, work, length, reals.data(), &realLength, whole.data(), &wholeLength, info, 1, 1);                                 \
    });                                                                                                                                                        \
  }                                                                                                                                                            \
  inline int sygvd(int problem, char job, char uplo, int n, T* a, int lda, T* b, int ldb, R* w) {                                                              \
    std::vector<int> whole(3 + 5 * static_cast<std::size_t>(n));                                                                                               \
    std::vector<R> reals(realsOf(job, n));                                                                                                                     \
    const int wholeLength = static_cast<int>(whole.size()), realLength = static_cast<int>(reals.size());                                                       \
    return working<T>([&](T* work, const int* length, int* info) {                                                                                             \
      p##hegvd_(&problem, &job, &uplo, &n, a, &lda, b, &ldb, w, work, length, reals.data(), &realLength, whole.data(), &wholeLength, info, 1, 1);              \
    });                                                                                                                                                        \
  }                                                                                                                                                            \
  inline int geev(char right, int n, T* a, int lda, T* values, T* vr, int ldvr) {                                                                              \
    std::vector<R> reals(2 * static_cast<std::size_t>(n));                                                                                                     \
    const char left = 'N';                                                                                                                                     \
    const int one = 1;                                                                                                                                         \
    return working<T>([&](T* work, const int* length, int* info) {                                                                                             \
      p##geev_(&left, &right, &n, a, &lda, values, nullptr, &one, vr, &ldvr, work, length, reals.data(), info, 1, 1);                                          \
    });                                                                                                                                                        \
  }                                                                                                                                                            \
  inline int gesvd(char left, char right, int m, int n, T* a, int lda, R* s, T* u, int ldu, T* vt, int ldvt, R* rest) {                                        \
    std::vector<R> reals(5 * static_cast<std::size_t>(std::min(m, n)));                                                                                        \
    return working<T>([&](T* work, const int* length, int* info) {                                                                                             \
      p##gesvd_(&left, &right, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, length, reals.data(), info, 1, 1);                                                \
      if (*length > 0 && *info > 0) std::copy_n(reals.data(), std::max(std::min(m, n) - 1, 0), rest);                                                          \
    });                                                                                                                                                        \
  }                                                                                                                                                            \
  inline int gesdd(char job, int m, int n, T* a, int lda, R* s, T* u, int ldu, T* vt, int ldvt) {                                                              \
    const auto least = static_cast<std::size_t>(std::min(m, n)), most = static_cast<std::size_t>(std::max(m, n));                                              \
    std::vector<int> whole(8 * least);                                                                                                                         \
    std::vector<R> reals(job == 'N' ? 7 * least : std::max(5 * least * least + 5 * least, 2 * most * least + 2 * least * least + least));                      \
    return working<T>([&](T* work, const int* length, int* info) {                                                                                             \
      p##gesdd_(&job, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, length, reals.data(), whole.data(), info, 1);                                              \
    });                                                                                                                                                        \
  }                                                                                                                                                            \
  }

namespace rouse::library::cpu::lapack {

// What heevd and hegvd work in beside complex numbers.
inline std::size_t realsOf(char job, int n) {
  const auto size = static_cast<std::size_t>(n);
  return job == 'V' ? 1 + 5 * size + 2 * size * size : std::max<std::size_t>(size, 1);
}

}  // namespace rouse::library::cpu::lapack

ROUSE_SOLVER_REAL(float, s)
ROUSE_SOLVER_REAL(double, d)
ROUSE_SOLVER_COMPLEX(rouse::library::cpu::c32, float, c)
ROUSE_SOLVER_COMPLEX(rouse::library::cpu::c64, double, z)
#undef ROUSE_SOLVER_REAL
#undef ROUSE_SOLVER_COMPLEX
