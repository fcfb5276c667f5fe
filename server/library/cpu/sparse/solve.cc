// Triangular systems: rows follow each other, right sides beside each other are the pieces. Sums are kept in double, and so is the solution until it is stored.
#include <algorithm>

#include "server/library/cpu/batch.h"
#include "server/library/cpu/sparse/jobs.h"
#include "server/library/cpu/sparse/pattern.h"

namespace rouse::library::cpu {
namespace {

using sparse::Call;
using sparse::Operation;

// Right sides that a piece takes together.
constexpr std::int64_t kSolvedTogether = 8;

template <class N>
class TriangleJob final : public Job {
 public:
  explicit TriangleJob(const Call& call) : call_(call), alpha_(scalarOf<N>(call, call.alpha)) {
    // The other triangle of what is transposed.
    upper_ = (call.a.triangle == sparse::Triangle::upper) != (call.opA != Operation::none);
    unit_ = call.a.unitDiagonal != 0;
  }

  Status begin() {
    auto pattern = readPattern(call_.a, call_.opA, 0, sparse::Function::solve);
    if (!pattern) return pattern.error();
    pattern_ = std::move(*pattern);
    values_ = readValues<N>(call_.a, pattern_, call_.opA, 0);
    const std::uint64_t column = static_cast<std::uint64_t>(pattern_.rows) * sizeof(N);
    if (column > kMostPieceBytes) return tooLarge(sparse::Function::solve, static_cast<double>(column) * static_cast<double>(call_.y.cols));
    together_ = std::clamp<std::int64_t>(static_cast<std::int64_t>(kMostPieceBytes / std::max<std::uint64_t>(1, column)), 1, kSolvedTogether);
    diagonal_.assign(static_cast<std::size_t>(pattern_.rows), N{});
    for (std::int64_t row = 0; row < pattern_.rows; ++row)
      for (std::int64_t i = begin(row); i < begin(row + 1); ++i)
        if (pattern_.columns[static_cast<std::size_t>(i)] == row) diagonal_[static_cast<std::size_t>(row)] += values_[static_cast<std::size_t>(i)];
    tellPivot();
    return {};
  }

  std::uint64_t pieces() const override { return static_cast<std::uint64_t>(blocksOf(call_.y.cols, together_)); }
  void run(std::uint64_t piece) override {
    const std::int64_t first = static_cast<std::int64_t>(piece) * together_, count = std::min(together_, call_.y.cols - first), rows = pattern_.rows;
    std::vector<N> solution(static_cast<std::size_t>(rows * count));
    DensePlace from(call_.x);
    if (call_.opB != Operation::none) from.transpose();
    const DensePlace to(call_.y);
    withStored(call_.x.type, [&]<class T>(T) {
      const T* const x = reinterpret_cast<const T*>(from.address);
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t j = 0; j < count; ++j)
          solution[static_cast<std::size_t>(row * count + j)] = alpha_ * conjugatedIf(call_.opB == Operation::conjugate, widened<N>(x[from.at(row, first + j)]));
    });
    for (std::int64_t step = 0; step < rows; ++step) solveRow(upper_ ? rows - 1 - step : step, solution.data(), count);
    withStored(call_.y.type, [&]<class T>(T) {
      T* const y = reinterpret_cast<T*>(to.address);
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t j = 0; j < count; ++j) narrowTo(y[to.at(row, first + j)], solution[static_cast<std::size_t>(row * count + j)]);
    });
  }

 private:
  std::int64_t begin(std::int64_t row) const { return pattern_.offsets[static_cast<std::size_t>(row)]; }

  // Elements of the other triangle are not looked at.
  void solveRow(std::int64_t row, N* solution, std::int64_t count) const {
    N* const own = solution + row * count;
    for (std::int64_t i = begin(row); i < begin(row + 1); ++i) {
      const std::int64_t column = pattern_.columns[static_cast<std::size_t>(i)];
      if (upper_ ? column <= row : column >= row) continue;
      const N value = values_[static_cast<std::size_t>(i)];
      const N* const other = solution + column * count;
      for (std::int64_t j = 0; j < count; ++j) own[j] -= value * other[j];
    }
    if (!unit_)
      for (std::int64_t j = 0; j < count; ++j) own[j] /= diagonal_[static_cast<std::size_t>(row)];
  }

  // The first row, or block's row, whose element of the diagonal is not there or 0; -1: there is none.
  void tellPivot() const {
    if (call_.answer == 0) return;
    std::int64_t pivot = -1;
    for (std::size_t row = 0; row < diagonal_.size() && !unit_ && pivot < 0; ++row)
      if (diagonal_[row] == N{}) pivot = static_cast<std::int64_t>(row) / std::max<std::int64_t>(1, call_.a.blockRows) + call_.a.base;
    tell(call_, pivot);
  }

  const Call call_;
  const N alpha_;
  bool upper_ = false, unit_ = false;
  Pattern pattern_;
  std::vector<N> values_, diagonal_;
  std::int64_t together_ = 1;
};

template <class N>
SparseJob makeTriangle(const Call& call) {
  auto job = std::make_unique<TriangleJob<N>>(call);
  if (const Status begun = job->begin(); !begun) return begun.error();
  return std::unique_ptr<Job>(std::move(job));
}

}  // namespace

SparseJob makeSparseSolve(const Call& call) { return sparse::isComplex(call.computeType) ? makeTriangle<c64>(call) : makeTriangle<double>(call); }

}  // namespace rouse::library::cpu
