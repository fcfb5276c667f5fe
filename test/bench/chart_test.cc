#include "bench/swap/chart.h"

#include <catch2/catch.hpp>

#include "bench/swap/trace.h"

namespace rouse::bench {
namespace {

using nlohmann::json;

SwapChart sample() {
  return {.title = "a <model> & more",
          .note = "clocks \"differ\"",
          .lanes = {{"groups arrive", {{"group 0", 0, 2}, {"group 1", 2, 4}}}, {"kernels run", {{"conv 0", 2.5, 3}, {"norm 1", 4.25, 10}}}}};
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST_CASE("the picture has a rectangle and a tooltip for each span, in scale, and no markup of a name's") {
  const std::string svg = drawSvg(sample());
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(count(svg, "<rect") == 1 + 4);  // the background
  CHECK(count(svg, "<title>") == 4);
  CHECK(count(svg, "<text") == 1 + 2 + 11 + 1);  // title, lanes, ticks at 0, 1, … 10 ms, note
  CHECK(svg.find("a &lt;model&gt; &amp; more") != std::string::npos);
  CHECK(svg.find("clocks &quot;differ&quot;") != std::string::npos);
  CHECK(svg.find("conv 0: 2.500 to 3.000 ms") != std::string::npos);
  // 10 ms are 790 units from 150 on.
  CHECK(svg.find("<rect x=\"347.50\" y=\"94\" width=\"39.50\"") != std::string::npos);
  CHECK(svg.find("<rect x=\"485.75\" y=\"94\" width=\"454.25\"") != std::string::npos);
}

TEST_CASE("a picture without spans is still one") {
  const std::string svg = drawSvg({.title = "nothing", .note = {}, .lanes = {{"empty", {}}}});
  CHECK(count(svg, "<rect") == 1);
  CHECK(count(svg, "nan") + count(svg, "inf") == 0);
}

TEST_CASE("the trace has a complete event for each span and a name for each lane") {
  const json trace = json::parse(traceOf(sample()).dump());
  std::vector<json> complete;
  std::map<int, std::string> lanes;
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X") complete.push_back(event);
    if (event.at("name") == "thread_name") lanes[event.at("tid")] = event.at("args").at("name");
  }
  CHECK(lanes == std::map<int, std::string>{{1, "groups arrive"}, {2, "kernels run"}});
  REQUIRE(complete.size() == 4);
  CHECK(complete[3].at("name") == "norm 1");
  CHECK(complete[3].at("tid") == 2);
  CHECK(complete[3].at("ts") == 4250);
  CHECK(complete[3].at("dur") == 5750);
}

TEST_CASE("a request's times become lanes that begin with the request") {
  const Network network{"tiny", 2, {{"conv 0", 1, 0}, {"norm 1", 1, 0}}};
  json answer{{"began", 100.0}, {"queued", 100.001}, {"ended", 100.010},
              {"times", {100'002'000'000, 100'004'000'000, 100'005'000'000, 100'009'000'000}}};
  SwapChart chart = chartOf(network, answer);
  REQUIRE(chart.lanes.size() == 3);
  CHECK(chart.lanes[1].spans.at(0).end == Approx(2));
  CHECK(chart.lanes[2].spans.at(0).name == "conv 0");
  CHECK(chart.lanes[2].spans.at(0).begin == Approx(2));
  CHECK(chart.lanes[2].spans.at(1).end == Approx(9));
  CHECK(chart.note.find("clock of its own") == std::string::npos);

  // A device with another clock: its last kernel ends with the request.
  answer["times"] = {1'700'000'000'002'000'000, 1'700'000'000'004'000'000, 1'700'000'000'005'000'000, 1'700'000'000'009'000'000};
  chart = chartOf(network, answer);
  CHECK(chart.lanes[2].spans.at(1).end == Approx(10).margin(0.01));
  CHECK(chart.lanes[2].spans.at(0).begin == Approx(3).margin(0.01));
  CHECK(chart.note.find("clock of its own") != std::string::npos);

  answer["times"] = {1, 2};
  CHECK_THROWS_AS(chartOf(network, answer), std::invalid_argument);
}

}  // namespace
}  // namespace rouse::bench
