// Matrices with structure. Cut along what is independent: columns (or rows) of the result where a triangle is applied to it, block
// columns of the triangle where a triangle is what is made.
#include <algorithm>
#include <vector>

#include "server/library/cpu/batch.h"
#include "server/library/cpu/cblas_calls.h"

namespace rouse::library::cpu {
namespace {

using blas::Verb;

constexpr std::int64_t kBlock = 256;

template <class T>
T* element(std::uint64_t address, std::int64_t row, std::int64_t column, std::int64_t spacing) {
  return reinterpret_cast<T*>(address) + row + column * spacing;
}

// Columns of the result if the structured matrix stands left of the other, else rows.
struct Slice {
  std::int64_t row, column, rows, columns;
};
Slice sliceOf(const blas::Call& call, std::int64_t piece) {
  const bool left = call.side == blas::Side::left;
  const std::int64_t first = piece * kBlock, count = std::min(kBlock, (left ? call.n : call.m) - first);
  return left ? Slice{0, first, call.m, count} : Slice{first, 0, count, call.n};
}

template <class T>
void applySymmetric(const Batch& batch, const Places& p, Slice s) {
  const blas::Call& call = batch.call;
  const T* a = reinterpret_cast<const T*>(p.a);
  const T* b = element<T>(p.b, s.row, s.column, call.b.spacing);
  T* c = element<T>(p.c, s.row, s.column, call.c.spacing);
  const auto apply = [&](auto function) {
    function(toCblas(call.side), toCblas(call.uplo), toInt(s.rows), toInt(s.columns), as<T>(batch.alpha), a, toInt(call.a.spacing), b,
             toInt(call.b.spacing), as<T>(batch.beta), c, toInt(call.c.spacing));
  };
  if constexpr (kComplex<T>) {
    if (batch.info->verb == Verb::hemm) return apply([](auto... x) { hemm(x...); });
  }
  apply([](auto... x) { symm(x...); });
}

template <class T>
void applyTriangle(const Batch& batch, const Places& p, Slice s) {
  const blas::Call& call = batch.call;
  const T* a = reinterpret_cast<const T*>(p.a);
  T* b = element<T>(p.b, s.row, s.column, call.b.spacing);
  std::int64_t spacing = call.b.spacing;
  if (batch.info->verb == Verb::trsm) {
    trsm(toCblas(call.side), toCblas(call.uplo), toCblas(call.transa), toCblas(call.diag), toInt(s.rows), toInt(s.columns), as<T>(batch.alpha),
         a, toInt(call.a.spacing), b, toInt(spacing));
    return;
  }
  T* c = element<T>(p.c, s.row, s.column, call.c.spacing);
  if (c != b || call.c.spacing != spacing)
    for (std::int64_t j = 0; j < s.columns; ++j) std::copy_n(b + j * spacing, s.rows, c + j * call.c.spacing);
  trmm(toCblas(call.side), toCblas(call.uplo), toCblas(call.transa), toCblas(call.diag), toInt(s.rows), toInt(s.columns), as<T>(batch.alpha), a,
       toInt(call.a.spacing), c, toInt(call.c.spacing));
}

// C's triangle: alpha op(A) op(B)' + beta C, of which the block columns are computed by themselves: the square on the diagonal, and what
// is above or below it.
template <class T>
class Ranks {
 public:
  Ranks(const Batch& batch, const Places& p) : batch_(batch), call_(batch.call), p_(p) {}

  void block(std::int64_t first) const {
    const std::int64_t count = std::min(kBlock, call_.n - first);
    const bool lower = call_.uplo == blas::Triangle::lower;
    square(first, count);
    const std::int64_t row = lower ? first + count : 0, rows = lower ? call_.n - row : first;
    if (rows == 0) return;
    const T alpha = as<T>(batch_.alpha), beta = as<T>(batch_.beta);
    T* c = at(row, first);
    switch (batch_.info->verb) {
      case Verb::syrk:
      case Verb::herk:
        return product(alpha, p_.a, call_.a, row, rows, p_.a, call_.a, first, count, beta, c, call_.c.spacing);
      case Verb::syr2k:
      case Verb::her2k:
        product(alpha, p_.a, call_.a, row, rows, p_.b, call_.b, first, count, beta, c, call_.c.spacing);
        return product(hermitian() ? conjugate(alpha) : alpha, p_.b, call_.b, row, rows, p_.a, call_.a, first, count, T{1}, c, call_.c.spacing);
      default:
        return product(alpha, p_.a, call_.a, row, rows, p_.b, call_.b, first, count, beta, c, call_.c.spacing);
    }
  }

 private:
  bool hermitian() const {
    const Verb verb = batch_.info->verb;
    return verb == Verb::herk || verb == Verb::her2k || verb == Verb::herkx;
  }
  bool straight() const { return call_.transa == blas::Transpose::none; }
  T* at(std::int64_t row, std::int64_t column) const { return element<T>(p_.c, row, column, call_.c.spacing); }
  const T* rowsOf(std::uint64_t address, const blas::Operand& operand, std::int64_t row) const {
    return straight() ? element<T>(address, row, 0, operand.spacing) : element<T>(address, 0, row, operand.spacing);
  }

  // Rows of op(A) times rows of op(B), transposed.
  void product(T alpha, std::uint64_t a, const blas::Operand& aShape, std::int64_t row, std::int64_t rows, std::uint64_t b,
               const blas::Operand& bShape, std::int64_t column, std::int64_t columns, T beta, T* c, std::int64_t spacing) const {
    const CBLAS_TRANSPOSE turned = hermitian() ? CblasConjTrans : CblasTrans;
    gemm(straight() ? CblasNoTrans : turned, straight() ? turned : CblasNoTrans, toInt(rows), toInt(columns), toInt(call_.k), alpha,
         rowsOf(a, aShape, row), toInt(aShape.spacing), rowsOf(b, bShape, column), toInt(bShape.spacing), beta, c, toInt(spacing));
  }

  // Whole, beside C, and then the triangle of it: A and B may make it anything but symmetric (syrkx), and OpenBLAS's own order need
  // not be that of the rest.
  void square(std::int64_t first, std::int64_t count) const {
    std::vector<T> whole(static_cast<std::size_t>(count * count));
    const T alpha = as<T>(batch_.alpha), beta = as<T>(batch_.beta);
    const Verb verb = batch_.info->verb;
    const bool one = verb == Verb::syrk || verb == Verb::herk;
    product(alpha, p_.a, call_.a, first, count, one ? p_.a : p_.b, one ? call_.a : call_.b, first, count, T{0}, whole.data(), count);
    if (verb == Verb::syr2k || verb == Verb::her2k)
      product(hermitian() ? conjugate(alpha) : alpha, p_.b, call_.b, first, count, p_.a, call_.a, first, count, T{1}, whole.data(), count);
    const bool lower = call_.uplo == blas::Triangle::lower;
    for (std::int64_t j = 0; j < count; ++j) {
      for (std::int64_t i = lower ? j : 0; i < (lower ? count : j + 1); ++i) {
        T& c = *at(first + i, first + j);
        T value = whole[static_cast<std::size_t>(i + j * count)];
        if (beta != T{0}) value += beta * c;
        if constexpr (kComplex<T>) {
          if (i == j && hermitian()) value = T(value.real());
        }
        c = value;
      }
    }
  }

  const Batch& batch_;
  const blas::Call& call_;
  const Places& p_;
};

template <class T>
void add(const Batch& batch, std::int64_t first, std::int64_t count) {
  const blas::Call& call = batch.call;
  const T alpha = as<T>(batch.alpha), beta = as<T>(batch.beta);
  const auto read = [](const blas::Operand& operand, blas::Transpose transpose, std::int64_t i, std::int64_t j) {
    if (transpose == blas::Transpose::none) return *element<T>(operand.address, i, j, operand.spacing);
    const T value = *element<T>(operand.address, j, i, operand.spacing);
    return transpose == blas::Transpose::conjugated ? conjugate(value) : value;
  };
  constexpr std::int64_t kRows = 32;  // transposed reads come from few lines
  for (std::int64_t row = 0; row < call.m; row += kRows) {
    for (std::int64_t j = first; j < first + count; ++j) {
      for (std::int64_t i = row; i < std::min(row + kRows, call.m); ++i) {
        T value{};
        if (alpha != T{0}) value += alpha * read(call.a, call.transa, i, j);
        if (beta != T{0}) value += beta * read(call.b, call.transb, i, j);
        *element<T>(call.c.address, i, j, call.c.spacing) = value;
      }
    }
  }
}

template <class T>
void scaleByDiagonal(const Batch& batch, std::int64_t first, std::int64_t count) {
  const blas::Call& call = batch.call;
  const bool left = call.side == blas::Side::left;
  const Vector<T> x(call.x.address, left ? call.m : call.n, call.x.spacing);
  for (std::int64_t j = first; j < first + count; ++j) {
    const T* a = element<T>(call.a.address, 0, j, call.a.spacing);
    T* c = element<T>(call.c.address, 0, j, call.c.spacing);
    for (std::int64_t i = 0; i < call.m; ++i) c[i] = a[i] * (left ? x[i] : x[j]);
  }
}

}  // namespace

std::unique_ptr<Job> makeLevel3(Batch batch) {
  const blas::Call& call = batch.call;
  switch (batch.info->verb) {
    case Verb::symm:
    case Verb::hemm:
    case Verb::trmm:
    case Verb::trsm: {
      const bool triangle = batch.info->verb == Verb::trmm || batch.info->verb == Verb::trsm;
      const auto each = static_cast<std::uint64_t>(blocksOf(call.side == blas::Side::left ? call.n : call.m, kBlock));
      const std::uint64_t pieces = each * batch.count();
      return makePieces(pieces, [=, batch = std::move(batch)](std::uint64_t piece) {
        const Places p = batch.places(piece / each);
        const Slice slice = sliceOf(batch.call, static_cast<std::int64_t>(piece % each));
        withBasic(batch.call.aType, [&]<class T>(T) {
          if (triangle) applyTriangle<T>(batch, p, slice);
          else applySymmetric<T>(batch, p, slice);
        });
      });
    }
    case Verb::geam:
    case Verb::dgmm: {
      const bool adds = batch.info->verb == Verb::geam;
      const std::int64_t columns = std::max<std::int64_t>((std::int64_t{1} << 17) / call.m, 16);
      const auto pieces = static_cast<std::uint64_t>(blocksOf(call.n, columns));
      return makePieces(pieces, [=, batch = std::move(batch)](std::uint64_t piece) {
        const auto first = static_cast<std::int64_t>(piece) * columns;
        const std::int64_t count = std::min(columns, batch.call.n - first);
        withBasic(batch.call.cType, [&]<class T>(T) { (adds ? add<T> : scaleByDiagonal<T>)(batch, first, count); });
      });
    }
    default: {
      const auto pieces = static_cast<std::uint64_t>(blocksOf(call.n, kBlock));
      return makePieces(pieces, [batch = std::move(batch)](std::uint64_t piece) {
        const Places p = batch.places(0);
        withBasic(batch.call.cType, [&]<class T>(T) { Ranks<T>(batch, p).block(static_cast<std::int64_t>(piece) * kBlock); });
      });
    }
  }
}

}  // namespace rouse::library::cpu
