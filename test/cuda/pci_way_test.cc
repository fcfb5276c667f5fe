// Which GPUs share a way to the host, from trees as the kernel shows them.
#include "server/device/cuda/pci_way.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>

using namespace rouse::cuda;
namespace fs = std::filesystem;

namespace {

struct Tree {
  Tree() {
    char name[] = "/tmp/rouse-pci-XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    folder = name;
    fs::create_directories(devices());
  }
  ~Tree() { fs::remove_all(folder); }
  fs::path devices() const { return folder / "bus/pci/devices"; }
  void add(const std::string& way) {
    fs::create_directories(folder / "devices" / way);
    fs::create_directory_symlink(folder / "devices" / way, devices() / fs::path(way).filename());
  }
  fs::path folder;
};

}  // namespace

TEST_CASE("GPUs behind one switch share its root port; one with a root port of its own shares nothing") {
  Tree tree;
  tree.add("pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3c:08.0/0000:3d:00.0");
  tree.add("pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3c:10.0/0000:3e:00.0");
  tree.add("pci0000:5d/0000:5d:00.0/0000:5e:00.0/0000:5f:08.0/0000:60:00.0");
  tree.add("pci0000:85/0000:85:00.0/0000:86:00.0");
  tree.add("pci0000:00/0000:00:05.0");
  CHECK(sharedPciWay("0000:3d:00.0", tree.devices()) == "0000:3a:00.0");
  CHECK(sharedPciWay("0000:3e:00.0", tree.devices()) == "0000:3a:00.0");
  CHECK(sharedPciWay("0000:60:00.0", tree.devices()) == "0000:5d:00.0");
  CHECK(sharedPciWay("0000:86:00.0", tree.devices()).empty());
  CHECK(sharedPciWay("0000:00:05.0", tree.devices()).empty());
}

TEST_CASE("what is not there, or no address, is unknown") {
  Tree tree;
  tree.add("pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3c:08.0/0000:3d:00.0");
  CHECK(sharedPciWay("0000:ff:00.0", tree.devices()).empty());
  CHECK(sharedPciWay("../0000:3d:00.0", tree.devices()).empty());
  CHECK(sharedPciWay("", tree.devices()).empty());
  CHECK(sharedPciWay("0000:3d:00.0", tree.folder / "nowhere").empty());
}
