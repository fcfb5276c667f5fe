#include "schemas/sparse/check.h"

#include <cstring>
#include <initializer_list>

namespace rouse::sparse {
namespace {

// As wide as products of two counts are; what is larger than any memory stays so.
__extension__ using Wide = __int128;
constexpr Wide kTooMany = Wide{1} << 62;

Wide times(Wide a, Wide b) { return a == 0 || b == 0 ? 0 : a >= kTooMany / b ? kTooMany : a * b; }

constexpr Check kRuns{};
Check invalid(const char* what) { return {Verdict::invalidValue, what}; }
Check unsupported(const char* what) { return {Verdict::unsupported, what}; }
bool runs(const Check& check) { return check.verdict == Verdict::runs; }

template <class T>
bool isNothing(const T& part) {
  const T none{};
  return std::memcmp(&part, &none, sizeof none) == 0;
}

bool isCount(std::int64_t number) { return number >= 0 && number <= kMostCount; }
bool among(Format format, std::initializer_list<Format> some) {
  for (const Format each : some)
    if (each == format) return true;
  return false;
}
bool isServed(Type type) { return bytesOf(type) != 0; }
bool isKnown(Operation op) { return op <= Operation::conjugate; }

// Which types of operands go together: those of cuSPARSE's tables that are served.
bool together(Type a, Type x, Type y, Type compute) {
  const bool floats = compute == Type::f32 || compute == Type::f64 || compute == Type::c32 || compute == Type::c64;
  if (floats && a == compute && x == compute && y == compute) return true;
  if (a != x) return false;
  if (a == Type::i8) return (compute == Type::i32 && y == Type::i32) || (compute == Type::f32 && y == Type::f32);
  return (a == Type::f16 || a == Type::bf16) && compute == Type::f32 && (y == a || y == Type::f32);
}
bool isFloat(Type type) { return type == Type::f32 || type == Type::f64 || type == Type::c32 || type == Type::c64; }

Check checkBlocks(const Sparse& m) {
  const bool blocks = m.format == Format::bsr || m.format == Format::blockedEll;
  if (!blocks) return m.blockRows == 0 && m.blockCols == 0 ? kRuns : invalid("blocks of a matrix that has none");
  if (m.blockRows < 1 || m.blockCols < 1 || m.blockRows > kMostInt || m.blockCols > kMostInt) return invalid("the size of blocks");
  if (m.rows % m.blockRows != 0 || m.cols % m.blockCols != 0) return invalid("a part of a block");
  if (m.format == Format::blockedEll && (m.blockRows != m.blockCols || m.width % m.blockCols != 0 || m.width > m.cols)) return invalid("a row's stored columns");
  return kRuns;
}

Check checkExtents(const Sparse& m) {
  const Wide blocks = m.format == Format::bsr ? times(m.blockRows, m.blockCols) : 1;
  if (times(m.nnz, blocks) > kMostCount) return invalid("more elements than memory can hold");
  if (m.format == Format::blockedEll && times(m.rows, m.width) > kMostCount) return invalid("more elements than memory can hold");
  const Extents extents = extentsOf(m);
  const auto fits = [&](std::int64_t each, std::int64_t stride, std::uint32_t bytes) {
    return each == 0 || times(Wide{each} + times(m.batch - 1, stride), bytes) <= static_cast<Wide>(kMostBytes);
  };
  const std::int64_t offsetsStride = m.format == Format::coo ? m.indicesStride : m.offsetsStride;
  return fits(extents.offsets, offsetsStride, 8) && fits(extents.indices, m.indicesStride, 8) && fits(extents.values, m.valuesStride, 16)
             ? kRuns
             : invalid("a matrix longer than memory");
}

Check check(const Sparse& m, std::initializer_list<Format> formats) {
  if (m.format == Format::none || m.format > Format::vector || static_cast<int>(m.format) == 4) return invalid("a format");
  if (!among(m.format, formats)) return unsupported("a matrix in this format");
  if (!isCount(m.rows) || !isCount(m.cols) || !isCount(m.nnz) || !isCount(m.width) || !isCount(m.stored)) return invalid("a matrix's size");
  if (m.offsetsStride < 0 || m.indicesStride < 0 || m.valuesStride < 0 || m.offsetsStride > kMostCount || m.indicesStride > kMostCount ||
      m.valuesStride > kMostCount)
    return invalid("a stride");
  if (m.batch < 1) return invalid("a batch");
  if (m.base > 1 || m.unitDiagonal > 1 || m.triangle > Triangle::upper) return invalid("a matrix's attributes");
  for (const std::uint8_t byte : m.padding)
    if (byte != 0) return invalid("a field that is not 0");
  if (!isServed(m.type)) return unsupported("a type of values");
  if (m.indicesType == Index::u16 || m.offsetsType == Index::u16) return unsupported("16-bit indices");
  const bool hasOffsets = !among(m.format, {Format::blockedEll, Format::vector});
  if (m.indicesType != Index::i32 && m.indicesType != Index::i64) return invalid("a type of indices");
  if (hasOffsets ? m.offsetsType != Index::i32 && m.offsetsType != Index::i64 : m.offsetsType != Index::none || m.offsets != 0) return invalid("a type of offsets");
  if (m.format == Format::coo && m.offsetsType != m.indicesType) return invalid("types of indices");
  if (m.order > Order::row || (m.format == Format::bsr) != (m.order != Order::none)) return invalid("the order in blocks");
  if (m.format == Format::vector && (m.cols != 1 || m.batch != 1 || m.nnz > m.rows)) return invalid("a sparse vector");
  if (among(m.format, {Format::blockedEll, Format::slicedEll}) ? m.width < 1 && (m.format == Format::slicedEll || m.rows != 0) : m.width != 0)
    return invalid("a width");
  if (m.format == Format::slicedEll ? m.nnz > m.stored : m.stored != 0) return invalid("a number of stored values");
  if (m.format == Format::blockedEll && m.nnz != 0) return invalid("a number of elements");
  if (m.batch == 1 && (m.offsetsStride != 0 || m.indicesStride != 0 || m.valuesStride != 0)) return invalid("a stride of one matrix");
  if (const Check blocks = checkBlocks(m); !runs(blocks)) return blocks;
  return checkExtents(m);
}

Check check(const Dense& m, bool output) {
  if (!isCount(m.rows) || !isCount(m.cols) || !isCount(m.spacing) || !isCount(m.stride) || m.batch < 1) return invalid("a dense operand's size");
  if (m.padding[0] != 0 || m.padding[1] != 0) return invalid("a field that is not 0");
  if (!isServed(m.type)) return unsupported("a type of values");
  if (m.order != Order::column && m.order != Order::row) return invalid("an order");
  const std::int64_t line = m.order == Order::column ? m.rows : m.cols, lines = m.order == Order::column ? m.cols : m.rows;
  if (m.spacing < line) return invalid("a leading dimension");
  if (m.batch == 1 && m.stride != 0) return invalid("a stride of one matrix");
  const Wide each = line == 0 || lines == 0 ? 0 : times(lines - 1, m.spacing) + line;
  if (times(each + times(m.batch - 1, m.stride), 16) > static_cast<Wide>(kMostBytes)) return invalid("a dense operand longer than memory");
  if (output && m.batch > 1 && m.stride < each) return invalid("results on top of each other");
  return kRuns;
}

Check vectorCheck(const Dense& m, std::int64_t length, bool output) {
  if (const Check shape = check(m, output); !runs(shape)) return shape;
  return m.cols == 1 && m.batch == 1 && m.rows == length ? kRuns : invalid("a vector's size");
}

// One sparse and two dense operands.
Check checkProduct(const Call& call) {
  if (call.y.rows != rowsOf(call.a, call.opA) || call.x.batch < 1) return invalid("sizes that do not fit");
  if (rowsOf(call.x, call.opB) != colsOf(call.a, call.opA) || colsOf(call.x, call.opB) != call.y.cols) return invalid("sizes that do not fit");
  const std::int32_t batch = call.y.batch;
  if ((call.a.batch != 1 && call.a.batch != batch) || (call.x.batch != 1 && call.x.batch != batch)) return invalid("batches that do not fit");
  if (!together(call.a.type, call.x.type, call.y.type, call.computeType)) return unsupported("these types together");
  return call.y.rows == 0 || call.y.cols == 0 ? Check{Verdict::empty, "a result without elements"} : kRuns;
}

Check checkSddmm(const Call& call) {
  if (const Check c = check(call.c, {Format::csr, Format::bsr}); !runs(c)) return c;
  if (const Check x = check(call.x, false); !runs(x)) return x;
  if (const Check y = check(call.y, false); !runs(y)) return y;
  if (rowsOf(call.x, call.opA) != call.c.rows || colsOf(call.y, call.opB) != call.c.cols || colsOf(call.x, call.opA) != rowsOf(call.y, call.opB))
    return invalid("sizes that do not fit");
  const std::int32_t batch = call.c.batch;
  if ((call.x.batch != 1 && call.x.batch != batch) || (call.y.batch != 1 && call.y.batch != batch)) return invalid("batches that do not fit");
  if (batch > 1 && call.c.valuesStride < extentsOf(call.c).values) return invalid("results on top of each other");
  if (!together(call.x.type, call.y.type, call.c.type, call.computeType)) return unsupported("these types together");
  return call.c.nnz == 0 ? Check{Verdict::empty, "a result without elements"} : kRuns;
}

Check checkSolve(const Call& call) {
  if (const Check a = check(call.a, {Format::csr, Format::csc, Format::coo, Format::bsr, Format::slicedEll}); !runs(a)) return a;
  if (const Check x = check(call.x, false); !runs(x)) return x;
  if (const Check y = check(call.y, true); !runs(y)) return y;
  if (call.a.rows != call.a.cols) return invalid("a triangle that is not square");
  if (call.y.rows != call.a.rows || rowsOf(call.x, call.opB) != call.y.rows || colsOf(call.x, call.opB) != call.y.cols) return invalid("sizes that do not fit");
  if (call.a.batch != 1 || call.x.batch != 1 || call.y.batch != 1) return unsupported("batches of triangles");
  if (!isFloat(call.computeType) || call.a.type != call.computeType || call.x.type != call.computeType || call.y.type != call.computeType)
    return unsupported("these types together");
  return call.y.rows == 0 || call.y.cols == 0 ? Check{Verdict::empty, "a result without elements"} : kRuns;
}

bool single(const Sparse& m) { return m.batch == 1; }

Check checkSparseProduct(Function function, const Call& call) {
  for (const Sparse* m : {&call.a, &call.b, &call.c}) {
    if (m == &call.c && function != Function::product) continue;
    if (const Check checked = check(*m, {Format::csr}); !runs(checked)) return checked;
    if (!single(*m)) return unsupported("batches of sparse products");
  }
  if (call.opA != Operation::none || call.opB != Operation::none) return unsupported("products of transposed sparse matrices");
  if (call.a.cols != call.b.rows) return invalid("sizes that do not fit");
  if (function != Function::product) return call.a.rows == 0 ? Check{Verdict::empty, "a result without rows"} : kRuns;
  if (call.c.rows != call.a.rows || call.c.cols != call.b.cols) return invalid("sizes that do not fit");
  const bool halves = (call.a.type == Type::f16 || call.a.type == Type::bf16) && (call.computeType == call.a.type || call.computeType == Type::f32);
  if (call.b.type != call.a.type || call.c.type != call.a.type || !(halves || (isFloat(call.computeType) && call.a.type == call.computeType)))
    return unsupported("these types together");
  return kRuns;
}

Check checkVector(Function function, const Call& call) {
  if (const Check a = check(call.a, {Format::vector}); !runs(a)) return a;
  const bool reads = function == Function::gather || function == Function::dot;
  const Dense& dense = reads ? call.x : call.y;
  if (const Check other = vectorCheck(dense, call.a.rows, !reads); !runs(other)) return other;
  if (function == Function::gather || function == Function::scatter) {
    if (dense.type != call.a.type) return invalid("types that differ");
  } else {
    const bool mixed = (call.a.type == Type::f16 || call.a.type == Type::bf16) && call.computeType == Type::f32;
    const bool bytes = function == Function::dot && call.a.type == Type::i8 && (call.computeType == Type::i32 || call.computeType == Type::f32);
    if (dense.type != call.a.type || !(mixed || bytes || (isFloat(call.computeType) && call.computeType == call.a.type)))
      return unsupported("these types together");
  }
  if (function != Function::dot && call.opA != Operation::none) return invalid("an operation");
  const bool scales = function == Function::axpby && call.a.rows != 0;
  return call.a.nnz == 0 && function != Function::dot && !scales ? Check{Verdict::empty, "a vector without elements"} : kRuns;
}

Check checkConversion(Function function, const Call& call) {
  const bool from = function != Function::toDense;
  const Dense& dense = from ? call.x : call.y;
  if (const Check checked = check(dense, !from); !runs(checked)) return checked;
  if (dense.batch != 1) return unsupported("conversions of batches");
  if (function == Function::fromDenseCount) return dense.rows == 0 || dense.cols == 0 ? Check{Verdict::empty, "a matrix without elements"} : kRuns;
  const Sparse& sparse = from ? call.c : call.a;
  const Check checked =
      from ? check(sparse, {Format::csr, Format::csc, Format::coo}) : check(sparse, {Format::csr, Format::csc, Format::coo, Format::bsr});
  if (!runs(checked)) return checked;
  if (!single(sparse)) return unsupported("conversions of batches");
  if (sparse.rows != dense.rows || sparse.cols != dense.cols) return invalid("sizes that do not fit");
  if (sparse.type != dense.type) return invalid("types that differ");
  return !from && (dense.rows == 0 || dense.cols == 0) ? Check{Verdict::empty, "a matrix without elements"} : kRuns;
}

// Functions that know 32-bit indices only.
Check checkNarrow(const Sparse& m, std::initializer_list<Format> formats) {
  if (const Check checked = check(m, formats); !runs(checked)) return checked;
  if (m.indicesType != Index::i32 || m.offsetsType != Index::i32 || !single(m)) return invalid("indices");
  return m.rows <= kMostInt && m.cols <= kMostInt && m.nnz <= kMostInt ? kRuns : invalid("a matrix's size");
}

Check checkIndices(Function function, const Call& call) {
  if (function == Function::identity)
    return call.count < 0 || call.count > kMostInt ? invalid("a count") : call.count == 0 ? Check{Verdict::empty, "nothing"} : kRuns;
  if (function == Function::sort) {
    if (const Check a = checkNarrow(call.a, {Format::csr, Format::csc, Format::coo}); !runs(a)) return a;
    if (call.byColumn > 1 || (call.byColumn != 0 && call.a.format != Format::coo)) return invalid("an order");
    return call.a.nnz == 0 ? Check{Verdict::empty, "nothing to sort"} : kRuns;
  }
  const bool compresses = function == Function::compress;
  if (const Check a = checkNarrow(call.a, {compresses ? Format::coo : Format::csr}); !runs(a)) return a;
  if (const Check c = checkNarrow(call.c, {compresses ? Format::csr : Format::coo}); !runs(c)) return c;
  if (call.a.rows != call.c.rows || call.a.nnz != call.c.nnz || call.a.base != call.c.base) return invalid("sizes that do not fit");
  return !compresses && call.a.nnz == 0 ? Check{Verdict::empty, "nothing to expand"} : kRuns;
}

Check checkTranspose(const Call& call) {
  if (const Check a = checkNarrow(call.a, {Format::csr}); !runs(a)) return a;
  if (const Check c = checkNarrow(call.c, {Format::csc}); !runs(c)) return c;
  if (call.a.rows != call.c.rows || call.a.cols != call.c.cols || call.a.nnz != call.c.nnz || call.a.type != call.c.type) return invalid("sizes that do not fit");
  return (call.a.values == 0) == (call.c.values == 0) || call.a.nnz == 0 ? kRuns : invalid("values of one side only");
}

Check checkSum(Function function, const Call& call) {
  for (const Sparse* m : {&call.a, &call.b, &call.c})
    if (const Check checked = checkNarrow(*m, {Format::csr}); !runs(checked)) return checked;
  if (call.b.rows != call.a.rows || call.b.cols != call.a.cols || call.c.rows != call.a.rows || call.c.cols != call.a.cols) return invalid("sizes that do not fit");
  if (call.c.nnz != 0) return invalid("a number of elements that is to be found");
  if (function == Function::sumCount) return kRuns;
  if (!isFloat(call.computeType) || call.a.type != call.computeType || call.b.type != call.computeType || call.c.type != call.computeType)
    return invalid("types that differ");
  return kRuns;
}

Check checkBand(Function function, const Call& call) {
  const Band& band = call.band;
  if (!isFloat(call.computeType)) return invalid("a type");
  if (band.rows < 1 || band.rows > kMostInt || band.systems < 0 || band.pivots > 1 || band.oneMatrix > 1 || band.padding[0] != 0 || band.padding[1] != 0)
    return invalid("a system's size");
  const bool five = function == Function::pentadiagonal;
  for (int i = 0; i < 5; ++i)
    if ((band.diagonals[i] == 0) != (!five && (i == 0 || i == 4))) return invalid("a diagonal");
  if (band.oneMatrix != 0) {
    if (five || band.spacing != 1 || band.stride != 0 || band.systems != 1 || call.result != 0) return invalid("a layout");
    if (const Check x = check(call.x, true); !runs(x)) return x;
    if (call.x.rows != band.rows || call.x.batch != 1 || call.x.order != Order::column || call.x.type != call.computeType) return invalid("right sides");
    return call.x.cols == 0 ? Check{Verdict::empty, "no right sides"} : kRuns;
  }
  if (!isNothing(call.x)) return invalid("right sides");
  if (band.spacing < 1 || band.spacing > kMostInt || band.stride < 1 || band.stride > kMostInt) return invalid("a layout");
  // One system behind the other, or one between the others.
  const bool apart = band.spacing == 1 && band.stride >= band.rows, between = band.stride == 1 && band.spacing >= band.systems;
  if (band.systems > 1 && !apart && !between) return invalid("systems on top of each other");
  return band.systems == 0 ? Check{Verdict::empty, "no systems"} : kRuns;
}

Check checkFactorisation(Function function, const Call& call) {
  if (const Check a = checkNarrow(call.a, {Format::csr}); !runs(a)) return a;
  if (call.a.rows != call.a.cols) return invalid("a matrix that is not square");
  if (!isFloat(call.computeType) || call.a.type != call.computeType) return invalid("a type");
  if (call.boosted > (function == Function::lu ? 1 : 0)) return invalid("a boost");
  return call.a.rows == 0 ? Check{Verdict::empty, "a matrix without rows"} : kRuns;
}

// Of parts that the function has not, everything is as it is in a call that says nothing.
Check checkUnused(Function function, const Call& call) {
  const Uses uses = usesOf(function);
  const bool clean = (uses.a || isNothing(call.a)) && (uses.b || isNothing(call.b)) && (uses.c || isNothing(call.c)) && (uses.x || isNothing(call.x)) &&
                     (uses.y || isNothing(call.y)) && (uses.band || isNothing(call.band)) && (uses.alpha || isNothing(call.alpha)) &&
                     (uses.beta || isNothing(call.beta)) && (uses.answer || call.answer == 0) && (call.answer != 0 || call.answerMark == 0) &&
                     (uses.result || call.result == 0) && (function == Function::identity || call.count == 0) &&
                     (function == Function::sort || call.byColumn == 0) && (function == Function::lu || call.boosted == 0) && call.padding == 0;
  if (!clean) return invalid("a field that the function has not");
  const bool counts = function == Function::productCount || function == Function::productWork || function == Function::fromDenseCount;
  if ((counts && call.answer == 0) || (function == Function::sumCount && (call.answer == 0) == (call.result == 0))) return invalid("where the answer goes");
  if (!isKnown(call.opA) || !isKnown(call.opB) || call.scalars > Scalars::inMemory) return invalid("an enumeration");
  const bool scales = uses.alpha && (function != Function::lu || call.boosted != 0);
  if (call.scalars == Scalars::inMemory && !scales && function != Function::dot) return invalid("a place of scalars that there are not");
  if (call.scalars == Scalars::inMemory && ((uses.alpha && call.alpha.words[0] == 0) || (uses.beta && call.beta.words[0] == 0)))
    return invalid("a scalar at address 0");
  if (scales && call.scalars == Scalars::inCall && !isServed(call.computeType)) return unsupported("a compute type");
  return kRuns;
}

Check checkParts(Function function, const Call& call) {
  switch (function) {
    case Function::spmv: case Function::spmm: {
      const bool isVector = function == Function::spmv;
      const Check a = isVector ? check(call.a, {Format::csr, Format::csc, Format::coo, Format::bsr, Format::slicedEll})
                               : check(call.a, {Format::csr, Format::csc, Format::coo, Format::bsr});
      if (!runs(a)) return a;
      if (isVector && (call.opB != Operation::none || call.x.cols != 1 || call.y.cols != 1 || call.y.batch != 1 || call.a.batch != 1))
        return invalid("a vector's size");
      if (const Check x = check(call.x, false); !runs(x)) return x;
      if (const Check y = check(call.y, true); !runs(y)) return y;
      return checkProduct(call);
    }
    case Function::sddmm: return checkSddmm(call);
    case Function::solve: return checkSolve(call);
    case Function::productCount: case Function::product: case Function::productWork: return checkSparseProduct(function, call);
    case Function::axpby: case Function::gather: case Function::scatter: case Function::rot: case Function::dot: return checkVector(function, call);
    case Function::toDense: case Function::fromDenseCount: case Function::fromDense: return checkConversion(function, call);
    case Function::transpose: return checkTranspose(call);
    case Function::compress: case Function::expand: case Function::sort: case Function::identity: return checkIndices(function, call);
    case Function::sumCount: case Function::sum: return checkSum(function, call);
    case Function::tridiagonal: case Function::pentadiagonal: return checkBand(function, call);
    case Function::lu: case Function::cholesky: return checkFactorisation(function, call);
  }
  return invalid("a function");
}

}  // namespace

Check check(Function function, const Call& call) {
  if (static_cast<std::uint32_t>(function) >= kFunctionCount) return invalid("a function");
  if (const Check unused = checkUnused(function, call); !runs(unused)) return unused;
  return checkParts(function, call);
}

Uses usesOf(Function function) {
  Uses uses;
  switch (function) {
    case Function::spmv: case Function::spmm: case Function::solve:
      uses = {.a = true, .x = true, .y = true, .alpha = true, .beta = function != Function::solve, .answer = function == Function::solve};
      break;
    case Function::sddmm: uses = {.c = true, .x = true, .y = true, .alpha = true, .beta = true}; break;
    case Function::productCount: case Function::productWork: uses = {.a = true, .b = true, .answer = true}; break;
    case Function::product: case Function::sum: uses = {.a = true, .b = true, .c = true, .alpha = true, .beta = true}; break;
    case Function::axpby: case Function::rot: uses = {.a = true, .y = true, .alpha = true, .beta = true}; break;
    case Function::gather: uses = {.a = true, .x = true}; break;
    case Function::dot: uses = {.a = true, .x = true, .result = true}; break;
    case Function::scatter: case Function::toDense: uses = {.a = true, .y = true}; break;
    case Function::fromDenseCount: uses = {.x = true, .answer = true}; break;
    case Function::fromDense: uses = {.c = true, .x = true}; break;
    case Function::transpose: case Function::compress: case Function::expand: uses = {.a = true, .c = true}; break;
    case Function::sort: uses = {.a = true, .result = true}; break;
    case Function::identity: uses = {.result = true}; break;
    case Function::sumCount: uses = {.a = true, .b = true, .c = true, .answer = true, .result = true}; break;
    case Function::tridiagonal: case Function::pentadiagonal: uses = {.x = true, .band = true, .result = true}; break;
    case Function::lu: uses = {.a = true, .alpha = true, .beta = true, .answer = true}; break;
    case Function::cholesky: uses = {.a = true, .answer = true}; break;
  }
  return uses;
}

const char* nameOf(Function function) {
  static constexpr const char* kNames[kFunctionCount] = {
      "cusparseSpMV", "cusparseSpMM", "cusparseSDDMM", "cusparseSpSM_solve", "cusparseSpGEMM_compute", "cusparseSpGEMM_copy", "cusparseAxpby", "cusparseGather",
      "cusparseScatter", "cusparseRot", "cusparseSpVV", "cusparseSparseToDense", "cusparseDenseToSparse_analysis", "cusparseDenseToSparse_convert",
      "cusparseCsr2cscEx2", "cusparseXcoo2csr", "cusparseXcsr2coo", "a sort of cuSPARSE's", "cusparseCreateIdentityPermutation", "cusparseXcsrgeam2Nnz",
      "a csrgeam2 of cuSPARSE's", "a gtsv of cuSPARSE's", "a gpsv of cuSPARSE's", "a csrilu02 of cuSPARSE's", "a csric02 of cuSPARSE's",
      "cusparseSpGEMM_getNumProducts"};
  return static_cast<std::uint32_t>(function) < kFunctionCount ? kNames[static_cast<std::uint32_t>(function)] : "?";
}

}  // namespace rouse::sparse
