#include "server/roused/function_report.h"

#include <nlohmann/json.hpp>

#include "server/roused/function_host.h"

namespace rouse::daemon {
namespace {

using nlohmann::ordered_json;

ordered_json requests(const FunctionHost& host, const std::string& name) {
  ordered_json json{{"waiting", host.gate().waiting(name)}, {"running", host.gate().running(name)}};
  const router::FunctionMetrics none;
  const router::FunctionMetrics* metrics = host.metrics().find(name);
  if (metrics == nullptr) metrics = &none;
  for (std::size_t i = 0; i < router::kOutcomes; ++i)
    json[std::string(router::name(static_cast<router::Outcome>(i)))] = metrics->requests[i];
  json["retries"] = metrics->retries;
  json["late"] = metrics->late;
  json["queue_seconds"] = metrics->queue.sum();
  json["run_seconds"] = metrics->run.sum();
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
