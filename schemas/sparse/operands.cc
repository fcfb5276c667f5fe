// Sizes of operands, and where they lie.
#include <limits>

#include "schemas/sparse/check.h"

namespace rouse::sparse {
namespace {

// As wide as products of two counts are; what is larger than any memory stays so.
__extension__ using Wide = __int128;

class Collector {
 public:
  explicit Collector(Ranges& found) : found_(found) {}
  bool ok() const { return ok_; }

  void add(const char* operand, std::uint64_t address, Wide bytes, std::uint32_t alignment, bool written, bool onHost = false) {
    if (bytes == 0) return;
    const bool fits = bytes > 0 && bytes <= static_cast<Wide>(std::numeric_limits<std::uint64_t>::max() - address);
    if (address == 0 || address % alignment != 0 || !fits || found_.count == found_.ranges.size()) {
      ok_ = false;
      return;
    }
    found_.ranges[found_.count++] = {operand, address, static_cast<std::uint64_t>(bytes), written, onHost};
  }

  // What of a sparse operand a function reads (1), writes (2), does both with (3), or leaves alone (0).
  struct Access {
    int offsets = 1, indices = 1, values = 1;
  };
  void add(const Sparse& matrix, Access access) {
    const Extents extents = extentsOf(matrix);
    const auto whole = [&](std::int64_t each, std::int64_t stride) { return each == 0 ? Wide{0} : Wide{each} + Wide{matrix.batch - 1} * stride; };
    if (access.offsets != 0) {
      const std::int64_t stride = matrix.format == Format::coo ? matrix.indicesStride : matrix.offsetsStride;
      add("offsets", matrix.offsets, whole(extents.offsets, stride) * bytesOf(matrix.offsetsType), bytesOf(matrix.offsetsType), access.offsets > 1);
    }
    if (access.indices != 0)
      add("indices", matrix.indices, whole(extents.indices, matrix.indicesStride) * bytesOf(matrix.indicesType), bytesOf(matrix.indicesType), access.indices > 1);
    if (access.values != 0)
      add("values", matrix.values, whole(extents.values, matrix.valuesStride) * bytesOf(matrix.type), alignmentOf(matrix.type), access.values > 1);
  }
  void add(const Dense& matrix, bool written) {
    if (matrix.rows == 0 || matrix.cols == 0) return;
    const bool byColumns = matrix.order == Order::column;
    const Wide each = Wide{(byColumns ? matrix.cols : matrix.rows) - 1} * matrix.spacing + (byColumns ? matrix.rows : matrix.cols);
    add("dense values", matrix.values, (each + Wide{matrix.batch - 1} * matrix.stride) * bytesOf(matrix.type), alignmentOf(matrix.type), written);
  }
  void add(const Band& band, Type type, std::uint64_t solution) {
    const Wide reach = (Wide{band.rows - 1} * band.spacing + (band.oneMatrix != 0 ? Wide{0} : Wide{band.systems - 1} * band.stride) + 1) * bytesOf(type);
    // NVIDIA's library works in the diagonals of interleaved systems.
    const bool interleaved = band.oneMatrix == 0 && band.spacing != 1;
    for (const std::uint64_t diagonal : band.diagonals)
      if (diagonal != 0) add("a diagonal", diagonal, reach, alignmentOf(type), interleaved);
    if (band.oneMatrix == 0) add("right sides", solution, reach, alignmentOf(type), true);
  }

 private:
  Ranges& found_;
  bool ok_ = true;
};

}  // namespace

std::uint32_t bytesOf(Type type) {
  switch (type) {
    case Type::i8: return 1;
    case Type::f16: case Type::bf16: return 2;
    case Type::f32: case Type::i32: return 4;
    case Type::f64: case Type::c32: return 8;
    case Type::c64: return 16;
    case Type::none: break;
  }
  return 0;
}

std::uint32_t bytesOf(Index type) { return type == Index::i32 ? 4 : type == Index::i64 ? 8 : 0; }

bool isComplex(Type type) { return type == Type::c32 || type == Type::c64; }

std::uint32_t alignmentOf(Type type) { return isComplex(type) ? bytesOf(type) / 2 : bytesOf(type); }

Extents extentsOf(const Sparse& matrix) {
  switch (matrix.format) {
    case Format::csr: return {matrix.rows + 1, matrix.nnz, matrix.nnz};
    case Format::csc: return {matrix.cols + 1, matrix.nnz, matrix.nnz};
    case Format::coo: return {matrix.nnz, matrix.nnz, matrix.nnz};
    case Format::bsr: return {matrix.rows / matrix.blockRows + 1, matrix.nnz, matrix.nnz * matrix.blockRows * matrix.blockCols};
    case Format::blockedEll: return {0, (matrix.rows / matrix.blockRows) * (matrix.width / matrix.blockCols), matrix.rows * matrix.width};
    case Format::slicedEll: return {(matrix.rows + matrix.width - 1) / matrix.width + 1, matrix.stored, matrix.stored};
    case Format::vector: return {0, matrix.nnz, matrix.nnz};
    case Format::none: break;
  }
  return {};
}

bool isZero(const Call& call, const Scalar& scalar) {
  if (call.scalars == Scalars::inMemory) return false;
  // Of floats -0 is 0, too.
  switch (call.computeType) {
    case Type::f32: return (scalar.words[0] & 0x7fff'ffffu) == 0;
    case Type::f16: case Type::bf16: return (scalar.words[0] & 0x7fffu) == 0;
    case Type::c32: return (scalar.words[0] & 0x7fff'ffff'7fff'ffffu) == 0;
    case Type::f64: return (scalar.words[0] << 1) == 0;
    case Type::c64: return (scalar.words[0] << 1) == 0 && (scalar.words[1] << 1) == 0;
    default: return static_cast<std::uint32_t>(scalar.words[0]) == 0;
  }
}

bool ranges(Function function, const Call& call, Ranges& found) {
  found = {};
  Collector all(found);
  const Uses uses = usesOf(function);
  switch (function) {
    case Function::spmv: case Function::spmm: case Function::solve:
      all.add(call.a, {});
      all.add(call.x, false);
      all.add(call.y, true);
      break;
    case Function::sddmm:
      all.add(call.x, false);
      all.add(call.y, false);
      all.add(call.c, {1, 1, 3});
      break;
    case Function::productCount: case Function::productWork:
      all.add(call.a, {1, 1, 0});
      all.add(call.b, {1, 1, 0});
      break;
    case Function::product:
      all.add(call.a, {});
      all.add(call.b, {});
      all.add(call.c, {2, 2, 3});
      break;
    case Function::axpby: case Function::scatter: case Function::toDense:
      all.add(call.a, {});
      all.add(call.y, true);
      break;
    case Function::gather:
      all.add(call.a, {1, 1, 2});
      all.add(call.x, false);
      break;
    case Function::rot:
      all.add(call.a, {1, 1, 3});
      all.add(call.y, true);
      break;
    case Function::dot:
      all.add(call.a, {});
      all.add(call.x, false);
      break;
    case Function::fromDenseCount:
      all.add(call.x, false);
      break;
    case Function::fromDense:
      all.add(call.x, false);
      all.add(call.c, {2, 2, 2});
      break;
    case Function::transpose: {
      const bool values = call.a.values != 0;
      all.add(call.a, {1, 1, values});
      all.add(call.c, {2, 2, values ? 2 : 0});
      break;
    }
    case Function::compress: case Function::expand:
      all.add(call.a, {1, 0, 0});
      all.add(call.c, {2, 0, 0});
      break;
    case Function::sort:
      all.add(call.a, {call.a.format == Format::coo ? 3 : 1, 3, 0});
      if (call.result != 0) all.add("the permutation", call.result, Wide{call.a.nnz} * 4, 4, true);
      break;
    case Function::identity:
      all.add("the permutation", call.result, Wide{call.count} * 4, 4, true);
      break;
    case Function::sumCount:
      all.add(call.a, {1, 1, 0});
      all.add(call.b, {1, 1, 0});
      all.add(call.c, {2, 0, 0});
      if (call.result != 0) all.add("the number of elements", call.result, 4, 4, true);
      break;
    case Function::sum:
      all.add(call.a, {});
      all.add(call.b, {});
      all.add(call.c, {2, 0, 0});
      found.indirect = true;
      // Where there is any element the result has one.
      if (call.a.nnz + call.b.nnz > 0) {
        all.add("the sum's indices", call.c.indices, 4, 4, true);
        all.add("the sum's values", call.c.values, bytesOf(call.c.type), alignmentOf(call.c.type), true);
      }
      break;
    case Function::tridiagonal: case Function::pentadiagonal:
      all.add(call.band, call.computeType, call.result);
      if (call.band.oneMatrix != 0) all.add(call.x, true);
      break;
    case Function::lu: case Function::cholesky:
      all.add(call.a, {1, 1, 3});
      break;
  }
  // Of a program that waits for it, it is in memory that the process shares.
  if (function == Function::dot)
    all.add("the result", call.result, bytesOf(call.computeType), alignmentOf(call.computeType), true, call.scalars == Scalars::inCall);
  if (call.scalars == Scalars::inMemory) {
    const Type first = function == Function::lu ? Type::f64 : call.computeType;
    if (uses.alpha) all.add("alpha", call.alpha.words[0], bytesOf(first), alignmentOf(first), false);
    if (uses.beta) all.add("beta", call.beta.words[0], bytesOf(call.computeType), alignmentOf(call.computeType), false);
  }
  if (uses.answer && call.answer != 0) all.add("the answer", call.answer, sizeof(Answer), alignof(Answer), true, true);
  return all.ok();
}

}  // namespace rouse::sparse
