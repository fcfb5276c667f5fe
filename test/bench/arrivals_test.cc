#include "bench/serve/arrivals.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <sstream>

using namespace rouse::bench;

namespace {

std::vector<double> gaps(const std::vector<Arrival>& all, std::uint32_t function) {
  std::vector<double> found;
  double last = -1;
  for (const Arrival& arrival : all) {
    if (arrival.function != function) continue;
    if (last >= 0) found.push_back(arrival.at - last);
    last = arrival.at;
  }
  return found;
}
double mean(const std::vector<double>& all) {
  double sum = 0;
  for (const double one : all) sum += one;
  return sum / static_cast<double>(all.size());
}
double variation(const std::vector<double>& all) {
  const double middle = mean(all);
  double sum = 0;
  for (const double one : all) sum += (one - middle) * (one - middle);
  return std::sqrt(sum / static_cast<double>(all.size())) / middle;
}
std::vector<Arrival> read(const std::string& text, double seconds = 1000, double speed = 1, std::uint32_t functions = 10) {
  std::istringstream in(text);
  return readTrace(in, "a.csv", functions, seconds, speed, 1);
}

}  // namespace

TEST_CASE("generated arrivals have the rate and the variation asked for") {
  const auto all = generate({{5, 1}, {2, 3}, {10, 0.2}, {0, 1}}, 4000, 7);
  CHECK(std::ranges::is_sorted(all));
  CHECK(mean(gaps(all, 0)) == Approx(0.2).epsilon(0.03));
  CHECK(variation(gaps(all, 0)) == Approx(1).epsilon(0.05));
  CHECK(mean(gaps(all, 1)) == Approx(0.5).epsilon(0.12));
  CHECK(variation(gaps(all, 1)) == Approx(3).epsilon(0.12));
  CHECK(variation(gaps(all, 2)) == Approx(0.2).epsilon(0.05));
  CHECK(gaps(all, 3).empty());
  CHECK(all.back().at < 4000);
  CHECK(all.front().at >= 0);
}

TEST_CASE("a function's arrivals depend on the seed and its number alone") {
  const auto one = generate({{5, 1}}, 100, 7), two = generate({{5, 1}, {3, 2}}, 100, 7);
  CHECK(gaps(one, 0) == gaps(two, 0));
  CHECK(gaps(one, 0) != gaps(generate({{5, 1}}, 100, 8), 0));
}

TEST_CASE("a trace of events begins with its first, in order of time") {
  const auto all = read("timestamp,function,extra\n105.5,b,1\n# a remark\n\n100,a\r\n101,b\n2000,a\n");
  CHECK(all == std::vector<Arrival>{{0, 1}, {1, 0}, {5.5, 0}});
  CHECK(read("10,a\n20,b\n", 1000, 10) == std::vector<Arrival>{{0, 0}, {1, 1}});
  CHECK(read("1,a\n2,b\n3,c\n", 1000, 1, 2) == std::vector<Arrival>{{0, 0}, {1, 1}, {2, 0}});
  CHECK(read("").empty());
}

TEST_CASE("minute counts are spread over their minutes") {
  const auto all = read("HashOwner,HashApp,HashFunction,Trigger,1,2,3\no,a,f,http,100,0,50\no,a,g,http,0,3,0\n", 150);
  CHECK(std::ranges::is_sorted(all));
  const auto in = [&](double from, double to, std::uint32_t function) {
    return std::ranges::count_if(all, [&](const Arrival& a) { return a.at >= from && a.at < to && a.function == function; });
  };
  CHECK(in(0, 60, 0) == 100);
  CHECK(in(60, 120, 0) == 0);
  CHECK(in(60, 120, 1) == 3);
  CHECK(in(120, 150, 0) > 10);  // about half: the rest is behind the end
  CHECK(in(120, 150, 0) < 40);
}

TEST_CASE("what is no trace is told by line") {
  CHECK_THROWS_WITH(read("1,a\nhello\n"), Catch::StartsWith("a.csv:2: ") && Catch::Contains("no comma"));
  CHECK_THROWS_WITH(read("1,a\n2,b\nx,c\n"), Catch::StartsWith("a.csv:3: ") && Catch::Contains("'x'"));
  CHECK_THROWS_WITH(read("-1,a\n"), Catch::StartsWith("a.csv:1: "));
  CHECK_THROWS_WITH(read("nan,a\n"), Catch::StartsWith("a.csv:1: "));
  CHECK_THROWS_WITH(read("HashOwner,x\no,a,f,http,five\n"), Catch::StartsWith("a.csv:2: ") && Catch::Contains("'five'"));
  CHECK_THROWS_WITH(read("HashOwner,x\no,a,f,http,99999999\n"), Catch::Contains("more than"));
}
