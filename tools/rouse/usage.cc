#include "tools/rouse/usage.h"

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "server/roused/byte_size.h"
#include "tools/rouse/daemon_client.h"
#include "tools/rouse/exit_codes.h"
#include "tools/rouse/status.h"
#include "tools/rouse/table.h"

namespace rouse::cli {
namespace {

using nlohmann::ordered_json;

std::string decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}
std::string number(const ordered_json& object, const char* key) { return std::to_string(object.value(key, std::uint64_t{0})); }
std::string bytes(const ordered_json& object, const char* key) { return daemon::formatByteSize(object.value(key, std::uint64_t{0})); }

void printResources(const ordered_json& used) {
  Table table({"NAME", "SESSIONS", "GPU S", "GPU GB S", "HOST GB S", "LAUNCHES", "ARRIVALS", "DEPARTURES", "FROM HOST", "FROM GPUS", "SAVED"});
  for (const auto& one : used) {
    table.add({one["name"], number(one, "sessions"), decimal(one.value("gpu_seconds", 0.0)), decimal(one.value("gpu_byte_seconds", 0.0) * 1e-9),
               decimal(one.value("host_byte_seconds", 0.0) * 1e-9), number(one, "launches"), number(one, "arrivals"), number(one, "departures"),
               bytes(one, "brought_bytes"), bytes(one, "peer_bytes"), bytes(one, "saved_bytes")});
  }
  table.print();
}

// By where their model was, as far as there were any.
void printRequests(const ordered_json& used) {
  Table table({"NAME", "CLASS", "MODEL", "REQUESTS", "QUEUE S", "SWAP S", "RUN S", "ANSWERED", "LATE", "FAILED", "REFUSED", "CANCELLED"});
  bool any = false;
  for (const auto& one : used) {
    if (!one.contains("requests")) continue;
    const ordered_json& requests = one["requests"];
    const auto sum = [&](std::initializer_list<const char*> outcomes) {
      std::uint64_t total = 0;
      for (const char* outcome : outcomes) total += requests.value(outcome, std::uint64_t{0});
      return std::to_string(total);
    };
    bool first = true;
    const auto add = [&](const std::string& source, const ordered_json& stage) {
      table.add({first ? one["name"].get<std::string>() : "", first ? one.value("class", "") : "", source, number(stage, "requests"),
                 decimal(stage.value("queue_seconds", 0.0)), decimal(stage.value("swap_seconds", 0.0)), decimal(stage.value("run_seconds", 0.0)),
                 first ? number(requests, "answered") : "", first ? number(requests, "late") : "",
                 first ? sum({"function_error", "failed", "timed_out", "invalid"}) : "", first ? number(requests, "refused") : "",
                 first ? number(requests, "cancelled") : ""});
      first = false;
      any = true;
    };
    const ordered_json stages = one.value("stages", ordered_json::object());
    for (const auto& [source, stage] : stages.items())
      if (stage.value("requests", std::uint64_t{0}) != 0) add(source, stage);
    if (first) add("-", ordered_json::object());
  }
  if (!any) return;
  std::cout << "\n";
  table.print();
}

}  // namespace

int usage(const UsageOptions& options) {
  auto report = askStatus(options.socket, false);
  if (!report) {
    std::cerr << "rouse: " << report.error().message << "\n";
    return kUnreachable;
  }
  const ordered_json used = report->value("usage", ordered_json::array());
  if (options.json) {
    std::cout << ordered_json{{"schema", (*report)["schema"]}, {"functions", used}}.dump(2) << "\n";
    return kOk;
  }
  printResources(used);
  printRequests(used);
  return kOk;
}

}  // namespace rouse::cli
