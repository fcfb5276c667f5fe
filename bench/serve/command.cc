#include "bench/serve/command.h"

#include <sched.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <numeric>
#include <string>

#include "bench/pool.h"
#include "bench/report.h"
#include "bench/serve/fleet_command.h"
#include "bench/serve/function.h"
#include "bench/serve/load.h"
#include "bench/serve/page.h"
#include "bench/targets.h"

namespace rouse::bench {
namespace {

using nlohmann::json;

constexpr double kDeadlineMs = 200;

struct Options {
  bool asJson = false;
  double rate = 2000, modelRate = 50, seconds = 6;
  int functions = 4, requests = 3000;
  double slack = 0;
  std::string device = "cpu";
  std::string report;  // HTML file; empty: none
  std::string arrivals = "poisson";
  double variation = 3, speed = 1;
};

std::string functionFile(const std::string& kind, int queue) {
  return "command = [\"" + binaryPath("rouse-bench").string() + "\", \"serve-function\", \"" + kind +
         "\"]\nconcurrency = 16\nqueue_limit = " + std::to_string(queue) +
         "\ndeadline = \"" + std::to_string(static_cast<int>(kDeadlineMs)) + "ms\"\nqueue_timeout = \"5s\"\n";
}

void awaitReady(const Place& router) {
  for (const double deadline = now() + 60; now() < deadline; usleep(20000)) {
    try {
      fetch(router, "/v2/health/ready");
      return;
    } catch (const std::exception&) {
    }
  }
  throw std::runtime_error("the functions are not ready after 60 s");
}

// The same requests to the function's own socket and through the router, in turns, so that both have the same minute.
json measureAdded(const Pool& pool, int requests) {
  const Place direct{pool.functionSocket("echo"), 0}, viaUnix{pool.routerSocket(), 0}, viaTcp{"", pool.routerPort()};
  std::vector<double> straight, throughUnix, throughTcp;
  constexpr int kTurns = 10;
  for (int turn = 0; turn < kTurns; ++turn) {
    const auto add = [&](std::vector<double>& to, const Place& place, const char* target) {
      const auto samples = closedLoop(place, target, requests / kTurns);
      to.insert(to.end(), samples.begin(), samples.end());
    };
    add(straight, direct, "/");
    add(throughUnix, viaUnix, "/fn/echo/");
    add(throughTcp, viaTcp, "/fn/echo/");
  }
  return {{"direct_us_p50", median(straight)},
          {"router_us_p50", median(throughTcp)},
          {"router_us_p99", percentile(throughTcp, 0.99)},
          {"router_added_us_p50", median(throughTcp) - median(straight)},
          {"router_unix_added_us_p50", median(throughUnix) - median(straight)}};
}

// On one of the cores that this process may use, with all that it starts.
class OneCore {
 public:
  OneCore() {
    CPU_ZERO(&before_);
    if (::sched_getaffinity(0, sizeof before_, &before_) != 0) throw std::runtime_error("sched_getaffinity failed");
    int first = 0;
    while (!CPU_ISSET(first, &before_)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    if (::sched_setaffinity(0, sizeof one, &one) != 0) throw std::runtime_error("sched_setaffinity failed");
  }
  ~OneCore() { ::sched_setaffinity(0, sizeof before_, &before_); }
  OneCore(const OneCore&) = delete;

 private:
  cpu_set_t before_;
};

// The router's own work: what is added where nobody has to be woken on another core, which costs as much as an idle core's way out of its rest
// (some 40 µs of a virtual one) and depends on where the kernel puts the three processes.
json measureWork(const Options& options) {
  const OneCore core;
  PoolOptions pool{.device = options.device};
  pool.functions["echo"] = functionFile("echo", 1000);
  const Pool running(pool);
  awaitReady({"", running.routerPort()});
  const json added = measureAdded(running, options.requests);
  return {{"router_work_us_p50", added.at("router_added_us_p50")}, {"router_unix_work_us_p50", added.at("router_unix_added_us_p50")}};
}

json describe(const std::map<std::string, FunctionLoad>& load, double elapsed, json& totals) {
  json functions = json::object();
  std::uint64_t answered = 0, lost = 0, doubled = 0, wrong = 0, refused = 0;
  for (const auto& [name, one] : load) {
    json statuses = json::object();
    for (const auto& [status, count] : one.refused) statuses[std::to_string(status)] = count, refused += count;
    functions[name] = {{"sent", one.sent}, {"answered", one.answered}, {"refused", statuses},
                       {"lost", one.lost}, {"doubled", one.doubled},   {"wrong", one.wrong}};
    if (!one.milliseconds.empty()) {
      for (const auto& [key, fraction] : {std::pair{"ms_p50", 0.5}, {"ms_p98", 0.98}, {"ms_p99", 0.99}})
        functions[name][key] = percentile(one.milliseconds, fraction);
    }
    answered += one.milliseconds.size();
    lost += one.lost;
    doubled += one.doubled;
    wrong += one.wrong;
  }
  totals = {{"requests_per_s", static_cast<double>(answered) / elapsed},
            {"lost", lost},
            {"doubled", doubled},
            {"wrong", wrong},
            {"refused", refused}};
  return functions;
}

LoadOptions loadOf(const Options& options, const Place& router, const std::vector<std::string>& functions, double rate) {
  LoadOptions load{.router = router, .functions = functions, .requestsPerSecond = rate, .seconds = options.seconds, .samples = !options.report.empty()};
  if (options.arrivals == "gamma") {
    load.arrivals = generate(std::vector(functions.size(), Stream{rate / static_cast<double>(functions.size()), options.variation}), options.seconds, 1);
  } else if (options.arrivals != "poisson") {
    std::ifstream trace(options.arrivals);
    if (!trace) throw std::runtime_error("cannot read the trace " + options.arrivals);
    load.arrivals = readTrace(trace, options.arrivals, static_cast<std::uint32_t>(functions.size()), options.seconds, options.speed, 1);
    if (load.arrivals.empty()) throw std::runtime_error("the trace " + options.arrivals + " has no requests");
  }
  return load;
}

std::vector<std::pair<std::string, std::string>> conditions(const Options& options) {
  const json machine = environment();
  return {{"arrivals", options.arrivals}, {"requests a second", std::to_string(options.rate)},
          {"to functions with a model", std::to_string(options.modelRate)}, {"processor", machine.at("cpu").get<std::string>()},
          {"cores", machine.at("cores").dump()}};
}

json measure(const Options& options) {
  json report{{"schema", 1}, {"benchmark", "serve"}, {"environment", environment()}};
  std::fprintf(stderr, "measuring the router's work on one core\n");
  report.update(measureWork(options));
  PoolOptions pool{.device = options.device};
  std::vector<std::string> echoes, models;
  pool.functions["echo"] = functionFile("echo", 1000);
  for (int i = 0; i < options.functions; ++i) {
    const std::string number = std::to_string(i);
    pool.functions[echoes.emplace_back("echo-" + number)] = functionFile("echo", 1000);
    pool.functions[models.emplace_back("model-" + number)] = functionFile("model", 200);
  }
  const Pool running(pool);
  const Place router{"", running.routerPort()};
  awaitReady(router);
  std::fprintf(stderr, "measuring the router's own cost\n");
  report.update(measureAdded(running, options.requests));
  std::fprintf(stderr, "measuring %d functions that echo, %g requests a second\n", options.functions, options.rate);
  double elapsed = 0;
  json totals, modelTotals;
  const auto load = openLoop(loadOf(options, router, echoes, options.rate), elapsed);
  report["functions"] = describe(load, elapsed, totals);
  // What was executed more than once, though it was answered once.
  std::uint64_t executed = 0, answered = 0;
  for (const auto& name : echoes) {
    executed += std::stoull(fetch({running.functionSocket(name), 0}, "/executed"));
    answered += load.contains(name) ? load.at(name).answered : 0;
  }
  totals["executed_again"] = executed > answered ? executed - answered : 0;
  report.update(totals);
  std::fprintf(stderr, "measuring %d functions with a model, %g requests a second\n", options.functions,
               options.modelRate);
  const auto modelLoad = openLoop(loadOf(options, router, models, options.modelRate), elapsed);
  report["models"] = describe(modelLoad, elapsed, modelTotals);
  for (const char* key : {"lost", "doubled", "wrong", "refused"})
    report[std::string("models_") + key] = modelTotals[key];
  if (!options.report.empty()) {
    Served served{.title = "rouse-bench serve", .seconds = options.seconds, .functions = {}, .conditions = conditions(options)};
    for (const auto* all : {&load, &modelLoad})
      for (const auto& [name, one] : *all) served.functions.push_back({name, kDeadlineMs, 98, one.samples});
    writeReport(served, options.report);
  }
  return report;
}

const std::vector<Target>& serveTargets(double rate) {
  // 2000 requests a second are what is sent: Poisson arrivals scatter about it.
  static const std::vector<Target> targets{{"router_added_us_p50", 150, false},
                                           {"requests_per_s", 0.95 * rate, true},
                                           {"lost", 0, false},
                                           {"doubled", 0, false},
                                           {"executed_again", 0, false},
                                           {"models_lost", 0, false},
                                           {"models_doubled", 0, false}};
  return targets;
}

}  // namespace

void addServe(CLI::App& app, int& status) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand(
      "serve", "Functions behind the router: what it adds, and open-loop load with every response checked");
  command->add_flag("--json", options->asJson, "Print one JSON object");
  command->add_option("--rate", options->rate, "Requests a second to the functions that echo")
      ->check(CLI::Range(1.0, 1e6));
  command->add_option("--model-rate", options->modelRate, "Requests a second to the functions with a model")
      ->check(CLI::Range(1.0, 1e6));
  command->add_option("--seconds", options->seconds, "Of load on each, one of warm-up included")
      ->check(CLI::Range(1.5, 3600.0));
  command->add_option("--functions", options->functions, "Functions of each kind")->check(CLI::Range(1, 100));
  command->add_option("--requests", options->requests, "One after the other, for the router's own cost")
      ->check(CLI::Range(10, 1000000));
  command->add_option("--arrivals", options->arrivals,
                      "poisson, gamma (bursts: --variation), or a trace: a CSV file of timestamp,function or of minute counts (--rate is not looked at then)");
  command->add_option("--variation", options->variation, "Coefficient of variation of the gaps of gamma arrivals (default 3)")->check(CLI::Range(0.05, 20.0));
  command->add_option("--speed", options->speed, "A trace is played so many times as fast as it was recorded")->check(CLI::Range(0.001, 1e6));
  command->add_option("--device", options->device, "Kind of device of the pool: cpu (default) or cuda")->check(CLI::IsMember({"cpu", "cuda"}));
  command->add_option("--report", options->report, "Write a report, one HTML file; its figures as JSON beside it");
  command
      ->add_option("--check", options->slack,
                   "Exit with 4 where a promised figure is missed by more than this factor (1: the promise itself)")
      ->check(CLI::Range(1.0, 100.0));
  command->callback([options, command, &status] {
    if (!command->get_subcommands().empty()) return;
    const json report = measure(*options);
    if (options->asJson) {
      std::cout << report.dump(2) << "\n";
    } else {
      for (const auto& [key, value] : report.items())
        if (value.is_number()) std::printf("%-28s %.6g\n", key.c_str(), value.get<double>());
    }
    if (report["wrong"] != 0 || report["models_wrong"] != 0) {
      std::cerr << "rouse-bench: wrong outputs\n";
      status = 1;
    } else if (options->slack > 0) {
      for (const std::string& line : missedTargets(serveTargets(options->rate), report, options->slack)) {
        std::cerr << "missed: " << line << "\n";
        status = 4;
      }
    }
  });
  addServeFleet(*command, status);
  auto kind = std::make_shared<std::string>();
  auto weights = std::make_shared<WeightsOptions>();
  auto* function = app.add_subcommand("serve-function", "")->group("");
  function->add_option("kind", *kind)->required()->check(CLI::IsMember({"echo", "model", "weights"}));
  function->add_option("--mib", weights->mib);
  function->add_option("--seed", weights->seed);
  function->add_option("--stride", weights->effort.stride);
  function->add_option("--uses", weights->effort.uses);
  function->callback([kind, weights, &status] { status = serveFunction(*kind, *weights); });
}

}  // namespace rouse::bench
