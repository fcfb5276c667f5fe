// What the scheduler is told of GPUs, from what their devices say.
#include "server/roused/gpu_spec.h"

#include <catch2/catch.hpp>

using namespace rouse;
using namespace rouse::daemon;

namespace {

memory::DeviceProperties device(unsigned number, std::uint64_t rate, const std::string& way = "") {
  memory::DeviceProperties properties;
  properties.name = "H100";
  properties.uuid = "GPU-" + std::to_string(number);
  properties.memoryBytes = 80;
  properties.link.toDevice = {{65536, rate / 2}, {1 << 20, rate}};
  properties.link.sharedWay = way;
  return properties;
}

}  // namespace

TEST_CASE("GPUs behind one switch have one number for it, whoever is told of first") {
  const auto a = device(0, 100, "plx0"), b = device(1, 100, "plx0"), c = device(2, 100, "plx1"), d = device(3, 100);
  std::map<std::string, std::uint32_t> ways;
  CHECK(gpuSpec({1, &b}, {}, ways, 2).switchId == 1);
  CHECK(gpuSpec({0, &a}, {}, ways, 2).switchId == 1);
  CHECK(gpuSpec({2, &c}, {}, ways, 2).switchId == 2);
  const sched::GpuSpec own = gpuSpec({3, &d}, {}, ways, 2);
  CHECK(own.switchId == 3);
  CHECK(own.slots == 2);
  CHECK(own.memoryBytes == 80);
  CHECK(own.linkBytesPerSecond == 100);
  CHECK(own.uplinkBytesPerSecond == 0);  // not known: as one device's
}

TEST_CASE("links that measure alike count as one rate; another kind's, or one that is slow, its own") {
  std::map<std::string, std::uint32_t> ways;
  const auto a = device(0, 1000), alike = device(1, 950), slow = device(2, 500), unmeasured = memory::DeviceProperties{};
  auto other = device(3, 990);
  other.name = "A100";
  const KnownGpu known[] = {{0, &a}};
  CHECK(gpuSpec({1, &alike}, known, ways, 1).linkBytesPerSecond == 1000);
  CHECK(gpuSpec({2, &slow}, known, ways, 1).linkBytesPerSecond == 500);
  CHECK(gpuSpec({3, &other}, known, ways, 1).linkBytesPerSecond == 990);
  CHECK(gpuSpec({4, &unmeasured}, known, ways, 1).linkBytesPerSecond == 10e9);
}

TEST_CASE("a peer is one whose memory comes faster than the host's") {
  auto a = device(0, 1000), b = device(1, 1000), c = device(2, 1000);
  a.link.peers = {{.uuid = "GPU-1", .pciAddress = "", .access = true, .nvlinks = 1, .bytesPerSecond = 4000},
                  {.uuid = "GPU-2", .pciAddress = "", .access = true, .nvlinks = 0}};
  REQUIRE(peerOf({0, &a}, {1, &b}));
  CHECK(peerOf({0, &a}, {1, &b})->gpu == sched::GpuId{1});
  CHECK(peerOf({0, &a}, {1, &b})->bytesPerSecond == 4000);
  CHECK_FALSE(peerOf({0, &a}, {2, &c}));
  CHECK_FALSE(peerOf({1, &b}, {0, &a}));
  a.link.peers[0].bytesPerSecond = 0;
  CHECK(peerOf({0, &a}, {1, &b})->bytesPerSecond == 20e9);
  a.link.nvlinksToSwitches = 18;  // which reach all that it has access to
  CHECK(peerOf({0, &a}, {2, &c})->bytesPerSecond == 18 * 20e9);
}
