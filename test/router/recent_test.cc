#include "server/router/recent.h"

#include <catch2/catch.hpp>
#include <random>

#include "server/router/metrics.h"

namespace rouse::router {
namespace {

using namespace std::chrono_literals;

double ms(std::optional<Recent::Duration> time) { return std::chrono::duration<double, std::milli>(time.value()).count(); }

}  // namespace

TEST_CASE("nobody has asked yet") {
  const Recent recent;
  const Recent::Figures figures = recent.figures(Recent::Time(5s));
  CHECK(figures.requests == 0);
  CHECK_FALSE(figures.p98);
  CHECK(figures.compliance() == 1);
}

TEST_CASE("percentiles are right to a sixteenth, whatever the scale") {
  std::mt19937_64 random(3);
  for (const double scale : {0.2, 3.0, 40.0, 900.0, 20'000.0}) {
    Recent recent;
    std::vector<double> all;
    std::lognormal_distribution<double> time(0, 0.7);
    for (int i = 0; i < 5000; ++i) {
      all.push_back(scale * time(random));
      recent.add(Recent::Time(1000s), std::chrono::duration_cast<Recent::Duration>(std::chrono::duration<double, std::milli>(all.back())), 1s);
    }
    std::ranges::sort(all);
    const Recent::Figures figures = recent.figures(Recent::Time(1001s));
    CHECK(ms(figures.p50) == Approx(all[2500]).epsilon(0.07));
    CHECK(ms(figures.p98) == Approx(all[4900]).epsilon(0.07));
  }
}

TEST_CASE("extremes are counted, as the least and the most that is told apart") {
  Recent recent;
  for (const Recent::Duration time : {Recent::Duration(0ns), Recent::Duration(-5ms), Recent::Duration(1ns), Recent::Duration(24h)})
    recent.add(Recent::Time(10s), time, 1s);
  const Recent::Figures figures = recent.figures(Recent::Time(10s));
  CHECK(figures.answered == 4);
  CHECK(figures.inTime == 3);
  CHECK(ms(figures.p50) < 0.1);
}

TEST_CASE("what is a minute old is forgotten, and what is not is not") {
  Recent recent;
  for (int second = 0; second < 300; ++second)
    recent.add(Recent::Time(std::chrono::seconds(1000 + second)), second < 200 ? 500ms : 5ms, 100ms);
  Recent::Figures figures = recent.figures(Recent::Time(1299s));
  CHECK(figures.requests == 60);
  CHECK(figures.inTime == 60);
  CHECK(figures.perSecond == Approx(1).epsilon(0.15));
  CHECK(figures.seconds == Approx(59).margin(1.1));
  figures = recent.figures(Recent::Time(1340s));
  CHECK(figures.requests == 15);  // to the step: those of 1285 s and later
  CHECK(figures.perSecond == 0);
  CHECK(recent.figures(Recent::Time(2000s)).requests == 0);
}

TEST_CASE("who is not answered is not in time") {
  Recent recent;
  recent.add(Recent::Time(10s), 50ms, 100ms);
  recent.add(Recent::Time(10s), 150ms, 100ms);
  recent.add(Recent::Time(10s), std::nullopt, 100ms);
  recent.add(Recent::Time(10s), std::nullopt, 100ms);
  const Recent::Figures figures = recent.figures(Recent::Time(11s));
  CHECK(figures.requests == 4);
  CHECK(figures.answered == 2);
  CHECK(figures.compliance() == 0.25);
}

TEST_CASE("queue, swap and run are all of a request's time, whatever is known of it") {
  const Time arrived(10s), admitted(10s + 30ms), ended(10s + 100ms);
  const auto whole = [](const Split& parts) { return parts.queue + parts.swap + parts.run; };
  struct Case {
    Stages stages;
    double queue, swap, run;
  };
  for (const Case& one : {Case{{}, 0.030, 0, 0.070},
                          Case{{ModelSource::resident, Time(10s + 20ms), Time(10s + 20ms)}, 0.020, 0, 0.080},
                          Case{{ModelSource::host, Time(10s + 20ms), Time(10s + 60ms)}, 0.020, 0.040, 0.040},
                          // Fetched before its turn; not all there when it ended; there later than it ended.
                          Case{{ModelSource::host, Time(10s + 20ms), Time(10s + 10ms)}, 0.020, 0, 0.080},
                          Case{{ModelSource::peer, Time(10s + 20ms), {}}, 0.020, 0.080, 0},
                          Case{{ModelSource::host, Time(10s + 20ms), Time(11s)}, 0.020, 0.080, 0}}) {
    const Split parts = split(one.stages, arrived, admitted, ended);
    CHECK(parts.queue == Approx(one.queue));
    CHECK(parts.swap == Approx(one.swap).margin(1e-9));
    CHECK(parts.run == Approx(one.run).margin(1e-9));
    CHECK(whole(parts) == Approx(0.1));
  }
  FunctionMetrics metrics;
  metrics.add({ModelSource::host, Time(10s + 20ms), Time(10s + 60ms)}, arrived, admitted, ended);
  metrics.add({ModelSource::host, Time(10s + 20ms), Time(10s + 60ms)}, arrived, Time{}, ended);  // never admitted
  CHECK(metrics.stages[static_cast<std::size_t>(ModelSource::host)].requests == 1);
}

}  // namespace rouse::router
