// What `rouse top` shows, from two of the daemon's reports (server/roused/status_report.h) and the time between them. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace rouse::cli {

struct TopFunction {
  std::string name, state;      // of functions.d; else what a process called itself, and "attached"
  bool served = false;          // by the router: what follows up to `running` means something
  double perSecond = 0;         // requests, lately
  std::optional<double> p50, p98;  // ms, of the window
  double deadline = 0;          // ms
  double percentile = 0;        // of its requests that are to be in time
  std::uint64_t requests = 0, inTime = 0;  // in the window
  std::uint64_t waiting = 0, running = 0;
  std::string where;            // "GPU 0", "GPU 1 arriving", "GPU 0 resting" (until others need the room), "home (GPU 1)", "-"
  double gpuShare = 0;          // of one GPU's time, since the last report
  std::uint64_t memory = 0;     // bytes on GPUs

  std::optional<double> met() const {  // percent of the window's requests that were in time
    return requests == 0 ? std::nullopt : std::optional(100.0 * static_cast<double>(inTime) / static_cast<double>(requests));
  }
  bool complies() const { return !met() || *met() >= percentile; }
};

struct TopGpu {
  std::uint64_t index = 0;
  std::string state, name;
  std::uint64_t held = 0, total = 0;      // bytes of memory
  double in = 0, out = 0, fromPeers = 0;  // bytes a second, since the last report
  std::optional<double> link;             // bytes a second that can come over it
  double busy = 0;                        // share of time in which work was under way; at most one for each function that is at work
  std::uint64_t functions = 0;            // whose memory is there, or comes
};

struct TopFrame {
  double seconds = 0;  // between the reports
  std::uint64_t uptime = 0;
  std::vector<TopFunction> functions;
  std::vector<TopGpu> gpus;
};

// `seconds`: above 0. What the first report does not have counts from nothing.
TopFrame topFrame(const nlohmann::ordered_json& before, const nlohmann::ordered_json& now, double seconds);

// By name, rate, p98, met (who misses most first), queue or gpu; equal ones by name.
void sortFunctions(std::vector<TopFunction>&, const std::string& key);

// One object, schema 1.
nlohmann::ordered_json toJson(const TopFrame&);

}  // namespace rouse::cli
