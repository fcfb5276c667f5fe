#include "server/router/history.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "server/router/story_report.h"

namespace rouse::router {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

const Time kBegin{100s};
const std::string kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
std::string traceparent(const std::string& trace) { return "00-" + trace + "-00f067aa0ba902b7-01"; }
const auto anybody = [](const std::string&) { return true; };

void add(History& history, std::uint64_t number, const std::string& id, const std::string& function = "f") {
  history.begin(number, id, traceparent(kTrace), function, kBegin, 100ms);
}

}  // namespace

TEST_CASE("a history keeps the last requests, and forgets those before") {
  History history(4);
  for (std::uint64_t number = 1; number <= 6; ++number) add(history, number, "r" + std::to_string(number));
  CHECK(history.find("r2", anybody).empty());
  CHECK(history.find(2) == nullptr);
  for (const char* id : {"r3", "r4", "r5", "r6"}) CHECK(history.find(id, anybody).size() == 1);
  history.note(2, {.kind = Step::Kind::lost});  // forgotten: nobody else's story changes
  for (std::uint64_t number = 3; number <= 6; ++number) CHECK(history.find(number)->steps.empty());
  // By trace: all of them, the newest first.
  const auto found = history.find(kTrace, anybody);
  REQUIRE(found.size() == 4);
  CHECK(found[0]->requestId == "r6");
  CHECK(found[3]->requestId == "r3");
}

TEST_CASE("a history of none notes nothing and finds nothing") {
  History history;
  add(history, 1, "r");
  history.note(1, {});
  history.end(1, Outcome::answered, 200, {}, kBegin, kBegin);
  CHECK(history.find("r", anybody).empty());
  CHECK(history.find(1) == nullptr);
}

TEST_CASE("one id used again and again finds the last of them, so many at most") {
  History history(100);
  for (std::uint64_t number = 1; number <= 50; ++number) add(history, number, "same");
  const auto found = history.find("same", anybody);
  REQUIRE(found.size() == History::kMostFound);
  CHECK(found[0]->number == 50);
}

TEST_CASE("a story is bounded: steps and texts beyond are left out, and counted") {
  History history(2);
  add(history, 1, std::string(128, 'i'), std::string(64, 'f'));
  for (int i = 0; i < 100; ++i) history.note(1, {.kind = Step::Kind::evicted, .text = std::string(1000, 'x')});
  const Story& story = *history.find(1);
  CHECK(story.steps.size() == History::kMostSteps);
  CHECK(story.omitted == 100 - History::kMostSteps);
  std::size_t bytes = sizeof(Story) + story.requestId.capacity() + story.trace.capacity() + story.function.capacity();
  for (const Step& step : story.steps) {
    CHECK(step.text.size() == History::kMostText);
    bytes += sizeof(Step) + step.text.capacity() + 1;
  }
  bytes += (story.steps.capacity() - story.steps.size()) * sizeof(Step);
  CHECK(bytes <= History::kMostBytes);
  // A character of several bytes is not cut in two.
  add(history, 2, "r");
  history.note(2, {.kind = Step::Kind::again, .text = std::string(History::kMostText - 1, 'x') + "\xc3\xa9"});
  CHECK(history.find(2)->steps[0].text == std::string(History::kMostText - 1, 'x'));
}

TEST_CASE("what is reported of a story") {
  History history(8);
  add(history, 1, "mine");
  history.note(1, {.kind = Step::Kind::queued, .at = kBegin + 1ms, .count = 2, .all = 7});
  history.note(1, {.kind = Step::Kind::evicted, .at = kBegin + 20ms, .gpu = 1, .bytes = 5000, .all = 1, .text = "other"});
  history.note(1, {.kind = Step::Kind::run, .source = ModelSource::peer, .at = kBegin + 20ms, .gpu = 1, .from = 0, .bytes = 9000, .code = "last-chance"});
  history.note(1, {.kind = Step::Kind::admitted, .at = kBegin + 21ms, .gpu = 1});
  history.note(1, {.kind = Step::Kind::arrived, .at = kBegin + 60ms, .gpu = 1, .bytes = 10, .peerBytes = 8990});
  json report = json::parse(storyReport(history, "mine", anybody));
  CHECK(report["schema"] == 1);
  CHECK(report["requests"][0]["over"] == false);
  CHECK_FALSE(report["requests"][0].contains("outcome"));

  history.end(1, Outcome::answered, 200, {.source = ModelSource::peer, .begun = kBegin + 20ms, .here = kBegin + 60ms}, kBegin + 21ms, kBegin + 130ms);
  report = json::parse(storyReport(history, traceparent(kTrace), anybody));
  REQUIRE(report["requests"].size() == 1);
  const json& request = report["requests"][0];
  CHECK(request["request"] == "mine");
  CHECK(request["trace"] == kTrace);
  CHECK(request["outcome"] == "answered");
  CHECK(request["status"] == 200);
  CHECK(request["late"] == true);
  CHECK(request["took_ms"] == Approx(130));
  CHECK(request["queue_ms"] == Approx(20));
  CHECK(request["swap_ms"] == Approx(40));
  CHECK(request["run_ms"] == Approx(70));
  const json& steps = request["steps"];
  REQUIRE(steps.size() == 5);
  CHECK(steps[0] == json{{"at_ms", 1.0}, {"step", "queued"}, {"before_it", 2}, {"waiting", 7}});
  CHECK(steps[1] == json{{"at_ms", 20.0}, {"step", "evicted"}, {"gpu", 1}, {"function", "other"}, {"bytes", 5000}, {"whole", true}});
  CHECK(steps[2]["why"] == "last-chance");
  CHECK(steps[2]["from_gpu"] == 0);
  CHECK(steps[4]["peer_bytes"] == 8990);
}

TEST_CASE("stories of all requests come in pages, the oldest first, with times of one clock") {
  History history(8);
  for (std::uint64_t number = 1; number <= 11; ++number) {
    add(history, number, "r" + std::to_string(number), number % 2 == 0 ? "even" : "odd");
    history.end(number, Outcome::answered, 200, {}, kBegin, kBegin + 5ms);
  }
  std::vector<std::uint64_t> seen;
  std::uint64_t next = 0, pages = 0;
  json report;
  do {
    report = json::parse(storiesReport(history, next, 3, anybody));
    CHECK(report["requests"].size() <= 3);
    for (const json& request : report["requests"]) {
      seen.push_back(request["number"]);
      CHECK(request["arrived_us"] == Approx(100e6));
      CHECK(request["request"] == "r" + std::to_string(seen.back()));
    }
    REQUIRE(report["next"].get<std::uint64_t>() > next);
    next = report["next"];
    ++pages;
  } while (next != report["last"]);
  CHECK(seen == std::vector<std::uint64_t>{4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(pages == 3);
  CHECK(json::parse(storiesReport(history, next, 3, anybody))["requests"].empty());
  CHECK(json::parse(storiesReport(history, ~std::uint64_t{0}, 3, anybody))["next"] == 11);

  // Of those that may be seen, wherever they are.
  report = json::parse(storiesReport(history, 0, 2, [](const std::string& function) { return function == "odd"; }));
  REQUIRE(report["requests"].size() == 2);
  CHECK(report["requests"][1]["number"] == 7);
  CHECK(report["next"] == 7);
  CHECK(json::parse(storiesReport(History(), 0, 2, anybody))["capacity"] == 0);
}

TEST_CASE("others' requests are not found, and others' functions not named") {
  History history(8);
  add(history, 1, "mine", "mine");
  add(history, 2, "theirs", "theirs");
  history.note(1, {.kind = Step::Kind::evicted, .gpu = 0, .bytes = 1, .all = 0, .text = "theirs"});
  const auto may = [](const std::string& function) { return function == "mine"; };
  CHECK(json::parse(storyReport(history, "theirs", may))["requests"].empty());
  CHECK(json::parse(storyReport(history, kTrace, may))["requests"].size() == 1);
  const json step = json::parse(storyReport(history, "mine", may))["requests"][0]["steps"][0];
  CHECK(step["function"].is_null());
  CHECK(step["whole"] == false);
}

}  // namespace rouse::router
