// nvcc: -lcusolver
// library: libcusolver.so.12
// Factorisations of cuSOLVER, eigenvalues and singular values, of each type: what they are multiplied is the matrix, vectors are orthonormal.
#include "solver.h"

using namespace solver;

constexpr auto kLower = CUBLAS_FILL_MODE_LOWER;

template <class T>
Matrix triangle(const Matrix& a, bool upper, bool unit = false) {
  Matrix b(a.rows, a.columns);
  for (int j = 0; j < a.columns; ++j)
    for (int i = 0; i < a.rows; ++i)
      if (upper ? i <= j : i >= j) b(i, j) = unit && i == j ? Z(1) : a(i, j);
  return b;
}

template <class T>
void cholesky(cusolverDnHandle_t handle) {
  const int n = 37;
  const Matrix exact = positive<T>(n, 1), right = random<T>(n, 3, 2);
  for (const cublasFillMode_t uplo : {kLower, CUBLAS_FILL_MODE_UPPER}) {
    OnDevice<T> a(exact, 3), b(right, 1);
    Work work;
    potrf(handle, uplo, n, a.data, a.spacing, work);
    EXPECT(work.good());
    const Matrix factor = triangle<T>(a.get(), uplo != kLower);
    near("L L'", uplo == kLower ? factor * adjoint(factor) : adjoint(factor) * factor, exact, 4000 * epsilon<T>());
    potrs(handle, uplo, n, 3, a.data, a.spacing, b.data, b.spacing, work);
    EXPECT(work.good());
    near("solved with L L'", exact * b.get(), right, 200 * epsilon<T>());
    potri(handle, uplo, n, a.data, a.spacing, work);
    Matrix inverse = triangle<T>(a.get(), uplo != kLower);
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i)
        if (uplo == kLower ? i < j : i > j) inverse(i, j) = std::conj(inverse(j, i));
    near("inverted with L L'", exact * inverse, identity(n), 200 * epsilon<T>());
  }
  // Not positive: where.
  Matrix wrong = exact;
  wrong(11, 11) = -1;
  OnDevice<T> a(wrong);
  Work work;
  potrf(handle, kLower, n, a.data, n, work);
  EXPECT(work.told()[0] == 12);
}

template <class T>
void lu(cusolverDnHandle_t handle) {
  const int n = 41;
  const Matrix exact = random<T>(n, n, 3), right = random<T>(n, 2, 4);
  Matrix conditioned = exact;
  for (int i = 0; i < n; ++i) conditioned(i, n - 1 - i) += 10;
  for (const cublasOperation_t op : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) {
    OnDevice<T> a(conditioned, 2), b(right);
    int* pivots = check::deviceArray<int>(n);
    Work work;
    getrf(handle, n, n, a.data, a.spacing, pivots, work);
    EXPECT(work.good());
    Matrix exchanged = conditioned;
    const std::vector<int> order = check::toHost(pivots, n);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) std::swap(exchanged(i, j), exchanged(order[i] - 1, j));
    const Matrix factors = a.get();
    near("L U", triangle<T>(factors, false, true) * triangle<T>(factors, true), exchanged, 500 * epsilon<T>());
    getrs(handle, op, n, 2, a.data, a.spacing, pivots, b.data, b.spacing, work);
    Matrix turned = op == CUBLAS_OP_N ? conditioned : adjoint(conditioned);
    if (op == CUBLAS_OP_T)
      for (Z& each : turned.values) each = std::conj(each);
    near("solved with L U", turned * b.get(), right, 200 * epsilon<T>());
    CHECK(cudaFree(pivots));
  }
  // A column of nothing: where.
  Matrix singular = identity(n);
  singular(4, 4) = 0;
  OnDevice<T> a(singular);
  int* pivots = check::deviceArray<int>(n);
  Work work;
  getrf(handle, n, n, a.data, n, pivots, work);
  EXPECT(work.told()[0] == 5);
  CHECK(cudaFree(pivots));
}

template <class T>
void reflections(cusolverDnHandle_t handle) {
  const int m = 45, n = 20;
  const Matrix exact = random<T>(m, n, 5), other = random<T>(m, 3, 6);
  OnDevice<T> a(exact, 1), tau(n, 1), c(other), q(m, n);
  Work work;
  geqrf(handle, m, n, a.data, a.spacing, tau.data, work);
  EXPECT(work.good());
  const Matrix factors = a.get();
  q.put(factors);
  orgqr(handle, m, n, n, q.data, m, tau.data, work);
  EXPECT(work.good());
  const Matrix reflected = q.get(), upper = [&] {
    Matrix r(n, n);
    for (int j = 0; j < n; ++j)
      for (int i = 0; i <= j; ++i) r(i, j) = factors(i, j);
    return r;
  }();
  near("Q R", reflected * upper, exact, 100 * epsilon<T>());
  near("Q' Q", adjoint(reflected) * reflected, identity(n), 100 * epsilon<T>());
  ormqr(handle, CUBLAS_SIDE_LEFT, Traits<T>::complex ? CUBLAS_OP_C : CUBLAS_OP_T, m, 3, n, a.data, a.spacing, tau.data, c.data, m, work);
  EXPECT(work.good());
  Matrix top(n, 3);
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < n; ++i) top(i, j) = c.get()(i, j);
  near("Q' C", top, adjoint(reflected) * other, 100 * epsilon<T>());
}

// By L D L' and the function for any type that solves with it.
template <class T>
void indefinite(cusolverDnHandle_t handle) {
  const int n = 30;
  Matrix exact = random<T>(n, n, 7);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < j; ++i) exact(i, j) = exact(j, i);
  for (int i = 0; i < n; ++i) exact(i, i) += i % 2 == 0 ? 8.0 : -8.0;
  const Matrix right = random<T>(n, 2, 8);
  OnDevice<T> a(exact), b(right);
  int* pivots = check::deviceArray<int>(n);
  Work work;
  sytrf(handle, kLower, n, a.data, n, pivots, work);
  EXPECT(work.good());
  const std::vector<int> order = check::toHost(pivots, n);
  std::int64_t* wides = check::toDevice(std::vector<std::int64_t>(order.begin(), order.end()));
  std::size_t onDevice = 0, onHost = 0;
  const auto type = Traits<T>::type;
  SOLVER(cusolverDnXsytrs_bufferSize(handle, kLower, n, 2, type, a.data, n, wides, type, b.data, n, &onDevice, &onHost));
  SOLVER(cusolverDnXsytrs(handle, kLower, n, 2, type, a.data, n, wides, type, b.data, n, work.take(onDevice), onDevice, work.onHost(onHost), onHost, work.info));
  EXPECT(work.good());
  near("solved with L D L'", exact * b.get(), right, 500 * epsilon<T>());
  CHECK(cudaFree(pivots));
  CHECK(cudaFree(wides));
}

template <class T>
void eigen(const char* what, const Matrix& exact, const Matrix& vectors, const std::vector<Z>& values) {
  near(what, exact * vectors, columnsTimes(vectors, values), 1000 * epsilon<T>());
  near(what, adjoint(vectors) * vectors, identity(vectors.columns), 500 * epsilon<T>());
  EXPECT(std::is_sorted(values.begin(), values.end(), [](Z a, Z b) { return a.real() < b.real(); }));
}

template <class T>
void eigenvalues(cusolverDnHandle_t handle) {
  const int n = 33;
  const Matrix exact = hermitian<T>(n, 9);
  OnDevice<T> a(exact, 2);
  OnDevice<Real<T>> w(n, 1);
  Work work;
  syevd(handle, CUSOLVER_EIG_MODE_VECTOR, kLower, n, a.data, a.spacing, w.data, work);
  EXPECT(work.good());
  const std::vector<Z> all = w.list();
  eigen<T>("syevd", exact, a.get(), all);
  a.put(exact);
  syevd(handle, CUSOLVER_EIG_MODE_NOVECTOR, CUBLAS_FILL_MODE_UPPER, n, a.data, a.spacing, w.data, work);
  for (int i = 0; i < n; ++i) EXPECT(std::abs(w.list()[i] - all[i]) < 500 * epsilon<T>());
  syevjInfo_t params = nullptr;
  SOLVER(cusolverDnCreateSyevjInfo(&params));
  SOLVER(cusolverDnXsyevjSetMaxSweeps(params, 50));
  a.put(exact);
  syevj(handle, n, a.data, a.spacing, w.data, work, params, 0);
  EXPECT(work.good());
  eigen<T>("syevj", exact, a.get(), w.list());
  // Some of them.
  int found = -1;
  a.put(exact);
  syevdx(handle, CUSOLVER_EIG_RANGE_I, n, a.data, a.spacing, 0, 0, 4, 9, &found, w.data, work);
  EXPECT(found == 6);
  for (int i = 0; i < 6; ++i) EXPECT(std::abs(w.list()[i] - all[i + 3]) < 500 * epsilon<T>());
  eigen<T>("syevdx", exact, columnsOf(a.get(), 6), {all.begin() + 3, all.begin() + 9});
  a.put(exact);
  syevdx(handle, CUSOLVER_EIG_RANGE_V, n, a.data, a.spacing, Real<T>((all[7] + all[8]).real() / 2), Real<T>((all[20] + all[21]).real() / 2), 0, 0, &found, w.data, work);
  EXPECT(found == 13);
  for (int i = 0; i < 13; ++i) EXPECT(std::abs(w.list()[i] - all[i + 8]) < 500 * epsilon<T>());
  // Of two matrices.
  const Matrix second = positive<T>(n, 10);
  OnDevice<T> b(second);
  a.put(exact);
  sygvd(handle, CUSOLVER_EIG_TYPE_1, n, a.data, a.spacing, b.data, n, w.data, work);
  EXPECT(work.good());
  near("sygvd", exact * a.get(), columnsTimes(second * a.get(), w.list()), 2000 * epsilon<T>());
  // Batches.
  const int size = 7, count = 20;
  OnDevice<T> batch(size, size * count);
  OnDevice<Real<T>> values(size, count);
  Matrix many(size, size * count);
  for (int e = 0; e < count; ++e) {
    const Matrix one = hermitian<T>(size, 100 + e);
    std::copy(one.values.begin(), one.values.end(), many.values.begin() + long(one.values.size()) * e);
  }
  batch.put(many);
  Work infos(count);
  syevj(handle, size, batch.data, size, values.data, infos, params, count);
  EXPECT(infos.good());
  for (int e = 0; e < count; ++e) {
    Matrix vectors(size, size);
    const Matrix done = batch.get(), w = values.get();
    std::vector<Z> one;
    std::copy_n(done.values.begin() + size * size * e, size * size, vectors.values.begin());
    for (int i = 0; i < size; ++i) one.push_back(w(i, e));
    eigen<T>("syevjBatched", hermitian<T>(size, 100 + e), vectors, one);
  }
  SOLVER(cusolverDnDestroySyevjInfo(params));
}

template <class T>
void singularValues(cusolverDnHandle_t handle) {
  const int m = 29, n = 18;
  const Matrix exact = random<T>(m, n, 11);
  OnDevice<T> a(exact, 1), u(m, m), vt(n, n), v(n, n);
  OnDevice<Real<T>> s(n, 1);
  Work work;
  gesvd(handle, 'A', 'A', m, n, a.data, a.spacing, s.data, u.data, m, vt.data, n, work);
  EXPECT(work.good());
  const std::vector<Z> all = s.list();
  EXPECT(std::is_sorted(all.begin(), all.end(), [](Z a, Z b) { return a.real() > b.real(); }));
  near("gesvd", columnsTimes(columnsOf(u.get(), n), all) * vt.get(), exact, 200 * epsilon<T>());
  near("gesvd's U", adjoint(u.get()) * u.get(), identity(m), 200 * epsilon<T>());
  gesvdjInfo_t params = nullptr;
  SOLVER(cusolverDnCreateGesvdjInfo(&params));
  SOLVER(cusolverDnXgesvdjSetTolerance(params, epsilon<T>()));
  SOLVER(cusolverDnXgesvdjSetMaxSweeps(params, 60));
  for (const int economy : {0, 1}) {
    a.put(exact);
    gesvdj(handle, economy, m, n, a.data, a.spacing, s.data, u.data, m, v.data, n, work, params, 0);
    EXPECT(work.good());
    for (int i = 0; i < n; ++i) EXPECT(std::abs(s.list()[i] - all[i]) < 200 * epsilon<T>());
    near("gesvdj", columnsTimes(columnsOf(u.get(), n), s.list()) * adjoint(v.get()), exact, 500 * epsilon<T>());
  }
  // Batches, and their first two.
  const int rows = 12, columns = 9, count = 11, rank = 2;
  const Matrix many = random<T>(rows, columns * count, 12);
  OnDevice<T> batch(many), left(rows, rows * count), right(columns, columns * count);
  OnDevice<Real<T>> values(columns, count), few(rank, count);
  Work infos(count);
  gesvdj(handle, 0, rows, columns, batch.data, rows, values.data, left.data, rows, right.data, columns, infos, params, count);
  EXPECT(infos.good());
  const Matrix lefts = left.get(), rights = right.get(), found = values.get();
  for (int e = 0; e < count; ++e) {
    Matrix one(rows, columns), us(rows, columns), vs(columns, columns);
    std::copy_n(many.values.begin() + rows * columns * e, rows * columns, one.values.begin());
    std::copy_n(lefts.values.begin() + rows * rows * e, rows * columns, us.values.begin());
    std::copy_n(rights.values.begin() + columns * columns * e, columns * columns, vs.values.begin());
    near("gesvdjBatched", columnsTimes(us, {found.values.begin() + columns * e, found.values.begin() + columns * (e + 1)}) * adjoint(vs), one, 500 * epsilon<T>());
  }
  batch.put(many);
  std::vector<double> norms(count, -1);
  gesvda(handle, rank, rows, columns, batch.data, few.data, left.data, right.data, norms.data(), infos, count);
  EXPECT(infos.good());
  for (int e = 0; e < count; ++e) {
    for (int i = 0; i < rank; ++i) EXPECT(std::abs(few.get()(i, e) - found(i, e)) < 1e-3);  // it is an approximation
    double rest = 0;
    for (int i = rank; i < columns; ++i) rest += std::norm(found(i, e));
    EXPECT(std::fabs(norms[std::size_t(e)] - std::sqrt(rest)) < 1e-2);
  }
  SOLVER(cusolverDnDestroyGesvdjInfo(params));
}

template <class T>
void all() {
  cusolverDnHandle_t handle = nullptr;
  SOLVER(cusolverDnCreate(&handle));
  cholesky<T>(handle);
  lu<T>(handle);
  reflections<T>(handle);
  indefinite<T>(handle);
  eigenvalues<T>(handle);
  singularValues<T>(handle);
  SOLVER(cusolverDnDestroy(handle));
}

int main() {
  all<float>();
  all<double>();
  all<cuComplex>();
  all<cuDoubleComplex>();
  return check::done();
}
