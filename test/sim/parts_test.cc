// Traces, blocks, pictures.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tools/sim/block_pool.h"
#include "tools/sim/chart.h"
#include "tools/sim/trace.h"

namespace rouse::sim {
namespace {

class File {
 public:
  explicit File(const std::string& text)
      : path_(std::filesystem::temp_directory_path() / ("rouse-sim-" + std::to_string(::getpid()) + ".csv")) {
    std::ofstream(path_) << text;
  }
  ~File() { std::filesystem::remove(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("random numbers have the distributions they are named after") {
  Random random(7);
  double sum = 0, squares = 0, poisson = 0, gamma = 0, gammaSquares = 0;
  constexpr int kMany = 20'000;
  for (int i = 0; i < kMany; ++i) {
    const double n = random.normal(), g = random.gamma(0.25, 4);
    sum += n, squares += n * n, poisson += static_cast<double>(random.poisson(9.5)), gamma += g, gammaSquares += g * g;
    REQUIRE(random.below(7) < 7);
  }
  REQUIRE(sum / kMany == Approx(0).margin(0.03));
  REQUIRE(squares / kMany == Approx(1).epsilon(0.05));
  REQUIRE(poisson / kMany == Approx(9.5).epsilon(0.02));
  REQUIRE(gamma / kMany == Approx(1).epsilon(0.06));
  REQUIRE(gammaSquares / kMany - 1 == Approx(4).epsilon(0.25));  // a coefficient of variation of 2
}

TEST_CASE("minute counts are read, and what is wrong with them is named") {
  const File good("HashOwner,HashApp,HashFunction,Trigger,1,2,3\na,b,c,http,10,20,0\na,b,d,http,5,5,1\n");
  const auto counts = readMinuteCounts(good.path());
  REQUIRE(counts.ok());
  REQUIRE(*counts == Counts{{10, 20}, {5, 5}});  // the last minute was cut off
  const auto wrong = [](const std::string& text) {
    const File file(text);
    const std::string message = readMinuteCounts(file.path()).error().message;
    return message.substr(message.find(".csv") + 4);
  };
  REQUIRE(wrong("a,b,c,http,10\na,b,c,http,x") == ":2: 'x' is no count of requests");
  REQUIRE(wrong("a,b,c,http,10\na,b,c,http,1,2") == ":2: 2 counts, the first row has 1");
  REQUIRE(wrong("a,b") == ":1: HashOwner,HashApp,HashFunction,Trigger and at least one count are needed");
  REQUIRE(wrong("a,b,c,http,-1") == ":1: '-1' is no count of requests");
  REQUIRE(wrong("") == ":1: no functions");
}

TEST_CASE("events are read in order of time, with a header or without") {
  const File file("timestamp,function\n2.5,b\n1,a,more\n3,b\n");
  const auto events = readEvents(file.path());
  REQUIRE(events.ok());
  REQUIRE(events->functions == 2);
  REQUIRE(events->arrivals.size() == 3);
  REQUIRE(events->arrivals[0].function == 1);
  REQUIRE(sched::seconds(events->arrivals[2].at.time_since_epoch()) == 3);
  const File broken("1,a\nsoon,b\n");
  REQUIRE(readEvents(broken.path()).error().message.ends_with(":2: 'soon' is no time in seconds"));
}

TEST_CASE("arrivals are as many as the counts say, in order, whatever the process") {
  const Counts counts = generateCounts(50, 10, 3);
  double expected = 0;
  for (const auto& row : counts)
    for (const double count : row) expected += count;
  for (const char* name : {"torpor", "poisson", "gamma:2"}) {
    INFO(name);
    const auto all = arrivals(counts, *parseProcess(name), 5);
    REQUIRE(static_cast<double>(all.size()) == Approx(expected).epsilon(0.06));
    REQUIRE(std::is_sorted(all.begin(), all.end(), [](const Arrival& a, const Arrival& b) { return a.at < b.at; }));
    REQUIRE(sched::seconds(all.back().at.time_since_epoch()) == Approx(600).epsilon(0.05));
    const auto again = arrivals(counts, *parseProcess(name), 5);
    REQUIRE(std::equal(all.begin(), all.end(), again.begin(), again.end(),
                       [](const Arrival& a, const Arrival& b) { return a.at == b.at && a.function == b.function; }));
  }
  REQUIRE_FALSE(parseProcess("gamma:0").ok());
  REQUIRE_FALSE(parseProcess("uniform").ok());
}

TEST_CASE("released blocks are had again at no cost, larger ones for smaller, otherwise CUDA is asked") {
  using std::chrono::milliseconds;
  BlockPool pool(1600);
  REQUIRE(pool.allocate(1, 1600) == milliseconds(16));
  pool.release(1);
  REQUIRE(pool.allocate(2, 800) == milliseconds(0));  // blocks of 100 for blocks of 50
  REQUIRE(pool.allocatedBytes() == 1600);
  pool.release(2);
  REQUIRE(pool.allocate(3, 3200) == milliseconds(32));  // none is large enough: all are given back first
  pool.release(9);
}

TEST_CASE("pictures name what they draw, with text escaped") {
  const std::string lines = drawSvg(LineChart{"a < b", "x", "y", "", {{"one & two", {{0, 1}, {10, 2}}, true}, {"none", {}, false}}});
  REQUIRE(lines.find("a &lt; b") != std::string::npos);
  REQUIRE(lines.find("one &amp; two") != std::string::npos);
  REQUIRE(lines.find("stroke-dasharray") != std::string::npos);
  REQUIRE(lines.ends_with("</svg>\n"));
  const std::string bars = drawSvg(BarChart{"t", "y", "", {"g"}, {{"b", {3}}}});
  REQUIRE(bars.find("<title>b: 3</title>") != std::string::npos);
  REQUIRE(drawSvg(LineChart{}).ends_with("</svg>\n"));
}

}  // namespace rouse::sim
