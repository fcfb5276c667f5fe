// Systems with three and five diagonals: Gaussian elimination inside the band, each system by itself, in double. Where rows may be exchanged the largest of those
// below is taken; what a program's diagonals hold stays as it is.
#include <cmath>

#include "server/library/cpu/batch.h"
#include "server/library/cpu/sparse/jobs.h"
#include "server/library/cpu/sparse/pattern.h"

namespace rouse::library::cpu {
namespace {

using sparse::Band;
using sparse::Call;
using sparse::Function;

// kBelow diagonals on each side. A row has its elements from column row - kBelow on; exchanges bring it kBelow more on the right.
template <class N, int kBelow>
class Banded {
 public:
  static constexpr std::int64_t kWidth = 3 * kBelow + 1;
  explicit Banded(std::int64_t rows) : rows_(rows), elements_(static_cast<std::size_t>(rows * kWidth)), pivots_(static_cast<std::size_t>(rows)) {}
  static double bytesOf(std::int64_t rows) { return static_cast<double>(rows) * (kWidth * sizeof(N) + 8); }

  N& at(std::int64_t row, std::int64_t column) { return elements_[static_cast<std::size_t>(row * kWidth + column - row + kBelow)]; }

  void factorise(bool exchanges) {
    for (std::int64_t k = 0; k < rows_; ++k) {
      const std::int64_t below = std::min(k + kBelow, rows_ - 1), right = std::min(k + 2 * kBelow, rows_ - 1);
      std::int64_t pivot = k;
      for (std::int64_t row = k + 1; exchanges && row <= below; ++row)
        if (std::abs(at(row, k)) > std::abs(at(pivot, k))) pivot = row;
      pivots_[static_cast<std::size_t>(k)] = pivot;
      // Of rows below, what is left of column k is multipliers, which stay where they have been made.
      if (pivot != k)
        for (std::int64_t column = k; column <= right; ++column) std::swap(at(k, column), at(pivot, column));
      for (std::int64_t row = k + 1; row <= below; ++row) {
        const N factor = at(row, k) / at(k, k);
        at(row, k) = factor;
        if (factor != N{})
          for (std::int64_t column = k + 1; column <= right; ++column) at(row, column) -= factor * at(k, column);
      }
    }
  }

  void solve(std::vector<N>& x) {
    const auto own = [&](std::int64_t row) -> N& { return x[static_cast<std::size_t>(row)]; };
    for (std::int64_t k = 0; k < rows_; ++k) {
      std::swap(own(k), own(pivots_[static_cast<std::size_t>(k)]));
      for (std::int64_t row = k + 1; row <= std::min(k + kBelow, rows_ - 1); ++row) own(row) -= at(row, k) * own(k);
    }
    for (std::int64_t k = rows_; k-- > 0;) {
      for (std::int64_t column = k + 1; column <= std::min(k + 2 * kBelow, rows_ - 1); ++column) own(k) -= at(k, column) * own(column);
      own(k) /= at(k, k);
    }
  }

 private:
  const std::int64_t rows_;
  std::vector<N> elements_;
  std::vector<std::int64_t> pivots_;
};

template <class N, int kBelow>
Banded<N, kBelow> read(const Call& call, std::int64_t system) {
  const Band& band = call.band;
  Banded<N, kBelow> matrix(band.rows);
  for (int diagonal = -kBelow; diagonal <= kBelow; ++diagonal) {
    const std::uint64_t address = band.diagonals[diagonal + 2];
    for (std::int64_t row = std::max<std::int64_t>(0, -diagonal); row < band.rows - std::max(0, diagonal); ++row)
      matrix.at(row, row + diagonal) = load<N>(call.computeType, address, row * band.spacing + system * band.stride);
  }
  return matrix;
}

template <class N, int kBelow>
void solveSystems(const Call& call, std::int64_t first, std::int64_t end) {
  std::vector<N> x(static_cast<std::size_t>(call.band.rows));
  const auto each = [&](Banded<N, kBelow>& matrix, std::uint64_t address, std::int64_t begin, std::int64_t spacing) {
    for (std::int64_t row = 0; row < call.band.rows; ++row) x[static_cast<std::size_t>(row)] = load<N>(call.computeType, address, begin + row * spacing);
    matrix.solve(x);
    for (std::int64_t row = 0; row < call.band.rows; ++row) store(call.computeType, address, begin + row * spacing, x[static_cast<std::size_t>(row)]);
  };
  if (call.band.oneMatrix != 0) {
    auto matrix = read<N, kBelow>(call, 0);
    matrix.factorise(call.band.pivots != 0);
    for (std::int64_t column = first; column < end; ++column) each(matrix, call.x.values, column * call.x.spacing, 1);
    return;
  }
  for (std::int64_t system = first; system < end; ++system) {
    auto matrix = read<N, kBelow>(call, system);
    matrix.factorise(call.band.pivots != 0);
    each(matrix, call.result, system * call.band.stride, call.band.spacing);
  }
}

template <class N, int kBelow>
SparseJob makeSystems(Function function, const Call& call) {
  const double bytes = Banded<N, kBelow>::bytesOf(call.band.rows) + static_cast<double>(call.band.rows) * sizeof(N);
  if (bytes > static_cast<double>(kMostJobBytes)) return tooLarge(function, bytes);
  const std::int64_t systems = call.band.oneMatrix != 0 ? call.x.cols : call.band.systems;
  // A system that needs more than a piece may have is worked on alone.
  const std::int64_t per = bytes > static_cast<double>(kMostPieceBytes) ? systems : std::max<std::int64_t>(1, kPieceWork / call.band.rows);
  return makePieces(static_cast<std::uint64_t>(blocksOf(systems, per)), [=](std::uint64_t piece) {
    const std::int64_t first = static_cast<std::int64_t>(piece) * per;
    solveSystems<N, kBelow>(call, first, std::min(first + per, systems));
  });
}

}  // namespace

SparseJob makeBand(Function function, const Call& call) {
  const bool five = function == Function::pentadiagonal;
  if (sparse::isComplex(call.computeType)) return five ? makeSystems<c64, 2>(function, call) : makeSystems<c64, 1>(function, call);
  return five ? makeSystems<double, 2>(function, call) : makeSystems<double, 1>(function, call);
}

}  // namespace rouse::library::cpu
