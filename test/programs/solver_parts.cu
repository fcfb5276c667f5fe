// nvcc: -lcusolver
// library: libcusolver.so.12
// What cuSOLVER's larger functions are made of: triangles' inverses and products, rows exchanged, matrices with two and three diagonals and the reflections that lead there,
// inverses by L D L', eigenvalues of two matrices by Jacobi and within bounds; and the rest of its functions for any type.
#include "solver.h"

using namespace solver;

constexpr auto kLower = CUBLAS_FILL_MODE_LOWER;
constexpr auto kVectors = CUSOLVER_EIG_MODE_VECTOR;

// The functions of one type, with memory to work in.
#define SOLVER_PARTS(T, p, unitary, hermite)                                                                                                               \
  void lauum(cusolverDnHandle_t h, int n, T* a, Work& work) {                                                                                              \
    int length = 0;                                                                                                                                        \
    SOLVER(cusolverDn##p##lauum_bufferSize(h, kLower, n, a, n, &length));                                                                                  \
    SOLVER(cusolverDn##p##lauum(h, kLower, n, a, n, work.take<T>(length), length, work.info));                                                             \
  }                                                                                                                                                        \
  void laswp(cusolverDnHandle_t h, int n, T* a, int lda, int k1, int k2, const int* pivots, int step) {                                                    \
    SOLVER(cusolverDn##p##laswp(h, n, a, lda, k1, k2, pivots, step));                                                                                      \
  }                                                                                                                                                        \
  void sytri(cusolverDnHandle_t h, int n, T* a, const int* pivots, Work& work) {                                                                           \
    int length = 0;                                                                                                                                        \
    SOLVER(cusolverDn##p##sytri_bufferSize(h, kLower, n, a, n, pivots, &length));                                                                          \
    SOLVER(cusolverDn##p##sytri(h, kLower, n, a, n, pivots, work.take<T>(length), length, work.info));                                                     \
  }                                                                                                                                                        \
  void gebrd(cusolverDnHandle_t h, int m, int n, T* a, Real<T>* d, Real<T>* e, T* q, T* r, Work& work) {                                                   \
    int length = 0;                                                                                                                                        \
    SOLVER(cusolverDn##p##gebrd_bufferSize(h, m, n, &length));                                                                                             \
    SOLVER(cusolverDn##p##gebrd(h, m, n, a, m, d, e, q, r, work.take<T>(length), length, work.info));                                                      \
  }                                                                                                                                                        \
  void orgbr(cusolverDnHandle_t h, cublasSideMode_t side, int m, int n, int k, T* a, const T* tau, Work& work) {                                           \
    int length = 0;                                                                                                                                        \
    SOLVER(cusolverDn##p##unitary##gbr_bufferSize(h, side, m, n, k, a, m, tau, &length));                                                                  \
    SOLVER(cusolverDn##p##unitary##gbr(h, side, m, n, k, a, m, tau, work.take<T>(length), length, work.info));                                             \
  }                                                                                                                                                        \
  void sytrd(cusolverDnHandle_t h, int n, T* a, Real<T>* d, Real<T>* e, T* tau, Work& work) {                                                              \
    int length = 0;                                                                                                                                        \
    SOLVER(cusolverDn##p##hermite##trd_bufferSize(h, kLower, n, a, n, d, e, tau, &length));                                                                \
    SOLVER(cusolverDn##p##hermite##trd(h, kLower, n, a, n, d, e, tau, work.take<T>(length), length, work.info));                                           \
  }                                                                                                                                                        \
  void orgtr(cusolverDnHandle_t h, int n, T* a, const T* tau, Work& work) {                                                                                \
    int length = 0;                                                                                                                                        \
    SOLVER(cusolverDn##p##unitary##gtr_bufferSize(h, kLower, n, a, n, tau, &length));                                                                      \
    SOLVER(cusolverDn##p##unitary##gtr(h, kLower, n, a, n, tau, work.take<T>(length), length, work.info));                                                 \
  }                                                                                                                                                        \
  void ormtr(cusolverDnHandle_t h, int m, int n, T* a, T* tau, T* c, Work& work) {                                                                         \
    int length = 0;                                                                                                                                        \
    SOLVER(cusolverDn##p##unitary##mtr_bufferSize(h, CUBLAS_SIDE_LEFT, kLower, CUBLAS_OP_N, m, n, a, m, tau, c, m, &length));                              \
    SOLVER(cusolverDn##p##unitary##mtr(h, CUBLAS_SIDE_LEFT, kLower, CUBLAS_OP_N, m, n, a, m, tau, c, m, work.take<T>(length), length, work.info));         \
  }                                                                                                                                                        \
  void sygvdx(cusolverDnHandle_t h, int n, T* a, T* b, int il, int iu, int* found, Real<T>* w, Work& work) {                                               \
    int length = 0;                                                                                                                                        \
    const auto type = CUSOLVER_EIG_TYPE_1;                                                                                                                 \
    const auto range = CUSOLVER_EIG_RANGE_I;                                                                                                               \
    SOLVER(cusolverDn##p##hermite##gvdx_bufferSize(h, type, kVectors, range, kLower, n, a, n, b, n, 0, 0, il, iu, found, w, &length));                     \
    SOLVER(cusolverDn##p##hermite##gvdx(h, type, kVectors, range, kLower, n, a, n, b, n, 0, 0, il, iu, found, w, work.take<T>(length), length, work.info)); \
  }                                                                                                                                                        \
  void sygvj(cusolverDnHandle_t h, int n, T* a, T* b, Real<T>* w, Work& work, syevjInfo_t params) {                                                        \
    int length = 0;                                                                                                                                        \
    const auto type = CUSOLVER_EIG_TYPE_1;                                                                                                                 \
    SOLVER(cusolverDn##p##hermite##gvj_bufferSize(h, type, kVectors, kLower, n, a, n, b, n, w, &length, params));                                          \
    SOLVER(cusolverDn##p##hermite##gvj(h, type, kVectors, kLower, n, a, n, b, n, w, work.take<T>(length), length, work.info, params));                     \
  }
SOLVER_PARTS(float, S, or, sy)
SOLVER_PARTS(double, D, or, sy)
SOLVER_PARTS(cuComplex, C, un, he)
SOLVER_PARTS(cuDoubleComplex, Z, un, he)

Matrix lowerOf(const Matrix& a) {
  Matrix b(a.rows, a.columns);
  for (int j = 0; j < a.columns; ++j)
    for (int i = j; i < a.rows; ++i) b(i, j) = a(i, j);
  return b;
}

template <class T>
void triangles(cusolverDnHandle_t handle) {
  const int n = 22;
  Matrix exact = lowerOf(random<T>(n, n, 1));
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) exact(i, j) = i == j ? Z(2) : exact(i, j) * 0.2;
  exact = [&] { OnDevice<T> rounded(exact); return rounded.get(); }();
  OnDevice<T> a(exact);
  Work work;
  std::size_t onDevice = 0, onHost = 0;
  const auto type = Traits<T>::type;
  SOLVER(cusolverDnXtrtri_bufferSize(handle, kLower, CUBLAS_DIAG_NON_UNIT, n, type, a.data, n, &onDevice, &onHost));
  SOLVER(cusolverDnXtrtri(handle, kLower, CUBLAS_DIAG_NON_UNIT, n, type, a.data, n, work.take(onDevice), onDevice, work.onHost(onHost), onHost, work.info));
  EXPECT(work.good());
  near("trtri", exact * lowerOf(a.get()), identity(n), 100 * epsilon<T>());
  a.put(exact);
  lauum(handle, n, a.data, work);
  EXPECT(work.good());
  near("lauum", lowerOf(a.get()), lowerOf(adjoint(exact) * exact), 200 * epsilon<T>());
  // Rows 2 and 3, by pivots two apart, and back.
  const Matrix rows = random<T>(6, 4, 2);
  OnDevice<T> b(rows, 1);
  int* pivots = check::toDevice(std::vector<int>{9, 5, 9, 6});
  laswp(handle, 4, b.data, b.spacing, 2, 3, pivots, 2);
  Matrix exchanged = rows;
  for (int j = 0; j < 4; ++j) std::swap(exchanged(1, j), exchanged(4, j)), std::swap(exchanged(2, j), exchanged(5, j));
  near("laswp", b.get(), exchanged, 0);
  laswp(handle, 4, b.data, b.spacing, 2, 3, pivots, -2);
  near("laswp, back", b.get(), rows, 0);
  CHECK(cudaFree(pivots));
}

template <class T>
void inverse(cusolverDnHandle_t handle) {
  const int n = 19;
  Matrix exact = random<T>(n, n, 3);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < j; ++i) exact(i, j) = exact(j, i);
  for (int i = 0; i < n; ++i) exact(i, i) += i % 2 == 0 ? 8.0 : -8.0;
  OnDevice<T> a(exact);
  exact = a.get();
  int* pivots = check::deviceArray<int>(n);
  Work work;
  sytrf(handle, kLower, n, a.data, n, pivots, work);
  sytri(handle, n, a.data, pivots, work);
  EXPECT(work.good());
  Matrix found = a.get();
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < j; ++i) found(i, j) = found(j, i);
  near("sytri", exact * found, identity(n), 200 * epsilon<T>());
  CHECK(cudaFree(pivots));
}

template <class T>
void diagonals(cusolverDnHandle_t handle) {
  const int m = 27, n = 16;
  const Matrix exact = random<T>(m, n, 4);
  OnDevice<T> a(exact), q(n, 1), r(n, 1);
  OnDevice<Real<T>> d(n, 1), e(n, 1);
  Work work;
  gebrd(handle, m, n, a.data, d.data, e.data, q.data, r.data, work);
  EXPECT(work.good());
  const Matrix factors = a.get();
  Matrix square(n, n), middle(n, n);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) square(i, j) = factors(i, j);
  for (int i = 0; i < n; ++i) {
    middle(i, i) = d.list()[i];
    if (i + 1 < n) middle(i, i + 1) = e.list()[i];
  }
  OnDevice<T> right(square);
  orgbr(handle, CUBLAS_SIDE_LEFT, m, n, n, a.data, q.data, work);
  orgbr(handle, CUBLAS_SIDE_RIGHT, n, n, m, right.data, r.data, work);
  EXPECT(work.good());
  near("gebrd", a.get() * middle * right.get(), exact, 200 * epsilon<T>());

  const Matrix symmetric = hermitian<T>(n, 5), other = random<T>(n, 3, 6);
  OnDevice<T> b(symmetric), c(other);
  sytrd(handle, n, b.data, d.data, e.data, q.data, work);
  EXPECT(work.good());
  ormtr(handle, n, 3, b.data, q.data, c.data, work);
  orgtr(handle, n, b.data, q.data, work);
  EXPECT(work.good());
  Matrix three(n, n);
  for (int i = 0; i < n; ++i) {
    three(i, i) = d.list()[i];
    if (i + 1 < n) three(i, i + 1) = three(i + 1, i) = e.list()[i];
  }
  near("sytrd", b.get() * three * adjoint(b.get()), symmetric, 200 * epsilon<T>());
  near("ormtr", c.get(), b.get() * other, 200 * epsilon<T>());
}

template <class T>
void two(cusolverDnHandle_t handle) {
  const int n = 15;
  const Matrix first = hermitian<T>(n, 7), second = positive<T>(n, 8);
  OnDevice<T> a(first), b(second);
  OnDevice<Real<T>> w(n, 1);
  Work work;
  syevjInfo_t params = nullptr;
  SOLVER(cusolverDnCreateSyevjInfo(&params));
  SOLVER(cusolverDnXsyevjSetTolerance(params, epsilon<T>()));
  SOLVER(cusolverDnXsyevjSetSortEig(params, 1));
  sygvj(handle, n, a.data, b.data, w.data, work, params);
  EXPECT(work.good());
  const std::vector<Z> all = w.list();
  near("sygvj", first * a.get(), columnsTimes(second * a.get(), all), 1000 * epsilon<T>());
  int found = 0;
  a.put(first);
  b.put(second);
  sygvdx(handle, n, a.data, b.data, 3, 6, &found, w.data, work);
  EXPECT(work.good());
  EXPECT(found == 4);
  near("sygvdx", first * columnsOf(a.get(), 4), columnsTimes(second * columnsOf(a.get(), 4), {all.begin() + 2, all.begin() + 6}), 1000 * epsilon<T>());
  SOLVER(cusolverDnDestroySyevjInfo(params));
}

template <class T>
void anyType(cusolverDnHandle_t handle) {
  const int n = 12, count = 5;
  const auto type = Traits<T>::type, real = Traits<T>::real;
  cusolverDnParams_t params = nullptr;
  SOLVER(cusolverDnCreateParams(&params));
  SOLVER(cusolverDnSetAdvOptions(params, CUSOLVERDN_GETRF, CUSOLVER_ALG_0));
  std::size_t onDevice = 0, onHost = 0;
  Matrix many(n, n * count);
  for (int e = 0; e < count; ++e) {
    const Matrix one = hermitian<T>(n, 20 + e);
    std::copy(one.values.begin(), one.values.end(), many.values.begin() + long(one.values.size()) * e);
  }
  OnDevice<T> batch(many), a(hermitian<T>(n, 20)), u(n, n), v(n, n);
  OnDevice<Real<T>> values(n, count), w(n, 1);
  Work infos(count), work;
  SOLVER(cusolverDnXsyevBatched_bufferSize(handle, params, kVectors, kLower, n, type, batch.data, n, real, values.data, type, &onDevice, &onHost, count));
  SOLVER(cusolverDnXsyevBatched(handle, params, kVectors, kLower, n, type, batch.data, n, real, values.data, type, infos.take(onDevice), onDevice, infos.onHost(onHost), onHost,
                                infos.info, count));
  EXPECT(infos.good());
  const Matrix done = batch.get(), found = values.get();
  for (int e = 0; e < count; ++e) {
    Matrix vectors(n, n);
    std::copy_n(done.values.begin() + n * n * e, n * n, vectors.values.begin());
    near("XsyevBatched", hermitian<T>(n, 20 + e) * vectors, columnsTimes(vectors, {found.values.begin() + n * e, found.values.begin() + n * (e + 1)}), 500 * epsilon<T>());
  }
  const Real<T> low = Real<T>((found(3, 0) + found(4, 0)).real() / 2), high = Real<T>((found(8, 0) + found(9, 0)).real() / 2);
  Real<T> bounds[] = {low, high};
  std::int64_t within = -1;
  SOLVER(cusolverDnXsyevdx_bufferSize(handle, params, kVectors, CUSOLVER_EIG_RANGE_V, kLower, n, type, a.data, n, &bounds[0], &bounds[1], 0, 0, &within, real, w.data, type, &onDevice,
                                      &onHost));
  SOLVER(cusolverDnXsyevdx(handle, params, kVectors, CUSOLVER_EIG_RANGE_V, kLower, n, type, a.data, n, &bounds[0], &bounds[1], 0, 0, &within, real, w.data, type, work.take(onDevice),
                           onDevice, work.onHost(onHost), onHost, work.info));
  EXPECT(work.good());
  EXPECT(within == 5);
  for (int i = 0; i < 5; ++i) EXPECT(std::abs(w.list()[i] - found(i + 4, 0)) < 100 * epsilon<T>());
  const Matrix exact = random<T>(n, n, 30);
  double error = -1;
  a.put(exact);
  SOLVER(cusolverDnXgesvdp_bufferSize(handle, params, kVectors, 0, n, n, type, a.data, n, real, w.data, type, u.data, n, type, v.data, n, type, &onDevice, &onHost));
  SOLVER(cusolverDnXgesvdp(handle, params, kVectors, 0, n, n, type, a.data, n, real, w.data, type, u.data, n, type, v.data, n, type, work.take(onDevice), onDevice, work.onHost(onHost),
                           onHost, work.info, &error));
  EXPECT(work.good());
  EXPECT(error >= 0 && error < 1e-3);
  near("Xgesvdp", columnsTimes(u.get(), w.list()) * adjoint(v.get()), exact, 1000 * epsilon<T>());
  SOLVER(cusolverDnDestroyParams(params));
}

template <class T>
void all(cusolverDnHandle_t handle) {
  triangles<T>(handle);
  inverse<T>(handle);
  diagonals<T>(handle);
  two<T>(handle);
  anyType<T>(handle);
}

int main() {
  cusolverDnHandle_t handle = nullptr;
  SOLVER(cusolverDnCreate(&handle));
  all<float>(handle);
  all<double>(handle);
  all<cuComplex>(handle);
  all<cuDoubleComplex>(handle);
  SOLVER(cusolverDnDestroy(handle));
  return check::done();
}
