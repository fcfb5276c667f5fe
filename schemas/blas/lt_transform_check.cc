#include <algorithm>

#include "schemas/blas/lt_transform.h"

namespace rouse::blas {
namespace {

__extension__ typedef __int128 Wide;

constexpr std::int64_t kMostStride = std::int64_t{1} << 44;

// Which numbers become which on the way: what the scale type holds.
bool converts(Type scale, Type type) {
  switch (scale) {
    case Type::f32:
      return type == Type::f32 || type == Type::f16 || type == Type::bf16 || type == Type::i8;
    case Type::i32:
      return type == Type::i32 || type == Type::i8;
    case Type::f64:
    case Type::c32:
    case Type::c64:
      return type == scale;
    default:
      return false;
  }
}

struct Outline {
  std::int64_t outer, inner;
};
Outline outlineOf(const LtMatrix& m) { return m.order == Order::rows ? Outline{m.rows, m.columns} : Outline{m.columns, m.rows}; }

Check checkMatrix(const LtMatrix& m, Type scale) {
  if (m.order > Order::rows) return {Verdict::unsupported, "a matrix's order"};
  if (m.rows < 0 || m.columns < 0 || m.spacing < std::max<std::int64_t>(1, outlineOf(m).inner)) return {Verdict::invalid, "a matrix's rows, columns or leading dimension"};
  if (m.rows > kMostElements || m.columns > kMostElements || m.spacing > kMostElements || m.stride > kMostStride || m.stride < -kMostStride)
    return {Verdict::unsupported, "a matrix of more than 2147483647 rows or columns"};
  return converts(scale, m.type) ? Check{} : Check{Verdict::unsupported, "this combination of types"};
}

}  // namespace

Check check(const LtTransform& call) {
  if (call.transa > Transpose::conjugated || call.transb > Transpose::conjugated) return {Verdict::invalid, "a transposition"};
  if (call.scalars > Scalars::inMemory) return {Verdict::unsupported, "the pointer mode"};
  if (call.batch < 0 || call.batch > kMostElements) return {Verdict::invalid, "the batch count"};
  if (const Check c = checkMatrix(call.c, call.scaleType); c.verdict != Verdict::runs) return c;
  const struct {
    const LtMatrix& matrix;
    Transpose transpose;
  } factors[] = {{call.a, call.transa}, {call.b, call.transb}};
  for (const auto& [m, transpose] : factors) {
    if (m.address == 0) continue;
    if (const Check c = checkMatrix(m, call.scaleType); c.verdict != Verdict::runs) return c;
    const bool turned = transpose != Transpose::none;
    if ((turned ? m.columns : m.rows) != call.c.rows || (turned ? m.rows : m.columns) != call.c.columns) return {Verdict::invalid, "the matrices do not match"};
  }
  return call.c.rows == 0 || call.c.columns == 0 || call.batch == 0 ? Check{Verdict::empty} : Check{};
}

bool operands(const LtTransform& call, Operands& found) {
  bool ok = true;
  const auto matrix = [&](const char* name, const LtMatrix& m, bool written) {
    const auto [outer, inner] = outlineOf(m);
    const Wide last = static_cast<Wide>(call.batch - 1) * m.stride;
    const Wide low = std::min<Wide>(last, 0), high = static_cast<Wide>(outer - 1) * m.spacing + inner + std::max<Wide>(last, 0);
    const Wide bytes = (high - low) * bytesOf(m.type);
    const std::uint64_t begin = m.address + static_cast<std::uint64_t>(low * bytesOf(m.type));
    if (bytes > static_cast<Wide>(kMostBytes) || begin + static_cast<std::uint64_t>(bytes) < begin) {
      ok = false;
      return;
    }
    found.ranges[found.count++] = {name, begin, static_cast<std::uint64_t>(bytes), written};
  };
  if (call.a.address != 0) matrix("A", call.a, false);
  if (call.b.address != 0) matrix("B", call.b, false);
  matrix("C", call.c, true);
  if (call.scalars == Scalars::inMemory) {
    // Of a matrix that is not there the factor may be missing, too.
    if ((call.a.address | call.alpha.words[0]) != 0) found.ranges[found.count++] = {"alpha", call.alpha.words[0], bytesOf(call.scaleType), false};
    if ((call.b.address | call.beta.words[0]) != 0) found.ranges[found.count++] = {"beta", call.beta.words[0], bytesOf(call.scaleType), false};
  }
  return ok;
}

}  // namespace rouse::blas
