#include "bench/serve/arrivals.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <random>
#include <stdexcept>

namespace rouse::bench {
namespace {

std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> all(1);
  for (const char c : line) {
    if (c == ',') all.emplace_back();
    else if (c != '\r') all.back() += c;
  }
  return all;
}

// Of the line `where`, which is told with what is wrong.
double number(const std::string& text, const std::string& where, const char* what) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value) || value < 0)
    throw std::runtime_error(where + ": " + what + " is '" + text + "'");
  return value;
}

// Beyond, a trace is no load for one machine.
constexpr std::size_t kMostArrivals = 10'000'000;

}  // namespace

std::vector<Arrival> generate(const std::vector<Stream>& streams, double seconds, std::uint64_t seed) {
  std::vector<Arrival> all;
  for (std::uint32_t i = 0; i < streams.size(); ++i) {
    const Stream& stream = streams[i];
    if (stream.perSecond <= 0) continue;
    std::seed_seq mixed{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), i};
    std::mt19937_64 random(mixed);
    const double shape = 1 / (stream.variation * stream.variation);
    std::gamma_distribution<double> gap(shape, 1 / (shape * stream.perSecond));
    // Not from an arrival on: otherwise all functions' bursts would begin together.
    double at = gap(random) * std::uniform_real_distribution<double>(0, 1)(random);
    for (; at < seconds && all.size() < kMostArrivals; at += gap(random)) all.push_back({at, i});
  }
  std::ranges::sort(all);
  return all;
}

std::vector<Arrival> readTrace(std::istream& text, const std::string& name, std::uint32_t functions, double seconds, double speed, std::uint64_t seed) {
  std::vector<Arrival> all;
  std::map<std::string, std::uint32_t> known;
  const auto indexOf = [&](const std::string& name) { return known.try_emplace(name, static_cast<std::uint32_t>(known.size())).first->second % functions; };
  std::mt19937_64 random(seed);
  std::string line;
  std::size_t count = 0;
  bool minutes = false;
  const auto where = [&] { return name + ":" + std::to_string(count); };
  const auto broken = [&](const std::string& what) { throw std::runtime_error(where() + ": " + what); };
  for (; std::getline(text, line);) {
    ++count;
    if (line.empty() || line[0] == '#' || line == "\r") continue;
    if (count == 1 && line.starts_with("HashOwner,")) {
      minutes = true;
      continue;
    }
    const std::vector<std::string> cells = fields(line);
    if (minutes) {
      if (cells.size() < 5) broken("fewer than five fields");
      const std::uint32_t function = indexOf(cells[2]);
      for (std::size_t minute = 4; minute < cells.size(); ++minute) {
        const double begin = 60.0 * static_cast<double>(minute - 4) / speed;
        if (begin >= seconds) break;
        const double requests = number(cells[minute], where(), "a minute's count");
        if (requests > static_cast<double>(kMostArrivals - all.size())) broken("more than " + std::to_string(kMostArrivals) + " requests");
        for (double i = 0; i < requests; ++i) all.push_back({begin + std::uniform_real_distribution<double>(0, 60 / speed)(random), function});
      }
      continue;
    }
    if (cells.size() < 2) broken("no comma: lines are timestamp,function");
    if (count == 1 && cells[0] == "timestamp") continue;
    if (all.size() == kMostArrivals) broken("more than " + std::to_string(kMostArrivals) + " requests");
    all.push_back({number(cells[0], where(), "the timestamp") / speed, indexOf(cells[1])});
  }
  std::ranges::sort(all);
  if (!minutes && !all.empty())
    for (const double first = all.front().at; Arrival& arrival : all) arrival.at -= first;
  std::erase_if(all, [&](const Arrival& arrival) { return arrival.at >= seconds; });
  return all;
}

}  // namespace rouse::bench
