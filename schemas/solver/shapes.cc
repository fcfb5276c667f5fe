#include "schemas/solver/shapes.h"

#include <algorithm>
#include <limits>

namespace rouse::solver {
namespace {

constexpr std::uint32_t kAddressBytes = 8, kInfoBytes = 4;

// From one matrix of a batch to the next, where they lie behind each other. More than there are addresses is no stride that check() lets through.
std::int64_t behind(std::int64_t spacing, std::int64_t columns) {
  std::int64_t stride = 0;
  return __builtin_mul_overflow(spacing, columns, &stride) ? std::numeric_limits<std::int64_t>::max() : stride;
}

// Adds one operand after the other.
class List {
 public:
  List(Function function, const Call& call) : call_(call), type_(typeOf(function, call)), wide_(isWide(function)) {}

  void matrix(const char* name, const Matrix& m, std::int64_t rows, std::int64_t columns, bool written, std::int64_t count = 1, std::int64_t stride = 0) {
    add({.name = name, .address = m.address, .rows = rows, .columns = columns, .spacing = m.spacing, .count = count, .stride = stride, .bytes = bytesOf(type_),
         .partBytes = bytesOf(realOf(type_)), .written = written});
  }
  void arrays(const char* name, const Matrix& m, std::int64_t rows, std::int64_t columns, bool written) {
    matrix(name, m, rows, columns, written, call_.batch);
    list.items[list.count - 1].arrays = true;
  }
  void vector(const char* name, std::uint64_t address, Type type, std::int64_t length, bool written, std::int64_t count = 1, std::int64_t stride = 0,
              bool optional = false) {
    add({.name = name, .address = address, .rows = length, .columns = length > 0 ? 1 : 0, .spacing = length, .count = count, .stride = stride, .bytes = bytesOf(type),
         .partBytes = bytesOf(realOf(type)), .written = written, .optional = optional});
  }
  // Of the matrices' type, and of the real type beside it.
  void scalars(const char* name, std::uint64_t address, std::int64_t length, bool written) { vector(name, address, type_, length, written); }
  void reals(const char* name, std::uint64_t address, std::int64_t length, std::int64_t count = 1, std::int64_t stride = 0, bool optional = false) {
    vector(name, address, realOf(type_), length, true, count, stride, optional);
  }
  void pivots(std::int64_t length, bool written) {
    const std::uint32_t bytes = wide_ ? 8 : 4;
    add({.name = "pivots", .address = call_.pivots, .rows = length, .columns = length > 0 ? 1 : 0, .spacing = length, .bytes = bytes, .partBytes = bytes,
         .written = written, .optional = true});
  }
  void info(std::int64_t count) {
    add({.name = "info", .address = call_.info, .rows = count, .columns = count > 0 ? 1 : 0, .spacing = count, .bytes = kInfoBytes, .partBytes = kInfoBytes, .written = true});
  }

  Operands list;

 private:
  void add(const Operand& operand) { list.items[list.count++] = operand; }

  const Call& call_;
  const Type type_;
  const bool wide_;
};

}  // namespace

std::uint32_t bytesOf(Type type) {
  switch (type) {
    case Type::f32:
      return 4;
    case Type::f64:
    case Type::c32:
      return 8;
    case Type::c64:
      return 16;
    case Type::any:
      break;
  }
  return 0;
}

SingularVectors singularVectors(Function function, const Call& call) {
  const std::int64_t least = std::min(call.m, call.n);
  switch (info(function).verb) {
    case Verb::gesvd: {
      const auto columns = [&](std::uint8_t letter, std::int64_t all) { return letter == 'A' ? all : letter == 'S' ? least : 0; };
      return {columns(call.job, call.m), columns(call.otherJob, call.n)};
    }
    case Verb::gesvdj:
    case Verb::gesvdp:
      if (call.job == kValuesOnly) return {};
      return call.economy != 0 ? SingularVectors{least, least} : SingularVectors{call.m, call.n};
    case Verb::gesvdjBatched:
      return call.job == kValuesOnly ? SingularVectors{} : SingularVectors{call.m, call.n};
    case Verb::gesvda:
      return call.job == kValuesOnly ? SingularVectors{} : SingularVectors{call.k, call.k};
    default:
      return {};
  }
}

Operands operandsOf(Function function, const Call& call) {
  List list(function, call);
  const std::int64_t m = call.m, n = call.n, k = call.k, least = std::min(m, n), batch = call.batch;
  const std::int64_t side = call.side == Side::left ? m : n;
  const SingularVectors vectors = singularVectors(function, call);
  std::int64_t infos = 1;
  switch (info(function).verb) {
    case Verb::potrf:
    case Verb::potri:
    case Verb::trtri:
    case Verb::lauum:
      list.matrix("A", call.a, n, n, true);
      break;
    case Verb::potrs:
      list.matrix("A", call.a, n, n, false);
      list.matrix("B", call.b, n, k, true);
      break;
    case Verb::potrfBatched:
      list.arrays("A", call.a, n, n, true);
      infos = batch;
      break;
    case Verb::potrsBatched:
      list.arrays("A", call.a, n, n, false);
      list.arrays("B", call.b, n, k, true);
      break;
    case Verb::getrf:
      list.matrix("A", call.a, m, n, true);
      list.pivots(least, true);
      break;
    case Verb::getrs:
      list.matrix("A", call.a, n, n, false);
      list.pivots(n, false);
      list.matrix("B", call.b, n, k, true);
      break;
    case Verb::laswp:
      // How many rows there are its pivots say, which are read when it runs.
      list.matrix("A", call.a, call.last, n, true);
      list.pivots(call.first + (call.last - call.first) * std::abs(call.increment), false);
      list.list.items[list.list.count - 1].optional = false;
      infos = 0;
      break;
    case Verb::sytrf:
      list.matrix("A", call.a, n, n, true);
      list.pivots(n, true);
      break;
    case Verb::sytrs:
      list.matrix("A", call.a, n, n, false);
      list.pivots(n, false);
      list.matrix("B", call.b, n, k, true);
      break;
    case Verb::sytri:
      list.matrix("A", call.a, n, n, true);
      list.pivots(n, false);
      break;
    case Verb::geqrf:
      list.matrix("A", call.a, m, n, true);
      list.scalars("tau", call.tau, least, true);
      break;
    case Verb::orgqr:
      list.matrix("A", call.a, m, n, true);
      list.scalars("tau", call.tau, k, false);
      break;
    case Verb::ormqr:
      list.matrix("A", call.a, side, k, false);
      list.scalars("tau", call.tau, k, false);
      list.matrix("C", call.c, m, n, true);
      break;
    case Verb::gebrd:
      list.matrix("A", call.a, m, n, true);
      list.reals("D", call.values, least);
      list.reals("E", call.offDiagonal, std::max<std::int64_t>(least - 1, 0));
      list.scalars("tauQ", call.tau, least, true);
      list.scalars("tauP", call.otherTau, least, true);
      break;
    case Verb::orgbr:
      list.matrix("A", call.a, m, n, true);
      list.scalars("tau", call.tau, std::min(side, k), false);
      break;
    case Verb::sytrd:
      list.matrix("A", call.a, n, n, true);
      list.reals("D", call.values, n);
      list.reals("E", call.offDiagonal, std::max<std::int64_t>(n - 1, 0));
      list.scalars("tau", call.tau, std::max<std::int64_t>(n - 1, 0), true);
      break;
    case Verb::orgtr:
      list.matrix("A", call.a, n, n, true);
      list.scalars("tau", call.tau, std::max<std::int64_t>(n - 1, 0), false);
      break;
    case Verb::ormtr:
      list.matrix("A", call.a, side, side, false);
      list.scalars("tau", call.tau, std::max<std::int64_t>(side - 1, 0), false);
      list.matrix("C", call.c, m, n, true);
      break;
    case Verb::syevd:
    case Verb::syevdx:
    case Verb::syevj:
      list.matrix("A", call.a, n, n, true);
      list.reals("W", call.values, n);
      break;
    case Verb::syevBatched:
      list.matrix("A", call.a, n, n, true, batch, behind(call.a.spacing, n));
      list.reals("W", call.values, n, batch, n);
      infos = batch;
      break;
    case Verb::sygvd:
    case Verb::sygvdx:
    case Verb::sygvj:
      list.matrix("A", call.a, n, n, true);
      list.matrix("B", call.b, n, n, true);
      list.reals("W", call.values, n);
      break;
    case Verb::geev:
      list.matrix("A", call.a, n, n, true);
      // Real and imaginary parts of a real matrix's eigenvalues behind each other, where complex numbers are not asked for.
      list.vector("W", call.values, call.valuesType, isComplex(call.valuesType) ? n : 2 * n, true);
      if (call.otherJob == kVectorsToo) list.matrix("VR", call.c, n, n, true);
      break;
    case Verb::gesvd:
      list.matrix("A", call.a, m, n, true);
      list.reals("S", call.values, least);
      if (vectors.left != 0) list.matrix("U", call.b, m, vectors.left, true);
      if (vectors.right != 0) list.matrix("VT", call.c, vectors.right, n, true);
      list.reals("rwork", call.rest, std::max<std::int64_t>(least - 1, 0), 1, 0, true);
      break;
    case Verb::gesvdj:
    case Verb::gesvdp:
      list.matrix("A", call.a, m, n, true);
      list.reals("S", call.values, least);
      if (vectors.left != 0) list.matrix("U", call.b, m, vectors.left, true);
      if (vectors.right != 0) list.matrix("V", call.c, n, vectors.right, true);
      break;
    case Verb::gesvdjBatched:
      list.matrix("A", call.a, m, n, true, batch, behind(call.a.spacing, n));
      list.reals("S", call.values, least, batch, least);
      if (vectors.left != 0) list.matrix("U", call.b, m, vectors.left, true, batch, behind(call.b.spacing, m));
      if (vectors.right != 0) list.matrix("V", call.c, n, vectors.right, true, batch, behind(call.c.spacing, n));
      infos = batch;
      break;
    case Verb::gesvda:
      list.matrix("A", call.a, m, n, false, batch, call.a.stride);
      list.reals("S", call.values, k, batch, call.valuesStride);
      if (vectors.left != 0) list.matrix("U", call.b, m, vectors.left, true, batch, call.b.stride);
      if (vectors.right != 0) list.matrix("V", call.c, n, vectors.right, true, batch, call.c.stride);
      infos = batch;
      break;
  }
  list.info(infos);
  return list.list;
}

}  // namespace rouse::solver
