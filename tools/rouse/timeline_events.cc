#include "tools/rouse/timeline_events.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>

namespace rouse::cli {
namespace {

using nlohmann::ordered_json;

// Processes of a trace have numbers; those of GPUs begin with their index.
constexpr std::uint64_t kFirstFunction = 1'000'000;

class Trace {
 public:
  explicit Trace(double origin) : origin_(origin) {}

  void slice(std::uint64_t process, const char* category, std::uint64_t id, const std::string& name, double begin, double end, ordered_json args = {}) {
    event(process, category, id, name, "b", begin, std::move(args));
    event(process, category, id, name, "e", std::max(begin, end), {});
  }
  void instant(std::uint64_t process, const char* category, std::uint64_t id, const std::string& name, double at, ordered_json args) {
    event(process, category, id, name, "n", at, std::move(args));
  }
  std::uint64_t function(const std::string& name) {
    const auto [found, added] = functions_.try_emplace(name, kFirstFunction + functions_.size());
    if (added) named(found->second, name, found->second);
    return found->second;
  }
  std::uint64_t gpu(std::uint64_t index) {
    const auto [found, added] = gpus_.try_emplace(index, index + 1);
    if (added) named(found->second, "GPU " + std::to_string(index), index);
    return found->second;
  }
  ordered_json take() { return std::move(events_); }

 private:
  void named(std::uint64_t process, const std::string& name, std::uint64_t order) {
    events_.push_back({{"name", "process_name"}, {"ph", "M"}, {"pid", process}, {"args", {{"name", name}}}});
    events_.push_back({{"name", "process_sort_index"}, {"ph", "M"}, {"pid", process}, {"args", {{"sort_index", order}}}});
  }
  void event(std::uint64_t process, const char* category, std::uint64_t id, const std::string& name, const char* phase, double at, ordered_json args) {
    ordered_json event{{"name", name}, {"cat", category}, {"ph", phase}, {"id", id}, {"pid", process}, {"tid", process}, {"ts", at - origin_}};
    if (!args.empty()) event["args"] = std::move(args);
    events_.push_back(std::move(event));
  }

  const double origin_;
  std::map<std::string, std::uint64_t> functions_;
  std::map<std::uint64_t, std::uint64_t> gpus_;
  ordered_json events_ = ordered_json::array();
};

std::string textOf(const ordered_json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}
double numberOf(const ordered_json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : 0;
}
bool hasGpu(const ordered_json& step) {
  const auto found = step.find("gpu");
  return found != step.end() && found->is_number_unsigned() && found->get<std::uint64_t>() < kFirstFunction;
}

void addRequest(Trace& trace, const ordered_json& request) {
  const std::string function = textOf(request, "function");
  const std::uint64_t id = static_cast<std::uint64_t>(numberOf(request, "number"));
  const double arrived = numberOf(request, "arrived_us");
  const auto at = [&](const ordered_json& step) { return arrived + 1e3 * numberOf(step, "at_ms"); };
  static const ordered_json kNone = ordered_json::array();
  const auto found = request.find("steps");
  const ordered_json& steps = found != request.end() && found->is_array() ? *found : kNone;

  // Of one that is under way as much as is known.
  double ended = arrived + 1e3 * numberOf(request, "took_ms");
  for (const ordered_json& step : steps) ended = std::max(ended, at(step));
  ordered_json about = request;
  for (const char* key : {"steps", "number", "arrived_us"}) about.erase(key);
  const std::uint64_t own = trace.function(function);
  trace.slice(own, "request", id, textOf(request, "request"), arrived, ended, std::move(about));
  double runs = ended;
  if (request.contains("run_ms")) {
    double begin = arrived;
    for (const auto& [name, key] : {std::pair{"queue", "queue_ms"}, std::pair{"swap", "swap_ms"}, std::pair{"run", "run_ms"}}) {
      const double length = 1e3 * numberOf(request, key);
      if (std::string_view(name) == "run") runs = begin;
      if (length > 0) trace.slice(own, "request", id, name, begin, begin + length);
      begin += length;
    }
  }

  const ordered_json* ran = nullptr;   // the step that gave it a GPU, of its last try
  const ordered_json* comes = nullptr;  // the one since when its model is on its way
  for (const ordered_json& step : steps) {
    const std::string kind = textOf(step, "step");
    trace.instant(own, "request", id, kind, at(step), step);
    if (!hasGpu(step)) continue;
    const std::uint64_t gpu = trace.gpu(step["gpu"].get<std::uint64_t>());
    const std::string source = textOf(step, "source");
    if (kind == "run" || kind == "admitted") ran = &step;
    if ((kind == "run" || kind == "fetch") && (source == "host" || source == "peer")) comes = &step;
    if (kind == "arrived" && comes != nullptr) {
      trace.slice(gpu, "memory", id, function + " comes", at(*std::exchange(comes, nullptr)), at(step), step);
    } else if (kind == "evicted") {
      const std::string other = textOf(step, "function");
      trace.instant(gpu, "memory", id, (other.empty() ? "another function" : other) + " leaves", at(step), step);
    } else if (kind == "lost") {
      trace.instant(gpu, "memory", id, "its executor fails", at(step), step);
    }
  }
  if (ran != nullptr && request.contains("run_ms")) trace.slice(trace.gpu((*ran)["gpu"].get<std::uint64_t>()), "run", id, function, runs, ended, {{"request", textOf(request, "request")}});
}

}  // namespace

ordered_json timelineEvents(const std::vector<ordered_json>& requests) {
  double origin = std::numeric_limits<double>::infinity();
  for (const ordered_json& request : requests)
    if (request.contains("arrived_us")) origin = std::min(origin, numberOf(request, "arrived_us"));
  Trace trace(origin);
  for (const ordered_json& request : requests)
    if (request.contains("arrived_us")) addRequest(trace, request);
  return {{"traceEvents", trace.take()},
          {"displayTimeUnit", "ms"},
          {"otherData", {{"from", requests.empty() ? std::string() : textOf(requests.front(), "arrived")}, {"requests", requests.size()}}}};
}

}  // namespace rouse::cli
