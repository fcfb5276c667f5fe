// Arrays of indices that hold anything: whatever a call of cuSPARSE makes of them on the CPU device, it touches no memory but its operands'. Worth most under AddressSanitizer.
#include <catch2/catch.hpp>

#include "test/libraries/sparse_runs.h"

namespace rouse::sparse {
namespace {

constexpr std::byte kGuard{0xA5};

// Operands between bytes that nobody may write.
struct Guarded {
  explicit Guarded(std::vector<std::byte>& from) : memory(from) {
    length = from.size() - 1;
    memory.insert(memory.end(), 64, kGuard);
    memory[length] = kGuard;
  }
  bool whole() const { return std::all_of(memory.begin() + static_cast<std::ptrdiff_t>(length), memory.end(), [](std::byte each) { return each == kGuard; }); }
  std::vector<std::byte>& memory;
  std::size_t length;
};

void disturb(std::mt19937& random, std::vector<std::byte>& bytes, std::size_t length) {
  if (length < 8) return;
  for (int times = static_cast<int>(random() % 3); times >= 0; --times) {
    const std::size_t at = random() % (length / 4) * 4;
    const std::int32_t values[] = {-1, 0, 1, 5, 1000, 0x7fff'ffff, static_cast<std::int32_t>(0x8000'0000u), static_cast<std::int32_t>(random())};
    std::memcpy(bytes.data() + at, &values[random() % std::size(values)], 4);
  }
}

constexpr Format kFormats[] = {Format::csr, Format::csc, Format::coo, Format::bsr, Format::slicedEll};

}  // namespace

TEST_CASE("indices of any value", "[sparse]") {
  std::mt19937 random(30);
  const std::int64_t n = 12;
  int errors = 0, done = 0;
  for (int round = 0; round < 6000; ++round) {
    const auto function = static_cast<Function>(random() % kFunctionCount);
    const Type type = random() % 2 == 0 ? Type::f32 : Type::c64;
    const bool free = function == Function::spmv || function == Function::spmm || function == Function::solve || function == Function::toDense;
    const bool wide = free && random() % 2 == 0;
    Style style{free ? kFormats[random() % std::size(kFormats)] : Format::csr, wide ? Index::i64 : Index::i32, wide ? Index::i64 : Index::i32, static_cast<int>(random() % 2)};
    if (function == Function::compress) style.format = Format::coo;
    if (style.format == Format::slicedEll && (function == Function::spmm || function == Function::toDense)) style.format = Format::coo;
    Matrix matrix = anyMatrix(random, n, n, 0.4, type);
    for (std::int64_t i = 0; i < n; ++i) matrix[{i, i}] = 9;
    const auto a = store(matrix, n, n, type, style), b = store(matrix, n, n, type, style), c = store(matrix, n, n, type, {Format::csr, Index::i32, Index::i32, style.base});
    DenseStored x(n, function == Function::spmv ? 1 : 3, type), y(n, function == Function::spmv ? 1 : 3, type), square(n, n, type);
    x.fill(random);
    square.fill(random);
    std::vector<std::byte> permutation(static_cast<std::size_t>(a->what.nnz) * 4 + 1);
    // Room for what sums and products may have.
    c->values.resize(n * n * 16 + 1);
    c->indices.resize(n * n * 4 + 1);
    std::vector<Guarded> guards;
    for (auto* each : {&a->offsets, &a->indices, &a->values, &b->offsets, &b->indices, &c->offsets, &c->indices, &c->values, &x.values, &y.values, &square.values, &permutation})
      guards.emplace_back(*each);
    for (Stored* each : {a.get(), b.get(), c.get()}) each->place();
    for (DenseStored* each : {&x, &y, &square}) each->what.values = addressOf(each->values);
    Answer answer;
    Call call;
    call.computeType = type;
    call.a = a->what;
    switch (function) {
      case Function::spmv: case Function::spmm: case Function::solve:
        call.opA = kOperations[random() % 3];
        call.x = x.what;
        call.y = y.what;
        break;
      case Function::sddmm:
        call.c = c->what;
        call.a = {};
        call.x = x.what;
        call.y = x.what;
        call.opB = Operation::transpose;
        break;
      case Function::productCount: case Function::productWork: call.b = b->what; call.answer = reinterpret_cast<std::uint64_t>(&answer); break;
      case Function::product: call.b = b->what; call.c = c->what; break;
      case Function::sumCount: case Function::sum:
        call.b = b->what;
        call.c = c->what;
        call.c.nnz = 0;
        if (function == Function::sumCount) call.answer = reinterpret_cast<std::uint64_t>(&answer);
        break;
      case Function::toDense: call.y = square.what; break;
      case Function::transpose:
        call.c = c->what;
        call.c.format = Format::csc;
        break;
      case Function::compress: case Function::expand:
        call.c = c->what;
        if (function == Function::expand) call.c.format = Format::coo, call.c.offsets = reinterpret_cast<std::uint64_t>(permutation.data());
        break;
      case Function::sort: call.result = reinterpret_cast<std::uint64_t>(permutation.data()); break;
      case Function::axpby: case Function::scatter: case Function::rot: case Function::gather: case Function::dot:
        call.a.format = Format::vector;
        call.a.nnz = n;
        call.a.cols = 1;
        call.a.offsets = 0;
        call.a.offsetsType = Index::none;
        (function == Function::gather || function == Function::dot ? call.x : call.y) = x.what;
        call.x.cols = call.x.values != 0 ? 1 : 0;
        call.y.cols = call.y.values != 0 ? 1 : 0;
        if (function == Function::dot) call.result = reinterpret_cast<std::uint64_t>(permutation.data());
        break;
      case Function::lu: case Function::cholesky: break;
      default: continue;  // without indices
    }
    if (random() % 8 != 0) disturb(random, a->indices, a->indices.size() - 64);
    if (random() % 2 == 0) disturb(random, a->offsets, a->offsets.size() - 64);
    if (function == Function::sddmm) disturb(random, c->indices, c->indices.size() - 64);
    if (random() % 4 == 0) disturb(random, b->indices, b->indices.size() - 64);
    for (Scalar* scalar : {&call.alpha, &call.beta})
      if (usesOf(function).alpha && function != Function::lu) setScalar(*scalar, type, 1);
    if (function == Function::solve) call.beta = {};
    const std::string said = runAll(function, call, random() % 100);
    CAPTURE(nameOf(function), said, int(style.format));
    REQUIRE(said.find("refused: ") != 0);
    (said.empty() ? done : errors) += 1;
    for (std::size_t i = 0; i < guards.size(); ++i) {
      CAPTURE(i);
      REQUIRE(guards[i].whole());
    }
  }
  CHECK(errors > 500);
  CHECK(done > 500);
}

}  // namespace rouse::sparse
