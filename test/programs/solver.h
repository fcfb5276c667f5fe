// What the programs that use cuSOLVER share: its functions by element type, matrices in double to compare with. Needs -lcusolver.
#pragma once

#include <cusolverDn.h>

#include <algorithm>
#include <complex>

#include "check.h"

namespace solver {

using Z = std::complex<double>;

inline void ok(cusolverStatus_t status, const char* what, const char* file, int line) {
  if (status == CUSOLVER_STATUS_SUCCESS) return;
  std::printf("%s:%d: %s: cusolverStatus_t %d\n", file, line, what, int(status));
  std::fflush(stdout);
  std::_Exit(1);
}
inline void expect(cusolverStatus_t got, cusolverStatus_t wanted, const char* what, const char* file, int line) {
  if (got == wanted) return;
  std::printf("%s:%d: %s: cusolverStatus_t %d instead of %d\n", file, line, what, int(got), int(wanted));
  ++check::failures;
}

#define SOLVER(...) ::solver::ok((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define EXPECT_STATUS(wanted, ...) ::solver::expect((__VA_ARGS__), wanted, #__VA_ARGS__, __FILE__, __LINE__)

template <class T> struct Traits;
template <> struct Traits<float> { using Real = float; static constexpr cudaDataType type = CUDA_R_32F, real = CUDA_R_32F; static constexpr bool complex = false; };
template <> struct Traits<double> { using Real = double; static constexpr cudaDataType type = CUDA_R_64F, real = CUDA_R_64F; static constexpr bool complex = false; };
template <> struct Traits<cuComplex> { using Real = float; static constexpr cudaDataType type = CUDA_C_32F, real = CUDA_R_32F; static constexpr bool complex = true; };
template <> struct Traits<cuDoubleComplex> { using Real = double; static constexpr cudaDataType type = CUDA_C_64F, real = CUDA_R_64F; static constexpr bool complex = true; };
template <class T> using Real = typename Traits<T>::Real;
template <class T> constexpr double epsilon() { return sizeof(Real<T>) == 4 ? 1.2e-7 : 2.3e-16; }

inline Z wide(float value) { return value; }
inline Z wide(double value) { return value; }
inline Z wide(cuComplex value) { return {value.x, value.y}; }
inline Z wide(cuDoubleComplex value) { return {value.x, value.y}; }
template <class T> T narrow(Z value) { return T(value.real()); }
template <> inline cuComplex narrow(Z value) { return {float(value.real()), float(value.imag())}; }
template <> inline cuDoubleComplex narrow(Z value) { return {value.real(), value.imag()}; }

// Column by column.
struct Matrix {
  Matrix(int rows, int columns) : rows(rows), columns(columns), values(std::size_t(rows) * columns) {}
  Z& operator()(int i, int j) { return values[std::size_t(i) + std::size_t(j) * rows]; }
  Z operator()(int i, int j) const { return values[std::size_t(i) + std::size_t(j) * rows]; }
  int rows, columns;
  std::vector<Z> values;
};
inline Matrix identity(int n) {
  Matrix a(n, n);
  for (int i = 0; i < n; ++i) a(i, i) = 1;
  return a;
}
inline Matrix adjoint(const Matrix& a) {
  Matrix b(a.columns, a.rows);
  for (int j = 0; j < a.columns; ++j)
    for (int i = 0; i < a.rows; ++i) b(j, i) = std::conj(a(i, j));
  return b;
}
inline Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix c(a.rows, b.columns);
  for (int j = 0; j < b.columns; ++j)
    for (int k = 0; k < a.columns; ++k)
      for (int i = 0; i < a.rows; ++i) c(i, j) += a(i, k) * b(k, j);
  return c;
}
inline Matrix columnsTimes(Matrix a, const std::vector<Z>& by) {
  for (int j = 0; j < a.columns; ++j)
    for (int i = 0; i < a.rows; ++i) a(i, j) *= by[std::size_t(j)];
  return a;
}
inline Matrix columnsOf(const Matrix& a, int columns) {
  Matrix b(a.rows, columns);
  std::copy_n(a.values.begin(), b.values.size(), b.values.begin());
  return b;
}
template <class T>
Matrix random(int rows, int columns, std::uint64_t seed) {
  check::Random numbers(seed);
  Matrix a(rows, columns);
  for (Z& each : a.values) {
    const double re = numbers.uniform(-1, 1), im = numbers.uniform(-1, 1);
    each = wide(narrow<T>(Traits<T>::complex ? Z(re, im) : Z(re)));
  }
  return a;
}
template <class T>
Matrix hermitian(int n, std::uint64_t seed) {
  Matrix a = random<T>(n, n, seed);
  for (int j = 0; j < n; ++j) {
    a(j, j) = a(j, j).real();
    for (int i = 0; i < j; ++i) a(i, j) = std::conj(a(j, i));
  }
  return a;
}
// Hermitian, with eigenvalues above 1.
template <class T>
Matrix positive(int n, std::uint64_t seed) {
  Matrix a = hermitian<T>(n, seed);
  for (int i = 0; i < n; ++i) a(i, i) += 2.0 * n;
  return a;
}

// Within so many of a type's smallest differences.
inline void near(const char* what, const Matrix& got, const Matrix& wanted, double tolerance) {
  double apart = 0;
  std::size_t where = 0;
  for (std::size_t i = 0; i < wanted.values.size(); ++i) {
    const double here = std::abs(got.values[i] - wanted.values[i]);
    if (!(here <= apart)) apart = here, where = i;
  }
  if (got.values.size() == wanted.values.size() && apart <= tolerance) return;
  std::printf("%s: element %zu is (%.9g, %.9g), should be (%.9g, %.9g) within %g\n", what, where, got.values[where].real(), got.values[where].imag(),
              wanted.values[where].real(), wanted.values[where].imag(), tolerance);
  ++check::failures;
}

// A matrix on the device, with `more` rows that are none of its.
template <class T>
class OnDevice {
 public:
  OnDevice(int rows, int columns, int more = 0) : rows_(rows), columns_(columns), spacing(rows + more), data(check::deviceArray<T>(std::size_t(std::max(spacing * columns, 1)))) {}
  explicit OnDevice(const Matrix& values, int more = 0) : OnDevice(values.rows, values.columns, more) { put(values); }
  OnDevice(const OnDevice&) = delete;
  ~OnDevice() { CHECK(cudaFree(data)); }
  void put(const Matrix& values) {
    std::vector<T> host(std::size_t(spacing * columns_));
    for (int j = 0; j < columns_; ++j)
      for (int i = 0; i < rows_; ++i) host[std::size_t(i + j * spacing)] = narrow<T>(values(i, j));
    CHECK(cudaMemcpy(data, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  Matrix get() const {
    const std::vector<T> host = check::toHost(data, std::size_t(spacing * columns_));
    Matrix values(rows_, columns_);
    for (int j = 0; j < columns_; ++j)
      for (int i = 0; i < rows_; ++i) values(i, j) = wide(host[std::size_t(i + j * spacing)]);
    return values;
  }
  std::vector<Z> list() const { return get().values; }

 private:
  int rows_, columns_;

 public:
  const int spacing;
  T* const data;
};

// Memory to work in, and devInfo.
class Work {
 public:
  explicit Work(int infos = 1) : info(check::deviceArray<int>(std::size_t(infos))), infos_(infos) { CHECK(cudaMemset(info, 0x55, std::size_t(infos) * sizeof(int))); }
  Work(const Work&) = delete;
  ~Work() {
    CHECK(cudaFree(info));
    CHECK(cudaFree(device));
  }
  template <class T = char>
  T* take(std::size_t elements) {
    CHECK(cudaFree(device));
    device = nullptr;
    CHECK(cudaMalloc(&device, std::max<std::size_t>(elements * sizeof(T), 1)));
    return static_cast<T*>(device);
  }
  void* onHost(std::size_t bytes) {
    host_.resize(bytes);
    return bytes != 0 ? host_.data() : nullptr;
  }
  std::vector<int> told() const { return check::toHost(info, std::size_t(infos_)); }
  bool good() const {
    const std::vector<int> all = told();
    return std::all_of(all.begin(), all.end(), [](int each) { return each == 0; });
  }
  int* const info;
  void* device = nullptr;

 private:
  const int infos_;
  std::vector<char> host_;
};

// The functions of one type, with memory to work in.
#define SOLVER_FUNCTIONS(T, p, unitary, hermite)                                                                                                        \
  inline void potrf(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T* a, int lda, Work& work) {                                                    \
    int length = 0;                                                                                                                                     \
    SOLVER(cusolverDn##p##potrf_bufferSize(h, uplo, n, a, lda, &length));                                                                               \
    SOLVER(cusolverDn##p##potrf(h, uplo, n, a, lda, work.take<T>(length), length, work.info));                                                          \
  }                                                                                                                                                     \
  inline void potri(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T* a, int lda, Work& work) {                                                    \
    int length = 0;                                                                                                                                     \
    SOLVER(cusolverDn##p##potri_bufferSize(h, uplo, n, a, lda, &length));                                                                               \
    SOLVER(cusolverDn##p##potri(h, uplo, n, a, lda, work.take<T>(length), length, work.info));                                                          \
  }                                                                                                                                                     \
  inline void potrs(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, int k, const T* a, int lda, T* b, int ldb, Work& work) {                        \
    SOLVER(cusolverDn##p##potrs(h, uplo, n, k, a, lda, b, ldb, work.info));                                                                             \
  }                                                                                                                                                     \
  inline void getrf(cusolverDnHandle_t h, int m, int n, T* a, int lda, int* pivots, Work& work) {                                                       \
    int length = 0;                                                                                                                                     \
    SOLVER(cusolverDn##p##getrf_bufferSize(h, m, n, a, lda, &length));                                                                                  \
    SOLVER(cusolverDn##p##getrf(h, m, n, a, lda, work.take<T>(length), pivots, work.info));                                                             \
  }                                                                                                                                                     \
  inline void getrs(cusolverDnHandle_t h, cublasOperation_t op, int n, int k, const T* a, int lda, const int* pivots, T* b, int ldb, Work& work) {      \
    SOLVER(cusolverDn##p##getrs(h, op, n, k, a, lda, pivots, b, ldb, work.info));                                                                       \
  }                                                                                                                                                     \
  inline void sytrf(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T* a, int lda, int* pivots, Work& work) {                                       \
    int length = 0;                                                                                                                                     \
    SOLVER(cusolverDn##p##sytrf_bufferSize(h, n, a, lda, &length));                                                                                     \
    SOLVER(cusolverDn##p##sytrf(h, uplo, n, a, lda, pivots, work.take<T>(length), length, work.info));                                                  \
  }                                                                                                                                                     \
  inline void geqrf(cusolverDnHandle_t h, int m, int n, T* a, int lda, T* tau, Work& work) {                                                            \
    int length = 0;                                                                                                                                     \
    SOLVER(cusolverDn##p##geqrf_bufferSize(h, m, n, a, lda, &length));                                                                                  \
    SOLVER(cusolverDn##p##geqrf(h, m, n, a, lda, tau, work.take<T>(length), length, work.info));                                                        \
  }                                                                                                                                                     \
  inline void orgqr(cusolverDnHandle_t h, int m, int n, int k, T* a, int lda, const T* tau, Work& work) {                                               \
    int length = 0;                                                                                                                                     \
    SOLVER(cusolverDn##p##unitary##gqr_bufferSize(h, m, n, k, a, lda, tau, &length));                                                                   \
    SOLVER(cusolverDn##p##unitary##gqr(h, m, n, k, a, lda, tau, work.take<T>(length), length, work.info));                                              \
  }                                                                                                                                                     \
  inline void ormqr(cusolverDnHandle_t h, cublasSideMode_t side, cublasOperation_t op, int m, int n, int k, const T* a, int lda, const T* tau, T* c,    \
                    int ldc, Work& work) {                                                                                                              \
    int length = 0;                                                                                                                                     \
    SOLVER(cusolverDn##p##unitary##mqr_bufferSize(h, side, op, m, n, k, a, lda, tau, c, ldc, &length));                                                 \
    SOLVER(cusolverDn##p##unitary##mqr(h, side, op, m, n, k, a, lda, tau, c, ldc, work.take<T>(length), length, work.info));                            \
  }                                                                                                                                                     \
  inline void syevd(cusolverDnHandle_t h, cusolverEigMode_t job, cublasFillMode_t uplo, int n, T* a, int lda, Real<T>* w, Work& work) {                 \
    int length = 0;                                                                                                                                     \
    SOLVER(cusolverDn##p##hermite##evd_bufferSize(h, job, uplo, n, a, lda, w, &length));                                                                \
    SOLVER(cusolverDn##p##hermite##evd(h, job, uplo, n, a, lda, w, work.take<T>(length), length, work.info));                                           \
  }                                                                                                                                                     \
  inline void syevdx(cusolverDnHandle_t h, cusolverEigRange_t range, int n, T* a, int lda, Real<T> vl, Real<T> vu, int il, int iu, int* found,          \
                     Real<T>* w, Work& work) {                                                                                                          \
    const auto job = CUSOLVER_EIG_MODE_VECTOR;                                                                                                          \
    const auto uplo = CUBLAS_FILL_MODE_LOWER;                                                                                                           \
    int length = 0;                                                                                                                                     \
    SOLVER(cusolverDn##p##hermite##evdx_bufferSize(h, job, range, uplo, n, a, lda, vl, vu, il, iu, found, w, &length));                                 \
    SOLVER(cusolverDn##p##hermite##evdx(h, job, range, uplo, n, a, lda, vl, vu, il, iu, found, w, work.take<T>(length), length, work.info));            \
  }                                                                                                                                                     \
  inline void sygvd(cusolverDnHandle_t h, cusolverEigType_t type, int n, T* a, int lda, T* b, int ldb, Real<T>* w, Work& work) {                        \
    const auto job = CUSOLVER_EIG_MODE_VECTOR;                                                                                                          \
    const auto uplo = CUBLAS_FILL_MODE_UPPER;                                                                                                           \
    int length = 0;                                                                                                                                     \
    SOLVER(cusolverDn##p##hermite##gvd_bufferSize(h, type, job, uplo, n, a, lda, b, ldb, w, &length));                                                  \
    SOLVER(cusolverDn##p##hermite##gvd(h, type, job, uplo, n, a, lda, b, ldb, w, work.take<T>(length), length, work.info));                             \
  }                                                                                                                                                     \
  inline void syevj(cusolverDnHandle_t h, int n, T* a, int lda, Real<T>* w, Work& work, syevjInfo_t params, int batch) {                                \
    const auto job = CUSOLVER_EIG_MODE_VECTOR;                                                                                                          \
    const auto uplo = CUBLAS_FILL_MODE_LOWER;                                                                                                           \
    int length = 0;                                                                                                                                     \
    if (batch == 0) {                                                                                                                                   \
      SOLVER(cusolverDn##p##hermite##evj_bufferSize(h, job, uplo, n, a, lda, w, &length, params));                                                      \
      SOLVER(cusolverDn##p##hermite##evj(h, job, uplo, n, a, lda, w, work.take<T>(length), length, work.info, params));                                 \
    } else {                                                                                                                                            \
      SOLVER(cusolverDn##p##hermite##evjBatched_bufferSize(h, job, uplo, n, a, lda, w, &length, params, batch));                                        \
      SOLVER(cusolverDn##p##hermite##evjBatched(h, job, uplo, n, a, lda, w, work.take<T>(length), length, work.info, params, batch));                   \
    }                                                                                                                                                   \
  }                                                                                                                                                     \
  inline void gesvd(cusolverDnHandle_t h, signed char left, signed char right, int m, int n, T* a, int lda, Real<T>* s, T* u, int ldu, T* vt, int ldvt, \
                    Work& work) {                                                                                                                       \
    int length = 0;                                                                                                                                     \
    SOLVER(cusolverDn##p##gesvd_bufferSize(h, m, n, &length));                                                                                          \
    SOLVER(cusolverDn##p##gesvd(h, left, right, m, n, a, lda, s, u, ldu, vt, ldvt, work.take<T>(length), length, nullptr, work.info));                  \
  }                                                                                                                                                     \
  inline void gesvdj(cusolverDnHandle_t h, int economy, int m, int n, T* a, int lda, Real<T>* s, T* u, int ldu, T* v, int ldv, Work& work,              \
                     gesvdjInfo_t params, int batch) {                                                                                                  \
    const auto job = CUSOLVER_EIG_MODE_VECTOR;                                                                                                          \
    int length = 0;                                                                                                                                     \
    if (batch == 0) {                                                                                                                                   \
      SOLVER(cusolverDn##p##gesvdj_bufferSize(h, job, economy, m, n, a, lda, s, u, ldu, v, ldv, &length, params));                                      \
      SOLVER(cusolverDn##p##gesvdj(h, job, economy, m, n, a, lda, s, u, ldu, v, ldv, work.take<T>(length), length, work.info, params));                 \
    } else {                                                                                                                                            \
      SOLVER(cusolverDn##p##gesvdjBatched_bufferSize(h, job, m, n, a, lda, s, u, ldu, v, ldv, &length, params, batch));                                 \
      SOLVER(cusolverDn##p##gesvdjBatched(h, job, m, n, a, lda, s, u, ldu, v, ldv, work.take<T>(length), length, work.info, params, batch));            \
    }                                                                                                                                                   \
  }                                                                                                                                                     \
  inline void gesvda(cusolverDnHandle_t h, int rank, int m, int n, const T* a, Real<T>* s, T* u, T* v, double* norms, Work& work, int batch) {          \
    const auto job = CUSOLVER_EIG_MODE_VECTOR;                                                                                                          \
    int length = 0;                                                                                                                                     \
    SOLVER(cusolverDn##p##gesvdaStridedBatched_bufferSize(h, job, rank, m, n, a, m, m * n, s, rank, u, m, m * rank, v, n, n * rank, &length, batch));   \
    SOLVER(cusolverDn##p##gesvdaStridedBatched(h, job, rank, m, n, a, m, m * n, s, rank, u, m, m * rank, v, n, n * rank, work.take<T>(length), length,  \
                                               work.info, norms, batch));                                                                               \
  }                                                                                                                                                     \
  inline void potrfBatched(cusolverDnHandle_t h, int n, T** a, int lda, Work& work, int batch) {                                                        \
    SOLVER(cusolverDn##p##potrfBatched(h, CUBLAS_FILL_MODE_LOWER, n, a, lda, work.info, batch));                                                        \
  }                                                                                                                                                     \
  inline void potrsBatched(cusolverDnHandle_t h, int n, T** a, int lda, T** b, int ldb, Work& work, int batch) {                                        \
    SOLVER(cusolverDn##p##potrsBatched(h, CUBLAS_FILL_MODE_LOWER, n, 1, a, lda, b, ldb, work.info, batch));                                             \
  }
SOLVER_FUNCTIONS(float, S, or, sy)
SOLVER_FUNCTIONS(double, D, or, sy)
SOLVER_FUNCTIONS(cuComplex, C, un, he)
SOLVER_FUNCTIONS(cuDoubleComplex, Z, un, he)
#undef SOLVER_FUNCTIONS

}  // namespace solver
