#include "swap/eviction_plan.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include <set>

namespace rouse::swap {
namespace {

using State = Resident::State;
using Plan = std::vector<std::size_t>;
constexpr std::uint64_t kNow = 10 * kTurnNs;

}  // namespace

TEST_CASE("the least recently used of the quiet leave first, and no more than must") {
  const std::vector<Resident> residents = {
      {.chunks = 4, .activeAt = 50}, {.chunks = 4, .activeAt = 10}, {.chunks = 4, .activeAt = 30}};
  CHECK(planEviction(1, residents, kNow) == Plan{1});
  CHECK(planEviction(5, residents, kNow) == Plan{1, 2});
  CHECK(planEviction(12, residents, kNow) == Plan{1, 2, 0});
  CHECK(planEviction(13, residents, kNow).empty());
}

TEST_CASE("a small one stays when a large one that must go is enough") {
  const std::vector<Resident> residents = {{.chunks = 1, .activeAt = 10}, {.chunks = 9, .activeAt = 20}};
  CHECK(planEviction(5, residents, kNow) == Plan{1});
  CHECK(planEviction(10, residents, kNow) == Plan{0, 1});
}

TEST_CASE("who waits for memory goes before who works, and who works has his turn") {
  std::vector<Resident> residents = {
      {.chunks = 4, .state = State::busy, .activeAt = 1, .hereSince = kNow - 2 * kTurnNs},
      {.chunks = 4, .state = State::waiting, .activeAt = kNow},
      {.chunks = 4, .state = State::busy, .activeAt = 1, .hereSince = kNow - kTurnNs + 1},
      {.chunks = 4, .state = State::quiet, .activeAt = kNow},
      {.chunks = 0, .state = State::quiet, .activeAt = 0},
      {.chunks = 4, .state = State::busy, .activeAt = 1, .hereSince = kNow - 3 * kTurnNs}};
  CHECK(planEviction(4, residents, kNow) == Plan{3});
  CHECK(planEviction(16, residents, kNow) == Plan{3, 1, 5, 0});
  CHECK(planEviction(17, residents, kNow).empty());
  CHECK(planEviction(20, residents, kNow + 1) == Plan{3, 1, 5, 0, 2});
}

TEST_CASE("a turn is as long as its memory took to come, within bounds") {
  for (const auto& [took, turn] : {std::pair{std::uint64_t{0}, kTurnNs}, {3 * kTurnNs, 3 * kTurnNs}, {2 * kLongestTurnNs, kLongestTurnNs}}) {
    const std::vector<Resident> residents = {{.chunks = 4, .state = State::busy, .hereSince = kNow, .tookToCome = took}};
    CHECK(planEviction(1, residents, kNow + turn - 1).empty());
    CHECK(planEviction(1, residents, kNow + turn) == Plan{0});
  }
}

TEST_CASE("random residents: a plan is enough, names nobody twice, and nobody needlessly") {
  std::mt19937_64 random(5);
  for (int round = 0; round < 20000; ++round) {
    std::vector<Resident> residents(random() % 12);
    std::uint64_t available = 0;
    for (Resident& resident : residents) {
      resident = {.chunks = random() % 5,
                  .state = static_cast<State>(random() % 3),
                  .activeAt = random() % 100,
                  .hereSince = kNow - random() % (2 * kTurnNs)};
      if (resident.state != State::busy || kNow - resident.hereSince >= kTurnNs) available += resident.chunks;
    }
    const std::uint64_t wanted = 1 + random() % 20;
    const Plan plan = planEviction(wanted, residents, kNow);
    REQUIRE(plan.empty() == (available < wanted));
    if (plan.empty()) continue;
    REQUIRE(std::set<std::size_t>(plan.begin(), plan.end()).size() == plan.size());
    std::uint64_t found = 0;
    for (const std::size_t index : plan) found += residents.at(index).chunks;
    REQUIRE(found >= wanted);
    for (const std::size_t index : plan) REQUIRE(found - residents[index].chunks < wanted);
  }
}

}  // namespace rouse::swap
