// LAPACK by overloading, what OpenBLAS has of it: its symbols, since there is no header of them beside OpenBLAS's. It keeps nothing between calls.
#pragma once

#include <cstddef>

#include "server/library/cpu/number.h"

// Fortran's: all by address, then the lengths of texts.
#define ROUSE_LAPACK(T, p, unitary)                                                                                                     \
  extern "C" void p##geqrf_(const int* m, const int* n, T* a, const int* lda, T* tau, T* work, const int* lwork, int* info);            \
  extern "C" void p##unitary##mqr_(const char* side, const char* trans, const int* m, const int* n, const int* k, const T* a, const int* lda, const T* tau, T* c, \
                                   const int* ldc, T* work, const int* lwork, int* info, std::size_t, std::size_t);                     \
  namespace rouse::library::cpu {                                                                                                       \
  /* A becomes R, and below it what Q is made of. 0: done. */                                                                          \
  inline int geqrf(int m, int n, T* a, int lda, T* tau, T* work, int lwork) {                                                           \
    int info = 0;                                                                                                                       \
    p##geqrf_(&m, &n, a, &lda, tau, work, &lwork, &info);                                                                               \
    return info;                                                                                                                        \
  }                                                                                                                                     \
  /* C, of m rows, becomes Q' C; Q of k reflections. */                                                                                 \
  inline int applyReflections(int m, int n, int k, const T* a, int lda, const T* tau, T* c, int ldc, T* work, int lwork) {              \
    int info = 0;                                                                                                                       \
    const char left = 'L', turned = kComplex<T> ? 'C' : 'T';                                                                            \
    p##unitary##mqr_(&left, &turned, &m, &n, &k, a, &lda, tau, c, &ldc, work, &lwork, &info, 1, 1);                                     \
    return info;                                                                                                                        \
  }                                                                                                                                     \
  }
ROUSE_LAPACK(float, s, or)
ROUSE_LAPACK(double, d, or)
ROUSE_LAPACK(rouse::library::cpu::c32, c, un)
ROUSE_LAPACK(rouse::library::cpu::c64, z, un)
#undef ROUSE_LAPACK
