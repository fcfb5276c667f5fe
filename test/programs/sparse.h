// What the programs that use cuSPARSE share: matrices by rows, on the host and on the device, and what they are by definition. Needs -lcusparse.
#pragma once

#define DISABLE_CUSPARSE_DEPRECATED
#include <cusparse.h>

#include <map>

#include "check.h"

namespace sparse {

inline void ok(cusparseStatus_t status, const char* what, const char* file, int line) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  std::printf("%s:%d: %s: %s\n", file, line, what, cusparseGetErrorName(status));
  std::fflush(stdout);
  std::_Exit(1);
}

inline void expect(cusparseStatus_t got, cusparseStatus_t wanted, const char* what, const char* file, int line) {
  if (got == wanted) return;
  std::printf("%s:%d: %s: %s instead of %s\n", file, line, what, cusparseGetErrorName(got), cusparseGetErrorName(wanted));
  ++check::failures;
}

#define SPARSE(...) ::sparse::ok((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define EXPECT_STATUS(wanted, ...) ::sparse::expect((__VA_ARGS__), wanted, #__VA_ARGS__, __FILE__, __LINE__)

constexpr auto kN = CUSPARSE_OPERATION_NON_TRANSPOSE;
constexpr auto kT = CUSPARSE_OPERATION_TRANSPOSE;

// Rows one after the other, columns of a row in order.
template <class R>
struct Rows {
  int rows = 0, cols = 0;
  std::vector<int> offsets{0}, columns;
  std::vector<R> values;
  int nnz() const { return int(columns.size()); }
  R at(int i, int j) const {
    for (int k = offsets[std::size_t(i)]; k < offsets[std::size_t(i) + 1]; ++k)
      if (columns[std::size_t(k)] == j) return values[std::size_t(k)];
    return 0;
  }
};

template <class R>
Rows<R> fromMap(int rows, int cols, const std::map<std::pair<int, int>, R>& elements) {
  Rows<R> made;
  made.rows = rows;
  made.cols = cols;
  auto at = elements.begin();
  for (int i = 0; i < rows; ++i) {
    for (; at != elements.end() && at->first.first == i; ++at) {
      made.columns.push_back(at->first.second);
      made.values.push_back(at->second);
    }
    made.offsets.push_back(made.nnz());
  }
  return made;
}

// Small whole numbers, so that sums are exact.
template <class R>
Rows<R> anyRows(int rows, int cols, double share, std::uint64_t seed) {
  check::Random random(seed);
  std::map<std::pair<int, int>, R> elements;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j)
      if (random.uniform(0, 1) < share) elements[{i, j}] = R(int(random.uniform(1, 5)));
  return fromMap(rows, cols, elements);
}

// A grid's Laplace operator: symmetric, and positive.
template <class R>
Rows<R> laplace(int side) {
  std::map<std::pair<int, int>, R> elements;
  const auto number = [&](int x, int y) { return y * side + x; };
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x) {
      elements[{number(x, y), number(x, y)}] = R(4.5);
      for (const auto& step : {std::pair{1, 0}, {-1, 0}, {0, 1}, {0, -1}})
        if (x + step.first >= 0 && x + step.first < side && y + step.second >= 0 && y + step.second < side)
          elements[{number(x, y), number(x + step.first, y + step.second)}] = R(-1);
    }
  return fromMap(side * side, side * side, elements);
}

template <class R>
std::vector<R> numbers(std::size_t count, std::uint64_t seed) {
  check::Random random(seed);
  std::vector<R> all(count);
  for (R& each : all) each = R(int(random.uniform(-4, 5)));
  return all;
}

template <class R>
std::vector<double> times(const Rows<R>& a, const std::vector<R>& x) {
  std::vector<double> y(std::size_t(a.rows));
  for (int i = 0; i < a.rows; ++i)
    for (int k = a.offsets[std::size_t(i)]; k < a.offsets[std::size_t(i) + 1]; ++k)
      y[std::size_t(i)] += double(a.values[std::size_t(k)]) * double(x[std::size_t(a.columns[std::size_t(k)])]);
  return y;
}

template <class R>
void near(const char* what, const std::vector<R>& got, const std::vector<double>& wanted, double epsilon) {
  if (got.size() != wanted.size()) {
    std::printf("%s has %zu elements, should have %zu\n", what, got.size(), wanted.size());
    ++check::failures;
    return;
  }
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!check::near(what, i, double(got[i]), wanted[i], epsilon, epsilon)) return;
}

template <class R>
constexpr cudaDataType kType = sizeof(R) == 4 ? CUDA_R_32F : CUDA_R_64F;

// A matrix on the device, with its descriptor.
template <class R>
struct Device {
  explicit Device(const Rows<R>& from)
      : offsets(check::toDevice(from.offsets)), columns(check::toDevice(from.columns)), values(check::toDevice(from.values)), nnz(from.nnz()) {
    SPARSE(cusparseCreateCsr(&descriptor, from.rows, from.cols, nnz, offsets, columns, values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                             kType<R>));
  }
  ~Device() {
    SPARSE(cusparseDestroySpMat(descriptor));
    for (void* memory : {(void*)offsets, (void*)columns, (void*)values}) CHECK(cudaFree(memory));
  }
  Device(const Device&) = delete;
  int* offsets;
  int* columns;
  R* values;
  int nnz;
  cusparseSpMatDescr_t descriptor = nullptr;
};

template <class R>
struct Vector {
  explicit Vector(const std::vector<R>& from) : values(check::toDevice(from)), size(from.size()) {
    SPARSE(cusparseCreateDnVec(&descriptor, std::int64_t(size), values, kType<R>));
  }
  ~Vector() {
    SPARSE(cusparseDestroyDnVec(descriptor));
    CHECK(cudaFree(values));
  }
  Vector(const Vector&) = delete;
  std::vector<R> host() const { return check::toHost(values, size); }
  R* values;
  std::size_t size;
  cusparseDnVecDescr_t descriptor = nullptr;
};

// Memory that a function asks for.
struct Buffer {
  explicit Buffer(std::size_t bytes) { CHECK(cudaMalloc(&memory, bytes + 1)); }
  ~Buffer() { CHECK(cudaFree(memory)); }
  Buffer(const Buffer&) = delete;
  void* memory = nullptr;
};

struct Handle {
  Handle() { SPARSE(cusparseCreate(&handle)); }
  ~Handle() { SPARSE(cusparseDestroy(handle)); }
  operator cusparseHandle_t() const { return handle; }
  cusparseHandle_t handle = nullptr;
};

}  // namespace sparse
