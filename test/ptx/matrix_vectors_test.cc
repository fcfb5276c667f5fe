// Products of a warp in vectors and those of its lanes: the same bits, whatever the operands' are.
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "server/device/cpu/runtime/matrix.h"
#include "server/device/cpu/runtime/matrix_vectors.h"

using namespace rouse::cpu;

namespace {

constexpr std::uint32_t kLanes = 32;
using Words = std::array<std::uint32_t, kMatrixWords * kLanes>;  // by word, then by lane

MatrixOperation product(std::uint32_t m, std::uint32_t n, std::uint32_t k, MatrixElement a, MatrixElement b, MatrixElement c, MatrixElement d) {
  MatrixOperation made;
  made.m = m, made.n = n, made.k = k, made.a = a, made.b = b, made.c = c, made.d = d;
  return made;
}

std::vector<MatrixOperation> products() {
  using enum MatrixElement;
  std::vector<MatrixOperation> all;
  const std::array shapes{std::array{16u, 8u}, std::array{16u, 16u}, std::array{32u, 8u}, std::array{8u, 32u}};
  for (const auto& [m, n] : shapes) {
    for (const MatrixElement c : {f16, f32})
      for (const MatrixElement d : {f16, f32}) all.push_back(product(m, n, 16, f16, f16, c, d));
    all.push_back(product(m, n, 16, bf16, bf16, f32, f32));
    for (const MatrixElement a : {s8, u8})
      for (const MatrixElement b : {s8, u8}) all.push_back(product(m, n, 16, a, b, s32, s32));
  }
  for (const MatrixElement c : {f16, f32}) all.push_back(product(16, 8, 8, f16, f16, c, c));
  all.push_back(product(16, 8, 8, bf16, bf16, f32, f32));
  for (const std::uint32_t k : {4u, 8u}) all.push_back(product(16, 8, k, tf32, tf32, f32, f32));
  all.push_back(product(16, 16, 8, tf32, tf32, f32, f32));
  for (const std::uint32_t k : {4u, 8u, 16u}) all.push_back(product(16, 8, k, f64, f64, f64, f64));
  all.push_back(product(8, 8, 4, f64, f64, f64, f64));
  all.push_back(product(8, 8, 16, s8, u8, s32, s32));
  all.push_back(product(16, 8, 32, u8, s8, s32, s32));
  for (std::size_t i = all.size(); i-- > 0;) {
    if (all[i].d != s32) continue;
    all.push_back(all[i]);
    all.back().saturate = true;
  }
  return all;
}

// Numbers whose products and sums come near each other, and any bits at all.
std::uint32_t word(MatrixElement element, std::mt19937_64& random) {
  const auto bits = static_cast<std::uint32_t>(random());
  if (random() % 8 == 0) return bits;
  switch (element) {
    case MatrixElement::f16:
      return (bits & 0x8fff'8fff) | 0x3000'3000;
    case MatrixElement::bf16:
      return (bits & 0x81ff'81ff) | 0x3e00'3e00;
    case MatrixElement::tf32:
    case MatrixElement::f32:
      return (bits & 0x81ff'ffff) | 0x3e00'0000;
    default:
      return bits;
  }
}

Words words(const MatrixOperation& operation, bool tame, std::mt19937_64& random) {
  Words made;
  for (std::uint32_t& one : made) one = static_cast<std::uint32_t>(random());
  const auto fill = [&](std::uint32_t at, std::uint32_t count, MatrixElement element) {
    for (std::uint32_t i = at * kLanes; i < (at + count) * kLanes; ++i) made[i] = word(element, random);
    if (element != MatrixElement::f64) return;
    // Upper words; no NaN, whose bits are not told.
    for (std::uint32_t w = at + 1; w < at + count; w += 2)
      for (std::uint32_t lane = 0; lane < kLanes; ++lane) made[w * kLanes + lane] = (made[w * kLanes + lane] & 0x80ff'ffff) | 0x3f00'0000;
  };
  if (!tame && operation.a != MatrixElement::f64) return made;
  fill(0, operation.accumulatorWords(operation.c), operation.c);
  fill(kMatrixA, operation.aWords(), operation.a);
  fill(kMatrixB, operation.bWords(), operation.b);
  return made;
}

}  // namespace

TEST_CASE("products in vectors have the bits of those by lanes", "[matrix]") {
  if (!hasMatrixVectors()) {
    WARN("this processor has no vectors of 512 bits: nothing to compare");
    return;
  }
  std::mt19937_64 random(7);
  for (const MatrixOperation& operation : products()) {
    CAPTURE(operation.m, operation.n, operation.k, static_cast<int>(operation.a), static_cast<int>(operation.b), static_cast<int>(operation.c),
            static_cast<int>(operation.d), operation.saturate);
    for (int round = 0; round < 64; ++round) {
      Words together = words(operation, round % 2 == 0, random);
      std::array<std::array<std::uint32_t, kMatrixWords>, kLanes> own;
      LaneRegisters lanes;
      for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
        for (std::uint32_t w = 0; w < kMatrixWords; ++w) own[lane][w] = together[w * kLanes + lane];
        lanes[lane] = own[lane].data();
      }
      runMatrixOperation(operation, lanes);
      REQUIRE(multiplyInVectors(operation, together.data()));
      std::uint32_t differ = 0;
      for (std::uint32_t w = 0; w < operation.accumulatorWords(operation.d); ++w)
        for (std::uint32_t lane = 0; lane < kLanes; ++lane) differ += own[lane][w] != together[w * kLanes + lane] ? 1 : 0;
      REQUIRE(differ == 0);
    }
  }
}

TEST_CASE("what vectors do not cover is left as it is", "[matrix]") {
  if (!hasMatrixVectors()) return;
  using enum MatrixElement;
  MatrixOperation quads = product(8, 8, 4, f16, f16, f32, f32);
  quads.quadPairs = true;
  for (const MatrixOperation& operation : {quads, product(16, 8, 32, e4m3, e5m2, f32, f32), product(16, 8, 64, s4, u4, s32, s32), product(16, 8, 256, b1, b1, s32, s32)}) {
    Words words;
    words.fill(0x3c00'3c00);
    const Words before = words;
    CHECK(!multiplyInVectors(operation, words.data()));
    CHECK(words == before);
  }
}

TEST_CASE("a unit is transposed in place", "[matrix]") {
  if (!hasMatrixVectors()) return;
  std::array<std::uint16_t, 64> from;
  for (std::uint32_t i = 0; i < 64; ++i) from[i] = static_cast<std::uint16_t>(1000 + i);
  std::array<std::uint32_t, 32> unit;
  std::memcpy(unit.data(), from.data(), sizeof unit);
  transposeInVectors(unit.data(), unit.data());
  std::array<std::uint16_t, 64> made;
  std::memcpy(made.data(), unit.data(), sizeof unit);
  for (std::uint32_t row = 0; row < 8; ++row)
    for (std::uint32_t column = 0; column < 8; ++column) CHECK(made[8 * row + column] == from[8 * column + row]);
}
