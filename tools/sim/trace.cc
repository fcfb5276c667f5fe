#include "tools/sim/trace.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <numbers>
#include <optional>

namespace rouse::sim {
namespace {

constexpr double kMinute = 60;
constexpr std::size_t kMostRows = 1'000'000, kMostArrivals = 200'000'000;

Error wrong(const std::filesystem::path& file, std::size_t line, const std::string& what) {
  return {CudaError::invalidValue, file.string() + ":" + std::to_string(line) + ": " + what};
}

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

std::optional<double> toNumber(std::string_view text) {
  while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

sched::Time at(double seconds) { return sched::Time(sched::fromSeconds(seconds)); }

}  // namespace

std::uint64_t Random::bits() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

double Random::exponential(double mean) { return -mean * std::log1p(-unit()); }

double Random::normal() {
  return std::sqrt(-2 * std::log1p(-unit())) * std::cos(2 * std::numbers::pi * unit());  // Box and Muller
}

double Random::gamma(double shape, double scale) {
  if (shape < 1) return gamma(shape + 1, scale) * std::pow(1 - unit(), 1 / shape);
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal(), v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log1p(-unit()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v * scale;
  }
}

std::uint64_t Random::poisson(double mean) {
  if (mean > 500) return static_cast<std::uint64_t>(std::max(0.0, std::round(mean + std::sqrt(mean) * normal())));
  std::uint64_t count = 0;
  for (double product = 1 - unit(), limit = std::exp(-mean); product > limit; product *= 1 - unit()) ++count;
  return count;
}

Result<Counts> readMinuteCounts(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) return Error{CudaError::invalidValue, path.string() + ": cannot be read"};
  Counts counts;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    const auto fields = split(line);
    if (number == 1 && fields[0] == "HashOwner") continue;
    if (fields.size() < 5) return wrong(path, number, "HashOwner,HashApp,HashFunction,Trigger and at least one count are needed");
    if (counts.size() == kMostRows) return wrong(path, number, "more than " + std::to_string(kMostRows) + " functions");
    std::vector<double> row;
    for (std::size_t i = 4; i < fields.size(); ++i) {
      const auto value = toNumber(fields[i]);
      if (!value || *value < 0 || *value > 1e9) return wrong(path, number, "'" + std::string(fields[i]) + "' is no count of requests");
      row.push_back(*value);
    }
    if (!counts.empty() && counts[0].size() != row.size())
      return wrong(path, number, std::to_string(row.size()) + " counts, the first row has " + std::to_string(counts[0].size()));
    counts.push_back(std::move(row));
  }
  if (counts.empty()) return wrong(path, 1, "no functions");
  double sum = 0, last = 0;
  for (const auto& row : counts) {
    for (const double count : row) sum += count;
    last += row.back();
  }
  if (counts[0].size() > 1 && last < 0.1 * sum / static_cast<double>(counts[0].size()))
    for (auto& row : counts) row.pop_back();
  return counts;
}

Counts generateCounts(std::size_t functions, std::size_t minutes, std::uint64_t seed) {
  Random random(seed);
  Counts counts(functions);
  for (auto& row : counts) {
    const double mean = 5 + 10 * random.unit();
    for (std::size_t minute = 0; minute < minutes; ++minute) {
      const double tide = 1 + 0.2 * std::cos(2 * std::numbers::pi * static_cast<double>(minute) / 20);
      row.push_back(static_cast<double>(random.poisson(mean * tide)));
    }
  }
  return counts;
}

Counts drawRows(const Counts& rows, std::size_t functions, std::uint64_t seed) {
  Random random(seed ^ 0x726f7773);
  Counts counts;
  for (std::size_t i = 0; i < functions; ++i) counts.push_back(rows[random.below(rows.size())]);
  return counts;
}

Result<Process> parseProcess(std::string_view text) {
  if (text == "torpor") return Process{Process::Kind::torpor, 1};
  if (text == "poisson") return Process{Process::Kind::poisson, 1};
  if (text.starts_with("gamma:"))
    if (const auto cv = toNumber(text.substr(6)); cv && *cv >= 0.1 && *cv <= 20) return Process{Process::Kind::gamma, *cv};
  return Error{
      CudaError::invalidValue,
      "arrivals '" + std::string(text) + "': must be torpor, poisson, or gamma:CV with a coefficient of variation from 0.1 to 20"};
}

std::vector<Arrival> arrivals(const Counts& counts, const Process& process, std::uint64_t seed) {
  std::vector<Arrival> all;
  if (counts.empty()) return all;
  Random random(seed ^ 0x61727269);
  const std::size_t minutes = counts[0].size();
  if (process.kind == Process::Kind::gamma) {
    const double shape = 1 / (process.variation * process.variation);
    for (std::uint32_t f = 0; f < counts.size(); ++f) {
      // Gaps of a unit rate, stretched by the rate of the minute in which they lie.
      double wait = random.gamma(shape, 1 / shape) * random.unit();
      for (std::size_t minute = 0; minute < minutes; ++minute) {
        const double rate = counts[f][minute] / kMinute;
        double now = 0;
        while (rate > 0 && now + wait / rate < kMinute) {
          now += wait / rate;
          all.push_back({at(static_cast<double>(minute) * kMinute + now), f});
          wait = random.gamma(shape, 1 / shape);
        }
        wait -= (kMinute - now) * rate;
      }
    }
  } else if (process.kind == Process::Kind::poisson) {
    for (std::uint32_t f = 0; f < counts.size(); ++f)
      for (std::size_t minute = 0; minute < minutes; ++minute)
        for (std::uint64_t i = random.poisson(counts[f][minute]); i != 0; --i)
          all.push_back({at((static_cast<double>(minute) + random.unit()) * kMinute), f});
  } else {
    std::vector<double> upTo(counts.size());
    double now = 0;
    for (std::size_t minute = 0; minute < minutes; ++minute) {
      double sum = 0;
      for (std::size_t f = 0; f < counts.size(); ++f) upTo[f] = sum += counts[f][minute];
      if (sum < 1) {
        now += kMinute;
        continue;
      }
      for (auto left = static_cast<std::uint64_t>(sum); left != 0; --left) {
        now += static_cast<double>(random.poisson(kMinute * 1000 / sum)) * 1e-3;
        const auto whose = std::upper_bound(upTo.begin(), upTo.end(), random.unit() * sum) - upTo.begin();
        all.push_back({at(now), static_cast<std::uint32_t>(whose)});
      }
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Arrival& a, const Arrival& b) { return a.at < b.at; });
  return all;
}

Result<Events> readEvents(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) return Error{CudaError::invalidValue, path.string() + ": cannot be read"};
  Events events;
  std::map<std::string, std::uint32_t, std::less<>> names;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    const auto fields = split(line);
    const auto when = toNumber(fields[0]);
    if (!when && number == 1) continue;
    if (!when || *when < 0 || *when > 1e8) return wrong(path, number, "'" + std::string(fields[0]) + "' is no time in seconds");
    if (fields.size() < 2 || fields[1].empty()) return wrong(path, number, "timestamp,function is needed");
    if (events.arrivals.size() == kMostArrivals) return wrong(path, number, "more than " + std::to_string(kMostArrivals) + " requests");
    const auto [name, added] = names.try_emplace(std::string(fields[1]), static_cast<std::uint32_t>(names.size()));
    events.arrivals.push_back({at(*when), name->second});
  }
  if (events.arrivals.empty()) return wrong(path, 1, "no requests");
  std::stable_sort(events.arrivals.begin(), events.arrivals.end(), [](const Arrival& a, const Arrival& b) { return a.at < b.at; });
  events.functions = names.size();
  events.names.resize(names.size());
  for (const auto& [name, index] : names) events.names[index] = name;
  return events;
}

}  // namespace rouse::sim
