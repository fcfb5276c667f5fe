// How much memory the daemon's machine, or container, has.
#pragma once

#include <cstdint>
#include <filesystem>

namespace rouse::daemon {

// The smaller of the machine's and of the limits of the daemon's control group (cgroup v2) and those around it. `groups` and `own`: where the hierarchy is
// mounted, and the file that tells which group this process is in. 0 where nothing tells.
std::uint64_t hostMemoryBytes(const std::filesystem::path& groups = "/sys/fs/cgroup", const std::filesystem::path& own = "/proc/self/cgroup");

// What each of `gpus` GPUs of the CPU device has where nobody says: half of that together, whole GiB, at least 2 and at most 16 each. It is taken only as far as it
// is used.
std::uint64_t defaultGpuMemory(std::uint64_t hostBytes, std::uint32_t gpus);

}  // namespace rouse::daemon
