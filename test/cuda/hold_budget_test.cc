#include "server/device/cuda/hold_budget.h"

#include <catch2/catch.hpp>

using rouse::cuda::HoldBudget;

namespace {
constexpr std::uint64_t kStart = 1'000'000;  // a clock that has run for a while
}

TEST_CASE("a wait holds until the budget is used, and again in the next period") {
  HoldBudget budget(100, 1000);
  CHECK_FALSE(budget.holds(kStart));
  budget.begin(kStart);
  CHECK(budget.holds(kStart + 99));
  CHECK_FALSE(budget.holds(kStart + 100));
  budget.renew(kStart + 999);
  CHECK_FALSE(budget.holds(kStart + 999));
  budget.renew(kStart + 1000);
  CHECK(budget.holds(kStart + 1000));
  CHECK(budget.holds(kStart + 1099));
  CHECK_FALSE(budget.holds(kStart + 1100));
}

TEST_CASE("what short waits leave is there for later ones") {
  HoldBudget budget(100, 1000);
  for (std::uint64_t i = 0; i < 9; ++i) {
    const std::uint64_t now = kStart + 50 * i;
    budget.begin(now);
    CHECK(budget.holds(now + 9));
    budget.end(now + 10);
    CHECK_FALSE(budget.holds(now + 10));
  }
  budget.begin(kStart + 500);
  CHECK(budget.holds(kStart + 509));
  CHECK_FALSE(budget.holds(kStart + 510));
  budget.end(kStart + 600);
  budget.begin(kStart + 700);  // nothing is left of this period
  CHECK_FALSE(budget.holds(kStart + 700));
  budget.end(kStart + 701);
  budget.begin(kStart + 1000);
  CHECK(budget.holds(kStart + 1099));
}

TEST_CASE("a wait that goes on into the next period uses of it what it takes there") {
  HoldBudget budget(100, 1000);
  budget.begin(kStart);
  budget.renew(kStart + 1000);
  budget.end(kStart + 1060);
  budget.begin(kStart + 1500);
  CHECK(budget.holds(kStart + 1539));
  CHECK_FALSE(budget.holds(kStart + 1540));
}
