#include "tools/rouse/explanation.h"

#include <catch2/catch.hpp>

using namespace rouse;
using nlohmann::ordered_json;

namespace {

ordered_json request(ordered_json steps, ordered_json more) {
  ordered_json json{{"request", "r1"}, {"trace", "4bf92f"}, {"function", "bert"}, {"arrived", "2026-01-02T03:04:05.678Z"}, {"deadline_ms", 100}};
  json.update(more);
  json["steps"] = std::move(steps);
  return json;
}
std::string explained(ordered_json one) { return cli::explanation({{"schema", 1}, {"requests", {std::move(one)}}}); }

}  // namespace

TEST_CASE("no request, no text") { CHECK(cli::explanation({{"schema", 1}, {"requests", ordered_json::array()}}).empty()); }

TEST_CASE("a request that waited, had others evicted and was late, in words") {
  const std::string text = explained(request(
      {{{"at_ms", 0.2}, {"step", "queued"}, {"before_it", 2}, {"waiting", 7}},
       {{"at_ms", 40.0}, {"step", "evicted"}, {"gpu", 1}, {"function", "gpt"}, {"bytes", 1 << 30}, {"whole", true}},
       {{"at_ms", 40.0}, {"step", "evicted"}, {"gpu", 1}, {"function", nullptr}, {"bytes", 1 << 20}, {"whole", false}},
       {{"at_ms", 40.0}, {"step", "run"}, {"gpu", 1}, {"why", "earliest-end"}, {"source", "host"}, {"bytes", 3 << 20}},
       {{"at_ms", 40.1}, {"step", "moves"}, {"gpu", 1}, {"from_gpu", 0}},
       {{"at_ms", 40.2}, {"step", "moves"}, {"gpu", 1}, {"from_gpu", 0}},
       {{"at_ms", 41.0}, {"step", "admitted"}, {"gpu", 1}},
       {{"at_ms", 131.0}, {"step", "head"}, {"status", 200}},
       {{"at_ms", 140.0}, {"step", "arrived"}, {"gpu", 1}, {"host_bytes", 3 << 20}, {"peer_bytes", 0}}},
      {{"over", true}, {"outcome", "answered"}, {"status", 200}, {"took_ms", 132.0}, {"late", true}, {"source", "host"}, {"queue_ms", 40.0}, {"swap_ms", 20.0}, {"run_ms", 72.0}}));
  CHECK_THAT(text, Catch::StartsWith("request r1 of bert: answered (200) after 132 ms, 32.0 ms behind its deadline of 100 ms\n"
                                     "  waited 40.0 ms for its turn, 20.0 ms until its model had come from the host, then ran 72.0 ms\n"));
  CHECK_THAT(text, Catch::Contains("       0.2 ms  queued: 2 of its function's requests before it, 7 waiting in all\n"));
  CHECK_THAT(text, Catch::Contains("      40.0 ms  for it, gpt leaves GPU 1: 1 GiB\n"));
  CHECK_THAT(text, Catch::Contains("      40.0 ms  for it, another user's function leaves GPU 1 in part: the last 1 MiB\n"));
  CHECK_THAT(text, Catch::Contains("given GPU 1, 3 MiB from the host: it should end first there, by links, queues and who would have to leave [earliest-end]\n"));
  CHECK_THAT(text, Catch::Contains("its program is taken from GPU 0 to GPU 1\n"));
  CHECK_THAT(text, Catch::Contains("all of its model is on GPU 1: 3 MiB from the host\n"));
  CHECK_THAT(text, Catch::Contains("     132.0 ms  over\n     140.0 ms  all of its model"));
  CHECK(text.find("its program is taken") == text.rfind("its program is taken"));
}

TEST_CASE("one that had ended before the last of its model was there") {
  CHECK_THAT(explained(request(ordered_json::array(), {{"over", true}, {"outcome", "answered"}, {"status", 200}, {"took_ms", 50.0}, {"source", "peer"}, {"queue_ms", 10.0}, {"swap_ms", 40.0}, {"run_ms", 0.0}})),
             Catch::Contains("  waited 10.0 ms for its turn, and ran while its model came from another GPU, 40.0 ms\n"));
}

TEST_CASE("one that was refused, and one under way") {
  CHECK_THAT(explained(request({{{"at_ms", 1.0}, {"step", "refused"}, {"why", "queue-full"}, {"retry_after_ms", 1500}}},
                               {{"over", true}, {"outcome", "refused"}, {"status", 503}, {"took_ms", 1.0}})),
             Catch::Contains("refused (503) after 1.0 ms, within its deadline of 100 ms") && Catch::Contains("refused: queue-full, to come back in 1500 ms"));
  CHECK_THAT(explained(request(ordered_json::array(), {{"over", false}})), Catch::StartsWith("request r1 of bert: is under way\n"));
}

TEST_CASE("reasons and steps of a later daemon are shown as they are") {
  const std::string text = explained(request({{{"at_ms", 0.0}, {"step", "dreams"}}, {{"at_ms", 0.0}, {"step", "run"}, {"gpu", 0}, {"why", "whim"}, {"source", "resident"}}}, {{"over", false}}));
  CHECK_THAT(text, Catch::Contains("ms  dreams\n") && Catch::Contains("given GPU 0, where its model is: whim\n"));
}
