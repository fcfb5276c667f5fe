#include "server/device/cuda/locked_memory.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <limits>

namespace rouse::cuda {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

bool mayLockAnyway() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return false;
  return (data[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)) != 0;
}

}  // namespace

LockedMemoryLimit lockedMemoryLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return {kUnlimited, false};
  return {limit.rlim_cur == RLIM_INFINITY ? kUnlimited : limit.rlim_cur, !mayLockAnyway()};
}

void raiseLockedMemoryLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_MEMLOCK, &limit);
}

std::string adviceOnPinning(std::uint64_t bytes, const LockedMemoryLimit& limit) {
  const std::string size = limit.bytes == kUnlimited ? "unlimited" : std::to_string(limit.bytes) + " bytes";
  std::string text = "the limit on locked memory (RLIMIT_MEMLOCK) is " + size;
  if (limit.binding && limit.bytes < bytes)
    return text + ", less than that; raise it (LimitMEMLOCK=infinity in the service, ulimit -l unlimited)";
  if (!limit.binding && limit.bytes < bytes) text += " and does not bind this process (CAP_IPC_LOCK)";
  return text + "; free memory of the host, or raise what its container may use";
}

}  // namespace rouse::cuda
