#include "client-shim/cudart/memory_advice.h"

#include <catch2/catch.hpp>

using rouse::AddressRange;
using rouse::cudart::Advice;
using rouse::cudart::MemoryAdvice;

namespace {

const auto readMostly = [](Advice& advice) { advice.readMostly = true; };

std::size_t readMostlyPieces(const MemoryAdvice& advice, AddressRange range) {
  std::size_t count = 0;
  for (const Advice& piece : advice.pieces(range)) count += piece.readMostly;
  return count;
}

}  // namespace

TEST_CASE("advice holds for exactly the bytes it was given for", "[cudart][advice]") {
  MemoryAdvice advice;
  advice.update({1000, 100}, readMostly);
  CHECK(readMostlyPieces(advice, {1000, 100}) == advice.pieces({1000, 100}).size());
  CHECK(readMostlyPieces(advice, {999, 1}) == 0);
  CHECK(readMostlyPieces(advice, {1100, 1}) == 0);
  CHECK(advice.pieces({990, 20}).size() == 2);
  CHECK(advice.pieces({900, 300}).size() == 3);
}

TEST_CASE("overlapping advice adds up", "[cudart][advice]") {
  MemoryAdvice advice;
  advice.update({0x1000, 0x2000}, readMostly);
  advice.update({0x2000, 0x2000}, [](Advice& a) { a.accessedBy = {1}; });
  const auto pieces = advice.pieces({0x1000, 0x3000});
  REQUIRE(pieces.size() == 3);
  CHECK((pieces[0].readMostly && pieces[0].accessedBy.empty()));
  CHECK((pieces[1].readMostly && pieces[1].accessedBy == std::vector<int>{1}));
  CHECK((!pieces[2].readMostly && pieces[2].accessedBy == std::vector<int>{1}));
}

TEST_CASE("freed memory is forgotten, its neighbours are not", "[cudart][advice]") {
  MemoryAdvice advice;
  advice.update({0x1000, 0x3000}, readMostly);
  advice.forget({0x2000, 0x1000});
  CHECK(readMostlyPieces(advice, {0x2000, 0x1000}) == 0);
  CHECK(readMostlyPieces(advice, {0x1000, 0x1000}) == 1);
  CHECK(readMostlyPieces(advice, {0x3000, 0x1000}) == 1);
}
