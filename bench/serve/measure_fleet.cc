#include "bench/serve/measure_fleet.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>

#include "bench/report.h"
#include "bench/serve/simulated.h"

namespace rouse::bench {
namespace {

using nlohmann::json;

// Of all functions.
struct Sum {
  std::vector<double> milliseconds;
  std::uint64_t sent = 0, answered = 0, refused = 0, lost = 0, wrong = 0, doubled = 0;
  json refusals = json::object();
  unsigned complying = 0;  // functions: so many of their requests in time as were promised
};

constexpr double kPercentile = 0.98;

Sum sum(const std::map<std::string, FunctionLoad>& load, double deadlineMs) {
  Sum all;
  for (const auto& [name, one] : load) {
    all.milliseconds.insert(all.milliseconds.end(), one.milliseconds.begin(), one.milliseconds.end());
    all.sent += one.sent, all.answered += one.answered, all.lost += one.lost, all.wrong += one.wrong, all.doubled += one.doubled;
    std::uint64_t refused = 0;
    for (const auto& [status, count] : one.refused) {
      refused += count;
      all.refusals[std::to_string(status)] = all.refusals.value(std::to_string(status), std::uint64_t{0}) + count;
    }
    all.refused += refused;
    const auto inTime = std::ranges::count_if(one.milliseconds, [&](double ms) { return ms <= deadlineMs; });
    const auto asked = static_cast<double>(one.milliseconds.size() + refused + one.lost);
    all.complying += asked > 0 && static_cast<double>(inTime) >= kPercentile * asked;
  }
  return all;
}

json describe(const Sum& all, const std::string& prefix) {
  json report{{prefix + "sent", all.sent},       {prefix + "answered", all.answered}, {prefix + "refused", all.refused}, {prefix + "refused_by_status", all.refusals},
              {prefix + "lost", all.lost},       {prefix + "doubled", all.doubled},   {prefix + "wrong", all.wrong},     {prefix + "complying_functions", all.complying}};
  if (!all.milliseconds.empty())
    for (const auto& [key, part] : {std::pair{"p50_ms", 0.5}, {"p98_ms", 0.98}, {"p99_ms", 0.99}}) report[prefix + key] = percentile(all.milliseconds, part);
  return report;
}

json loadAverage() {
  double load[1] = {};
  return getloadavg(load, 1) == 1 ? json(load[0]) : json();
}

json head(const char* what) {
  return {{"schema", 1}, {"benchmark", std::string("serve ") + what}, {"environment", environment()}, {"load_average", loadAverage()}};
}

void needAll(const Fleet& fleet, double patience) {
  const auto ready = fleet.ready(patience);
  if (ready.size() != fleet.names().size())
    throw std::runtime_error(std::to_string(ready.size()) + " of " + std::to_string(fleet.names().size()) + " functions are ready after " +
                             std::to_string(static_cast<int>(patience)) + " s");
}

// Each once, one after the other: who has never been asked is unlike all others.
void askEach(const Fleet& fleet, const std::vector<std::string>& names) {
  for (const std::string& name : names) closedLoop(fleet.router(), "/fn/" + name + "/", 1);
}

double migrations(const Fleet& fleet) { return fleet.pool().status().value("migrations", 0.0); }

}  // namespace

json measureBalance(const BalanceOptions& options) {
  json report = head("balance");
  FleetOptions setup;
  setup.mib.assign(options.functions, 4);
  const unsigned all = options.functions * (4 + kBesideParametersMib);
  setup.gpuMib = (all * 6 / 10 + 1) / 2 * 2;
  setup.linkGbPerS = 1;
  setup.effort = {.stride = 4, .uses = 9};  // long enough to count, on cores that everybody shares
  const Fleet fleet(setup);
  needAll(fleet, setup.startSeconds);
  askEach(fleet, fleet.names());
  // As in the Torpor paper's Figure 9: rates between none and twice the mean.
  std::mt19937_64 random(options.seed);
  std::vector<double> rates;
  for (unsigned f = 0; f < options.functions; ++f)
    rates.push_back(std::max(0.02, std::generate_canonical<double, 32>(random) * 2) * options.requestsPerS / options.functions);
  const double before = migrations(fleet);
  std::fprintf(stderr, "measuring %u functions on two GPUs, %g requests a second\n", options.functions, options.requestsPerS);
  double elapsed = 0;
  const auto begun = fleet.gpuSeconds();
  const auto load = openLoop({.router = fleet.router(),
                              .functions = fleet.names(),
                              .seconds = options.seconds,
                              .warmUp = options.warmUp,
                              .arrivals = poisson(rates, options.seconds, options.seed)},
                             elapsed);
  auto busy = fleet.gpuSeconds();
  for (auto& [gpu, seconds] : busy) seconds -= begun.at(gpu);
  const double a = busy.at(0), b = busy.at(1);
  report.update(describe(sum(load, setup.deadlineMs), ""));
  report["functions"] = options.functions;
  report["gpu_seconds"] = {a, b};
  report["gpu_busy"] = (a + b) / 2 / options.seconds;
  report["gpu_balance"] = std::max(a, b) > 0 ? std::min(a, b) / std::max(a, b) : 0;
  report["migrations"] = migrations(fleet) - before;
  return report;
}

json measureNative(const NativeOptions& options) {
  json report = head("native");
  const auto serve = [&](bool swaps, unsigned functions, const std::string& prefix) -> unsigned {
    FleetOptions setup;
    setup.mib.assign(functions, options.mib);
    setup.gpus = 1, setup.gpuMib = options.gpuMib, setup.deadlineMs = options.deadlineMs, setup.swaps = swaps;
    const Fleet fleet(setup);
    // Natively some find no memory, and are started again and again.
    const auto ready = fleet.ready(swaps ? setup.startSeconds : 8);
    if (swaps && ready.size() != functions) throw std::runtime_error(std::to_string(ready.size()) + " of " + std::to_string(functions) + " functions are ready");
    if (ready.empty()) throw std::runtime_error("not one function is ready natively");
    askEach(fleet, ready);
    std::fprintf(stderr, "measuring %zu functions %s\n", ready.size(), swaps ? "through the pool" : "natively");
    const std::vector<double> rates(ready.size(), options.requestsAMinute / 60);
    double elapsed = 0;
    const Sum all = sum(openLoop({.router = fleet.router(),
                                  .functions = ready,
                                  .seconds = options.seconds,
                                  .warmUp = 1,
                                  .arrivals = poisson(rates, options.seconds, options.seed)},
                                 elapsed),
                        options.deadlineMs);
    report.update(describe(all, prefix));
    report[prefix + "functions"] = ready.size();
    const auto inTime = std::ranges::count_if(all.milliseconds, [&](double ms) { return ms <= options.deadlineMs; });
    report[prefix + "in_time"] = inTime;
    report[prefix + "in_time_per_s"] = static_cast<double>(inTime) / elapsed;
    const auto counted = static_cast<double>(all.milliseconds.size() + all.refused + all.lost);
    report[prefix + "in_time_part"] = counted > 0 ? static_cast<double>(inTime) / counted : 0;
    return static_cast<unsigned>(ready.size());
  };
  const unsigned possible = options.gpuMib / (options.mib + kBesideParametersMib);
  const unsigned native = serve(false, possible + 2, "native_");
  const auto many = static_cast<unsigned>(std::ceil(native * options.times));
  serve(true, many, "pool_");
  // The promise is of all requests together: in so short a time a function has a handful.
  report["functions_vs_native"] = report["pool_in_time_part"].get<double>() >= kPercentile ? static_cast<double>(many) / native : 0;
  report["throughput_vs_native"] = report["pool_in_time_per_s"].get<double>() / report["native_in_time_per_s"].get<double>();
  report["deadline_ms"] = options.deadlineMs;
  return report;
}

json measurePrediction(const PredictOptions& options) {
  json report = head("predict");
  FleetOptions setup;
  // Three sizes; transfers of a fifth to a tenth of a second, beside which what kernels and processors take is little.
  for (unsigned f = 0; f < options.functions; ++f) setup.mib.push_back(8 + 8 * (f % 3));
  setup.gpuMib = 96, setup.linkGbPerS = 0.1, setup.deadlineMs = 1000;
  const Fleet fleet(setup);
  needAll(fleet, setup.startSeconds);
  std::fprintf(stderr, "measuring what %u functions take alone\n", options.functions);
  const Calibration alone = calibrate(fleet, setup);
  std::vector<double> live, simulated, ratios;
  json runs = json::array();
  for (unsigned repetition = 0; repetition < options.repetitions; ++repetition) {
    const std::uint64_t seed = options.seed + repetition;
    std::vector<double> rates(options.functions, options.requestsPerS / options.functions);
    const auto schedule = poisson(rates, options.seconds, seed);
    std::fprintf(stderr, "serving %zu requests\n", schedule.size());
    double elapsed = 0;
    const Sum all = sum(openLoop({.router = fleet.router(),
                                  .functions = fleet.names(),
                                  .seconds = options.seconds,
                                  .warmUp = options.warmUp,
                                  .arrivals = schedule},
                                 elapsed),
                        setup.deadlineMs);
    json run = describe(all, "live_");
    const std::string keep = options.keep.empty() ? "" : options.keep + "/" + std::to_string(repetition);
    const json sim = simulateServed(fleet.names(), setup, alone, schedule, options.warmUp, keep);
    run["sim_p98_ms"] = sim.at("latency_p98_ms"), run["sim_p50_ms"] = sim.at("latency_p50_ms"), run["sim_refused"] = sim.at("refused");
    run["sim_host_swaps"] = sim.at("host_swaps");
    run["load_average"] = loadAverage();
    live.push_back(run.at("live_p98_ms"));
    simulated.push_back(run.at("sim_p98_ms"));
    ratios.push_back(simulated.back() / live.back());
    run["sim_live_ratio"] = ratios.back();
    runs.push_back(std::move(run));
  }
  report["functions"] = options.functions;
  report["alone"] = describe(alone);
  report["runs"] = runs;
  report["live_p98_ms"] = median(live);
  report["sim_p98_ms"] = median(simulated);
  report["sim_live_ratio"] = median(ratios);
  for (const char* key : {"wrong", "lost", "doubled"}) {
    std::uint64_t count = 0;
    for (const json& run : runs) count += run.at(std::string("live_") + key).get<std::uint64_t>();
    report[key] = count;
  }
  return report;
}

}  // namespace rouse::bench
