// nvcc: -lcublas -lcublasLt
// library: libcublas.so.13
// cuBLAS's factorisations of the matrices of a batch, and what is solved with them: L U with rows exchanged and without, inverses, Q R, least squares. What they give is
// multiplied together again, in double, and must be what they were given.
#include "blas.h"

using namespace blas;

namespace typed {
ROUSE_BLAS_FOUR(getrfBatched)
ROUSE_BLAS_FOUR(getrsBatched)
ROUSE_BLAS_FOUR(getriBatched)
ROUSE_BLAS_FOUR(matinvBatched)
ROUSE_BLAS_FOUR(geqrfBatched)
ROUSE_BLAS_FOUR(gelsBatched)
}  // namespace typed

// Whether |got - wanted| is within what rounding does to numbers of that size, in so many terms.
template <class T>
bool near(const char* name, int e, int i, int j, Z got, Z wanted, double scale) {
  if (std::abs(got - wanted) <= 4 * kEpsilon<T> * scale) return true;
  std::printf("%s: matrix %d (%d, %d) is %.9g + %.9gi, should be %.9g + %.9gi within %g\n", name, e, i, j, got.real(), got.imag(), wanted.real(), wanted.imag(),
              4 * kEpsilon<T> * scale);
  ++check::failures;
  return false;
}

// The matrices of a batch, side by side, and the array of their addresses.
template <class T>
struct Batch {
  int rows, columns, count;
  Matrix<T> all;
  T** array;

  Batch(check::Random& r, int rows, int columns, int count, int gap = 0) : rows(rows), columns(columns), count(count), all(r, rows, columns * count, gap) {
    std::vector<T*> each;
    for (int e = 0; e < count; ++e) each.push_back(all.device + std::size_t(e) * columns * all.ld);
    array = check::toDevice(each);
  }
  ~Batch() { CHECK(cudaFree(array)); }
  Batch(const Batch&) = delete;
  int ld() const { return all.ld; }
  const T* const* read() const { return array; }
  T& at(int e, int i, int j) { return all.at(i, e * columns + j); }
  Z operator()(int e, int i, int j) const { return all(i, e * columns + j); }
  Z op(cublasOperation_t t, int e, int i, int j) const {
    if (t == CUBLAS_OP_N) return (*this)(e, i, j);
    const Z v = (*this)(e, j, i);
    return t == CUBLAS_OP_C && kComplex<T> ? std::conj(v) : v;
  }
  // What is on the device now; nothing has been written between the columns.
  std::vector<T> now(const char* name) const {
    std::vector<T> got = check::toHost(all.device, all.host.size());
    for (int j = 0; j < columns * count; ++j)
      for (int i = rows; i < all.ld; ++i)
        if (std::memcmp(&got[i + std::size_t(j) * all.ld], &all.host[i + std::size_t(j) * all.ld], sizeof(T)) != 0) {
          std::printf("%s: written between the columns\n", name);
          ++check::failures;
          return got;
        }
    return got;
  }
  std::size_t place(int e, int i, int j) const { return i + std::size_t(e * columns + j) * all.ld; }
  void dominate() {
    for (int e = 0; e < count; ++e)
      for (int i = 0; i < std::min(rows, columns); ++i) at(e, i, i) = narrow<T>((*this)(e, i, i) + Z(double(rows)));
    all.upload();
  }
};

struct Integers {
  int* device;
  explicit Integers(std::size_t count) : device(check::toDevice(std::vector<int>(count > 0 ? count : 1, -77))) {}
  ~Integers() { CHECK(cudaFree(device)); }
  Integers(const Integers&) = delete;
};

template <class T>
void lu(cublasHandle_t handle, int n, int count, bool exchanges, int nrhs) {
  check::Random r(300 + n);
  Batch<T> a(r, n, n, count, n % 3), b(r, n, nrhs, count, 1), inverse(r, n, n, count, 2);
  a.dominate();
  if (exchanges)  // so that there is something to exchange: the rows backwards
    for (int e = 0; e < count; ++e)
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n / 2; ++i) std::swap(a.at(e, i, j), a.at(e, n - 1 - i, j));
  a.all.upload();
  Integers pivots(std::size_t(n) * count), infos(count);
  int* const given = exchanges ? pivots.device : nullptr;
  BLAS(typed::getrfBatched<T>(handle, n, a.array, a.ld(), given, infos.device, count));
  const std::vector<T> made = a.now("getrf");
  const std::vector<int> order = check::toHost(pivots.device, std::size_t(n) * count), told = check::toHost(infos.device, count);
  const double scale = 8.0 * n * n;
  for (int e = 0; e < count; ++e) {
    EXPECT(told[e] == 0);
    std::vector<int> row(n);
    for (int i = 0; i < n; ++i) row[i] = i;
    for (int i = 0; i < n; ++i) {
      const int p = exchanges ? order[std::size_t(e) * n + i] - 1 : i;
      if (p < i || p >= n) {
        std::printf("pivot %d of matrix %d is %d\n", i, e, p + 1);
        ++check::failures;
        return;
      }
      std::swap(row[i], row[p]);
    }
    if (!exchanges) EXPECT(order[std::size_t(e) * n] == -77);
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) {
        Z sum = 0;
        for (int l = 0; l <= std::min(i, j); ++l) sum += times(l == i ? Z(1) : wide(made[a.place(e, i, l)]), wide(made[a.place(e, l, j)]));
        if (exchanges && i > j) EXPECT(std::abs(wide(made[a.place(e, i, j)])) < 1.5);
        if (!near<T>("L U", e, i, j, sum, a(e, row[i], j), scale)) return;
      }
  }
  for (cublasOperation_t t : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) {
    b.all.upload();
    int info = 5;
    BLAS(typed::getrsBatched<T>(handle, t, n, nrhs, a.read(), a.ld(), given, b.array, b.ld(), &info, count));
    EXPECT(info == 0);
    const std::vector<T> x = b.now("getrs");
    for (int e = 0; e < count; ++e)
      for (int j = 0; j < nrhs; ++j)
        for (int i = 0; i < n; ++i) {
          Z sum = 0;
          for (int l = 0; l < n; ++l) sum += times(a.op(t, e, i, l), wide(x[b.place(e, l, j)]));
          if (!near<T>("op(A) X", e, i, j, sum, b(e, i, j), scale)) return;
        }
  }
  BLAS(typed::getriBatched<T>(handle, n, a.read(), a.ld(), given, inverse.array, inverse.ld(), infos.device, count));
  const std::vector<T> c = inverse.now("getri");
  for (int e = 0; e < count; ++e)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) {
        Z sum = 0;
        for (int l = 0; l < n; ++l) sum += times(a(e, i, l), wide(c[inverse.place(e, l, j)]));
        if (!near<T>("A A^-1", e, i, j, sum, Z(i == j), scale)) return;
      }
  if (n > 32) return;
  a.all.upload();
  inverse.all.upload();
  BLAS(typed::matinvBatched<T>(handle, n, a.read(), a.ld(), inverse.array, inverse.ld(), infos.device, count));
  const std::vector<T> d = inverse.now("matinv"), unchanged = a.now("matinv A");
  EXPECT(std::memcmp(unchanged.data(), a.all.host.data(), unchanged.size() * sizeof(T)) == 0);
  for (int e = 0; e < count; ++e)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) {
        Z sum = 0;
        for (int l = 0; l < n; ++l) sum += times(a(e, i, l), wide(d[inverse.place(e, l, j)]));
        if (!near<T>("A matinv(A)", e, i, j, sum, Z(i == j), scale)) return;
      }
  for (int info : check::toHost(infos.device, count)) EXPECT(info == 0);
}

// A column of zeros stays one: the diagonal element of U is exactly 0 there.
template <class T>
void singular(cublasHandle_t handle) {
  const int n = 20, count = 3, zero[count] = {6, -1, 19};
  check::Random r(31);
  Batch<T> a(r, n, n, count), inverse(r, n, n, count);
  a.dominate();
  for (int e = 0; e < count; ++e)
    for (int i = 0; i < n; ++i)
      if (zero[e] >= 0) a.at(e, i, zero[e]) = narrow<T>(0);
  Integers pivots(n * count), infos(count);
  for (int* given : {pivots.device, (int*)nullptr}) {
    a.all.upload();
    BLAS(typed::getrfBatched<T>(handle, n, a.array, a.ld(), given, infos.device, count));
    std::vector<int> told = check::toHost(infos.device, count);
    for (int e = 0; e < count; ++e) EXPECT(told[e] == zero[e] + 1);
    BLAS(typed::getriBatched<T>(handle, n, a.read(), a.ld(), given, inverse.array, inverse.ld(), infos.device, count));
    told = check::toHost(infos.device, count);
    for (int e = 0; e < count; ++e) EXPECT(told[e] == zero[e] + 1);
  }
  a.all.upload();
  BLAS(typed::matinvBatched<T>(handle, n, a.read(), a.ld(), inverse.array, inverse.ld(), infos.device, count));
  const std::vector<int> told = check::toHost(infos.device, count);
  for (int e = 0; e < count; ++e) EXPECT((told[e] > 0) == (zero[e] >= 0));
}

template <class T>
void qr(cublasHandle_t handle, int m, int n, int count) {
  check::Random r(500 + m + n);
  const int k = std::min(m, n);
  Batch<T> a(r, m, n, count, 1), tau(r, k, 1, count);
  int info = 5;
  BLAS(typed::geqrfBatched<T>(handle, m, n, a.array, a.ld(), tau.array, &info, count));
  EXPECT(info == 0);
  const std::vector<T> made = a.now("geqrf"), factors = check::toHost(tau.all.device, tau.all.host.size());
  for (int e = 0; e < count; ++e)
    for (int j = 0; j < n; ++j) {
      // Q R's column: R's, reflected by the last first.
      std::vector<Z> column(m, 0);
      for (int i = 0; i <= std::min(j, m - 1); ++i) column[i] = wide(made[a.place(e, i, j)]);
      for (int l = k - 1; l >= 0; --l) {
        const auto v = [&](int i) { return i == l ? Z(1) : wide(made[a.place(e, i, l)]); };
        Z sum = 0;
        for (int i = l; i < m; ++i) sum += times(std::conj(v(i)), column[i]);
        sum = times(sum, wide(factors[tau.place(e, l, 0)]));
        for (int i = l; i < m; ++i) column[i] -= times(v(i), sum);
      }
      for (int i = 0; i < m; ++i)
        if (!near<T>("Q R", e, i, j, column[i], a(e, i, j), 8.0 * m)) return;
    }
}

template <class T>
void leastSquares(cublasHandle_t handle, int m, int n, int nrhs, int count) {
  check::Random r(700 + m + n);
  Batch<T> a(r, m, n, count, 2), c(r, m, nrhs, count, 1);
  a.dominate();
  const bool deficient = n > 2;
  if (deficient)
    for (int i = 0; i < m; ++i) a.at(count - 1, i, 2) = narrow<T>(0);
  a.all.upload();
  Integers infos(count);
  int info = 5;
  BLAS(typed::gelsBatched<T>(handle, CUBLAS_OP_N, m, n, nrhs, a.array, a.ld(), c.array, c.ld(), &info, infos.device, count));
  EXPECT(info == 0);
  const std::vector<int> told = check::toHost(infos.device, count);
  const std::vector<T> x = c.now("gels");
  for (int e = 0; e < count; ++e) {
    EXPECT(told[e] == (deficient && e == count - 1 ? 3 : 0));
    if (told[e] != 0) continue;
    // What is left is orthogonal to every column.
    for (int q = 0; q < nrhs; ++q) {
      std::vector<Z> rest(m);
      for (int i = 0; i < m; ++i) {
        rest[i] = -c(e, i, q);
        for (int l = 0; l < n; ++l) rest[i] += times(a(e, i, l), wide(x[c.place(e, l, q)]));
      }
      for (int j = 0; j < n; ++j) {
        Z sum = 0;
        for (int i = 0; i < m; ++i) sum += times(std::conj(a(e, i, j)), rest[i]);
        if (!near<T>("A' (A x - c)", e, j, q, sum, 0, 16.0 * m * m)) return;
      }
    }
  }
  // Who does not want to know.
  a.all.upload();
  c.all.upload();
  BLAS(typed::gelsBatched<T>(handle, CUBLAS_OP_N, m, n, nrhs, a.array, a.ld(), c.array, c.ld(), &info, nullptr, count));
}

void refusals(cublasHandle_t handle) {
  check::Random r(41);
  Batch<float> a(r, 8, 8, 2), b(r, 8, 8, 2), big(r, 33, 33, 1), out(r, 33, 33, 1);
  Integers pivots(16), infos(2);
  int info = 0;
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasSgetrfBatched(handle, -1, a.array, 8, pivots.device, infos.device, 2));
  if (check::throughRouse())  // of NVIDIA's documented is a negative one
    EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasSgetrfBatched(handle, 8, a.array, 7, pivots.device, infos.device, 2));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasSgetrfBatched(handle, 8, a.array, 8, pivots.device, infos.device, -2));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasSgetrsBatched(handle, CUBLAS_OP_N, 8, 3, a.read(), 7, pivots.device, b.array, 8, &info, 2));
  EXPECT(info < 0);
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasSgeqrfBatched(handle, 8, -8, a.array, 8, b.array, &info, 2));
  EXPECT(info < 0);
  EXPECT(cublasSmatinvBatched(handle, 33, big.read(), 33, out.array, 33, infos.device, 1) != CUBLAS_STATUS_SUCCESS);
  EXPECT(cublasSgelsBatched(handle, CUBLAS_OP_N, 4, 8, 1, a.array, 8, b.array, 8, &info, infos.device, 2) != CUBLAS_STATUS_SUCCESS);
  EXPECT(cublasSgelsBatched(handle, CUBLAS_OP_T, 8, 4, 1, a.array, 8, b.array, 8, &info, infos.device, 2) != CUBLAS_STATUS_SUCCESS);
  // Of nothing there is nothing to do.
  BLAS(cublasSgetrfBatched(handle, 8, a.array, 8, pivots.device, infos.device, 0));
}

template <class T>
void all(cublasHandle_t handle) {
  for (int n : {1, 2, 3, 7, 9, 16, 32, 33, 70}) lu<T>(handle, n, n < 32 ? 11 : 3, n % 2 != 0, 1 + n % 4);
  lu<T>(handle, 30, 4, true, 5);
  lu<T>(handle, 45, 2, false, 2);
  singular<T>(handle);
  for (int m : {1, 5, 40})
    for (int n : {1, 4, 40, 50}) qr<T>(handle, m, n, 3);
  leastSquares<T>(handle, 1, 1, 1, 1);
  leastSquares<T>(handle, 12, 5, 3, 4);
  leastSquares<T>(handle, 60, 40, 2, 2);
  leastSquares<T>(handle, 30, 30, 1, 2);
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
  lu<float>(handle, 8, 5000, true, 1);
  lu<double>(handle, 200, 1, true, 3);
  refusals(handle);
  BLAS(cublasDestroy(handle));
  return check::done();
}
