#include "memory/link_curve.h"

#include <catch2/catch.hpp>

#include "memory/measure_link.h"

using namespace rouse;
using namespace rouse::memory;
using namespace std::chrono_literals;

namespace {

// A link that needs 10 µs for each batch, and a rate for its bytes; with a clock of its own.
struct ModelLink {
  explicit ModelLink(double rate) : bytesPerSecond(rate) {}
  double bytesPerSecond;
  std::chrono::nanoseconds time{0};

  LinkTrial trial() {
    LinkTrial trial;
    trial.copy = [this](std::uint64_t bytes, std::uint32_t count) -> Status {
      time += 10us + count * 2us;
      time += std::chrono::nanoseconds(
          static_cast<std::int64_t>(static_cast<double>(bytes) * count / bytesPerSecond * 1e9));
      return {};
    };
    trial.now = [this] { return time; };
    return trial;
  }
};

}  // namespace

TEST_CASE("the elbow is the smallest block with 95% of the best rate") {
  CHECK(elbow({}) == 0);
  CHECK(bestRate({}) == 0);
  CHECK(elbow({{1024, 0}}) == 0);
  CHECK(elbow({{1024, 7}}) == 1024);
  CHECK(elbow({{1, 10}, {2, 50}, {4, 94}, {8, 95}, {16, 100}, {32, 99}}) == 8);
  CHECK(bestRate({{1, 10}, {2, 50}, {4, 94}, {8, 95}, {16, 100}, {32, 99}}) == 100);
  CHECK(elbow({{1, 100}, {2, 20}}) == 1);
}

TEST_CASE("a link is measured at every power of two, and its elbow lies where its fixed cost fades") {
  ModelLink link{50e9};
  const auto curve = measureLink(link.trial());
  REQUIRE(curve.ok());
  REQUIRE(curve->size() == 10);
  for (std::size_t i = 0; i < curve->size(); ++i) CHECK((*curve)[i].bytes == kSmallestLinkBlock << i);
  CHECK(bestRate(*curve) > 48'000'000'000);
  CHECK(bestRate(*curve) < 50'000'000'000);
  CHECK(elbow(*curve) > kSmallestLinkBlock);
  CHECK(elbow(*curve) < kLargestLinkBlock);
  CHECK(link.time < 80ms);
}

TEST_CASE("a slow link costs its budget and one block at most, and the curve is what was reached") {
  ModelLink link{1e9};
  const auto curve = measureLink(link.trial());
  REQUIRE(curve.ok());
  CHECK(!curve->empty());
  CHECK(curve->front().bytes == kSmallestLinkBlock);
  CHECK(link.time < 75ms + 2 * 34ms);  // the first copy and the last
  ModelLink glacier{1e6};
  const auto one = measureLink(glacier.trial());
  REQUIRE(one.ok());
  CHECK(one->size() == 1);
}

TEST_CASE("a smaller largest block, a clock that stands still, a copy that fails") {
  ModelLink link{50e9};
  LinkTrial trial = link.trial();
  trial.largestBlock = std::uint64_t{2} << 20;
  CHECK(measureLink(trial)->back().bytes == trial.largestBlock);
  trial.largestBlock = 4096;
  CHECK(measureLink(trial)->empty());

  trial = link.trial();
  trial.now = [] { return 5ns; };
  CHECK(measureLink(trial)->size() == 10);

  int left = 3;
  trial.copy = [&](std::uint64_t, std::uint32_t) -> Status {
    return --left > 0 ? Status() : Status(Error{CudaError::launchFailure, "cable"});
  };
  const auto failed = measureLink(trial);
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().message == "cable");
}
