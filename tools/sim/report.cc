#include "tools/sim/report.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <stdexcept>

namespace rouse::sim {

void describe(const Outcome& outcome, const Setup& setup, Json& report) {
  std::uint64_t requests = 0, inTime = 0, refused = 0;
  std::vector<float> latencies;
  for (const FunctionResult& f : outcome.functions) {
    requests += f.requests, inTime += f.inTime, refused += f.refused;
    latencies.insert(latencies.end(), f.latencies.begin(), f.latencies.end());
  }
  report["compliant"] = outcome.compliant(setup.models.percentile);
  report["requests"] = requests;
  report["in_time"] = inTime;
  report["refused"] = refused;
  report["latency_p50_ms"] = percentileOf(latencies, 0.50);
  report["latency_p98_ms"] = percentileOf(latencies, 0.98);
  report["latency_p99_ms"] = percentileOf(latencies, 0.99);
  report["host_swaps"] = outcome.hostSwaps;
  report["peer_swaps"] = outcome.peerSwaps;
  report["evictions"] = outcome.evictions;
  Json load = Json::array(), links = Json::object();
  for (const GpuResult& gpu : outcome.gpus) load.push_back(gpu.busySeconds / outcome.virtualSeconds);
  if (load.size() <= 16) report["gpu_load"] = load;
  double least = 1e300, most = 0;
  for (const GpuResult& gpu : outcome.gpus) least = std::min(least, gpu.busySeconds), most = std::max(most, gpu.busySeconds);
  if (most > 0) report["gpu_balance"] = least / most;
  for (const LinkResult& link : outcome.links)
    if (outcome.links.size() <= 32) links[link.name] = link.bytes / (link.capacity * outcome.virtualSeconds);
  if (!links.empty()) report["link_load"] = links;
  Json byModel = Json::object();
  for (std::size_t m = 0; m < setup.models.models.size(); ++m) {
    std::size_t functions = 0, compliant = 0;
    std::vector<float> own;
    for (std::size_t f = 0; f < outcome.functions.size(); ++f) {
      if (setup.modelOf[f] != m) continue;
      ++functions;
      compliant += outcome.functions[f].complies(setup.models.percentile);
      own.insert(own.end(), outcome.functions[f].latencies.begin(), outcome.functions[f].latencies.end());
    }
    if (functions != 0)
      byModel[setup.models.models[m].name] = {
          {"functions", functions}, {"compliant", compliant}, {"p98_ms", percentileOf(own, 0.98)}};
  }
  report["models"] = byModel;
  report["virtual_seconds"] = outcome.virtualSeconds;
  report["wall_seconds"] = outcome.wallSeconds;
  report["cpu_seconds"] = outcome.cpuSeconds;
  report["speedup"] = outcome.virtualSeconds / outcome.cpuSeconds;  // of one core; the clock on the wall counts others' work, too
  if (setup.measureSteps) {
    report["steps"] = outcome.steps;
    report["step_us_mean"] = outcome.stepMeanUs;
    report["step_us_p99"] = outcome.stepP99Us;
  }
}

void print(const Json& report, bool asJson) {
  if (asJson) {
    std::cout << report.dump(2) << '\n';
    return;
  }
  for (const auto& [key, value] : report.items()) {
    if (value.is_object()) {
      for (const auto& [inner, one] : value.items()) std::printf("%-32s %s\n", (key + " " + inner).c_str(), one.dump().c_str());
    } else if (value.is_number_float()) {
      std::printf("%-32s %.6g\n", key.c_str(), value.get<double>());
    } else {
      std::printf("%-32s %s\n", key.c_str(), value.is_string() ? value.get<std::string>().c_str() : value.dump().c_str());
    }
  }
}

void writeFile(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  if (!(file << text) || !file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace rouse::sim
