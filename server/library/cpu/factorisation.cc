// Factorisations of the matrices of a batch, and what is solved with them: each matrix by itself, small ones several to a piece.
#include <algorithm>
#include <cstring>
#include <vector>

#include "server/library/cpu/batch.h"
#include "server/library/cpu/lapack_calls.h"
#include "server/library/cpu/lu.h"

namespace rouse::library::cpu {
namespace {

using blas::Verb;

// Elements that a piece takes on, so that there is something to do for whoever takes it.
constexpr std::int64_t kFactorisationElements = std::int64_t{1} << 14;
// Columns that LAPACK brings together.
constexpr std::int64_t kFactorisationColumns = 32;

template <class T>
T* matrixAt(std::uint64_t address) {
  return reinterpret_cast<T*>(address);
}

void tell(const blas::Call& call, std::uint64_t entry, std::int64_t info) {
  if (call.infos == 0) return;
  const auto narrow = static_cast<std::int32_t>(info);
  std::memcpy(reinterpret_cast<std::byte*>(call.infos) + entry * sizeof narrow, &narrow, sizeof narrow);
}

template <class T>
class Factorisation {
 public:
  explicit Factorisation(const Batch& batch) : batch_(batch), call_(batch.call), n_(call_.n) {}

  void run(std::uint64_t entry) const {
    const Places p = batch_.places(entry);
    switch (batch_.info->verb) {
      case Verb::getrf:
        return tell(call_, entry, decompose(matrixAt<T>(p.a), entry));
      case Verb::getrs:
        return solve(toCblas(call_.transa), matrixAt<const T>(p.a), n_, call_.a.spacing, pivots(entry), matrixAt<T>(p.b), call_.k, call_.b.spacing);
      case Verb::getri:
        return tell(call_, entry, invert(matrixAt<const T>(p.a), call_.a.spacing, pivots(entry), matrixAt<T>(p.c)));
      case Verb::matinv:
        return tell(call_, entry, invertWhole(p));
      case Verb::geqrf:
        return reflect(matrixAt<T>(p.a), matrixAt<T>(p.x));
      default:
        return tell(call_, entry, leastSquares(p));
    }
  }

 private:
  const std::int32_t* pivots(std::uint64_t entry) const {
    return batch_.pivots.empty() ? nullptr : batch_.pivots.data() + entry * static_cast<std::uint64_t>(n_);
  }

  std::int64_t decompose(T* a, std::uint64_t entry) const {
    if (call_.pivots == 0) return factorise(a, n_, n_, call_.a.spacing, nullptr);
    // Not in the program's memory, where they could change before they are used.
    std::vector<std::int32_t> own(static_cast<std::size_t>(n_));
    const std::int64_t singular = factorise(a, n_, n_, call_.a.spacing, own.data());
    std::memcpy(reinterpret_cast<std::byte*>(call_.pivots) + entry * own.size() * sizeof own[0], own.data(), own.size() * sizeof own[0]);
    return singular;
  }

  // C = A^-1 from A's factors; a singular one leaves C alone.
  std::int64_t invert(const T* a, std::int64_t spacing, const std::int32_t* pivots, T* c) const {
    if (const std::int64_t singular = singularAt(a, n_, spacing); singular != 0) return singular;
    for (std::int64_t j = 0; j < n_; ++j) {
      std::fill_n(c + j * call_.c.spacing, n_, T{0});
      c[j + j * call_.c.spacing] = T{1};
    }
    solve(CblasNoTrans, a, n_, spacing, pivots, c, n_, call_.c.spacing);
    return 0;
  }

  std::int64_t invertWhole(const Places& p) const {
    const T* a = matrixAt<const T>(p.a);
    T own[blas::kMostInverted * blas::kMostInverted];
    std::int32_t exchanged[blas::kMostInverted];
    for (std::int64_t j = 0; j < n_; ++j) std::copy_n(a + j * call_.a.spacing, n_, own + j * n_);
    if (const std::int64_t singular = factorise(own, n_, n_, n_, exchanged); singular != 0) return singular;
    return invert(own, n_, exchanged, matrixAt<T>(p.c));
  }

  // `columns`: what LAPACK goes through with it at a time.
  // The first min(m, n) columns at once, which is as much memory to work in as a row of them has times 32; the rest in slices.
  void reflect(T* a, T* tau) const {
    const std::int64_t square = std::min(call_.m, n_);
    std::vector<T> work(static_cast<std::size_t>(square * kFactorisationColumns));
    geqrf(toInt(call_.m), toInt(square), a, toInt(call_.a.spacing), tau, work.data(), toInt(static_cast<std::int64_t>(work.size())));
    if (n_ > square) apply(a, tau, square, a + square * call_.a.spacing, n_ - square, call_.a.spacing);
  }

  // Q' times what is in c.
  void apply(const T* a, const T* tau, std::int64_t reflections, T* c, std::int64_t columns, std::int64_t spacing) const {
    constexpr std::int64_t kSlice = 1 << 12;
    std::vector<T> work(static_cast<std::size_t>((std::min(columns, kSlice) + kFactorisationColumns + 33) * kFactorisationColumns + 1024));
    for (std::int64_t first = 0; first < columns; first += kSlice)
      applyReflections(toInt(call_.m), toInt(std::min(kSlice, columns - first)), toInt(reflections), a, toInt(call_.a.spacing), tau, c + first * spacing,
                       toInt(spacing), work.data(), toInt(static_cast<std::int64_t>(work.size())));
  }

  std::int64_t leastSquares(const Places& p) const {
    T* const a = matrixAt<T>(p.a);
    T* const c = matrixAt<T>(p.c);
    std::vector<T> tau(static_cast<std::size_t>(n_));
    reflect(a, tau.data());
    if (const std::int64_t singular = singularAt<T>(a, n_, call_.a.spacing); singular != 0) return singular;
    apply(a, tau.data(), n_, c, call_.k, call_.c.spacing);
    trsm(CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, toInt(n_), toInt(call_.k), T{1}, a, toInt(call_.a.spacing), c, toInt(call_.c.spacing));
    return 0;
  }

  const Batch& batch_;
  const blas::Call& call_;
  const std::int64_t n_;
};

}  // namespace

std::unique_ptr<Job> makeFactorisation(Batch batch) {
  const blas::Call& call = batch.call;
  const std::int64_t elements = std::max(call.m, call.n) * std::max<std::int64_t>({call.n, call.k, 1});
  const auto together = static_cast<std::uint64_t>(std::max<std::int64_t>(kFactorisationElements / elements, 1));
  const std::uint64_t count = batch.count(), pieces = (count + together - 1) / together;
  return makePieces(pieces, [=, batch = std::move(batch)](std::uint64_t piece) {
    withBasic(batch.call.aType, [&]<class T>(T) {
      const Factorisation<T> each(batch);
      for (std::uint64_t entry = piece * together; entry < std::min(count, (piece + 1) * together); ++entry) each.run(entry);
    });
  });
}

}  // namespace rouse::library::cpu
