#include "swap/residency.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <random>

namespace rouse::swap {

TEST_CASE("a page's life") {
  Residency pages(100);
  const GranuleRange all{10, 70};
  REQUIRE(pages.map(all).ok());
  REQUIRE(pages.onDevice() == 0);
  REQUIRE(pages.materialize(all).ok());
  REQUIRE_FALSE(pages.allClean());
  REQUIRE(pages.evictClean() == 0);  // dirty ones stay
  REQUIRE(pages.leave(all).ok());
  REQUIRE_FALSE(pages.allClean());
  REQUIRE(pages.left(all).ok());
  REQUIRE(pages.allClean());
  REQUIRE(pages.onDevice() == 70);
  REQUIRE(pages.wrote({12, 1}).ok());
  REQUIRE(pages.evictClean() == 69);
  REQUIRE(pages.count(PageState::onHost) == 69);
  std::vector<std::uint32_t> dirty;
  pages.forEachDirty([&](std::uint32_t granule) { dirty.push_back(granule); });
  REQUIRE(dirty == std::vector<std::uint32_t>{12});
  REQUIRE(pages.arrive({13, 67}).ok());
  REQUIRE(pages.arrivalFailed({13, 7}).ok());
  REQUIRE(pages.arrived({20, 60}).ok());
  REQUIRE(pages.foundZero({20, 60}).ok());
  REQUIRE(pages.count(PageState::zero) == 60);
}

TEST_CASE("misuse is refused by name, and nothing changes") {
  Residency pages(100);
  REQUIRE(pages.map({0, 80}).ok());
  CHECK(pages.map({70, 20}).error().message == "map 20 granules from 70: granule 70 is zero");
  CHECK(pages.materialize({70, 20}).error().message == "materialize 20 granules from 70: granule 80 is absent");
  CHECK(pages.state(70) == PageState::zero);
  CHECK(pages.map({90, 11}).error().message == "map 11 granules from 90: the window has 100");
  CHECK(pages.map({4294967295u, 2}).error().message == "map 2 granules from 4294967295: the window has 100");
  REQUIRE(pages.materialize({0, 1}).ok());
  REQUIRE(pages.leave({0, 1}).ok());
  CHECK(pages.unmap({0, 2}).error().message == "unmap 2 granules from 0: granule 0 is leaving");
  CHECK(pages.wrote({0, 1}).error().message == "write 1 granules from 0: granule 0 is leaving");
  CHECK(pages.map({0, 0}).ok());
}

// Against a device and a home for each page, each of which has a version or none: the last copy is never dropped.
TEST_CASE("random transitions agree with a state for each page, and the newest version is always somewhere") {
  const std::uint64_t seed = GENERATE(1u, 2u, 3u);
  const std::uint32_t granules = GENERATE(1u, 63u, 64u, 65u, 300u);
  INFO("seed " << seed << ", granules " << granules);
  std::mt19937_64 random(seed);
  Residency pages(granules);
  struct Page {
    PageState state = PageState::absent;
    std::uint64_t version = 0, device = 0, home = 0;  // 0: zeros; kNone: no copy
  };
  constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::vector<Page> model(granules, Page{PageState::absent, 0, kNone, kNone});
  std::uint64_t versions = 0;
  for (int step = 0; step < 20'000; ++step) {
    const auto first = static_cast<std::uint32_t>(random() % granules);
    const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(granules - first, 1 + random() % (random() % 4 == 0 ? 100 : 4)));
    const GranuleRange range{first, count};
    const auto every = [&](std::initializer_list<PageState> states) {
      return std::all_of(model.begin() + first, model.begin() + first + count,
                         [&](const Page& page) { return std::find(states.begin(), states.end(), page.state) != states.end(); });
    };
    const auto apply = [&](Status status, bool expected, auto change) {
      if (status.ok() != expected) FAIL("step " << step << ": " << status.error().message);
      if (expected) std::for_each(model.begin() + first, model.begin() + first + count, change);
    };
    using enum PageState;
    switch (random() % 12) {
      case 0: apply(pages.map(range), every({absent}), [](Page& p) { p = {zero, 0, kNone, kNone}; }); break;
      case 1:
        if (random() % 4 == 0)
          apply(pages.unmap(range), every({zero, onDevice, onHost, both}), [](Page& p) { p = {absent, 0, kNone, kNone}; });
        break;
      case 2: apply(pages.materialize(range), every({zero}), [](Page& p) { p.state = onDevice, p.device = 0; }); break;
      case 3:
        apply(pages.wrote(range), every({both, onDevice}), [&](Page& p) { p.state = onDevice, p.device = p.version = ++versions; });
        break;
      case 4:
        if (std::all_of(model.begin() + first, model.begin() + first + count, [](const Page& p) { return p.version == 0; }))
          apply(pages.foundZero(range), every({onDevice, both}), [](Page& p) { p.state = zero, p.device = p.home = kNone; });
        break;
      case 5: apply(pages.arrive(range), every({onHost}), [](Page& p) { p.state = arriving; }); break;
      case 6: apply(pages.arrived(range), every({arriving}), [](Page& p) { p.state = both, p.device = p.home; }); break;
      case 7: apply(pages.arrivalFailed(range), every({arriving}), [](Page& p) { p.state = onHost; }); break;
      case 8: apply(pages.leave(range), every({onDevice}), [](Page& p) { p.state = leaving; }); break;
      case 9: apply(pages.left(range), every({leaving}), [](Page& p) { p.state = both, p.home = p.device; }); break;
      case 10: apply(pages.leaveFailed(range), every({leaving}), [](Page& p) { p.state = onDevice; }); break;
      case 11: {
        const bool whole = random() % 4 == 0;
        std::uint32_t evicted = 0;
        for (std::uint32_t i = whole ? 0 : first; i < (whole ? granules : first + count); ++i)
          if (model[i].state == both) model[i].state = onHost, model[i].device = kNone, ++evicted;
        REQUIRE((whole ? pages.evictClean() : pages.evictClean(range)) == evicted);
        break;
      }
    }
    std::array<std::uint32_t, kPageStates> counts{};
    std::uint32_t resident = 0;
    for (std::uint32_t i = 0; i < granules; ++i) {
      const Page& page = model[i];
      if (pages.state(i) != page.state) FAIL("granule " << i << " at step " << step);
      ++counts[static_cast<std::size_t>(page.state)];
      resident += page.state == onDevice || page.state == both || page.state == arriving || page.state == leaving;
      const bool onDeviceNow = page.state == onDevice || page.state == both || page.state == leaving;
      const bool atHome = page.state == onHost || page.state == both || page.state == arriving;
      if (page.state == absent) continue;
      if (page.version != 0 && !onDeviceNow && !atHome) FAIL("the last copy of granule " << i << " was dropped at step " << step);
      if (onDeviceNow && page.device != page.version) FAIL("stale on the device: granule " << i << " at step " << step);
      if (atHome && page.home != page.version) FAIL("stale at home: granule " << i << " at step " << step);
    }
    for (std::size_t state = 0; state < kPageStates; ++state)
      if (counts[state] != pages.count(static_cast<PageState>(state))) FAIL("count of state " << state << " at step " << step);
    if (pages.onDevice() != resident || pages.allClean() != (counts[2] + counts[6] == 0)) FAIL("sums at step " << step);
    if (step % 16 != 0) continue;
    for (std::size_t state = 0; state < kPageStates; ++state) {
      std::uint32_t visited = 0;
      pages.forEach(static_cast<PageState>(state), [&](std::uint32_t granule) {
        visited += model[granule].state == static_cast<PageState>(state);
      });
      REQUIRE(visited == counts[state]);
    }
    std::uint32_t visited = 0;
    pages.forEachOnDevice([&](std::uint32_t) { ++visited; });
    REQUIRE(visited == resident);
  }
}

TEST_CASE("evicting what is clean costs at most 50 µs, whatever the size") {
  for (const std::uint32_t granules : {64u, 8192u, 40960u}) {
    Residency pages(granules);
    REQUIRE(pages.map({0, granules}).ok());
    REQUIRE(pages.materialize({0, granules}).ok());
    REQUIRE(pages.leave({0, granules}).ok());
    REQUIRE(pages.left({0, granules}).ok());
    std::vector<double> microseconds;
    for (int i = 0; i < 101; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      const std::uint32_t evicted = pages.evictClean();
      const auto end = std::chrono::steady_clock::now();
      REQUIRE(evicted == granules);
      microseconds.push_back(std::chrono::duration<double, std::micro>(end - begin).count());
      REQUIRE(pages.arrive({0, granules}).ok());
      REQUIRE(pages.arrived({0, granules}).ok());
    }
    std::sort(microseconds.begin(), microseconds.end());
    std::printf("residency: evicting %u clean granules: %.2f us (median of 101)\n", granules, microseconds[50]);
    CHECK(microseconds[50] <= 50);
  }
}

}  // namespace rouse::swap
