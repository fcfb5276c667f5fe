#include "server/router/metrics.h"

#include <catch2/catch.hpp>

#include "exposition.h"

using namespace rouse;
using namespace std::chrono_literals;
using router::ModelSource;
using test::faultOf;

namespace {
std::string gpuLabels(std::uint32_t gpu) { return "gpu=\"" + std::to_string(gpu) + "\",uuid=\"GPU-x\""; }
}  // namespace

TEST_CASE("the page for Prometheus has its format, with and without functions") {
  router::Metrics metrics;
  CHECK(faultOf(metrics.prometheus(gpuLabels)) == "");
  for (const char* name : {"a", "b-2", "c.d"}) {
    router::FunctionMetrics& one = metrics.of(name);
    ++one.requests[0];
    for (const double seconds : {0.0001, 0.02, 3.0, 100.0}) one.queue.add(seconds), one.run.add(seconds), one.whole.add(seconds);
    one.add({ModelSource::host, router::Time(10s), router::Time(12s)}, router::Time(9s), router::Time(11s), router::Time(15s));
  }
  metrics.countOther(404);
  metrics.ran(1, 0.5);
  const std::string page = metrics.prometheus(gpuLabels);
  CHECK(faultOf(page) == "");
  CHECK_THAT(page, Catch::Contains("\nrouse_requests_by_source_total{function=\"a\",source=\"host\"} 1\n"));
  CHECK_THAT(page, Catch::Contains("\nrouse_request_stage_seconds_total{function=\"a\",source=\"host\",stage=\"queue\"} 1\n"));
  CHECK_THAT(page, Catch::Contains("\nrouse_request_stage_seconds_total{function=\"a\",source=\"host\",stage=\"swap\"} 2\n"));
  CHECK_THAT(page, Catch::Contains("\nrouse_request_stage_seconds_total{function=\"a\",source=\"host\",stage=\"run\"} 3\n"));
  CHECK_THAT(page, Catch::Contains("\nrouse_gpu_requests_total{gpu=\"1\",uuid=\"GPU-x\"} 1\n"));
  CHECK_THAT(page, Catch::Contains("\nrouse_gpu_request_seconds_total{gpu=\"1\",uuid=\"GPU-x\"} 0.5\n"));
}

TEST_CASE("the check of the format notices what is wrong with it") {
  const std::string good = "# HELP rouse_a_total A.\n# TYPE rouse_a_total counter\nrouse_a_total{function=\"x\"} 1\n";
  CHECK(faultOf(good) == "");
  CHECK(faultOf(good + "rouse_a_total{function=\"x\"} 2\n") != "");
  CHECK(faultOf(good + good) != "");
  CHECK(faultOf(good + "rouse_b 1\n") != "");
  CHECK(faultOf(good + "rouse_a_total{request=\"x\"} 1\n") != "");
  CHECK(faultOf("# HELP rouse_a A.\n# TYPE rouse_a counter\nrouse_a 1\n") != "");
  CHECK(faultOf("# HELP rouse_a A.\nrouse_a 1\n") != "");
  CHECK(faultOf("# HELP rouse_h H.\n# TYPE rouse_h histogram\nrouse_h_bucket{le=\"1\"} 2\nrouse_h_bucket{le=\"+Inf\"} 1\n") != "");
  CHECK(faultOf("# HELP rouse_h H.\n# TYPE rouse_h histogram\nrouse_h_bucket{le=\"+Inf\"} 1\nrouse_h_sum 1\nrouse_h_count 2\n") != "");
}
