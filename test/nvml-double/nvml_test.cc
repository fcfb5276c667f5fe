// What is known of a GPU with NVML, without it, and with one that cannot be believed.
#include "server/device/cuda/nvml/nvml.h"

#include <catch2/catch.hpp>
#include <cstdlib>

using namespace rouse;
using namespace rouse::cuda::nvml;

namespace {

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

memory::LinkDescription twoPeers() {
  memory::LinkDescription link;
  link.peers.resize(2);
  link.peers[0].pciAddress = "0000:01:00.0";
  link.peers[1].pciAddress = "0000:02:00.0";
  return link;
}

}  // namespace

TEST_CASE("NVML is there: all it says is kept") {
  const Variable library(kLibraryVariable, ROUSE_NVML_LIBRARY);
  const auto nvml = Nvml::open();
  REQUIRE(nvml != nullptr);
  CHECK(nvml->driverVersion() == "580.65.06");
  auto link = twoPeers();
  nvml->describe("0000:3b:00.0", link);
  CHECK(link.pcieGeneration == 4);
  CHECK(link.pcieGenerationAtMost == 5);
  CHECK(link.pcieWidth == 8);
  CHECK(link.pcieWidthAtMost == 16);
  CHECK(link.numaNode == 1);
  CHECK(link.cpus == "0-15,32-47");
  CHECK(link.nvlinks == 2);
  CHECK(link.nvlinksToSwitches == 1);
  CHECK(link.peers[0].nvlinks == 1);
  CHECK(link.peers[1].nvlinks == 0);
}

TEST_CASE("NVML is absent, is something else, or does not start: unknown, no error") {
  {
    const Variable library(kLibraryVariable, "/nonexistent/libnvidia-ml.so.1");
    CHECK(Nvml::open() == nullptr);
  }
  {
    const Variable library(kLibraryVariable, "libm.so.6");
    CHECK(Nvml::open() == nullptr);
  }
  const Variable library(kLibraryVariable, ROUSE_NVML_LIBRARY);
  const Variable fails("ROUSE_NVML_DOUBLE", "init-fails");
  CHECK(Nvml::open() == nullptr);
}

TEST_CASE("the pool's own is not asked: it would ask the daemon") {
  const Variable library(kLibraryVariable, ROUSE_POOL_NVML);
  CHECK(Nvml::open() == nullptr);
}

TEST_CASE("NVML does not know the GPU, does not answer, or answers with nonsense: unknown") {
  const char* mode = GENERATE("no-gpu", "refuses", "nonsense");
  const Variable library(kLibraryVariable, ROUSE_NVML_LIBRARY);
  const Variable pretends("ROUSE_NVML_DOUBLE", mode);
  const auto nvml = Nvml::open();
  REQUIRE(nvml != nullptr);
  auto link = twoPeers();
  nvml->describe("0000:3b:00.0", link);
  auto expected = twoPeers();
  if (std::string(mode) == "nonsense") {
    expected.nvlinks = 0;  // none of 64 is up: all that can be read from it
    CHECK(nvml->driverVersion() == "");
  }
  CHECK(link == expected);
}

TEST_CASE("sets of processors as people write them") {
  CHECK(bitRanges({}) == "");
  CHECK(bitRanges({0, 0}) == "");
  CHECK(bitRanges({1}) == "0");
  CHECK(bitRanges({0b1011}) == "0-1,3");
  CHECK(bitRanges({~0ul, 1}) == "0-64");
  CHECK(bitRanges({0, ~0ul}) == "64-127");
}
