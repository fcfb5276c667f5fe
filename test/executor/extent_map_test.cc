#include "memory/extent_map.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>

namespace rouse::memory {
namespace {

constexpr std::uint64_t kBase = 0x2000'0000'0000;
constexpr std::uint64_t kG = kGranuleBytes;

}  // namespace

TEST_CASE("an extent map knows the edges of what is backed") {
  ExtentMap map({kBase, 8 * kG});
  map.insert(kBase + 2 * kG, 7);
  map.insert(kBase + 3 * kG, 8);
  REQUIRE(map.contains(kBase + 2 * kG, 2 * kG));
  REQUIRE(map.contains(kBase + 4 * kG - 1, 1));
  REQUIRE_FALSE(map.contains(kBase + 4 * kG - 1, 2));
  REQUIRE_FALSE(map.contains(kBase + 2 * kG - 1, 2));
  REQUIRE_FALSE(map.contains(kBase - 1, 1));
  REQUIRE_FALSE(map.contains(kBase + 2 * kG, ~0ull));
  REQUIRE_FALSE(map.contains(kBase + 8 * kG, 1));
  REQUIRE_FALSE(map.contains(0, 1));
  REQUIRE(map.erase(kBase + 2 * kG) == 7);
  REQUIRE_FALSE(map.contains(kBase + 2 * kG, 1));
  REQUIRE(map.contains(kBase + 3 * kG, kG));
  REQUIRE_FALSE(map.all({kBase + 7 * kG, 2 * kG}));
  REQUIRE_FALSE(map.none({kBase + 7 * kG, 2 * kG}));
}

TEST_CASE("random backing agrees with a plain map") {
  constexpr std::uint64_t kGranules = 300;
  std::mt19937_64 random(3);
  ExtentMap map({kBase, kGranules * kG});
  std::map<std::uint64_t, std::uint32_t> model;
  std::uint32_t chunk = 0;
  for (int i = 0; i < 30000; ++i) {
    const std::uint64_t first = random() % kGranules, count = 1 + random() % 70;
    const bool inside = first + count <= kGranules;
    const AddressRange range{kBase + first * kG, count * kG};
    std::uint64_t backed = 0;
    for (std::uint64_t g = first; g < first + count; ++g) backed += model.count(g);
    REQUIRE(map.all(range) == (inside && backed == count));
    REQUIRE(map.none(range) == (inside && backed == 0));
    switch (random() % 4) {
      case 0:
        for (std::uint64_t g = first; inside && g < first + count; ++g)
          if (!model.count(g)) {
            map.insert(kBase + g * kG, ++chunk);
            model[g] = chunk;
          }
        break;
      case 1:
        for (std::uint64_t g = first; inside && g < first + count; ++g)
          if (model.count(g)) {
            REQUIRE(map.erase(kBase + g * kG) == model[g]);
            model.erase(g);
          }
        break;
      default: {
        const std::uint64_t address = range.base + random() % kG;
        const std::uint64_t bytes = 1 + random() % range.bytes;
        bool expected = true;
        for (std::uint64_t g = (address - kBase) / kG; g <= (address + bytes - 1 - kBase) / kG; ++g)
          expected = expected && model.count(g);
        REQUIRE(map.contains(address, bytes) == expected);
        // What lies around the address without a gap, within some range about it.
        const std::uint64_t at = (address - kBase) / kG, low = at - random() % (at + 1), high = at + 1 + random() % 200;
        std::uint64_t from = at, to = at;
        while (model.count(to) && to < high) ++to;
        while (to != at && from > low && model.count(from - 1)) --from;
        const bool within = high <= kGranules;
        REQUIRE(map.around(address, {kBase + low * kG, (high - low) * kG}) ==
                (within && to != at ? AddressRange{kBase + from * kG, (to - from) * kG} : AddressRange{}));
      }
    }
    REQUIRE(map.backedBytes() == model.size() * kG);
  }
  auto next = model.begin();
  map.forEach([&](std::uint64_t address, std::uint32_t held) {
    REQUIRE(next != model.end());
    REQUIRE(address == kBase + next->first * kG);
    REQUIRE(held == next->second);
    ++next;
  });
  REQUIRE(next == model.end());
}

}  // namespace rouse::memory
