#include "memory/topology.h"

#include <catch2/catch.hpp>

namespace rouse::memory {
namespace {

std::vector<std::string> names(const Topology& topology, const std::vector<LinkId>& path) {
  std::vector<std::string> result;
  for (const LinkId link : path) result.push_back(topology.links()[link].name);
  return result;
}
using Names = std::vector<std::string>;

std::string refused(std::string_view text) { return Topology::parse(text, "node.toml").error().message; }

}  // namespace

TEST_CASE("the paper's node: two pairs of GPUs behind switches, NVLinks between all") {
  const Topology node = Topology::load(TOPOLOGIES "/torpor-figure5.toml").value();
  CHECK(node.name() == "torpor-figure5");
  REQUIRE(node.gpus() == 4);
  CHECK(node.shareSwitch(0, 1));
  CHECK(node.shareSwitch(2, 3));
  CHECK_FALSE(node.shareSwitch(1, 2));
  CHECK(names(node, node.fromHost(2)) == Names{"plx1 in", "gpu2 in"});
  CHECK(names(node, node.toHost(2)) == Names{"gpu2 out", "plx1 out"});
  CHECK(node.bytesPerSecond(node.fromHost(2)) == 12e9);
  CHECK(names(node, node.betweenGpus(0, 3)) == Names{"gpu0 to gpu3"});
  CHECK(node.bytesPerSecond(node.betweenGpus(0, 3)) == 50e9);
  CHECK(node.bytesPerSecond(node.betweenGpus(3, 1)) == 25e9);
  double latency = 0;
  for (const LinkId link : node.fromHost(0)) latency += node.links()[link].latencySeconds;
  CHECK(latency == Approx(4e-6));
}

TEST_CASE("without NVLink, through the switch or the host") {
  const Topology node = Topology::parse(R"(
[[switch]]
name = "a"
uplink_gb_per_s = 20
[[gpu]]
link = "pcie4x16"
switch = "a"
[[gpu]]
link_gb_per_s = 10.5
link_latency_us = 2
switch = "a"
[[gpu]]
link = "pcie5x16"
)", "node.toml").value();
  CHECK(names(node, node.betweenGpus(0, 1)) == Names{"gpu0 out", "gpu1 in"});
  CHECK(names(node, node.betweenGpus(0, 2)) == Names{"gpu0 out", "a out", "gpu2 in"});
  CHECK(names(node, node.betweenGpus(2, 1)) == Names{"gpu2 out", "a in", "gpu1 in"});
  CHECK(node.bytesPerSecond(node.fromHost(0)) == 20e9);
  CHECK(node.bytesPerSecond(node.fromHost(1)) == 10.5e9);
  CHECK(node.links()[node.fromHost(1)[1]].latencySeconds == Approx(2e-6));
  CHECK_FALSE(node.hasNvlink(0, 1));
}

TEST_CASE("one kind of link for all") {
  const Topology node = Topology::uniform(3, "pcie5x16").value();
  CHECK(node.gpus() == 3);
  CHECK(node.fromHost(0) != node.fromHost(1));
  CHECK(node.bytesPerSecond(node.toHost(2)) == 55.4e9);
  CHECK(Topology::uniform(1, "pcie9").error().message ==
        "link 'pcie9' is not known (known are: pcie3x4, pcie3x8, pcie3x16, pcie4x4, pcie4x8, pcie4x16, pcie5x4, pcie5x8, pcie5x16)");
  CHECK(Topology::uniform(65, "pcie3x16").error().message == "65 GPUs: there must be 1 to 64");
}

TEST_CASE("a file that is wrong is refused with file, line and key; all errors at once") {
  CHECK(refused("") == "node.toml:1: gpu: there must be at least one");
  CHECK(refused("[[gpu]]\nlink = 3\n") == "node.toml:2: gpu[0].link: must be text");
  CHECK(refused("[[gpu]]\n") == "node.toml:1: gpu[0].link: or link_gb_per_s is needed");
  CHECK(refused("[gpu]\nlink = \"pcie3x16\"\n") == "node.toml:1: gpu: must be written [[gpu]]");
  CHECK(refused("[[gpu]]\nlink_gb_per_s = -1\n") == "node.toml:2: gpu[0].link_gb_per_s: must be a number from 0.001 to 10000");
  CHECK(refused("[[gpu]]\nlink_gb_per_s = nan\n") == "node.toml:2: gpu[0].link_gb_per_s: must be a number from 0.001 to 10000");
  CHECK(refused("[[gpu]]\nlink = \"pcie3x16\"\nlink_gb_per_s = 1\n") == "node.toml:1: gpu[0].link: excludes link_gb_per_s");
  CHECK(refused("[[gpu]]\nlink = \"pcie3x16\"\nswitch = \"x\"\ncolour = 1\n") ==
        "node.toml:4: gpu[0].colour: unknown key (known are: link link_gb_per_s link_latency_us switch)\n"
        "node.toml:3: gpu[0].switch: there is no switch 'x'");
  const std::string two = "[[gpu]]\nlink = \"pcie3x16\"\n[[gpu]]\nlink = \"pcie3x16\"\n[[nvlink]]\ngb_per_s = 25\n";
  CHECK(refused(two + "gpus = [0, 2]\n") == "node.toml:7: nvlink[0].gpus: must be two different GPUs, numbered 0 to 1");
  CHECK(refused(two + "gpus = [0, 0]\n") == "node.toml:7: nvlink[0].gpus: must be two different GPUs, numbered 0 to 1");
  CHECK(refused(two + "gpus = [0, -1]\n") == "node.toml:7: nvlink[0].gpus: must be two different GPUs, numbered 0 to 1");
  CHECK(refused(two) == "node.toml:5: nvlink[0].gpus: must be two different GPUs, numbered 0 to 1");
  CHECK(refused(two + "gpus = [0, 1]\n[[nvlink]]\ngpus = [1, 0]\ngb_per_s = 1\n") == "node.toml:9: nvlink[1].gpus: this pair has one already");
  CHECK(refused("[[gpu]\n").find("node.toml:1: ") == 0);
  CHECK(Topology::load("/nonexistent.toml").error().message == "/nonexistent.toml: No such file or directory");
  CHECK(Topology::load("/").error().message == "/: not a file");
}

}  // namespace rouse::memory
