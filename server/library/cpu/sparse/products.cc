// Products of a sparse matrix and dense ones: rows of the result are each other's neighbours in pieces, and each is summed by one of them, in double, in the order
// of the matrix's elements.
#include <string>
#include <type_traits>

#include "server/library/cpu/batch.h"
#include "server/library/cpu/sparse/jobs.h"
#include "server/library/cpu/sparse/row_source.h"

namespace rouse::library::cpu {
namespace {

using sparse::Call;
using sparse::Function;
using sparse::Operation;

template <class N>
struct Scaling {
  explicit Scaling(const Call& call) : alpha(scalarOf<N>(call, call.alpha)), beta(scalarOf<N>(call, call.beta)) {}
  // What beta multiplies is not read where that is 0: it may be no number.
  template <class T>
  void put(T& to, const N& sum) const {
    narrowTo(to, beta == N{} ? alpha * sum : alpha * sum + beta * widened<N>(to));
  }
  const N alpha, beta;
};

// y = alpha A x + beta y where all of it lies as the processor likes it: compressed rows, one type. Indices are looked at as they come.
template <class T, class Offset, class Column>
class RowsTimesVector final : public Job {
 public:
  using N = std::conditional_t<kComplex<T>, c64, double>;
  explicit RowsTimesVector(const Call& call)
      : call_(call),
        scaling_(call),
        perPiece_(rowsOfPiece(call.a.rows, static_cast<double>(call.a.nnz))),
        offsets_(reinterpret_cast<const Offset*>(call.a.offsets)),
        columns_(reinterpret_cast<const Column*>(call.a.indices)),
        values_(reinterpret_cast<const T*>(call.a.values)),
        x_(reinterpret_cast<const T*>(call.x.values)),
        y_(reinterpret_cast<T*>(call.y.values)) {}

  std::uint64_t pieces() const override { return static_cast<std::uint64_t>(blocksOf(call_.a.rows, perPiece_)); }
  void run(std::uint64_t piece) override {
    const std::int64_t first = static_cast<std::int64_t>(piece) * perPiece_, end = std::min(first + perPiece_, call_.a.rows), base = call_.a.base;
    std::int64_t from = fromZero(offsets_[first], base);
    if (from < 0 || from > call_.a.nnz) throw Failure(badIndex(Function::spmv, "an offset", first, from, call_.a.nnz));
    for (std::int64_t row = first; row < end; ++row) {
      const std::int64_t to = fromZero(offsets_[row + 1], base);
      if (to < from || to > call_.a.nnz) throw Failure(badIndex(Function::spmv, "an offset", row + 1, to, call_.a.nnz));
      scaling_.put(y_[row], sum(from, to));
      from = to;
    }
  }

 private:
  // Four sums beside each other, so that one does not wait for the next.
  N sum(std::int64_t from, std::int64_t to) const {
    N sums[4] = {};
    std::int64_t i = from;
    for (; i + 4 <= to; i += 4)
      for (std::int64_t k = 0; k < 4; ++k) sums[k] += N(values_[i + k]) * N(x_[column(i + k)]);
    for (; i < to; ++i) sums[0] += N(values_[i]) * N(x_[column(i)]);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
  std::int64_t column(std::int64_t i) const {
    const std::int64_t column = fromZero(columns_[i], call_.a.base);
    if (static_cast<std::uint64_t>(column) >= static_cast<std::uint64_t>(call_.a.cols))
      throw Failure(badIndex(Function::spmv, "a column", i, column, call_.a.cols));
    return column;
  }

  const Call call_;
  const Scaling<N> scaling_;
  const std::int64_t perPiece_;
  const Offset* const offsets_;
  const Column* const columns_;
  const T* const values_;
  const T* const x_;
  T* const y_;
};

bool isPlain(const Call& call) {
  const bool basic = call.computeType == sparse::Type::f32 || call.computeType == sparse::Type::f64 || sparse::isComplex(call.computeType);
  return call.a.format == sparse::Format::csr && call.opA == Operation::none && basic && call.a.type == call.computeType;
}

template <class T>
std::unique_ptr<Job> makePlain(const Call& call) {
  const bool wideOffsets = call.a.offsetsType == sparse::Index::i64, wideColumns = call.a.indicesType == sparse::Index::i64;
  if (wideOffsets && wideColumns) return std::make_unique<RowsTimesVector<T, std::int64_t, std::int64_t>>(call);
  if (wideOffsets) return std::make_unique<RowsTimesVector<T, std::int64_t, std::int32_t>>(call);
  if (wideColumns) return std::make_unique<RowsTimesVector<T, std::int32_t, std::int64_t>>(call);
  return std::make_unique<RowsTimesVector<T, std::int32_t, std::int32_t>>(call);
}

// sums += value * line, which are neighbours: with wider registers where the processor has them, which changes no bit, since nothing is multiplied and added at once. Chosen here, not by the
// loader (target_clones): that asks before a sanitizer's runtime is there.
template <class X>
[[gnu::always_inline]] inline void addEach(double* __restrict sums, double value, const X* __restrict line, std::int64_t count) {
  for (std::int64_t j = 0; j < count; ++j) sums[j] += value * static_cast<double>(line[j]);
}
#ifdef __x86_64__
__attribute__((target("avx2"))) void addEachWider(double* sums, double value, const float* line, std::int64_t count) { addEach(sums, value, line, count); }
__attribute__((target("avx2"))) void addEachWider(double* sums, double value, const double* line, std::int64_t count) { addEach(sums, value, line, count); }
bool isWider() {
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}
#endif
template <class X>
  requires std::is_floating_point_v<X>
void addLine(double* sums, double value, const X* line, std::int64_t count) {
#ifdef __x86_64__
  if (isWider()) return addEachWider(sums, value, line, count);
#endif
  addEach(sums, value, line, count);
}
template <class N, class X>
void addLine(N* __restrict sums, N value, const X* __restrict line, std::int64_t count) {
  for (std::int64_t j = 0; j < count; ++j) sums[j] += value * widened<N>(line[j]);
}

// Right sides whose columns lie apart are copied, rows one behind the other, where each row is wanted about once at least and there is so much memory.
constexpr std::uint64_t kMostCopied = std::uint64_t{1} << 30;

// y = alpha op(A) op(X) + beta y of each of a batch, one after the other.
template <class N>
class SparseTimesDense final : public Job {
 public:
  SparseTimesDense(const Call& call, Function function) : call_(call), scaling_(call), matrix_(call.a, call.opA, function) {}
  Status begin() {
    if (const Status begun = matrix_.begin(entry_); !begun) return begun;
    perPiece_ = rowsOfPiece(matrix_.rows(), matrix_.elements() * static_cast<double>(call_.y.cols));
    if (entry_ == 0 || call_.x.batch > 1) placeRight();
    return {};
  }

  std::uint64_t pieces() const override { return static_cast<std::uint64_t>(blocksOf(matrix_.rows(), perPiece_)); }
  void run(std::uint64_t piece) override {
    const std::int64_t first = static_cast<std::int64_t>(piece) * perPiece_, end = std::min(first + perPiece_, matrix_.rows());
    const DensePlace& x = right_;
    const DensePlace y(call_.y, entry_);
    std::vector<N> sums(static_cast<std::size_t>(call_.y.cols));
    typename RowSource<N>::Buffer buffer;
    withStored(call_.x.type, [&]<class X>(X) {
      withStored(call_.y.type, [&]<class Y>(Y) {
        const X* const from = reinterpret_cast<const X*>(x.address);
        Y* const to = reinterpret_cast<Y*>(y.address);
        for (std::int64_t row = first; row < end; ++row) {
          std::fill(sums.begin(), sums.end(), N{});
          matrix_.row(row, buffer, [&](const std::int64_t* columns, const N* values, const std::int64_t*, std::int64_t count) {
            add(columns, values, count, from, x, sums);
          });
          for (std::int64_t j = 0; j < call_.y.cols; ++j) scaling_.put(to[y.at(row, j)], sums[static_cast<std::size_t>(j)]);
        }
      });
    });
  }
  bool advance() override {
    if (++entry_ >= call_.y.batch) return false;
    if (const Status begun = begin(); !begun) throw Failure(begun.error());
    return true;
  }

 private:
  void placeRight() {
    right_ = DensePlace(call_.x, entry_);
    if (call_.opB != Operation::none) right_.transpose();
    conjugates_ = call_.opB == Operation::conjugate && sparse::isComplex(call_.x.type);
    const std::int64_t rows = sparse::rowsOf(call_.x, call_.opB), cols = call_.y.cols;
    const double bytes = static_cast<double>(rows) * static_cast<double>(cols) * sparse::bytesOf(call_.x.type);
    if ((right_.byColumn == 1 && !conjugates_) || cols == 1 || matrix_.elements() < static_cast<double>(rows) || bytes > static_cast<double>(kMostCopied)) return;
    copy_.resize(static_cast<std::size_t>(bytes));
    withStored(call_.x.type, [&]<class X>(X) {
      const X* const from = reinterpret_cast<const X*>(right_.address);
      X* const to = reinterpret_cast<X*>(copy_.data());
      // So many rows at a time that both sides' lines stay near.
      constexpr std::int64_t kRows = 64;
      for (std::int64_t first = 0; first < rows; first += kRows)
        for (std::int64_t j = 0; j < cols; ++j)
          for (std::int64_t row = first; row < std::min(first + kRows, rows); ++row) {
            const X& element = from[right_.at(row, j)];
            if constexpr (kComplex<computed_t<X>>) to[row * cols + j] = conjugates_ ? std::conj(element) : element;
            else to[row * cols + j] = element;
          }
    });
    right_.address = reinterpret_cast<std::uint64_t>(copy_.data());
    right_.byRow = cols;
    right_.byColumn = 1;
    conjugates_ = false;
  }

  // Of each column in the order of the row's elements, whichever is the inner loop.
  template <class X>
  void add(const std::int64_t* columns, const N* values, std::int64_t count, const X* x, const DensePlace& place, std::vector<N>& sums) const {
    const auto cols = static_cast<std::int64_t>(sums.size());
    const bool conjugates = conjugates_;
    if (place.byColumn == 1 && !conjugates) {
      for (std::int64_t i = 0; i < count; ++i) addLine(sums.data(), values[i], x + columns[i] * place.byRow, cols);
      return;
    }
    for (std::int64_t j = 0; j < cols; ++j) {
      N sum = sums[static_cast<std::size_t>(j)];
      for (std::int64_t i = 0; i < count; ++i) sum += values[i] * conjugatedIf(conjugates, widened<N>(x[place.at(columns[i], j)]));
      sums[static_cast<std::size_t>(j)] = sum;
    }
  }

  const Call call_;
  const Scaling<N> scaling_;
  RowSource<N> matrix_;
  DensePlace right_{sparse::Dense{}};
  std::vector<std::byte> copy_;  // of the right side, where `right_` is that
  bool conjugates_ = false;
  std::int64_t entry_ = 0, perPiece_ = 1;
};

// c = alpha (op(X) op(Y)) where c has elements, + beta c.
template <class N>
class DenseWhereSparse final : public Job {
 public:
  explicit DenseWhereSparse(const Call& call)
      : call_(call), scaling_(call), inner_(sparse::colsOf(call.x, call.opA)), matrix_(call.c, Operation::none, Function::sddmm) {}
  Status begin() {
    const Status begun = matrix_.begin(entry_);
    if (begun) perPiece_ = rowsOfPiece(matrix_.rows(), matrix_.elements() * static_cast<double>(inner_));
    return begun;
  }

  std::uint64_t pieces() const override { return static_cast<std::uint64_t>(blocksOf(matrix_.rows(), perPiece_)); }
  void run(std::uint64_t piece) override {
    const std::int64_t first = static_cast<std::int64_t>(piece) * perPiece_, end = std::min(first + perPiece_, matrix_.rows());
    DensePlace x(call_.x, entry_), y(call_.y, entry_);
    if (call_.opA != Operation::none) x.transpose();
    if (call_.opB != Operation::none) y.transpose();
    const std::uint64_t values =
        call_.c.values + static_cast<std::uint64_t>((call_.c.batch > 1 ? entry_ : 0) * call_.c.valuesStride) * sparse::bytesOf(call_.c.type);
    std::vector<N> line(static_cast<std::size_t>(inner_));
    typename RowSource<N>::Buffer buffer;
    withStored(call_.x.type, [&]<class T>(T) {
      withStored(call_.c.type, [&]<class C>(C) {
        const T* const from = reinterpret_cast<const T*>(x.address);
        const T* const with = reinterpret_cast<const T*>(y.address);
        C* const to = reinterpret_cast<C*>(values);
        for (std::int64_t row = first; row < end; ++row) {
          for (std::int64_t k = 0; k < inner_; ++k)
            line[static_cast<std::size_t>(k)] = conjugatedIf(call_.opA == Operation::conjugate, widened<N>(from[x.at(row, k)]));
          matrix_.row(row, buffer, [&](const std::int64_t* columns, const N*, const std::int64_t* places, std::int64_t count) {
            for (std::int64_t i = 0; i < count; ++i) {
              N sum{};
              for (std::int64_t k = 0; k < inner_; ++k)
                sum += line[static_cast<std::size_t>(k)] * conjugatedIf(call_.opB == Operation::conjugate, widened<N>(with[y.at(k, columns[i])]));
              scaling_.put(to[places[i]], sum);
            }
          });
        }
      });
    });
  }
  bool advance() override {
    if (++entry_ >= call_.c.batch) return false;
    if (const Status begun = begin(); !begun) throw Failure(begun.error());
    return true;
  }

 private:
  const Call call_;
  const Scaling<N> scaling_;
  const std::int64_t inner_;
  RowSource<N> matrix_;
  std::int64_t entry_ = 0, perPiece_ = 1;
};

// Of a job that has its first matrix read before it begins.
template <class Each>
SparseJob begun(std::unique_ptr<Each> job) {
  if (const Status status = job->begin(); !status) return status.error();
  return std::unique_ptr<Job>(std::move(job));
}

SparseJob makeTimesDense(const Call& call, Function function) {
  return sparse::isComplex(call.computeType) ? begun(std::make_unique<SparseTimesDense<c64>>(call, function))
                                             : begun(std::make_unique<SparseTimesDense<double>>(call, function));
}

}  // namespace

SparseJob makeSpmv(const Call& call) {
  if (!isPlain(call)) return makeTimesDense(call, Function::spmv);
  switch (call.computeType) {
    case sparse::Type::f32: return makePlain<float>(call);
    case sparse::Type::f64: return makePlain<double>(call);
    case sparse::Type::c32: return makePlain<c32>(call);
    default: return makePlain<c64>(call);
  }
}

SparseJob makeSpmm(const Call& call) { return makeTimesDense(call, Function::spmm); }

SparseJob makeSddmm(const Call& call) {
  return sparse::isComplex(call.computeType) ? begun(std::make_unique<DenseWhereSparse<c64>>(call)) : begun(std::make_unique<DenseWhereSparse<double>>(call));
}

}  // namespace rouse::library::cpu
