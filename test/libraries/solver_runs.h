// Calls of cuSOLVER on the CPU device, without the device: matrices of the test's own with bytes around them that nobody may write, and what is to be true of
// results, in long double.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <complex>
#include <cstring>
#include <span>
#include <string>

#include "schemas/solver/check.h"
#include "test/libraries/jobs.h"

namespace rouse::solver {

using library::Memory;
using Wide = std::complex<long double>;

template <class T>
inline constexpr bool kIsComplex = !std::is_floating_point_v<T>;
template <class T>
using real = decltype(std::abs(T{}));
template <class T>
inline constexpr Type kType = std::is_same_v<T, float> ? Type::f32 : std::is_same_v<T, double> ? Type::f64 : std::is_same_v<T, std::complex<float>> ? Type::c32 : Type::c64;
template <class T>
inline constexpr char kLetter = std::is_same_v<T, float> ? 'S' : std::is_same_v<T, double> ? 'D' : std::is_same_v<T, std::complex<float>> ? 'C' : 'Z';
template <class T>
inline constexpr double kEpsilon = std::numeric_limits<real<T>>::epsilon();

inline Function functionOf(const std::string& name) {
  const auto found = std::ranges::find(kFunctions, "cusolverDn" + name, &FunctionInfo::name);
  REQUIRE(found != kFunctions.end());
  return static_cast<Function>(found - kFunctions.begin());
}
// Its name of real matrices, and of complex ones.
template <class T>
Function functionOf(const char* real, const char* complex) {
  return functionOf(kLetter<T> + std::string(kIsComplex<T> ? complex : real));
}
template <class T>
Function functionOf(const char* name) {
  return functionOf<T>(name, name);
}

// As the client begins one.
template <class T>
Call callOf() {
  Call call;
  call.aType = call.bType = call.cType = call.tauType = call.computeType = kType<T>;
  call.valuesType = realOf(kType<T>);
  return call;
}

template <class T>
T random(std::mt19937& from) {
  std::uniform_real_distribution<double> numbers(-1, 1);
  const double a = numbers(from), b = numbers(from);
  if constexpr (kIsComplex<T>) return T(static_cast<real<T>>(a), static_cast<real<T>>(b));
  else return static_cast<T>(a);
}

// Dense, for what is to be compared with.
struct Exact {
  Exact(std::int64_t rows, std::int64_t columns) : rows(rows), columns(columns), values(static_cast<std::size_t>(rows * columns)) {}
  Wide& operator()(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(i + j * rows)]; }
  Wide operator()(std::int64_t i, std::int64_t j) const { return values[static_cast<std::size_t>(i + j * rows)]; }
  std::int64_t rows, columns;
  std::vector<Wide> values;
};
inline Exact identity(std::int64_t n) {
  Exact result(n, n);
  for (std::int64_t i = 0; i < n; ++i) result(i, i) = 1;
  return result;
}
inline Exact adjoint(const Exact& a) {
  Exact result(a.columns, a.rows);
  for (std::int64_t j = 0; j < a.columns; ++j)
    for (std::int64_t i = 0; i < a.rows; ++i) result(j, i) = std::conj(a(i, j));
  return result;
}
inline Exact transposed(const Exact& a) {
  Exact result = adjoint(a);
  for (Wide& each : result.values) each = std::conj(each);
  return result;
}
inline Exact operator*(const Exact& a, const Exact& b) {
  REQUIRE(a.columns == b.rows);
  Exact result(a.rows, b.columns);
  for (std::int64_t j = 0; j < b.columns; ++j)
    for (std::int64_t k = 0; k < a.columns; ++k)
      for (std::int64_t i = 0; i < a.rows; ++i) result(i, j) += a(i, k) * b(k, j);
  return result;
}
inline Exact scaledColumns(Exact a, const std::vector<Wide>& by) {
  for (std::int64_t j = 0; j < a.columns; ++j)
    for (std::int64_t i = 0; i < a.rows; ++i) a(i, j) *= by[static_cast<std::size_t>(j)];
  return a;
}
inline Exact firstColumns(const Exact& a, std::int64_t columns) {
  Exact result(a.rows, columns);
  for (std::int64_t j = 0; j < columns; ++j)
    for (std::int64_t i = 0; i < a.rows; ++i) result(i, j) = a(i, j);
  return result;
}
inline double distance(const Exact& a, const Exact& b) {
  REQUIRE((a.rows == b.rows && a.columns == b.columns));
  long double most = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const long double apart = std::abs(a.values[i] - b.values[i]);
    if (!(apart <= most)) most = apart;
  }
  return static_cast<double>(most);
}

// A batch of matrices with gaps below their columns, or of vectors; bytes before and between are 0xA5, and what is behind the last may not even be read.
template <class T>
class Matrices {
 public:
  Matrices(Memory& memory, std::int64_t rows, std::int64_t columns, std::int64_t spacing, std::int64_t count = 1, std::int64_t stride = -1)
      : rows_(rows), columns_(columns), spacing_(spacing), count_(count), stride_(stride >= 0 ? stride : spacing * columns) {
    // Only what a call may name is the program's.
    const std::int64_t reach = rows == 0 || columns == 0 ? 0 : (count - 1) * stride_ + (columns - 1) * spacing + rows;
    const std::size_t bytes = static_cast<std::size_t>(reach + kAround) * sizeof(T), page = 4096, pages = (bytes + page - 1) / page * page;
    area_ = {static_cast<std::byte*>(::mmap(nullptr, pages + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)), pages + page};
    REQUIRE(area_.data() != MAP_FAILED);
    REQUIRE(::mprotect(area_.data(), pages, PROT_READ | PROT_WRITE) == 0);
    values_ = {reinterpret_cast<T*>(area_.data() + pages - bytes), static_cast<std::size_t>(reach + kAround)};
    std::memset(static_cast<void*>(values_.data()), 0xA5, bytes);
    before_ = all();
    memory.ranges.push_back({address(), static_cast<std::uint64_t>(reach) * sizeof(T)});
  }
  Matrices(const Matrices&) = delete;
  ~Matrices() { ::munmap(area_.data(), area_.size()); }
  std::uint64_t address(std::int64_t e = 0) const { return reinterpret_cast<std::uint64_t>(values_.data() + kAround + e * stride_); }
  Matrix matrix() const { return {.address = address(), .spacing = spacing_, .stride = stride_}; }
  T& at(std::int64_t i, std::int64_t j = 0, std::int64_t e = 0) { return values_[static_cast<std::size_t>(kAround + e * stride_ + j * spacing_ + i)]; }
  Exact exact(std::int64_t e = 0) {
    Exact result(rows_, columns_);
    for (std::int64_t j = 0; j < columns_; ++j)
      for (std::int64_t i = 0; i < rows_; ++i) result(i, j) = Wide(at(i, j, e));
    return result;
  }
  void fill(const Exact& from, std::int64_t e = 0) {
    for (std::int64_t j = 0; j < columns_; ++j)
      for (std::int64_t i = 0; i < rows_; ++i) {
        const Wide value = from(i, j);
        if constexpr (kIsComplex<T>) at(i, j, e) = T(static_cast<real<T>>(value.real()), static_cast<real<T>>(value.imag()));
        else at(i, j, e) = static_cast<T>(value.real());
      }
    before_ = all();
  }
  void fillRandom(unsigned seed) {
    std::mt19937 from(seed);
    for (std::int64_t e = 0; e < count_; ++e)
      for (std::int64_t j = 0; j < columns_; ++j)
        for (std::int64_t i = 0; i < rows_; ++i) at(i, j, e) = random<T>(from);
    before_ = all();
  }
  // Nothing has been written but elements (i, j) of which may(i, j).
  template <class May>
  bool onlyWrote(May&& may) const {
    std::vector<T> now = all();
    for (std::int64_t e = 0; e < count_; ++e)
      for (std::int64_t j = 0; j < columns_; ++j)
        for (std::int64_t i = 0; i < rows_; ++i) {
          const auto index = static_cast<std::size_t>(kAround + e * stride_ + j * spacing_ + i);
          if (may(i, j)) now[index] = before_[index];
        }
    return std::memcmp(now.data(), before_.data(), now.size() * sizeof(T)) == 0;
  }
  bool unchanged() const { return onlyWrote([](auto, auto) { return false; }); }
  bool onlyWrote() const { return onlyWrote([](auto, auto) { return true; }); }
  std::vector<T> all() const { return {values_.begin(), values_.end()}; }

 private:
  static constexpr std::int64_t kAround = 16;
  std::int64_t rows_, columns_, spacing_, count_, stride_;
  std::span<std::byte> area_;
  std::span<T> values_;
  std::vector<T> before_;
};

inline auto prepare(Function function, const Call& call, const Memory& memory) {
  return library::cpu::prepare(kLibrary, static_cast<std::uint32_t>(function), std::as_bytes(std::span(&call, 1)), memory);
}

// Runs it, pieces in an order that the number says.
inline void run(Function function, const Call& call, const Memory& memory, unsigned order = 0) {
  const Check checked = check(function, call);
  CAPTURE(info(function).name, checked.what);
  REQUIRE(checked.verdict == Verdict::runs);
  Ranges named;
  REQUIRE(ranges(function, call, named));
  // What it names is what the test gave, to the byte.
  for (std::uint32_t i = 0; i < named.count; ++i) {
    CAPTURE(named.ranges[i].operand);
    CHECK(memory.contains({named.ranges[i].address, named.ranges[i].bytes}));
  }
  auto job = prepare(function, call, memory);
  if (!job.ok()) FAIL(job.error().message);
  REQUIRE(*job != nullptr);
  do library::runAll(**job, order);
  while ((*job)->advance());
}

}  // namespace rouse::solver
