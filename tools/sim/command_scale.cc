#include "tools/sim/command_scale.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "tools/sim/options.h"
#include "tools/sim/report.h"
#include "tools/sim/targets.h"

namespace rouse::sim {
namespace {

struct Request {
  std::string node = "4xv100", policy = "rouse";
  std::size_t functions = 10'000, gpus = 100;
  WorkloadOptions workload;
  bool asJson = false, check = false;
};

Setup setupOf(const Request& request, const Workload& work) {
  Setup setup;
  setup.node = orThrow(findNode(request.node));
  setup.models = torporModels();
  const NamedPolicy policy = orThrow(findPolicy(request.policy));
  setup.policies = policy.names();
  setup.naiveBlocks = policy.naiveBlocks;
  setup.seed = request.workload.seed;
  setup.modelOf = work.modelOf;
  return setup;
}

int run(const Request& request) {
  const Workload many = orThrow(makeWorkload(request.workload, request.functions, torporModels()));
  Setup setup = setupOf(request, many);
  setup.copies = static_cast<unsigned>(std::max<std::size_t>(1, request.gpus / setup.node.topology.gpus()));
  const Outcome outcome = simulate(setup, many.arrivals);
  Json report{{"schema", 1}, {"simulation", "scale"}, {"policy", request.policy}, {"functions", request.functions},
              {"gpus", setup.copies * setup.node.topology.gpus()}};
  describe(outcome, setup, report);

  // A step's own time, on one node with 1,000 functions: with reads of the clock around each, which the speed above goes without.
  constexpr std::size_t kFunctions = 1000, kGpus = 8;
  const Workload thousand = orThrow(makeWorkload(request.workload, kFunctions, torporModels()));
  Setup node = setupOf(request, thousand);
  node.copies = static_cast<unsigned>(std::max<std::size_t>(1, kGpus / node.node.topology.gpus()));
  node.measureSteps = true;
  const Outcome steps = simulate(node, thousand.arrivals);
  report["step_functions"] = kFunctions;
  report["steps"] = steps.steps;
  report["step_us_mean"] = steps.stepMeanUs;
  report["step_us_p99"] = steps.stepP99Us;
  print(report, request.asJson);
  return request.check ? checkTargets(scaleTargets(), report) : 0;
}

}  // namespace

void addScale(CLI::App& app, int& status) {
  auto request = std::make_shared<Request>();
  request->workload.minutes = 5;
  auto* command = app.add_subcommand(
      "scale", "Many functions on many GPUs under one scheduler: speed, and the time of a step at 1,000 functions");
  command->add_option("--functions", request->functions, "How many (default 10000)")->check(CLI::Range(1, 100'000));
  command->add_option("--gpus", request->gpus, "How many, in whole nodes (default 100)")->check(CLI::Range(1, 1000));
  command->add_option("--node", request->node, "One of those that are known, or a file (default 4xv100)");
  command->add_option("--policy", request->policy, "As of `run`");
  addWorkloadOptions(*command, request->workload);
  command->add_flag("--json", request->asJson, "Print one JSON object");
  command->add_flag("--check", request->check, "Exit with 4 where a promised figure is missed");
  command->callback([request, &status] { status = run(*request); });
}

}  // namespace rouse::sim
