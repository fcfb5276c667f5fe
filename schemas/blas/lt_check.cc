#include <algorithm>

#include "schemas/blas/lt_matmul.h"

namespace rouse::blas {
namespace {

// Products of sizes do not overflow here.
__extension__ typedef __int128 Wide;

constexpr std::int64_t kMostStride = std::int64_t{1} << 44;

Check invalid(const char* what) { return {Verdict::invalid, what}; }
Check unsupported(const char* what) { return {Verdict::unsupported, what}; }

bool isHalf(Type type) { return type == Type::f16 || type == Type::bf16; }
bool bad(const LtMatrix& m) {
  return m.rows < 0 || m.columns < 0 || m.spacing < std::max<std::int64_t>(1, m.order == Order::rows ? m.columns : m.rows);
}
bool tooLarge(const LtMatrix& m) {
  return m.rows > kMostElements || m.columns > kMostElements || m.spacing > kMostElements || m.stride > kMostStride || m.stride < -kMostStride;
}

bool isEightBit(const LtMatmul& call) { return isEightBitFloat(call.a.type) || isEightBitFloat(call.b.type); }

// cuBLAS's table "FP8 kernels" (cublasLtMatmul), and what it wants beside: A transposed, B not, whole pieces of 16 bytes. Columns of D may be any number.
Check checkEightBit(const LtMatmul& call) {
  const Type a = call.a.type, b = call.b.type, c = call.c.type, d = call.d.type;
  if (!isEightBitFloat(a) || !isEightBitFloat(b) || (a == Type::e5m2 && b == Type::e5m2)) return unsupported("this combination of types");
  if (call.computeType != 68 || call.scaleType != Type::f32) return unsupported("8-bit floats with another compute or scale type than float");
  // Two of E4M3 give no E5M2.
  const bool d8 = isEightBitFloat(d) && isHalf(c) && (d == Type::e4m3 || a != b);
  if (!d8 && !(c == d && (isHalf(d) || d == Type::f32))) return unsupported("this combination of types");
  for (const LtMatrix* m : {&call.a, &call.b, &call.c, &call.d}) {
    if (m->order != Order::columns) return unsupported("8-bit floats by rows");
    const std::int64_t bytes = bytesOf(m->type);
    if (m->address % 16 != 0 || m->spacing * bytes % 16 != 0 || m->rows * bytes % 16 != 0 || (call.batch > 1 && m->stride % 16 * bytes % 16 != 0))
      return unsupported("8-bit floats in matrices whose address, rows, leading dimension or stride is no multiple of 16 bytes");
  }
  if (call.transa == Transpose::none || call.transb != Transpose::none) return unsupported("8-bit floats but with A transposed and B not");
  return {};
}

Check checkScales(const LtMatmul& call) {
  const bool vectors = call.aScaling != ScaleMode::scalar || call.bScaling != ScaleMode::scalar;
  const std::uint64_t any = call.aScale | call.bScale | call.cScale | call.dScale | call.amax;
  if (any == 0 && !vectors) return {};
  if (!isEightBit(call)) return unsupported("scales of matrices that are no 8-bit floats");
  if (any % sizeof(float) != 0) return invalid("a scale's address");
  if ((call.dScale != 0 || call.amax != 0) && !isEightBitFloat(call.d.type)) return unsupported("a scale or an amax of a D that is no 8-bit floats");
  if (!vectors) return {};
  if (call.aScaling != ScaleMode::outerVector || call.bScaling != ScaleMode::outerVector) return unsupported("a scale mode: blocks, or vectors for one of A and B");
  // cuBLAS's documentation says nothing of these.
  if (isEightBitFloat(call.d.type) || call.batch > 1) return unsupported("scales that are vectors with a D of 8-bit floats or a batch");
  return {};
}

Check checkTypes(const LtMatmul& call) {
  if (isEightBit(call)) return checkEightBit(call);
  const Type a = call.a.type, c = call.c.type, d = call.d.type;
  const Check no = unsupported("this combination of types");
  if (a != call.b.type || c != d) return no;
  if (scaleTypeOf(call.computeType, d) != call.scaleType) {
    // Integers may be scaled as floats on the way to bytes, which is not served.
    return no;
  }
  switch (call.computeType) {
    case 64: case 65:
      return a == Type::f16 && d == Type::f16 ? Check{} : no;
    case 68: case 69: case 74: case 75: case 77: case 78:
      if (a == Type::c32) return d == Type::c32 ? Check{} : no;
      return (isHalf(a) && (d == a || d == Type::f32)) || (a == Type::f32 && d == Type::f32) || (a == Type::i8 && d == Type::f32) ? Check{} : no;
    case 70: case 71: case 79:
      return a == d && (a == Type::f64 || a == Type::c64) ? Check{} : no;
    case 72: case 73:
      return a == Type::i8 && d == Type::i32 ? Check{} : no;
    default:
      return invalid("the compute type");
  }
}

Check checkEpilogue(const LtMatmul& call) {
  constexpr std::uint32_t kKnown = kEpilogueDefault | kEpilogueRelu | kEpilogueBias | kEpilogueGelu | kEpilogueAux;
  const std::uint32_t e = call.epilogue;
  if (e == 0) return invalid("the epilogue");
  const bool relu = (e & kEpilogueRelu) != 0, gelu = (e & kEpilogueGelu) != 0, aux = (e & kEpilogueAux) != 0, bias = (e & kEpilogueBias) != 0;
  if ((e & ~kKnown) != 0 || (relu && gelu) || (aux && !gelu)) return unsupported("this epilogue");
  if (e == kEpilogueDefault) return {};
  if ((e & kEpilogueDefault) != 0) return invalid("the epilogue");
  const Type d = call.d.type;
  if (d != Type::f32 && d != Type::f64 && !isHalf(d) && !isEightBitFloat(d)) return unsupported("an epilogue of this type");
  if (bias) {
    if (isEightBit(call)) {
      if (call.biasType != usualBiasType(call)) return unsupported("the bias's type");
    } else if (call.biasType != d && !(call.biasType == Type::f32 && isHalf(d)) && !(isHalf(call.biasType) && d == Type::f32 && call.biasType == call.a.type)) {
      return unsupported("the bias's type");
    }
    if (call.biasStride < 0 || call.biasStride > kMostStride) return invalid("the bias's stride");
  }
  if (aux) {
    if (call.auxType != d || (isEightBit(call) && !isHalf(d))) return unsupported("the auxiliary matrix's type");
    if (call.auxSpacing < std::max<std::int64_t>(1, call.d.rows) || call.auxSpacing > kMostElements || call.auxStride < 0 || call.auxStride > kMostStride)
      return invalid("the auxiliary matrix's leading dimension or stride");
  }
  return {};
}

}  // namespace

Type usualBiasType(const LtMatmul& call) {
  if (!isEightBit(call)) return call.d.type;
  if (isEightBitFloat(call.d.type)) return call.c.type;
  return call.d.type == Type::f32 ? Type::bf16 : call.d.type;
}

Check check(const LtMatmul& call) {
  for (const LtMatrix* m : {&call.a, &call.b, &call.c, &call.d}) {
    if (m->order > Order::rows) return unsupported("a matrix's order");
    if (bad(*m)) return invalid("a matrix's rows, columns or leading dimension");
    if (tooLarge(*m)) return unsupported("a matrix of more than 2147483647 rows or columns");
  }
  if (call.transa > Transpose::conjugated || call.transb > Transpose::conjugated) return invalid("a transposition");
  if (call.scalars > Scalars::inMemory) return unsupported("the pointer mode");
  if (call.batch < 0 || call.batch > kMostElements) return invalid("the batch count");
  const bool turnedA = call.transa != Transpose::none, turnedB = call.transb != Transpose::none;
  const std::int64_t m = turnedA ? call.a.columns : call.a.rows, k = turnedA ? call.a.rows : call.a.columns;
  const std::int64_t kOfB = turnedB ? call.b.columns : call.b.rows, n = turnedB ? call.b.rows : call.b.columns;
  if (k != kOfB || call.d.rows != m || call.d.columns != n || call.c.rows != m || call.c.columns != n) return invalid("the matrices do not match");
  if (const Check c = checkTypes(call); c.verdict != Verdict::runs) return c;
  if (const Check c = checkScales(call); c.verdict != Verdict::runs) return c;
  // Conjugated without being transposed is nothing that BLAS has.
  if (isComplex(call.a.type) && ((call.a.order == Order::rows && call.transa == Transpose::conjugated) ||
                                 (call.b.order == Order::rows && call.transb == Transpose::conjugated)))
    return unsupported("a conjugated matrix by rows");
  if (isComplex(call.d.type) && (call.d.order == Order::rows || call.c.order == Order::rows)) return unsupported("a complex result by rows");
  if (const Check c = checkEpilogue(call); c.verdict != Verdict::runs) return c;
  if (call.workspaceBytes > kMostBytes) return invalid("the workspace");
  return m == 0 || n == 0 || call.batch == 0 ? Check{Verdict::empty} : Check{};
}

bool operands(const LtMatmul& call, Operands& found) {
  bool ok = true;
  const auto add = [&](const char* name, std::uint64_t address, Wide elements, std::int64_t stride, std::uint32_t element, bool written) {
    if (elements <= 0) return;
    const Wide last = static_cast<Wide>(call.batch - 1) * stride;
    const Wide low = std::min<Wide>(last, 0), high = elements + std::max<Wide>(last, 0);
    const Wide bytes = (high - low) * element;
    const std::uint64_t begin = address + static_cast<std::uint64_t>(low * element);
    if (bytes > static_cast<Wide>(kMostBytes) || begin + static_cast<std::uint64_t>(bytes) < begin) {
      ok = false;
      return;
    }
    found.ranges[found.count++] = {name, begin, static_cast<std::uint64_t>(bytes), written};
  };
  const auto matrix = [&](const char* name, const LtMatrix& m, bool written) {
    const std::int64_t outer = m.order == Order::rows ? m.rows : m.columns, inner = m.order == Order::rows ? m.columns : m.rows;
    if (outer == 0 || inner == 0) return;
    add(name, m.address, static_cast<Wide>(outer - 1) * m.spacing + inner, m.stride, bytesOf(m.type), written);
  };
  matrix("A", call.a, false);
  matrix("B", call.b, false);
  const bool noC = call.scalars == Scalars::byValue && call.beta.words[0] == 0 && call.beta.words[1] == 0 && call.c.address == 0;
  if (!noC) matrix("C", call.c, false);
  matrix("D", call.d, true);
  if (call.scalars == Scalars::inMemory) {
    add("alpha", call.alpha.words[0], 1, 0, bytesOf(call.scaleType), false);
    add("beta", call.beta.words[0], 1, 0, bytesOf(call.scaleType), false);
  }
  if ((call.epilogue & kEpilogueBias) != 0) add("the bias", call.bias, call.d.rows, call.biasStride, bytesOf(call.biasType), false);
  if ((call.epilogue & kEpilogueAux) != 0)
    add("the auxiliary matrix", call.aux, static_cast<Wide>(call.d.columns - 1) * call.auxSpacing + call.d.rows, call.auxStride, bytesOf(call.auxType), true);
  // Of a vector also where it is not there: then at 0, which nobody has.
  const auto scale = [&](const char* name, std::uint64_t address, ScaleMode mode, std::int64_t length) {
    const bool vector = mode == ScaleMode::outerVector;
    if (address != 0 || vector) add(name, address, vector ? length : 1, 0, sizeof(float), false);
  };
  scale("A's scale", call.aScale, call.aScaling, call.d.rows);
  scale("B's scale", call.bScale, call.bScaling, call.d.columns);
  scale("C's scale", call.cScale, ScaleMode::scalar, 1);
  scale("D's scale", call.dScale, ScaleMode::scalar, 1);
  if (call.amax != 0) add("D's amax", call.amax, 1, 0, sizeof(float), true);
  if (call.workspaceBytes != 0 && ok) {
    const std::uint64_t end = call.workspace + call.workspaceBytes;
    if (end < call.workspace) return false;
    found.ranges[found.count++] = {"the workspace", call.workspace, call.workspaceBytes, true};
  }
  return ok;
}

}  // namespace rouse::blas
