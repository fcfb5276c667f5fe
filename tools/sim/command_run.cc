#include "tools/sim/command_run.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/sim/bound.h"
#include "tools/sim/options.h"
#include "tools/sim/report.h"
#include "tools/sim/workload.h"

namespace rouse::sim {
namespace {

struct Request {
  std::string node = "4xv100", policy = "rouse";
  std::size_t functions = 0;  // 0: as many as the file of models has, or 160
  std::string models;
  double warmUp = 60;
  WorkloadOptions workload;
  bool asJson = false;
};

void run(Request request) {
  Setup setup;
  setup.node = orThrow(findNode(request.node));
  setup.models = request.models.empty() ? torporModels() : orThrow(readModels(request.models));
  if (request.functions == 0) request.functions = request.models.empty() ? 160 : setup.models.models.size();
  setup.warmUp = sched::fromSeconds(request.warmUp);
  const NamedPolicy policy = orThrow(findPolicy(request.policy));
  setup.policies = policy.names();
  setup.naiveBlocks = policy.naiveBlocks;
  setup.seed = request.workload.seed;
  setup.measureSteps = true;
  const Workload workload = orThrow(makeWorkload(request.workload, request.functions, setup.models));
  setup.modelOf = workload.modelOf;
  const Outcome outcome = simulate(setup, workload.arrivals);
  Json report{{"schema", 1},
              {"simulation", "run"},
              {"node", setup.node.name},
              {"policy", request.policy},
              {"functions", request.functions},
              {"trace", request.workload.trace.empty() ? "generated" : "file"},
              {"arrivals", request.workload.arrivals},
              {"seed", request.workload.seed}};
  describe(outcome, setup, report);
  if (!workload.counts.empty()) {
    const Need need = necessary(setup.node, setup.models, setup.modelOf, workload.counts);
    report["needed_gpu_time"] = need.gpu, report["needed_link_time"] = need.link;
  }
  print(report, request.asJson);
}

}  // namespace

void addRun(CLI::App& app, int& status) {
  auto request = std::make_shared<Request>();
  auto* command = app.add_subcommand("run", "One workload on one node under one policy");
  command->add_option("--node", request->node, "One of those that are known, or a file (default 4xv100)");
  command->add_option("--functions", request->functions, "How many, models in turn (default 160, or as many as --models has)")->check(CLI::Range(1, 100'000));
  command->add_option(
      "--policy", request->policy,
      "rouse (default), torpor, torpor_fifo, torpor_block, torpor_lru, torpor_random, or QUEUEING/PLACEMENT/EVICTION/ADMISSION");
  command->add_option("--models", request->models,
                      "A file of models as tools/sim/models.toml; functions of a file of events have the model of their name (default: the paper's eight)");
  command->add_option("--warm-up", request->warmUp, "Seconds at the beginning that are simulated and not counted (default 60)")->check(CLI::Range(0.0, 1e6));
  addWorkloadOptions(*command, request->workload);
  command->add_flag("--json", request->asJson, "Print one JSON object");
  command->callback([request, &status] {
    run(*request);
    status = 0;
  });
}

}  // namespace rouse::sim
