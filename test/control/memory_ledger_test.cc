// Which executor has how much of a GPU, and how many are kept ready.
#include "server/roused/memory_ledger.h"

#include <catch2/catch.hpp>
#include <random>

#include "server/roused/executor_identity.h"
#include "server/roused/spare_policy.h"

using namespace rouse;
using namespace rouse::daemon;
using namespace std::chrono_literals;

TEST_CASE("an executor's identity has a name for people") {
  CHECK(ExecutorIdentity{.gpu = 1}.name() == "GPU 1");
  CHECK_FALSE(ExecutorIdentity{.gpu = 1}.isolated());
  CHECK(ExecutorIdentity{.gpu = 0, .number = 7}.name() == "GPU 0 (isolated executor 7)");
  CHECK(ExecutorIdentity{.gpu = 0, .number = 7}.isolated());
}

TEST_CASE("what isolated executors have the shared one has not, and nobody has what there is not") {
  MemoryLedger ledger;
  ledger.setTotal(100);
  CHECK_FALSE(ledger.grant(1, 10).ok());  // nobody knows it
  ledger.open(1);
  ledger.open(2);
  CHECK(ledger.grant(1, 60).ok());
  CHECK_FALSE(ledger.grant(2, 41).ok());
  CHECK(ledger.grant(2, 40).ok());
  CHECK(ledger.shared() == 0);
  CHECK(ledger.of(1) == 60);
  CHECK_FALSE(ledger.giveBack(1, 61).ok());
  CHECK_FALSE(ledger.giveBack(3, 1).ok());
  CHECK(ledger.giveBack(1, 10).ok());
  CHECK(ledger.shared() == 10);
  CHECK(ledger.close(1) == 50);
  CHECK(ledger.close(1) == 0);
  CHECK(ledger.shared() == 60);
  CHECK(ledger.close(2) == 40);
  CHECK(ledger.empty());
  CHECK(ledger.shared() == 100);
}

TEST_CASE("a ledger adds up whatever happens") {
  std::mt19937 random(3);
  MemoryLedger ledger;
  ledger.setTotal(1000);
  std::map<std::uint64_t, std::uint64_t> model;
  for (int step = 0; step < 20'000; ++step) {
    const std::uint64_t executor = 1 + random() % 6, bytes = random() % 400;
    std::uint64_t sum = 0;
    for (const auto& [number, has] : model) sum += has;
    switch (random() % 4) {
      case 0:
        ledger.open(executor);
        model[executor];
        break;
      case 1: {
        const bool can = model.contains(executor) && sum + bytes <= 1000;
        REQUIRE(ledger.grant(executor, bytes).ok() == can);
        if (can) model[executor] += bytes;
        break;
      }
      case 2: {
        const bool can = model.contains(executor) && bytes <= model[executor];
        REQUIRE(ledger.giveBack(executor, bytes).ok() == can);
        if (can) model[executor] -= bytes;
        if (!can && model.contains(executor) && model[executor] == 0 && random() % 2) model.erase(executor), ledger.close(executor);
        break;
      }
      default:
        if (random() % 20 == 0) {
          const auto found = model.find(executor);
          REQUIRE(ledger.close(executor) == (found == model.end() ? 0 : found->second));
          model.erase(executor);
        }
    }
    sum = 0;
    for (const auto& [number, has] : model) {
      REQUIRE(ledger.of(number) == has);
      sum += has;
    }
    REQUIRE(ledger.granted() == sum);
    REQUIRE(ledger.shared() == 1000 - sum);
  }
}

TEST_CASE("executors are kept ready once isolated functions are expected, and not before") {
  const SparePolicy::Time now{};
  SparePolicy policy(2);
  CHECK(policy.toStart(0, 0, 0, now) == 0);
  CHECK(policy.toStart(0, 0, 1, now) == 3);  // somebody waits: now they are expected
  policy.expect();
  CHECK(policy.toStart(0, 0, 0, now) == 2);
  CHECK(policy.toStart(1, 1, 0, now) == 0);
  CHECK(policy.toStart(0, 1, 0, now) == 1);
  CHECK(policy.toStart(0, 2, 3, now) == 3);
  CHECK(SparePolicy(0).toStart(0, 0, 0, now) == 0);
  CHECK(SparePolicy(0).toStart(0, 0, 1, now) == 1);
}

TEST_CASE("what does not come up is tried later, ever later, but at once for who waits") {
  SparePolicy::Time now{};
  SparePolicy policy(1);
  policy.expect();
  auto before = 0ms;
  for (int i = 0; i < 10; ++i) {
    policy.failed(now);
    CHECK(policy.toStart(0, 0, 0, now) == 0);
    CHECK(policy.toStart(0, 0, 1, now) == 1);
    const auto pause = policy.pause(now);
    CHECK(pause >= before);
    CHECK(pause <= SparePolicy::kLongestPause);
    before = pause;
    now += pause;
    CHECK(policy.toStart(0, 0, 0, now) == 1);
    CHECK(policy.pause(now) == 0ms);
  }
  CHECK(before == SparePolicy::kLongestPause);
  policy.came();
  policy.failed(now);
  CHECK(policy.pause(now) == SparePolicy::kFirstPause);
}
