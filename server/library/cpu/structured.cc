// A matrix of which a triangle or a band is stored, and vectors: symmetric, Hermitian, triangular, banded. By hand, a column at a time. Cut by rows of the result where
// that is a vector, each of which adds up what it needs in the order of the columns; by columns where it is the matrix; what solves or multiplies a vector in place is one
// piece. Of the diagonal of a Hermitian matrix the real part counts, and is all that is written.
#include <algorithm>
#include <vector>

#include "server/library/cpu/batch.h"
#include "server/library/cpu/cblas_calls.h"
#include "server/library/cpu/stored.h"

namespace rouse::library::cpu {
namespace {

using blas::Verb;

// Elements of a matrix that one piece reads; rows that it adds up at most.
constexpr std::int64_t kStructuredElements = std::int64_t{1} << 18, kStructuredRows = std::int64_t{1} << 16;

bool isHermitian(Verb verb) {
  return verb == Verb::hemv || verb == Verb::hbmv || verb == Verb::hpmv || verb == Verb::her || verb == Verb::hpr || verb == Verb::her2 || verb == Verb::hpr2;
}

template <class T>
Stored<T> storedOf(const Batch& batch) {
  const blas::Call& call = batch.call;
  switch (batch.info->verb) {
    case Verb::gbmv:
      return Stored<T>::band(call.a.address, call.m, call.n, call.k, call.ku, call.a.spacing);
    case Verb::sbmv:
    case Verb::hbmv:
    case Verb::tbmv:
    case Verb::tbsv:
      return Stored<T>::diagonals(call.a.address, call.uplo, call.n, call.k, call.a.spacing);
    case Verb::spmv:
    case Verb::hpmv:
    case Verb::tpmv:
    case Verb::tpsv:
    case Verb::spr:
    case Verb::hpr:
    case Verb::spr2:
    case Verb::hpr2:
      return Stored<T>::packed(call.a.address, call.uplo, call.n);
    default:
      return Stored<T>::triangle(call.a.address, call.uplo, call.n, call.a.spacing);
  }
}

template <class T>
T turnedElement(T value, blas::Transpose transpose) {
  return transpose == blas::Transpose::conjugated ? conjugate(value) : value;
}

// y = alpha sums + beta y, of these rows; with a factor of 0 nothing is read.
template <class T>
void addTo(const Vector<T>& y, Rows rows, const std::vector<T>& sums, T alpha, T beta) {
  for (std::int64_t i = rows.first; i < rows.end; ++i) y[i] = alpha * sums[i - rows.first] + (beta == T{0} ? T{0} : beta * y[i]);
}

template <class T>
void multiplySymmetric(const Batch& batch, Rows block) {
  const blas::Call& call = batch.call;
  const bool hermitian = isHermitian(batch.info->verb);
  const Stored<T> a = storedOf<T>(batch);
  const Vector<T> x(call.x.address, call.n, call.x.spacing), y(call.y.address, call.n, call.y.spacing);
  std::vector<T> sums(static_cast<std::size_t>(block.end - block.first));
  const Rows columns = a.columnsOf(block, true);
  for (std::int64_t j = columns.first; j < columns.end; ++j) {
    const Rows rows = a.beside(j), shared{std::max(rows.first, block.first), std::min(rows.end, block.end)};
    const T* column = rows.first < rows.end ? &a(rows.first, j) : nullptr;
    const T factor = x[j];
    for (std::int64_t i = shared.first; i < shared.end; ++i) sums[i - block.first] += column[i - rows.first] * factor;
    if (j < block.first || j >= block.end) continue;
    T sum = a(j, j);
    if constexpr (kComplex<T>) sum = hermitian ? T(sum.real()) : sum;
    sum *= factor;
    for (std::int64_t i = rows.first; i < rows.end; ++i) sum += (hermitian ? conjugate(column[i - rows.first]) : column[i - rows.first]) * x[i];
    sums[j - block.first] += sum;
  }
  addTo(y, block, sums, as<T>(batch.alpha), as<T>(batch.beta));
}

template <class T>
void multiplyBand(const Batch& batch, Rows block) {
  const blas::Call& call = batch.call;
  const bool straight = call.transa == blas::Transpose::none;
  const Stored<T> a = storedOf<T>(batch);
  const Vector<T> x(call.x.address, straight ? call.n : call.m, call.x.spacing), y(call.y.address, straight ? call.m : call.n, call.y.spacing);
  std::vector<T> sums(static_cast<std::size_t>(block.end - block.first));
  const Rows columns = straight ? a.columnsOf(block, false) : block;
  for (std::int64_t j = columns.first; j < columns.end; ++j) {
    const Rows rows = a.rows(j);
    if (straight) {
      for (std::int64_t i = std::max(rows.first, block.first); i < std::min(rows.end, block.end); ++i) sums[i - block.first] += a(i, j) * x[j];
    } else {
      for (std::int64_t i = rows.first; i < rows.end; ++i) sums[j - block.first] += turnedElement(a(i, j), call.transa) * x[i];
    }
  }
  addTo(y, block, sums, as<T>(batch.alpha), as<T>(batch.beta));
}

template <class T>
void addRanks(const Batch& batch, Rows columns) {
  const blas::Call& call = batch.call;
  const Verb verb = batch.info->verb;
  const bool hermitian = isHermitian(verb), two = verb == Verb::syr2 || verb == Verb::her2 || verb == Verb::spr2 || verb == Verb::hpr2;
  const Stored<T> a = storedOf<T>(batch);
  const Vector<T> x(call.x.address, call.n, call.x.spacing), y(call.y.address, call.n, call.y.spacing);
  const T alpha = as<T>(batch.alpha);
  const auto mirrored = [&](T value) { return hermitian ? conjugate(value) : value; };
  const auto onDiagonal = [&](T value) {
    if constexpr (kComplex<T>) return hermitian ? T(value.real()) : value;
    return value;
  };
  for (std::int64_t j = columns.first; j < columns.end; ++j) {
    const T left = alpha * mirrored(two ? y[j] : x[j]), right = two ? mirrored(alpha) * mirrored(x[j]) : T{0};
    const Rows rows = a.rows(j);
    T* column = &a(rows.first, j);
    for (std::int64_t i = rows.first; i < rows.end; ++i) {
      T& element = column[i - rows.first];
      T value = (i == j ? onDiagonal(element) : element) + x[i] * left;
      if (two) value += y[i] * right;
      element = i == j ? onDiagonal(value) : value;
    }
  }
}

// x = op(A) x, or its solution.
template <class T>
void applyInPlace(const Batch& batch) {
  const blas::Call& call = batch.call;
  const Stored<T> a = storedOf<T>(batch);
  const Vector<T> x(call.x.address, call.n, call.x.spacing);
  const Verb verb = batch.info->verb;
  const bool solves = verb == Verb::tbsv || verb == Verb::tpsv, lower = call.uplo == blas::Triangle::lower;
  const bool straight = call.transa == blas::Transpose::none, unit = call.diag == blas::Diagonal::unit;
  // Whether a column's element is not needed any more when it is reached.
  const bool ascending = straight == solves ? lower : !lower;
  for (std::int64_t step = 0; step < call.n; ++step) {
    const std::int64_t j = ascending ? step : call.n - 1 - step;
    const Rows rows = a.beside(j);
    const T diagonal = unit ? T{1} : turnedElement(a(j, j), call.transa);
    if (straight) {
      if (solves && !unit) x[j] = x[j] / diagonal;
      const T factor = x[j];
      for (std::int64_t i = rows.first; i < rows.end; ++i) {
        if (solves) x[i] -= factor * a(i, j);
        else x[i] += factor * a(i, j);
      }
      if (!solves && !unit) x[j] = factor * diagonal;
      continue;
    }
    T sum{};
    for (std::int64_t i = rows.first; i < rows.end; ++i) sum += turnedElement(a(i, j), call.transa) * x[i];
    if (solves) x[j] = unit ? x[j] - sum : (x[j] - sum) / diagonal;
    else x[j] = (unit ? x[j] : x[j] * diagonal) + sum;
  }
}

// Dense triangles: OpenBLAS's.
template <class T>
void applyTriangleToVector(const Batch& batch) {
  const blas::Call& call = batch.call;
  auto* x = reinterpret_cast<T*>(call.x.address);
  const auto* a = reinterpret_cast<const T*>(call.a.address);
  const auto u = toCblas(call.uplo);
  const auto t = toCblas(call.transa);
  const auto d = toCblas(call.diag);
  if (batch.info->verb == Verb::trmv) trmv(u, t, d, toInt(call.n), a, toInt(call.a.spacing), x, toInt(call.x.spacing));
  else trsv(u, t, d, toInt(call.n), a, toInt(call.a.spacing), x, toInt(call.x.spacing));
}

template <class T>
void repack(const Batch& batch, Rows columns) {
  const blas::Call& call = batch.call;
  const auto whole = Stored<T>::triangle(call.a.address, call.uplo, call.n, call.a.spacing), packed = Stored<T>::packed(call.b.address, call.uplo, call.n);
  const bool packs = batch.info->verb == Verb::trttp;
  for (std::int64_t j = columns.first; j < columns.end; ++j) {
    const Rows rows = whole.rows(j);
    T* const from = packs ? &whole(rows.first, j) : &packed(rows.first, j);
    std::copy_n(from, rows.end - rows.first, packs ? &packed(rows.first, j) : &whole(rows.first, j));
  }
}

// How many rows of a vector, or columns of a matrix, a piece does.
std::int64_t linesOf(const Batch& batch) {
  const blas::Call& call = batch.call;
  std::int64_t length = call.n;
  switch (batch.info->verb) {
    case Verb::gbmv:
      length = std::min(call.k + call.ku + 1, call.transa == blas::Transpose::none ? call.n : call.m);
      break;
    case Verb::sbmv:
    case Verb::hbmv:
      length = std::min(2 * call.k + 1, call.n);
      break;
    default:
      break;
  }
  return std::clamp<std::int64_t>(kStructuredElements / std::max<std::int64_t>(length, 1), 64, kStructuredRows);
}

template <class T>
void runStructured(const Batch& batch, Rows lines) {
  switch (batch.info->verb) {
    case Verb::symv:
    case Verb::hemv:
    case Verb::sbmv:
    case Verb::hbmv:
    case Verb::spmv:
    case Verb::hpmv:
      return multiplySymmetric<T>(batch, lines);
    case Verb::gbmv:
      return multiplyBand<T>(batch, lines);
    case Verb::tpttr:
    case Verb::trttp:
      return repack<T>(batch, lines);
    case Verb::trmv:
    case Verb::trsv:
      return applyTriangleToVector<T>(batch);
    case Verb::tbmv:
    case Verb::tbsv:
    case Verb::tpmv:
    case Verb::tpsv:
      return applyInPlace<T>(batch);
    default:
      return addRanks<T>(batch, lines);
  }
}

}  // namespace

std::unique_ptr<Job> makeStructured(Batch batch) {
  const blas::Call& call = batch.call;
  const Verb verb = batch.info->verb;
  const bool inPlace = verb == Verb::trmv || verb == Verb::trsv || verb == Verb::tbmv || verb == Verb::tbsv || verb == Verb::tpmv || verb == Verb::tpsv;
  const std::int64_t length = verb == Verb::gbmv && call.transa == blas::Transpose::none ? call.m : call.n;
  const std::int64_t lines = inPlace ? length : linesOf(batch);
  const auto pieces = static_cast<std::uint64_t>(blocksOf(length, lines));
  return makePieces(pieces, [=, batch = std::move(batch)](std::uint64_t piece) {
    const auto first = static_cast<std::int64_t>(piece) * lines;
    const Rows block{first, std::min(first + lines, length)};
    withBasic(batch.call.aType, [&]<class T>(T) { runStructured<T>(batch, block); });
  });
}

}  // namespace rouse::library::cpu
