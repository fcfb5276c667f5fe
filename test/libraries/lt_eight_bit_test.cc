// Products of 8-bit floats of cuBLASLt: what is served, and what memory they name beside their matrices.
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <string_view>

#include "schemas/blas/lt_matmul.h"

namespace rouse::blas {
namespace {

LtMatmul eightBits() {
  LtMatmul call;
  call.a = {.address = 0x10000, .rows = 64, .columns = 32, .spacing = 64, .type = Type::e4m3};
  call.b = {.address = 0x20000, .rows = 64, .columns = 7, .spacing = 64, .type = Type::e4m3};
  call.c = call.d = {.address = 0x30000, .rows = 32, .columns = 7, .spacing = 32, .type = Type::bf16};
  call.transa = Transpose::transposed;
  call.computeType = 68;
  return call;
}

// D is 8 bits.
LtMatmul narrowResult() {
  LtMatmul call = eightBits();
  call.d.type = Type::e4m3;
  call.c.address = 0;
  return call;
}

const Range* operandOf(const Operands& operands, std::string_view name) {
  for (const Range& range : operands.all())
    if (range.operand == name) return &range;
  return nullptr;
}

}  // namespace

TEST_CASE("8-bit floats: which types go together", "[libraries]") {
  int served = 0;
  for (const Type a : {Type::e4m3, Type::e5m2, Type::bf16, Type::i8})
    for (const Type b : {Type::e4m3, Type::e5m2, Type::bf16, Type::i8})
      for (const Type c : {Type::bf16, Type::f16, Type::f32, Type::e4m3, Type::e5m2, Type::i32})
        for (const Type d : {Type::bf16, Type::f16, Type::f32, Type::e4m3, Type::e5m2, Type::i32}) {
          if (!isEightBitFloat(a) && !isEightBitFloat(b)) continue;
          LtMatmul call = eightBits();
          call.a.type = a, call.b.type = b, call.c.type = c, call.d.type = d;
          const Verdict verdict = check(call).verdict;
          REQUIRE((verdict == Verdict::runs || verdict == Verdict::unsupported));
          served += verdict == Verdict::runs;
        }
  // Of each of the three pairs of A and B: C as D in three types, E4M3 beside either half; E5M2 beside either, but not of two E4M3.
  CHECK(served == 3 * (3 + 2) + 2 * 2);
}

TEST_CASE("8-bit floats: what is refused", "[libraries]") {
  REQUIRE(check(eightBits()).verdict == Verdict::runs);
  REQUIRE(check(narrowResult()).verdict == Verdict::runs);
  struct {
    void (*spoil)(LtMatmul&);
    Verdict verdict;
  } cases[] = {
      {[](LtMatmul& c) { c.computeType = 77; }, Verdict::unsupported},
      {[](LtMatmul& c) { c.computeType = 7; }, Verdict::unsupported},
      {[](LtMatmul& c) { c.scaleType = Type::f16; }, Verdict::unsupported},
      {[](LtMatmul& c) { c.transa = Transpose::none; c.a.rows = 32, c.a.columns = 64; }, Verdict::unsupported},
      {[](LtMatmul& c) { c.transb = Transpose::transposed; c.b.rows = 16, c.b.columns = 64, c.c.columns = c.d.columns = 16; }, Verdict::unsupported},
      {[](LtMatmul& c) { c.a.order = Order::rows; }, Verdict::unsupported},
      {[](LtMatmul& c) { c.d.order = Order::rows; }, Verdict::unsupported},
      {[](LtMatmul& c) { c.a.rows = c.b.rows = 24; }, Verdict::unsupported},
      {[](LtMatmul& c) { c.a.spacing = 72; }, Verdict::unsupported},
      {[](LtMatmul& c) { c.b.address += 8; }, Verdict::unsupported},
      {[](LtMatmul& c) { c.d.spacing = 33; }, Verdict::unsupported},
      {[](LtMatmul& c) { c.batch = 2; c.a.stride = 8; }, Verdict::unsupported},
      {[](LtMatmul& c) { c.batch = 2; c.a.stride = 16; }, Verdict::runs},
      {[](LtMatmul& c) { c.aScale = 0x1001; }, Verdict::invalid},
      {[](LtMatmul& c) { c.amax = 0x1000; }, Verdict::unsupported},
      {[](LtMatmul& c) { c.dScale = 0x1000; }, Verdict::unsupported},
      {[](LtMatmul& c) { c.aScaling = ScaleMode::outerVector; }, Verdict::unsupported},
      {[](LtMatmul& c) { c.aScaling = c.bScaling = static_cast<ScaleMode>(5); }, Verdict::unsupported},
      {[](LtMatmul& c) { c.aScaling = c.bScaling = ScaleMode::outerVector; c.batch = 2; }, Verdict::unsupported},
      {[](LtMatmul& c) { c.aScaling = c.bScaling = ScaleMode::outerVector; c.d.type = Type::e4m3; }, Verdict::unsupported},
      {[](LtMatmul& c) { c.epilogue = kEpilogueBias; c.biasType = Type::f16; }, Verdict::unsupported},
      {[](LtMatmul& c) { c.epilogue = kEpilogueBias; c.biasType = Type::f32; }, Verdict::unsupported},
      {[](LtMatmul& c) { c.epilogue = kEpilogueGelu | kEpilogueAux; c.d.type = c.auxType = Type::e4m3; c.auxSpacing = 32; }, Verdict::unsupported},
      {[](LtMatmul& c) { c.b.columns = c.c.columns = c.d.columns = 0; }, Verdict::empty},
  };
  for (const auto& each : cases) {
    LtMatmul call = eightBits();
    each.spoil(call);
    INFO(&each - cases);
    CHECK(check(call).verdict == each.verdict);
  }
  // Scales are for 8-bit floats.
  LtMatmul plain = eightBits();
  plain.a.type = plain.b.type = Type::bf16;
  CHECK(check(plain).verdict == Verdict::runs);
  plain.bScale = 0x1000;
  CHECK(check(plain).verdict == Verdict::unsupported);
}

TEST_CASE("8-bit floats: the bias's type follows from the result's", "[libraries]") {
  LtMatmul call = eightBits();
  CHECK(usualBiasType(call) == Type::bf16);
  call.c.type = call.d.type = Type::f16;
  CHECK(usualBiasType(call) == Type::f16);
  call.d.type = Type::e4m3;
  CHECK(usualBiasType(call) == Type::f16);
  call.c.type = call.d.type = Type::f32;
  CHECK(usualBiasType(call) == Type::bf16);
  call.a.type = call.b.type = Type::f32;
  CHECK(usualBiasType(call) == Type::f32);
}

TEST_CASE("8-bit floats: scales and the largest value are memory", "[libraries]") {
  LtMatmul call = narrowResult();
  call.aScale = 0x1000, call.bScale = 0x2000, call.cScale = 0x3000, call.dScale = 0x4000, call.amax = 0x5000;
  call.epilogue = kEpilogueBias;
  call.bias = 0x6000;
  call.biasType = Type::bf16;
  call.workspace = 0x7000, call.workspaceBytes = 64;
  REQUIRE(check(call).verdict == Verdict::runs);
  Operands all;
  REQUIRE(operands(call, all));
  CHECK(all.count == 10);
  CHECK(operandOf(all, "A")->bytes == 64 * 32);
  CHECK(operandOf(all, "D")->bytes == 32 * 7);
  CHECK(operandOf(all, "C") == nullptr);
  for (const char* name : {"A's scale", "B's scale", "C's scale", "D's scale", "D's amax"}) {
    REQUIRE(operandOf(all, name) != nullptr);
    CHECK(operandOf(all, name)->bytes == 4);
    CHECK(operandOf(all, name)->written == (name == std::string_view("D's amax")));
  }
  CHECK(operandOf(all, "D's amax")->address == 0x5000);

  // All that a call can name has its place.
  LtMatmul most = eightBits();
  most.scalars = Scalars::inMemory;
  most.epilogue = kEpilogueBias | kEpilogueGelu | kEpilogueAux;
  most.biasType = most.auxType = Type::bf16;
  most.auxSpacing = 32;
  most.aScaling = most.bScaling = ScaleMode::outerVector;
  most.cScale = 0x3000;
  most.workspace = 0x7000, most.workspaceBytes = 64;
  REQUIRE(check(most).verdict == Verdict::runs);
  Operands found;
  REQUIRE(operands(most, found));
  CHECK(found.count == 12);
  // Vectors that are not there are named all the same, where nobody has memory.
  CHECK(operandOf(found, "A's scale")->address == 0);
  CHECK(operandOf(found, "A's scale")->bytes == 4 * 32);
  CHECK(operandOf(found, "B's scale")->bytes == 4 * 7);
}

TEST_CASE("8-bit floats: no call makes the check fail, whatever is in it", "[libraries]") {
  LtMatmul wrapping = narrowResult();
  wrapping.amax = ~std::uint64_t{3};
  REQUIRE(check(wrapping).verdict == Verdict::runs);
  Operands none;
  CHECK(!operands(wrapping, none));
  std::mt19937_64 random(11);
  int ran = 0;
  for (int round = 0; round < 50'000; ++round) {
    LtMatmul call = round % 2 == 0 ? eightBits() : narrowResult();
    auto* bytes = reinterpret_cast<unsigned char*>(&call);
    for (int i = 0; i < 3; ++i) bytes[random() % sizeof call] = static_cast<unsigned char>(random());
    if (check(call).verdict != Verdict::runs) continue;
    Operands found;
    if (!operands(call, found)) continue;
    ++ran;
    for (const Range& range : found.all()) CHECK(range.bytes <= kMostBytes);
  }
  CHECK(ran > 1000);
}

}  // namespace rouse::blas
