// Factorisations of square matrices, what is solved with them, and inverses.
#include "server/library/cpu/lu.h"
#include "server/library/cpu/solver/lapack.h"
#include "server/library/cpu/solver/task.h"

namespace rouse::library::cpu::solving {
namespace {

using solver::Call;
using solver::Verb;

// A triangular factor whose diagonal is no number is none: OpenBLAS goes on, LAPACK says at which column it ended.
template <class T>
std::int64_t firstUndefined(const T* a, std::int64_t n, std::int64_t spacing) {
  for (std::int64_t i = 0; i < n; ++i)
    if (!(std::real(a[i + i * spacing]) > 0)) return i + 1;
  return 0;
}

template <class T>
std::int64_t choleskyOf(const Call& call, T* a) {
  if (call.n == 0) return 0;
  const int failed = lapack::potrf(letter(call.uplo), toInt(call.n), a, toInt(call.a.spacing));
  return failed != 0 ? failed : firstUndefined(a, call.n, call.a.spacing);
}

// Pivots in the program's memory, 32 or 64 bits each.
void putPivots(const Task& task, const std::vector<std::int32_t>& own) {
  if (!solver::isWide(task.function)) {
    std::memcpy(at<std::byte>(task.call.pivots), own.data(), own.size() * sizeof own[0]);
    return;
  }
  const std::vector<std::int64_t> wide(own.begin(), own.end());
  std::memcpy(at<std::byte>(task.call.pivots), wide.data(), wide.size() * sizeof wide[0]);
}

// The first min(m, n) columns, then the rows of U beside them.
template <class T>
std::int64_t decompose(const Task& task) {
  const Call& call = task.call;
  T* const a = at<T>(call.a.address);
  const std::int64_t square = std::min(call.m, call.n), right = call.n - square, spacing = call.a.spacing;
  std::vector<std::int32_t> own(call.pivots != 0 ? static_cast<std::size_t>(square) : 0);
  std::int32_t* const pivots = call.pivots != 0 ? own.data() : nullptr;
  const std::int64_t singular = square == 0 ? 0 : factorise(a, call.m, square, spacing, pivots);
  if (right > 0 && square > 0) {
    T* const beside = a + square * spacing;
    if (pivots != nullptr)
      for (std::int64_t i = 0; i < square; ++i) exchangeRows(beside, spacing, right, i, pivots[i] - 1);
    trsm(CblasLeft, CblasLower, CblasNoTrans, CblasUnit, toInt(square), toInt(right), T{1}, a, toInt(spacing), beside, toInt(spacing));
  }
  if (pivots != nullptr) putPivots(task, own);
  return singular;
}

CBLAS_TRANSPOSE toCblas(solver::Transpose transpose) {
  return transpose == solver::Transpose::none ? CblasNoTrans : transpose == solver::Transpose::transposed ? CblasTrans : CblasConjTrans;
}

// In pivots' order, or against it.
template <class T>
void exchange(const Task& task) {
  const Call& call = task.call;
  const std::int64_t count = call.last - call.first + 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t k = call.increment > 0 ? i : count - 1 - i;
    exchangeRows(at<T>(call.a.address), call.a.spacing, call.n, call.first - 1 + k, task.pivots[static_cast<std::size_t>(k)] - 1);
  }
}

template <class T>
std::int64_t factoriseSymmetric(const Task& task) {
  const Call& call = task.call;
  T* const a = at<T>(call.a.address);
  std::vector<T> own = copied(a, call.n, call.n, call.a.spacing);
  std::vector<std::int32_t> pivots(static_cast<std::size_t>(call.n));
  std::int64_t singular = 0;
  if (triangleFinite(own, call.n, call.uplo)) {
    singular = lapack::sytrf(letter(call.uplo), toInt(call.n), own.data(), toInt(call.n), pivots.data());
  } else {
    for (std::int64_t i = 0; i < call.n; ++i) pivots[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i + 1);
    std::ranges::fill(own, notANumber<T>());
    singular = 1;
  }
  copyTriangleBack(own, a, call.n, call.a.spacing, call.uplo);
  putPivots(task, pivots);
  return singular;
}

// A triangle that becomes another, in a copy.
template <class T, class Change>
std::int64_t changeTriangle(const Call& call, Change&& change) {
  if (call.n == 0) return 0;
  T* const a = at<T>(call.a.address);
  std::vector<T> own = copied(a, call.n, call.n, call.a.spacing);
  const int info = change(letter(call.uplo), toInt(call.n), own.data());
  copyTriangleBack(own, a, call.n, call.a.spacing, call.uplo);
  return info;
}

template <class T>
std::int64_t run(const Task& task, std::uint64_t entry) {
  const Call& call = task.call;
  const char uplo = letter(call.uplo);
  const int n = toInt(call.n), k = toInt(call.k), lda = toInt(call.a.spacing), ldb = toInt(call.b.spacing);
  T* const a = at<T>(task.a.empty() ? call.a.address : task.a[entry]);
  T* const b = at<T>(task.b.empty() ? call.b.address : task.b[entry]);
  switch (task.verb()) {
    case Verb::potrf:
    case Verb::potrfBatched:
      return choleskyOf(call, a);
    case Verb::potrs:
    case Verb::potrsBatched:
      return n == 0 || k == 0 ? 0 : lapack::potrs(uplo, n, k, a, lda, b, ldb);
    case Verb::potri:
      return changeTriangle<T>(call, [](char triangle, int size, T* own) { return lapack::potri(triangle, size, own, size); });
    case Verb::lauum:
      return changeTriangle<T>(call, [](char triangle, int size, T* own) { return lapack::lauum(triangle, size, own, size); });
    case Verb::trtri:
      return changeTriangle<T>(call, [&](char triangle, int size, T* own) {
        return lapack::trtri(triangle, call.diagonal == solver::Diagonal::unit ? 'U' : 'N', size, own, size);
      });
    case Verb::getrf:
      return decompose<T>(task);
    case Verb::getrs:
      if (n != 0 && k != 0)
        solve(toCblas(call.transpose), static_cast<const T*>(a), call.n, call.a.spacing, task.pivots.empty() ? nullptr : task.pivots.data(), b, call.k, call.b.spacing);
      return 0;
    case Verb::laswp:
      exchange<T>(task);
      return 0;
    case Verb::sytrf:
      return n == 0 ? 0 : factoriseSymmetric<T>(task);
    case Verb::sytrs:
      return n == 0 || k == 0 ? 0 : lapack::sytrs(uplo, n, k, a, lda, task.pivots.data(), b, ldb);
    default:
      return changeTriangle<T>(call, [&](char triangle, int size, T* own) { return lapack::sytri(triangle, size, own, size, task.pivots.data()); });
  }
}

}  // namespace

void runFactors(const Task& task, std::uint64_t entry) {
  withType(task, [&]<class T>(T) {
    const std::int64_t info = run<T>(task, entry);
    if (task.verb() == Verb::laswp) return;
    // Of a batch's solutions there is one.
    if (task.verb() != Verb::potrsBatched || entry == 0) tell(task, entry, info);
  });
}

}  // namespace rouse::library::cpu::solving
