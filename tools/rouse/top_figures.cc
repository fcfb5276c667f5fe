#include "tools/rouse/top_figures.h"

#include <algorithm>
#include <map>

namespace rouse::cli {
namespace {

using nlohmann::ordered_json;

double real(const ordered_json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_number() ? 0 : found->get<double>();
}
std::uint64_t whole(const ordered_json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_number_integer() || *found < 0 ? 0 : found->get<std::uint64_t>();
}
std::optional<double> perhaps(const ordered_json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_number() ? std::nullopt : std::optional(found->get<double>());
}
std::string text(const ordered_json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_string() ? "" : found->get<std::string>();
}
const ordered_json& list(const ordered_json& object, const char* key) {
  static const ordered_json kNone = ordered_json::array();
  const auto found = object.find(key);
  return found == object.end() || !found->is_array() ? kNone : *found;
}

// Counters of one session on one virtual device: they go with it from GPU to GPU.
struct Counters {
  double gpuSeconds = 0, in = 0, out = 0, peer = 0;
};
Counters counters(const ordered_json& gpu) {
  return {real(gpu, "gpu_seconds"), real(gpu, "brought_bytes"), real(gpu, "saved_bytes"), real(gpu, "peer_bytes")};
}

using Key = std::pair<std::uint64_t, std::size_t>;
std::map<Key, Counters> allCounters(const ordered_json& report) {
  std::map<Key, Counters> all;
  for (const auto& function : list(report, "functions")) {
    std::size_t device = 0;
    for (const auto& gpu : list(function, "gpus")) all[{whole(function, "session"), device++}] = counters(gpu);
  }
  return all;
}

std::string whereIs(const ordered_json& gpu) {
  if (text(gpu, "state") != "serving") return text(gpu, "state");
  const std::string place = text(gpu, "place"), name = "GPU " + std::to_string(whole(gpu, "index"));
  // What nobody has wanted yet is there still.
  if (place == "home") return whole(gpu, "resting_bytes") != 0 ? name + " resting" : "home (" + name + ")";
  return (place == "resident" || place.empty() ? name : name + " " + place) + (gpu.value("pinned", false) ? " pinned" : "");
}

void describe(TopFunction& to, const ordered_json& configured) {
  to.served = true;
  to.state = text(configured, "state");
  to.deadline = real(configured, "deadline_ms");
  to.percentile = real(configured, "percentile");
  const auto requests = configured.find("requests");
  if (requests == configured.end()) return;
  to.waiting = whole(*requests, "waiting");
  to.running = whole(*requests, "running");
  const auto lately = requests->find("lately");
  if (lately == requests->end()) return;
  to.perSecond = real(*lately, "per_second");
  to.p50 = perhaps(*lately, "ms_p50");
  to.p98 = perhaps(*lately, "ms_p98");
  to.requests = whole(*lately, "requests");
  to.inTime = whole(*lately, "in_time");
}

}  // namespace

TopFrame topFrame(const ordered_json& before, const ordered_json& now, double seconds) {
  TopFrame frame{.seconds = seconds, .uptime = 0, .functions = {}, .gpus = {}};
  if (const auto daemon = now.find("daemon"); daemon != now.end()) frame.uptime = whole(*daemon, "uptime_seconds");
  std::map<std::uint64_t, std::size_t> gpuAt;
  for (const auto& gpu : list(now, "gpus")) {
    gpuAt[whole(gpu, "index")] = frame.gpus.size();
    TopGpu one{.index = whole(gpu, "index"), .state = text(gpu, "state"), .name = text(gpu, "name"), .held = whole(gpu, "memory_held_bytes"),
               .total = whole(gpu, "memory_total_bytes"), .link = {}};
    if (const auto link = gpu.find("link"); link != gpu.end() && link->is_object())
      if (const auto to = link->find("to_device"); to != link->end() && to->is_object()) one.link = perhaps(*to, "rate_bytes");
    frame.gpus.push_back(std::move(one));
  }
  std::map<std::string, std::size_t> functionAt;
  const auto functionNamed = [&](const std::string& name) -> TopFunction& {
    const auto [found, fresh] = functionAt.try_emplace(name, frame.functions.size());
    if (fresh) frame.functions.push_back({.name = name, .state = "attached", .p50 = {}, .p98 = {}, .where = "-"});
    return frame.functions[found->second];
  };
  for (const auto& configured : list(now, "configured")) describe(functionNamed(text(configured, "name")), configured);

  const std::map<Key, Counters> earlier = allCounters(before);
  for (const auto& session : list(now, "functions")) {
    TopFunction& function = functionNamed(text(session, "name"));
    std::size_t device = 0;
    for (const auto& gpu : list(session, "gpus")) {
      const Key key{whole(session, "session"), device++};
      const auto known = earlier.find(key);
      const Counters was = known == earlier.end() ? Counters{} : known->second, is = counters(gpu);
      const double busy = std::max(0.0, is.gpuSeconds - was.gpuSeconds) / seconds;
      function.gpuShare += busy;
      function.memory += whole(gpu, "resident_bytes");
      const std::string where = whereIs(gpu);
      function.where = function.where == "-" ? where : function.where + ", " + where;
      const auto at = gpuAt.find(whole(gpu, "index"));
      if (at == gpuAt.end()) continue;
      TopGpu& on = frame.gpus[at->second];
      on.busy += busy;
      on.in += std::max(0.0, is.in - was.in) / seconds;
      on.out += std::max(0.0, is.out - was.out) / seconds;
      on.fromPeers += std::max(0.0, is.peer - was.peer) / seconds;
      on.functions += text(gpu, "place") != "home" && text(gpu, "state") == "serving";
    }
  }
  return frame;
}

void sortFunctions(std::vector<TopFunction>& functions, const std::string& key) {
  const auto value = [&](const TopFunction& f) -> double {
    if (key == "rate") return -f.perSecond;
    if (key == "p98") return -f.p98.value_or(-1);
    if (key == "met") return f.met() ? *f.met() - f.percentile : 1000;
    if (key == "queue") return -static_cast<double>(f.waiting);
    if (key == "gpu") return -f.gpuShare;
    return 0;
  };
  std::ranges::stable_sort(functions, [&](const TopFunction& a, const TopFunction& b) {
    const double x = value(a), y = value(b);
    return x != y ? x < y : a.name < b.name;
  });
}

ordered_json toJson(const TopFrame& frame) {
  const auto known = [](const std::optional<double>& value) { return value ? ordered_json(*value) : ordered_json(); };
  ordered_json json{{"schema", 1}, {"seconds", frame.seconds}, {"uptime_seconds", frame.uptime}, {"functions", ordered_json::array()}, {"gpus", ordered_json::array()}};
  for (const TopFunction& f : frame.functions) {
    ordered_json one{{"name", f.name}, {"state", f.state}, {"where", f.where}, {"gpu_share", f.gpuShare}, {"gpu_bytes", f.memory}};
    if (f.served) {
      one.update({{"requests_per_s", f.perSecond}, {"ms_p50", known(f.p50)}, {"ms_p98", known(f.p98)}, {"deadline_ms", f.deadline},
                  {"percentile", f.percentile}, {"window_requests", f.requests}, {"window_in_time", f.inTime}, {"complies", f.complies()},
                  {"waiting", f.waiting}, {"running", f.running}});
    }
    json["functions"].push_back(std::move(one));
  }
  for (const TopGpu& g : frame.gpus) {
    json["gpus"].push_back({{"gpu", g.index}, {"state", g.state}, {"memory_held_bytes", g.held}, {"memory_total_bytes", g.total},
                            {"in_bytes_per_s", g.in}, {"out_bytes_per_s", g.out}, {"peer_bytes_per_s", g.fromPeers},
                            {"link_bytes_per_s", known(g.link)}, {"busy", g.busy}, {"functions", g.functions}});
  }
  return json;
}

}  // namespace rouse::cli
