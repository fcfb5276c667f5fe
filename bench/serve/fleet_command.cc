#include "bench/serve/fleet_command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <vector>

#include "bench/serve/measure_fleet.h"
#include "bench/targets.h"

namespace rouse::bench {
namespace {

using nlohmann::json;

struct Printing {
  bool asJson = false;
  double slack = 0;
};

void addPrinting(CLI::App& command, Printing& printing) {
  command.add_flag("--json", printing.asJson, "Print one JSON object");
  command
      .add_option("--check", printing.slack, "Exit with 4 where a promised figure is missed by more than this factor (1: the promise itself)")
      ->check(CLI::Range(1.0, 100.0));
}

int show(const json& report, const Printing& printing, const std::vector<Target>& targets) {
  if (printing.asJson) {
    std::cout << report.dump(2) << "\n";
  } else {
    for (const auto& [key, value] : report.items())
      if (value.is_number()) std::printf("%-28s %.6g\n", key.c_str(), value.get<double>());
  }
  for (const char* key : {"wrong", "native_wrong", "pool_wrong"})
    if (report.value(key, 0) != 0) {
      std::cerr << "rouse-bench: wrong outputs\n";
      return 1;
    }
  int status = 0;
  if (printing.slack > 0)
    for (const std::string& line : missedTargets(targets, report, printing.slack)) {
      std::cerr << "missed: " << line << "\n";
      status = 4;
    }
  return status;
}

template <class Options>
CLI::App* add(CLI::App& serve, int& status, const char* name, const char* what, const std::shared_ptr<Options>& options, json (*measure)(const Options&),
              std::vector<Target> targets) {
  auto printing = std::make_shared<Printing>();
  CLI::App* command = serve.add_subcommand(name, what);
  addPrinting(*command, *printing);
  command->add_option("--seconds", options->seconds, "Of load, warm-up included")->check(CLI::Range(2.0, 3600.0));
  command->add_option("--seed", options->seed, "Of arrivals");
  command->callback([options, printing, measure, targets = std::move(targets), &status] { status = show(measure(*options), *printing, targets); });
  return command;
}

}  // namespace

void addServeFleet(CLI::App& serve, int& status) {
  serve.require_subcommand(0, 1);
  auto balance = std::make_shared<BalanceOptions>();
  CLI::App* command = add(serve, status, "balance", "Busy functions on two GPUs: how evenly these work", balance, measureBalance,
                          {{"gpu_balance", 0.9, true}, {"lost", 0, false}, {"doubled", 0, false}});
  command->add_option("--functions", balance->functions, "How many (default 40)")->check(CLI::Range(2, 400));
  command->add_option("--rate", balance->requestsPerS, "Requests a second to all of them (default 30)")->check(CLI::Range(0.1, 10000.0));

  auto native = std::make_shared<NativeOptions>();
  command = add(serve, status, "native", "One GPU: functions that it holds natively, and as many times more through the pool", native, measureNative,
                {{"functions_vs_native", 10, true}, {"throughput_vs_native", 9, true}, {"pool_lost", 0, false}, {"pool_doubled", 0, false}});
  command->add_option("--times", native->times, "As many functions as natively (default 12)")->check(CLI::Range(1.0, 100.0));
  command->add_option("--requests-a-minute", native->requestsAMinute, "To each function (default 10)")->check(CLI::Range(0.1, 10000.0));
  command->add_option("--gpu-mib", native->gpuMib, "Memory of the GPU (default 96)")->check(CLI::Range(32, 100000));
  command->add_option("--deadline-ms", native->deadlineMs, "Of each function, for 98% of its requests (default 500)")->check(CLI::Range(1.0, 60000.0));

  auto predict = std::make_shared<PredictOptions>();
  command = add(serve, status, "predict", "The same requests live and simulated by rouse-sim", predict, measurePrediction,
                {{"sim_live_ratio", 1.15, false}, {"sim_live_ratio", 0.85, true}, {"lost", 0, false}, {"doubled", 0, false}});
  command->add_option("--functions", predict->functions, "How many (default 20)")->check(CLI::Range(3, 400));
  command->add_option("--rate", predict->requestsPerS, "Requests a second to all of them (default 5)")->check(CLI::Range(0.1, 10000.0));
  command->add_option("--repetitions", predict->repetitions, "Runs, of which the median counts (default 3)")->check(CLI::Range(1, 100));
  command->add_option("--keep", predict->keep, "A folder in which node, models and events of each run are left, as rouse-sim reads them");
}

}  // namespace rouse::bench
