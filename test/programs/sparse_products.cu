// nvcc: -lcusparse
// library: libcusparse.so.12
// Sparse matrices by cuSPARSE's generic interface: the method of conjugate gradients between kernels, products with dense and with sparse matrices, triangles,
// conversions, captured graphs; and what cuSPARSE answers when an argument is wrong.
#include "sparse.h"

using namespace sparse;

__global__ void axpy(int n, double alpha, const double* x, double* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += alpha * x[i];
}
__global__ void xpby(int n, const double* x, double beta, double* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + beta * y[i];
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// A x = b, with a product of cuSPARSE's and kernels in each step.
void conjugateGradients() {
  const Handle handle;
  const auto matrix = laplace<double>(24);
  const int n = matrix.rows;
  const std::vector<double> right = numbers<double>(std::size_t(n), 1);
  Device<double> a(matrix);
  Vector<double> x(std::vector<double>(std::size_t(n), 0)), r(right), p(right), ap(right);
  const double one = 1, zero = 0;
  std::size_t bytes = 0;
  SPARSE(cusparseSpMV_bufferSize(handle, kN, &one, a.descriptor, p.descriptor, &zero, ap.descriptor, CUDA_R_64F, CUSPARSE_SPMV_ALG_DEFAULT, &bytes));
  const Buffer buffer(bytes);
  SPARSE(cusparseSpMV_preprocess(handle, kN, &one, a.descriptor, p.descriptor, &zero, ap.descriptor, CUDA_R_64F, CUSPARSE_SPMV_ALG_DEFAULT, buffer.memory));
  double rr = dot(right, right);
  int steps = 0;
  for (; steps < 200 && rr > 1e-20; ++steps) {
    SPARSE(cusparseSpMV(handle, kN, &one, a.descriptor, p.descriptor, &zero, ap.descriptor, CUDA_R_64F, CUSPARSE_SPMV_ALG_DEFAULT, buffer.memory));
    const double alpha = rr / dot(p.host(), ap.host());
    axpy<<<(n + 63) / 64, 64>>>(n, alpha, p.values, x.values);
    axpy<<<(n + 63) / 64, 64>>>(n, -alpha, ap.values, r.values);
    const std::vector<double> left = r.host();
    const double next = dot(left, left);
    xpby<<<(n + 63) / 64, 64>>>(n, r.values, next / rr, p.values);
    rr = next;
  }
  CHECK(cudaGetLastError());
  EXPECT(steps < 100);
  near("conjugate gradients", times(matrix, x.host()), right, 1e-9);
}

template <class R>
void denseProducts() {
  const Handle handle;
  const auto matrix = anyRows<R>(40, 30, 0.2, 2);
  Device<R> a(matrix);
  const int n = 7;
  for (const bool turned : {false, true})
    for (const auto order : {CUSPARSE_ORDER_COL, CUSPARSE_ORDER_ROW}) {
      const int m = turned ? 30 : 40, k = turned ? 40 : 30;
      const std::vector<R> right = numbers<R>(std::size_t(k * n), 3), before = numbers<R>(std::size_t(m * n), 4);
      R* const b = check::toDevice(right);
      R* const c = check::toDevice(before);
      cusparseDnMatDescr_t x = nullptr, y = nullptr;
      SPARSE(cusparseCreateDnMat(&x, k, n, order == CUSPARSE_ORDER_COL ? k : n, b, kType<R>, order));
      SPARSE(cusparseCreateDnMat(&y, m, n, order == CUSPARSE_ORDER_COL ? m : n, c, kType<R>, order));
      const R two = 2, minus = -1;
      std::size_t bytes = 0;
      SPARSE(cusparseSpMM_bufferSize(handle, turned ? kT : kN, kN, &two, a.descriptor, x, &minus, y, kType<R>, CUSPARSE_SPMM_ALG_DEFAULT, &bytes));
      const Buffer buffer(bytes);
      SPARSE(cusparseSpMM(handle, turned ? kT : kN, kN, &two, a.descriptor, x, &minus, y, kType<R>, CUSPARSE_SPMM_ALG_DEFAULT, buffer.memory));
      std::vector<double> wanted(std::size_t(m * n));
      const auto at = [&](int i, int j, int rows) { return std::size_t(order == CUSPARSE_ORDER_COL ? j * rows + i : i * n + j); };
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
          double sum = 0;
          for (int l = 0; l < k; ++l) sum += double(turned ? matrix.at(l, i) : matrix.at(i, l)) * double(right[at(l, j, k)]);
          wanted[at(i, j, m)] = 2 * sum - double(before[at(i, j, m)]);
        }
      near("a product with a dense matrix", check::toHost(c, std::size_t(m * n)), wanted, 1e-6);
      SPARSE(cusparseDestroyDnMat(x));
      SPARSE(cusparseDestroyDnMat(y));
      CHECK(cudaFree(b));
      CHECK(cudaFree(c));
    }
}

void sampled() {
  const Handle handle;
  auto pattern = anyRows<float>(20, 25, 0.2, 5);
  Device<float> c(pattern);
  const int inner = 6;
  const std::vector<float> left = numbers<float>(20 * inner, 6), right = numbers<float>(inner * 25, 7);
  float* const a = check::toDevice(left);
  float* const b = check::toDevice(right);
  cusparseDnMatDescr_t x = nullptr, y = nullptr;
  SPARSE(cusparseCreateDnMat(&x, 20, inner, inner, a, CUDA_R_32F, CUSPARSE_ORDER_ROW));
  SPARSE(cusparseCreateDnMat(&y, inner, 25, 25, b, CUDA_R_32F, CUSPARSE_ORDER_ROW));
  const float one = 1, half = 0.5f;
  std::size_t bytes = 0;
  SPARSE(cusparseSDDMM_bufferSize(handle, kN, kN, &one, x, y, &half, c.descriptor, CUDA_R_32F, CUSPARSE_SDDMM_ALG_DEFAULT, &bytes));
  const Buffer buffer(bytes);
  SPARSE(cusparseSDDMM_preprocess(handle, kN, kN, &one, x, y, &half, c.descriptor, CUDA_R_32F, CUSPARSE_SDDMM_ALG_DEFAULT, buffer.memory));
  SPARSE(cusparseSDDMM(handle, kN, kN, &one, x, y, &half, c.descriptor, CUDA_R_32F, CUSPARSE_SDDMM_ALG_DEFAULT, buffer.memory));
  std::vector<double> wanted;
  for (int i = 0; i < 20; ++i)
    for (int k = pattern.offsets[std::size_t(i)]; k < pattern.offsets[std::size_t(i) + 1]; ++k) {
      double sum = 0.5 * double(pattern.values[std::size_t(k)]);
      for (int l = 0; l < inner; ++l) sum += double(left[std::size_t(i * inner + l)]) * double(right[std::size_t(l * 25 + pattern.columns[std::size_t(k)])]);
      wanted.push_back(sum);
    }
  near("a sampled product", check::toHost(c.values, wanted.size()), wanted, 1e-6);
  SPARSE(cusparseDestroyDnMat(x));
  SPARSE(cusparseDestroyDnMat(y));
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
}

void sparseProducts() {
  const Handle handle;
  const auto left = anyRows<float>(30, 20, 0.2, 8), right = anyRows<float>(20, 35, 0.2, 9);
  Device<float> a(left), b(right);
  int* const offsets = check::deviceArray<int>(31);
  cusparseSpMatDescr_t c = nullptr;
  SPARSE(cusparseCreateCsr(&c, 30, 35, 0, offsets, nullptr, nullptr, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  cusparseSpGEMMDescr_t state = nullptr;
  SPARSE(cusparseSpGEMM_createDescr(&state));
  const float one = 1, zero = 0;
  const auto algorithm = CUSPARSE_SPGEMM_DEFAULT;
  std::size_t first = 0, second = 0;
  SPARSE(cusparseSpGEMM_workEstimation(handle, kN, kN, &one, a.descriptor, b.descriptor, &zero, c, CUDA_R_32F, algorithm, state, &first, nullptr));
  const Buffer firstBuffer(first);
  SPARSE(cusparseSpGEMM_workEstimation(handle, kN, kN, &one, a.descriptor, b.descriptor, &zero, c, CUDA_R_32F, algorithm, state, &first, firstBuffer.memory));
  SPARSE(cusparseSpGEMM_compute(handle, kN, kN, &one, a.descriptor, b.descriptor, &zero, c, CUDA_R_32F, algorithm, state, &second, nullptr));
  const Buffer secondBuffer(second);
  SPARSE(cusparseSpGEMM_compute(handle, kN, kN, &one, a.descriptor, b.descriptor, &zero, c, CUDA_R_32F, algorithm, state, &second, secondBuffer.memory));
  std::int64_t rows = 0, cols = 0, nnz = 0;
  SPARSE(cusparseSpMatGetSize(c, &rows, &cols, &nnz));
  std::map<std::pair<int, int>, float> product;
  for (int i = 0; i < 30; ++i)
    for (int k = left.offsets[std::size_t(i)]; k < left.offsets[std::size_t(i) + 1]; ++k) {
      const int row = left.columns[std::size_t(k)];
      for (int l = right.offsets[std::size_t(row)]; l < right.offsets[std::size_t(row) + 1]; ++l)
        product[{i, right.columns[std::size_t(l)]}] += left.values[std::size_t(k)] * right.values[std::size_t(l)];
    }
  EXPECT(nnz == std::int64_t(product.size()));
  std::int64_t products = 0, multiplications = 0;
  for (const int row : left.columns) multiplications += right.offsets[std::size_t(row) + 1] - right.offsets[std::size_t(row)];
  SPARSE(cusparseSpGEMM_getNumProducts(state, &products));
  EXPECT(products == multiplications);
  int* const columns = check::deviceArray<int>(std::size_t(nnz));
  float* const values = check::deviceArray<float>(std::size_t(nnz));
  SPARSE(cusparseCsrSetPointers(c, offsets, columns, values));
  SPARSE(cusparseSpGEMM_copy(handle, kN, kN, &one, a.descriptor, b.descriptor, &zero, c, CUDA_R_32F, algorithm, state));
  const auto wanted = fromMap(30, 35, product);
  EXPECT(check::toHost(offsets, 31) == wanted.offsets);
  EXPECT(check::toHost(columns, std::size_t(nnz)) == wanted.columns);
  near("a product of sparse matrices", check::toHost(values, std::size_t(nnz)), std::vector<double>(wanted.values.begin(), wanted.values.end()), 0);
  SPARSE(cusparseSpGEMM_destroyDescr(state));
  SPARSE(cusparseDestroySpMat(c));
  for (void* memory : {(void*)offsets, (void*)columns, (void*)values}) CHECK(cudaFree(memory));
}

void triangles() {
  const Handle handle;
  const auto matrix = laplace<float>(8);
  Device<float> a(matrix);
  const int n = matrix.rows;
  for (const auto fill : {CUSPARSE_FILL_MODE_LOWER, CUSPARSE_FILL_MODE_UPPER}) {
    auto attribute = fill;
    SPARSE(cusparseSpMatSetAttribute(a.descriptor, CUSPARSE_SPMAT_FILL_MODE, &attribute, sizeof attribute));
    Vector<float> x(numbers<float>(std::size_t(n), 10)), y(numbers<float>(std::size_t(n), 11));
    cusparseSpSVDescr_t state = nullptr;
    SPARSE(cusparseSpSV_createDescr(&state));
    const float two = 2;
    std::size_t bytes = 0;
    SPARSE(cusparseSpSV_bufferSize(handle, kN, &two, a.descriptor, x.descriptor, y.descriptor, CUDA_R_32F, CUSPARSE_SPSV_ALG_DEFAULT, state, &bytes));
    const Buffer buffer(bytes);
    SPARSE(cusparseSpSV_analysis(handle, kN, &two, a.descriptor, x.descriptor, y.descriptor, CUDA_R_32F, CUSPARSE_SPSV_ALG_DEFAULT, state, buffer.memory));
    SPARSE(cusparseSpSV_solve(handle, kN, &two, a.descriptor, x.descriptor, y.descriptor, CUDA_R_32F, CUSPARSE_SPSV_ALG_DEFAULT, state));
    std::vector<double> product(static_cast<std::size_t>(n)), wanted;
    const auto got = y.host();
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        if (fill == CUSPARSE_FILL_MODE_LOWER ? j <= i : j >= i) product[std::size_t(i)] += double(matrix.at(i, j)) * double(got[std::size_t(j)]);
    for (const float each : x.host()) wanted.push_back(2 * double(each));
    near("a triangle", product, wanted, 1e-5);
    SPARSE(cusparseSpSV_destroyDescr(state));
  }
}

void conversions() {
  const Handle handle;
  const auto matrix = anyRows<double>(12, 9, 0.3, 12);
  Device<double> a(matrix);
  double* const dense = check::deviceArray<double>(12 * 9);
  cusparseDnMatDescr_t b = nullptr;
  SPARSE(cusparseCreateDnMat(&b, 12, 9, 12, dense, CUDA_R_64F, CUSPARSE_ORDER_COL));
  std::size_t bytes = 0;
  SPARSE(cusparseSparseToDense_bufferSize(handle, a.descriptor, b, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, &bytes));
  const Buffer buffer(bytes);
  SPARSE(cusparseSparseToDense(handle, a.descriptor, b, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, buffer.memory));
  std::vector<double> wanted(12 * 9);
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < 9; ++j) wanted[std::size_t(j * 12 + i)] = matrix.at(i, j);
  near("sparse to dense", check::toHost(dense, 12 * 9), wanted, 0);
  int* const offsets = check::deviceArray<int>(13);
  cusparseSpMatDescr_t c = nullptr;
  SPARSE(cusparseCreateCsr(&c, 12, 9, 0, offsets, nullptr, nullptr, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  SPARSE(cusparseDenseToSparse_bufferSize(handle, b, c, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, &bytes));
  const Buffer second(bytes);
  SPARSE(cusparseDenseToSparse_analysis(handle, b, c, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, second.memory));
  std::int64_t rows = 0, cols = 0, nnz = 0;
  SPARSE(cusparseSpMatGetSize(c, &rows, &cols, &nnz));
  EXPECT(nnz == matrix.nnz());
  int* const columns = check::deviceArray<int>(std::size_t(nnz));
  double* const values = check::deviceArray<double>(std::size_t(nnz));
  SPARSE(cusparseCsrSetPointers(c, offsets, columns, values));
  SPARSE(cusparseDenseToSparse_convert(handle, b, c, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, second.memory));
  EXPECT(check::toHost(offsets, 13) == matrix.offsets);
  EXPECT(check::toHost(columns, std::size_t(nnz)) == matrix.columns);
  EXPECT(check::toHost(values, std::size_t(nnz)) == matrix.values);
  // A vector's elements, taken out and put back.
  const std::vector<int> places{3, 50, 20};
  int* const indices = check::toDevice(places);
  float* const elements = check::deviceArray<float>(3);
  Vector<float> x(numbers<float>(100, 13));
  cusparseSpVecDescr_t some = nullptr;
  SPARSE(cusparseCreateSpVec(&some, 100, 3, indices, elements, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  SPARSE(cusparseGather(handle, x.descriptor, some));
  float product = 0;
  SPARSE(cusparseSpVV_bufferSize(handle, kN, some, x.descriptor, &product, CUDA_R_32F, &bytes));
  SPARSE(cusparseSpVV(handle, kN, some, x.descriptor, &product, CUDA_R_32F, nullptr));
  const auto all = x.host();
  float sum = 0;
  for (const int place : places) sum += all[std::size_t(place)] * all[std::size_t(place)];
  EXPECT(product == sum);
  SPARSE(cusparseDestroySpVec(some));
  SPARSE(cusparseDestroySpMat(c));
  SPARSE(cusparseDestroyDnMat(b));
  for (void* memory : {(void*)dense, (void*)offsets, (void*)columns, (void*)values, (void*)indices, (void*)elements}) CHECK(cudaFree(memory));
}

// Three products, each of the result of the one before, as often as the graph is launched.
void graphs() {
  const Handle handle;
  const auto matrix = anyRows<double>(20, 20, 0.2, 14);
  Device<double> a(matrix);
  std::vector<double> begin = numbers<double>(20, 15);
  Vector<double> x(begin), y(begin);
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  SPARSE(cusparseSetStream(handle, stream));
  const double eighth = 0.125, zero = 0;
  std::size_t bytes = 0;
  SPARSE(cusparseSpMV_bufferSize(handle, kN, &eighth, a.descriptor, x.descriptor, &zero, y.descriptor, CUDA_R_64F, CUSPARSE_SPMV_ALG_DEFAULT, &bytes));
  const Buffer buffer(bytes);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  SPARSE(cusparseSpMV(handle, kN, &eighth, a.descriptor, x.descriptor, &zero, y.descriptor, CUDA_R_64F, CUSPARSE_SPMV_ALG_DEFAULT, buffer.memory));
  SPARSE(cusparseSpMV(handle, kN, &eighth, a.descriptor, y.descriptor, &zero, x.descriptor, CUDA_R_64F, CUSPARSE_SPMV_ALG_DEFAULT, buffer.memory));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  for (int i = 0; i < 6; ++i) {
    begin = times(matrix, begin);
    for (double& each : begin) each *= 0.125;
  }
  near("graphs", x.host(), begin, 1e-12);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  SPARSE(cusparseSetStream(handle, nullptr));
  CHECK(cudaStreamDestroy(stream));
}

void answers() {
  const Handle handle;
  const auto matrix = anyRows<float>(10, 12, 0.3, 16);
  Device<float> a(matrix);
  Vector<float> x(numbers<float>(12, 17)), y(numbers<float>(10, 18));
  const float one = 1;
  EXPECT_STATUS(CUSPARSE_STATUS_INVALID_VALUE,
                cusparseSpMV(handle, kT, &one, a.descriptor, x.descriptor, &one, y.descriptor, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, nullptr));
  EXPECT_STATUS(CUSPARSE_STATUS_INVALID_VALUE,
                cusparseSpMV(handle, kN, nullptr, a.descriptor, x.descriptor, &one, y.descriptor, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, nullptr));
  cusparseDnMatDescr_t dense = nullptr;
  EXPECT_STATUS(CUSPARSE_STATUS_INVALID_VALUE, cusparseCreateDnMat(&dense, 10, 4, 9, y.values, CUDA_R_32F, CUSPARSE_ORDER_COL));
  int version = 0;
  SPARSE(cusparseGetVersion(handle, &version));
  EXPECT(version == CUSPARSE_VERSION);
  if (!check::throughRouse()) return;
  // What Rouse does not serve says so.
  cusparseColorInfo_t color = nullptr;
  EXPECT_STATUS(CUSPARSE_STATUS_NOT_SUPPORTED, cusparseCreateColorInfo(&color));
}

// On the CPU device an index that is none is the program's error, as an address that is none would be; what a GPU does then is not said.
void badIndex() {
  const Handle handle;
  auto matrix = anyRows<float>(10, 12, 0.3, 19);
  matrix.columns[5] = 1000000;
  auto* const a = new Device<float>(matrix);  // there is nothing to end afterwards
  auto* const x = new Vector<float>(numbers<float>(12, 20));
  auto* const y = new Vector<float>(numbers<float>(10, 21));
  const float one = 1;
  SPARSE(cusparseSpMV(handle, kN, &one, a->descriptor, x->descriptor, &one, y->descriptor, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, nullptr));
  EXPECT_ERROR(cudaErrorIllegalAddress, cudaDeviceSynchronize());
}

int main() {
  conjugateGradients();
  denseProducts<float>();
  denseProducts<double>();
  sampled();
  sparseProducts();
  triangles();
  conversions();
  graphs();
  answers();
  if (check::onCpuDevice()) badIndex();
  return check::done();
}
