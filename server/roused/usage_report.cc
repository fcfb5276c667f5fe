#include "server/roused/usage_report.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "server/roused/function_host.h"
#include "server/roused/session_table.h"

namespace rouse::daemon {
namespace {

using nlohmann::ordered_json;

double gpuSeconds(const FunctionUsage& used) { return static_cast<double>(used.consumption.busyNs) * 1e-9; }

ordered_json describe(const FunctionUsage& used) {
  return {{"sessions", used.sessions},
          {"gpu_seconds", gpuSeconds(used)},
          {"gpu_byte_seconds", used.consumption.deviceByteSeconds},
          {"host_byte_seconds", used.consumption.homeByteSeconds},
          {"commands", used.commands},
          {"launches", used.launches},
          {"arrivals", used.arrivals},
          {"departures", used.departures},
          {"brought_bytes", used.broughtBytes},
          {"peer_bytes", used.peerBytes},
          {"saved_bytes", used.savedBytes}};
}

}  // namespace

ordered_json requestStages(const router::FunctionMetrics& metrics) {
  ordered_json json = ordered_json::object();
  for (std::size_t i = 0; i < router::kModelSources; ++i) {
    const router::StageSums& of = metrics.stages[i];
    json[std::string(router::name(static_cast<router::ModelSource>(i)))] = {
        {"requests", of.requests}, {"queue_seconds", of.sum.queue}, {"swap_seconds", of.sum.swap}, {"run_seconds", of.sum.run}};
  }
  return json;
}

void addOutcomes(ordered_json& to, const router::FunctionMetrics& metrics) {
  for (std::size_t i = 0; i < router::kOutcomes; ++i)
    to[std::string(router::name(static_cast<router::Outcome>(i)))] = metrics.requests[i];
  to["retries"] = metrics.retries;
  to["late"] = metrics.late;
}

std::map<std::string, FunctionUsage> usageByName(const SessionTable& sessions) {
  return sessions.usage().all([&](std::uint64_t id) {
    const auto found = sessions.sessions().find(id);
    return found == sessions.sessions().end() ? std::string() : found->second->who.name;
  });
}

ordered_json usageReport(const std::map<std::string, FunctionUsage>& usage, const FunctionHost* functions) {
  std::map<std::string, ordered_json> rows;
  for (const auto& [name, used] : usage) rows[name] = describe(used);
  if (functions != nullptr) {
    for (const auto& [name, function] : functions->supervisor().functions()) {
      ordered_json& row = rows.try_emplace(name, describe({})).first->second;
      const router::FunctionMetrics none, *metrics = functions->metrics().find(name);
      row["class"] = function->spec().strict ? "strict" : "best-effort";
      addOutcomes(row["requests"] = ordered_json::object(), metrics != nullptr ? *metrics : none);
      row["stages"] = requestStages(metrics != nullptr ? *metrics : none);
    }
  }
  ordered_json json = ordered_json::array();
  for (auto& [name, row] : rows) {
    json.push_back({{"name", name}});
    json.back().update(row);
  }
  return json;
}

std::string prometheusLabel(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n') text += "\\n";
    else text += c;
  }
  return text + "\"";
}

std::string usagePrometheus(const std::map<std::string, FunctionUsage>& usage) {
  std::string text;
  const auto family = [&](const char* name, const char* help, const auto& value) {
    text += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " counter\n";
    for (const auto& [function, used] : usage) {
      char number[32];
      std::snprintf(number, sizeof number, "%.12g", static_cast<double>(value(used)));
      text += std::string(name) + "{function=" + prometheusLabel(function) + "} " + number + "\n";
    }
  };
  family("rouse_function_gpu_seconds_total", "Time in which work of it was under way on a GPU.", gpuSeconds);
  family("rouse_function_gpu_byte_seconds_total", "Bytes of GPU memory that it held, times seconds.",
         [](const FunctionUsage& used) { return used.consumption.deviceByteSeconds; });
  family("rouse_function_host_byte_seconds_total", "Bytes of the host store that it held, times seconds.",
         [](const FunctionUsage& used) { return used.consumption.homeByteSeconds; });
  family("rouse_function_swapped_in_bytes_total", "Bytes that came to a GPU from the host store.",
         [](const FunctionUsage& used) { return used.broughtBytes; });
  family("rouse_function_peer_bytes_total", "Bytes that came to a GPU from another one.", [](const FunctionUsage& used) { return used.peerBytes; });
  family("rouse_function_swapped_out_bytes_total", "Bytes that were saved to the host store.",
         [](const FunctionUsage& used) { return used.savedBytes; });
  family("rouse_function_arrivals_total", "Times that its memory came to a GPU.", [](const FunctionUsage& used) { return used.arrivals; });
  family("rouse_function_departures_total", "Times that its memory left a GPU.", [](const FunctionUsage& used) { return used.departures; });
  family("rouse_function_launches_total", "Kernels that it launched.", [](const FunctionUsage& used) { return used.launches; });
  return text;
}

}  // namespace rouse::daemon
