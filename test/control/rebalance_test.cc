// Who goes where, when.
#include "server/roused/rebalance_policy.h"

#include <catch2/catch.hpp>
#include <vector>

using rouse::daemon::RebalancePolicy;
using Gpu = RebalancePolicy::Gpu;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
const RebalancePolicy::Waiting kWaiting{.session = 1, .wantedBytes = 100, .reservedBytes = 120};

Gpu gpu(std::uint32_t number, std::uint64_t room, std::uint64_t idle = 0) { return {number, room, idle, 1000, 0}; }

}  // namespace

TEST_CASE("rebalancing: to the GPU with most room, and only where all of it fits and nobody waits") {
  CHECK_FALSE(RebalancePolicy::choose(kWaiting, {}));
  CHECK_FALSE(RebalancePolicy::choose(kWaiting, std::vector{gpu(1, 99)}));
  CHECK(RebalancePolicy::choose(kWaiting, std::vector{gpu(1, 100)}) == 1);
  CHECK(RebalancePolicy::choose(kWaiting, std::vector{gpu(1, 100), gpu(3, 300), gpu(2, 200)}) == 3);
  auto crowded = gpu(1, 500);
  crowded.waiting = 1;
  CHECK_FALSE(RebalancePolicy::choose(kWaiting, std::vector{crowded}));
  auto homeless = gpu(1, 500);
  homeless.homeBytes = 119;
  CHECK_FALSE(RebalancePolicy::choose(kWaiting, std::vector{homeless}));
}

TEST_CASE("rebalancing: where somebody idle would have to leave only if there is no free room anywhere") {
  CHECK(RebalancePolicy::choose(kWaiting, std::vector{gpu(1, 50, 50)}) == 1);
  CHECK(RebalancePolicy::choose(kWaiting, std::vector{gpu(1, 50, 500), gpu(2, 100)}) == 2);
  CHECK(RebalancePolicy::choose(kWaiting, std::vector{gpu(1, 0, 200), gpu(2, 60, 300)}) == 2);
  CHECK_FALSE(RebalancePolicy::choose(kWaiting, std::vector{gpu(1, 50, 49)}));
}

TEST_CASE("rebalancing: who was moved stays for a while, and who would not be is asked less and less often") {
  RebalancePolicy policy;
  std::uint64_t now = 100 * kSecond;
  CHECK(policy.considers(1, now));
  policy.ended(1, true, now);
  CHECK_FALSE(policy.considers(1, now));
  CHECK(policy.considers(2, now));
  CHECK_FALSE(policy.considers(1, now + RebalancePolicy::kStayNs - 1));
  CHECK(policy.considers(1, now + RebalancePolicy::kStayNs));
  std::uint64_t pause = RebalancePolicy::kStayNs;
  for (unsigned refusal = 1; refusal <= 8; ++refusal) {
    policy.ended(2, false, now);
    if (refusal <= RebalancePolicy::kMostRefusals) pause *= 2;
    CHECK_FALSE(policy.considers(2, now + pause - 1));
    CHECK(policy.considers(2, now + pause));
    now += pause;
  }
  policy.ended(2, true, now);
  CHECK(policy.considers(2, now + RebalancePolicy::kStayNs));
  policy.forget(2);
  CHECK(policy.considers(2, now));
}

TEST_CASE("rebalancing: notes are kept for a while only") {
  RebalancePolicy policy;
  for (std::uint64_t session = 0; session < 100; ++session) policy.ended(session, session % 2 == 0, session * kSecond);
  CHECK(policy.notes() == 100);
  policy.forgetOld(50 * kSecond);
  CHECK(policy.notes() == 100);
  policy.forgetOld(1000 * kSecond);
  CHECK(policy.notes() == 0);
}
