// Singular values and vectors, from copies: of what is not finite there are none, which info says, and all results are no numbers.
#include "server/library/cpu/cblas_calls.h"
#include "server/library/cpu/solver/lapack_values.h"
#include "server/library/cpu/solver/task.h"

namespace rouse::library::cpu::solving {
namespace {

using solver::Call;
using solver::Verb;

// By QR, as gesvd's letters say.
template <class T>
void byLetters(const Task& task) {
  using R = real_t<T>;
  const Call& call = task.call;
  const std::int64_t m = call.m, n = call.n, least = std::min(m, n);
  T* const a = at<T>(call.a.address);
  if (least == 0) return tell(task, 0, 0);
  const solver::SingularVectors wanted = solver::singularVectors(task.function, call);
  std::vector<T> own = copied(a, m, n, call.a.spacing);
  std::vector<T> u = matrixOf<T>(m, wanted.left), vt = matrixOf<T>(wanted.right, n);
  std::vector<R> s(static_cast<std::size_t>(least)), rest(s.size());
  std::int64_t info = least;
  if (allFinite(own)) {
    info = lapack::gesvd(static_cast<char>(call.job), static_cast<char>(call.otherJob), toInt(m), toInt(n), own.data(), toInt(m), s.data(), u.data(), toInt(m), vt.data(),
                         toInt(std::max<std::int64_t>(wanted.right, 1)), rest.data());
  } else {
    for (auto* vectors : {&own, &u, &vt}) std::ranges::fill(*vectors, notANumber<T>());
    std::ranges::fill(s, notANumber<R>());
    std::ranges::fill(rest, notANumber<R>());
  }
  std::ranges::copy(s, at<R>(call.values));
  // Which the call says that it overwrites.
  if (call.job == 'O' || call.otherJob == 'O') copyBack(own, a, m, n, call.a.spacing);
  if (wanted.left != 0) copyBack(u, at<T>(call.b.address), m, wanted.left, call.b.spacing);
  if (wanted.right != 0) copyBack(vt, at<T>(call.c.address), wanted.right, n, call.c.spacing);
  if (info > 0 && call.rest != 0) std::copy_n(rest.begin(), least - 1, at<R>(call.rest));
  tell(task, 0, info);
}

// Where matrix number `entry` and its results are.
template <class T>
struct Places {
  const T* a;
  real_t<T>* s;
  T* u;
  T* v;
};
template <class T>
Places<T> placesOf(const Task& task, std::int64_t entry) {
  using R = real_t<T>;
  const Call& call = task.call;
  const std::int64_t least = std::min(call.m, call.n);
  if (task.verb() == Verb::gesvda)
    return {at<T>(call.a.address, entry * call.a.stride), at<R>(call.values, entry * call.valuesStride), at<T>(call.b.address, entry * call.b.stride),
            at<T>(call.c.address, entry * call.c.stride)};
  return {at<T>(call.a.address, entry * call.a.spacing * call.n), at<R>(call.values, entry * least), at<T>(call.b.address, entry * call.b.spacing * call.m),
          at<T>(call.c.address, entry * call.c.spacing * call.n)};
}

// What A - U S V' is in Frobenius' norm, of the first `rank` of S: without vectors, what the others are.
template <class T>
double residualOf(const std::vector<T>& a, const std::vector<real_t<T>>& s, const std::vector<T>& u, const std::vector<T>& vt, std::int64_t m, std::int64_t n,
                  std::int64_t rank, bool vectors) {
  const auto least = static_cast<std::int64_t>(s.size());
  double sum = 0;
  if (!vectors) {
    for (std::int64_t l = rank; l < least; ++l) sum += static_cast<double>(s[static_cast<std::size_t>(l)]) * static_cast<double>(s[static_cast<std::size_t>(l)]);
    return std::sqrt(sum);
  }
  std::vector<T> scaled(u.begin(), u.begin() + m * rank), left = a;
  for (std::int64_t l = 0; l < rank; ++l)
    for (std::int64_t i = 0; i < m; ++i) scaled[static_cast<std::size_t>(i + l * m)] *= s[static_cast<std::size_t>(l)];
  if (rank > 0)
    gemm(CblasNoTrans, CblasNoTrans, toInt(m), toInt(n), toInt(rank), T{-1}, scaled.data(), toInt(m), vt.data(), toInt(least), T{1}, left.data(), toInt(m));
  for (const T& each : left) sum += static_cast<double>(std::norm(each));
  return std::sqrt(sum);
}

// By dividing, and where that does not end by QR: U and V, of which the batch's and the economical forms take the first columns.
template <class T>
void whole(const Task& task, std::uint64_t entry) {
  using R = real_t<T>;
  const Call& call = task.call;
  const std::int64_t m = call.m, n = call.n, least = std::min(m, n);
  const bool some = task.verb() == Verb::gesvda;
  const auto answerWith = [&](double value) {
    if (call.answer != 0) std::memcpy(at<double>(call.answer, static_cast<std::int64_t>(entry)), &value, sizeof value);
  };
  if (least == 0) {
    answerWith(0);
    return tell(task, entry, 0);
  }
  const solver::SingularVectors wanted = solver::singularVectors(task.function, call);
  const bool vectors = call.job == solver::kVectorsToo, economical = some || call.economy != 0;
  const std::int64_t left = !vectors ? 0 : economical ? least : m, right = !vectors ? 0 : economical ? least : n;
  const Places<T> places = placesOf<T>(task, static_cast<std::int64_t>(entry));
  const std::vector<T> before = copied(places.a, m, n, call.a.spacing);
  std::vector<T> own = before, u = matrixOf<T>(m, left), vt = matrixOf<T>(right, n);
  std::vector<R> s(static_cast<std::size_t>(least));
  std::int64_t info = least + 1;
  if (allFinite(before)) {
    const char job = !vectors ? 'N' : economical ? 'S' : 'A';
    const int ldvt = toInt(std::max<std::int64_t>(right, 1));
    info = lapack::gesdd(job, toInt(m), toInt(n), own.data(), toInt(m), s.data(), u.data(), toInt(m), vt.data(), ldvt);
    if (info != 0) {
      own = before;
      std::vector<R> rest(s.size());
      info = lapack::gesvd(job, job, toInt(m), toInt(n), own.data(), toInt(m), s.data(), u.data(), toInt(m), vt.data(), ldvt, rest.data());
    }
  } else {
    std::ranges::fill(u, notANumber<T>());
    std::ranges::fill(vt, notANumber<T>());
    std::ranges::fill(s, notANumber<R>());
  }
  std::copy_n(s.begin(), some ? call.k : least, places.s);
  if (vectors) {
    for (std::int64_t j = 0; j < wanted.left; ++j) std::copy_n(u.begin() + j * m, m, places.u + j * call.b.spacing);
    // V, where LAPACK has its conjugate transpose.
    for (std::int64_t j = 0; j < wanted.right; ++j)
      for (std::int64_t i = 0; i < n; ++i) places.v[i + j * call.c.spacing] = conjugate(vt[static_cast<std::size_t>(j + i * right)]);
  }
  if (call.answer != 0) answerWith(some ? residualOf(before, s, u, vt, m, n, call.k, vectors) : 0.0);
  tell(task, entry, info);
}

}  // namespace

void runSingularValues(const Task& task, std::uint64_t entry) {
  withType(task, [&]<class T>(T) {
    if (task.verb() == Verb::gesvd) byLetters<T>(task);
    else whole<T>(task, entry);
  });
}

}  // namespace rouse::library::cpu::solving
