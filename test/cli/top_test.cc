#include <catch2/catch.hpp>

#include "tools/rouse/top_view.h"

using namespace rouse::cli;
using nlohmann::ordered_json;

namespace {

ordered_json onGpu(unsigned gpu, double gpuSeconds, std::uint64_t brought, const std::string& place = "resident", std::uint64_t saved = 0) {
  return {{"index", gpu}, {"state", "serving"}, {"place", place}, {"resident_bytes", place == "home" ? 0 : 1 << 30}, {"gpu_seconds", gpuSeconds},
          {"brought_bytes", brought}, {"peer_bytes", 0}, {"saved_bytes", saved}};
}
ordered_json session(unsigned number, const std::string& name, ordered_json gpu) {
  return {{"session", number}, {"name", name}, {"gpus", {std::move(gpu)}}};
}
ordered_json configured(const std::string& name, unsigned requests, unsigned inTime, double p98 = 80) {
  return {{"name", name}, {"state", "ready"}, {"deadline_ms", 100}, {"percentile", 98.0},
          {"requests", {{"waiting", 3}, {"running", 1}, {"lately", {{"seconds", 60.0}, {"requests", requests}, {"answered", inTime}, {"in_time", inTime}, {"per_second", 2.5}, {"ms_p50", requests == 0 ? ordered_json() : ordered_json(20.5)}, {"ms_p98", requests == 0 ? ordered_json() : ordered_json(p98)}}}}}};
}
ordered_json report(ordered_json functions, ordered_json configuredOnes = ordered_json::array()) {
  ordered_json gpus = ordered_json::array();
  for (unsigned gpu : {0u, 1u})
    gpus.push_back({{"index", gpu}, {"state", "serving"}, {"name", "CPU"}, {"memory_total_bytes", 4ull << 30}, {"memory_held_bytes", 1ull << 30},
                    {"link", {{"to_device", {{"rate_bytes", 2'000'000'000}}}}}});
  return {{"schema", 1}, {"daemon", {{"uptime_seconds", 3661}}}, {"gpus", gpus}, {"functions", functions}, {"configured", configuredOnes}};
}
ordered_json sessions(std::initializer_list<ordered_json> all) {
  ordered_json list = ordered_json::array();
  for (const auto& one : all) list.push_back(one);
  return list;
}

// Columns on a terminal.
std::size_t shown(const std::string& line) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\033')
      while (line[i] != 'm') ++i;
    else
      count += (static_cast<unsigned char>(line[i]) & 0xc0) != 0x80;
  }
  return count;
}

TopFrame manyFunctions(unsigned count) {
  ordered_json all = ordered_json::array();
  for (unsigned i = 0; i < count; ++i) all.push_back(configured("function-" + std::to_string(i), 50, i % 2 == 0 ? 50 : 30));
  return topFrame(report(sessions({})), report(sessions({}), all), 1);
}

}  // namespace

TEST_CASE("figures are of the time between two reports") {
  const TopFrame frame = topFrame(report(sessions({session(1, "a", onGpu(0, 10, 1'000'000'000)), session(2, "b", onGpu(0, 5, 0, "home"))})),
                                  report(sessions({session(1, "a", onGpu(0, 11, 3'000'000'000)), session(2, "b", onGpu(0, 5, 0, "home"))}),
                                         sessions({configured("a", 50, 49)})),
                                  2);
  REQUIRE(frame.functions.size() == 2);
  const TopFunction& a = frame.functions[0];
  CHECK(a.name == "a");
  CHECK(a.served);
  CHECK(a.gpuShare == Approx(0.5));
  CHECK(a.where == "GPU 0");
  CHECK(*a.met() == Approx(98));
  CHECK(a.complies());
  CHECK(frame.functions[1].where == "home (GPU 0)");
  auto resting = onGpu(1, 0, 0, "home");
  resting["resting_bytes"] = 4096;
  CHECK(topFrame(report(sessions({})), report(sessions({session(1, "r", resting)})), 1).functions[0].where == "GPU 1 resting");
  CHECK_FALSE(frame.functions[1].served);
  CHECK(frame.gpus[0].busy == Approx(0.5));
  CHECK(frame.gpus[0].in == Approx(1e9));
  CHECK(frame.gpus[0].functions == 1);
  CHECK(frame.gpus[1].in == 0);
}

TEST_CASE("a function that has changed its GPU takes its counters along: nothing is counted twice") {
  const TopFrame frame = topFrame(report(sessions({session(1, "a", onGpu(0, 100, 5'000'000'000))})),
                                  report(sessions({session(1, "a", onGpu(1, 101, 5'500'000'000, "arriving"))})), 1);
  CHECK(frame.gpus[0].in == 0);
  CHECK(frame.gpus[1].in == Approx(5e8));
  CHECK(frame.gpus[1].busy == Approx(1));
  CHECK(frame.functions[0].where == "GPU 1 arriving");
}

TEST_CASE("a new process under an old name counts from nothing, and counters that fall are no negative rates") {
  const TopFrame frame = topFrame(report(sessions({session(1, "a", onGpu(0, 100, 500))})),
                                  report(sessions({session(2, "a", onGpu(0, 1, 2'000'000'000)), session(3, "a", onGpu(1, 0, 0))})), 2);
  REQUIRE(frame.functions.size() == 1);
  CHECK(frame.functions[0].gpuShare == Approx(0.5));
  CHECK(frame.functions[0].where == "GPU 0, GPU 1");
  CHECK(topFrame(report(sessions({session(1, "a", onGpu(0, 100, 500))})), report(sessions({session(1, "a", onGpu(0, 3, 5))})), 1).gpus[0].in == 0);
}

TEST_CASE("a report that lacks everything is an empty frame, not an exception") {
  for (const ordered_json& odd : {ordered_json::object(), ordered_json{{"gpus", 3}, {"functions", "x"}, {"configured", nullptr}},
                                  ordered_json{{"gpus", {{{"index", -1}}}}, {"functions", {{{"name", 7}, {"gpus", {ordered_json::object()}}}}}}}) {
    const TopFrame frame = topFrame(odd, odd, 1);
    CHECK_NOTHROW(topLines(frame, {80, 24, true}));
    CHECK_NOTHROW(toJson(frame).dump());
  }
}

TEST_CASE("sorted by each key, the worst first") {
  std::vector<TopFunction> all(3);
  for (std::size_t i = 0; i < 3; ++i) all[i].name = std::string(1, static_cast<char>('c' - i)), all[i].served = true, all[i].percentile = 98;
  all[0].perSecond = 5, all[0].p98 = 10, all[0].requests = 10, all[0].inTime = 10, all[0].gpuShare = 0.1;   // c
  all[1].perSecond = 1, all[1].p98 = 90, all[1].requests = 10, all[1].inTime = 5, all[1].waiting = 4;       // b
  const auto order = [&](const std::string& key) {
    auto sorted = all;
    sortFunctions(sorted, key);
    std::string names;
    for (const TopFunction& f : sorted) names += f.name;
    return names;
  };
  CHECK(order("name") == "abc");
  CHECK(order("rate") == "cba");
  CHECK(order("p98") == "bca");
  CHECK(order("met") == "bca");
  CHECK(order("queue") == "bac");
  CHECK(order("gpu") == "cab");
}

TEST_CASE("the whole table, without limits and colours") {
  const TopFrame frame = topFrame(report(sessions({session(1, "a", onGpu(0, 10, 0))})),
                                  report(sessions({session(1, "a", onGpu(0, 11, 1'000'000'000))}), sessions({configured("a", 50, 30, 130), configured("idle", 0, 0)})), 2);
  const std::vector<std::string> lines = topLines(frame, {});
  REQUIRE(lines.size() == 9);
  CHECK(lines[0] == "up 1:01:01, 2 functions: 0 of 1 asked lately meet their deadlines; 5.0 requests/s, 6 waiting");
  CHECK(lines[2] == "GPU  STATE    BUSY  MEMORY     OF  IN GB/S  OF LINK  OUT GB/S  PEERS GB/S  FUNCTIONS");
  CHECK(lines[3] == "  0  serving   50%   1 GiB  4 GiB     0.50      25%         -           -          1");
  CHECK(lines[6] == "FUNCTION  STATE  REQ/S  P50 MS  P98 MS  DEADLINE  IN TIME  WAITING  RUNNING  GPU  MEMORY  WHERE");
  CHECK(lines[7] == "a         ready    2.5      20     130       100    60.0%        3        1  50%   1 GiB  GPU 0");
  CHECK(lines[8].starts_with("idle      ready    2.5       -       -       100        -        3        1   0%"));
}

TEST_CASE("nothing is wider or higher than the terminal, however small") {
  const TopFrame frame = manyFunctions(30);
  for (unsigned width = 1; width <= 140; ++width)
    for (const unsigned height : {1u, 2u, 5u, 8u, 9u, 24u, 60u})
      for (const bool colours : {false, true}) {
        const auto lines = topLines(frame, {width, height, colours});
        REQUIRE(lines.size() <= height);
        for (const std::string& line : lines) REQUIRE(shown(line) <= width);
      }
  const auto narrow = topLines(frame, {40, 0, false});
  CHECK(narrow[6].starts_with("FUNCTION"));
  CHECK_THAT(narrow[6], Catch::Contains("IN TIME"));
  CHECK(topLines(frame, {200, 20, false}).back() == "and 18 more");
}

TEST_CASE("who misses its deadlines stands out, where colours may be used") {
  const TopFrame frame = manyFunctions(2);
  const auto lines = topLines(frame, {120, 24, true});
  CHECK(lines[2].starts_with("\033[1mGPU"));
  CHECK(lines[7].starts_with("function-0"));
  CHECK(lines[8].starts_with("\033[31mfunction-1"));
  for (const std::string& line : topLines(frame, {120, 24, false})) CHECK(line.find('\033') == std::string::npos);
}

TEST_CASE("names cannot write on the terminal") {
  const TopFrame frame = topFrame(report(sessions({})), report(sessions({session(1, "evil\033[2J\n\r", onGpu(0, 0, 0))})), 1);
  for (const std::string& line : topLines(frame, {})) {
    CHECK(line.find('\033') == std::string::npos);
    CHECK(line.find('\n') == std::string::npos);
  }
}

TEST_CASE("a line of JSON has what the table has") {
  const ordered_json json = toJson(manyFunctions(2));
  CHECK(json["schema"] == 1);
  CHECK(json["functions"][1]["complies"] == false);
  CHECK(json["functions"][1]["window_in_time"] == 30);
  CHECK(json["gpus"][1]["gpu"] == 1);
  CHECK(json["gpus"][0]["link_bytes_per_s"] == 2e9);
}
