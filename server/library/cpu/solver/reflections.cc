// Q R, and what else is done by reflections. LAPACK changes what it reflects by, for a while: where that is the program's to read only, it is a copy.
#include "server/library/cpu/cblas_calls.h"
#include "server/library/cpu/solver/lapack.h"
#include "server/library/cpu/solver/task.h"

namespace rouse::library::cpu::solving {
namespace {

using solver::Call;
using solver::Verb;

template <class T>
std::int64_t run(const Task& task) {
  using R = real_t<T>;
  const Call& call = task.call;
  T* const a = at<T>(call.a.address);
  const int m = toInt(call.m), n = toInt(call.n), k = toInt(call.k), lda = toInt(call.a.spacing), ldc = toInt(call.c.spacing);
  const std::int64_t side = call.side == solver::Side::left ? call.m : call.n;
  T* const tau = at<T>(call.tau);
  T* const c = at<T>(call.c.address);
  const bool nothing = m == 0 || n == 0;
  switch (task.verb()) {
    case Verb::geqrf:
      return nothing ? 0 : lapack::geqrf(m, n, a, lda, tau);
    case Verb::orgqr:
      return nothing ? 0 : lapack::orgqr(m, n, k, a, lda, tau);
    case Verb::ormqr: {
      if (nothing || k == 0) return 0;
      const std::vector<T> own = copied(a, side, call.k, call.a.spacing);
      return lapack::ormqr(letter(call.side), letter<T>(call.transpose), m, n, k, own.data(), toInt(side), tau, c, ldc);
    }
    case Verb::gebrd:
      return nothing ? 0 : lapack::gebrd(m, n, a, lda, at<R>(call.values), at<R>(call.offDiagonal), tau, at<T>(call.otherTau));
    case Verb::orgbr:
      return nothing ? 0 : lapack::orgbr(call.side == solver::Side::left ? 'Q' : 'P', m, n, k, a, lda, tau);
    case Verb::sytrd:
      return n == 0 ? 0 : lapack::sytrd(letter(call.uplo), n, a, lda, at<R>(call.values), at<R>(call.offDiagonal), tau);
    case Verb::orgtr:
      return n == 0 ? 0 : lapack::orgtr(letter(call.uplo), n, a, lda, tau);
    default: {
      if (nothing || side <= 1) return 0;
      const std::vector<T> own = copied(a, side, side, call.a.spacing);
      return lapack::ormtr(letter(call.side), letter(call.uplo), letter<T>(call.transpose), m, n, own.data(), toInt(side), tau, c, ldc);
    }
  }
}

}  // namespace

void runReflections(const Task& task, std::uint64_t entry) {
  withType(task, [&]<class T>(T) { tell(task, entry, run<T>(task)); });
}

}  // namespace rouse::library::cpu::solving
