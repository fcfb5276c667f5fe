#include "server/executor/meter.h"

#include <catch2/catch.hpp>
#include <random>

namespace rouse::executor {

TEST_CASE("a meter integrates what was so over the time for which it was") {
  Meter meter;
  meter.set({}, 1'000'000'000);
  meter.set({.busy = true, .deviceBytes = 100, .homeBytes = 7}, 2'000'000'000);
  meter.set({.busy = true, .deviceBytes = 100, .homeBytes = 7}, 2'500'000'000);
  meter.set({.busy = false, .deviceBytes = 0, .homeBytes = 7}, 4'000'000'000);
  const Consumption used = meter.read(14'000'000'000);
  CHECK(used.busyNs == 2'000'000'000);
  CHECK(used.deviceByteSeconds == Approx(200));
  CHECK(used.homeByteSeconds == Approx(84));
  CHECK(meter.read(14'000'000'000) == used);
  CHECK(meter.read(3) == used);  // clocks of two processes
}

TEST_CASE("a meter goes on from what another has counted") {
  Meter first;
  first.set({.busy = true, .deviceBytes = 1 << 20}, 0);
  Meter second(first.read(3'000'000'000));
  second.set({.busy = true}, 5);
  CHECK(second.read(1'000'000'005).busyNs == 4'000'000'000);
  CHECK(second.read(1'000'000'005).deviceByteSeconds == Approx(3.0 * (1 << 20)));
}

TEST_CASE("reading in between changes nothing") {
  std::mt19937 random(1);
  Meter often, seldom;
  std::uint64_t now = 0;
  for (int i = 0; i < 10'000; ++i) {
    now += random() % 1'000'000'000;
    const Meter::Level level{.busy = random() % 2 == 0, .deviceBytes = random() % 3 * (std::uint64_t{1} << 36), .homeBytes = random() % 5};
    often.set(level, now);
    seldom.set(level, now);
    for (unsigned k = random() % 3; k != 0; --k) often.read(now + random() % 1000);
  }
  // What often was read ahead of time is not counted twice.
  const Consumption a = often.read(now + 1'000'000), b = seldom.read(now + 1'000'000);
  CHECK(a.deviceByteSeconds == Approx(b.deviceByteSeconds).epsilon(1e-6));
  CHECK(a.homeByteSeconds == Approx(b.homeByteSeconds).epsilon(1e-6));
}

}  // namespace rouse::executor
