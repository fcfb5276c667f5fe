// What the CPU device's GPUs have where nobody says: a share of what the machine, or the container, has.
#include "server/roused/host_memory.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

namespace rouse::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kGib = std::uint64_t{1} << 30;

struct Groups {
  Groups() : root(fs::temp_directory_path() / ("rouse-groups-" + std::to_string(getpid()))) { fs::create_directories(root / "a" / "b"); }
  ~Groups() { fs::remove_all(root); }
  void limit(const fs::path& group, const std::string& text) const { std::ofstream(root / group / "memory.max") << text; }
  std::uint64_t bytesOf(const std::string& own) const {
    std::ofstream(root / "own") << own;
    return hostMemoryBytes(root, root / "own");
  }
  fs::path root;
};

}  // namespace

TEST_CASE("the machine has what its control groups leave it") {
  const Groups groups;
  const std::uint64_t machine = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  CHECK(groups.bytesOf("0::/a/b\n") == machine);
  groups.limit("a", "max\n");
  CHECK(groups.bytesOf("0::/a/b\n") == machine);
  groups.limit("a", "536870912\n");
  CHECK(groups.bytesOf("0::/a/b\n") == 536870912);  // of the group around it
  groups.limit("a/b", "268435456\n");
  CHECK(groups.bytesOf("0::/a/b\n") == 268435456);
  CHECK(groups.bytesOf("0::/a\n") == 536870912);
  CHECK(groups.bytesOf("0::/\n") == machine);
  groups.limit("", "134217728\n");
  CHECK(groups.bytesOf("0::/a/b\n") == 134217728);
}

TEST_CASE("what tells nothing, or cannot be, changes nothing") {
  const Groups groups;
  const std::uint64_t machine = groups.bytesOf("");
  CHECK(machine != 0);
  groups.limit("a", "12x\n");
  groups.limit("a/b", "0\n");
  CHECK(groups.bytesOf("0::/a/b\n") == machine);
  groups.limit("a", "1048576\n");
  CHECK(groups.bytesOf("1:memory:/a\n") == machine);
  CHECK(groups.bytesOf("0::/../a\n") == machine);
  CHECK(hostMemoryBytes(groups.root, groups.root / "none") == machine);
}

TEST_CASE("half for all GPUs, in whole GiB, within bounds") {
  CHECK(defaultGpuMemory(0, 1) == 2 * kGib);
  CHECK(defaultGpuMemory(4 * kGib, 1) == 2 * kGib);
  CHECK(defaultGpuMemory(24 * kGib, 1) == 12 * kGib);
  CHECK(defaultGpuMemory(24 * kGib - 1, 1) == 11 * kGib);
  CHECK(defaultGpuMemory(64 * kGib, 4) == 8 * kGib);
  CHECK(defaultGpuMemory(64 * kGib, 32) == 2 * kGib);
  CHECK(defaultGpuMemory(4096 * kGib, 1) == 16 * kGib);
  CHECK(defaultGpuMemory(64 * kGib, 0) == 16 * kGib);
}

}  // namespace rouse::daemon
