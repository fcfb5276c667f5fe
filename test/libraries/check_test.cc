// What may be in a call of cuBLAS, and what memory it names: checked against elements counted one by one.
#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <random>

#include "schemas/blas/lt_transform.h"

namespace rouse::blas {
namespace {

Call product() {
  Call call;
  call.a = {.address = 0x10000, .spacing = 5};
  call.b = {.address = 0x20000, .spacing = 7};
  call.c = {.address = 0x30000, .spacing = 6};
  call.m = 4, call.n = 3, call.k = 2;
  return call;
}

const Range* find(const Operands& operands, std::string_view name) {
  for (const Range& range : operands.all())
    if (range.operand == name) return &range;
  return nullptr;
}

constexpr auto kGemm = Function::cublasSgemm_v2;
constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("a product's operands", "[libraries]") {
  const Call call = product();
  REQUIRE(check(kGemm, call).verdict == Verdict::runs);
  Operands operands;
  REQUIRE(blas::operands(kGemm, call, operands));
  REQUIRE(operands.count == 3);
  CHECK(find(operands, "A")->bytes == 4 * (1 * 5 + 4));
  CHECK(!find(operands, "A")->written);
  CHECK(find(operands, "B")->bytes == 4 * (2 * 7 + 2));
  CHECK(find(operands, "C")->bytes == 4 * (2 * 6 + 4));
  CHECK(find(operands, "C")->written);
  CHECK(!operands.indirect);
}

TEST_CASE("a range is exactly from the first element to the last", "[libraries]") {
  std::mt19937_64 random(5);
  for (int round = 0; round < 2000; ++round) {
    Call call = product();
    const auto pick = [&](std::int64_t most) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most)); };
    call.m = 1 + pick(6), call.n = 1 + pick(6), call.k = 1 + pick(6), call.batch = 1 + pick(4);
    call.transa = static_cast<Transpose>(pick(3));
    const std::int64_t rows = call.transa == Transpose::none ? call.m : call.k, columns = call.transa == Transpose::none ? call.k : call.m;
    call.a.spacing = rows + pick(3);
    call.a.stride = pick(60) - 30;
    call.b.spacing = call.k + pick(3);
    call.c.spacing = call.m + pick(3);
    call.batching = Batching::strided;
    constexpr auto kFunction = Function::cublasSgemmStridedBatched;
    REQUIRE(check(kFunction, call).verdict == Verdict::runs);
    Operands operands;
    REQUIRE(blas::operands(kFunction, call, operands));
    std::uint64_t low = ~0ull, high = 0;
    for (std::int64_t e = 0; e < call.batch; ++e)
      for (std::int64_t j = 0; j < columns; ++j)
        for (std::int64_t i = 0; i < rows; ++i) {
          const std::uint64_t at = call.a.address + static_cast<std::uint64_t>(4 * (e * call.a.stride + j * call.a.spacing + i));
          low = std::min(low, at);
          high = std::max(high, at + 4);
        }
    const Range* a = find(operands, "A");
    REQUIRE(a != nullptr);
    CHECK(a->address == low);
    CHECK(a->address + a->bytes == high);
  }
}

TEST_CASE("vectors lie behind their address whichever way they go", "[libraries]") {
  Call call;
  call.n = 5;
  call.x = {.address = 0x1000, .spacing = -3};
  call.y = {.address = 0x2000, .spacing = 2};
  constexpr auto kFunction = Function::cublasSaxpy_v2;
  REQUIRE(check(kFunction, call).verdict == Verdict::runs);
  Operands operands;
  REQUIRE(blas::operands(kFunction, call, operands));
  CHECK(find(operands, "x")->address == 0x1000);
  CHECK(find(operands, "x")->bytes == 4 * 13);
  CHECK(find(operands, "y")->bytes == 4 * 9);
  CHECK(find(operands, "y")->written);
}

TEST_CASE("scalars, results, workspaces and arrays of addresses are operands too", "[libraries]") {
  Call call = product();
  call.scalars = Scalars::inMemory;
  call.alpha.words[0] = 0x40;
  call.beta.words[0] = 0x80;
  call.workspace = 0x900;
  call.workspaceBytes = 256;
  Operands operands;
  REQUIRE(blas::operands(kGemm, call, operands));
  CHECK(find(operands, "alpha")->bytes == 4);
  CHECK(find(operands, "beta")->address == 0x80);
  CHECK(find(operands, "the workspace")->bytes == 256);
  Call batch = product();
  batch.batching = Batching::arrays;
  batch.batch = 9;
  Operands indirect;
  REQUIRE(blas::operands(Function::cublasSgemmBatched, batch, indirect));
  CHECK(indirect.indirect);
  CHECK(find(indirect, "A")->bytes == 72);
  CHECK(!find(indirect, "C")->written);
}

TEST_CASE("bands and packed triangles reach from their first stored element to the last", "[libraries]") {
  Call band;
  band.m = 6, band.n = 9, band.k = 2, band.ku = 3;
  band.a = {.address = 0x10000, .spacing = 8};
  band.x = {.address = 0x20000, .spacing = 1};
  band.y = {.address = 0x30000, .spacing = -2};
  Operands operands;
  REQUIRE(check(Function::cublasSgbmv_v2, band).verdict == Verdict::runs);
  REQUIRE(blas::operands(Function::cublasSgbmv_v2, band, operands));
  CHECK(find(operands, "A")->bytes == 4 * (8 * 8 + 6));
  CHECK(find(operands, "x")->bytes == 4 * 9);
  CHECK(find(operands, "y")->bytes == 4 * (5 * 2 + 1));
  CHECK(find(operands, "y")->written);
  band.a.spacing = 5;
  CHECK(check(Function::cublasSgbmv_v2, band).verdict == Verdict::invalid);
  band.ku = -1;
  CHECK(check(Function::cublasSgbmv_v2, band).verdict == Verdict::invalid);
  band.ku = kHuge;
  CHECK(check(Function::cublasSgbmv_v2, band).verdict == Verdict::unsupported);

  for (std::int64_t n : {1, 2, 7, 1000}) {
    Call packed;
    packed.n = n;
    packed.aType = packed.bType = packed.xType = packed.scaleType = Type::f64;
    packed.a = {.address = 0x10000};
    packed.x = {.address = 0x20000, .spacing = 1};
    Operands found;
    REQUIRE(check(Function::cublasDspr_v2, packed).verdict == Verdict::runs);
    REQUIRE(blas::operands(Function::cublasDspr_v2, packed, found));
    std::uint64_t count = 0;
    for (std::int64_t j = 0; j < n; ++j) count += static_cast<std::uint64_t>(j + 1);
    CHECK(find(found, "A")->bytes == 8 * count);
    CHECK(find(found, "A")->written);
    packed.b = {.address = 0x30000};
    packed.a.spacing = n;
    Operands repacked;
    REQUIRE(check(Function::cublasDtpttr, packed).verdict == Verdict::runs);
    REQUIRE(blas::operands(Function::cublasDtpttr, packed, repacked));
    CHECK(find(repacked, "B")->bytes == 8 * count);
    CHECK(!find(repacked, "B")->written);
    CHECK(find(repacked, "A")->bytes == 8 * static_cast<std::uint64_t>(n * n));
    packed.a.spacing = n - 1;
    CHECK(check(Function::cublasDtpttr, packed).verdict == Verdict::invalid);
  }
  Call vast;
  vast.n = kMostElements;
  vast.a = {.address = 8};
  vast.x = {.address = 8, .spacing = 1};
  Operands none;
  REQUIRE(check(Function::cublasStpmv_v2, vast).verdict == Verdict::runs);
  CHECK(!blas::operands(Function::cublasStpmv_v2, vast, none));
}

TEST_CASE("factorisations name pivots and infos, and have their limits", "[libraries]") {
  Call call;
  call.n = 5, call.batch = 7;
  call.batching = Batching::arrays;
  call.a = {.address = 0x10000, .spacing = 6};
  call.pivots = 0x40000;
  call.infos = 0x50000;
  Operands operands;
  REQUIRE(check(Function::cublasSgetrfBatched, call).verdict == Verdict::runs);
  REQUIRE(blas::operands(Function::cublasSgetrfBatched, call, operands));
  CHECK(operands.indirect);
  CHECK(find(operands, "A")->bytes == 7 * 8);
  CHECK(find(operands, "the pivots")->bytes == 4 * 5 * 7);
  CHECK(find(operands, "the pivots")->written);
  CHECK(find(operands, "the infos")->bytes == 4 * 7);
  CHECK(find(operands, "the infos")->written);
  call.pivots = call.infos = 0;
  Operands without;
  REQUIRE(blas::operands(Function::cublasSgetrfBatched, call, without));
  CHECK(find(without, "the pivots") == nullptr);
  CHECK(find(without, "the infos")->address == 0);  // it needs them

  call.b = {.address = 0x20000, .spacing = 5};
  call.k = 2;
  call.pivots = 0x40000;
  Operands solver;
  REQUIRE(check(Function::cublasSgetrsBatched, call).verdict == Verdict::runs);
  REQUIRE(blas::operands(Function::cublasSgetrsBatched, call, solver));
  CHECK(!find(solver, "the pivots")->written);
  CHECK(find(solver, "the infos") == nullptr);
  call.k = 0;
  CHECK(check(Function::cublasSgetrsBatched, call).verdict == Verdict::empty);

  call.c = {.address = 0x30000, .spacing = 33};
  call.a.spacing = 33;
  call.n = 33;
  CHECK(check(Function::cublasSmatinvBatched, call).verdict == Verdict::invalid);
  call.n = 32;
  CHECK(check(Function::cublasSmatinvBatched, call).verdict == Verdict::runs);
  call.m = 4, call.n = 5;
  CHECK(check(Function::cublasSgelsBatched, call).verdict == Verdict::unsupported);
  call.m = 5, call.k = 1;
  CHECK(check(Function::cublasSgelsBatched, call).verdict == Verdict::runs);
  call.transa = Transpose::transposed;
  CHECK(check(Function::cublasSgelsBatched, call).verdict == Verdict::unsupported);
  call.transa = Transpose::none;
  CHECK(check(Function::cublasSgeqrfBatched, call).verdict == Verdict::invalid);  // tau's spacing
  call.x = {.address = 0x60000, .spacing = 1};
  CHECK(check(Function::cublasSgeqrfBatched, call).verdict == Verdict::runs);
}

TEST_CASE("rotations name each of their scalars", "[libraries]") {
  Call call;
  call.xType = Type::c64;
  call.scaleType = Type::f64;
  for (std::uint64_t i = 0; i < 5; ++i) call.rotation[i] = 0x100 * (i + 1);
  CHECK(check(Function::cublasZrotg_v2, call).verdict == Verdict::invalid);  // of values there are no addresses
  call.scalars = Scalars::inMemory;
  REQUIRE(check(Function::cublasZrotg_v2, call).verdict == Verdict::runs);
  Operands plain;
  REQUIRE(blas::operands(Function::cublasZrotg_v2, call, plain));
  REQUIRE(plain.count == 4);
  CHECK(find(plain, "a")->bytes == 16);
  CHECK(find(plain, "c")->bytes == 8);
  CHECK(find(plain, "s")->bytes == 16);
  CHECK(find(plain, "s")->written);
  call.aType = call.bType = call.xType = call.yType = Type::f64;
  Operands modified;
  REQUIRE(check(Function::cublasDrotmg_v2, call).verdict == Verdict::runs);
  REQUIRE(blas::operands(Function::cublasDrotmg_v2, call, modified));
  REQUIRE(modified.count == 5);
  CHECK(find(modified, "d2")->written);
  CHECK(!find(modified, "y1")->written);
  CHECK(find(modified, "the parameters")->bytes == 40);
  call.yType = Type::f32;
  CHECK(check(Function::cublasDrotmg_v2, call).verdict == Verdict::invalid);
}

TEST_CASE("what cuBLAS refuses is refused", "[libraries]") {
  struct {
    void (*spoil)(Call&);
    Verdict verdict;
  } cases[] = {
      {[](Call& c) { c.m = -1; }, Verdict::invalid},
      {[](Call& c) { c.k = -5; }, Verdict::invalid},
      {[](Call& c) { c.a.spacing = 3; }, Verdict::invalid},
      {[](Call& c) { c.b.spacing = 1; }, Verdict::invalid},
      {[](Call& c) { c.c.spacing = 0; }, Verdict::invalid},
      {[](Call& c) { c.transa = static_cast<Transpose>(3); }, Verdict::invalid},
      {[](Call& c) { c.scalars = static_cast<Scalars>(2); }, Verdict::invalid},
      {[](Call& c) { c.batching = Batching::arrays; }, Verdict::invalid},
      {[](Call& c) { c.aType = Type::f16; }, Verdict::invalid},
      {[](Call& c) { c.cType = Type::f64; }, Verdict::invalid},
      {[](Call& c) { c.scaleType = Type::c64; }, Verdict::invalid},
      {[](Call& c) { c.m = std::int64_t{1} << 31; }, Verdict::unsupported},
      {[](Call& c) { c.a.spacing = kHuge; }, Verdict::unsupported},
      {[](Call& c) { c.a.stride = kHuge; }, Verdict::invalid},
      {[](Call& c) { c.workspaceBytes = ~0ull; }, Verdict::invalid},
      {[](Call& c) { c.m = 0; }, Verdict::empty},
      {[](Call& c) { c.n = 0; }, Verdict::empty},
      {[](Call& c) { c.k = 0; }, Verdict::runs},
  };
  for (const auto& each : cases) {
    Call call = product();
    each.spoil(call);
    CHECK(check(kGemm, call).verdict == each.verdict);
  }
  CHECK(check(static_cast<Function>(kFunctionCount), product()).verdict == Verdict::unsupported);
}

TEST_CASE("sizes that overflow are no operands", "[libraries]") {
  Call call = product();
  call.m = call.n = call.k = kMostElements;
  call.a.spacing = call.b.spacing = call.c.spacing = kMostElements;
  REQUIRE(check(kGemm, call).verdict == Verdict::runs);
  Operands operands;
  CHECK(!blas::operands(kGemm, call, operands));
  Call wrapping = product();
  wrapping.c.address = ~std::uint64_t{0} - 16;
  Operands other;
  CHECK(!blas::operands(kGemm, wrapping, other));
}

TEST_CASE("no call makes the check fail, whatever is in it", "[libraries]") {
  std::mt19937_64 random(6);
  for (int round = 0; round < 50'000; ++round) {
    Call call;
    auto* bytes = reinterpret_cast<unsigned char*>(&call);
    for (std::size_t i = 0; i < sizeof call; ++i) bytes[i] = static_cast<unsigned char>(random() % 4 == 0 ? random() : 0);
    const auto function = static_cast<Function>(random() % (kFunctionCount + 2));
    if (check(function, call).verdict != Verdict::runs) continue;
    Operands operands;
    if (!blas::operands(function, call, operands)) continue;
    for (const Range& range : operands.all()) CHECK(range.bytes <= kMostBytes);
  }
}

namespace {

LtMatmul ltProduct() {
  LtMatmul call;
  call.a = {.address = 0x10000, .rows = 4, .columns = 2, .spacing = 5};
  call.b = {.address = 0x20000, .rows = 2, .columns = 3, .spacing = 2};
  call.c = call.d = {.address = 0x30000, .rows = 4, .columns = 3, .spacing = 4};
  call.computeType = 68;
  return call;
}

}  // namespace

TEST_CASE("a product of cuBLASLt: what is refused, and its operands", "[libraries]") {
  REQUIRE(check(ltProduct()).verdict == Verdict::runs);
  Operands operands;
  REQUIRE(blas::operands(ltProduct(), operands));
  CHECK(find(operands, "A")->bytes == 4 * 9);
  CHECK(find(operands, "D")->written);
  struct {
    void (*spoil)(LtMatmul&);
    Verdict verdict;
  } cases[] = {
      {[](LtMatmul& c) { c.b.rows = 3; }, Verdict::invalid},
      {[](LtMatmul& c) { c.d.columns = 4; }, Verdict::invalid},
      {[](LtMatmul& c) { c.a.spacing = 3; }, Verdict::invalid},
      {[](LtMatmul& c) { c.a.order = static_cast<Order>(2); }, Verdict::unsupported},
      {[](LtMatmul& c) { c.computeType = 7; }, Verdict::invalid},
      {[](LtMatmul& c) { c.epilogue = 0; }, Verdict::invalid},
      {[](LtMatmul& c) { c.epilogue = kEpilogueRelu | kEpilogueGelu; }, Verdict::unsupported},
      {[](LtMatmul& c) { c.epilogue = kEpilogueRelu | kEpilogueAux; }, Verdict::unsupported},
      {[](LtMatmul& c) { c.epilogue = 1u << 20; }, Verdict::unsupported},
      {[](LtMatmul& c) { c.epilogue = kEpilogueBias; c.biasStride = -1; }, Verdict::invalid},
      {[](LtMatmul& c) { c.batch = -1; }, Verdict::invalid},
      {[](LtMatmul& c) { c.a.type = Type::f16; }, Verdict::unsupported},
      {[](LtMatmul& c) { c.batch = 0; }, Verdict::empty},
  };
  for (const auto& each : cases) {
    LtMatmul call = ltProduct();
    each.spoil(call);
    CHECK(check(call).verdict == each.verdict);
  }
  std::mt19937_64 random(7);
  for (int round = 0; round < 50'000; ++round) {
    LtMatmul call = ltProduct();
    auto* bytes = reinterpret_cast<unsigned char*>(&call);
    for (int i = 0; i < 3; ++i) bytes[random() % sizeof call] = static_cast<unsigned char>(random());
    if (check(call).verdict != Verdict::runs) continue;
    Operands found;
    if (!blas::operands(call, found)) continue;
    for (const Range& range : found.all()) CHECK(range.bytes <= kMostBytes);
  }
}

TEST_CASE("a transform of cuBLASLt: what is refused, and its operands", "[libraries]") {
  const auto plain = [] {
    LtTransform call;
    call.a = {.address = 0x10000, .rows = 4, .columns = 6, .spacing = 5, .stride = 100, .type = Type::f16};
    call.b = {.address = 0x20000, .rows = 6, .columns = 4, .spacing = 7, .stride = -50, .type = Type::i8, .order = Order::rows};
    call.c = {.address = 0x30000, .rows = 4, .columns = 6, .spacing = 6, .stride = 24, .type = Type::f32, .order = Order::rows};
    call.transb = Transpose::transposed;
    call.batch = 3;
    return call;
  };
  LtTransform call = plain();
  call.scalars = Scalars::inMemory;
  call.alpha.words[0] = 0x40;
  call.beta.words[0] = 0x80;
  REQUIRE(check(call).verdict == Verdict::runs);
  Operands operands;
  REQUIRE(blas::operands(call, operands));
  REQUIRE(operands.count == 5);
  CHECK(find(operands, "A")->bytes == 2 * (2 * 100 + 5 * 5 + 4));
  CHECK(find(operands, "B")->address == 0x20000 - 100);
  CHECK(find(operands, "B")->bytes == 2 * 50 + 5 * 7 + 4);
  CHECK(find(operands, "C")->bytes == 4 * (2 * 24 + 3 * 6 + 6));
  CHECK(find(operands, "C")->written);
  CHECK(find(operands, "beta")->bytes == 4);
  call.b = {};
  call.beta = {};
  Operands one;
  REQUIRE(check(call).verdict == Verdict::runs);
  REQUIRE(blas::operands(call, one));
  CHECK(one.count == 3);
  struct {
    void (*spoil)(LtTransform&);
    Verdict verdict;
  } cases[] = {
      {[](LtTransform& c) { c.transb = Transpose::none; }, Verdict::invalid},
      {[](LtTransform& c) { c.a.rows = 3; }, Verdict::invalid},
      {[](LtTransform& c) { c.b.spacing = 3; }, Verdict::invalid},
      {[](LtTransform& c) { c.c.spacing = 5; }, Verdict::invalid},
      {[](LtTransform& c) { c.batch = -1; }, Verdict::invalid},
      {[](LtTransform& c) { c.batch = 0; }, Verdict::empty},
      {[](LtTransform& c) { c.a.order = static_cast<Order>(2); }, Verdict::unsupported},
      {[](LtTransform& c) { c.a.type = Type::f64; }, Verdict::unsupported},
      {[](LtTransform& c) { c.scaleType = Type::f16; }, Verdict::unsupported},
      {[](LtTransform& c) { c.transa = static_cast<Transpose>(3); }, Verdict::invalid},
      {[](LtTransform& c) { c.c.rows = kHuge; }, Verdict::unsupported},
      {[](LtTransform& c) { c.a = {.address = 8, .rows = kHuge}; }, Verdict::invalid},
  };
  for (const auto& each : cases) {
    LtTransform spoilt = plain();
    each.spoil(spoilt);
    CHECK(check(spoilt).verdict == each.verdict);
  }
  std::mt19937_64 random(8);
  for (int round = 0; round < 50'000; ++round) {
    LtTransform spoilt = plain();
    auto* bytes = reinterpret_cast<unsigned char*>(&spoilt);
    for (int i = 0; i < 3; ++i) bytes[random() % sizeof spoilt] = static_cast<unsigned char>(random());
    if (check(spoilt).verdict != Verdict::runs) continue;
    Operands found;
    if (!blas::operands(spoilt, found)) continue;
    for (const Range& range : found.all()) CHECK(range.bytes <= kMostBytes);
  }
}

}  // namespace rouse::blas
