#include "tools/rouse/status.h"

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "server/roused/byte_size.h"
#include "tools/rouse/daemon_client.h"
#include "tools/rouse/exit_codes.h"
#include "tools/rouse/table.h"

namespace rouse::cli {
namespace {

using daemon::formatByteSize;
using nlohmann::ordered_json;

int unreachable(const Error& error) {
  std::cerr << "rouse: " << error.message << "\n";
  return kUnreachable;
}

std::string bytes(const ordered_json& object, const char* key) {
  return object.contains(key) ? formatByteSize(object[key].get<std::uint64_t>()) : "-";
}
std::string number(const ordered_json& object, const char* key) {
  return object.contains(key) ? std::to_string(object[key].get<std::uint64_t>()) : "-";
}

std::string duration(std::uint64_t seconds) {
  char text[32];
  if (seconds >= 86400) {
    std::snprintf(text, sizeof text, "%llud %lluh", static_cast<unsigned long long>(seconds / 86400),
                  static_cast<unsigned long long>(seconds / 3600 % 24));
  } else {
    std::snprintf(text, sizeof text, "%02llu:%02llu:%02llu", static_cast<unsigned long long>(seconds / 3600),
                  static_cast<unsigned long long>(seconds / 60 % 60), static_cast<unsigned long long>(seconds % 60));
  }
  return text;
}

// "gen 5 x16", "gen 1 x16 (gen 5 x16 at most)"
std::string pcie(const ordered_json& link) {
  const auto speed = [&](const char* generation, const char* width) {
    return link[generation].is_null() || link[width].is_null()
               ? std::string()
               : "gen " + link[generation].dump() + " x" + link[width].dump();
  };
  const std::string now = speed("pcie_generation", "pcie_width");
  const std::string most = speed("pcie_generation_at_most", "pcie_width_at_most");
  if (now.empty()) return "unknown";
  return now == most || most.empty() ? now : now + " (" + most + " at most)";
}

std::string rate(const ordered_json& direction) {
  if (direction.is_null()) return "unknown";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GB/s", direction["rate_bytes"].get<double>() / 1e9);
  return text;
}

std::string orUnknown(const ordered_json& value) {
  if (value.is_null()) return "unknown";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// What hangs where, and how fast: measured at start-up.
void printLinks(const ordered_json& report) {
  Table table({"GPU", "UUID", "PCI", "LINK", "TO GPU", "FROM GPU", "NUMA", "NVLINKS", "DRIVER"});
  for (const auto& gpu : report["gpus"]) {
    const ordered_json& link = gpu["link"];
    table.add({number(gpu, "index"), gpu["uuid"], gpu["pci"], pcie(link), rate(link["to_device"]),
               rate(link["to_host"]), orUnknown(link["numa_node"]), orUnknown(link["nvlinks"]),
               orUnknown(gpu["driver_version"])});
  }
  std::cout << "\n";
  table.print();
}

// Executors of isolated functions that serve, and those that are ready: "2, 1 ready".
std::string isolated(const ordered_json& gpu) {
  const std::size_t executors = gpu.value("executors", ordered_json::array()).size();
  return std::to_string(executors == 0 ? 0 : executors - 1) + ", " + std::to_string(gpu.value("spare_executors", 0)) + " ready";
}

void printGpus(const ordered_json& report) {
  Table table({"GPU", "STATE", "NAME", "MEMORY", "FREE", "FUNCTIONS", "LAUNCHES", "EXECUTOR", "ISOLATED"});
  for (const auto& gpu : report["gpus"]) {
    table.add({number(gpu, "index"), gpu["state"], gpu["name"], bytes(gpu, "memory_total_bytes"),
               bytes(gpu, "memory_free_bytes"), number(gpu, "sessions"), number(gpu, "launches"),
               std::to_string(gpu["executor_pid"].get<int>()), isolated(gpu)});
  }
  table.print();
  printLinks(report);
  for (const auto& gpu : report["gpus"]) {
    if (gpu["state"] == "serving" || !gpu.contains("problem")) continue;
    std::cout << gpu["problem"].get<std::string>() << "\n";
  }
}

// Of a program's device, as CUDA names it.
std::string errorName(const ordered_json& function) {
  const auto code = function["error"].get<std::uint32_t>();
  if (code == 0) return "-";
  const std::string_view known = name(static_cast<CudaError>(code));
  return known.empty() ? std::to_string(code) : std::string(known);
}

// "GPU 0 resident", "GPU 1 home", "GPU 0 resident tied", "GPU 0 resident pinned", "GPU 0 lost"; "?" when its executor does not say.
std::string where(const ordered_json& gpu) {
  std::string text = "GPU " + number(gpu, "index") + " ";
  if (gpu["state"] != "serving") return text + gpu["state"].get<std::string>();
  text += gpu.value("place", "?");
  if (gpu.contains("ties") && !gpu["ties"].is_null()) text += " tied";
  return gpu.value("pinned", false) ? text + " pinned" : text;
}

// Of all its GPUs; "-" if it has never left any. What would have to be saved now is not known before it leaves.
std::string lastSaved(const ordered_json& function) {
  std::uint64_t bytes = 0;
  bool known = false;
  for (const auto& gpu : function["gpus"]) {
    const auto saved = gpu.find("last_saved_bytes");
    if (saved == gpu.end() || saved->is_null()) continue;
    known = true;
    bytes += saved->get<std::uint64_t>();
  }
  return known ? formatByteSize(bytes) : "-";
}

void printFunctions(const ordered_json& report) {
  Table table({"SESSION", "NAME", "PID", "ISOLATION", "WHERE", "MAPPED", "RESIDENT", "SHARED", "HOME", "SHARED HOME",
               "LAST SAVED", "HOST", "COMMANDS", "LAUNCHES", "ERROR"});
  for (const auto& function : report["functions"]) {
    std::string places;
    for (const auto& gpu : function["gpus"]) places += (places.empty() ? "" : ", ") + where(gpu);
    table.add({number(function, "session"), function["name"], number(function, "pid"), function.value("isolation", "shared"), places,
               bytes(function, "mapped_bytes"), bytes(function, "resident_bytes"), bytes(function, "shared_bytes"), bytes(function, "home_bytes"),
               bytes(function, "home_shared_bytes"), lastSaved(function), bytes(function, "host_bytes"), number(function, "commands"),
               number(function, "launches"), errorName(function)});
  }
  table.print();
}

// What functions.d has, and how it goes.
void printConfigured(const ordered_json& report) {
  Table table({"FUNCTION", "STATE", "PID", "STARTS", "WAITING", "RUNNING", "ANSWERED", "FAILED", "REFUSED", "PROBLEM"});
  for (const auto& function : report["configured"]) {
    const ordered_json requests = function.value("requests", ordered_json::object());
    const auto sum = [&](std::initializer_list<const char*> outcomes) {
      std::uint64_t total = 0;
      for (const char* outcome : outcomes) total += requests.value(outcome, std::uint64_t{0});
      return std::to_string(total);
    };
    std::string problem = function.value("file_error", function.value("problem", "-"));
    if (problem == "-" && !function.value("not_applied", ordered_json::array()).empty())
      problem = "not applied: " + function["not_applied"][0].get<std::string>();
    table.add({function["name"], function["state"], function.value("pid", ordered_json()).is_null() ? "-" : number(function, "pid"),
               number(function, "starts"), number(requests, "waiting"), number(requests, "running"), sum({"answered"}),
               sum({"function_error", "failed", "timed_out"}), sum({"refused"}), problem});
  }
  std::cout << "\n";
  table.print();
}

void printUnsupported(const ordered_json& report) {
  const auto& calls = report["unsupported_calls"];
  if (calls.empty()) {
    std::cerr << "No program has called a name that is not supported.\n";
    return;
  }
  Table table({"CALLS", "NAME"});
  for (const auto& [name, count] : calls.items()) table.add({std::to_string(count.get<std::uint64_t>()), name});
  table.print();
}

}  // namespace

Result<ordered_json> askStatus(const std::string& socketFlag, bool unsupported) {
  const SocketChoice socket = chooseSocket(socketFlag);
  auto client = DaemonClient::connect(socket.path);
  if (!client) return std::move(client).error();
  auto reply = client->status(unsupported);
  if (!reply) return std::move(reply).error();
  ordered_json json = ordered_json::parse(reply->json, nullptr, false);
  if (json.is_discarded() || json.value("schema", 0) != 1) {
    return Error{CudaError::systemNotReady,
                 "the daemon at " + socket.path + " reports in a form this tool does not know"};
  }
  return json;
}

int status(const StatusOptions& options) {
  auto report = askStatus(options.socket, options.unsupported);
  if (!report) return unreachable(report.error());
  if (options.json) {
    std::cout << report->dump(2) << "\n";
    return kOk;
  }
  if (options.unsupported) {
    printUnsupported(*report);
    return kOk;
  }
  const ordered_json& daemon = (*report)["daemon"];
  std::cout << "roused " << daemon["version"].get<std::string>() << ", pid " << number(daemon, "pid") << ", up "
            << duration(daemon["uptime_seconds"].get<std::uint64_t>()) << ", device "
            << daemon["device_kind"].get<std::string>() << ", " << (*report)["functions"].size() << " functions, "
            << number(daemon, "module_contents") << " modules\n";
  if (daemon.contains("device_reason")) std::cout << daemon["device_reason"].get<std::string>() << "\n";
  std::cout << "\n";
  printGpus(*report);
  return kOk;
}

int ps(const PsOptions& options) {
  auto report = askStatus(options.socket, false);
  if (!report) return unreachable(report.error());
  if (options.json) {
    ordered_json shown{{"schema", (*report)["schema"]}, {"functions", (*report)["functions"]}};
    if (report->contains("configured")) shown["configured"] = (*report)["configured"];
    std::cout << shown.dump(2) << "\n";
  } else {
    printFunctions(*report);
    if (report->contains("configured") && !(*report)["configured"].empty()) printConfigured(*report);
  }
  return kOk;
}

}  // namespace rouse::cli
