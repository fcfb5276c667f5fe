#include <algorithm>
#include <memory>
#include <stdexcept>

#include "bench/report.h"
#include "bench/swap/measure.h"
#include "bench/swap/placement.h"
#include "bench/swap/stage.h"

namespace rouse::bench {
namespace {

constexpr const char* kLadderNetwork = "resnet152";

struct Step {
  const char* key;
  const char* plan;  // null: by a program of its own
  const char* ask;   // what its client is asked for
  const char* note;
};
// The Torpor paper's Figure 7: Baseline, Pinned, Pipeline, Group. Its Pipeline moves one parameter at a time, which only a program can.
constexpr Step kLadder[] = {
    {"naive", nullptr, "naive",
     "a program that holds its tensors in pageable memory: for each request cudaMalloc and one cudaMemcpy a tensor, then the inference; alone on the "
     "GPU, and what it frees afterwards is not timed. Torpor's baseline copies through its pool"},
    {"pinned", "whole", "infer", nullptr},
    {"per_parameter", nullptr, "pipelined",
     "a program that holds its tensors in pinned memory and knows where they belong: for each request one cudaMemcpyAsync a tensor, an event a layer, "
     "and each layer behind its own; alone on the GPU"},
    {"pipelined", "granule", "infer", "a group for each granule of 2 MiB"},
    {"grouped", "grouped", "infer", nullptr},
};
const Step& step(const std::string& key) {
  return *std::ranges::find_if(kLadder, [&](const Step& each) { return each.key == key; });
}

std::string ladderKey(const Step& step) { return std::string("ladder_") + step.key + "_ms"; }

}  // namespace

void measureLadder(const SwapOptions& options, Effort effort, Figures& figures) {
  struct Rung {
    const Step* step;
    std::unique_ptr<Stage> stage;
    std::unique_ptr<Client> client, holder;
    std::vector<double> milliseconds;
  };
  std::vector<Rung> rungs;
  const bool selectable = std::any_of(std::begin(kLadder), std::end(kLadder), [](const Step& step) { return step.plan != nullptr && knowsPlan(step.plan); });
  for (const Step& step : kLadder) {
    if (step.note != nullptr) figures.note(ladderKey(step), step.note);
    if (step.plan == nullptr) {
      const StageOptions stage{.device = options.device, .plan = "", .link = options.link};
      rungs.push_back({&step, std::make_unique<Stage>(stage, kLadderNetwork, options.scale), nullptr, nullptr, {}});
      continue;
    }
    const bool only = !selectable && std::string(step.plan) == "grouped";
    if (only) {
      figures.note(ladderKey(step), "this roused has one plan, and cannot be told another");
    } else if (!knowsPlan(step.plan)) {
      figures.notMeasured(ladderKey(step), std::string("this roused has no --swap-plan ") + step.plan);
      continue;
    }
    StageOptions stage{.device = options.device, .plan = only ? "" : step.plan, .link = options.link};
    rungs.push_back({&step, std::make_unique<Stage>(stage, kLadderNetwork, options.scale), nullptr, nullptr, {}});
  }
  std::uint64_t request = 0;
  const auto once = [&](Rung& rung) {
    if (rung.holder != nullptr) rung.stage->turnTo(*rung.holder);
    return figures.take(rung.step->key, rung.client->ask(askLine(rung.step->ask, ++request, effort)));
  };
  for (Rung& rung : rungs) {
    rung.client = std::make_unique<Client>(rung.stage->serve());
    figures.take(rung.step->key, rung.client->ask("infer 1 1 1"));
    if (rung.step->plan != nullptr) {
      rung.holder = std::make_unique<Client>(rung.stage->holder());
      figures.take(rung.step->key, rung.client->ask("infer 2 1 1"));
    }
    once(rung);
  }
  for (int i = 0; i < options.repetitions; ++i)
    for (Rung& rung : rungs) rung.milliseconds.push_back(once(rung));
  for (const Rung& rung : rungs) figures.add(ladderKey(*rung.step), rung.milliseconds);

  const auto ratio = [&](const char* key, const Step& above, const Step& below) {
    const auto a = figures.report().value(ladderKey(above), nlohmann::json());
    const auto b = figures.report().value(ladderKey(below), nlohmann::json());
    if (a.is_number() && b.is_number()) {
      figures.set(key, a.get<double>() / b.get<double>());
    } else {
      figures.notMeasured(key, "a step of the ladder is not measured");
    }
  };
  for (const char* below : {"naive", "per_parameter", "pipelined"})
    ratio((std::string("ladder_grouped_by_") + below).c_str(), step("grouped"), step(below));
}

void measureSharedSwitch(const SwapOptions& options, Figures& figures) {
  const Stage stage({.device = options.device, .gpus = 2, .link = options.link}, "resnet50", options.scale);
  Client one = stage.serve(0), other = stage.serve(1);
  for (Client* client : {&one, &other}) figures.take("shared switch", client->ask("infer 1 1 1"));
  // Each GPU has its holder. One look at what is resident, for both.
  Client holder = stage.holder(0), otherHolder = stage.holder(1);
  const auto away = [&] {
    otherHolder.ask("touch");
    holder.ask("touch");
    if (stage.usage().residentBytes != 2 * stage.memoryBytes()) throw std::runtime_error("a network has not left its GPU");
  };
  std::vector<double> alone, together;
  for (int i = -1; i < options.repetitions; ++i) {
    away();
    const double single = one.ask("touch").at("ms");
    away();
    one.tell("touch");
    other.tell("touch");
    const double both = std::max(one.hear().at("ms").get<double>(), other.hear().at("ms").get<double>());
    if (i < 0) continue;  // the first time, the network is written home
    alone.push_back(single);
    together.push_back(both);
  }
  for (Client* client : {&one, &other}) figures.take("shared switch", client->ask("infer 2 1 1"));
  const double single = figures.add("switch_alone_ms", alone), both = figures.add("switch_both_ms", together);
  figures.set("shared_switch_slowdown", both / single);
}

void measureInstances(const SwapOptions& options, Figures& figures) {
  constexpr unsigned kInstances = 8;
  const Stage stage({.device = options.device, .instances = kInstances}, "resnet50", options.scale);
  std::vector<Client> clients;
  for (unsigned i = 0; i < kInstances; ++i) {
    clients.push_back(stage.serve());
    // Each with another input: activations are nobody else's.
    figures.take("instances", clients.back().ask("infer " + std::to_string(i + 1) + " 1 1"));
  }
  const auto uploaded = static_cast<double>(stage.usage().heldBytes);
  stage.evict();
  const auto home = static_cast<double>(stage.restingHostStoreBytes());
  // All of them are on the GPU at once then, each with the activations of its own request.
  for (unsigned i = 0; i < kInstances; ++i) figures.take("instances", clients[i].ask("infer " + std::to_string(i + 11) + " 1 1"));
  const Stage::Usage together = stage.usage();
  if (together.residentOf.size() < kInstances || together.residentBytes < kInstances * stage.bytes())
    throw std::runtime_error("instances: not all of them are on the GPU");
  const auto used = static_cast<double>(together.heldBytes);
  figures.note("instances_gpu_copies", "when each has been away once: nothing is known to be equal before. As they were uploaded: "
                                       "instances_gpu_copies_uploaded");
  figures.set("instances", kInstances);
  figures.set("instances_gpu_bytes", used);
  figures.set("instances_host_bytes", home);
  figures.set("instances_gpu_copies_uploaded", uploaded / static_cast<double>(stage.bytes()));
  figures.set("instances_gpu_copies", used / static_cast<double>(stage.bytes()));
  figures.set("instances_host_copies", home / static_cast<double>(stage.bytes()));
}

void measureAllocation(Figures& figures) {
  PlacementRun run;
  for (const bool naive : {false, true}) {
    run.firstFit = naive;
    if (naive) run.steps = 100'000;
    const PlacementFigures measured = measurePlacement(run);
    const std::string suffix = naive ? "_first_fit" : "";
    figures.set("fragmentation" + suffix, measured.fragmentationMax);
    figures.set("allocate_ns_p50" + suffix, measured.allocateNsP50);
    figures.set("allocate_ns_p99" + suffix, measured.allocateNsP99);
  }
}

}  // namespace rouse::bench
