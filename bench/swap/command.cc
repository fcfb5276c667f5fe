#include "bench/swap/command.h"

#include <signal.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/report.h"
#include "bench/swap/client.h"
#include "bench/swap/measure.h"
#include "bench/swap/networks.h"
#include "bench/swap/stage.h"
#include "bench/targets.h"
#include "memory/topology.h"

namespace rouse::bench {
namespace {

using nlohmann::json;

constexpr double kWrittenBytes = 4 << 20;  // activations, which an inference writes, are in one granule or two
constexpr unsigned kDefaultStride = 16;  // where the ladder's network is not among those measured

struct Request {
  SwapOptions swap;
  std::string chart, trace;
  bool asJson = false;
  double slack = 0;
};

json all(SwapOptions options, std::optional<SwapChart>* chart) {
  double load[3] = {0, 0, 0};
  getloadavg(load, 3);
  Figures figures({{"schema", 1},
                   {"benchmark", "swap"},
                   {"device", options.device},
                   {"environment", environment()},
                   {"load_average", load[0]},
                   {"scale", options.scale},
                   {"repetitions", options.repetitions},
                   {"group_bytes", options.groupBytes}});
  const auto step = [](const std::string& name) { std::fprintf(stderr, "measuring %s\n", name.c_str()); };

  std::string noLink;
  if (options.device != "cpu") {
    noLink = "links are modelled by the CPU device only";
  } else if (options.link.gbPerS == 0) {
    noLink = "no link was asked for (--link-gb-per-s)";
  } else if (!knowsTopology()) {
    noLink = "this roused has no --topology: copies of the CPU device are not slowed to a link";
  }
  if (!noLink.empty()) options.link.gbPerS = 0;
  figures.set("link_gb_per_s", options.link.gbPerS == 0 ? json() : json(options.link.gbPerS));
  figures.set("link_latency_us", options.link.gbPerS == 0 ? json() : json(options.link.latencyUs()));
  figures.set("nvlink_gb_per_s", options.link.gbPerS == 0 ? json() : json(options.nvlink()));

  Effort ladderEffort{.stride = options.stride == 0 ? kDefaultStride : options.stride};
  const bool charted = std::ranges::find(options.networks, "resnet152") != options.networks.end();
  double slowest = 0, slowestOutside = -INFINITY;
  std::uint64_t acquired = 0;
  std::string largest = options.networks.at(0);
  step("a function of one granule behind one of eight");
  const TinyBehind small = tinyBehind(options, "", 16 << 20, figures);
  const double smallUs = figures.add("evict_tiny_us_of_16_mib", small.arrivals);
  figures.add("evict_departure_us_of_16_mib", small.departures);
  for (const std::string& network : options.networks) {
    step(network);
    const bool draw = network == "resnet152" || !charted;
    const Effort effort = measureNetwork(options, network, figures, draw ? chart : nullptr);
    if (noLink.empty()) measurePeer(options, network, effort, figures);
    if (network == "resnet152") ladderEffort = effort;
    acquired += figures.report().at("path_allocations_" + network).get<std::uint64_t>();
    slowest = std::max(slowest, figures.report().at("evict_departure_us_" + network).get<double>());
    slowestOutside = std::max(slowestOutside, figures.report().at("evict_tiny_us_" + network).get<double>() - smallUs);
    if (bench::network(network).published > bench::network(largest).published) largest = network;
  }
  figures.set("path_allocations", acquired);
  const bool clean = std::ranges::all_of(options.networks, [&](const std::string& network) {
    return figures.report().at("evict_saved_bytes_" + network).get<double>() <= kWrittenBytes;
  });
  if (clean) {
    figures.set("evict_clean_us", slowest);
    figures.set("evict_outside_us", slowestOutside);
  } else {
    figures.notMeasured("evict_clean_us", "no eviction here is clean: this device cannot tell what was written, and all of it is (evict_saved_bytes)");
  }
  figures.note("host_ms", "with the eviction of a second function that has all of the memory; where no eviction is clean, it is written home too");
  figures.note("evict_clean_us",
               "of the slowest of these networks, clean, the median of what its executor measured from the moment in which it began to leave to "
               "that in which its memory was free for others");
  figures.note("evict_outside_us",
               "how much longer a function of one granule takes to arrive when the slowest of these networks, clean, has to leave for it than when "
               "one of eight granules has. As exact as two medians of evict_tiny_us are");
  figures.note("make_room_ms", "how much longer a new function waits for all of the memory when the network is in the way: with what was written "
                               "(evict_saved_bytes, activations) written back, and the chunks scrubbed for their new owner");
  figures.note("overlap_ratio", "a group is taken as group_bytes, which this executor does not report");
  step("the ladder");
  measureLadder(options, ladderEffort, figures);
  if (noLink.empty()) {
    figures.set("link_ratio", figures.report().at("link_ratio_" + largest));
    figures.note("link_ratio", "of " + largest + ", the largest of these networks");
    figures.set("peer_link_ratio", figures.report().at("peer_link_ratio_" + largest));
    figures.note("peer_link_ratio", "of " + largest + ", over the NVLink of nvlink_gb_per_s");
    figures.note("peer_ms", "right after the network has been taken to the other GPU (rouse migrate), which is not timed: its homes are copied before");
    step("two GPUs behind a switch");
    measureSharedSwitch(options, figures);
  } else {
    for (const char* key : {"link_ratio", "shared_switch_slowdown", "peer_ms", "peer_link_ratio"}) figures.notMeasured(key, noLink);
  }
  step("eight instances");
  measureInstances(options, figures);
  step("allocation");
  measureAllocation(figures);
  return figures.report();
}

void print(const json& report) {
  for (const auto& [key, value] : report.items()) {
    if (!value.is_number()) continue;
    std::printf("%-32s %.6g", key.c_str(), value.get<double>());
    if (const auto spread = report.at("spread").find(key); spread != report.at("spread").end()) {
      std::printf("   (%.6g to %.6g)", spread->at("least").get<double>(), spread->at("greatest").get<double>());
    }
    std::printf("\n");
  }
  for (const auto& [key, why] : report.at("not_measured").items())
    std::printf("%-32s not measured: %s\n", key.c_str(), why.get<std::string>().c_str());
}

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  if (!(file << text) || !file.flush()) throw std::runtime_error("cannot write " + path);
}

int measure(const Request& request) {
  ::signal(SIGPIPE, SIG_IGN);  // a client that has ended is noticed by what it does not answer
  std::optional<SwapChart> chart;
  const bool charted = !request.chart.empty() || !request.trace.empty();
  const json report = all(request.swap, charted ? &chart : nullptr);
  if (!request.chart.empty()) write(request.chart, drawSvg(chart.value()));
  if (!request.trace.empty()) write(request.trace, traceOf(chart.value()).dump() + "\n");
  if (request.asJson) {
    std::cout << report.dump(2) << '\n';
  } else {
    print(report);
  }
  if (report.at("wrong") != 0) return 1;
  if (request.slack == 0) return 0;
  const auto missed = missedTargets(swapTargets(request.swap.networks), report, request.slack);
  for (const auto& line : missed) std::fprintf(stderr, "missed: %s\n", line.c_str());
  return missed.empty() ? 0 : 4;
}

void addClient(CLI::App& app, int& status) {
  struct Work {
    std::string network;
    double scale = 1;
    int gpu = 0;
    std::uint64_t occupy = 0, hold = 0;
  };
  auto* client = app.add_subcommand("swap-client", "What `swap` runs inside the pool")->group("");
  auto work = std::make_shared<Work>();
  auto* network = client->add_option("--network", work->network)->check(CLI::IsMember(networkNames()));
  client->add_option("--scale", work->scale);
  client->add_option("--gpu", work->gpu);
  client->add_option("--occupy", work->occupy)->excludes(network);
  client->add_option("--hold", work->hold)->excludes(network);
  client->callback([work, &status] {
    status = work->hold != 0         ? hold(work->hold, work->gpu)
             : work->network.empty() ? occupy(work->occupy)
                                     : serveNetwork(work->network, work->scale, 1, work->gpu);
  });
}

}  // namespace

void addSwap(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("swap", "Models cold, resident and from host memory; the steps to there; allocation");
  auto request = std::make_shared<Request>();
  request->swap.networks = networkNames();
  command->add_flag("--json", request->asJson, "Print one JSON object");
  command->add_option("--device", request->swap.device, "Kind of device of the pool: cpu (default) or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  command->add_option("--networks", request->swap.networks, "Which, separated by commas (default: all eight)")
      ->delimiter(',')->check(CLI::IsMember(networkNames()));
  command->add_option("--scale", request->swap.scale, "Size of each tensor as a part of the network's own (default 1)")
      ->check(CLI::Range(0.001, 1.0));
  command->add_option("--repetitions", request->swap.repetitions, "Of each measurement (default 7)")->check(CLI::Range(1, 1000));
  command
      ->add_option("--stride", request->swap.stride,
                   "Of the words that an inference reads: execution takes less, the transfer the same. Default: such that both take about as long")
      ->check(CLI::IsMember({1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}));
  command->add_option("--link-gb-per-s", request->swap.link.gbPerS, "Rate of each GPU's modelled link, CPU device only (default 2; 0: none)")
      ->check(CLI::Range(0.0, 1000.0))->default_val(2.0);
  std::vector<std::string> kinds;
  for (const memory::LinkKind& kind : memory::linkKinds()) kinds.emplace_back(kind.name);
  command->add_option("--link-like", request->swap.link.like, "Whose fixed cost of a copy it has, as many times longer as it is slower (default pcie5x16)")
      ->check(CLI::IsMember(kinds));
  command
      ->add_option("--nvlink-gb-per-s", request->swap.nvlinkGbPerS,
                   "Rate of the modelled NVLink between two GPUs (default: 25/12 of the links', as between those of the Torpor paper's node)")
      ->check(CLI::Range(0.001, 1000.0));
  command->add_option("--group-bytes", request->swap.groupBytes, "What overlap_ratio takes for one group of a swap-in (default 4 MiB)")
      ->check(CLI::Range(1.0, 1e9));
  command->add_option("--chart", request->chart, "Draw one swap into this file, as SVG");
  command->add_option("--trace", request->trace, "Write the same swap into this file, as JSON for Perfetto or chrome://tracing");
  command
      ->add_option("--check", request->slack,
                   "Exit with 4 where a promised figure is missed by more than this factor (1: the promise itself), or not measured")
      ->check(CLI::Range(1.0, 100.0));
  command->add_flag("--spoiled", request->swap.spoiled)->group("");
  command->callback([request, &status] { status = measure(*request); });
  addClient(app, status);
}

}  // namespace rouse::bench
