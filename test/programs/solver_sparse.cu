// nvcc: -lcusolver -lcusparse
// library: libcusolver.so.12
// Sparse systems of cuSOLVER: solved at once and by a factor, of each type, base and order; in batches; in streams behind what makes them, and in graphs; the eigenvalue next
// to a shift; where a matrix is singular; and the same on the host.
#define DISABLE_CUSOLVER_DEPRECATED
#define DISABLE_CUSPARSE_DEPRECATED
#include "solver.h"

#include <cusolverSp_LOWLEVEL_PREVIEW.h>

using namespace solver;

// The functions of one type.
#define SPARSE_FUNCTIONS(T, p)                                                                                                                                              \
  cusolverStatus_t lsvqr(cusolverSpHandle_t h, int n, int nnz, cusparseMatDescr_t d, const T* v, const int* r, const int* c, const T* b, double tol, int order, T* x, int* s) {  \
    return cusolverSp##p##csrlsvqr(h, n, nnz, d, v, r, c, b, Real<T>(tol), order, x, s);                                                                                      \
  }                                                                                                                                                                          \
  cusolverStatus_t lsvchol(cusolverSpHandle_t h, int n, int nnz, cusparseMatDescr_t d, const T* v, const int* r, const int* c, const T* b, double tol, int order, T* x, int* s) { \
    return cusolverSp##p##csrlsvchol(h, n, nnz, d, v, r, c, b, Real<T>(tol), order, x, s);                                                                                    \
  }                                                                                                                                                                          \
  cusolverStatus_t lsvHost(int which, cusolverSpHandle_t h, int n, int nnz, cusparseMatDescr_t d, const T* v, const int* r, const int* c, const T* b, int order, T* x, int* s) { \
    return (which == 0 ? cusolverSp##p##csrlsvluHost : which == 1 ? cusolverSp##p##csrlsvqrHost : cusolverSp##p##csrlsvcholHost)(h, n, nnz, d, v, r, c, b, 0, order, x, s);   \
  }                                                                                                                                                                          \
  cusolverStatus_t eigvsi(cusolverSpHandle_t h, int n, int nnz, cusparseMatDescr_t d, const T* v, const int* r, const int* c, T mu0, const T* x0, int most, double eps, T* mu,  \
                          T* x) {                                                                                                                                            \
    return cusolverSp##p##csreigvsi(h, n, nnz, d, v, r, c, mu0, x0, most, Real<T>(eps), mu, x);                                                                               \
  }                                                                                                                                                                          \
  cusolverStatus_t qrBatched(cusolverSpHandle_t h, int m, int n, int nnz, cusparseMatDescr_t d, const T* v, const int* r, const int* c, const T* b, T* x, int count,            \
                             csrqrInfo_t info) {                                                                                                                             \
    size_t internal = 0, work = 0;                                                                                                                                           \
    SOLVER(cusolverSpXcsrqrAnalysisBatched(h, m, n, nnz, d, r, c, info));                                                                                                    \
    SOLVER(cusolverSp##p##csrqrBufferInfoBatched(h, m, n, nnz, d, v, r, c, count, info, &internal, &work));                                                                   \
    void* buffer = nullptr;                                                                                                                                                  \
    CHECK(cudaMalloc(&buffer, work));                                                                                                                                        \
    const cusolverStatus_t status = cusolverSp##p##csrqrsvBatched(h, m, n, nnz, d, v, r, c, b, x, count, info, buffer);                                                       \
    CHECK(cudaFree(buffer));                                                                                                                                                 \
    return status;                                                                                                                                                           \
  }                                                                                                                                                                          \
  void cholFactor(cusolverSpHandle_t h, int n, int nnz, cusparseMatDescr_t d, const T* v, const int* r, const int* c, csrcholInfo_t info, void** buffer) {                     \
    size_t internal = 0, work = 0;                                                                                                                                           \
    SOLVER(cusolverSp##p##csrcholBufferInfo(h, n, nnz, d, v, r, c, info, &internal, &work));                                                                                  \
    if (*buffer == nullptr) CHECK(cudaMalloc(buffer, work));                                                                                                                 \
    SOLVER(cusolverSp##p##csrcholFactor(h, n, nnz, d, v, r, c, info, *buffer));                                                                                               \
  }                                                                                                                                                                          \
  int cholPivot(cusolverSpHandle_t h, csrcholInfo_t info, double tol, T) {                                                                                                   \
    int position = -77;                                                                                                                                                      \
    SOLVER(cusolverSp##p##csrcholZeroPivot(h, info, Real<T>(tol), &position));                                                                                                \
    return position;                                                                                                                                                         \
  }                                                                                                                                                                          \
  void cholSolve(cusolverSpHandle_t h, int n, const T* b, T* x, csrcholInfo_t info, void* buffer) { SOLVER(cusolverSp##p##csrcholSolve(h, n, b, x, info, buffer)); }           \
  void cholDiagonal(cusolverSpHandle_t h, csrcholInfo_t info, Real<T>* to, T) { SOLVER(cusolverSp##p##csrcholDiag(h, info, to)); }                                            \
  void qrFactor(cusolverSpHandle_t h, int n, int nnz, cusparseMatDescr_t d, const T* v, const int* r, const int* c, T mu, T* b, T* x, csrqrInfo_t info, void** buffer) {       \
    size_t internal = 0, work = 0;                                                                                                                                           \
    SOLVER(cusolverSp##p##csrqrBufferInfo(h, n, n, nnz, d, v, r, c, info, &internal, &work));                                                                                 \
    SOLVER(cusolverSp##p##csrqrSetup(h, n, n, nnz, d, v, r, c, mu, info));                                                                                                    \
    if (*buffer == nullptr) CHECK(cudaMalloc(buffer, work));                                                                                                                 \
    SOLVER(cusolverSp##p##csrqrFactor(h, n, n, nnz, b, x, info, *buffer));                                                                                                    \
  }                                                                                                                                                                          \
  void qrSolve(cusolverSpHandle_t h, int n, T* b, T* x, csrqrInfo_t info, void* buffer) { SOLVER(cusolverSp##p##csrqrSolve(h, n, n, b, x, info, buffer)); }                    \
  int qrPivot(cusolverSpHandle_t h, csrqrInfo_t info, double tol, T) {                                                                                                       \
    int position = -77;                                                                                                                                                      \
    SOLVER(cusolverSp##p##csrqrZeroPivot(h, info, Real<T>(tol), &position));                                                                                                  \
    return position;                                                                                                                                                         \
  }
SPARSE_FUNCTIONS(float, S)
SPARSE_FUNCTIONS(double, D)
SPARSE_FUNCTIONS(cuComplex, C)
SPARSE_FUNCTIONS(cuDoubleComplex, Z)

// A matrix by rows, on the host and on the device.
template <class T>
struct Rows {
  Rows(const Matrix& from, int base, const std::vector<Matrix>& more = {}) : n(from.columns), dense(from) {
    offsets.push_back(base);
    for (int i = 0; i < from.rows; ++i) {
      for (int j = 0; j < from.columns; ++j)
        if (from(i, j) != Z(0)) columns.push_back(j + base), values.push_back(narrow<T>(from(i, j)));
      offsets.push_back(int(columns.size()) + base);
    }
    for (const Matrix& each : more)
      for (int i = 0; i < each.rows; ++i)
        for (int j = 0; j < each.columns; ++j)
          if (from(i, j) != Z(0)) values.push_back(narrow<T>(each(i, j)));
    r = check::toDevice(offsets);
    c = check::toDevice(columns);
    v = check::toDevice(values);
  }
  Rows(const Rows&) = delete;
  ~Rows() {
    CHECK(cudaFree(r));
    CHECK(cudaFree(c));
    CHECK(cudaFree(v));
  }
  int nnz() const { return int(columns.size()); }
  int n;
  Matrix dense;
  std::vector<int> offsets, columns;
  std::vector<T> values;
  int *r, *c;
  T* v;
};

// With few elements: a diagonal that outweighs them.
template <class T>
Matrix few(int rows, int n, std::uint64_t seed, bool positive) {
  check::Random chance(seed + 77);
  Matrix a = random<T>(rows, n, seed);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < rows; ++i)
      if (i == j) a(i, j) = 3.0 * n;
      else if (chance.uniform(0, 1) < 0.8) a(i, j) = 0;
  if (positive)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < j; ++i) a(i, j) = std::conj(a(j, i));
  return a;
}

struct Handle {
  Handle(int base) {
    SOLVER(cusolverSpCreate(&sp));
    if (cusparseCreateMatDescr(&descriptor) != CUSPARSE_STATUS_SUCCESS || cusparseSetMatIndexBase(descriptor, cusparseIndexBase_t(base)) != CUSPARSE_STATUS_SUCCESS) ++check::failures;
  }
  ~Handle() {
    SOLVER(cusolverSpDestroy(sp));
    if (cusparseDestroyMatDescr(descriptor) != CUSPARSE_STATUS_SUCCESS) ++check::failures;
  }
  cusolverSpHandle_t sp = nullptr;
  cusparseMatDescr_t descriptor = nullptr;
};

template <class T>
void same(const char* what, int got, int wanted) {
  if (got == wanted) return;
  std::printf("%s of %zu bytes: %d instead of %d\n", what, sizeof(T), got, wanted);
  ++check::failures;
}

template <class T>
void systems(int base) {
  const int n = 40;
  Handle handle(base);
  const Matrix x = random<T>(n, 1, 5);
  const Rows<T> a(few<T>(n, n, 1, false), base), h(few<T>(n, n, 2, true), base);
  const double tolerance = 200 * epsilon<T>();
  const Matrix ax = a.dense * x, hx = h.dense * x;
  OnDevice<T> b(ax), b2(hx), out(n, 1);
  int singularity = 77;
  for (int order = 0; order < 4; ++order) {
    SOLVER(lsvqr(handle.sp, n, a.nnz(), handle.descriptor, a.v, a.r, a.c, b.data, 0, order, out.data, &singularity));
    same<T>("csrlsvqr", singularity, -1);
    near("csrlsvqr", out.get(), x, tolerance);
    SOLVER(lsvchol(handle.sp, n, h.nnz(), handle.descriptor, h.v, h.r, h.c, b2.data, 0, order, out.data, &singularity));
    same<T>("csrlsvchol", singularity, -1);
    near("csrlsvchol", out.get(), x, tolerance);
    std::vector<T> right(n), solution(n);
    for (int which = 0; which < 3; ++which) {
      const Rows<T>& m = which == 2 ? h : a;
      for (int i = 0; i < n; ++i) right[std::size_t(i)] = narrow<T>(which == 2 ? hx(i, 0) : ax(i, 0));
      SOLVER(lsvHost(which, handle.sp, n, m.nnz(), handle.descriptor, m.values.data(), m.offsets.data(), m.columns.data(), right.data(), order, solution.data(), &singularity));
      Matrix got(n, 1);
      for (int i = 0; i < n; ++i) got(i, 0) = wide(solution[std::size_t(i)]);
      same<T>("on the host", singularity, -1);
      near("on the host", got, x, tolerance);
    }
  }
  // Near to singular is what the tolerance says.
  SOLVER(lsvchol(handle.sp, n, h.nnz(), handle.descriptor, h.v, h.r, h.c, b2.data, 1e6, 0, out.data, &singularity));
  same<T>("csrlsvchol with a tolerance", singularity, 0);

  csrcholInfo_t cholesky = nullptr;
  SOLVER(cusolverSpCreateCsrcholInfo(&cholesky));
  SOLVER(cusolverSpXcsrcholAnalysis(handle.sp, n, h.nnz(), handle.descriptor, h.r, h.c, cholesky));
  void* buffer = nullptr;
  for (int times = 0; times < 2; ++times) {  // a factor can be made anew
    cholFactor(handle.sp, n, h.nnz(), handle.descriptor, h.v, h.r, h.c, cholesky, &buffer);
    same<T>("csrcholZeroPivot", cholPivot(handle.sp, cholesky, 0, T{}), -1);
    OnDevice<T> fresh(n, 1);
    cholSolve(handle.sp, n, b2.data, fresh.data, cholesky, buffer);
    near("csrcholSolve", fresh.get(), x, tolerance);
  }
  Real<T>* const diagonal = check::deviceArray<Real<T>>(n);
  cholDiagonal(handle.sp, cholesky, diagonal, T{});
  const double first = double(check::toHost(diagonal, n)[0]);
  if (!(std::abs(first - std::sqrt(3.0 * n)) < 1e-4)) std::printf("csrcholDiag: %g\n", first), ++check::failures;
  CHECK(cudaFree(diagonal));
  SOLVER(cusolverSpDestroyCsrcholInfo(cholesky));
  CHECK(cudaFree(buffer));

  csrqrInfo_t qr = nullptr;
  buffer = nullptr;
  SOLVER(cusolverSpCreateCsrqrInfo(&qr));
  SOLVER(cusolverSpXcsrqrAnalysis(handle.sp, n, n, a.nnz(), handle.descriptor, a.r, a.c, qr));
  Matrix shifted = a.dense;
  for (int i = 0; i < n; ++i) shifted(i, i) -= 2;
  OnDevice<T> right(shifted * x), fresh(n, 1);
  qrFactor(handle.sp, n, a.nnz(), handle.descriptor, a.v, a.r, a.c, narrow<T>(Z(2)), nullptr, nullptr, qr, &buffer);
  qrSolve(handle.sp, n, right.data, fresh.data, qr, buffer);
  near("csrqrSolve", fresh.get(), x, tolerance);
  same<T>("csrqrZeroPivot", qrPivot(handle.sp, qr, 0, T{}), -1);
  OnDevice<T> again(n, 1);
  qrFactor(handle.sp, n, a.nnz(), handle.descriptor, a.v, a.r, a.c, narrow<T>(Z(2)), right.data, again.data, qr, &buffer);
  near("csrqrFactor", again.get(), x, tolerance);
  CHECK(cudaFree(buffer));

  // Six matrices of one pattern, with more rows than columns.
  const int rows = n + 7, count = 6;
  const Matrix tall = few<T>(rows, n, 3, false);
  std::vector<Matrix> more;
  Matrix xs(n, count), bs(rows, count);
  for (int k = 0; k < count; ++k) {
    Matrix each = tall;
    for (Z& value : each.values) value *= 1.0 + 0.25 * k;
    const Matrix one = random<T>(n, 1, std::uint64_t(50 + k)), product = each * one;
    std::copy_n(one.values.begin(), n, xs.values.begin() + k * n);
    std::copy_n(product.values.begin(), rows, bs.values.begin() + k * rows);
    if (k > 0) more.push_back(each);
  }
  const Rows<T> batch(tall, base, more);
  OnDevice<T> manyB(bs), manyX(n, count);
  SOLVER(qrBatched(handle.sp, rows, n, batch.nnz(), handle.descriptor, batch.v, batch.r, batch.c, manyB.data, manyX.data, count, qr));
  near("csrqrsvBatched", manyX.get(), xs, tolerance);
  SOLVER(cusolverSpDestroyCsrqrInfo(qr));

  OnDevice<T> start(random<T>(n, 1, 9)), vector(n, 1), value(1, 1);
  SOLVER(eigvsi(handle.sp, n, h.nnz(), handle.descriptor, h.v, h.r, h.c, narrow<T>(Z(3.0 * n + 100)), start.data, 3000, 1e-4, value.data, vector.data));
  const Matrix found = vector.get();
  Matrix by = found;
  for (Z& each : by.values) each *= value.get()(0, 0);
  near("csreigvsi", h.dense * found, by, 2e-3);
}

__global__ void fill(double* to, double value, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = value;
}

// In order with the kernels of a stream; and as a node of a graph, with what its memory has then.
void streams() {
  const int n = 20;
  Handle handle(0);
  Matrix twice(n, n);
  for (int i = 0; i < n; ++i) twice(i, i) = 2;
  const Rows<double> a(twice, 0);
  OnDevice<double> b(n, 1), x(n, 1);
  csrqrInfo_t info = nullptr;
  SOLVER(cusolverSpCreateCsrqrInfo(&info));
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  SOLVER(cusolverSpSetStream(handle.sp, stream));
  int singularity = 77;
  for (int k = 1; k < 20; ++k) {
    fill<<<1, 32, 0, stream>>>(b.data, 2.0 * k, n);
    SOLVER(cusolverSpDcsrlsvqr(handle.sp, n, a.nnz(), handle.descriptor, a.v, a.r, a.c, b.data, 0, 0, x.data, &singularity));
    Matrix wanted(n, 1);
    for (Z& each : wanted.values) each = k;
    CHECK(cudaStreamSynchronize(stream));
    near("in a stream", x.get(), wanted, 1e-12);
  }
  SOLVER(cusolverSpXcsrqrAnalysisBatched(handle.sp, n, n, a.nnz(), handle.descriptor, a.r, a.c, info));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  SOLVER(cusolverSpDcsrqrsvBatched(handle.sp, n, n, a.nnz(), handle.descriptor, a.v, a.r, a.c, b.data, x.data, 1, info, b.data));
  EXPECT_STATUS(CUSOLVER_STATUS_EXECUTION_FAILED, cusolverSpDcsrlsvqr(handle.sp, n, a.nnz(), handle.descriptor, a.v, a.r, a.c, b.data, 0, 0, x.data, &singularity));
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(stream, &graph) == cudaSuccess) std::printf("what waits was captured\n"), ++check::failures;
  (void)cudaGetLastError();
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  SOLVER(cusolverSpDcsrqrsvBatched(handle.sp, n, n, a.nnz(), handle.descriptor, a.v, a.r, a.c, b.data, x.data, 1, info, b.data));
  CHECK(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int k = 1; k < 5; ++k) {
    fill<<<1, 32, 0, stream>>>(b.data, 6.0 * k, n);
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    Matrix wanted(n, 1);
    for (Z& each : wanted.values) each = 3.0 * k;
    near("in a graph", x.get(), wanted, 1e-12);
  }
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  SOLVER(cusolverSpDestroyCsrqrInfo(info));
}

// A grid of 60 x 60, as simulations have them: by its factor, in an order that the host finds.
void grid() {
  const int side = 60, n = side * side;
  std::vector<int> offsets{0}, columns;
  std::vector<double> values;
  const auto add = [&](int column, double value) { columns.push_back(column), values.push_back(value); };
  for (int i = 0; i < n; ++i) {
    if (i >= side) add(i - side, -1);
    if (i % side > 0) add(i - 1, -1);
    add(i, 4.01);
    if (i % side + 1 < side) add(i + 1, -1);
    if (i + side < n) add(i + side, -1);
    offsets.push_back(int(columns.size()));
  }
  Handle handle(0);
  const int nnz = int(columns.size());
  std::vector<int> p(std::size_t(n), 0), map(std::size_t(nnz), 0);
  SOLVER(cusolverSpXcsrsymamdHost(handle.sp, n, nnz, handle.descriptor, offsets.data(), columns.data(), p.data()));
  for (int i = 0; i < nnz; ++i) map[std::size_t(i)] = i;
  std::vector<int> r = offsets, c = columns;
  size_t bytes = 0;
  SOLVER(cusolverSpXcsrperm_bufferSizeHost(handle.sp, n, n, nnz, handle.descriptor, r.data(), c.data(), p.data(), p.data(), &bytes));
  std::vector<char> work(bytes);
  SOLVER(cusolverSpXcsrpermHost(handle.sp, n, n, nnz, handle.descriptor, r.data(), c.data(), p.data(), p.data(), map.data(), work.data()));
  std::vector<double> v, b(std::size_t(n), 0.01);
  for (const int each : map) v.push_back(values[std::size_t(each)]);
  for (int i = 0; i < n; ++i)  // the boundary, whose neighbours are fewer
    b[std::size_t(i)] += (p[std::size_t(i)] < side) + (p[std::size_t(i)] >= n - side) + (p[std::size_t(i)] % side == 0) + (p[std::size_t(i)] % side == side - 1);
  int *const dr = check::toDevice(r), *const dc = check::toDevice(c);
  double *const dv = check::toDevice(v), *const db = check::toDevice(b), *const dx = check::deviceArray<double>(n);
  csrcholInfo_t info = nullptr;
  void* buffer = nullptr;
  SOLVER(cusolverSpCreateCsrcholInfo(&info));
  SOLVER(cusolverSpXcsrcholAnalysis(handle.sp, n, nnz, handle.descriptor, dr, dc, info));
  cholFactor(handle.sp, n, nnz, handle.descriptor, dv, dr, dc, info, &buffer);
  cholSolve(handle.sp, n, db, dx, info, buffer);
  double apart = 0;
  for (const double each : check::toHost(dx, std::size_t(n))) apart = std::max(apart, std::abs(each - 1));
  if (!(apart < 1e-9)) std::printf("grid: %g from 1\n", apart), ++check::failures;
  SOLVER(cusolverSpDestroyCsrcholInfo(info));
  for (void* each : {(void*)dr, (void*)dc, (void*)dv, (void*)db, (void*)dx, buffer}) CHECK(cudaFree(each));
}

void singular() {
  Handle handle(1);
  Matrix a(3, 3);
  const double values[9] = {4, 2, 6, 2, 5, 5, 6, 5, 10};  // the last column's pivot is 10 - 9 - 1
  for (int i = 0; i < 9; ++i) a(i / 3, i % 3) = values[i];
  const Rows<double> rows(a, 1);
  OnDevice<double> b(random<double>(3, 1, 1)), x(3, 1);
  int singularity = 77;
  SOLVER(lsvchol(handle.sp, 3, rows.nnz(), handle.descriptor, rows.v, rows.r, rows.c, b.data, 0, 0, x.data, &singularity));
  same<double>("csrlsvchol of what is not positive", singularity, 2);
  SOLVER(lsvqr(handle.sp, 3, rows.nnz(), handle.descriptor, rows.v, rows.r, rows.c, b.data, 1e-12, 0, x.data, &singularity));
  same<double>("csrlsvqr of what is singular", singularity, 2);
  SOLVER(lsvqr(handle.sp, 0, 0, handle.descriptor, rows.v, rows.r, rows.c, b.data, 0, 0, x.data, &singularity));
  same<double>("nothing at all", singularity, -1);
}

int main() {
  for (const int base : {0, 1}) {
    systems<float>(base);
    systems<double>(base);
    systems<cuComplex>(base);
    systems<cuDoubleComplex>(base);
  }
  streams();
  grid();
  singular();
  return check::done();
}
