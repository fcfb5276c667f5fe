#include "memory/range_map.h"

#include <bitset>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

namespace rouse::memory {

TEST_CASE("ranges are entered and taken out whole") {
  RangeMap map;
  REQUIRE(map.insert({0x1000, 0x2000}));
  REQUIRE_FALSE(map.insert({0x2000, 0x1000}));
  REQUIRE_FALSE(map.insert({0x0, 0x1001}));
  REQUIRE_FALSE(map.insert({0x5000, 0}));
  REQUIRE_FALSE(map.insert({~0ull - 10, 100}));
  REQUIRE_FALSE(map.erase({0x1000, 0x1000}));
  REQUIRE_FALSE(map.erase({0x2000, 0x1000}));
  REQUIRE(map.erase({0x1000, 0x2000}));
  REQUIRE(map.size() == 0);
  REQUIRE_FALSE(map.contains(0x1000, 1));
}

TEST_CASE("adjacent ranges count as one, gaps do not, and nothing wraps") {
  RangeMap map;
  REQUIRE(map.insert({0x1000, 0x1000}));
  REQUIRE(map.insert({0x2000, 0x1000}));
  REQUIRE(map.insert({0x4000, 0x1000}));
  REQUIRE(map.contains(0x1fff, 2));
  REQUIRE(map.contains(0x1000, 0x2000));
  REQUIRE_FALSE(map.contains(0x1000, 0x2001));
  REQUIRE_FALSE(map.contains(0x2fff, 0x1002));
  REQUIRE_FALSE(map.contains(0x1000, ~0ull));
  REQUIRE_FALSE(map.contains(0x1800, 0ull - 0x800));
}

TEST_CASE("random ranges agree with a bitmap") {
  constexpr std::size_t kSize = 256;
  std::mt19937 random(2);
  RangeMap map;
  std::bitset<kSize> covered;
  std::vector<AddressRange> entered;
  for (int i = 0; i < 50000; ++i) {
    const std::uint64_t base = random() % kSize, bytes = 1 + random() % 24;
    switch (random() % 4) {
      case 0: {
        bool expected = base + bytes <= kSize;
        if (!expected) break;
        for (std::uint64_t a = base; a < base + bytes; ++a) expected = expected && !covered[a];
        REQUIRE(map.overlaps({base, bytes}) == !expected);
        REQUIRE(map.insert({base, bytes}) == expected);
        if (!expected) break;
        for (std::uint64_t a = base; a < base + bytes; ++a) covered.set(a);
        entered.push_back({base, bytes});
        break;
      }
      case 1: {
        if (entered.empty()) break;
        const std::size_t which = random() % entered.size();
        const AddressRange range = entered[which];
        REQUIRE_FALSE(map.erase({range.base, range.bytes + 1}));
        REQUIRE(map.erase(range));
        for (std::uint64_t a = range.base; a < range.end(); ++a) covered.reset(a);
        entered.erase(entered.begin() + static_cast<std::ptrdiff_t>(which));
        break;
      }
      default: {
        bool expected = true;
        for (std::uint64_t a = base; a < base + bytes; ++a) expected = expected && a < kSize && covered[a];
        REQUIRE(map.contains(base, bytes) == expected);
      }
    }
    REQUIRE(map.bytes() == covered.count());
    REQUIRE(map.size() == entered.size());
  }
}

}  // namespace rouse::memory
