#include "bench/serve/page.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <unistd.h>

using namespace rouse::bench;
using Verdict = Sample::Verdict;

namespace {

Served someLoad(unsigned functions, unsigned requests) {
  Served served{.title = "A <load> & more", .seconds = 30, .functions = {}, .conditions = {{"machine", "\"fast\""}}};
  for (unsigned f = 0; f < functions; ++f) {
    ServedFunction& function = served.functions.emplace_back(ServedFunction{.name = "f<" + std::to_string(f), .deadlineMs = 100, .percentile = 98});
    for (unsigned i = 0; i < requests; ++i) function.samples.push_back({.due = 30.0 * i / requests, .ms = 1.0 + i % 99, .verdict = Verdict::right, .number = i});
  }
  return served;
}

// Elements that were opened and not closed, or the other way round; empty: none. Void ones, and those that HTML closes itself, apart.
std::string unbalanced(const std::string& html) {
  static const std::regex kTag("<(/?)([a-z0-9]+)[^>]*?(/?)>");
  std::vector<std::string> open;
  for (std::sregex_iterator tag(html.begin(), html.end(), kTag), end; tag != end; ++tag) {
    const std::string name = (*tag)[2];
    if (name == "meta" || name == "th" || name == "td" || (*tag)[3] == "/") continue;
    if ((*tag)[1] != "/") {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return "</" + name + ">";
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : "<" + open.back() + ">";
}

}  // namespace

TEST_CASE("figures of a load") {
  Served served = someLoad(1, 0);
  auto& samples = served.functions[0].samples;
  for (int i = 1; i <= 100; ++i) samples.push_back({.due = 0.1 * i, .ms = static_cast<double>(i) + 1, .verdict = Verdict::right});
  samples.push_back({.verdict = Verdict::wrong});
  samples.push_back({.verdict = Verdict::refused});
  samples.push_back({.verdict = Verdict::lost});
  const ServedFigures figures = figuresOf(served);
  CHECK(figures.requests == 103);
  CHECK(figures.answered == 101);
  CHECK(figures.inTime == 99);  // a wrong answer is none, however fast
  CHECK(figures.p50 == 51);
  CHECK(figures.p98 == 99);
  const auto json = toJson(served);
  CHECK(json["wrong"] == 1);
  CHECK(json["functions"]["f<0"]["complies"] == false);
  CHECK(json["goodput_per_s"] == Approx(3.3));
  CHECK(json["functions_complying"] == 0);
}

TEST_CASE("the page is whole, and needs nothing from elsewhere") {
  for (const Served& served : {someLoad(20, 200), someLoad(1, 1), someLoad(0, 0), someLoad(3, 0)}) {
    const std::string page = reportPage(served);
    CHECK(page.starts_with("<!DOCTYPE html>"));
    CHECK(unbalanced(page) == "");
    CHECK(page.find("<script") == std::string::npos);
    CHECK(page.find("href") == std::string::npos);
    CHECK(page.find("src=") == std::string::npos);
    CHECK(page.find("url(") == std::string::npos);
    CHECK(page.find("nan") == std::string::npos);
    CHECK(page.find("inf\"") == std::string::npos);
    CHECK_THAT(page, Catch::Contains("<h1>A &lt;load&gt; &amp; more</h1>") && Catch::Contains("&quot;fast&quot;"));
    CHECK(page.find("f<") == std::string::npos);
  }
}

TEST_CASE("its size does not grow with the requests") {
  CHECK(reportPage(someLoad(20, 50'000)).size() < 2 * reportPage(someLoad(20, 1'000)).size());
  CHECK(reportPage(someLoad(20, 50'000)).size() < 1'500'000);
}

TEST_CASE("a piece of the timeline shows the worst that happened in it") {
  Served served = someLoad(1, 0);
  auto& samples = served.functions[0].samples;
  samples.push_back({.due = 1, .ms = 10});
  samples.push_back({.due = 10, .ms = 10});
  samples.push_back({.due = 10, .ms = 400});
  samples.push_back({.due = 20, .ms = 10});
  samples.push_back({.due = 20, .ms = 400});
  samples.push_back({.due = 20, .ms = 10, .verdict = Verdict::lost});
  const std::string page = reportPage(served);
  CHECK_THAT(page, Catch::Contains("class=\"met\"><title>1 requests, 0 late, 0 failed"));
  CHECK_THAT(page, Catch::Contains("class=\"late\"><title>2 requests, 1 late, 0 failed; slowest 400.0 ms"));
  CHECK_THAT(page, Catch::Contains("class=\"failed\"><title>3 requests, 1 late, 1 failed"));
}

TEST_CASE("a report that cannot be written is an error, one that can has its figures beside it") {
  CHECK_THROWS_WITH(writeReport(someLoad(1, 1), "/nonexistent/report.html"), Catch::Contains("/nonexistent/report.html"));
  const auto folder = std::filesystem::temp_directory_path() / ("rouse-page-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  writeReport(someLoad(2, 10), folder / "report.html");
  std::ifstream json(folder / "report.json");
  CHECK(nlohmann::json::parse(json)["functions"].size() == 2);
  CHECK(std::filesystem::file_size(folder / "report.html") > 1000);
  std::filesystem::remove_all(folder);
}
