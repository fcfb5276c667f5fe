#include "memory/pinned_arena.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "memory/memory_limits.h"
#include "schemas/base/range.h"

namespace rouse::memory {
namespace {

namespace fs = std::filesystem;

// What `body` says in a process of its own, which may limit itself.
std::string inChild(const std::function<std::string()>& body) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const std::string text = body();
    const bool written = ::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    ::_exit(written ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t count; (count = ::read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(count));
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  return text;
}

std::string createWithLimit(int resource, std::uint64_t limit, ArenaOptions options) {
  return inChild([=]() -> std::string {
    const rlimit value{limit, limit};
    if (::setrlimit(static_cast<__rlimit_resource_t>(resource), &value) != 0) return "setrlimit failed";
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[2] = {};
    if (::syscall(SYS_capset, &header, none) != 0) return "capset failed";  // root may lock any amount
    const auto arena = PinnedArena::create(options);
    return arena.ok() ? "made" : arena.error().message;
  });
}

// A machine of files.
struct Machine {
  fs::path root = fs::temp_directory_path() / ("rouse-limits-" + std::to_string(::getpid()));
  Machine() { write("proc/meminfo", "MemTotal: 100000 kB\nMemFree: 1 kB\nMemAvailable:   65536 kB\n"); }
  ~Machine() { fs::remove_all(root); }
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  }
  std::string check(std::uint64_t mebibytes, bool hugetlb = false) const {
    return checkMemoryLimits({mebibytes << 20, hugetlb, false}, root).error().message;
  }
};

}  // namespace

TEST_CASE("an arena is there, zeroed, shared through its descriptor, and of fixed size") {
  const bool huge = GENERATE(true, false);
  ArenaOptions options;
  options.bytes = (std::uint64_t{200} << 20) + 1;
  options.hugePages = huge;
  options.threads = 2;
  const auto begin = std::chrono::steady_clock::now();
  auto made = PinnedArena::create(options);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!made.ok()) FAIL(made.error().message);
  PinnedArena arena = std::move(made).value();
  REQUIRE(arena.bytes() == std::uint64_t{202} << 20);
  REQUIRE(arena.span().size() == arena.bytes());
  REQUIRE_FALSE(arena.locked());
  std::printf("pinned arena: %s, %.1f GB/s faulted in by 2 threads\n", name(arena.pages()), double(arena.bytes()) / seconds / 1e9);
  REQUIRE(arena.pageBytes() == (arena.pages() == ArenaPages::plain ? 4096 : kGranuleBytes));
  if (!huge) REQUIRE(arena.pages() != ArenaPages::hugetlb);
  // All of it is in memory.
  std::vector<unsigned char> resident(arena.bytes() / 4096);
  REQUIRE(::mincore(arena.span().data(), arena.bytes(), resident.data()) == 0);
  REQUIRE(std::all_of(resident.begin(), resident.end(), [](unsigned char page) { return page & 1; }));
  REQUIRE(std::all_of(arena.span().begin(), arena.span().end(), [](std::byte byte) { return byte == std::byte{0}; }));
  // Another mapping sees the same bytes.
  void* other = ::mmap(nullptr, kGranuleBytes, PROT_READ, MAP_SHARED, arena.fd(), static_cast<off_t>(kGranuleBytes));
  REQUIRE(other != MAP_FAILED);
  arena.span()[kGranuleBytes + 5] = std::byte{42};
  REQUIRE(static_cast<const std::byte*>(other)[5] == std::byte{42});
  ::munmap(other, kGranuleBytes);
  REQUIRE(::ftruncate(arena.fd(), 0) == -1);
  REQUIRE(errno == EPERM);
  REQUIRE(::ftruncate(arena.fd(), off_t{1} << 30) == -1);
  // Moved, it is one still.
  const std::byte* base = arena.span().data();
  PinnedArena moved = std::move(arena);
  REQUIRE(moved.span().data() == base);
  REQUIRE(arena.span().empty());
  REQUIRE(arena.fd() == -1);
}

TEST_CASE("what cannot be is refused beforehand, with what was asked, the limit and what to do") {
  ArenaOptions options;
  CHECK(PinnedArena::create(options).error().message == "host memory: an arena of 0 bytes was asked for; it must have 1 byte to 64 TiB");
  options.bytes = std::uint64_t{1} << 45;
  const std::string message = PinnedArena::create(options).error().message;
  CHECK(message.find("host memory: 33554432 MiB asked for, but ") == 0);
  options.bytes = std::uint64_t{64} << 20;
  options.hugePages = false;
  options.lock = true;
  CHECK(createWithLimit(RLIMIT_MEMLOCK, std::uint64_t{8} << 20, options) ==
        "host memory: 64 MiB to be locked asked for, but RLIMIT_MEMLOCK is 8 MiB; raise it (ulimit; systemd: LimitMEMLOCK=) or give the "
        "process CAP_IPC_LOCK");
  options.bytes = std::uint64_t{2} << 20;
  CHECK(createWithLimit(RLIMIT_MEMLOCK, options.bytes, options) == "made");
  options.bytes = std::uint64_t{64} << 20;
  options.lock = false;
  CHECK(createWithLimit(RLIMIT_MEMLOCK, 0, options) == "made");
  CHECK(createWithLimit(RLIMIT_FSIZE, std::uint64_t{8} << 20, options) ==  // else SIGXFSZ
        "host memory: 64 MiB asked for, but RLIMIT_FSIZE is 8 MiB; raise it (ulimit; systemd: LimitFSIZE=)");
}

TEST_CASE("locked memory is locked") {
  const std::string said = inChild([]() -> std::string {
    ArenaOptions options;
    options.bytes = std::uint64_t{4} << 20;
    options.hugePages = false;
    options.lock = true;
    const auto arena = PinnedArena::create(options);
    if (!arena.ok()) return arena.error().message;
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.find("VmLck:") == 0) return line.find("4096 kB") != std::string::npos ? "locked" : line;
    return "no VmLck";
  });
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  CHECK(said.find("VmLck:") == 0);  // the sanitizers' own mlock does nothing
  return;
#endif
#endif
  // Machines where the limit is below 4 MiB and this process may not raise it say so; that is the other case's subject.
  CHECK((said == "locked" || said.find("RLIMIT_MEMLOCK") != std::string::npos));
}

TEST_CASE("limits of the machine and its control groups") {
  const Machine machine;
  CHECK(machine.check(64).empty());
  CHECK(machine.check(65) == "host memory: 65 MiB asked for, but 64 MiB are available on this machine; make the arena smaller or free memory");
  machine.write("proc/self/cgroup", "0::/system.slice/rouse.service\n");
  CHECK(machine.check(64).empty());  // no such files: inside a container
  machine.write("sys/fs/cgroup/system.slice/rouse.service/memory.max", "max\n");
  machine.write("sys/fs/cgroup/system.slice/memory.max", "50331648\n");
  machine.write("sys/fs/cgroup/system.slice/memory.current", "16777216\n");
  CHECK(machine.check(32).empty());
  CHECK(machine.check(33) ==
        "host memory: 33 MiB asked for, but the control group /system.slice leaves 32 MiB of 48 MiB (memory.max); raise its limit "
        "(systemd: MemoryMax=; containers: --memory) or make the arena smaller");
  machine.write("sys/fs/cgroup/memory.high", "1048576\n");  // the group of all, as a container sees its own
  CHECK(machine.check(2).find("the control group / leaves 1 MiB of 1 MiB (memory.high)") != std::string::npos);
  machine.write("proc/self/cgroup", "3:cpu,memory:/job\n");
  machine.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "4194304\n");
  CHECK(machine.check(5).find("the control group /job leaves 4 MiB of 4 MiB (memory.limit_in_bytes)") != std::string::npos);
  CHECK(machine.check(4).empty());
  CHECK(machine.check(1, true).find("0 MiB of huge pages are free; raise vm.nr_hugepages") != std::string::npos);
  machine.write("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "8\n");
  machine.write("sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", "3\n");
  CHECK(machine.check(10, true).empty());
  CHECK_FALSE(machine.check(12, true).empty());
}

}  // namespace rouse::memory
