// The simulator itself: conservation, determinism, times by the paper's tables.
#include "tools/sim/engine.h"

#include <catch2/catch.hpp>

#include "tools/sim/baselines.h"
#include "tools/sim/bound.h"
#include "tools/sim/contention.h"
#include "tools/sim/workload.h"

namespace rouse::sim {
namespace {

Setup setupOf(const std::string& policy, std::size_t functions, const std::string& node = "4xv100") {
  Setup setup;
  setup.node = *findNode(node);
  setup.models = torporModels();
  const auto named = *findPolicy(policy);
  static std::vector<NamedPolicy> kept;  // names are looked at, not copied
  kept.reserve(1000);
  kept.push_back(named);
  setup.policies = kept.back().names();
  setup.naiveBlocks = named.naiveBlocks;
  for (std::size_t f = 0; f < functions; ++f) setup.modelOf.push_back(static_cast<std::uint32_t>(f % setup.models.models.size()));
  return setup;
}

Workload workload(std::size_t functions, const std::string& arrivals = "poisson", std::uint64_t seed = 1) {
  return *makeWorkload({"", arrivals, 4, seed}, functions, torporModels());
}

Arrival ask(double ms, std::uint32_t function) { return {sched::Time(sched::fromSeconds(ms * 1e-3)), function}; }

}  // namespace

// Section 7.2's 40 busy functions, which fit on one GPU together, or not on both; with an NVLink between the two or none.
TEST_CASE("ours shares load evenly between GPUs") {
  const std::string gpu = "[[topology.gpu]]\nlink_gb_per_s = 10.47\n", nvlink = "[[topology.nvlink]]\ngpus = [0, 1]\ngb_per_s = 25\n";
  for (const char* memory : {"26", "7"})
    for (const bool linked : {false, true}) {
      INFO(memory << " GB, " << (linked ? "linked" : "apart"));
      Setup setup = setupOf("rouse", 0);
      setup.node = *parseNode("name = \"two\"\nnative_functions = 18\nfunction_memory_gb = " + std::string(memory) + "\n" + gpu + gpu +
                                  (linked ? nvlink : ""), "two.toml");
      setup.modelOf.assign(40, static_cast<std::uint32_t>(setup.models.find("ResNet-152") - setup.models.models.data()));
      Random random(9);
      Counts counts;
      for (unsigned f = 0; f < 40; ++f) counts.emplace_back(10, 20 + 140 * random.unit());
      const Outcome outcome = simulate(setup, arrivals(counts, *parseProcess("poisson"), 4));
      const double a = outcome.gpus[0].busySeconds, b = outcome.gpus[1].busySeconds;
      REQUIRE(std::min(a, b) / std::max(a, b) >= 0.95);
      REQUIRE(outcome.compliant(setup.models.percentile) == 40);
      REQUIRE(outcome.hostSwaps + outcome.peerSwaps < outcome.runs / (std::string(memory) == "26" ? 50 : 1));
    }
}

TEST_CASE("busy time fits into time, bytes into links, requests are answered once") {
  for (const char* policy : {"rouse", "torpor", "torpor_fifo", "torpor_random", "torpor_lru", "torpor_block", "edf/rouse/lru/limits"}) {
    for (const std::size_t functions : {std::size_t{40}, std::size_t{600}}) {
      INFO(policy << " " << functions);
      Setup setup = setupOf(policy, functions);
      setup.warmUp = {};
      const Workload work = workload(functions);
      const Outcome outcome = simulate(setup, work.arrivals);
      double busy = 0, least = 0;
      for (const GpuResult& gpu : outcome.gpus) {
        REQUIRE(gpu.busySeconds <= outcome.virtualSeconds);
        busy += gpu.busySeconds;
      }
      std::uint64_t asked = 0, answered = 0, refused = 0;
      for (std::size_t f = 0; f < functions; ++f) {
        const FunctionResult& one = outcome.functions[f];
        const Model& model = setup.models.models[setup.modelOf[f]];
        asked += one.requests, answered += one.latencies.size(), refused += one.refused;
        REQUIRE(one.inTime <= one.latencies.size());
        for (const float latency : one.latencies) REQUIRE(latency >= sched::milliseconds(model.run) - 0.001);
        least += static_cast<double>(one.latencies.size()) * sched::seconds(model.run);
      }
      REQUIRE(asked == work.arrivals.size());
      REQUIRE(asked == answered + refused);
      REQUIRE(busy >= least * 0.999999);
      double carried = 0;
      for (const LinkResult& link : outcome.links) {
        REQUIRE(link.bytes <= link.capacity * outcome.virtualSeconds * 1.000001);
        if (link.name.starts_with("plx")) carried += link.bytes;
      }
      REQUIRE(carried <= 1.4e9 * static_cast<double>(outcome.hostSwaps));
      REQUIRE((functions == 40 || carried > 0));
    }
  }
}

TEST_CASE("the same seed gives the same, another seed something else") {
  const auto run = [](std::uint64_t seed) {
    const Setup setup = setupOf("rouse", 320);
    return simulate(setup, workload(320, "gamma:2", seed).arrivals);
  };
  const Outcome a = run(1), b = run(1), c = run(2);
  REQUIRE(a.steps == b.steps);
  REQUIRE(a.virtualSeconds == b.virtualSeconds);
  for (std::size_t f = 0; f < a.functions.size(); ++f) REQUIRE(a.functions[f].latencies == b.functions[f].latencies);
  REQUIRE(a.virtualSeconds != c.virtualSeconds);
}

TEST_CASE("alone, a request takes what Table 4 says: swapped in from the host, there, over NVLink") {
  for (const char* policy : {"torpor", "rouse"}) {
    Setup setup = setupOf(policy, 8);
    setup.warmUp = {};
    std::vector<Arrival> asked;
    for (std::uint32_t f = 0; f < 8; ++f)
      for (int again = 0; again < 2; ++again) asked.push_back(ask(f * 2000.0 + again * 1000.0, f));
    const Outcome outcome = simulate(setup, asked);
    for (std::uint32_t f = 0; f < 8; ++f) {
      const Model& model = setup.models.models[f];
      INFO(policy << " " << model.name);
      REQUIRE(outcome.functions[f].latencies.at(0) == Approx(sched::milliseconds(model.hostSwap)).margin(0.2));
      REQUIRE(outcome.functions[f].latencies.at(1) == Approx(sched::milliseconds(model.run)).margin(0.001));
    }
  }
}

TEST_CASE("contention of the links comes out as Table 3 has it, which nothing was fitted to") {
  const Node node = *findNode("4xv100");
  const Models& models = torporModels();
  const auto beside = [&](const char* model, const char* other) {
    return swapBeside(node, models, *models.find(model), models.find(other));
  };
  REQUIRE(beside("DenseNet-169", "Bert-qa") == Approx(27).margin(0.5));
  REQUIRE(beside("ResNet-152", "DenseNet-169") == Approx(31).epsilon(0.1));
  REQUIRE(beside("ResNet-152", "Bert-qa") == Approx(43).epsilon(0.1));
  REQUIRE(beside("Bert-qa", "DenseNet-169") == Approx(166).epsilon(0.05));
  REQUIRE(beside("Bert-qa", "ResNet-152") == Approx(240).epsilon(0.05));
}

TEST_CASE("native: those that find room comply, the others never run; keep-alive runs more and meets almost no deadline") {
  const Setup setup = setupOf("torpor", 160);
  const Workload work = *makeWorkload({"", "torpor", 20, 1}, 160, torporModels());
  const Outcome native = simulateNative(setup, work.arrivals, setup.node.nativeFunctions);
  REQUIRE(executed(native) == 72);
  REQUIRE(native.compliant(0.98) == 72);
  const Outcome keep = simulateKeepAlive(setup, work.arrivals);
  REQUIRE(executed(keep) > 72);
  REQUIRE(keep.compliant(0.98) < 16);
}

TEST_CASE("two functions that share a GPU natively get half of it each") {
  Setup setup = setupOf("torpor", 8, "1xv100");
  setup.warmUp = {};
  const Outcome outcome = simulateNative(setup, {ask(0, 1), ask(0, 2), ask(10, 2)}, 18);
  // 20 and 25 ms: 40 for the first, then 5 alone; its second one behind it.
  REQUIRE(outcome.functions[1].latencies.at(0) == Approx(40).margin(0.01));
  REQUIRE(outcome.functions[2].latencies.at(0) == Approx(45).margin(0.01));
  REQUIRE(outcome.functions[2].latencies.at(1) == Approx(60).margin(0.01));
}

TEST_CASE("what is necessary grows with the functions, and what complies is possible") {
  const Node node = *findNode("4xv100");
  Need before;
  for (const std::size_t functions : {std::size_t{160}, std::size_t{640}, std::size_t{960}, std::size_t{1600}}) {
    const Workload work = workload(functions);
    const Need need = necessary(node, torporModels(), work.modelOf, work.counts);
    REQUIRE(need.gpu > before.gpu);
    REQUIRE(need.link >= before.link);
    REQUIRE(need.possible() == (functions < 960));
    before = need;
  }
}

TEST_CASE("a policy that is not known, and a node whose file is wrong, are named") {
  REQUIRE(findPolicy("best").error().message.starts_with("policy 'best' is not known (known are: rouse torpor"));
  REQUIRE(findPolicy("edf/torpor/lru/some").error().message == "admission 'some' is not known (known are: limits rouse)");
  REQUIRE(findNode("nowhere").error().message ==
          "node 'nowhere' is neither known (known are: 1xv100 4xv100 8xh100) nor a file that can be read");
  REQUIRE(parseNode("name = 'x'\nfunction_memory_gb = -1\nnative_functions = 1", "f").error().message ==
          "f:2: function_memory_gb: must be a number from 0.001 to 100000");
  REQUIRE(parseNode("function_memory_gb = 1\nnative_functions = 1\n", "f").error().message.starts_with("f:1: topology: is needed"));
  REQUIRE(parseModels("working_gb = 1\npercentile = 0.9\nlast_groups_ms = 2\n[[model]]\nname = 'a'\nrum_ms = 3", "m").error().message ==
          "m:6: model.rum_ms: unknown key");
  REQUIRE(findNode(NODES "/4xv100.toml").ok());
  REQUIRE(findNode("8xh100")->topology.gpus() == 8);
}

}  // namespace rouse::sim
