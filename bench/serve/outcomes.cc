#include "bench/serve/outcomes.h"

#include <algorithm>
#include <cmath>

namespace rouse::bench {
namespace {

// Nearest rank.
double percentileOf(const std::vector<double>& sorted, double fraction) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

void add(ServedFigures& figures, std::vector<double>& times, const ServedFunction& function) {
  for (const Sample& sample : function.samples) {
    ++figures.requests;
    figures.answered += sample.verdict == Sample::Verdict::right || sample.verdict == Sample::Verdict::wrong;
    figures.wrong += sample.verdict == Sample::Verdict::wrong;
    figures.refused += sample.verdict == Sample::Verdict::refused;
    figures.lost += sample.verdict == Sample::Verdict::lost;
    figures.inTime += function.inTime(sample);
    if (sample.verdict == Sample::Verdict::right || sample.verdict == Sample::Verdict::wrong) times.push_back(sample.ms);
  }
}

ServedFigures finish(ServedFigures figures, std::vector<double> times) {
  std::ranges::sort(times);
  figures.p50 = percentileOf(times, 0.5);
  figures.p90 = percentileOf(times, 0.9);
  figures.p98 = percentileOf(times, 0.98);
  figures.p99 = percentileOf(times, 0.99);
  return figures;
}

nlohmann::ordered_json describe(const ServedFigures& figures, double seconds) {
  return {{"requests", figures.requests}, {"answered", figures.answered}, {"in_time", figures.inTime}, {"wrong", figures.wrong},
          {"refused", figures.refused},   {"lost", figures.lost},         {"attainment", figures.attainment()},
          {"goodput_per_s", seconds > 0 ? static_cast<double>(figures.inTime) / seconds : 0},
          {"ms_p50", figures.p50},        {"ms_p90", figures.p90},        {"ms_p98", figures.p98},     {"ms_p99", figures.p99}};
}

}  // namespace

ServedFigures figuresOf(const ServedFunction& function) {
  ServedFigures figures;
  std::vector<double> times;
  add(figures, times, function);
  return finish(figures, std::move(times));
}

ServedFigures figuresOf(const Served& served) {
  ServedFigures figures;
  std::vector<double> times;
  for (const ServedFunction& function : served.functions) add(figures, times, function);
  return finish(figures, std::move(times));
}

nlohmann::ordered_json toJson(const Served& served) {
  nlohmann::ordered_json json{{"schema", 1}, {"title", served.title}, {"seconds", served.seconds}};
  json.update(describe(figuresOf(served), served.seconds));
  json["functions"] = nlohmann::ordered_json::object();
  std::size_t comply = 0;
  for (const ServedFunction& function : served.functions) {
    const ServedFigures figures = figuresOf(function);
    nlohmann::ordered_json& one = json["functions"][function.name] = describe(figures, served.seconds);
    one["deadline_ms"] = function.deadlineMs;
    one["percentile"] = function.percentile;
    one["complies"] = 100 * figures.attainment() >= function.percentile;
    comply += 100 * figures.attainment() >= function.percentile;
  }
  json["functions_complying"] = comply;
  json["conditions"] = nlohmann::ordered_json::object();
  for (const auto& [what, value] : served.conditions) json["conditions"][what] = value;
  return json;
}

}  // namespace rouse::bench
