// Eigenvalues and eigenvectors, from copies: of what is not finite there are none, which info says, and all results are no numbers.
#include "server/library/cpu/cblas_calls.h"
#include "server/library/cpu/solver/lapack_values.h"
#include "server/library/cpu/solver/task.h"

namespace rouse::library::cpu::solving {
namespace {

using solver::Call;
using solver::Selection;
using solver::Verb;

// Which of the sorted values are asked for: from, and how many.
template <class R>
std::pair<std::int64_t, std::int64_t> selected(const Call& call, const std::vector<R>& values) {
  if (call.selection == Selection::byIndex) return {call.first - 1, call.last - call.first + 1};
  if (call.selection != Selection::byValue) return {0, call.n};
  const auto upTo = [&](double limit) { return std::ranges::count_if(values, [&](R value) { return !(static_cast<double>(value) > limit); }); };
  return {upTo(call.low), upTo(call.high) - upTo(call.low)};
}

void answer(const Task& task, std::int64_t count) {
  if (task.call.answer == 0) return;
  const auto narrow = static_cast<std::int32_t>(count);
  if (solver::isWide(task.function)) std::memcpy(at<std::byte>(task.call.answer), &count, sizeof count);
  else std::memcpy(at<std::byte>(task.call.answer), &narrow, sizeof narrow);
}

// Of a Hermitian matrix, or of A x = λ B x and its like.
template <class T>
void symmetric(const Task& task, std::uint64_t entry) {
  using R = real_t<T>;
  const Call& call = task.call;
  const std::int64_t n = call.n;
  const int size = toInt(n);
  const auto number = static_cast<std::int64_t>(entry);
  T* const a = at<T>(call.a.address, number * call.a.spacing * n);
  R* const w = at<R>(call.values, number * n);
  const char job = call.job == solver::kVectorsToo ? 'V' : 'N';
  const bool two = task.verb() == Verb::sygvd || task.verb() == Verb::sygvdx || task.verb() == Verb::sygvj;
  const bool byJacobi = task.verb() == Verb::syevj || task.verb() == Verb::sygvj || task.verb() == Verb::syevBatched;
  if (n == 0) {
    answer(task, 0);
    return tell(task, entry, 0);
  }

  std::vector<T> own = copied(a, n, n, call.a.spacing);
  std::vector<T> other = two ? copied(at<const T>(call.b.address), n, n, call.b.spacing) : std::vector<T>();
  std::vector<R> values(static_cast<std::size_t>(n));
  std::int64_t info = 0;
  if (!triangleFinite(own, n, call.uplo) || (two && !triangleFinite(other, n, call.uplo))) {
    std::ranges::fill(own, notANumber<T>());
    std::ranges::fill(values, notANumber<R>());
    info = byJacobi ? n + 1 : n;
  } else if (two) {
    info = lapack::sygvd(call.problem, job, letter(call.uplo), size, own.data(), size, other.data(), size, values.data());
    // B's factor, as far as it goes; its other triangle is as it was.
    copyTriangleBack(other, at<T>(call.b.address), n, call.b.spacing, call.uplo);
    if (info > n) return tell(task, entry, info);
  } else {
    info = lapack::syevd(job, letter(call.uplo), size, own.data(), size, values.data());
  }
  const auto [first, count] = selected(call, values);
  std::copy_n(values.begin() + first, count, w);
  if (job == 'V')
    for (std::int64_t j = 0; j < count; ++j) std::copy_n(own.begin() + (first + j) * n, n, a + j * call.a.spacing);
  answer(task, count);
  tell(task, entry, info);
}

template <class T>
void general(const Task& task) {
  using C = std::complex<real_t<T>>;
  const Call& call = task.call;
  const std::int64_t n = call.n;
  const bool vectors = call.otherJob == solver::kVectorsToo;
  if (n == 0) return tell(task, 0, 0);
  std::vector<T> own = copied(at<const T>(call.a.address), n, n, call.a.spacing), right = matrixOf<T>(n, vectors ? n : 0);
  std::vector<C> values(static_cast<std::size_t>(n));
  std::int64_t info = n;
  if (allFinite(own)) {
    info = lapack::geev(vectors ? 'V' : 'N', toInt(n), own.data(), toInt(n), values.data(), right.data(), toInt(n));
  } else {
    std::ranges::fill(values, notANumber<C>());
    std::ranges::fill(right, notANumber<T>());
  }
  if (solver::isComplex(call.valuesType)) {
    std::copy_n(values.data(), n, at<C>(call.values));
  } else {
    auto* const parts = at<real_t<T>>(call.values);
    for (std::int64_t i = 0; i < n; ++i) {
      parts[i] = values[static_cast<std::size_t>(i)].real();
      parts[n + i] = values[static_cast<std::size_t>(i)].imag();
    }
  }
  if (vectors) copyBack(right, at<T>(call.c.address), n, n, call.c.spacing);
  tell(task, 0, info);
}

}  // namespace

void runEigenvalues(const Task& task, std::uint64_t entry) {
  withType(task, [&]<class T>(T) {
    if (task.verb() == Verb::geev) general<T>(task);
    else symmetric<T>(task, entry);
  });
}

}  // namespace rouse::library::cpu::solving
