// nvcc: -lcusparse
// library: libcusparse.so.12
// Sparse matrices by cuSPARSE's classic interface: incomplete factorisations, sums, sorts, blocks, systems with three and five diagonals.
#include <algorithm>

#include "sparse.h"

using namespace sparse;

struct Description {
  Description() { SPARSE(cusparseCreateMatDescr(&descriptor)); }
  ~Description() { SPARSE(cusparseDestroyMatDescr(descriptor)); }
  operator cusparseMatDescr_t() const { return descriptor; }
  cusparseMatDescr_t descriptor = nullptr;
};

// Of a matrix with three diagonals nothing is left out, so that its factors are those of the whole one.
void factorisations() {
  const Handle handle;
  const Description general;
  const int n = 50;
  std::map<std::pair<int, int>, double> elements;
  for (int i = 0; i < n; ++i) {
    elements[{i, i}] = 4 + i % 3;
    if (i > 0) elements[{i, i - 1}] = elements[{i - 1, i}] = -1;
  }
  const auto matrix = fromMap(n, n, elements);
  const auto policy = CUSPARSE_SOLVE_POLICY_NO_LEVEL;
  for (const bool symmetric : {false, true}) {
    Device<double> a(matrix);
    int bytes = 0, position = 5;
    if (symmetric) {
      csric02Info_t info = nullptr;
      SPARSE(cusparseCreateCsric02Info(&info));
      SPARSE(cusparseDcsric02_bufferSize(handle, n, a.nnz, general, a.values, a.offsets, a.columns, info, &bytes));
      const Buffer buffer{std::size_t(bytes)};
      SPARSE(cusparseDcsric02_analysis(handle, n, a.nnz, general, a.values, a.offsets, a.columns, info, policy, buffer.memory));
      SPARSE(cusparseDcsric02(handle, n, a.nnz, general, a.values, a.offsets, a.columns, info, policy, buffer.memory));
      SPARSE(cusparseXcsric02_zeroPivot(handle, info, &position));
      SPARSE(cusparseDestroyCsric02Info(info));
    } else {
      csrilu02Info_t info = nullptr;
      SPARSE(cusparseCreateCsrilu02Info(&info));
      SPARSE(cusparseDcsrilu02_bufferSize(handle, n, a.nnz, general, a.values, a.offsets, a.columns, info, &bytes));
      const Buffer buffer{std::size_t(bytes)};
      SPARSE(cusparseDcsrilu02_analysis(handle, n, a.nnz, general, a.values, a.offsets, a.columns, info, policy, buffer.memory));
      SPARSE(cusparseDcsrilu02(handle, n, a.nnz, general, a.values, a.offsets, a.columns, info, policy, buffer.memory));
      SPARSE(cusparseXcsrilu02_zeroPivot(handle, info, &position));
      SPARSE(cusparseDestroyCsrilu02Info(info));
    }
    EXPECT(position == -1);
    auto factors = matrix;
    factors.values = check::toHost(a.values, std::size_t(a.nnz));
    std::vector<double> got, wanted;
    for (const auto& element : elements) {
      const int i = element.first.first, j = element.first.second;
      double sum = 0;
      for (int k = std::max(0, std::min(i, j) - 1); k <= std::min(i, j); ++k)
        sum += symmetric ? factors.at(i, k) * factors.at(j, k) : (k == i ? 1.0 : factors.at(i, k)) * factors.at(k, j);
      got.push_back(sum);
      wanted.push_back(element.second);
    }
    near("factors", got, wanted, 1e-12);
  }
  // A pivot that is 0.
  auto singular = matrix;
  singular.values[0] = 0;
  Device<double> a(singular);
  csrilu02Info_t info = nullptr;
  int bytes = 0, position = 5;
  SPARSE(cusparseCreateCsrilu02Info(&info));
  SPARSE(cusparseDcsrilu02_bufferSize(handle, n, a.nnz, general, a.values, a.offsets, a.columns, info, &bytes));
  const Buffer buffer{std::size_t(bytes)};
  SPARSE(cusparseDcsrilu02_analysis(handle, n, a.nnz, general, a.values, a.offsets, a.columns, info, policy, buffer.memory));
  SPARSE(cusparseDcsrilu02(handle, n, a.nnz, general, a.values, a.offsets, a.columns, info, policy, buffer.memory));
  EXPECT_STATUS(CUSPARSE_STATUS_ZERO_PIVOT, cusparseXcsrilu02_zeroPivot(handle, info, &position));
  EXPECT(position == 0);
  SPARSE(cusparseDestroyCsrilu02Info(info));
}

void sums() {
  const Handle handle;
  const Description general;
  const auto left = anyRows<float>(20, 15, 0.3, 1), right = anyRows<float>(20, 15, 0.3, 2);
  Device<float> a(left), b(right);
  std::map<std::pair<int, int>, float> total;
  for (int i = 0; i < 20; ++i) {
    for (int k = left.offsets[std::size_t(i)]; k < left.offsets[std::size_t(i) + 1]; ++k)
      total[{i, left.columns[std::size_t(k)]}] += 2 * left.values[std::size_t(k)];
    for (int k = right.offsets[std::size_t(i)]; k < right.offsets[std::size_t(i) + 1]; ++k)
      total[{i, right.columns[std::size_t(k)]}] -= right.values[std::size_t(k)];
  }
  const auto wanted = fromMap(20, 15, total);
  const float two = 2, minus = -1;
  int* const offsets = check::deviceArray<int>(21);
  std::size_t bytes = 0;
  SPARSE(cusparseScsrgeam2_bufferSizeExt(handle, 20, 15, &two, general, a.nnz, a.values, a.offsets, a.columns, &minus, general, b.nnz, b.values, b.offsets,
                                         b.columns, general, nullptr, offsets, nullptr, &bytes));
  const Buffer buffer(bytes);
  int nnz = 0;
  SPARSE(cusparseXcsrgeam2Nnz(handle, 20, 15, general, a.nnz, a.offsets, a.columns, general, b.nnz, b.offsets, b.columns, general, offsets, &nnz, buffer.memory));
  EXPECT(nnz == wanted.nnz());
  int* const columns = check::deviceArray<int>(std::size_t(nnz));
  float* const values = check::deviceArray<float>(std::size_t(nnz));
  SPARSE(cusparseScsrgeam2(handle, 20, 15, &two, general, a.nnz, a.values, a.offsets, a.columns, &minus, general, b.nnz, b.values, b.offsets, b.columns,
                           general, values, offsets, columns, buffer.memory));
  EXPECT(check::toHost(offsets, 21) == wanted.offsets);
  EXPECT(check::toHost(columns, std::size_t(nnz)) == wanted.columns);
  near("a sum", check::toHost(values, std::size_t(nnz)), std::vector<double>(wanted.values.begin(), wanted.values.end()), 0);
  for (void* memory : {(void*)offsets, (void*)columns, (void*)values}) CHECK(cudaFree(memory));
}

// Elements in any order, put by rows, compressed, transposed.
void sorts() {
  const Handle handle;
  const auto matrix = anyRows<double>(15, 10, 0.3, 3);
  const int nnz = matrix.nnz();
  std::vector<int> rows;
  for (int i = 0; i < 15; ++i) rows.insert(rows.end(), std::size_t(matrix.offsets[std::size_t(i) + 1] - matrix.offsets[std::size_t(i)]), i);
  std::vector<int> mixedRows, mixedColumns;
  for (int k = nnz - 1; k >= 0; --k) {
    mixedRows.push_back(rows[std::size_t(k)]);
    mixedColumns.push_back(matrix.columns[std::size_t(k)]);
  }
  int* const r = check::toDevice(mixedRows);
  int* const c = check::toDevice(mixedColumns);
  int* const p = check::deviceArray<int>(std::size_t(nnz));
  SPARSE(cusparseCreateIdentityPermutation(handle, nnz, p));
  std::size_t bytes = 0;
  SPARSE(cusparseXcoosort_bufferSizeExt(handle, 15, 10, nnz, r, c, &bytes));
  const Buffer buffer(bytes);
  SPARSE(cusparseXcoosortByRow(handle, 15, 10, nnz, r, c, p, buffer.memory));
  EXPECT(check::toHost(r, std::size_t(nnz)) == rows);
  EXPECT(check::toHost(c, std::size_t(nnz)) == matrix.columns);
  std::vector<int> reversed;
  for (int k = nnz - 1; k >= 0; --k) reversed.push_back(k);
  EXPECT(check::toHost(p, std::size_t(nnz)) == reversed);
  int* const offsets = check::deviceArray<int>(16);
  SPARSE(cusparseXcoo2csr(handle, r, nnz, 15, offsets, CUSPARSE_INDEX_BASE_ZERO));
  EXPECT(check::toHost(offsets, 16) == matrix.offsets);
  SPARSE(cusparseXcsr2coo(handle, offsets, nnz, 15, r, CUSPARSE_INDEX_BASE_ZERO));
  EXPECT(check::toHost(r, std::size_t(nnz)) == rows);

  Device<double> a(matrix);
  int* const turnedOffsets = check::deviceArray<int>(11);
  int* const turnedRows = check::deviceArray<int>(std::size_t(nnz));
  double* const turnedValues = check::deviceArray<double>(std::size_t(nnz));
  SPARSE(cusparseCsr2cscEx2_bufferSize(handle, 15, 10, nnz, a.values, a.offsets, a.columns, turnedValues, turnedOffsets, turnedRows, CUDA_R_64F,
                                       CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG_DEFAULT, &bytes));
  const Buffer second(bytes);
  SPARSE(cusparseCsr2cscEx2(handle, 15, 10, nnz, a.values, a.offsets, a.columns, turnedValues, turnedOffsets, turnedRows, CUDA_R_64F, CUSPARSE_ACTION_NUMERIC,
                            CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG_DEFAULT, second.memory));
  std::map<std::pair<int, int>, double> turned;
  for (int i = 0; i < 15; ++i)
    for (int k = matrix.offsets[std::size_t(i)]; k < matrix.offsets[std::size_t(i) + 1]; ++k)
      turned[{matrix.columns[std::size_t(k)], i}] = matrix.values[std::size_t(k)];
  const auto wanted = fromMap(10, 15, turned);
  EXPECT(check::toHost(turnedOffsets, 11) == wanted.offsets);
  EXPECT(check::toHost(turnedRows, std::size_t(nnz)) == wanted.columns);
  EXPECT(check::toHost(turnedValues, std::size_t(nnz)) == wanted.values);
  for (void* memory : {(void*)r, (void*)c, (void*)p, (void*)offsets, (void*)turnedOffsets, (void*)turnedRows, (void*)turnedValues}) CHECK(cudaFree(memory));
}

// Rows that are backwards, put in order with their values; indices from `base` on.
template <class T, class Size, class Sort>
void unsortedRows(int base, Size size, Sort sort) {
  const Handle handle;
  const Description general;
  SPARSE(cusparseSetMatIndexBase(general, base == 0 ? CUSPARSE_INDEX_BASE_ZERO : CUSPARSE_INDEX_BASE_ONE));
  const auto matrix = anyRows<T>(300, 40, 0.3, 5);
  auto wanted = matrix.columns, offsets = matrix.offsets;
  for (int& column : wanted) column += base;
  for (int& offset : offsets) offset += base;
  auto columns = wanted;
  auto values = matrix.values;
  for (std::size_t i = 0; i < 300; ++i) {
    std::reverse(columns.begin() + matrix.offsets[i], columns.begin() + matrix.offsets[i + 1]);
    std::reverse(values.begin() + matrix.offsets[i], values.begin() + matrix.offsets[i + 1]);
  }
  int* const o = check::toDevice(offsets);
  int* const c = check::toDevice(columns);
  T* const v = check::toDevice(values);
  csru2csrInfo_t info = nullptr;
  SPARSE(cusparseCreateCsru2csrInfo(&info));
  std::size_t bytes = 0;
  SPARSE(size(handle, 300, 40, matrix.nnz(), v, o, c, info, &bytes));
  const Buffer buffer(bytes);
  SPARSE(sort(handle, 300, 40, matrix.nnz(), general, v, o, c, info, buffer.memory));
  EXPECT(check::toHost(c, columns.size()) == wanted);
  EXPECT(check::toHost(v, values.size()) == matrix.values);
  EXPECT(check::toHost(o, offsets.size()) == offsets);
  SPARSE(cusparseDestroyCsru2csrInfo(info));
  for (void* memory : {(void*)o, (void*)c, (void*)v}) CHECK(cudaFree(memory));
}

// A matrix of blocks of two, one behind the other on the diagonal and beside it.
void blocks() {
  const Handle handle;
  const Description general;
  const int mb = 6, n = 2 * mb;
  std::vector<int> offsets{0}, columns;
  std::vector<float> values;
  std::vector<double> dense(std::size_t(n * n));
  for (int row = 0; row < mb; ++row) {
    for (int column = 0; column <= row; ++column) {
      if (column != row && column + 1 != row) continue;
      columns.push_back(column);
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) {
          const float value = column == row ? (i == j ? 4.f : i > j ? 1.f : 0.f) : float(i - 2 * j + 1);
          values.push_back(value);
          dense[std::size_t((2 * row + i) * n + 2 * column + j)] = double(value);
        }
    }
    offsets.push_back(int(columns.size()));
  }
  int* const o = check::toDevice(offsets);
  int* const c = check::toDevice(columns);
  float* const v = check::toDevice(values);
  const std::vector<float> right = numbers<float>(std::size_t(n * 3), 4), before = numbers<float>(std::size_t(n * 3), 5);
  float* const x = check::toDevice(right);
  float* const y = check::toDevice(before);
  const float two = 2, one = 1;
  SPARSE(cusparseSbsrmm(handle, CUSPARSE_DIRECTION_ROW, kN, kN, mb, 3, mb, int(columns.size()), &two, general, v, o, c, 2, x, n, &one, y, n));
  std::vector<double> wanted;
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < n; ++i) {
      double sum = double(before[std::size_t(j * n + i)]);
      for (int k = 0; k < n; ++k) sum += 2 * dense[std::size_t(i * n + k)] * double(right[std::size_t(j * n + k)]);
      wanted.push_back(sum);
    }
  near("a product of blocks", check::toHost(y, std::size_t(n * 3)), wanted, 1e-6);
  SPARSE(cusparseSbsrmv(handle, CUSPARSE_DIRECTION_ROW, kN, mb, mb, int(columns.size()), &two, general, v, o, c, 2, x, &one, y));
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n; ++k) wanted[std::size_t(i)] += 2 * dense[std::size_t(i * n + k)] * double(right[std::size_t(k)]);
  near("blocks times a vector", check::toHost(y, std::size_t(n)), std::vector<double>(wanted.begin(), wanted.begin() + n), 1e-6);
  bsrsv2Info_t info = nullptr;
  SPARSE(cusparseCreateBsrsv2Info(&info));
  int bytes = 0, position = 5;
  const auto policy = CUSPARSE_SOLVE_POLICY_USE_LEVEL;
  SPARSE(cusparseSbsrsv2_bufferSize(handle, CUSPARSE_DIRECTION_ROW, kN, mb, int(columns.size()), general, v, o, c, 2, info, &bytes));
  const Buffer buffer{std::size_t(bytes)};
  SPARSE(cusparseSbsrsv2_analysis(handle, CUSPARSE_DIRECTION_ROW, kN, mb, int(columns.size()), general, v, o, c, 2, info, policy, buffer.memory));
  SPARSE(cusparseSbsrsv2_solve(handle, CUSPARSE_DIRECTION_ROW, kN, mb, int(columns.size()), &one, general, v, o, c, 2, info, x, y, policy, buffer.memory));
  SPARSE(cusparseXbsrsv2_zeroPivot(handle, info, &position));
  EXPECT(position == -1);
  const auto solution = check::toHost(y, std::size_t(n));
  std::vector<double> product(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n; ++k) product[std::size_t(i)] += dense[std::size_t(i * n + k)] * double(solution[std::size_t(k)]);
  near("a triangle of blocks", product, std::vector<double>(right.begin(), right.begin() + n), 1e-5);
  SPARSE(cusparseDestroyBsrsv2Info(info));
  for (void* memory : {(void*)o, (void*)c, (void*)v, (void*)x, (void*)y}) CHECK(cudaFree(memory));
}

void diagonals() {
  const Handle handle;
  const int n = 33, systems = 5;
  const auto total = std::size_t(n * systems);
  std::vector<double> d[5];
  for (int k = 0; k < 5; ++k) {
    d[k] = numbers<double>(total, std::uint64_t(20 + k));
    for (double& each : d[k]) each = k == 2 ? 20 + each : each;
  }
  const std::vector<double> right = numbers<double>(total, 30);
  // One between the others: element i of system s at i * systems + s.
  for (const bool five : {false, true}) {
    double* device[5];
    for (int k = 0; k < 5; ++k) device[k] = check::toDevice(d[k]);
    double* const x = check::toDevice(right);
    std::size_t bytes = 0;
    if (five) {
      SPARSE(cusparseDgpsvInterleavedBatch_bufferSizeExt(handle, 0, n, device[0], device[1], device[2], device[3], device[4], x, systems, &bytes));
      const Buffer buffer(bytes);
      SPARSE(cusparseDgpsvInterleavedBatch(handle, 0, n, device[0], device[1], device[2], device[3], device[4], x, systems, buffer.memory));
      CHECK(cudaDeviceSynchronize());
    } else {
      SPARSE(cusparseDgtsvInterleavedBatch_bufferSizeExt(handle, 1, n, device[1], device[2], device[3], x, systems, &bytes));
      const Buffer buffer(bytes);
      SPARSE(cusparseDgtsvInterleavedBatch(handle, 1, n, device[1], device[2], device[3], x, systems, buffer.memory));
      CHECK(cudaDeviceSynchronize());
    }
    const auto got = check::toHost(x, total);
    std::vector<double> product(total);
    for (int s = 0; s < systems; ++s)
      for (int i = 0; i < n; ++i)
        for (int k = five ? 0 : 1; k < (five ? 5 : 4); ++k)
          if (i + k - 2 >= 0 && i + k - 2 < n)
            product[std::size_t(i * systems + s)] += d[k][std::size_t(i * systems + s)] * got[std::size_t((i + k - 2) * systems + s)];
    near("diagonals between each other", product, right, 1e-11);
    for (double* each : device) CHECK(cudaFree(each));
    CHECK(cudaFree(x));
  }
  // One matrix and several right sides.
  double* device[3];
  for (int k = 0; k < 3; ++k) device[k] = check::toDevice(d[k + 1]);
  double* const b = check::toDevice(right);
  std::size_t bytes = 0;
  SPARSE(cusparseDgtsv2_bufferSizeExt(handle, n, systems, device[0], device[1], device[2], b, n, &bytes));
  const Buffer buffer(bytes);
  SPARSE(cusparseDgtsv2(handle, n, systems, device[0], device[1], device[2], b, n, buffer.memory));
  const auto got = check::toHost(b, total);
  std::vector<double> product(total);
  for (int s = 0; s < systems; ++s)
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < 3; ++k)
        if (i + k - 1 >= 0 && i + k - 1 < n) product[std::size_t(s * n + i)] += d[k + 1][std::size_t(i)] * got[std::size_t(s * n + i + k - 1)];
  near("diagonals", product, right, 1e-11);
  for (double* each : device) CHECK(cudaFree(each));
  CHECK(cudaFree(b));
}

int main() {
  factorisations();
  sums();
  sorts();
  unsortedRows<double>(0, cusparseDcsru2csr_bufferSizeExt, cusparseDcsru2csr);
  unsortedRows<float>(1, cusparseScsru2csr_bufferSizeExt, cusparseScsru2csr);
  blocks();
  diagonals();
  return check::done();
}
