#include "swap/access_order.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <set>

namespace rouse::swap {
namespace {

constexpr std::uint64_t kBase = std::uint64_t{7} << 40;
AddressRange granules(std::uint64_t first, std::uint64_t count) { return {kBase + first * kGranuleBytes, count * kGranuleBytes}; }
using Order = std::vector<std::uint32_t>;
Order touched(const AccessOrder& order) { return {order.touched().begin(), order.touched().end()}; }

}  // namespace

TEST_CASE("granules are ordered by first touch, later requests come behind, untouched ones last by address") {
  AccessOrder order(granules(0, 100));
  order.touch({kBase + 5 * kGranuleBytes + 100, 8});
  order.touch({kBase + 3 * kGranuleBytes - 1, 2});  // two granules
  order.touch(granules(2, 4));
  REQUIRE(touched(order) == Order{5, 2, 3, 4});
  order.beginRequest();
  order.touch(granules(4, 1));
  REQUIRE(order.newlyTouched() == 0);
  order.touch(granules(9, 1));
  REQUIRE(order.newlyTouched() == 1);
  REQUIRE(order.arrange(Order{0, 1, 3, 5, 9, 50}) == Order{5, 3, 9, 0, 1, 50});
  order.forget(granules(3, 6));
  REQUIRE(touched(order) == Order{2, 9});
  REQUIRE(order.newlyTouched() == 1);
  order.touch(granules(5, 1));
  REQUIRE(touched(order) == Order{2, 9, 5});
}

TEST_CASE("pointers among a launch's parameters") {
  AccessOrder order(granules(0, 100));
  const std::uint64_t words[] = {42, kBase + 7 * kGranuleBytes + 12, ~0ull, kBase - 1, kBase, kBase + 100 * kGranuleBytes, 0};
  std::vector<std::byte> parameters(sizeof words + 4);
  std::memcpy(parameters.data(), words, sizeof words);
  order.touchPointers(parameters);
  REQUIRE(touched(order) == Order{7, 0});
  order.touchPointers({});
  order.touchPointers(std::span(parameters).first(3));
}

TEST_CASE("what lies outside the window is ignored, also where it wraps round") {
  AccessOrder order(granules(0, 10));
  order.touch({0, 100});
  order.touch({kBase, 0});
  order.touch({kBase + 10 * kGranuleBytes, 5});
  REQUIRE(order.touched().empty());
  order.touch({kBase - 5, 6});
  order.touch({kBase + 9 * kGranuleBytes, ~0ull});
  REQUIRE(touched(order) == Order{0, 9});
  order.forget({0, ~0ull});
  REQUIRE(order.touched().empty());
}

TEST_CASE("random touches agree with a list") {
  const std::uint64_t seed = GENERATE(1u, 2u, 3u);
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  constexpr std::uint32_t kCount = 200;
  AccessOrder order(granules(0, kCount));
  Order list;
  for (int step = 0; step < 20'000; ++step) {
    const std::uint64_t base = random() % (kCount * kGranuleBytes), bytes = 1 + random() % (3 * kGranuleBytes);
    const std::uint64_t first = base / kGranuleBytes, last = std::min<std::uint64_t>(kCount - 1, (base + bytes - 1) / kGranuleBytes);
    if (random() % 30 == 0) {
      order.forget({kBase + base, bytes});
      std::erase_if(list, [&](std::uint32_t granule) { return granule >= first && granule <= last; });
    } else {
      order.touch({kBase + base, bytes});
      for (std::uint64_t granule = first; granule <= last; ++granule)
        if (std::find(list.begin(), list.end(), granule) == list.end()) list.push_back(static_cast<std::uint32_t>(granule));
    }
    if (touched(order) != list) FAIL("step " << step);
    if (step % 100 != 0) continue;
    Order wanted;
    for (std::uint32_t granule = 0; granule < kCount; ++granule)
      if (random() % 2 == 0) wanted.push_back(granule);
    Order expected;
    for (const std::uint32_t granule : list)
      if (std::binary_search(wanted.begin(), wanted.end(), granule)) expected.push_back(granule);
    for (const std::uint32_t granule : wanted)
      if (std::find(list.begin(), list.end(), granule) == list.end()) expected.push_back(granule);
    REQUIRE(order.arrange(wanted) == expected);
  }
}

TEST_CASE("a touch of what is known is cheap") {
  AccessOrder order(granules(0, 8192));
  order.touch(granules(0, 8192));
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> addresses(4096);
  for (auto& address : addresses) address = kBase + random() % (8192 * kGranuleBytes - 4096);
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < 100; ++round)
    for (const std::uint64_t address : addresses) order.touch({address, 4});
  const double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / 409600;
  std::printf("access order: %.1f ns a touch\n", ns);
  CHECK(order.touched().size() == 8192);
}

}  // namespace rouse::swap
