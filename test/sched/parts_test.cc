// Windows, estimates, traffic.
#include "test/sched/node.h"

namespace rouse::sched {

TEST_CASE("a window forgets, old luck does not count") {
  Window window(std::chrono::seconds(100));
  for (int i = 0; i < 98; ++i) window.add(true, at(i));
  for (int i = 0; i < 2; ++i) window.add(false, at(100 + i));
  REQUIRE(window.complies(0.98));
  REQUIRE(window.required(0.98) == Approx(0).margin(1e-9));
  window.add(false, at(200));
  REQUIRE_FALSE(window.complies(0.98));
  // (0.98 * 101 - 98) / 0.02
  REQUIRE(window.required(0.98) == Approx(49));
  window.advance(at(89'000));
  REQUIRE(window.requests() == 101);
  window.advance(at(101'000));
  REQUIRE(window.requests() == 0);
  REQUIRE(window.complies(0.98));
  window.add(true, at(1e9));
  REQUIRE(window.requests() == 1);
  window.add(true, at(0));  // a time that goes back counts as now
  REQUIRE(window.requests() == 2);
}

TEST_CASE("medians shrug at one slow run") {
  Median median;
  REQUIRE(median(ms(7)) == ms(7));
  for (int i = 0; i < 9; ++i) median.add(ms(17));
  median.add(ms(5000));
  REQUIRE(median({}) == ms(17));
  for (int i = 0; i < 9; ++i) median.add(ms(30));
  REQUIRE(median({}) == ms(30));
}

TEST_CASE("a rate follows what is asked for, and dies away") {
  Rate rate;
  REQUIRE(rate(at(0)) == 0);
  for (int i = 0; i < 100; ++i) rate.add(at(i * 6000.0));  // ten a minute for ten minutes
  REQUIRE(rate(at(600'000)) == Approx(1.0 / 6).epsilon(0.05));
  REQUIRE(rate(at(1'800'000)) < 0.02 / 6 * 2);
}

TEST_CASE("transfers behind a switch share its uplink, and each GPU's link") {
  Traffic traffic;
  traffic.begin({F(0), G(0), 1047, 10470}, 12000, at(0));
  REQUIRE(milliseconds(traffic.arrival(F(0), G(0), at(0)) - at(0)) == Approx(100));
  traffic.begin({F(1), G(1), 60, 10470}, 12000, at(50));  // both 6,000 a second from here on
  REQUIRE(milliseconds(traffic.arrival(F(1), G(1), at(50)) - at(0)) == Approx(60));
  REQUIRE(milliseconds(traffic.arrival(F(0), G(0), at(50)) - at(0)) == Approx(50 + 523.5 / 6));
  traffic.end(F(1), G(1), at(60));
  REQUIRE(milliseconds(traffic.arrival(F(0), G(0), at(60)) - at(0)) == Approx(60 + 463.5 / 10.47));
  traffic.begin({F(2), G(0), 1000, 10470}, 12000, at(60));  // the same GPU: half its link each
  REQUIRE(milliseconds(traffic.arrival(F(0), G(0), at(60)) - at(0)) == Approx(60 + 463.5 / 5.235));
  traffic.end(F(0), G(0), at(70));
  traffic.end(F(2), G(0), at(70));
  REQUIRE(traffic.transfers().empty());
  traffic.end(F(2), G(0), at(80));  // unknown ones are no trouble
}

TEST_CASE("policies by name; those that are not known are named, with those that are") {
  REQUIRE(makePolicies({}).ok());
  const auto wrong = makePolicies({"edf", "best", "lru", "none"});
  REQUIRE_FALSE(wrong.ok());
  REQUIRE(wrong.error().message ==
          "placement 'best' is not known (known are: random torpor rouse); admission 'none' is not known (known are: limits rouse)");
}

}  // namespace rouse::sched
