#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "bench/report.h"
#include "bench/swap/measure.h"
#include "bench/swap/stage.h"
#include "bench/swap/trace.h"
#include "bench/swap/weights.h"

namespace rouse::bench {
namespace {

using nlohmann::json;

// An execution may take this part of what the transfer takes, if that can be chosen.
constexpr double kLeastPart = 0.8, kAimedPart = 0.95, kMostPart = 1.1;

// The effort with which an inference takes about as long as the transfer.
Effort chooseEffort(Client& client, Figures& figures, const std::string& network, double transferMs) {
  const auto partOf = [&](Effort effort) {
    double least = INFINITY;
    for (std::uint64_t run = 0; run < 3; ++run)
      least = std::min(least, figures.take(network, client.ask(askLine("infer", effort.stride + run, effort))));
    return least / transferMs;
  };
  Effort effort;
  double part = partOf(effort);
  if (part > kMostPart) {
    while (part > kMostPart && effort.stride < kMostStride) {
      effort.stride *= 2;
      part = partOf(effort);
    }
    return effort;
  }
  // Launches take their part whatever is computed: what comes closer from below never goes far beyond.
  for (int tries = 0; tries < 8 && (part < kLeastPart || part > kMostPart); ++tries) {
    const double uses = std::clamp(effort.uses * std::min(16.0, kAimedPart / part), 1.0, static_cast<double>(kMostUses));
    const auto next = static_cast<std::uint32_t>(uses) | 1;
    if (next == effort.uses) break;
    effort.uses = next;
    part = partOf(effort);
  }
  return effort;
}

}  // namespace

std::string askLine(const char* what, std::uint64_t request, Effort effort) {
  return std::string(what) + " " + std::to_string(request) + " " + std::to_string(effort.stride) + " " + std::to_string(effort.uses);
}

Effort measureNetwork(const SwapOptions& options, const std::string& network, Figures& figures, std::optional<SwapChart>* chart) {
  const Stage stage({.device = options.device, .link = options.link}, network, options.scale);
  std::uint64_t request = 0;
  Effort effort{.stride = std::max(1u, options.stride)};
  {
    // Once with each word of the network read: behind the first upload, and after a swap.
    Client client = stage.serve();
    if (options.spoiled) client.ask("spoil");
    figures.take(network, client.ask(askLine("infer", ++request, {})));
    stage.evict();
    const double transferMs = client.ask("touch").at("ms");
    figures.take(network, client.ask(askLine("infer", ++request, {})));
    if (options.stride == 0) effort = chooseEffort(client, figures, network, transferMs);
  }

  std::vector<double> cold, resident, host, transfer, named, evicting, taking, saved;
  std::optional<Client> client;
  for (int i = 0; i < std::min(options.repetitions, 5); ++i) {
    client.reset();
    stage.settle(0);
    json loaded;
    client.emplace(stage.serve(0, &loaded));
    cold.push_back(loaded.at("attach_ms").get<double>() + loaded.at("load_ms").get<double>() +
                   figures.take(network, client->ask(askLine("infer", ++request, effort))));
  }
  const std::uint64_t mapped = stage.usage().mappedOf.at(client->pid());
  {
    // A holder beside it; both were written home when they have left for the first time.
    Client holder = stage.holder();
    figures.take(network, client->ask(askLine("infer", ++request, effort)));
    stage.turnTo(holder);
    client->ask("touch");
    const std::uint64_t acquired = stage.usage().acquisitions;
    for (int i = 0; i < options.repetitions; ++i) {
      resident.push_back(figures.take(network, client->ask(askLine("infer", ++request, effort))));
      const std::uint64_t savedBefore = stage.usage().savedBytes;
      stage.turnTo(holder);
      saved.push_back(static_cast<double>(stage.usage().savedBytes - savedBefore));
      host.push_back(figures.take(network, client->ask(askLine("infer", ++request, effort))));
      named.push_back(client->ask("touch").at("ms"));
      stage.turnTo(holder);
      transfer.push_back(client->ask("touch").at("ms"));
    }
    figures.set("path_allocations_" + network, stage.usage().acquisitions - acquired);
    if (chart != nullptr && !*chart) {
      stage.turnTo(holder);
      const json answer = client->ask(askLine("infer", ++request, effort) + " trace");
      figures.take(network, answer);
      *chart = chartOf(scaled(bench::network(network), options.scale), answer);
    }
  }
  stage.settle(1);
  for (int i = 0; i < std::min(options.repetitions, 5); ++i) {
    client->ask("touch");
    evicting.push_back(stage.evict().at(0));
    taking.push_back(stage.evict().at(0));  // nobody is in the way
  }
  // The launches that name each tensor cost something of their own.
  const double naming = median(named);
  for (double& ms : transfer) ms = std::max(ms - naming, 1e-3);

  figures.add("cold_ms_" + network, cold);
  const double executionMs = figures.add("resident_ms_" + network, resident);
  const double hostMs = figures.add("host_ms_" + network, host);
  const double transferMs = figures.add("transfer_ms_" + network, transfer);
  const double bytes = static_cast<double>(stage.bytes());
  const double rate = bytes / transferMs * 1e-6;
  figures.set("transfer_gb_per_s_" + network, rate);
  figures.set("bytes_" + network, stage.bytes());
  figures.set("stride_" + network, effort.stride);
  figures.set("uses_" + network, effort.uses);
  figures.set("overlap_ratio_" + network,
              hostMs / (std::max(transferMs, executionMs) + transferMs * std::min(1.0, options.groupBytes / bytes)));
  figures.set("evict_saved_bytes_" + network, median(saved));
  figures.set("make_room_ms_" + network, median(evicting) - median(taking));
  if (options.link.gbPerS > 0) figures.set("link_ratio_" + network, rate / options.link.gbPerS);

  const TinyBehind behind = tinyBehind(options, network, mapped, figures);
  figures.add("evict_tiny_us_" + network, behind.arrivals);
  figures.add("evict_departure_us_" + network, behind.departures);
  return effort;
}

TinyBehind tinyBehind(const SwapOptions& options, const std::string& network, std::uint64_t memoryBytes, Figures& figures) {
  constexpr std::uint64_t kGranule = std::uint64_t{2} << 20;
  const Stage stage({.device = options.device, .memoryBytes = memoryBytes, .link = options.link},
                    network.empty() ? "resnet50" : network, options.scale);
  // In the way is the network, or whatever takes all memory.
  Client large = network.empty() ? stage.holder() : stage.serve();
  if (!network.empty()) figures.take(network, large.ask(askLine("infer", 1, {})));
  Client tiny = stage.hold(kGranule);
  TinyBehind behind;
  for (int i = -1; i < options.repetitions; ++i) {
    large.ask("touch");
    const double ms = tiny.ask("touch").at("ms");
    if (i < 0) continue;  // the large one was written home
    const Stage::Usage usage = stage.usage();
    if (usage.residentBytes != kGranule) throw std::runtime_error("who was in the way of one granule has not left");
    behind.arrivals.push_back(ms * 1e3);
    behind.departures.push_back(usage.departureUsOf.at(large.pid()));
  }
  return behind;
}

}  // namespace rouse::bench
