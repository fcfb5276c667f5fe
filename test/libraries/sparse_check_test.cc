// What may be in a call of cuSPARSE, and what memory it names: before whoever believes nothing of it.
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <random>
#include <span>

#include "schemas/sparse/check.h"
#include "server/library/named_memory.h"

namespace rouse::sparse {
namespace {

Sparse csr(std::int64_t rows, std::int64_t cols, std::int64_t nnz) {
  Sparse m;
  m.format = Format::csr;
  m.offsets = 0x10000;
  m.indices = 0x20000;
  m.values = 0x30000;
  m.rows = rows;
  m.cols = cols;
  m.nnz = nnz;
  m.batch = 1;
  m.offsetsType = m.indicesType = Index::i32;
  return m;
}
Dense dense(std::uint64_t address, std::int64_t rows, std::int64_t cols) {
  Dense m;
  m.values = address;
  m.rows = m.spacing = rows;
  m.cols = cols;
  m.batch = 1;
  m.order = Order::column;
  return m;
}
Sparse vector(std::int64_t length, std::int64_t nnz) {
  Sparse v = csr(length, 1, nnz);
  v.format = Format::vector;
  v.offsets = 0;
  v.offsetsType = Index::none;
  return v;
}

// A call of each function that runs.
Call callOf(Function function) {
  Call call;
  switch (function) {
    case Function::spmv: case Function::spmm: case Function::solve: {
      const std::int64_t columns = function == Function::spmv ? 1 : 4;
      call.a = csr(10, 10, 30);
      call.x = dense(0x40000, 10, columns);
      call.y = dense(0x50000, 10, columns);
      break;
    }
    case Function::sddmm:
      call.c = csr(10, 8, 30);
      call.x = dense(0x40000, 10, 6);
      call.y = dense(0x50000, 6, 8);
      break;
    case Function::productCount: case Function::product: case Function::productWork:
      call.a = csr(10, 8, 30);
      call.b = csr(8, 9, 20);
      if (function == Function::product) call.c = csr(10, 9, 50);
      else call.answer = 0x60000;
      break;
    case Function::axpby: case Function::rot: case Function::scatter:
      call.a = vector(100, 5);
      call.y = dense(0x50000, 100, 1);
      break;
    case Function::gather: case Function::dot:
      call.a = vector(100, 5);
      call.x = dense(0x50000, 100, 1);
      if (function == Function::dot) call.result = 0x60000;
      break;
    case Function::toDense:
      call.a = csr(10, 8, 30);
      call.y = dense(0x50000, 10, 8);
      break;
    case Function::fromDenseCount: case Function::fromDense:
      call.x = dense(0x50000, 10, 8);
      if (function == Function::fromDense) call.c = csr(10, 8, 30);
      else call.answer = 0x60000;
      break;
    case Function::transpose:
      call.a = call.c = csr(10, 8, 30);
      call.c.format = Format::csc;
      break;
    case Function::compress: case Function::expand:
      call.a = call.c = csr(10, 0, 30);
      (function == Function::compress ? call.a : call.c).format = Format::coo;
      break;
    case Function::sort:
      call.a = csr(10, 8, 30);
      call.result = 0x60000;
      break;
    case Function::identity:
      call.count = 12;
      call.result = 0x60000;
      break;
    case Function::sumCount: case Function::sum:
      call.a = call.b = csr(10, 8, 30);
      call.c = csr(10, 8, 0);
      if (function == Function::sumCount) call.answer = 0x60000;
      break;
    case Function::tridiagonal: case Function::pentadiagonal:
      for (int i = function == Function::tridiagonal ? 1 : 0; i < (function == Function::tridiagonal ? 4 : 5); ++i)
        call.band.diagonals[i] = 0x10000u * static_cast<unsigned>(i + 1);
      call.band.rows = 20;
      call.band.systems = 4;
      call.band.spacing = 4;
      call.band.stride = 1;
      call.result = 0x60000;
      break;
    case Function::lu: case Function::cholesky:
      call.a = csr(10, 10, 30);
      call.answer = 0x60000;
      break;
  }
  return call;
}

std::vector<Function> all() {
  std::vector<Function> functions;
  for (std::uint32_t i = 0; i < kFunctionCount; ++i) functions.push_back(static_cast<Function>(i));
  return functions;
}

Verdict verdictOf(Function function, Call call, const std::function<void(Call&)>& change) {
  change(call);
  return check(function, call).verdict;
}
#define REFUSED(verdict, function, ...) CHECK(verdictOf(Function::function, callOf(Function::function), [](Call& call) { __VA_ARGS__; }) == Verdict::verdict)

const Range* rangeOf(const Ranges& found, std::uint64_t address) {
  for (std::uint32_t i = 0; i < found.count; ++i)
    if (found.ranges[i].address == address) return &found.ranges[i];
  return nullptr;
}

}  // namespace

TEST_CASE("a call of each function runs, and names its memory", "[sparse]") {
  for (const Function function : all()) {
    CAPTURE(nameOf(function));
    const Call call = callOf(function);
    const Check checked = check(function, call);
    CAPTURE(checked.what);
    CHECK(checked.verdict == Verdict::runs);
    Ranges found;
    CHECK(ranges(function, call, found));
    CHECK(found.count > 0);
    library::NamedMemory named;
    std::string why;
    CHECK(library::namedMemory(kLibrary, static_cast<std::uint32_t>(function), std::as_bytes(std::span(&call, 1)), named, why));
    CHECK(named.ranges.size() == found.count);
    CHECK(named.indirect == (function == Function::sum));
  }
  CHECK(check(static_cast<Function>(kFunctionCount), Call()).verdict == Verdict::invalidValue);
}

TEST_CASE("what of operands is named, and how", "[sparse]") {
  Ranges found;
  REQUIRE(ranges(Function::spmv, callOf(Function::spmv), found));
  CHECK((rangeOf(found, 0x10000)->bytes == 44 && !rangeOf(found, 0x10000)->written));
  CHECK(rangeOf(found, 0x20000)->bytes == 120);
  CHECK(rangeOf(found, 0x30000)->bytes == 120);
  CHECK((rangeOf(found, 0x50000)->bytes == 40 && rangeOf(found, 0x50000)->written));
  CHECK((rangeOf(found, 0x40000)->bytes == 40 && !rangeOf(found, 0x40000)->written));
  REQUIRE(ranges(Function::productCount, callOf(Function::productCount), found));
  CHECK((rangeOf(found, 0x60000)->bytes == 16 && rangeOf(found, 0x60000)->written && rangeOf(found, 0x60000)->onHost));
  CHECK(rangeOf(found, 0x30000) == nullptr);
  REQUIRE(ranges(Function::fromDense, callOf(Function::fromDense), found));
  for (const std::uint64_t address : {0x10000u, 0x20000u, 0x30000u}) CHECK(rangeOf(found, address)->written);
  // A result is in memory that the process shares where the program waits for it.
  Call call = callOf(Function::dot);
  REQUIRE(ranges(Function::dot, call, found));
  CHECK(rangeOf(found, 0x60000)->onHost);
  call.scalars = Scalars::inMemory;
  REQUIRE(ranges(Function::dot, call, found));
  CHECK_FALSE(rangeOf(found, 0x60000)->onHost);
  // Of a sum's result, as long as it is unknown, the first of its elements.
  REQUIRE(ranges(Function::sum, callOf(Function::sum), found));
  CHECK((found.indirect && found.count == 9));
  // Blocks, slices, batches, scalars in memory.
  call = callOf(Function::spmv);
  call.a.format = Format::bsr;
  call.a.blockRows = call.a.blockCols = 5;
  call.a.order = Order::row;
  call.a.nnz = 3;
  call.a.offsetsType = Index::i64;
  call.scalars = Scalars::inMemory;
  call.alpha.words[0] = 0x70000;
  call.beta.words[0] = 0x80000;
  REQUIRE(check(Function::spmv, call).verdict == Verdict::runs);
  REQUIRE(ranges(Function::spmv, call, found));
  CHECK((rangeOf(found, 0x10000)->bytes == 24 && rangeOf(found, 0x20000)->bytes == 12 && rangeOf(found, 0x30000)->bytes == 300));
  CHECK((rangeOf(found, 0x70000)->bytes == 4 && rangeOf(found, 0x80000)->bytes == 4));
  call = callOf(Function::spmv);
  call.a.format = Format::slicedEll;
  call.a.width = 4;
  call.a.stored = 40;
  REQUIRE(check(Function::spmv, call).verdict == Verdict::runs);
  REQUIRE(ranges(Function::spmv, call, found));
  CHECK((rangeOf(found, 0x10000)->bytes == 16 && rangeOf(found, 0x30000)->bytes == 160));
  call = callOf(Function::spmm);
  call.a.batch = call.y.batch = 3;
  call.a.offsetsStride = 11;
  call.a.indicesStride = 40;
  call.a.valuesStride = 50;
  call.y.stride = 40;
  REQUIRE(check(Function::spmm, call).verdict == Verdict::runs);
  REQUIRE(ranges(Function::spmm, call, found));
  CHECK((rangeOf(found, 0x10000)->bytes == 4 * 33 && rangeOf(found, 0x20000)->bytes == 4 * 110 && rangeOf(found, 0x30000)->bytes == 4 * 130));
  CHECK(rangeOf(found, 0x50000)->bytes == 4 * 120);
  // Addresses: null, not aligned, at the end of all.
  for (const std::uint64_t address : {std::uint64_t{0}, std::uint64_t{0x30001}, ~std::uint64_t{0} - 7}) {
    Call wrong = callOf(Function::spmv);
    wrong.a.values = address;
    CHECK_FALSE(ranges(Function::spmv, wrong, found));
  }
}

TEST_CASE("sizes, enumerations and fields that there are not", "[sparse]") {
  REFUSED(invalidValue, spmv, call.a.rows = -1);
  REFUSED(invalidValue, spmv, call.a.nnz = -1);
  REFUSED(invalidValue, spmv, call.a.nnz = kMostCount + 1);
  REFUSED(invalidValue, spmv, call.a.cols = 9);
  REFUSED(invalidValue, spmv, call.x.rows = 11; call.x.spacing = 11);
  REFUSED(invalidValue, spmv, call.y.spacing = 9);
  REFUSED(invalidValue, spmv, call.x.cols = 2);
  REFUSED(invalidValue, spmv, call.a.base = 2);
  REFUSED(invalidValue, spmv, call.a.batch = 0);
  REFUSED(invalidValue, spmv, call.a.valuesStride = 5);
  REFUSED(invalidValue, spmv, call.a.padding[2] = 1);
  REFUSED(invalidValue, spmv, call.a.blockRows = 1);
  REFUSED(invalidValue, spmv, call.a.order = Order::row);
  REFUSED(invalidValue, spmv, call.a.format = static_cast<Format>(4));
  REFUSED(invalidValue, spmv, call.a.format = Format::none);
  REFUSED(invalidValue, spmv, call.a.indicesType = static_cast<Index>(9));
  REFUSED(invalidValue, spmv, call.a.format = Format::coo; call.a.offsetsType = Index::i64);
  REFUSED(invalidValue, spmv, call.opA = static_cast<Operation>(3));
  REFUSED(invalidValue, spmv, call.opB = Operation::transpose);
  REFUSED(invalidValue, spmv, call.scalars = static_cast<Scalars>(2));
  REFUSED(invalidValue, spmv, call.scalars = Scalars::inMemory);
  REFUSED(invalidValue, spmv, call.b.rows = 1);
  REFUSED(invalidValue, spmv, call.count = 1);
  REFUSED(invalidValue, spmv, call.answer = 0x60000);
  REFUSED(invalidValue, spmv, call.result = 0x60000);
  REFUSED(invalidValue, lu, call.answer = 0; call.answerMark = 7);
  REFUSED(invalidValue, spmv, call.boosted = 1);
  REFUSED(invalidValue, spmv, call.padding = 1);
  REFUSED(invalidValue, spmv, call.a.format = Format::bsr; call.a.order = Order::row; call.a.blockRows = call.a.blockCols = 3);
  REFUSED(invalidValue, spmv, call.a.format = Format::bsr; call.a.order = Order::row; call.a.blockRows = call.a.blockCols = 0);
  REFUSED(invalidValue, spmv, call.a.format = Format::slicedEll; call.a.width = 0);
  REFUSED(invalidValue, spmv, call.a.format = Format::slicedEll; call.a.width = 4; call.a.stored = 29);
  REFUSED(unsupported, spmv, call.a.format = Format::blockedEll);
  REFUSED(unsupported, spmv, call.a.indicesType = Index::u16);
  REFUSED(unsupported, spmv, call.a.type = static_cast<Type>(6));
  REFUSED(unsupported, spmv, call.x.type = Type::f64);
  REFUSED(unsupported, spmv, call.computeType = Type::f64);
  REFUSED(unsupported, spmm, call.a.format = Format::slicedEll; call.a.width = 4; call.a.stored = 40);
  REFUSED(invalidValue, spmm, call.y.batch = 2; call.y.stride = 39);
  REFUSED(invalidValue, spmm, call.x.batch = 2; call.x.stride = 40);
  REFUSED(invalidValue, spmm, call.opB = Operation::transpose);
  REFUSED(invalidValue, sddmm, call.y.rows = 5);
  REFUSED(unsupported, sddmm, call.c.format = Format::coo);
  REFUSED(invalidValue, solve, call.a.cols = 11);
  REFUSED(unsupported, solve, call.a.type = call.x.type = call.y.type = Type::f16);
  REFUSED(unsupported, product, call.opA = Operation::transpose);
  REFUSED(unsupported, product, call.a.format = Format::coo);
  REFUSED(invalidValue, product, call.c.cols = 8);
  REFUSED(invalidValue, productCount, call.answer = 0);
  REFUSED(invalidValue, axpby, call.y.rows = call.y.spacing = 99);
  REFUSED(invalidValue, axpby, call.a.nnz = 101);
  REFUSED(invalidValue, gather, call.x.type = Type::f64);
  REFUSED(unsupported, fromDense, call.c.format = Format::bsr; call.c.order = Order::row; call.c.blockRows = call.c.blockCols = 2);
  REFUSED(invalidValue, fromDense, call.c.rows = 9);
  REFUSED(invalidValue, transpose, call.c.nnz = 29);
  REFUSED(invalidValue, transpose, call.c.values = 0);
  REFUSED(invalidValue, transpose, call.a.indicesType = call.a.offsetsType = Index::i64);
  REFUSED(invalidValue, compress, call.c.base = 1);
  REFUSED(invalidValue, sort, call.byColumn = 1);
  REFUSED(invalidValue, identity, call.count = -1);
  REFUSED(invalidValue, identity, call.count = kMostInt + 1);
  REFUSED(invalidValue, sum, call.c.nnz = 5);
  REFUSED(invalidValue, sumCount, call.result = 0x60000);
  REFUSED(invalidValue, tridiagonal, call.band.diagonals[2] = 0);
  REFUSED(invalidValue, tridiagonal, call.band.diagonals[0] = 0x1000);
  REFUSED(invalidValue, tridiagonal, call.band.rows = 0);
  REFUSED(invalidValue, tridiagonal, call.band.spacing = 3);
  REFUSED(invalidValue, tridiagonal, call.band.spacing = 1; call.band.stride = 19);
  REFUSED(invalidValue, tridiagonal, call.band.oneMatrix = 1);
  REFUSED(invalidValue, pentadiagonal, call.band.diagonals[4] = 0);
  REFUSED(invalidValue, lu, call.a.cols = 11);
  REFUSED(invalidValue, lu, call.scalars = Scalars::inMemory; call.alpha.words[0] = call.beta.words[0] = 0x1000);
  REFUSED(invalidValue, cholesky, call.computeType = Type::f16);
  // Nothing to do is success, and is not sent.
  REFUSED(empty, spmv, call.a.rows = call.y.rows = 0);
  REFUSED(empty, spmm, call.x.cols = call.y.cols = 0);
  REFUSED(empty, identity, call.count = 0);
  REFUSED(empty, tridiagonal, call.band.systems = 0);
  REFUSED(runs, spmv, call.a.nnz = 0; call.a.indices = call.a.values = 0);
  // As wide as memory: products of sizes that no 64 bits hold.
  REFUSED(invalidValue, spmm, call.a.format = Format::bsr; call.a.order = Order::row; call.a.blockRows = call.a.blockCols = 10; call.a.nnz = kMostCount);
  REFUSED(invalidValue, spmm, call.y.batch = 0x7fff'ffff; call.y.stride = kMostCount);
}

TEST_CASE("a zero that a call itself has", "[sparse]") {
  Call call;
  for (const Type type : {Type::f32, Type::f64, Type::c32, Type::c64, Type::f16, Type::i32}) {
    call.computeType = type;
    CHECK(isZero(call, Scalar{}));
    CHECK_FALSE(isZero(call, Scalar{{1, 0}}));
  }
  call.computeType = Type::f32;
  CHECK(isZero(call, Scalar{{0x8000'0000, 0}}));
  call.computeType = Type::c64;
  CHECK_FALSE(isZero(call, Scalar{{0, 1}}));
  call.scalars = Scalars::inMemory;
  CHECK_FALSE(isZero(call, Scalar{}));
}

TEST_CASE("calls with any bytes changed are refused or name memory that is there to be checked", "[sparse]") {
  std::mt19937_64 random(20);
  std::uint64_t ran = 0;
  for (int round = 0; round < 40000; ++round) {
    const auto function = static_cast<Function>(random() % kFunctionCount);
    Call call = callOf(function);
    auto* const bytes = reinterpret_cast<unsigned char*>(&call);
    for (int changes = static_cast<int>(random() % 3); changes >= 0; --changes) {
      const std::size_t at = random() % sizeof call;
      if (random() % 2 == 0) bytes[at] = static_cast<unsigned char>(random());
      else bytes[at] = static_cast<unsigned char>(random() % 4);
    }
    Ranges found;
    if (check(function, call).verdict != Verdict::runs || !ranges(function, call, found)) continue;
    ++ran;
    for (std::uint32_t i = 0; i < found.count; ++i) {
      CHECK(found.ranges[i].bytes > 0);
      CHECK(found.ranges[i].address + found.ranges[i].bytes >= found.ranges[i].address);
    }
  }
  CHECK(ran > 1000);
}

TEST_CASE("what is no call of cuSPARSE's", "[sparse]") {
  library::NamedMemory named;
  std::string why;
  const Call call = callOf(Function::spmv);
  CHECK_FALSE(library::namedMemory(kLibrary, kFunctionCount, std::as_bytes(std::span(&call, 1)), named, why));
  CHECK(why == "LibraryCall.function = 26: cuSPARSE's are 0 to 25");
  CHECK_FALSE(library::namedMemory(kLibrary, 0, std::as_bytes(std::span(&call, 1)).first(599), named, why));
  CHECK(why == "LibraryCall.parameters: 599 bytes, cuSPARSE's are 600");
  Call wrong = call;
  wrong.a.rows = 11;
  CHECK_FALSE(library::namedMemory(kLibrary, 0, std::as_bytes(std::span(&wrong, 1)), named, why));
  CHECK(why == "LibraryCall: cusparseSpMV: sizes that do not fit");
  wrong = call;
  wrong.a.values = 2;
  CHECK_FALSE(library::namedMemory(kLibrary, 0, std::as_bytes(std::span(&wrong, 1)), named, why));
  CHECK(why.find("not aligned") != std::string::npos);
}

}  // namespace rouse::sparse
