#include "tools/rouse/timeline_events.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

using namespace rouse;
using nlohmann::ordered_json;

namespace {

ordered_json request(std::uint64_t number, double arrived, const std::string& function, ordered_json steps, ordered_json more = ordered_json::object()) {
  ordered_json json{{"request", "r" + std::to_string(number)}, {"function", function}, {"arrived", "2026-01-02T03:04:05.678Z"}, {"number", number}, {"arrived_us", arrived}};
  json.update(more);
  json["steps"] = std::move(steps);
  return json;
}

// The events of one name, by phase.
std::vector<ordered_json> named(const ordered_json& trace, const std::string& name, const std::string& phase) {
  std::vector<ordered_json> found;
  for (const ordered_json& event : trace["traceEvents"])
    if (event["name"] == name && event["ph"] == phase) found.push_back(event);
  return found;
}

std::string processOf(const ordered_json& trace, const ordered_json& event) {
  for (const ordered_json& other : trace["traceEvents"])
    if (other["name"] == "process_name" && other["pid"] == event["pid"]) return other["args"]["name"];
  return {};
}

}  // namespace

TEST_CASE("of no requests there are no events") {
  const ordered_json trace = cli::timelineEvents({});
  CHECK(trace["traceEvents"].empty());
  CHECK(trace["otherData"]["requests"] == 0);
}

TEST_CASE("a request is a slice of its function with its parts, its run one of its GPU, and so is what it brought") {
  const ordered_json trace = cli::timelineEvents(std::vector<ordered_json>{request(
      7, 5'000'000, "bert",
      {{{"at_ms", 1.0}, {"step", "queued"}, {"before_it", 2}},
       {{"at_ms", 20.0}, {"step", "evicted"}, {"gpu", 1u}, {"function", "gpt"}, {"bytes", 5000}},
       {{"at_ms", 20.0}, {"step", "evicted"}, {"gpu", 1u}, {"function", nullptr}, {"bytes", 1}},
       {{"at_ms", 20.0}, {"step", "run"}, {"gpu", 1u}, {"source", "host"}, {"bytes", 9000}},
       {{"at_ms", 21.0}, {"step", "admitted"}, {"gpu", 1u}},
       {{"at_ms", 60.0}, {"step", "arrived"}, {"gpu", 1u}, {"host_bytes", 9000}}},
      {{"over", true}, {"outcome", "answered"}, {"took_ms", 130.0}, {"queue_ms", 20.0}, {"swap_ms", 40.0}, {"run_ms", 70.0}})});
  const std::map<std::string, std::pair<double, double>> slices = {{"r7", {0, 130e3}}, {"queue", {0, 20e3}}, {"swap", {20e3, 60e3}}, {"run", {60e3, 130e3}},
                                                                   {"bert comes", {20e3, 60e3}}, {"bert", {60e3, 130e3}}};
  for (const auto& [name, times] : slices) {
    INFO(name);
    const auto begin = named(trace, name, "b"), end = named(trace, name, "e");
    REQUIRE(begin.size() == 1);
    REQUIRE(end.size() == 1);
    CHECK(begin[0]["ts"].get<double>() == Approx(times.first));
    CHECK(end[0]["ts"].get<double>() == Approx(times.second));
    CHECK(begin[0]["id"] == 7);
    CHECK(processOf(trace, begin[0]) == (name.starts_with("bert") ? "GPU 1" : "bert"));
    for (const char* key : {"cat", "id", "pid"}) CHECK(begin[0][key] == end[0][key]);
  }
  REQUIRE(named(trace, "gpt leaves", "n").size() == 1);
  CHECK(processOf(trace, named(trace, "gpt leaves", "n")[0]) == "GPU 1");
  CHECK(named(trace, "another function leaves", "n").size() == 1);
  CHECK(named(trace, "queued", "n")[0]["args"]["before_it"] == 2);
  CHECK(named(trace, "r7", "b")[0]["args"]["outcome"] == "answered");
}

TEST_CASE("requests under way, refused ones and steps of later versions are shown as far as they are known") {
  const ordered_json trace = cli::timelineEvents(
      {request(1, 100, "f", ordered_json::array({{{"at_ms", 3.0}, {"step", "run"}, {"gpu", 0u}, {"source", "host"}}}), {{"over", false}}),
       request(2, 50, "g", ordered_json::array({{{"at_ms", 0.5}, {"step", "refused"}, {"why", "queue-full"}}}), {{"over", true}, {"outcome", "refused"}, {"took_ms", 0.6}}),
       request(3, 150, "f", {{{"at_ms", 1.0}, {"step", "dreams"}, {"gpu", "none"}}, {{"step", 5}, {"gpu", 99'999'999u}}, "no step"}), ordered_json::object()});
  CHECK(trace["otherData"]["requests"] == 4);
  CHECK(named(trace, "r1", "b")[0]["ts"] == 50);  // from the earliest on
  CHECK(named(trace, "r1", "e")[0]["ts"] == 3050);
  CHECK(named(trace, "r2", "e")[0]["ts"] == Approx(600));
  CHECK(named(trace, "refused", "n").size() == 1);
  CHECK(named(trace, "dreams", "n").size() == 1);
  CHECK(named(trace, "run", "b").empty());
  CHECK(processOf(trace, named(trace, "r1", "b")[0]) == processOf(trace, named(trace, "r3", "b")[0]));
  std::set<std::string> gpus;
  for (const ordered_json& event : trace["traceEvents"])
    if (event["name"] == "process_name" && event["args"]["name"].get<std::string>().starts_with("GPU")) gpus.insert(event["args"]["name"]);
  CHECK(gpus == std::set<std::string>{"GPU 0"});
}
