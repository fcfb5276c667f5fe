#include "tools/sim/figures.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "tools/sim/baselines.h"
#include "tools/sim/bound.h"
#include "tools/sim/chart.h"
#include "tools/sim/contention.h"

namespace rouse::sim {
namespace {

void say(const std::string& what) { std::fprintf(stderr, "simulating %s\n", what.c_str()); }

std::vector<float> allLatencies(const Outcome& outcome) {
  std::vector<float> all;
  for (const FunctionResult& f : outcome.functions) all.insert(all.end(), f.latencies.begin(), f.latencies.end());
  return all;
}

std::uint32_t indexOf(const Models& models, std::string_view name) {
  return static_cast<std::uint32_t>(models.find(name) - models.models.data());
}

// Of the requests answered within the workload's time.
double throughput(const Outcome& outcome, double counted) { return static_cast<double>(allLatencies(outcome).size()) / counted; }

}  // namespace

void Figures::draw(const std::string& name, const std::string& picture) const {
  if (svg) writeFile((*svg / (name + ".svg")).string(), picture);
}

Setup Figures::setup(const std::string& node, const std::string& policy) const {
  const NamedPolicy& named =
      *std::find_if(namedPolicies().begin(), namedPolicies().end(), [&](const NamedPolicy& one) { return one.name == policy; });
  Setup setup;
  setup.node = orThrow(findNode(node));
  setup.models = torporModels();
  setup.policies = named.names();
  setup.naiveBlocks = named.naiveBlocks;
  setup.seed = workload.seed;
  return setup;
}

void Figures::table3(Json& report) const {
  say("table 3");
  struct Cell {
    const char *model, *beside;
    double paper;
  };
  constexpr Cell kPaper[] = {
      {"DenseNet-169", nullptr, 27}, {"DenseNet-169", "ResNet-152", 27}, {"DenseNet-169", "Bert-qa", 27},
      {"ResNet-152", nullptr, 29},   {"ResNet-152", "DenseNet-169", 31}, {"ResNet-152", "Bert-qa", 43},
      {"Bert-qa", nullptr, 149},     {"Bert-qa", "DenseNet-169", 166},   {"Bert-qa", "ResNet-152", 240}};
  const Node node = orThrow(findNode("4xv100"));
  const Models& models = torporModels();
  Json rows = Json::array();
  for (const Cell& cell : kPaper) {
    const Model* beside = cell.beside == nullptr ? nullptr : models.find(cell.beside);
    rows.push_back({{"model", cell.model}, {"beside", cell.beside == nullptr ? Json() : Json(cell.beside)}, {"paper_ms", cell.paper},
                    {"simulated_ms", swapBeside(node, models, *models.find(cell.model), beside)}});
  }
  report["table3"] = {
      {"what", "a swap over PCIe while other models come to the neighbour, nothing of it fitted to this table"},
      {"note", "alone the paper's own Table 4 has 25 ms for ResNet-152 and 144 ms for Bert-qa; the simulator follows that one"},
      {"rows", rows}};
}

void Figures::figure8(Json& report) const {
  struct Point {
    double rate;
    std::size_t functions;  // of Torpor: the prototype's README for this figure
  };
  constexpr Point kPoints[] = {{80, 33}, {60, 40}, {40, 60}, {20, 120}, {10, 210}};
  constexpr std::size_t kNative = 19, kMinutes = 6;  // the same; 5 minutes and one to warm up
  const Process process = orThrow(parseProcess(workload.arrivals));
  const double counted = (kMinutes - 1) * 60;
  Json rows = Json::array();
  Series ratios{"Torpor / Native", {}, false}, ours{"Rouse / Native", {}, false}, native98{"Native", {}, false},
      torpor98{"Torpor", {}, false}, rouse98{"Rouse", {}, false};
  for (const Point& point : kPoints) {
    say("figure 8, " + std::to_string(static_cast<int>(point.rate)) + " requests a minute");
    const auto serve = [&](const std::string& policy, std::size_t functions) {
      Setup one = setup("1xv100", policy);
      one.modelOf.assign(functions, indexOf(one.models, "ResNet-152"));
      const auto asked = arrivals(Counts(functions, std::vector<double>(kMinutes, point.rate)), process, workload.seed);
      return functions == kNative ? simulateNative(one, asked, kNative) : simulate(one, asked);
    };
    const Outcome native = serve("torpor", kNative), torpor = serve("torpor", point.functions), rouse = serve("rouse", point.functions);
    const double base = throughput(native, counted);
    const double ratio = throughput(torpor, counted) / base;
    rows.push_back({{"requests_a_minute", point.rate},
                    {"functions", point.functions},
                    {"native_functions", kNative},
                    {"torpor_by_native", ratio},
                    {"rouse_by_native", throughput(rouse, counted) / base},
                    {"native_p98_ms", percentileOf(allLatencies(native), 0.98)},
                    {"torpor_p98_ms", percentileOf(allLatencies(torpor), 0.98)},
                    {"rouse_p98_ms", percentileOf(allLatencies(rouse), 0.98)}});
    ratios.points.insert(ratios.points.begin(), {point.rate, ratio});
    ours.points.insert(ours.points.begin(), {point.rate, throughput(rouse, counted) / base});
    native98.points.insert(native98.points.begin(), {point.rate, percentileOf(allLatencies(native), 0.98)});
    torpor98.points.insert(torpor98.points.begin(), {point.rate, percentileOf(allLatencies(torpor), 0.98)});
    rouse98.points.insert(rouse98.points.begin(), {point.rate, percentileOf(allLatencies(rouse), 0.98)});
  }
  report["figure8"] = {{"what", "ResNet-152 functions on one GPU: throughput by Native's, tail latency"},
                       {"paper", "more than 10 times Native's throughput at 10 requests a minute, tail latency below 50 ms"},
                       {"rows", rows}};
  draw("figure8-throughput", drawSvg(LineChart{"Figure 8: throughput of one GPU by Native's",
                                               "requests a minute of each function",
                                               "ratio",
                                               "paper: > 10 at 10 requests a minute",
                                               {ratios, ours}}));
  draw("figure8-latency", drawSvg(LineChart{"Figure 8: 98th percentile of latency",
                                            "requests a minute of each function",
                                            "ms",
                                            "paper: Torpor below 50 ms",
                                            {native98, torpor98, rouse98}}));
}

void Figures::figure9(Json& report) const {
  say("figure 9");
  constexpr std::size_t kFunctions = 40, kMinutes = 6;
  Random random(workload.seed ^ 0x39);
  Counts counts;
  for (std::size_t f = 0; f < kFunctions; ++f) counts.emplace_back(kMinutes, 400 * random.unit());
  double all = 0;
  for (const auto& row : counts) all += row[0] / kFunctions;
  for (auto& row : counts)
    for (double& rate : row) rate *= 200 / all;  // section 7.2: 200 requests a minute on average
  const auto asked = arrivals(counts, orThrow(parseProcess(workload.arrivals)), workload.seed);
  Json section = {{"what", "40 busy ResNet-152 functions on four GPUs: load of each GPU by the largest, and its tail latency"},
                  {"paper", "Native: uneven load, tails of seconds; Torpor: even, about 35 ms on all GPUs"},
                  {"assumption", "rates uniformly distributed around 200 requests a minute; the paper gives the mean alone"}};
  BarChart loads{"Figure 9: load of each GPU by the largest", "", "", {"GPU 0", "GPU 1", "GPU 2", "GPU 3"}, {}}, tails = loads;
  tails.title = "Figure 9: 98th percentile of latency on each GPU", tails.y = "ms";
  for (const char* name : {"native", "torpor", "rouse"}) {
    Setup one = setup("4xv100", std::string(name) == "native" ? "torpor" : name);
    one.modelOf.assign(kFunctions, indexOf(one.models, "ResNet-152"));
    const Outcome outcome = std::string(name) == "native" ? simulateNative(one, asked, kFunctions) : simulate(one, asked);
    std::vector<double> load, tail;
    for (const GpuResult& gpu : outcome.gpus) load.push_back(gpu.busySeconds), tail.push_back(percentileOf(gpu.latencies, 0.98));
    const double most = *std::max_element(load.begin(), load.end());
    for (double& one : load) one /= most;
    report[std::string("gpu_balance_") + name] = *std::min_element(load.begin(), load.end());
    section[name] = {{"load", load}, {"least_load", *std::min_element(load.begin(), load.end())}, {"p98_ms", tail}};
    loads.bars.push_back({name, load}), tails.bars.push_back({name, tail});
  }
  report["figure9"] = section;
  draw("figure9-load", drawSvg(loads)), draw("figure9-latency", drawSvg(tails));
}

void Figures::figure10(Json& report) const {
  Json rows = Json::array();
  Series native{"Native", {}, false}, keep{"INFless-KA", {}, false}, torpor{"Torpor", {}, false};
  for (const std::size_t count : {std::size_t{40}, std::size_t{80}, std::size_t{120}, std::size_t{160}}) {
    say("figure 10, " + std::to_string(count) + " functions");
    Setup one = setup("4xv100", "torpor");
    const Workload work = orThrow(makeWorkload(workload, count, one.models));
    one.modelOf = work.modelOf;
    const double n = static_cast<double>(count), p = one.models.percentile;
    const Outcome a = simulateNative(one, work.arrivals, one.node.nativeFunctions), b = simulateKeepAlive(one, work.arrivals),
                  c = simulate(one, work.arrivals);
    rows.push_back({{"functions", count},
                    {"native_compliant", a.compliant(p)},
                    {"keep_alive_compliant", b.compliant(p)},
                    {"torpor_compliant", c.compliant(p)}});
    native.points.push_back({n, static_cast<double>(a.compliant(p)) / n}),
        keep.points.push_back({n, static_cast<double>(b.compliant(p)) / n});
    torpor.points.push_back({n, static_cast<double>(c.compliant(p)) / n});
    if (count != 160) continue;
    report["executed_native_160"] = executed(a), report["compliant_native_160"] = a.compliant(p);
    report["executed_keep_alive_160"] = executed(b), report["compliant_keep_alive_160"] = b.compliant(p);
    draw("figure10-functions",
         drawSvg(BarChart{"Figure 10: of 160 functions",
                          "functions",
                          "paper: 72 and 72, 112 and 7, 160 and 160",
                          {"Native", "INFless-KA", "Torpor"},
                          {{"executed", {double(executed(a)), double(executed(b)), double(executed(c))}},
                           {"compliant", {double(a.compliant(p)), double(b.compliant(p)), double(c.compliant(p))}}}}));
  }
  report["figure10"] = {
      {"what", "functions that comply; 160: executed and compliant"},
      {"paper",
       "160 functions: Native executes 72, which comply; INFless-KA executes 112, 7 comply; Torpor executes 160, which comply"},
      {"note",
       "keep-alive here ends a function after the 99th percentile of its own gaps, looks every 2 s and starts as many at one time "
       "as there are places; "
       "the paper's testbed starts them by four threads of docker, so that fewer of its functions are ever executed"},
      {"rows", rows}};
  draw("figure10", drawSvg(LineChart{"Figure 10: functions that comply", "functions", "part", "", {native, keep, torpor}}));
}

void Figures::figure11(Json& report) const {
  Json rows = Json::array();
  std::vector<Series> series;
  for (const NamedPolicy& policy : namedPolicies()) series.push_back({policy.name, {}, false});
  std::size_t possible = 0;
  bool neverWorse = true;
  for (const std::size_t count : counts) {
    say("figure 11, " + std::to_string(count) + " functions");
    Json row{{"functions", count}};
    std::size_t i = 0, rouse = 0;
    for (const NamedPolicy& policy : namedPolicies()) {
      Setup one = setup("4xv100", policy.name);
      const Workload work = orThrow(makeWorkload(workload, count, one.models));
      one.modelOf = work.modelOf;
      if (i == 0 && !work.counts.empty()) {
        const Need need = necessary(one.node, one.models, one.modelOf, work.counts);
        row["needed_gpu_time"] = need.gpu, row["needed_link_time"] = need.link;
      }
      const std::size_t compliant = simulate(one, work.arrivals).compliant(one.models.percentile);
      report["compliant_" + policy.name + "_" + std::to_string(count)] = compliant;
      row[policy.name] = compliant;
      if (i == 0) rouse = compliant;
      neverWorse = neverWorse && rouse >= compliant;
      series[i++].points.push_back({static_cast<double>(count), static_cast<double>(compliant) / static_cast<double>(count)});
    }
    rows.push_back(row);
    if (count == 560) {
      const auto complying = [&](const char* policy) { return row.at(policy).get<std::size_t>(); };
      const std::size_t full = complying("torpor"), random = complying("torpor_random");
      report["variants_worse_560"] = full > complying("torpor_fifo") && full > complying("torpor_block") &&
                                     full > complying("torpor_lru") && complying("torpor_lru") >= random &&
                                     complying("torpor_block") > random && complying("torpor_fifo") > random;
    }
  }
  // How far any policy could go.
  const Setup one = setup("4xv100", "rouse");
  for (std::size_t count = 160; count <= 2000; count += 20) {
    const Workload work = orThrow(makeWorkload(workload, count, one.models));
    if (work.counts.empty() || !necessary(one.node, one.models, work.modelOf, work.counts).possible()) break;
    possible = count;
  }
  report["bound_functions"] = possible;
  report["rouse_never_worse"] = neverWorse;
  report["figure11"] = {
      {"what", "functions that comply, by policy"},
      {"paper",
       "Torpor: all of 480 (section 1), over 80% of 560; each variant without one of its parts is worse, Torpor-Random worst"},
      {"bound",
       "bound_functions: more than that cannot all comply, whatever the policy, by GPU and link time alone (in steps of 20)"},
      {"rows", rows}};
  draw("figure11", drawSvg(LineChart{"Figure 11: functions that comply", "functions", "part",
                                     "bound by GPU and link time: " + std::to_string(possible) + " functions", series}));
}

void Figures::figure12(Json& report) const {
  say("figure 12");
  // Bert-qa has 60% of the memory; the paper does not say of how much. One and a half times what there is (assumption).
  constexpr double kOvercommit = 1.5, kBertPart = 0.6;
  const Setup base = setup("4xv100", "torpor");
  const double memory = kOvercommit * static_cast<double>(base.node.functionMemory) * static_cast<double>(base.node.topology.gpus());
  const std::uint32_t bert = indexOf(base.models, "Bert-qa"), dense = indexOf(base.models, "DenseNet-201");
  const auto berts = static_cast<std::size_t>(kBertPart * memory / static_cast<double>(base.models.models[bert].memoryBytes));
  const auto denses = static_cast<std::size_t>((1 - kBertPart) * memory / static_cast<double>(base.models.models[dense].memoryBytes));
  Workload work = orThrow(makeWorkload(workload, berts + denses, base.models));
  // Mixed evenly, as functions come and go.
  for (std::size_t f = 0; f < berts + denses; ++f)
    work.modelOf[f] = (f + 1) * berts / (berts + denses) != f * berts / (berts + denses) ? bert : dense;
  Json section = {{"what", "DenseNet-201 (light) and Bert-qa (heavy), which has 60% of the memory: 90th and 98th percentiles, ms"},
                  {"paper", "with LRU Bert-qa's tail misses its 200 ms; with Torpor both models meet their deadlines"},
                  {"assumption", "together one and a half times the GPUs' memory"},
                  {"bert_functions", berts},
                  {"densenet_functions", denses}};
  BarChart chart{"Figure 12: tail latencies", "ms", "deadlines: 80 ms and 200 ms", {"DenseNet-201 p90", "p98", "Bert-qa p90", "p98"}, {}};
  for (const char* name : {"torpor_lru", "torpor", "rouse"}) {
    Setup one = setup("4xv100", name);
    one.modelOf = work.modelOf;
    const Outcome outcome = simulate(one, work.arrivals);
    std::vector<float> byModel[2];
    for (std::size_t f = 0; f < outcome.functions.size(); ++f) {
      auto& to = byModel[one.modelOf[f] == bert];
      to.insert(to.end(), outcome.functions[f].latencies.begin(), outcome.functions[f].latencies.end());
    }
    const double values[] = {percentileOf(byModel[0], 0.9), percentileOf(byModel[0], 0.98), percentileOf(byModel[1], 0.9),
                             percentileOf(byModel[1], 0.98)};
    section[name] = {{"densenet_p90", values[0]}, {"densenet_p98", values[1]}, {"bert_p90", values[2]}, {"bert_p98", values[3]}};
    chart.bars.push_back({name, {values, values + 4}});
  }
  report["figure12"] = section;
  draw("figure12", drawSvg(chart));
}

void Figures::figure13(Json& report) const {
  say("figure 13");
  Json section = {
      {"what", "time to get memory for a swap, by the time of the inference: percentiles over swaps, 560 functions"},
      {"paper", "Torpor: negligible; Torpor-Block: up to more than 4 times the inference"},
      {"assumption",
       "16 blocks a model, 1 ms for each cudaMalloc and cudaFree (tools/sim/block_pool.h); Torpor's own allocation takes no time"}};
  LineChart chart{"Figure 13: allocation by inference time", "allocation / inference", "part of the swaps", "", {}};
  for (const char* name : {"torpor_block", "torpor"}) {
    Setup one = setup("4xv100", name);
    const Workload work = orThrow(makeWorkload(workload, 560, one.models));
    one.modelOf = work.modelOf;
    const Outcome outcome = simulate(one, work.arrivals);
    section[name] = {{"p50", percentileOf(outcome.allocations, 0.5)},
                     {"p90", percentileOf(outcome.allocations, 0.9)},
                     {"p99", percentileOf(outcome.allocations, 0.99)},
                     {"greatest", percentileOf(outcome.allocations, 1)}};
    Series series{name, {}, false};
    for (int i = 1; i <= 50; ++i) series.points.push_back({percentileOf(outcome.allocations, i / 50.0), i / 50.0});
    chart.series.push_back(std::move(series));
  }
  report["figure13"] = section;
  draw("figure13", drawSvg(chart));
}

}  // namespace rouse::sim
