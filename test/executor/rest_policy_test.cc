#include "server/executor/rest_policy.h"

#include <catch2/catch.hpp>

namespace rouse::executor {

constexpr std::uint64_t kUs = 1000;

TEST_CASE("after work: spin, yield once, then nap, then sleep") {
  RestPolicy policy(2);
  policy.worked(1000 * kUs);
  REQUIRE(policy.next(1049 * kUs, false) == Rest::spin);
  REQUIRE(policy.next(1050 * kUs, false) == Rest::yield);
  REQUIRE(policy.next(1050 * kUs, false) == Rest::nap);
  REQUIRE(policy.next(2999 * kUs, false) == Rest::nap);
  REQUIRE(policy.next(3000 * kUs, false) == Rest::sleep);
  REQUIRE(policy.next(900'000 * kUs, false) == Rest::sleep);
}

TEST_CASE("while the device waits for somebody who will not wake us, naps go on longer") {
  RestPolicy policy(2);
  policy.worked(0);
  REQUIRE(policy.next(9'000 * kUs, false, true) == Rest::yield);
  REQUIRE(policy.next(10'000 * kUs, false, true) == Rest::nap);
  REQUIRE(policy.next(20'000 * kUs, false, true) == Rest::sleep);
}

TEST_CASE("one core: never spin") {
  RestPolicy policy(1);
  policy.worked(0);
  REQUIRE(policy.next(0, false) == Rest::yield);
  REQUIRE(policy.next(0, false) == Rest::nap);
  policy.worked(10);
  REQUIRE(policy.next(10, false) == Rest::yield);
  REQUIRE(policy.next(10, false) == Rest::nap);
}

TEST_CASE("while kernels need the cores the budget is short") {
  RestPolicy policy(2);
  policy.worked(0);
  REQUIRE(policy.next(4 * kUs, true) == Rest::spin);
  REQUIRE(policy.next(5 * kUs, true) == Rest::yield);
  REQUIRE(policy.next(5 * kUs, true) == Rest::nap);
}

TEST_CASE("while a GPU works, and there are processors to spare, it looks for as long as a large copy takes") {
  for (const unsigned cores : {2u, 4u}) {
    RestPolicy policy(cores, true);
    policy.worked(0);
    REQUIRE((policy.next(1'999 * kUs, true) == Rest::spin) == (cores == 4));
    policy.worked(0);
    REQUIRE(policy.next(2'000 * kUs, true) == Rest::yield);
    policy.worked(0);
    REQUIRE(policy.next(50 * kUs, false) == Rest::yield);
  }
}

TEST_CASE("pauses longer than any budget shorten it, one that it would have covered restores it") {
  RestPolicy policy(2);
  std::uint64_t now = 0;
  policy.worked(now);
  for (int i = 0; i < 10; ++i) {
    REQUIRE(policy.next(now + 100 * kUs, false) == Rest::yield);
    REQUIRE(policy.next(now + 100 * kUs, false) == Rest::nap);
    policy.worked(now += 1000 * kUs);
  }
  REQUIRE(policy.spinBudget() == RestPolicy::kLeastSpinNs);
  REQUIRE(policy.next(now + 10 * kUs, false) == Rest::yield);
  REQUIRE(policy.next(now + 10 * kUs, false) == Rest::nap);
  policy.worked(now += 20 * kUs);
  REQUIRE(policy.spinBudget() == RestPolicy::kMostSpinNs);
}

}  // namespace rouse::executor
