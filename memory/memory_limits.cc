#include "memory/memory_limits.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <span>

namespace rouse::memory {
namespace {

namespace fs = std::filesystem;

std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

Error tooMuch(const MemoryRequest& request, const std::string& limit, const std::string& remedy) {
  return Error{CudaError::memoryAllocation, "host memory: " + mebibytes(request.bytes) + (request.lock ? " to be locked" : "") +
                                                " asked for, but " + limit + "; " + remedy};
}

std::optional<std::uint64_t> number(const fs::path& file) {
  std::ifstream stream(file);
  std::uint64_t value = 0;
  if (stream >> value) return value;
  return std::nullopt;  // not there, or "max"
}

// "MemAvailable:   123 kB"
std::optional<std::uint64_t> meminfo(const fs::path& root, const std::string& key) {
  std::ifstream stream(root / "proc/meminfo");
  for (std::string line; std::getline(stream, line);)
    if (line.compare(0, key.size() + 1, key + ":") == 0) return std::stoull(line.substr(key.size() + 1)) << 10;
  return std::nullopt;
}

// What a group leaves, at its own level.
Status checkGroup(const MemoryRequest& request, const fs::path& group, const fs::path& shown, bool version2) {
  static constexpr const char* kNames[] = {"memory.max", "memory.high", "memory.limit_in_bytes"};
  for (const char* name : version2 ? std::span(kNames).first(2) : std::span(kNames).last(1)) {
    const auto limit = number(group / name), used = number(group / (version2 ? "memory.current" : "memory.usage_in_bytes"));
    if (!limit) continue;
    const std::uint64_t left = *limit > used.value_or(0) ? *limit - used.value_or(0) : 0;
    if (request.bytes > left)
      return tooMuch(request, "the control group " + shown.string() + " leaves " + mebibytes(left) + " of " + mebibytes(*limit) +
                                  " (" + name + ")",
                     "raise its limit (systemd: MemoryMax=; containers: --memory) or make the arena smaller");
  }
  return {};
}

Status checkControlGroups(const MemoryRequest& request, const fs::path& root) {
  std::ifstream stream(root / "proc/self/cgroup");
  for (std::string line; std::getline(stream, line);) {  // "0::/a/b", "5:memory:/a/b"
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool version2 = controllers == ",,";
    if (!version2 && controllers.find(",memory,") == std::string::npos) continue;
    const fs::path mount = root / (version2 ? "sys/fs/cgroup" : "sys/fs/cgroup/memory");
    // Inside a container the path may not exist below the mount: then the mount is the group.
    for (fs::path group = line.substr(second + 1);; group = group.parent_path()) {
      if (Status status = checkGroup(request, mount / group.relative_path(), group, version2); !status) return status;
      if (group == group.parent_path()) break;
    }
  }
  return {};
}

bool mayLockAnyAmount() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  return ::syscall(SYS_capget, &header, data) == 0 && (data[0].effective >> CAP_IPC_LOCK & 1) != 0;
}

}  // namespace

std::uint64_t freeHugePageBytes(const fs::path& root) {
  const fs::path pool = root / "sys/kernel/mm/hugepages/hugepages-2048kB";
  const std::uint64_t free = number(pool / "free_hugepages").value_or(0), reserved = number(pool / "resv_hugepages").value_or(0);
  return free > reserved ? (free - reserved) << 21 : 0;
}

Status checkMemoryLimits(const MemoryRequest& request, const fs::path& root) {
  if (request.hugetlb) {
    if (const std::uint64_t left = freeHugePageBytes(root); request.bytes > left)
      return tooMuch(request, mebibytes(left) + " of huge pages are free", "raise vm.nr_hugepages or do without");
  } else {
    if (const auto available = meminfo(root, "MemAvailable"); available && request.bytes > *available)
      return tooMuch(request, mebibytes(*available) + " are available on this machine", "make the arena smaller or free memory");
    if (Status status = checkControlGroups(request, root); !status) return status;
  }
  const struct {
    int resource;
    const char* name;
    bool matters;
  } limits[] = {{RLIMIT_AS, "RLIMIT_AS", true},
                {RLIMIT_FSIZE, "RLIMIT_FSIZE", true},
                {RLIMIT_MEMLOCK, "RLIMIT_MEMLOCK", request.lock && !mayLockAnyAmount()}};
  for (const auto& [resource, name, matters] : limits) {
    rlimit limit{};
    if (!matters || ::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) continue;
    if (limit.rlim_cur == RLIM_INFINITY) continue;
    if (request.bytes > limit.rlim_cur)
      return tooMuch(request, std::string(name) + " is " + mebibytes(limit.rlim_cur),
                     "raise it (ulimit; systemd: Limit" + std::string(name).substr(7) + "=)" +
                         (resource == RLIMIT_MEMLOCK ? " or give the process CAP_IPC_LOCK" : ""));
  }
  return {};
}

}  // namespace rouse::memory
