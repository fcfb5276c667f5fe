#include "server/roused/function_report.h"

#include <nlohmann/json.hpp>

#include "server/roused/function_host.h"
#include "server/roused/usage_report.h"

namespace rouse::daemon {
namespace {

using nlohmann::ordered_json;

ordered_json requests(const FunctionHost& host, const std::string& name) {
  ordered_json json{{"waiting", host.gate().waiting(name)}, {"running", host.gate().running(name)}};
  const router::FunctionMetrics none;
  const router::FunctionMetrics* metrics = host.metrics().find(name);
  if (metrics == nullptr) metrics = &none;
  addOutcomes(json, *metrics);
  json["queue_seconds"] = metrics->queue.sum();
  json["run_seconds"] = metrics->run.sum();
  json["stages"] = requestStages(*metrics);
  const router::Recent::Figures lately = metrics->recent.figures(std::chrono::steady_clock::now());
  const auto ms = [](const std::optional<router::Recent::Duration>& time) {
    return time ? ordered_json(std::chrono::duration<double, std::milli>(*time).count()) : ordered_json();
  };
  json["lately"] = {{"seconds", lately.seconds},     {"requests", lately.requests},     {"answered", lately.answered},
                    {"in_time", lately.inTime},      {"per_second", lately.perSecond},  {"ms_p50", ms(lately.p50)},
                    {"ms_p98", ms(lately.p98)}};
  return json;
}

ordered_json function(const FunctionHost& host, const functions::Function& function) {
  const functions::FunctionSpec& spec = function.spec();
  ordered_json json{{"name", spec.name},
                    {"state", functions::name(function.state())},
                    {"wanted", function.wanted()},
                    {"pid", function.pid() > 0 ? ordered_json(function.pid()) : ordered_json()},
                    {"uid", function.target()->owner.value_or(0)},
                    {"socket", function.target()->socket},
                    {"starts", function.starts()},
                    {"gpu_losses", function.losses()},
                    {"class", spec.strict ? "strict" : "best-effort"},
                    {"deadline_ms", spec.deadline.count()},
                    {"percentile", spec.percentile},
                    {"concurrency", spec.concurrency},
                    {"queue_limit", spec.queueLimit},
                    {"not_applied", function.notApplied()},
                    {"requests", requests(host, spec.name)}};
  if (const auto since = function.runningSince())
    json["uptime_seconds"] =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - *since).count();
  if (!function.problem().empty()) json["problem"] = function.problem();
  return json;
}

}  // namespace

ordered_json configuredFunctions(const FunctionHost& host) {
  ordered_json list = ordered_json::array();
  const auto& broken = host.supervisor().broken();
  for (const auto& [name, one] : host.supervisor().functions()) {
    list.push_back(function(host, *one));
    if (const auto error = broken.find(name); error != broken.end()) list.back()["file_error"] = error->second;
  }
  for (const auto& [name, error] : broken) {
    if (!host.supervisor().functions().contains(name))
      list.push_back({{"name", name}, {"state", "broken"}, {"file_error", error}});
  }
  return list;
}

}  // namespace rouse::daemon
