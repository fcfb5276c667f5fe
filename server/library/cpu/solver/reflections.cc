// Q R, and what else is done by reflections, in copies: LAPACK changes for a while what it reflects by, and OpenBLAS reads a little more than it is given.
#include "server/library/cpu/cblas_calls.h"
#include "server/library/cpu/solver/lapack.h"
#include "server/library/cpu/solver/task.h"

namespace rouse::library::cpu::solving {
namespace {

using solver::Call;
using solver::Verb;

// A vector of the call's, in a copy as matrices are (matrixOf): LAPACK works in some of them.
template <class T>
std::vector<T> vectorAt(std::uint64_t address, std::int64_t length) {
  return copied(at<const T>(address), length, 1, length);
}

// What is reflected by: it is only read.
template <class T>
std::int64_t apply(const Task& task) {
  const Call& call = task.call;
  const std::int64_t side = call.side == solver::Side::left ? call.m : call.n;
  const bool tridiagonal = task.verb() == Verb::ormtr;
  const std::int64_t columns = tridiagonal ? side : call.k;
  if (call.m == 0 || call.n == 0 || columns == 0 || (tridiagonal && side == 1)) return 0;
  const std::vector<T> own = copied(at<const T>(call.a.address), side, columns, call.a.spacing);
  const char from = letter(call.side), transpose = letter<T>(call.transpose);
  const int m = toInt(call.m), n = toInt(call.n), ldc = toInt(call.c.spacing);
  const std::vector<T> tau = vectorAt<T>(call.tau, tridiagonal ? side - 1 : call.k);
  T* const c = at<T>(call.c.address);
  if (tridiagonal) return lapack::ormtr(from, letter(call.uplo), transpose, m, n, own.data(), toInt(side), tau.data(), c, ldc);
  return lapack::ormqr(from, transpose, m, n, toInt(call.k), own.data(), toInt(side), tau.data(), c, ldc);
}

template <class T>
std::int64_t run(const Task& task) {
  using R = real_t<T>;
  const Call& call = task.call;
  const bool square = task.verb() == Verb::sytrd || task.verb() == Verb::orgtr;
  const std::int64_t rows = square ? call.n : call.m;
  if (rows == 0 || call.n == 0) return 0;
  T* const a = at<T>(call.a.address);
  std::vector<T> own = copied(a, rows, call.n, call.a.spacing);
  const int m = toInt(rows), n = toInt(call.n), k = toInt(call.k);
  const std::int64_t least = std::min(rows, call.n), side = call.side == solver::Side::left ? call.m : call.n;
  const std::int64_t reflections = square ? call.n - 1 : task.verb() == Verb::orgqr ? call.k : task.verb() == Verb::orgbr ? std::min(side, call.k) : least;
  std::vector<T> tau = vectorAt<T>(call.tau, reflections), other = matrixOf<T>(least, 1);
  const auto tell = [&] { std::copy_n(tau.begin(), reflections, at<T>(call.tau)); };
  const char uplo = letter(call.uplo);
  int info = 0;
  switch (task.verb()) {
    case Verb::geqrf:
      info = lapack::geqrf(m, n, own.data(), m, tau.data());
      tell();
      break;
    case Verb::orgqr:
      info = lapack::orgqr(m, n, k, own.data(), m, tau.data());
      break;
    case Verb::gebrd:
      info = lapack::gebrd(m, n, own.data(), m, at<R>(call.values), at<R>(call.offDiagonal), tau.data(), other.data());
      tell();
      std::copy_n(other.begin(), least, at<T>(call.otherTau));
      break;
    case Verb::orgbr:
      info = lapack::orgbr(call.side == solver::Side::left ? 'Q' : 'P', m, n, k, own.data(), m, tau.data());
      break;
    case Verb::sytrd:
      info = lapack::sytrd(uplo, n, own.data(), n, at<R>(call.values), at<R>(call.offDiagonal), tau.data());
      tell();
      copyTriangleBack(own, a, call.n, call.a.spacing, call.uplo);
      return info;
    default:
      info = lapack::orgtr(uplo, n, own.data(), n, tau.data());
      break;
  }
  copyBack(own, a, rows, call.n, call.a.spacing);
  return info;
}

}  // namespace

void runReflections(const Task& task, std::uint64_t entry) {
  withType(task, [&]<class T>(T) { 
    const bool applies = task.verb() == Verb::ormqr || task.verb() == Verb::ormtr;
    tell(task, entry, applies ? apply<T>(task) : run<T>(task));
  });
}

}  // namespace rouse::library::cpu::solving
