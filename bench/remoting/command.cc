#include "bench/remoting/command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include "bench/remoting/attach.h"
#include "bench/remoting/client.h"
#include "bench/pool.h"
#include "bench/targets.h"
#include "bench/report.h"

namespace rouse::bench {
namespace {

using nlohmann::json;

// Each measurement runs in a process of its own under `rouse run`, against a pool started for it.
json measure(const std::string& device, bool discardLaunches, const std::string& what) {
  Pool pool({.discardLaunches = discardLaunches, .device = device});
  return pool.runClient(what);
}

json all(const std::string& device, bool progress) {
  json report{{"schema", 1}, {"benchmark", "remoting"}, {"device", device}, {"environment", environment()}};
  const auto step = [&](const char* name, auto&& body) {
    if (progress) std::fprintf(stderr, "measuring %s\n", name);
    report.update(body());
  };
  step("enqueue", [&] { return measure(device, false, "enqueue"); });
  step("launch rate, launches discarded", [&] { return measure(device, true, "launch-rate"); });
  step("round trips", [&] { return measure(device, false, "round-trips"); });
  step("copies", [&] { return measure(device, false, "copies"); });
  step("attach", [&] { return measureAttach(device); });
  step("idle daemon with 50 clients", [&] { return measureIdle(device); });
  return report;
}

void print(const json& report) {
  for (const auto& [key, value] : report.items()) {
    if (value.is_number()) std::printf("%-28s %.6g\n", key.c_str(), value.get<double>());
  }
}

}  // namespace

void addRemoting(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("remoting", "Launches, round trips, copies, attach time, idle cost");
  auto asJson = std::make_shared<bool>(false);
  command->add_flag("--json", *asJson, "Print one JSON object");
  auto device = std::make_shared<std::string>("cpu");
  command->add_option("--device", *device, "Kind of device of the pool: cpu (default) or cuda")->check(CLI::IsMember({"cpu", "cuda"}));
  auto slack = std::make_shared<double>(0);
  command->add_option("--check", *slack, "Exit with 4 where a promised figure is missed by more than this factor (1: the promise itself)")
      ->check(CLI::Range(1.0, 100.0));
  command->callback([asJson, device, slack, &status] {
    const json report = all(*device, true);
    if (*asJson) {
      std::cout << report.dump(2) << '\n';
    } else {
      print(report);
    }
    if (*slack == 0) return;
    const auto missed = missedTargets(remotingTargets(), report, *slack);
    for (const auto& line : missed) std::fprintf(stderr, "missed: %s\n", line.c_str());
    if (!missed.empty()) status = 4;
  });

  // What `remoting` runs inside the pool.
  auto* client = app.add_subcommand("remoting-client", "One measurement, run inside the pool")->group("");
  auto what = std::make_shared<std::string>();
  client->add_option("what", *what)->required()->check(CLI::IsMember(clientMeasurements()));
  client->callback([what, &status] { status = runMeasurement(*what); });
}

}  // namespace rouse::bench
