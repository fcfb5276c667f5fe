#include "schemas/blas/check.h"

#include <algorithm>

#include "schemas/blas/shapes.h"

namespace rouse::blas {
namespace {

// Products of sizes do not overflow here.
__extension__ typedef __int128 Wide;

// cublasComputeType_t (cublas_api.h).
enum Compute : std::uint32_t {
  kCompute16F = 64,
  kCompute16FPedantic = 65,
  kCompute32F = 68,
  kCompute32FPedantic = 69,
  kCompute64F = 70,
  kCompute64FPedantic = 71,
  kCompute32I = 72,
  kCompute32IPedantic = 73,
  kCompute32FFast16F = 74,
  kCompute32FFast16BF = 75,
  kCompute32FFastTF32 = 77,
  kCompute32FEmulated = 78,
  kCompute64FEmulated = 79,
};

bool is16(std::uint32_t type) { return type == kCompute16F || type == kCompute16FPedantic; }
bool is32I(std::uint32_t type) { return type == kCompute32I || type == kCompute32IPedantic; }
bool is64(std::uint32_t type) { return type == kCompute64F || type == kCompute64FPedantic || type == kCompute64FEmulated; }
bool is32(std::uint32_t type) {
  return type == kCompute32F || type == kCompute32FPedantic || (type >= kCompute32FFast16F && type <= kCompute32FEmulated && type != 76);
}

bool isHalf(Type type) { return type == Type::f16 || type == Type::bf16; }
bool isBasic(Type type) { return type == Type::f32 || type == Type::f64 || isComplex(type); }

// Vectors of these begin with their first element only: with any other increment there is nothing to do.
bool countsForward(Verb verb) {
  return verb == Verb::scal || verb == Verb::nrm2 || verb == Verb::asum || verb == Verb::iamax || verb == Verb::iamin;
}

Check invalid(const char* what) { return {Verdict::invalid, what}; }

Check checkEnumerations(const FunctionInfo& info, const Call& call) {
  if (call.transa > Transpose::conjugated || call.transb > Transpose::conjugated) return invalid("a transposition");
  if (call.uplo > Triangle::upper) return invalid("which triangle");
  if (call.side > Side::right) return invalid("which side");
  if (call.diag > Diagonal::unit) return invalid("which diagonal");
  if (call.scalars > Scalars::inMemory) return invalid("the pointer mode");
  if (call.batching != info.batching) return invalid("the kind of batch");
  // op(A) may be A or its transpose, or its conjugate transpose, as the verb has it.
  const bool symmetric = info.verb == Verb::syrk || info.verb == Verb::syr2k || info.verb == Verb::syrkx;
  const bool hermitian = info.verb == Verb::herk || info.verb == Verb::her2k || info.verb == Verb::herkx;
  if (symmetric && isComplex(call.aType) && call.transa == Transpose::conjugated) return invalid("trans");
  if (hermitian && call.transa == Transpose::transposed) return invalid("trans");
  // Addresses, wherever the program has them (client-shim/cublas/run.cc).
  if (isPlaneRotation(info.verb) && call.scalars != Scalars::inMemory) return invalid("the pointer mode");
  return {};
}

bool fits(Type allowed, Type got) { return allowed == Type::any || allowed == got; }

Type realOf(Type type) { return type == Type::c32 ? Type::f32 : type == Type::c64 ? Type::f64 : type; }

// rotg and rotmg: their scalars, which are all that they have.
Check checkPlaneRotation(const FunctionInfo& info, const Call& call) {
  if (!fits(info.xType, call.xType) || !fits(info.scaleType, call.scaleType)) return invalid("an operand's type");
  const Type x = call.xType;
  const bool same = info.verb == Verb::rotg || (call.aType == x && call.bType == x && call.yType == x);
  if (info.xType != Type::any) return same ? Check{} : invalid("an operand's type");
  const bool real = x == Type::f32 || x == Type::f64 || isHalf(x);
  const bool executes = call.executionType == x || (isHalf(x) && call.executionType == Type::f32);
  return same && real && call.scaleType == x && executes ? Check{} : Check{Verdict::unsupported, "this combination of types"};
}

Check checkTypes(const FunctionInfo& info, const Call& call) {
  if (isPlaneRotation(info.verb)) return checkPlaneRotation(info, call);
  const Shapes shapes = shapesOf(info.verb, Call{});
  const bool tabled = (shapes.a.rows < 0 || fits(info.aType, call.aType)) && (shapes.b.rows < 0 || fits(info.bType, call.bType)) &&
                      (shapes.c.rows < 0 || fits(info.cType, call.cType)) && (shapes.x < 0 || fits(info.xType, call.xType)) &&
                      (shapes.y < 0 || fits(info.yType, call.yType)) && ((!hasAlpha(info.verb) && info.verb != Verb::rotm) || fits(info.scaleType, call.scaleType));
  if (!tabled) return invalid("an operand's type");
  if (hasResult(info.verb)) {
    const bool counted = info.verb == Verb::iamax || info.verb == Verb::iamin;
    if (counted ? call.resultType != Type::i32 && call.resultType != Type::i64 : !fits(info.resultType, call.resultType))
      return invalid("the result's type");
  }
  const Check no{Verdict::unsupported, "this combination of types"};
  if (info.verb == Verb::gemm) {
    const Type a = call.aType, c = call.cType;
    if (a != call.bType) return no;
    if (info.scaleType == Type::any && scaleTypeOf(call.computeType, c) != call.scaleType) return invalid("the scalars' type");
    const std::uint32_t compute = call.computeType;
    if (compute == 0) {
      if (info.aType != Type::any) return {};  // one type for all
    } else if (is16(compute)) {
      return a == Type::f16 && c == Type::f16 ? Check{} : no;
    } else if (is32I(compute)) {
      return a == Type::i8 && c == Type::i32 ? Check{} : no;
    } else if (is64(compute)) {
      return a == c && (a == Type::f64 || a == Type::c64) ? Check{} : no;
    } else if (!is32(compute)) {
      return invalid("the compute type");
    }
    if (isComplex(call.scaleType)) return a == Type::c32 && c == Type::c32 ? Check{} : no;
    const bool real = (isHalf(a) && (c == a || c == Type::f32)) || (a == Type::i8 && c == Type::f32) || (a == Type::f32 && c == Type::f32);
    return real ? Check{} : no;
  }
  const bool ranks = info.verb == Verb::syrk || info.verb == Verb::herk;
  if (ranks && info.aType == Type::any) return call.aType == Type::c32 && call.cType == Type::c32 ? Check{} : no;
  if (info.xType == Type::any && isLevel1(info.verb)) {
    const Type x = call.xType;
    if (!isBasic(x) && !isHalf(x)) return no;
    if (shapes.y >= 0 && call.yType != x) return no;
    if (hasAlpha(info.verb) && call.scaleType != x && !(isHalf(x) && call.scaleType == Type::f32)) {
      // rot's cosine and sine are real.
      const bool real = info.verb == Verb::rot && ((x == Type::c32 && call.scaleType == Type::f32) || (x == Type::c64 && call.scaleType == Type::f64));
      if (!real) return no;
    }
    if (info.verb == Verb::rot && isComplex(call.scaleType)) return no;
    if (info.verb == Verb::rotm && (isComplex(x) || (call.scaleType != x && !(isHalf(x) && call.scaleType == Type::f32)))) return no;
    if (info.verb == Verb::dot && call.resultType != x) return no;
    if (info.verb == Verb::nrm2 || info.verb == Verb::asum) {
      if (call.resultType != realOf(x)) return no;
    }
    const bool executes = info.verb == Verb::copy || info.verb == Verb::swap || info.verb == Verb::iamax || info.verb == Verb::iamin ||
                          call.executionType == x || (isHalf(x) && call.executionType == Type::f32);
    if (!executes) return no;
  }
  return {};
}

// A leading dimension or increment.
Check checkSpacing(const char* what, std::int64_t spacing) {
  return spacing > kMostElements || spacing < -kMostElements ? Check{Verdict::unsupported, what} : Check{};
}

Check checkMatrix(const char* what, Matrix shape, const Operand& operand, bool packed = false) {
  if (shape.rows < 0 || packed) return {};
  if (operand.spacing < std::max<std::int64_t>(1, shape.rows)) return invalid(what);
  return checkSpacing(what, operand.spacing);
}

Check checkVector(const char* what, Verb verb, std::int64_t length, const Operand& operand) {
  if (length < 0) return {};
  if (operand.spacing == 0 && !isLevel1(verb) && verb != Verb::dgmm) return invalid(what);
  return checkSpacing(what, operand.spacing);
}

// [lowest, end) of a vector or matrix, relative to its address, in elements. A vector with a negative increment begins with its last
// element, so all of them lie behind the address in any case. dgmm's vector is read backwards from its address.
struct Reach {
  Wide low = 0, high = 0;
};

Reach reachOf(Matrix shape, const Operand& operand) {
  if (shape.rows == 0 || shape.columns == 0) return {};
  return {0, static_cast<Wide>(shape.columns - 1) * operand.spacing + shape.rows};
}

Reach reachOfVector(std::int64_t length, const Operand& operand) {
  if (length == 0) return {};
  const Wide spacing = operand.spacing < 0 ? -operand.spacing : operand.spacing;
  return {0, (length - 1) * spacing + 1};
}

constexpr std::uint64_t kAddressBytes = 8;

struct Adder {
  const Call& call;
  const FunctionInfo& info;
  Operands& found;
  bool ok = true;

  void add(const char* name, std::uint64_t address, Wide low, Wide high, std::uint64_t element, bool written) {
    if (high <= low) return;
    const Wide bytes = (high - low) * static_cast<Wide>(element);
    if (bytes > static_cast<Wide>(kMostBytes)) {
      ok = false;
      return;
    }
    const std::uint64_t begin = address + static_cast<std::uint64_t>(low * static_cast<Wide>(element));
    if (begin + static_cast<std::uint64_t>(bytes) < begin) {
      ok = false;
      return;
    }
    found.ranges[found.count++] = {name, begin, static_cast<std::uint64_t>(bytes), written};
  }

  void operand(const char* name, const Operand& operand, Reach reach, Type type, bool written) {
    if (reach.high <= reach.low) return;
    if (info.batching == Batching::arrays) {
      found.indirect = true;
      add(name, operand.address, 0, call.batch, kAddressBytes, false);
      return;
    }
    if (info.batching == Batching::strided && call.batch > 1) {
      const Wide last = static_cast<Wide>(call.batch - 1) * operand.stride;
      reach.low += std::min<Wide>(last, 0);
      reach.high += std::max<Wide>(last, 0);
    }
    add(name, operand.address, reach.low, reach.high, bytesOf(type), written);
  }
};

}  // namespace

std::uint32_t bytesOf(Type type) {
  switch (type) {
    case Type::i8:
    case Type::u8:
    case Type::e4m3:
    case Type::e5m2:
      return 1;
    case Type::f16:
    case Type::bf16:
      return 2;
    case Type::f32:
    case Type::i32:
      return 4;
    case Type::f64:
    case Type::c32:
    case Type::i64:
      return 8;
    case Type::c64:
      return 16;
    case Type::any:
      break;
  }
  return 0;
}

bool hasAlpha(Verb verb) {
  switch (verb) {
    case Verb::trmv: case Verb::trsv: case Verb::dgmm: case Verb::copy: case Verb::swap: case Verb::dot: case Verb::nrm2:
    case Verb::asum: case Verb::iamax: case Verb::iamin: case Verb::tbmv: case Verb::tbsv: case Verb::tpmv: case Verb::tpsv: case Verb::tpttr:
    case Verb::trttp: case Verb::getrf: case Verb::getrs: case Verb::getri: case Verb::matinv: case Verb::geqrf: case Verb::gels: case Verb::rotm:
    case Verb::rotg: case Verb::rotmg:
      return false;
    default:
      return true;
  }
}

bool hasBeta(Verb verb) {
  switch (verb) {
    case Verb::gemm: case Verb::gemv: case Verb::symv: case Verb::hemv: case Verb::symm: case Verb::hemm: case Verb::syrk:
    case Verb::herk: case Verb::syr2k: case Verb::her2k: case Verb::syrkx: case Verb::herkx: case Verb::geam: case Verb::rot:
    case Verb::gbmv: case Verb::sbmv: case Verb::hbmv: case Verb::spmv: case Verb::hpmv:
      return true;
    default:
      return false;
  }
}

bool hasResult(Verb verb) {
  return verb == Verb::dot || verb == Verb::nrm2 || verb == Verb::asum || verb == Verb::iamax || verb == Verb::iamin;
}

Type scaleTypeOf(std::uint32_t computeType, Type c) {
  if (is16(computeType)) return Type::f16;
  if (is32I(computeType)) return Type::i32;
  if (is64(computeType)) return isComplex(c) ? Type::c64 : Type::f64;
  return isComplex(c) ? Type::c32 : Type::f32;
}

Type betaTypeOf(const FunctionInfo& info, const Call& call) { return info.betaType == Type::any ? call.scaleType : info.betaType; }

std::size_t rotationCount(Verb verb) { return verb == Verb::rotg ? 4 : verb == Verb::rotmg ? 5 : 0; }

std::uint32_t rotationBytes(const FunctionInfo& info, const Call& call, std::size_t i) {
  if (info.verb == Verb::rotmg) return i == 4 ? kRotationParameters * bytesOf(call.scaleType) : bytesOf(call.xType);
  return bytesOf(i < 2 ? call.xType : i == 2 ? call.scaleType : betaTypeOf(info, call));
}

namespace {
const char* rotationName(Verb verb, std::size_t i) {
  static constexpr const char* kOne[] = {"a", "b", "c", "s"};
  static constexpr const char* kModified[] = {"d1", "d2", "x1", "y1", "the parameters"};
  return verb == Verb::rotg ? kOne[i] : kModified[i];
}
}  // namespace

Check check(Function function, const Call& call) {
  if (static_cast<std::size_t>(function) >= kFunctionCount) return {Verdict::unsupported, "the function's number"};
  const FunctionInfo& info = blas::info(function);
  const Verb verb = info.verb;
  if (const Check c = checkEnumerations(info, call); c.verdict != Verdict::runs) return c;
  const bool level1 = isLevel1(verb);
  if (!level1 && (call.m < 0 || call.n < 0 || call.k < 0 || call.ku < 0)) return invalid("a dimension is negative");
  if (call.m > kMostElements || call.n > kMostElements || call.k > kMostElements || call.ku > kMostElements || call.batch > kMostElements)
    return {Verdict::unsupported, "a dimension is above 2147483647"};
  if (info.batching != Batching::single && call.batch < 0) return invalid("batchCount is negative");
  if (const Check c = checkTypes(info, call); c.verdict != Verdict::runs) return c;
  if (verb == Verb::gels && (call.transa != Transpose::none || call.m < call.n)) return {Verdict::unsupported, "anything but m >= n, not transposed"};
  if (verb == Verb::matinv && call.n > kMostInverted) return invalid("n is above 32");
  if (verb == Verb::geqrf && call.x.spacing != 1) return invalid("TauArray");

  Call sane = call;
  sane.n = std::max<std::int64_t>(call.n, 0);
  const Shapes shapes = shapesOf(verb, sane);
  for (const Check c : {checkMatrix("lda", shapes.a, call.a, shapes.packedA), checkMatrix("ldb", shapes.b, call.b, shapes.packedB), checkMatrix("ldc", shapes.c, call.c),
                        checkVector("incx", verb, shapes.x, call.x), checkVector("incy", verb, shapes.y, call.y)})
    if (c.verdict != Verdict::runs) return c;
  constexpr std::int64_t kMostStride = std::int64_t{1} << 44;
  for (const Operand* operand : {&call.a, &call.b, &call.c, &call.x, &call.y})
    if (operand->stride > kMostStride || operand->stride < -kMostStride) return invalid("a stride");
  if (call.workspaceBytes > kMostBytes) return invalid("the workspace");
  if (call.emulation.strategy > 2 || call.emulation.mantissaControl > 1 || call.emulation.mostMantissaBits < 0) return invalid("the emulation");

  if (info.batching != Batching::single && call.batch == 0) return {Verdict::empty};
  if (hasResult(verb) || isPlaneRotation(verb)) return {};  // of nothing a result is 0
  if (level1) return sane.n == 0 || (countsForward(verb) && call.x.spacing <= 0) ? Check{Verdict::empty} : Check{};
  const bool usesM = verb == Verb::gemm || verb == Verb::gemv || verb == Verb::ger || verb == Verb::symm || verb == Verb::hemm ||
                     verb == Verb::trmm || verb == Verb::trsm || verb == Verb::geam || verb == Verb::dgmm || verb == Verb::gbmv || verb == Verb::geqrf;
  if ((verb == Verb::getrs || verb == Verb::gels) && call.k == 0) return {Verdict::empty};
  return call.n == 0 || (usesM && call.m == 0) ? Check{Verdict::empty} : Check{};
}

bool operands(Function function, const Call& call, Operands& found) {
  const FunctionInfo& info = blas::info(function);
  const Verb verb = info.verb;
  Call sane = call;
  sane.n = std::max<std::int64_t>(call.n, 0);
  const bool nothing = countsForward(verb) && call.x.spacing <= 0;
  const Shapes s = shapesOf(verb, sane);
  Adder adder{call, info, found};
  // A sum whose factor is 0 need not have the matrix: the customary way to transpose.
  const auto counts = [&](const Scalar& factor) {
    return verb != Verb::geam || call.scalars == Scalars::inMemory || factor.words[0] != 0 || factor.words[1] != 0;
  };
  if (s.a.rows >= 0 && counts(call.alpha)) adder.operand("A", call.a, reachOf(s.a, call.a), call.aType, s.writesA);
  if (s.b.rows >= 0 && counts(call.beta)) adder.operand("B", call.b, reachOf(s.b, call.b), call.bType, s.writesB);
  if (s.c.rows >= 0) adder.operand("C", call.c, reachOf(s.c, call.c), call.cType, true);
  if (s.x > 0 && !nothing) adder.operand("x", call.x, reachOfVector(s.x, call.x), call.xType, s.writesX);
  if (s.y > 0) adder.operand("y", call.y, reachOfVector(s.y, call.y), call.yType, s.writesY);
  if (isFactorisation(verb)) {
    // Of the solvers an array of infos may be none; those that have no other way to tell need one.
    const bool tells = verb == Verb::getrf || verb == Verb::getri || verb == Verb::matinv;
    if (call.pivots != 0) adder.add("the pivots", call.pivots, 0, static_cast<Wide>(call.n) * call.batch, sizeof(std::int32_t), verb == Verb::getrf);
    if (tells || call.infos != 0) adder.add("the infos", call.infos, 0, call.batch, sizeof(std::int32_t), true);
  }
  if (isPlaneRotation(verb)) {
    for (std::size_t i = 0; i < rotationCount(verb); ++i)
      adder.add(rotationName(verb, i), call.rotation[i], 0, 1, rotationBytes(info, call, i), verb == Verb::rotg || i != 3);
  }
  if (verb == Verb::rotm && s.x > 0 && call.scalars == Scalars::inMemory)
    adder.add("the parameters", call.rotation[0], 0, kRotationParameters, bytesOf(call.scaleType), false);
  if (hasResult(verb)) adder.add("result", call.result, 0, 1, bytesOf(call.resultType), true);
  if (call.scalars == Scalars::inMemory) {
    if (hasAlpha(verb)) adder.add("alpha", call.alpha.words[0], 0, 1, bytesOf(call.scaleType), false);
    if (hasBeta(verb)) adder.add("beta", call.beta.words[0], 0, 1, bytesOf(betaTypeOf(info, call)), false);
  }
  if (call.emulation.mantissaBitCount != 0) adder.add("the mantissa's bit count", call.emulation.mantissaBitCount, 0, 1, sizeof(std::int32_t), true);
  if (call.workspaceBytes != 0) adder.add("the workspace", call.workspace, 0, static_cast<Wide>(call.workspaceBytes), 1, true);
  return adder.ok;
}

bool extents(Function function, const Call& call, Extents& found) {
  const FunctionInfo& info = blas::info(function);
  const Shapes s = shapesOf(info.verb, call);
  bool ok = true;
  const auto add = [&](const char* name, const Operand& operand, Reach reach, Type type, bool written) {
    const Wide bytes = reach.high * static_cast<Wide>(bytesOf(type));
    if (bytes > static_cast<Wide>(kMostBytes)) ok = false;
    found.operands[found.count] = &operand;
    found.items[found.count++] = {name, static_cast<std::uint64_t>(bytes), bytesOf(type), written};
  };
  if (s.a.rows >= 0) add("A", call.a, reachOf(s.a, call.a), call.aType, s.writesA);
  if (s.b.rows >= 0) add("B", call.b, reachOf(s.b, call.b), call.bType, s.writesB);
  if (s.c.rows >= 0) add("C", call.c, reachOf(s.c, call.c), call.cType, true);
  if (s.x >= 0) add("x", call.x, reachOfVector(s.x, call.x), call.xType, s.writesX);
  if (s.y >= 0) add("y", call.y, reachOfVector(s.y, call.y), call.yType, s.writesY);
  return ok;
}

}  // namespace rouse::blas
