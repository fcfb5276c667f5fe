#include "schemas/solver/check.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rouse::solver {
namespace {

// As wide as products of two counts are; what is larger than any memory stays so.
__extension__ using Wide = __int128;

constexpr Check invalid(const char* what) { return {Verdict::invalid, what}; }
constexpr Check unsupported(const char* what) { return {Verdict::unsupported, what}; }

bool isLetter(std::uint8_t job) { return job == 'A' || job == 'S' || job == 'O' || job == 'N'; }

bool isBatch(Verb verb) {
  return verb == Verb::potrfBatched || verb == Verb::potrsBatched || verb == Verb::syevBatched || verb == Verb::gesvdjBatched || verb == Verb::gesvda;
}

bool selects(Verb verb) { return verb == Verb::syevdx || verb == Verb::sygvdx; }
bool mayEconomise(Verb verb) { return verb == Verb::gesvdj || verb == Verb::gesvdp; }

// What a verb's parameters may be beside their being in range: null where nothing is wrong.
const char* wrongUplo(const Call& call) { return call.uplo > Triangle::upper ? "uplo" : nullptr; }
const char* wrongJob(const Call& call) { return call.job > kVectorsToo ? "jobz" : nullptr; }
const char* wrongProblem(const Call& call) { return call.problem < 1 || call.problem > 3 ? "itype" : nullptr; }
const char* wrongSide(const Call& call) { return call.side > Side::right ? "side" : nullptr; }
// Real matrices have no other transpose than that; of complex ones Q's is its inverse.
const char* wrongQ(const Call& call, Type type) {
  if (call.transpose > Transpose::conjugated) return "trans";
  return isComplex(type) && call.transpose == Transpose::transposed ? "trans of complex numbers: only conjugated" : nullptr;
}
const char* wrongSelection(const Call& call) {
  switch (call.selection) {
    case Selection::all:
      return nullptr;
    case Selection::byIndex:
      return call.n > 0 && (call.first < 1 || call.last < call.first || call.last > call.n) ? "il, iu" : nullptr;
    case Selection::byValue:
      return std::isnan(call.low) || std::isnan(call.high) || call.low >= call.high ? "vl, vu" : nullptr;
    default:
      return "range";
  }
}

// Of the functions for any type: all that is said is of one precision.
const char* wrongTypes(Function function, const Call& call) {
  if (!isWide(function)) return nullptr;
  const Type type = call.aType, real = realOf(type);
  const auto is = [](Type said, Type wanted) { return said == wanted || said == Type::any; };
  if (bytesOf(type) == 0) return "dataTypeA";
  if (!is(call.bType, type) || !is(call.cType, type) || !is(call.tauType, type)) return "types of different matrices";
  if (!is(call.computeType, type)) return "computeType";
  if (info(function).verb == Verb::geev) {
    const Type complex = real == Type::f32 ? Type::c32 : Type::c64;
    return call.valuesType == complex || call.valuesType == type ? nullptr : "dataTypeW";
  }
  return is(call.valuesType, real) ? nullptr : "the type of the values";
}

const char* wrong(Function function, const Call& call) {
  const Type type = typeOf(function, call);
  const std::int64_t m = call.m, n = call.n, k = call.k, side = call.side == Side::left ? m : n;
  const auto first = [](std::initializer_list<const char*> all) {
    for (const char* each : all)
      if (each != nullptr) return each;
    return static_cast<const char*>(nullptr);
  };
  const auto unless = [](bool right, const char* what) { return right ? nullptr : what; };
  switch (info(function).verb) {
    case Verb::potrf:
    case Verb::potrs:
    case Verb::potri:
    case Verb::lauum:
    case Verb::potrfBatched:
    case Verb::potrsBatched:
    case Verb::sytrf:
    case Verb::sytrs:
    case Verb::sytri:
    case Verb::sytrd:
    case Verb::orgtr:
      return wrongUplo(call);
    case Verb::trtri:
      return first({wrongUplo(call), unless(call.diagonal <= Diagonal::unit, "diag")});
    case Verb::getrf:
    case Verb::geqrf:
      return nullptr;
    case Verb::getrs:
      return unless(call.transpose <= Transpose::conjugated, "trans");
    case Verb::laswp:
      return first({unless(call.first >= 1 && call.first <= call.last && call.last <= kMostElements, "k1, k2"),
                    unless(call.increment != 0 && call.increment >= -kMostElements && call.increment <= kMostElements, "incx")});
    case Verb::orgqr:
      return first({unless(n <= m, "n"), unless(k <= n, "k")});
    case Verb::ormqr:
      return first({wrongSide(call), wrongQ(call, type), unless(k <= side, "k")});
    case Verb::gebrd:
      return unless(m >= n, "m < n");
    case Verb::orgbr:
      return first({wrongSide(call), call.side == Side::left ? unless(m >= n && n >= std::min(m, k), "m, n, k") : unless(n >= m && m >= std::min(n, k), "m, n, k")});
    case Verb::ormtr:
      return first({wrongSide(call), wrongUplo(call), wrongQ(call, type)});
    case Verb::syevd:
    case Verb::syevj:
    case Verb::syevBatched:
      return first({wrongJob(call), wrongUplo(call)});
    case Verb::syevdx:
      return first({wrongJob(call), wrongSelection(call), wrongUplo(call)});
    case Verb::sygvd:
    case Verb::sygvj:
      return first({wrongProblem(call), wrongJob(call), wrongUplo(call)});
    case Verb::sygvdx:
      return first({wrongProblem(call), wrongJob(call), wrongSelection(call), wrongUplo(call)});
    case Verb::geev:
      return first({unless(call.job <= kVectorsToo, "jobvl"), unless(call.otherJob <= kVectorsToo, "jobvr")});
    case Verb::gesvd:
      return first({unless(isLetter(call.job), "jobu"), unless(isLetter(call.otherJob), "jobvt"), unless(call.job != 'O' || call.otherJob != 'O', "jobu and jobvt"),
                    unless(m >= n, "m < n")});
    case Verb::gesvdj:
    case Verb::gesvdp:
      return first({wrongJob(call), unless(call.economy <= 1, "econ")});
    case Verb::gesvdjBatched:
      return first({wrongJob(call), unless(m <= kMostBatchedSide && n <= kMostBatchedSide, "m, n: at most 32")});
    case Verb::gesvda:
      return first({wrongJob(call), unless(k <= std::min(m, n), "rank")});
  }
  return "function";
}

// Bytes from the first element's first to the last element's last, and whether rows, columns and matrices are apart where they are written. -1: they are not.
Wide reachOf(const Operand& operand) {
  if (operand.rows == 0 || operand.columns == 0 || operand.count == 0) return 0;
  const Wide one = Wide{operand.columns - 1} * operand.spacing + operand.rows;
  if (operand.arrays) return one * operand.bytes;  // of each
  if (operand.count > 1 && (operand.stride < 0 || (operand.written && operand.stride < one))) return -1;
  // Counts are below 2^31, strides below 2^63: this fits.
  return (Wide{operand.count - 1} * operand.stride + one) * operand.bytes;
}

}  // namespace

Check checkSizes(Function function, const Call& call) {
  for (const std::int64_t count : {call.m, call.n, call.k, call.batch}) {
    if (count < 0) return invalid("a dimension below 0");
    if (count > kMostElements) return isWide(function) ? unsupported("a dimension above 2147483647") : invalid("a dimension above 2147483647");
  }
  if (!isBatch(info(function).verb) && call.batch != 1) return invalid("a batch");
  if (!selects(info(function).verb) && call.selection != Selection::none) return invalid("a range of what has none");
  if (!mayEconomise(info(function).verb) && call.economy != 0) return invalid("econ of what has none");
  if (const char* what = wrongTypes(function, call)) return invalid(what);
  if (const char* what = wrong(function, call)) return invalid(what);
  const Verb verb = info(function).verb;
  // What NVIDIA's library does not do, either, in its own documentation's words: "only".
  if (verb == Verb::potrsBatched && call.k > 1) return unsupported("several right-hand sides of a batch");
  if (verb == Verb::geev && call.job != kValuesOnly) return unsupported("left eigenvectors");
  return {};
}

Check check(Function function, const Call& call) {
  if (const Check sizes = checkSizes(function, call); sizes.verdict != Verdict::runs) return sizes;
  if ((info(function).verb == Verb::sytrf || info(function).verb == Verb::sytrs || info(function).verb == Verb::sytri) && call.pivots == 0 && call.n > 0)
    return unsupported("without pivots");
  const Operands operands = operandsOf(function, call);
  for (const Operand& operand : operands.all()) {
    if (operand.spacing > kMostElements) return isWide(function) ? unsupported("a leading dimension above 2147483647") : invalid("a leading dimension");
    const bool isVector = operand.columns <= 1 && operand.spacing == operand.rows;
    if (!isVector && operand.spacing < std::max<std::int64_t>(operand.rows, 1)) return invalid("a leading dimension");
    const Wide reach = reachOf(operand);
    if (reach < 0) return invalid("a stride");
    if (reach > kMostBytes) return invalid("an operand longer than memory");
  }
  return {};
}

bool ranges(Function function, const Call& call, Ranges& found) {
  found = {};
  const auto add = [&](const char* operand, std::uint64_t address, std::uint64_t bytes, std::uint32_t alignment, bool written, bool onHost = false) {
    if (address == 0 || address % alignment != 0 || bytes > std::numeric_limits<std::uint64_t>::max() - address) return false;
    found.ranges[found.count++] = {operand, address, bytes, written, onHost};
    return true;
  };
  const Operands operands = operandsOf(function, call);
  for (const Operand& operand : operands.all()) {
    const auto bytes = static_cast<std::uint64_t>(reachOf(operand));
    if (operand.arrays && operand.count > 0 && bytes != 0) {
      constexpr std::uint32_t kAddressBytes = 8;
      found.indirect = true;
      if (!add(operand.name, operand.address, static_cast<std::uint64_t>(operand.count) * kAddressBytes, kAddressBytes, false)) return false;
    } else if (bytes != 0 && !(operand.optional && operand.address == 0) && !add(operand.name, operand.address, bytes, operand.partBytes, operand.written)) {
      return false;
    }
  }
  if (call.workBytes != 0 && call.work != 0 && !add("work area", call.work, call.workBytes, 1, true)) return false;
  const std::uint64_t answer = answerBytes(function, call);
  return call.answer == 0 || (answer != 0 && add("answer", call.answer, answer, 4, true, true));
}

std::uint64_t answerBytes(Function function, const Call& call) {
  switch (info(function).verb) {
    case Verb::syevdx:
    case Verb::sygvdx:
      return isWide(function) ? sizeof(std::int64_t) : sizeof(std::int32_t);
    case Verb::gesvda:
      return static_cast<std::uint64_t>(call.batch) * sizeof(double);
    case Verb::gesvdp:
      return sizeof(double);
    default:
      return 0;
  }
}

std::uint64_t workElements(Function function, const Call& call) {
  // Blocks of so many columns beside a matrix, and for eigenvalues and singular values matrices of their own.
  constexpr std::uint64_t kBlock = 64;
  const auto m = static_cast<std::uint64_t>(call.m), n = static_cast<std::uint64_t>(call.n);
  std::uint64_t elements = kBlock * (m + n);
  switch (info(function).verb) {
    case Verb::syevd:
    case Verb::syevdx:
    case Verb::syevj:
    case Verb::sygvd:
    case Verb::sygvdx:
    case Verb::sygvj:
    case Verb::geev:
      elements += 2 * n * n;
      break;
    case Verb::gesvd:
    case Verb::gesvdj:
    case Verb::gesvdp:
      elements += m * n + 2 * std::min(m, n) * std::min(m, n);
      break;
    case Verb::syevBatched:
    case Verb::gesvdjBatched:
    case Verb::gesvda:
      elements += static_cast<std::uint64_t>(call.batch) * (m + n);
      break;
    default:
      break;
  }
  // Told as an int where a function counts in them.
  if (!isWide(function)) return std::clamp<std::uint64_t>(elements, 1, kMostElements);
  return std::max<std::uint64_t>(elements, 1) * std::max<std::uint64_t>(bytesOf(call.aType), 1);
}

}  // namespace rouse::solver
