#include "schemas/systems/check.h"

#include <algorithm>

namespace rouse::systems {
namespace {

// What a function has of a call.
struct Uses {
  bool matrix = false, values = false, right = false, solution = false, state = false, writesState = false, answer = false, mayAnswer = false, value = false;
};
Uses usesOf(Function function) {
  switch (function) {
    case Function::solve: return {.matrix = true, .values = true, .right = true, .solution = true, .mayAnswer = true};
    case Function::analyse: return {.matrix = true, .answer = true};
    case Function::factorise: return {.matrix = true, .values = true, .state = true, .writesState = true};
    case Function::solveFactorised: return {.right = true, .solution = true, .state = true};
    case Function::pivot: return {.state = true, .answer = true};
    case Function::diagonal: return {.solution = true, .state = true};
    case Function::eigenvalue: return {.matrix = true, .values = true, .right = true, .solution = true, .value = true};
  }
  return {};
}

constexpr Check invalid(const char* what) { return {Verdict::invalid, what}; }

class Finder {
 public:
  explicit Finder(Ranges& found) : found_(found) { found_ = {}; }
  void add(const char* operand, std::uint64_t address, std::uint64_t bytes, std::uint32_t alignment, bool written = false, bool onHost = false) {
    if (bytes == 0) return;
    if (address == 0 || address % alignment != 0 || address + bytes < address) ok_ = false;
    found_.ranges[found_.count++] = {operand, address, bytes, written, onHost};
  }
  bool ok() const { return ok_; }

 private:
  Ranges& found_;
  bool ok_ = true;
};

}  // namespace

std::uint32_t bytesOf(Type type) {
  switch (type) {
    case Type::f32: return 4;
    case Type::f64: case Type::c32: return 8;
    case Type::c64: return 16;
    default: return 0;
  }
}
bool isComplex(Type type) { return type == Type::c32 || type == Type::c64; }

const char* nameOf(Function function, const Call& call) {
  const bool qr = call.method == Method::qr;
  switch (function) {
    case Function::solve: return qr ? call.answer == 0 ? "cusolverSp…csrqrsvBatched" : "cusolverSp…csrlsvqr" : "cusolverSp…csrlsvchol";
    case Function::analyse: return qr ? "cusolverSpXcsrqrAnalysis" : "cusolverSpXcsrcholAnalysis";
    case Function::factorise: return qr ? "cusolverSp…csrqrFactor" : "cusolverSp…csrcholFactor";
    case Function::solveFactorised: return qr ? "cusolverSp…csrqrSolve" : "cusolverSp…csrcholSolve";
    case Function::pivot: return qr ? "cusolverSp…csrqrZeroPivot" : "cusolverSp…csrcholZeroPivot";
    case Function::diagonal: return "cusolverSp…csrcholDiag";
    case Function::eigenvalue: return "cusolverSp…csreigvsi";
  }
  return "a function of cuSOLVER's sparse part";
}

Check check(Function function, const Call& call) {
  const Uses uses = usesOf(function);
  const Matrix& a = call.a;
  if (bytesOf(a.type) == 0) return invalid("a type that matrices have not");
  if (a.rows < 0 || a.cols < 0 || a.elements < 0) return invalid("a dimension below 0");
  if (a.base > 1) return invalid("an index base that is neither 0 nor 1");
  if (call.method > Method::cholesky) return invalid("a method that is none");
  if (call.order > Order::nestedDissection) return invalid("an order that is none");
  if (call.batch < 1) return invalid("a batch of none");
  const bool least = call.method == Method::qr && (function == Function::analyse || function == Function::factorise || function == Function::solveFactorised ||
                                                   function == Function::pivot || (function == Function::solve && call.answer == 0));
  if (least ? a.rows < a.cols : a.rows != a.cols) return invalid(least ? "fewer rows than columns" : "a matrix that is not square");
  if (call.order != Order::none && a.rows != a.cols) return invalid("an order of a matrix that is not square");
  if (call.batch != 1 && (function != Function::solve || call.answer != 0)) return invalid("a batch of a function that has none");
  if (!(call.tolerance == call.tolerance)) return invalid("a tolerance that is no number");
  if (function == Function::eigenvalue && call.iterations < 1) return invalid("no iterations");
  if (function == Function::factorise && call.method == Method::cholesky && (call.shift[0] != 0 || call.shift[1] != 0)) return invalid("a shift of a Cholesky factor");
  if (uses.state && call.stateBytes == 0) return invalid("no memory for a factor");
  if (a.cols == 0 && function != Function::analyse && function != Function::pivot) return {Verdict::empty, ""};
  return {};
}

bool ranges(Function function, const Call& call, Ranges& found) {
  const Uses uses = usesOf(function);
  const Matrix& a = call.a;
  const auto many = static_cast<std::uint64_t>(call.batch), size = std::uint64_t{bytesOf(a.type)};
  const std::uint32_t part = bytesOf(a.type) / (isComplex(a.type) ? 2 : 1);
  const auto rows = static_cast<std::uint64_t>(a.rows), cols = static_cast<std::uint64_t>(a.cols), elements = static_cast<std::uint64_t>(a.elements);
  Finder finder(found);
  // Each of these counts is below 2^31, so that no product is more than 2^66 / 2^4; sizes of batches are looked at in a wider type.
  const auto times = [&](std::uint64_t count) {
    const auto wide = static_cast<unsigned __int128>(count) * many * size;
    return wide > ~std::uint64_t{0} ? ~std::uint64_t{0} : static_cast<std::uint64_t>(wide);
  };
  if (uses.matrix) {
    finder.add("row offsets", a.offsets, (rows + 1) * 4, 4);
    finder.add("column indices", a.indices, elements * 4, 4);
  }
  if (uses.values) finder.add("values", a.values, times(elements), part);
  if (uses.right) finder.add("b", call.right, times(rows), part);
  // The diagonal of a Cholesky factor is real.
  if (uses.solution) finder.add("x", call.solution, function == Function::diagonal ? cols * part : times(cols), part, true);
  if (uses.state) finder.add("factor", call.state, call.stateBytes, 16, uses.writesState);
  if (uses.value) finder.add("eigenvalue", call.value, size, part, true);
  if (uses.answer || (uses.mayAnswer && call.answer != 0)) finder.add("answer", call.answer, sizeof(Answer), alignof(Answer), true, true);
  return finder.ok();
}

std::uint64_t stateBytes(const Call& call, std::int64_t elements) {
  const auto factor = static_cast<std::uint64_t>(std::clamp<std::int64_t>(elements, 0, kMostElements));
  const auto lines = static_cast<std::uint64_t>(call.a.rows) + static_cast<std::uint64_t>(call.a.cols) + 1;
  // Doubles, whatever the matrix has; the matrix itself has an index and a value for each element.
  const std::uint64_t asFactor = factor * (isComplex(call.a.type) ? 20 : 12) + lines * 48;
  const std::uint64_t asMatrix = static_cast<std::uint64_t>(call.a.elements) * (4 + bytesOf(call.a.type)) + lines * 4;
  return (std::max(asFactor, asMatrix) + 512 + 255) / 256 * 256;
}

}  // namespace rouse::systems
